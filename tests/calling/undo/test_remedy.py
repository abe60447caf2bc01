"""Guards what is taken for the way back of a change: only what the document shows, and never by a guess."""

from typing import Any

import pytest
from paths import api_of

from restgpt.calling.target import UNREAD, TargetState
from restgpt.calling.undo import Irreversible, Made, Remedy, outlook, remedy
from restgpt.specs import Api, load_api
from restgpt.tools.text.redaction import MARK

DOCUMENT = """
openapi: 3.1.0
info: {title: Shop, version: "1"}
servers: [{url: "https://shop.example"}]
paths:
  /orders:
    post: &made
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Order"}}}}
      responses: {"201": {description: made}}
  /orders/{order_id}:
    parameters: [{name: order_id, in: path, required: true, schema: {type: string}}]
    get: {responses: {"200": {description: ok}}}
    put: *made
    patch: *made
    delete: &gone {responses: {"204": {description: gone}}}
  /shops/{shop}/notes:
    parameters: [{name: shop, in: path, required: true, schema: {type: string}}]
    post: *made
  /notes/{note_id}:
    parameters: [{name: note_id, in: path, required: true, schema: {type: integer}}]
    delete: *gone
  /likes:
    put: &likes
      parameters: [{name: ids, in: query, required: true, schema: {type: array, items: {type: string}}}]
      responses: {"200": {description: ok}}
    delete: *likes
  /config:
    put: {requestBody: {content: {application/json: {schema: {type: object}}}}, responses: {"200": {description: ok}}}
    delete: *gone
  /settings:
    put: &settings
      parameters: [{name: user, in: query, schema: {type: string}}]
      requestBody: {content: {application/json: {schema: {type: object}}}}
      responses: {"200": {description: ok}}
    patch: *settings
    delete:
      parameters: [{name: user, in: query, required: true, schema: {type: string}}]
      responses: {"204": {description: gone}}
  /themes: {put: *settings, delete: *gone}
  /mails: {post: {responses: {"202": {description: sent}}}}
  /guarded: {post: *made}
  /guarded/{id}:
    delete:
      parameters:
        - {name: id, in: path, required: true, schema: {type: string}}
        - {name: reason, in: query, required: true, schema: {type: string}}
      responses: {"204": {description: gone}}
components:
  schemas:
    Order:
      type: object
      additionalProperties: false
      properties: {item: {type: string}, amount: {type: integer}, note: {type: [string, "null"]}}
"""
ORDER = {"id": "o1", "item": "tea", "amount": 3, "note": None, "placed": "today"}
PATH = {"path": {"order_id": "o1"}}


@pytest.fixture(scope="module")
def api() -> Api:
    return load_api(DOCUMENT)


ABSENT: TargetState = {"known": "absent", "value": None}


def present(value: Any) -> TargetState:
    return {"known": "present", "value": value}


def way_back(
    api: Api, key: str, arguments: dict[str, Any], earlier: TargetState = UNREAD, made: Made | None = None
) -> tuple[str, dict[str, Any]] | str:
    """The reversing request as `METHOD /path` and arguments, or why there is none."""
    found = remedy(api.operation(key), arguments, earlier, made or Made())
    if isinstance(found, Irreversible):
        return found.reason
    return f"{found.operation.method} {found.operation.path}", found.arguments


@pytest.mark.parametrize(
    "made",
    [
        Made({"id": "o7"}),
        Made({"order_id": "o7", "id": "other"}),
        Made({"data": {"id": "o7"}}),
        Made({"order": {"id": "o7", "item": "tea"}}),
        Made(None, "https://shop.example/orders/o7"),
        Made({}, "/v1/orders/o7?x=1"),
    ],
)
def test_what_a_post_made_is_deleted_by_the_id_in_its_answer(api: Api, made: Made) -> None:
    assert way_back(api, "POST /orders", {}, made=made) == ("DELETE /orders/{order_id}", {"path": {"order_id": "o7"}})
    # It may be made below its parent and deleted at the top.
    found = way_back(api, "POST /shops/{shop}/notes", {"path": {"shop": "s"}}, made=Made({"id": 5}))
    assert found == ("DELETE /notes/{note_id}", {"path": {"note_id": 5}})


@pytest.mark.parametrize(
    "made",
    [
        *(Made(), Made({"customer": {"id": "c1"}}), Made([{"id": "o7"}]), Made({"id": True})),
        *(Made({}, f"http://{host}/orders/o7") for host in ("[bad", "[::1\0", "key℀.example")),
        Made({}, f"/{MARK}/orders/o7"),
    ],
)
def test_an_id_is_never_guessed(api: Api, made: Made) -> None:
    found = way_back(api, "POST /orders", {"body": {"item": "tea"}}, made=made)
    assert found == "the response has no id of what it made"


@pytest.mark.parametrize("key", ["POST /mails", "POST /guarded"])
def test_a_post_without_a_deletion_that_its_path_completes_cannot_be_undone(api: Api, key: str) -> None:
    found = way_back(api, key, {}, made=Made({"id": "x"}))
    assert found == "the spec has no operation that certainly reverses it"


