"""Guards the readers of function documentation: every dialect gives the same model, and a broken field is named."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from paths import openapi

from restgpt_functions.calls.parsing import find_function
from restgpt_functions.docs.dialects import read_function
from restgpt_functions.docs.function import Function, FunctionError
from restgpt_functions.docs.loading import load_functions
from restgpt_functions.docs.writers import to_canonical, to_gorilla, to_openai

PROPERTIES = {"city": {"type": "string", "description": "The city."}, "days": {"type": "integer", "default": 3}}
SCHEMA = {"type": "object", "properties": PROPERTIES, "required": ["city"]}
LISTED = [
    {"name": "city", "type": "string", "description": "The city."},
    {"name": "days", "type": "integer", "default": 3},
]
NAMED = {"name": "weather.get", "description": "W."}
OF_GORILLA = {"name": "Weather", "api_call": "weather.get", "description": "W."}
DIALECTS: dict[str, dict[str, Any]] = {
    "api_call with a list": {**OF_GORILLA, "parameters": LISTED},
    "api_name with a list": {"name": "Weather", "api_name": "weather.get", "description": "W.", "parameters": LISTED},
    "api_call with a schema": {**OF_GORILLA, "parameters": SCHEMA},
    "required beside the schema": {
        **OF_GORILLA,
        "parameters": {"type": "object", "properties": PROPERTIES},
        "required": ["city"],
    },
    "dict typed": {**NAMED, "parameters": {**SCHEMA, "type": "dict"}},
    "OpenAI tool": {"type": "function", "function": {**NAMED, "parameters": SCHEMA}},
    "Anthropic tool": {**NAMED, "input_schema": SCHEMA},
    "MCP tool": {**NAMED, "inputSchema": SCHEMA},
    "mapping of parameters": {**NAMED, "parameters": PROPERTIES},
    "required and optional lists": {**NAMED, "parameters": {"required": LISTED[:1], "optional": LISTED[1:]}},
    "API zoo": {
        "user_name": "Weather",
        "api_name": "weather.get",
        "api_call": "weather.get(city, days=3)",
        "functionality": "W.",
        "api_arguments": {**PROPERTIES, "city": {**PROPERTIES["city"], "required": True}},
    },
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_gives_the_same_callable_whose_canonical_form_reads_back_as_the_same(dialect: str) -> None:
    raw = DIALECTS[dialect]
    if dialect == "API zoo":
        raw["api_arguments"]["city"]["description"] = "The city, required."
    function = read_function(raw)
    assert function.name == "weather.get"
    assert function.description == "W."
    assert [parameter.name for parameter in function.parameters] == ["city", "days"]
    assert [parameter.schema["type"] for parameter in function.parameters] == ["string", "integer"]
    assert function.required == ("city",)
    assert function.parameters[1].schema["default"] == 3
    again = read_function(to_canonical(function))
    assert (again.name, again.title, again.description) == (function.name, function.title, function.description)
    assert again.parameters == function.parameters


@pytest.mark.parametrize(
    ("word", "schema"),
    [
        ("dict", {"type": "object", "x-type": "dict"}),
        ("float", {"type": "number", "x-type": "float"}),
        ("tuple", {"type": "array", "items": {}, "x-type": "tuple"}),
        ("any", {"x-type": "any"}),
        ("STRING", {"type": "string", "x-type": "STRING"}),
        ("HashMap", {"type": "object", "x-type": "HashMap"}),
        ("List[int]", {"type": "array", "items": {"type": "integer", "x-type": "int"}, "x-type": "List"}),
        ("String[]", {"type": "array", "items": {"type": "string", "x-type": "String"}, "x-type": "String[]"}),
        ("list of strings", {"type": "array", "items": {"type": "string"}, "x-type": "list of strings"}),
        ("Optional[int]", {"anyOf": [{"type": "integer", "x-type": "int"}, {"type": "null"}]}),
        ("int or str", {"anyOf": [{"type": "integer", "x-type": "int"}, {"type": "string", "x-type": "str"}]}),
        ("string, optional", {"type": "string"}),
        ("datetime", {"type": "string", "format": "date-time", "x-type": "datetime"}),
        # An unknown word accepts anything.
        ("quux", {"x-type": "quux"}),
    ],
)
def test_type_words_become_json_schema_and_are_kept(word: str, schema: dict[str, Any]) -> None:
    function = read_function({"name": "f", "parameters": {"type": "dict", "properties": {"a": {"type": word}}}})
    found = dict(function.parameters[0].schema)
    assert {key: value for key, value in found.items() if value != "null"} == schema or found == schema


@pytest.mark.parametrize(
    ("raw", "pointer"),
    [
        ("text", ""),
        ({}, "/name"),
        ({"name": 3}, "/name"),
        ({"name": "Weather Report"}, "/name"),
        ({"name": "f", "api_call": "get the weather"}, "/api_call"),
        ({"name": "f", "parameters": "city"}, "/parameters"),
        ({"name": "f", "parameters": [3]}, "/parameters/0"),
        ({"name": "f", "parameters": [{"type": "string"}]}, "/parameters/0/name"),
        ({"name": "f", "parameters": [{"name": "a"}, {"name": "a"}]}, "/parameters/1/name"),
        ({"name": "f", "parameters": {"type": "object", "properties": []}}, "/parameters/properties"),
        ({"name": "f", "parameters": {"type": "object", "properties": {}, "required": "a"}}, "/parameters/required"),
        ({"name": "f", "description": ["x"]}, "/description"),
        ({"type": "function", "function": {"description": "x"}}, "/function/name"),
        ({"name": "f", "parameters": {"a": 5}}, "/parameters/a"),
        ({"api_call": "f", "api_arguments": 7}, "/api_arguments"),
        ({"api_arguments": {}}, "/api_call"),
    ],
)
def test_malformed_documentation_names_the_field(raw: object, pointer: str) -> None:
    with pytest.raises(FunctionError) as caught:
        read_function(raw)
    assert caught.value.pointer == pointer
    assert str(caught.value).startswith(pointer or "/")


def test_references_stay_inside_the_document() -> None:
    parameters = {
        "type": "object",
        "properties": {"a": {"$ref": "#/definitions/Part"}, "b": {"$ref": "http://127.0.0.1:9/schema.json"}},
        "definitions": {"Part": {"type": "string"}},
    }
    function = read_function({"name": "f", "parameters": parameters})
    assert function.json_schema()["$defs"] == {"Part": {"type": "string"}}
    assert function.parameters[0].schema == {"$ref": "#/$defs/Part"}
    assert function.parameters[1].schema == {}


def test_a_route_of_the_zoo_knows_its_required_variable() -> None:
    raw = {
        "user_name": "x",
        "api_name": "SCIM2",
        "api_call": "GET /scim2/Groups/{groupId}",
        "api_arguments": {"groupId": "string: The group.", "count": "integer: How many."},
        "functionality": "Get a group.",
    }
    function = read_function(raw)
    assert function.name == "SCIM2"
    assert function.required == ("groupId",)
    assert [parameter.schema["type"] for parameter in function.parameters] == ["string", "integer"]
    assert read_function(to_canonical(function)).parameters == function.parameters


ADD_ITEM = """
parameters: [{name: id, in: path, required: true, schema: {type: string}}]
post:
  operationId: addItem
  summary: Add an item.
  parameters:
  - {name: id, in: query, schema: {type: integer}}
  - {name: X-Trace, in: header, required: true, schema: {type: string}}
  requestBody: {required: true, content: {application/json: {schema: {$ref: "#/components/schemas/Item"}}}}
