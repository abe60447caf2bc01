"""Writers of function documentation: OpenAI tools, the canonical form, and the three layouts of OpenFunctions."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from restgpt_functions.docs.function import Function, legal_names

Version = Literal["v0", "v1", "v2"]

DATA = frozenset({"default", "enum", "const", "example", "examples"})
"""The keywords whose values are no schemas."""

WORDS_V2 = {"object": "dict", "number": "float"}


def to_openai(functions: Iterable[Function]) -> list[dict[str, Any]]:
    """Write functions as OpenAI tools, under their legal names."""
    listed = list(functions)
    return [{"type": "function", "function": _tool(*pair)} for pair in zip(legal_names(listed), listed, strict=True)]


def _tool(name: str, function: Function) -> dict[str, Any]:
    text = function.description or function.title or function.name
    return {"name": name, "description": text[:1024], "parameters": _worded(function.json_schema(), "v1")}


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
    """A schema without the marks `x-type`, which are the type words of v2."""
    if isinstance(schema, list):
        return [_worded(part, version) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    parts = [item for item in schema.items() if item[0] != "x-type"]
    written = {key: value if key in DATA else _worded(value, version) for key, value in parts}
    word = schema.get("x-type", schema.get("type"))
    return {**written, "type": WORDS_V2.get(word, word)} if version == "v2" and isinstance(word, str) else written
