"""What a recipe uses of an operation, and the changes of a document that matter to it."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
import yaml

from restgpt.recipes.guards.closure import (
    document_shifts,
    find_operation,
    moved_operation,
    renamed_parameters,
    used_operation,
)
from restgpt.recipes.recipe import UsedOperation
from restgpt.recipes.sent import Sent
from restgpt.specs import Operation, load_api

DOCUMENT = yaml.safe_load("""
openapi: 3.1.0
info: {title: Shop, version: "1"}
servers: [{url: "http://shop.test"}]
paths:
  /orders/{order_id}/items:
    post:
      operationId: add_items
      parameters:
        - {name: order_id, in: path, required: true, schema: {type: integer}}
        - {name: notify, in: query, schema: {type: string, enum: [mail, none]}}
        - {name: filter, in: query, style: deepObject, schema: {type: object, properties: {status: {type: string}}}}
        - {name: trace, in: query, schema: {type: string}}
        - {name: Idempotency-Key, in: header, required: true, schema: {type: string}}
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [items]
              properties:
                note: {type: string}
                items: {type: array, items: {$ref: "#/components/schemas/Item"}}
                labels: {type: object, additionalProperties: {type: string}}
      responses:
        "201":
          description: done
          content:
            application/json:
              schema:
                type: object
                properties:
                  id: {type: integer}
                  state: {type: string}
                  closed: {type: [string, "null"]}
                  owner: {type: object, properties: {name: {type: string}}}
                  lines: {type: array, items: {type: object, properties: {sku: {type: string}}}}
                  meta: {type: object}
                  extra: {type: object, additionalProperties: {type: integer}}
  /orders:
    get:
      operationId: list_orders
      responses: {"200": {description: fine}}
components:
  schemas:
    Item:
      type: object
      required: [sku]
      properties:
        sku: {type: string}
        amount: {type: integer}
        colour: {type: string}
        stamp: {type: string, readOnly: true}