"""
PARTS = {"type": "array", "items": {"$ref": "#/components/schemas/Item"}}
ITEM = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "parts": PARTS}}


def test_an_operation_keeps_its_values_grouped_by_place() -> None:
    document = openapi({"/users/{id}/items": yaml.safe_load(ADD_ITEM)}, schemas={"Item": ITEM})
    function = load_functions(document)[0]
    assert function.name == "addItem"
    assert [parameter.name for parameter in function.parameters] == ["path", "query", "header", "body"]
    assert function.required == ("path", "header", "body")
    assert function.operation is not None
    assert function.operation.path == "/users/{id}/items"
    assert set(function.json_schema()["$defs"]) == {"Item"}


def test_openai_names_are_legal_distinct_and_mapped_back() -> None:
    names = ["a.b", "a_b", "a b c.d", "a.b", "x" * 80, "x" * 81, "größe", "a_b_2"]
    functions = [Function(name) for name in names]
    tools = to_openai(functions)
    legal = [tool["function"]["name"] for tool in tools]
    assert len(set(legal)) == len(legal)
    assert all(len(name) <= 64 and name.replace("_", "").replace("-", "").isalnum() for name in legal)
    assert all(name.isascii() for name in legal)
    assert legal[1] == "a_b"
    assert [find_function(name, functions) for name in legal[:3]] == functions[:3]


def test_openai_tools_carry_no_private_words() -> None:
    function = read_function({"name": "f", "parameters": {"type": "dict", "properties": {"a": {"type": "float"}}}})
    tools = to_openai([function])
    assert "x-type" not in json.dumps(tools)
    assert tools[0]["function"]["parameters"]["properties"]["a"] == {"type": "number"}


def test_the_layouts_of_openfunctions_are_written_as_the_models_saw_them() -> None:
    function = read_function(DIALECTS["api_call with a schema"])
    assert to_gorilla(function, "v0")["parameters"][0]["name"] == "city"
    assert to_gorilla(function, "v1")["api_call"] == "weather.get"
    assert to_gorilla(function, "v1")["parameters"]["type"] == "object"
    assert to_gorilla(function, "v2")["name"] == "weather.get"
    assert to_gorilla(function, "v2")["parameters"]["type"] == "dict"
    assert all(read_function(to_gorilla(function, version)).name == "weather.get" for version in ("v0", "v1", "v2"))


def test_functions_are_loaded_from_files_text_lines_and_python_literals(tmp_path: Path) -> None:
    raw = DIALECTS["api_call with a schema"]
    path = tmp_path / "functions.json"
    path.write_text(json.dumps([raw]), encoding="utf-8")
    expected = [read_function(raw)]
    assert load_functions(path) == expected
    assert load_functions(str(path)) == expected
    assert load_functions(json.dumps(raw)) == expected
    assert load_functions(f"{json.dumps(raw)}\n{json.dumps(raw)}") == expected * 2
    assert load_functions({"Functions": [repr(raw)]}) == expected
    assert load_functions(b"name: weather.get\nparameters: []")[0].name == "weather.get"


@pytest.mark.parametrize(
    "text", ['{"name": ', "just text", "[1, 2]", "\x00", "[\"__import__('os').abort()\"]", "[" * 5000]
)
def test_text_without_functions_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(FunctionError):
        load_functions(text)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(FunctionError, match=r"nowhere\.json"):
        load_functions(Path("nowhere.json"))


def test_all_published_functions_validate(data_folder: Path) -> None:
    file = data_folder / "openfunctions" / "gorilla_openfunctions_v1_test.json"
    functions = load_functions(file)
    assert len(functions) == 112
    assert sum(len(function.parameters) for function in functions) == 219
    assert all(read_function(to_canonical(function)).parameters == function.parameters for function in functions)
