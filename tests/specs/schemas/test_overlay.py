"""Guards `allOf` of an envelope and an overlay: what both say of one property holds together, in any order."""

from typing import Any

import pytest
from paths import operation_of

from restgpt.specs import Operation
from restgpt.tools.errors import ArgumentError
from restgpt.tools.request import build_request

USER = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}
ENVELOPE = {"type": "object", "properties": {"data": {"type": "array", "items": {"type": "object"}}, "more": {}}}
OVERLAY = {"properties": {"data": {"items": {"$ref": "#/components/schemas/User"}}}}
OF_MAP = {"properties": {"data": {"type": "object", "additionalProperties": {"type": "object"}}}}
MAP_OVERLAY = {"properties": {"data": {"additionalProperties": {"$ref": "#/components/schemas/User"}}}}


def operation(*members: Any) -> Operation:
    """An operation whose body and whose answer are all of these members."""
    content = {"content": {"application/json": {"schema": {"allOf": [*members]}}}}
    fields = {"requestBody": {"required": True, **content}, "responses": {"200": {"description": "ok", **content}}}
    return operation_of(fields, "put", schemas={"User": USER, "Envelope": ENVELOPE}, base_url="https://users.example")


ORDERS = [[ENVELOPE, OVERLAY], [OVERLAY, ENVELOPE], [{"$ref": "#/components/schemas/Envelope"}, OVERLAY]]


@pytest.mark.parametrize("members", ORDERS)
def test_answers_and_bodies_have_the_fields_of_the_overlay_and_are_checked_by_both(members: list[Any]) -> None:
    found = operation(*members)
    for shape in (found.sent, found.received):
        assert shape is not None
        items = shape.fields["data"].items
        assert items is not None
        assert list(items.fields) == ["id", "name"]
        assert "more" in shape.fields
    build_request(found, {"body": {"data": [{"id": 1}]}})
    for wrong in ({"data": [{"name": "Ann"}]}, {"data": [{"id": "x"}]}, {"data": {}}):
        with pytest.raises(ArgumentError):
            build_request(found, {"body": wrong})


def test_the_values_of_a_map_are_combined_too() -> None:
    received = operation(OF_MAP, MAP_OVERLAY).received
    assert received is not None
    both = {"allOf": [{"type": "object"}, {"$ref": "#/components/schemas/User"}]}
    assert received.fields["data"].flat["additionalProperties"] == both


def test_three_levels_are_combined() -> None:
    inner = {"properties": {"page": {"properties": {"data": {"type": "array", "items": {"type": "object"}}}}}}
    over = {"properties": {"page": {"properties": {"data": {"items": {"$ref": "#/components/schemas/User"}}}}}}
    received = operation(inner, over).received
    assert received is not None
    items = received.fields["page"].fields["data"].items
    assert items is not None
    assert "name" in items.fields