""")

PATH = "/orders/{order_id}/items"

SENT = (
    Sent(
        "add_items",
        {
            "path": {"order_id": 7},
            "query": {"notify": "mail", "filter": {"status": "open"}},
            "header": {"idempotency-key": "k"},
            "body": {"items": [{"sku": "a", "amount": 2}, {"sku": "b"}], "labels": {"x": "y"}},
        },
        status=201,
        reads={
            "": ("object",),
            "/id": ("integer",),
            "/closed": ("null",),
            "/owner": ("object",),
            "/owner/name": ("string",),
            "/lines": ("array",),
            "/lines/*": ("object",),
            "/lines/*/sku": ("string",),
            "/meta/any": ("string",),
            "/extra/*": ("integer",),
            "/gift": ("missing",),
        },
    ),
    Sent("add_items", {"path": {"order_id": 8}}, status=200, reads={"/id": ("integer",), "/closed": ("string",)}),
    Sent("list_orders", {}, status=404, reads={"/other": ("string",)}),
)


def operations(document: Any) -> list[Operation]:
    return list(load_api(document).operations)


def used_in(document: Any = DOCUMENT) -> UsedOperation:
    return used_operation("add_items", operations(document)[0], SENT, api="shop")


def test_an_entry_has_the_statuses_and_the_fields_of_the_calls_of_its_function() -> None:
    used = used_in()

    assert (used.method, used.path, used.api, used.status) == ("POST", PATH, "shop", (200, 201))
    assert used.reads["/closed"] == ("string", "null")
    assert used.reads["/gift"] == ("missing",)
    assert "/other" not in used.reads


def test_an_entry_has_what_the_document_says_of_the_used_arguments() -> None:
    assert used_in().documented.parameters == {
        "path/order_id": ("integer",),
        "query/notify": ("string",),
        "query/filter/status": ("string",),
        "body/items/*/sku": ("string",),
        "body/items/*/amount": ("integer",),
        "body/labels/*": ("string",),
    }


def test_an_entry_has_the_required_arguments_of_the_objects_that_were_sent() -> None:
    assert used_in().documented.required == ("body", "body/items", "body/items/*/sku", "path/order_id")
    assert used_in().documented.media == "application/json"


def test_an_entry_has_what_the_document_says_of_the_read_fields() -> None:
    assert used_in().documented.answer == {
        "": ("object",),
        "/closed": ("string", "null"),
        "/extra/*": ("integer",),
        "/id": ("integer",),
        "/lines": ("array",),
        "/lines/*": ("object",),
        "/lines/*/sku": ("string",),
        "/owner": ("object",),
        "/owner/name": ("string",),
    }


def post(document: Any) -> Any:
    return document["paths"][PATH]["post"]


def parameter(document: Any, name: str) -> Any:
    return next(item for item in post(document)["parameters"] if item["name"] == name)


def body(document: Any) -> Any:
    return post(document)["requestBody"]["content"]["application/json"]["schema"]


def answer(document: Any) -> Any:
    return post(document)["responses"]["201"]["content"]["application/json"]["schema"]["properties"]


def item(document: Any) -> Any:
    return document["components"]["schemas"]["Item"]


def without(name: str) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        post(document)["parameters"].remove(parameter(document, name))

    return change


def to_header(document: Any) -> None:
    parameter(document, "notify")["in"] = "header"


def to_form(document: Any) -> None:
    content = post(document)["requestBody"]["content"]
    content["application/xml"] = content.pop("application/json")


def rename(properties: Callable[[Any], Any], old: str, new: str) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        properties(document)[new] = properties(document).pop(old)

    return change


def deeper(document: Any) -> None:
    fields = answer(document)
    fields["data"] = {"type": "object", "properties": {"id": fields.pop("id")}}


def new_parameter(name: str, **more: Any) -> Callable[[Any], None]:
    given = {"name": name, "in": "query", "schema": {"type": "string"}, **more}
    return lambda document: post(document)["parameters"].append(given)


DRIFTS: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "a used parameter gone": (without("notify"), "query parameter notify", "found nothing"),
    "a used parameter in a header": (to_header, "query parameter notify", "a header parameter of this name"),
    "a parameter of another type": (
        lambda document: parameter(document, "order_id").update(schema={"type": "boolean"}),
        "path parameter order_id",
        "expected an integer, found a boolean",
    ),
    "a list where a value was": (
        lambda document: parameter(document, "notify").update(schema={"type": "array", "items": {"type": "string"}}),
        "query parameter notify",
        "found an array",
    ),
    "a field of a parameter gone": (
        lambda document: parameter(document, "filter")["schema"].update(properties={"other": {"type": "string"}}),
        "query parameter filter/status",
        "found nothing",
    ),
    "a new required parameter": (new_parameter("shop", required=True), "query parameter shop", "found a required one"),
    "a parameter that is required now": (
        lambda document: parameter(document, "trace").update(required=True),
        "query parameter trace",
        "found a required one",
    ),
    "a new required field of the body": (
        lambda document: body(document).update(required=["items", "note"]),
        "field of the body /note",
        "found a required one",
    ),
    "a new required field deep in the body": (
        lambda document: item(document).update(required=["sku", "colour"]),
        "field of the body /items/*/colour",
        "found a required one",
    ),
    "a used field of the body gone": (
        lambda document: item(document)["properties"].pop("amount"),
        "field of the body /items/*/amount",
        "found nothing",
    ),
    "a used field of the body renamed": (
        rename(lambda document: body(document)["properties"], "items", "lines"),
        "field of the body /items/*/sku",
        "found nothing",
    ),
    "another type in the body": (
        lambda document: item(document)["properties"].update(amount={"type": "object"}),
        "field of the body /items/*/amount",
        "found an object",
    ),
    "another media type": (to_form, "media type of the body", "expected application/json, found application/xml"),
    "no body": (lambda document: post(document).pop("requestBody"), "media type of the body", "found no body"),
    "a read field gone": (lambda document: answer(document).pop("id"), "field /id", "found nothing"),
    "a read field renamed": (rename(answer, "id", "key"), "field /id", "found nothing"),
    "a read field nested deeper": (deeper, "field /id", "found nothing"),
    "a read field of another type": (
        lambda document: answer(document).update(id={"type": "string"}),
        "field /id",
        "expected an integer in the documented answer, found a string",
    ),
    "a list instead of an object": (
        lambda document: answer(document).update(owner={"type": "array", "items": {"type": "string"}}),
        "field /owner/name",
        "found nothing",
    ),
    "a field of the items gone": (
        lambda document: answer(document)["lines"]["items"].update(properties={"code": {"type": "string"}}),
        "field /lines/*/sku",
        "found nothing",
    ),
}


@pytest.mark.parametrize("name", DRIFTS)
def test_a_change_of_the_used_part_is_a_shift(name: str) -> None:
    change, place, found = DRIFTS[name]
    document = deepcopy(DOCUMENT)
    change(document)

    shifts = [str(shift) for shift in document_shifts(used_in(), operations(document)[0])]

    assert any(place in shift and found in shift for shift in shifts), shifts
    assert all(shift.startswith(f"POST {PATH} (add_items), ") for shift in shifts)


def rename_path_parameter(document: Any) -> None:
    parameter(document, "order_id")["name"] = "id"
    document["paths"]["/orders/{id}/items"] = document["paths"].pop(PATH)


def reordered(document: Any) -> None:
    post(document)["parameters"].reverse()
    body(document)["properties"] = dict(reversed(body(document)["properties"].items()))


def another_operation(document: Any) -> None:
    document["paths"]["/orders"]["get"]["parameters"] = [
        {"name": "x", "in": "query", "required": True, "schema": {"type": "string"}}
    ]


HONEST: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda document: None,
    "another operationId": lambda document: post(document).update(operationId="append"),
    "another name of a path parameter": rename_path_parameter,
    "a new optional parameter": new_parameter("more"),
    "a new required parameter with a default": new_parameter(
        "more", required=True, schema={"type": "string", "default": "x"}
    ),
    "other words": lambda document: post(document).update(description="Adds items.", summary="Add", tags=["x"]),
    "new fields in the answer": lambda document: answer(document).update(more={"type": "string"}),
    "fields in the answer that nobody reads": lambda document: answer(document).pop("state"),
    "an unused parameter gone": without("trace"),
    "an unused field of the body gone": lambda document: item(document)["properties"].pop("colour"),
    "a wider type of a parameter": lambda document: parameter(document, "order_id").update(schema={"type": "number"}),
    "a wider type of a field": lambda document: answer(document).update(id={"type": ["integer", "null"]}),
    "a wider enum": lambda document: parameter(document, "notify").update(schema={"enum": ["mail", "none", "sms"]}),
    "an optional argument that was required": lambda document: body(document).update(required=[]),
    "a used argument that is required now": lambda document: parameter(document, "notify").update(required=True),
    "a used field of the body that is required now": lambda document: item(document).update(required=["sku", "amount"]),
    "another order": reordered,
    "an open answer": lambda document: post(document)["responses"].pop("201"),
    "another operation": another_operation,
    "a new required field that only the server sets": lambda document: item(document).update(required=["sku", "stamp"]),
    "one more media type": lambda document: post(document)["requestBody"]["content"].update({"text/csv": {}}),
    "parameters of the media type": lambda document: post(document)["requestBody"].update(
        content={"application/json; charset=utf-8": {"schema": body(document)}}
    ),
}


@pytest.mark.parametrize("name", HONEST)
def test_a_change_of_another_part_is_no_shift(name: str) -> None:
    document = deepcopy(DOCUMENT)
    HONEST[name](document)
    used = used_in()
    operation = find_operation(used, operations(document))

    assert operation is not None
    assert document_shifts(used, operation) == []


def test_an_operation_is_found_by_api_method_and_path() -> None:
    used = used_in()
    document = deepcopy(DOCUMENT)
    rename_path_parameter(document)
    today = operations(document)

    assert find_operation(used, today) is today[1]
    assert renamed_parameters(used, today[1]) == {"order_id": "id"}
    assert find_operation(used.model_copy(update={"method": "PUT"}), today) is None
    assert find_operation(used.model_copy(update={"api": "bank"}), today) is None


def test_an_operation_that_is_gone_is_a_shift() -> None:
    [shift] = document_shifts(used_in(), None)

    assert str(shift) == f"POST {PATH} (add_items): expected the operation in the document, found nothing."


def test_an_operation_whose_path_has_moved_is_a_shift_that_names_both() -> None:
    used, document = used_in(), deepcopy(DOCUMENT)
    document["paths"]["/v2/orders/{order_id}/items"] = document["paths"].pop(PATH)
    today = operations(document)

    assert find_operation(used, today) is None
    [shift] = document_shifts(used, moved_operation(used, today))
    assert f"POST {PATH}" in shift.where
    assert "POST /v2/orders/{order_id}/items" in shift.found


def test_a_schema_that_is_too_complex_is_a_shift_and_no_long_walk() -> None:
    used, document = used_in(), deepcopy(DOCUMENT)
    levels = {
        f"L{number}": {"allOf": [{"$ref": f"#/components/schemas/L{number + 1}"}] * 3, "type": "object"}
        for number in range(40)
    }
    document["components"]["schemas"] |= {**levels, "L40": {"type": "object"}}
    properties = {
        f"p{number}": {"allOf": [{"$ref": "#/components/schemas/L0"}, {"title": str(number)}]} for number in range(400)
    }
    document["paths"][PATH]["post"]["requestBody"]["content"]["application/json"]["schema"] = {
        "oneOf": [{"type": "object", "properties": {**properties, f"q{n}": {}}} for n in range(8)]
    }

    shifts = document_shifts(used, operations(document)[0])

    assert shifts


def test_foreign_names_cannot_break_out_of_a_sentence() -> None:
    document = deepcopy(DOCUMENT)
    new_parameter("a\n\u202eb" + "x" * 500, required=True)(document)

    [shift] = document_shifts(used_in(), operations(document)[0])

    assert "\n" not in str(shift)
    assert "\u202e" not in str(shift)
    assert len(str(shift)) < 500


def test_a_number_in_the_path_is_sent_as_the_same_text_where_the_document_takes_texts_now() -> None:
    document = deepcopy(DOCUMENT)
    parameter(document, "order_id")["schema"] = {"type": "string"}
    assert document_shifts(used_in(), operations(document)[0]) == []
    item(document)["properties"]["amount"] = {"type": "string"}
    [shift] = document_shifts(used_in(), operations(document)[0])
    assert "/items/*/amount" in shift.where
