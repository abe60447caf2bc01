"""Writers of function documentation: OpenAI tools, the canonical form, and the three layouts of OpenFunctions."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from restgpt_functions.docs.function import Function, legal_names

Version = Literal["v0", "v1", "v2"]

WORDS_V2 = {"object": "dict", "number": "float"}


def to_openai(functions: Iterable[Function]) -> list[dict[str, Any]]:
    """Write functions as OpenAI tools, under their legal names."""
    listed = list(functions)
    return [{"type": "function", "function": _tool(*pair)} for pair in zip(legal_names(listed), listed, strict=True)]


def _tool(name: str, function: Function) -> dict[str, Any]:
    text = function.description or function.title or function.name
    return {"name": name, "description": text[:1024], "parameters": _without_marks(function.json_schema())}


def to_canonical(function: Function) -> dict[str, Any]:
    """Write a function in the canonical form, which `read_function` reads back as the same function."""
    schema = {**function.json_schema(), "additionalProperties": not function.closed}
    named = {"name": function.title, "api_call": function.name} if function.title else {"name": function.name}
    return {**named, "description": function.description, "parameters": schema}


def to_gorilla(function: Function, version: Version = "v1") -> dict[str, Any]:
    """Write a function as the OpenFunctions model of that version saw it in training."""
    title = function.title or function.name
    if version == "v0":
        listed = [
            {"name": one.name, "description": one.description, "type": one.type_word, **_enum(one.schema)}
            for one in function.parameters
        ]
        return {"name": title, "api_call": function.name, "description": function.description, "parameters": listed}
    parameters = {
        "type": "object" if version == "v1" else "dict",
        "properties": {one.name: _worded(one.schema, version) for one in function.parameters},
        "required": list(function.required),
    }
    named = {"name": title, "api_call": function.name} if version == "v1" else {"name": function.name}
    return {**named, "description": function.description, "parameters": parameters}


def _enum(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"enum": schema["enum"]} if "enum" in schema else {}


def _worded(schema: Any, version: Version) -> Any:
    """A schema with the type words of the version instead of `x-type` marks."""
    if isinstance(schema, list):
        return [_worded(part, version) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    data = {"default", "enum", "const", "example", "examples"}
    written = {
        key: value if key in data else _worded(value, version) for key, value in schema.items() if key != "x-type"
    }
    word = schema.get("x-type") if version == "v2" else None
    if word is None and isinstance(schema.get("type"), str):
        word = WORDS_V2.get(schema["type"], schema["type"]) if version == "v2" else schema["type"]
    if isinstance(word, str):
        written["type"] = word
    return written


def _without_marks(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_marks(part) for part in schema]
    if isinstance(schema, Mapping):
        return {key: _without_marks(value) for key, value in schema.items() if key != "x-type"}
    return schema
