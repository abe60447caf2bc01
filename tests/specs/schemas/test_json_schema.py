"""Guards the conversion of any schema to JSON Schema 2020-12: what it accepts, what it refuses, that it is small."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from restgpt.specs.reading.document import Document
from restgpt.specs.schemas.json_schema import json_schema


def convert(schema: dict[str, Any], version: str = "3.0.0", request: bool = False, **schemas: Any) -> dict[str, Any]:
    data = json.dumps({"openapi": version, "components": {"schemas": schemas}}).encode()
    found = json_schema(Document.from_json(data), schema, request=request)
    Draft202012Validator.check_schema(found)
    return found


def accepts(schema: dict[str, Any], value: Any, **options: Any) -> bool:
    return Draft202012Validator(convert(schema, **options)).is_valid(value)


CLOSED = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "string", "nullable": True}, None, 1),
        ({"type": "string", "enum": ["a"], "nullable": True}, None, "b"),
        ({"allOf": [{"type": "integer"}], "nullable": True}, None, "b"),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, 2, 1),
        ({"type": "integer", "maximum": "5"}, 5, 6),
        ({"type": "integer", "enum": ["1", "2"]}, 1, 3),
        ({"type": "string", "enum": [True, 10]}, "true", "yes"),
        ({"type": "array", "enum": ["a", "b"], "items": {"type": "string"}}, ["a"], ["c"]),
        ({"type": "array", "items": [{"type": "string"}, {"type": "integer"}]}, ["a", 1], [1, "a"]),
        ({"type": "int", "required": True}, 1, "a"),
        ({"type": "object", "required": ["a"], "additionalProperties": "false"}, {"a": 1}, {}),
        ({"type": "string", "pattern": "^[a-z]+$"}, "abc", "ABC"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, 1, "a"),
        ({"type": "string", "minLength": "2"}, "ab", "a"),
        ({"type": "string", "pattern": "/^[a-z]+$/i"}, "ABC", "1"),
        ({"allOf": [{"properties": {"a": {"type": "integer"}}}], "additionalProperties": False}, {"a": 1}, {"b": 1}),
        ({"allOf": [CLOSED, {"properties": {"b": {"type": "integer"}}}]}, {"a": 1, "b": 2}, {"a": "x"}),
    ],
)
def test_what_a_schema_means_is_what_it_accepts(schema: dict[str, Any], good: Any, bad: Any) -> None:
    assert accepts(schema, good)
    assert not accepts(schema, bad)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "pattern": r"^\p{L}+$"}, "any"),
        ({"type": "number", "multipleOf": 0.01}, 19.99),
        ({"type": "date"}, "2020-01-01"),
        ({"type": "any"}, {"a": [1]}),
        ({"type": "string", "example": 1, "xml": {}, "discriminator": {"propertyName": "x"}}, "a"),
        ({"$ref": "#/components/schemas/absent"}, "anything"),
        ({"type": "object", "properties": {"a": "text", "b": None}}, {"a": 1}),
        ({"enum": []}, 1),
        ({"minLength": -1, "maximum": "many"}, "x"),
        ({"properties": {"nullable": {"type": "boolean"}}}, {"nullable": True}),
    ],
)
def test_what_a_schema_gets_wrong_refuses_nothing(schema: dict[str, Any], value: Any) -> None:
    assert accepts(schema, value)


def test_only_the_schemas_that_are_reached_are_closed_over() -> None:
    schemas = {
        "A": {"type": "object", "properties": {"b": {"$ref": "#/components/schemas/B"}}},
        "B": {"type": "array", "items": {"$ref": "#/components/schemas/A"}},
        "C": {"type": "string"},
    }
    found = convert({"$ref": "#/components/schemas/A"}, **schemas)
    assert set(found["$defs"]) == {"A", "B"}
    assert Draft202012Validator(found).is_valid({"b": [{"b": []}]})
    assert not Draft202012Validator(found).is_valid({"b": [1]})


def test_schemas_of_the_same_last_name_are_kept_apart() -> None:
    places = {"a": "x", "b": "y"}
    schema = {"properties": {n: {"$ref": f"#/components/schemas/{to}/properties/id"} for n, to in places.items()}}
    found = convert(schema, x={"properties": {"id": {"type": "string"}}}, y={"properties": {"id": {"type": "integer"}}})
    assert found["$defs"] == {"id": {"type": "string"}, "id_2": {"type": "integer"}}


def test_a_parent_and_children_that_name_each_other_can_be_validated() -> None:
    schemas = {
        "Pet": {"type": "object", "required": ["kind"], "oneOf": [{"$ref": "#/components/schemas/Dog"}]},
        "Dog": {"allOf": [{"$ref": "#/components/schemas/Pet"}, {"properties": {"bark": {"type": "boolean"}}}]},
    }
    assert accepts({"$ref": "#/components/schemas/Pet"}, {"kind": "dog", "bark": True}, **schemas)
    assert not accepts({"$ref": "#/components/schemas/Pet"}, {"bark": True}, **schemas)


SELF: dict[str, Any] = {"$ref": "#/components/schemas/A"}


@pytest.mark.parametrize(
    "following",
    [
        {"oneOf": [SELF, {"type": "null"}]},
        {"anyOf": [SELF, {"type": "null"}]},
        {"allOf": [SELF], "nullable": True},
        {"not": {"not": SELF}},
    ],
    ids=["oneOf", "anyOf", "allOf", "not"],
)
def test_a_schema_that_holds_itself_judges_all_that_it_holds(following: dict[str, Any]) -> None:
    node = {"type": "object", "properties": {"n": {"type": "integer"}, "next": following}}
    assert accepts(SELF, {"n": 1, "next": {"n": 2, "next": {"n": 3}}}, A=node)
    assert not accepts(SELF, {"n": 1, "next": {"n": 2, "next": {"n": "bad"}}}, A=node)
    circle = {"type": "object", "properties": {"n": {"type": "integer"}}, "dependentSchemas": {"n": SELF}}
    assert accepts(SELF, {"n": 1}, version="3.1.0", A=circle)
    assert not accepts(SELF, {"n": "bad"}, version="3.1.0", A=circle)


def test_read_only_properties_are_not_asked_for_in_requests() -> None:
    schema = {
        "type": "object",
        "required": ["id", "name", "secret"],
        "properties": {"id": {"type": "integer", "readOnly": True}, "name": {}, "secret": {"writeOnly": True}},
    }
    assert convert(schema, request=True)["required"] == ["name", "secret"]
    assert set(convert(schema, request=True)["properties"]) == {"name", "secret"}
    assert convert(schema)["required"] == ["id", "name"]


def test_keywords_beside_a_reference_count_from_version_3_1_on_and_null_always() -> None:
    schema = {"$ref": "#/components/schemas/A", "maxLength": 2}
    assert accepts(schema, "long", version="3.0.3", A={"type": "string"})
    assert not accepts(schema, "long", version="3.1.0", A={"type": "string"})
    assert accepts({"$ref": "#/components/schemas/A", "nullable": True}, None, A={"type": "string"})


def test_keywords_of_json_schema_2020_12_are_kept() -> None:
    schema = {
        "type": ["object", "null"],
        "patternProperties": {"^x": {"const": 1}},
        "propertyNames": {"maxLength": 3},
        "if": {"required": ["a"]},
        "then": {"required": ["b"]},
        "exclusiveMinimum": 3,
    }
    told = [accepts(schema, value, version="3.1.0") for value in ({"x1": 1}, None, {"x1": 2}, {"long": 1}, {"a": 1})]
    assert told == [True, True, False, False, False]
