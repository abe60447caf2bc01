"""Guards `allOf` of an envelope and an overlay: what both say of one property holds together, in any order."""

from typing import Any

import pytest

from restgpt.specs import load_api
from restgpt.tools.errors import ArgumentError
from restgpt.tools.request import build_request

USER = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}
ENVELOPE = {"type": "object", "properties": {"data": {"type": "array", "items": {"type": "object"}}, "more": {}}}
OVERLAY = {"properties": {"data": {"items": {"$ref": "#/components/schemas/User"}}}}
OF_MAP = {"properties": {"data": {"type": "object", "additionalProperties": {"type": "object"}}}}
MAP_OVERLAY = {"properties": {"data": {"additionalProperties": {"$ref": "#/components/schemas/User"}}}}


def document(schema: Any) -> dict[str, Any]:
    content = {"application/json": {"schema": schema}}
    operation = {
        "operationId": "put_users",
        "requestBody": {"required": True, "content": content},
        "responses": {"200": {"description": "ok", "content": content}},
    }
    return {
        "openapi": "3.0.3",
        "info": {"title": "t", "version": "1"},
        "servers": [{"url": "https://users.example"}],
        "paths": {"/users": {"put": operation}},
        "components": {"schemas": {"User": USER, "Envelope": ENVELOPE}},
    }


ORDERS = [[ENVELOPE, OVERLAY], [OVERLAY, ENVELOPE], [{"$ref": "#/components/schemas/Envelope"}, OVERLAY]]


@pytest.mark.parametrize("members", ORDERS)
def test_answers_and_bodies_have_the_fields_of_the_overlay(members: list[Any]) -> None:
    operation = load_api(document({"allOf": members})).operation("put_users")
    for shape in (operation.sent, operation.received):
        assert shape is not None
        items = shape.fields["data"].items
        assert items is not None
        assert list(items.fields) == ["id", "name"]
        assert "more" in shape.fields


@pytest.mark.parametrize("members", ORDERS)
def test_a_body_is_checked_by_both(members: list[Any]) -> None:
    operation = load_api(document({"allOf": members})).operation("put_users")
    build_request(operation, {"body": {"data": [{"id": 1}]}})
    for wrong in ({"data": [{"name": "Ann"}]}, {"data": [{"id": "x"}]}, {"data": {}}):
        with pytest.raises(ArgumentError):
            build_request(operation, {"body": wrong})


def test_the_values_of_a_map_are_combined_too() -> None:
    received = load_api(document({"allOf": [OF_MAP, MAP_OVERLAY]})).operation("put_users").received
    assert received is not None
    assert received.fields["data"].flat["additionalProperties"] == {
        "allOf": [{"type": "object"}, {"$ref": "#/components/schemas/User"}]
    }


def test_three_levels_are_combined() -> None:
    inner = {"properties": {"page": {"properties": {"data": {"type": "array", "items": {"type": "object"}}}}}}
    over = {"properties": {"page": {"properties": {"data": {"items": {"$ref": "#/components/schemas/User"}}}}}}
    received = load_api(document({"allOf": [inner, over]})).operation("put_users").received
    assert received is not None
    items = received.fields["page"].fields["data"].items
    assert items is not None
    assert "name" in items.fields
