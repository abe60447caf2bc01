"""Writers of function documentation: OpenAI tools, the canonical form, and the three layouts of OpenFunctions."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from restgpt_functions.docs.function import Function, FunctionNames, FunctionParameter, legal_names

Version = Literal["v0", "v1", "v2"]

WORDS_V2 = {"object": "dict", "number": "float"}


def to_openai(functions: Iterable[Function]) -> tuple[list[dict[str, Any]], FunctionNames]:
    """Write functions as OpenAI tools; the names are made legal, and the second value maps them back."""
    names = legal_names(functions)
    tools = [
        {
            "type": "function",
            "function": {
                "name": legal,
                "description": _described(function),
                "parameters": _without_marks(function.json_schema()),
            },
        }
        for legal, function in zip(names.legal, names.functions, strict=True)
    ]
    return tools, names


def _described(function: Function) -> str:
    text = function.description or function.title or function.name
    return text[:1024]


def to_canonical(function: Function) -> dict[str, Any]:
    """Write a function in the canonical form, which `read_function` reads back as the same function."""
    schema = function.json_schema()
    if not function.closed:
        schema["additionalProperties"] = True
    else:
        schema.pop("additionalProperties", None)
    written: dict[str, Any] = {"name": function.title or function.name, "description": function.description}
    if function.title:
        written["api_call"] = function.name
    return {**written, "parameters": schema}


def to_gorilla(function: Function, version: Version = "v1") -> dict[str, Any]:
    """Write a function as the OpenFunctions model of that version saw it in training."""
    title = function.title or function.name
    if version == "v0":
        listed = [_listed(parameter) for parameter in function.parameters]
        return {"name": title, "api_call": function.name, "description": function.description, "parameters": listed}
    parameters = {
        "type": "object" if version == "v1" else "dict",
        "properties": {one.name: _worded(one.schema, version) for one in function.parameters},
        "required": list(function.required),
    }
    if version == "v1":
        named: dict[str, Any] = {"name": title, "api_call": function.name}
    else:
        named = {"name": function.name}
    return {**named, "description": function.description, "parameters": parameters}


def _listed(parameter: FunctionParameter) -> dict[str, Any]:
    entry = {"name": parameter.name, "description": parameter.description, "type": parameter.type_word}
    if "enum" in parameter.schema:
        entry["enum"] = parameter.schema["enum"]
    return entry


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
