"""Guards what a caller is told about a mistake inside one of several alternatives: the one that was meant."""

from typing import Any

import pytest
from paths import operation_of

from restgpt.tools.errors import ArgumentError
from restgpt.tools.request.prepared_request import settle


def animal(**properties: Any) -> dict[str, Any]:
    """The closed schema of an animal that needs its kind and these properties."""
    fields = {"kind": {"type": "string"}, **properties}
    return {"type": "object", "additionalProperties": False, "required": [*fields], "properties": fields}


CAT = animal(lives={"type": "integer", "minimum": 1})
DOG = animal(bark={"enum": ["loud", "soft"]})
BY_HINT: dict[str, Any] = {
    "oneOf": [{"$ref": "#/components/schemas/Dog"}, {"$ref": "#/components/schemas/Cat"}],
    "discriminator": {"propertyName": "kind", "mapping": {"cat": "#/components/schemas/Cat", "dog": "Dog"}},
}
BY_VALUE: dict[str, Any] = {
    "oneOf": [
        {**DOG, "properties": {**DOG["properties"], "kind": {"const": "dog"}}},
        {**CAT, "properties": {**CAT["properties"], "kind": {"const": "cat"}}},
    ]
}
BY_NAMES: dict[str, Any] = {"anyOf": [DOG, CAT]}


def told(schema: dict[str, Any], body: Any) -> list[str]:
    content = {"required": True, "content": {"application/json": {"schema": schema}}}
    schemas = {"Cat": CAT, "Dog": DOG}
    operation = operation_of({"requestBody": content}, "post", base_url="http://[::1]", schemas=schemas)
    with pytest.raises(ArgumentError) as refused:
        settle(operation, {"body": body})
    return [str(problem) for problem in refused.value.problems]


@pytest.mark.parametrize("schema", [BY_HINT, BY_VALUE], ids=["discriminator", "const"])
@pytest.mark.parametrize(
    ("body", "problems"),
    [
        ({"kind": "cat"}, ["/body/lives: is required"]),
        ({"kind": "dog"}, ["/body/bark: is required"]),
        ({"kind": "cat", "lives": 0}, ["/body/lives: 0 is less than the minimum of 1"]),
        ({"kind": "cat", "lives": 9, "bark": "loud"}, ["/body/bark: is unknown; known here: kind, lives"]),
        ({"kind": "dog", "bark": "LOUD"}, ['/body/bark: must be one of "loud", "soft", not "LOUD"']),
        (7, ["/body: must be object, not the integer 7"]),
    ],
)
def test_a_mistake_in_an_alternative_is_told_for_that_alternative(
    schema: dict[str, Any], body: Any, problems: list[str]
) -> None:
    assert told(schema, body) == problems


def test_an_alternative_that_the_document_does_not_name_is_told_with_those_that_it_does() -> None:
    assert told(BY_HINT, {"kind": "cow"}) == ['/body/kind: must be one of "dog", "cat"']
    assert told(BY_HINT, {}) == ['/body/kind: is required: "dog", "cat"']


def test_a_field_that_an_alternative_demands_is_not_said_to_be_unknown() -> None:
    assert told(BY_NAMES, {"kind": "x", "lives": 0}) == ["/body/lives: 0 is less than the minimum of 1"]
    assert told(BY_NAMES, {"kind": "x"}) == ['/body: {"kind": "x"} fits none, or several, of the alternatives']
