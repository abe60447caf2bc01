"""Guards the schemas that the page makes its forms from: arguments by place, and nothing but documented operations."""

import json
from typing import Any

import yaml
from asgi import requested
from httpx2 import Response
from paths import api_of
from starlette.applications import Starlette

from restgpt.server.app import schema_routes
from restgpt.specs import Catalogue
from restgpt.tools.errors import SettingsError

PUT_DISH = """
operationId: put_dish
parameters:
- {name: dish, in: path, required: true, schema: {type: string}, description: The name.}
- {name: hot, in: query, schema: {type: boolean}}
- {name: Accept, in: header, schema: {type: string}}
requestBody: {required: true, content: {application/json: {schema: {$ref: "#/components/schemas/Dish"}}}}
"""
DISH = """
type: object
required: [price]
properties:
  id: {type: integer, readOnly: true}
  price: {type: number, minimum: 0}
  parts: {type: array, items: {$ref: "#/components/schemas/Dish"}}
"""
API = api_of(
    {"/dishes/{dish}": {"put": yaml.safe_load(PUT_DISH)}}, title="Kitchen", schemas={"Dish": yaml.safe_load(DISH)}
)


def asked(operation: str, lookup: Any = None) -> Response:
    app = Starlette(routes=schema_routes(lookup or Catalogue([API]).lookup))
    return requested(app, "GET", "/debug/schema", params={"operation": operation})


def test_a_schema_has_the_arguments_by_place_with_the_required_ones() -> None:
    schema = asked("put_dish").json()
    assert schema["required"] == ["path", "body"]
    assert schema["properties"].keys() == {"path", "query", "body"}
    path = schema["properties"]["path"]
    assert path["required"] == ["dish"]
    assert path["properties"]["dish"] == {"type": "string", "description": "The name."}
    assert schema["properties"]["query"]["properties"] == {"hot": {"type": "boolean"}}


def test_the_schema_of_a_body_holds_its_definitions_and_no_read_only_property() -> None:
    body = asked("put_dish").json()["properties"]["body"]
    text = json.dumps(body)
    assert "$defs" in body
    assert '"price": {"type": "number", "minimum": 0}' in text
    assert '"id"' not in text


def test_an_unknown_operation_and_settings_that_cannot_be_read_are_sentences() -> None:
    unknown = asked("no_such")
    assert (unknown.status_code, unknown.json()["detail"]) == (404, "No configured API has this operation.")

    def broken(name: str) -> None:
        raise SettingsError("apis.yaml cannot be read.")

    assert (asked("x", broken).status_code, asked("x", broken).json()["detail"]) == (404, "apis.yaml cannot be read.")
