"""Guards that example arguments are small, valid by their own schema, and like the documented examples."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from paths import operation_of

from restgpt.specs import Operation
from restgpt.specs.docs.example import example_problems, minimal_arguments


def operation_with(schema: dict[str, Any], **schemas: Any) -> Operation:
    content = {"application/json": {"schema": schema}}
    return operation_of({"requestBody": {"content": content}}, "post", "/a", schemas=schemas, openapi="3.0.0")


def body_of(schema: dict[str, Any], **schemas: Any) -> Any:
    operation = operation_with(schema, **schemas)
    value = minimal_arguments(operation)["body"]
    assert Draft202012Validator(operation.json_schema(schema, request=True)).is_valid(value), value
    return value


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, "string"),
        ({"type": "string", "minLength": 8, "maxLength": 9}, "stringxx"),
        ({"type": "string", "format": "date"}, "2024-01-31"),
        ({"type": "string", "example": "a thing"}, "a thing"),
        ({"type": "string", "maxLength": 3, "example": "too long"}, "str"),
        ({"type": "integer", "default": 20}, 20),
        ({"type": "integer", "minimum": 7}, 7),
        ({"type": "integer", "minimum": 7, "exclusiveMinimum": True, "multipleOf": 5}, 10),
        ({"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 0.5}, 0.5),
        ({"type": "boolean"}, True),
        ({"enum": ["b", "a"]}, "b"),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2, "uniqueItems": True}, [1, 2]),
        ({"type": "array", "items": {"type": "string"}}, ["string"]),
        ({"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}, "b": {}}}, {"a": 1}),
        ({"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 2}, {"key1": 1, "key2": 1}),
        ({"allOf": [{"required": ["a"]}, {"properties": {"a": {"type": "boolean"}}}]}, {"a": True}),
        ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, 1),
    ],
)
def test_an_example_is_the_smallest_valid_value(schema: dict[str, Any], value: Any) -> None:
    assert body_of(schema) == value


NODE, CAT, DOG = ({"$ref": f"#/components/schemas/{name}"} for name in ("Node", "Cat", "Dog"))


def test_a_schema_that_needs_itself_stops_at_null_or_empty() -> None:
    fields = {"next": {"allOf": [NODE], "nullable": True}, "children": {"type": "array", "items": NODE}}
    node = {"type": "object", "required": ["next", "children"], "properties": fields}
    assert json.dumps(body_of(NODE, Node=node)).count("next") < 8


def test_the_discriminator_names_the_chosen_branch_and_read_only_properties_are_left_out() -> None:
    cat = {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}}}
    kinds = {"propertyName": "kind", "mapping": {"feline": "#/components/schemas/Cat"}}
    assert body_of({"oneOf": [CAT, DOG], "discriminator": kinds}, Cat=cat, Dog={}) == {"kind": "feline"}
    schema = {"required": ["id", "name"], "properties": {"id": {"readOnly": True}, "name": {"type": "string"}}}
    assert body_of(schema) == {"name": "string"}


def test_required_parameters_are_grouped_by_place() -> None:
    parameters = [
        {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}, "example": 42},
        {"name": "q", "in": "query", "required": True, "schema": {"type": "array", "items": {"type": "string"}}},
        {"name": "page", "in": "query", "schema": {"type": "integer"}},
        {"name": "X-A", "in": "header", "required": True, "schema": {"enum": ["on"]}},
    ]
    example = minimal_arguments(operation_of({"parameters": parameters}, path="/a/{id}"))
    assert example == {"path": {"id": 42}, "query": {"q": ["string"]}, "header": {"X-A": "on"}}


LEAVES = [
    {"type": "string", "minLength": 3},
    {"type": "integer", "minimum": 3, "maximum": 4},
    {"type": "boolean", "nullable": True},
    {"enum": [1, "a", None]},
    {"type": "number", "exclusiveMinimum": True, "minimum": 1},
]


def around(inner: Any) -> Any:
    """Schemas that hold such ones."""
    fields = st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    return st.one_of(
        st.builds(lambda item, least: {"type": "array", "items": item, "minItems": least}, inner, st.integers(0, 3)),
        st.builds(lambda items: {"type": "object", "properties": items, "required": sorted(items)}, fields),
        st.builds(lambda items: {"anyOf": items}, st.lists(inner, min_size=1, max_size=3)),
    )


@settings(max_examples=60)
@given(st.recursive(st.sampled_from(LEAVES), around, max_leaves=8))
def test_an_example_is_valid_by_its_own_schema(schema: dict[str, Any]) -> None:
    body_of(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "minLength": 2_000_000_000},
        {"type": "array", "minItems": 2_000_000_000},
        {"type": "object", "minProperties": 2_000_000_000},
        {"type": "string", "pattern": "^(((a{4000}){4000}){4000})$"},
    ],
)
def test_no_example_is_built_that_would_fill_the_memory(schema: dict[str, Any]) -> None:
    operation = operation_with(schema)
    arguments = minimal_arguments(operation)
    assert len(str(arguments)) < 1000
    assert [problem.pointer for problem in example_problems(operation, arguments)] == ["/paths/~1a/post/requestBody"]