@pytest.mark.parametrize(
    ("key", "body", "earlier", "back", "restored"),
    [
        ("PUT", {"item": "rum"}, present(ORDER), "PUT", {"item": "tea", "amount": 3, "note": None}),
        ("PATCH", {"amount": 9}, present(ORDER), "PATCH", {"amount": 3}),
        ("PATCH", {"amount": 9}, present({"amount": 10**21}), "PATCH", {"amount": 10**21}),
        ("PUT", {"item": "rum"}, ABSENT, "DELETE", None),
    ],
    ids=["all that a PUT can write", "what a PATCH changes", "past every store", "what was not there"],
)
def test_a_change_goes_back_to_the_earlier_values(
    api: Api, key: str, body: Any, earlier: TargetState, back: str, restored: Any
) -> None:
    found = way_back(api, f"{key} /orders/{{order_id}}", {**PATH, "body": body}, earlier)
    assert found == (f"{back} /orders/{{order_id}}", PATH if restored is None else {**PATH, "body": restored})


@pytest.mark.parametrize(
    ("field", "earlier", "reason"),
    [
        ("amount", UNREAD, "how it was before could not be read"),
        ("amount", present({"id": "o1"}), "the earlier value of amount cannot be read"),
        ("amount", present([1]), "what is sent and what can be read there have different forms"),
        ("amount", present({"amount": "[redacted]"}), "the earlier state holds a secret, which is not kept"),
        ("amount", present({"amount": "many"}), "would refuse what is known"),
        ("item", present({"item": "a\x01"}), "the earlier state holds values that cannot be kept"),
    ],
)
def test_what_was_not_read_is_not_restored(api: Api, field: str, earlier: TargetState, reason: str) -> None:
    body = {field: 9 if field == "amount" else "x"}
    assert reason in way_back(api, "PATCH /orders/{order_id}", {**PATH, "body": body}, earlier)


def test_the_way_back_goes_to_the_same_target(api: Api) -> None:
    arguments = {"query": {"user": "bob"}, "body": {"a": 1}}
    found = way_back(api, "PUT /settings", arguments, ABSENT)
    assert found == ("DELETE /settings", {"path": {}, "query": {"user": "bob"}})
    for method in ("PUT", "PATCH"):
        found = way_back(api, f"{method} /settings", arguments, present({"a": 2}))
        assert found == (f"{method} /settings", {"path": {}, "query": {"user": "bob"}, "body": {"a": 2}})


def test_a_deletion_that_cannot_be_told_whose_it_is_is_no_way_back(api: Api) -> None:
    arguments = {"query": {"user": "bob"}, "body": {"a": 1}}
    found = way_back(api, "PUT /themes", arguments, ABSENT)
    assert found == "the spec has no operation that certainly reverses it"


@pytest.mark.slow
def test_a_large_document_is_looked_through_once() -> None:
    """With 6,500 makers and as many deletions of one collection, comparing each with each takes minutes."""
    thing = {"in": "path", "required": True, "schema": {"type": "string"}}
    deletion = {"parameters": [{"name": "a", **thing}, {"name": "id", **thing}], "delete": {"responses": {}}}
    paths: dict[str, Any] = {f"/n{number}/{{a}}/things": {"post": {"responses": {}}} for number in range(6500)}
    paths |= {f"/n{number}/{{a}}/things/{{id}}": deletion for number in range(6500)}
    operation = api_of(paths, servers=[{"url": "https://x.example"}]).operation("DELETE /n6/{a}/things/{id}")
    for _ in range(20):
        assert outlook(operation, {"path": {"a": "1", "id": "2"}}, present({"x": 1}))


def test_what_was_deleted_is_made_again_with_what_can_be_written(api: Api) -> None:
    found = way_back(api, "DELETE /orders/{order_id}", PATH, present(ORDER))
    assert found == ("POST /orders", {"path": {}, "body": {"item": "tea", "amount": 3}})
    told = outlook(api.operation("DELETE /orders/{order_id}"), PATH, present({**ORDER, "km": 17}))
    assert "It is made again with a new id, without placed, km; what belonged to the old one" in told


@pytest.mark.parametrize("earlier", [UNREAD, {"known": "absent", "value": None}, present("text")])
def test_what_was_not_there_as_a_whole_is_not_made_again(api: Api, earlier: TargetState) -> None:
    assert isinstance(way_back(api, "DELETE /orders/{order_id}", PATH, earlier), str)


@pytest.mark.parametrize(("key", "opposite"), [("PUT /likes", "DELETE /likes"), ("DELETE /likes", "PUT /likes")])
def test_ids_put_into_a_collection_are_taken_out_by_the_same_ids(api: Api, key: str, opposite: str) -> None:
    arguments = {"query": {"ids": ["a", "b"]}}
    assert way_back(api, key, arguments) == (opposite, {"path": {}, **arguments})


def test_a_deletion_of_everything_is_no_opposite_of_a_put(api: Api) -> None:
    assert isinstance(way_back(api, "PUT /config", {"body": {"a": 1}}, present({"b": 1})), str)


def test_the_outlook_says_before_a_change_whether_there_is_a_way_back(api: Api) -> None:
    assert outlook(api.operation("POST /orders"), {}, UNREAD) == "DELETE /orders/{order_id} deletes what it makes"
    assert outlook(api.operation("POST /mails"), {}, UNREAD).startswith("not possible: ")


def test_a_remedy_is_a_request_that_can_be_built(api: Api) -> None:
    found = remedy(api.operation("DELETE /orders/{order_id}"), PATH, present(ORDER), Made())
    assert isinstance(found, Remedy)
    assert found.caution
