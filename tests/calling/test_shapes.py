"""Guards learned shapes: kept for each operation of a document, without values, written only when they change."""

import json
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from restgpt.calling.shapes import NAMESPACE, Shapes, differs
from restgpt.specs import Operation, load_api
from restgpt.tools.response.sketch import shape_of

TEXT = """
openapi: 3.1.0
info: {title: Shop, version: "1"}
servers: [{url: "https://shop.example"}]
paths:
  /open: {get: {operationId: open, responses: {"200": {description: ok}}}}
  /empty:
    get:
      operationId: empty
      responses: {"200": {description: ok, content: {application/json: {schema: {type: object}}}}}
  /list:
    get:
      operationId: list
      responses: {"200": {description: ok, content: {application/json: {schema: {$ref: "#/components/schemas/Page"}}}}}
components:
  schemas:
    Page:
      allOf:
        - {type: object, properties: {total: {type: integer}}}
        - {properties: {rows: {type: array, items: {oneOf: [{$ref: "#/components/schemas/Row"}, {type: "null"}]}}}}
    Row:
      type: object
      properties: {id: {type: integer}, labels: {type: object, additionalProperties: {type: string}}, any: {}}
"""


def operation(name: str, text: str = TEXT, **options: Any) -> Operation:
    return load_api(text, **options).operation(name)


class CountingStore(InMemoryStore):
    """Counts the writes."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0

    def put(self, *args: Any, **options: Any) -> None:
        self.writes += 1
        super().put(*args, **options)


def test_what_was_learned_is_shown_where_the_document_is_silent(store: BaseStore) -> None:
    shapes = Shapes(store)
    assert shapes.seen(operation("open")) is None
    shapes.learn(operation("open"), {"rows": [{"id": 1}]})
    shapes.learn(operation("open"), {"rows": [{"id": "x", "note": None}]})
    assert Shapes(store).seen(operation("open")) == "{rows: [{id: int | str, note?: null}]}"
    assert shapes.seen(operation("empty")) is None


@pytest.mark.parametrize(
    ("media", "seen"),
    [
        ("{schema: {type: object}, example: {rows: [{id: 1}]}}", "{rows: [{id: int}]}"),
        ("{schema: {type: object, example: {rows: [{id: 1}]}}}", "{rows: [{id: int}]}"),
        ("{examples: {one: {value: {rows: [{id: 1}]}}}}", "{rows: [{id: int}]}"),
        ("{schema: {properties: {id: {type: integer}}}, example: {rows: [{id: 1}]}}", None),
        ("{schema: {type: object}, example: words}", None),
    ],
)
def test_an_example_beside_a_schema_that_says_nothing_shows_the_answer(media: str, seen: str | None) -> None:
    found = operation("empty", TEXT.replace("{schema: {type: object}}", media))
    assert Shapes(None).seen(found) == seen
    learned = Shapes(InMemoryStore())
    learned.learn(found, {"other": True})
    assert learned.seen(found) == "{other: bool}"


def test_a_known_shape_is_not_written_again() -> None:
    store = CountingStore()
    for number in range(5):
        Shapes(store).learn(operation("open"), {"rows": [{"id": number}] * number})
    # The first list is empty; the second shows what its items are.
    assert store.writes == 2


@pytest.mark.parametrize(
    "changed",
    [
        lambda: operation("open", TEXT.replace("Shop", "Shops")),
        lambda: operation("open", base_url="https://other.example"),
        lambda: operation("empty"),
    ],
)
def test_another_document_address_or_operation_knows_nothing(changed: Any) -> None:
    store = InMemoryStore()
    Shapes(store).learn(operation("open"), {"a": 1})
    assert Shapes(store).shape(changed()) is None


def test_two_documents_with_one_title_share_nothing(tmp_path: Path) -> None:
    store, places = InMemoryStore(), [tmp_path / name for name in ("one.yaml", "two.yaml")]
    for place in places:
        place.write_text(TEXT)
    Shapes(store).learn(load_api(places[0]).operation("open"), {"a": 1})
    assert Shapes(store).seen(load_api(places[0]).operation("open")) == "{a: int}"
    assert Shapes(store).seen(load_api(places[1]).operation("open")) is None


def test_a_document_from_the_disk_cache_finds_what_was_learned(tmp_path: Path) -> None:
    store, place = InMemoryStore(), tmp_path / "shop.yaml"
    place.write_text(TEXT)
    Shapes(store).learn(load_api(place).operation("open"), {"a": 1})
    for _ in range(2):
        assert Shapes(store).seen(load_api(place, cache=tmp_path / "cache").operation("open")) == "{a: int}"
    place.write_text(TEXT + "# changed\n")
    assert Shapes(store).seen(load_api(place, cache=tmp_path / "cache").operation("open")) is None


def test_without_a_store_nothing_is_learned_and_nothing_fails() -> None:
    shapes = Shapes(None)
    shapes.learn(operation("open"), {"a": 1})
    assert shapes.seen(operation("open")) is None
    shapes.clear()


def test_clearing_forgets_every_operation_and_nothing_else(store: BaseStore) -> None:
    shapes = Shapes(store)
    store.put(("restgpt", "bodies"), "kept", {"a": 1}, index=False)
    for name in ("open", "list"):
        shapes.learn(operation(name), {"a": 1})
    shapes.clear()
    assert shapes.shape(operation("open")) is None
    assert store.search(NAMESPACE) == []
    assert store.get(("restgpt", "bodies"), "kept") is not None


def test_no_value_of_a_hostile_answer_is_stored_or_shown(store: BaseStore) -> None:
    values = [
        *("ada@mail.example", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "2024-05-01", "9f86d081884c7d65"),
        "s" * 50,
    ]
    # Longer than the digits of a time in the store.
    number = 731_994_208_517
    users = {value: {"secret": value, "n": number} for value in values}
    answer = {"users": users, "last": values, "ok": "yes, hunter2"}
    shapes = Shapes(store)
    for part in (answer, [answer], {"deep": dict.fromkeys(values, answer)}):
        shapes.learn(operation("open"), part)
    kept = json.dumps([item.dict() for item in store.search(NAMESPACE)], default=str)
    shown = shapes.seen(operation("open"), 2000)
    assert shown is not None
    assert not [value for value in (*values, "hunter2", str(number)) if value in kept + shown]


@pytest.mark.parametrize(
    ("name", "value", "is_more"),
    [
        ("open", "text", True),
        ("empty", {"a": 1}, True),
        ("list", {"total": 1}, False),
        ("list", {"total": 1, "rows": []}, False),
        ("list", {"total": 1, "rows": [{"id": 1, "labels": {"colour": "red"}, "any": 1}, None]}, False),
        ("list", {"total": 1, "rows": [{"id": 1, "name": "x"}]}, True),
        ("list", {"total": 1, "rows": [{"any": {"inner": 1}}]}, True),
        ("list", {"data": {"total": 1}}, True),
        ("list", [{"total": 1}], True),
    ],
)
def test_a_shape_is_shown_only_if_it_tells_more_than_the_document(name: str, value: Any, is_more: bool) -> None:
    assert differs(operation(name), shape_of(value)) is is_more


def test_a_schema_that_contains_itself_is_compared_to_the_depth_of_the_shape() -> None:
    row = '{$ref: "#/components/schemas/Row"}'
    text = TEXT.replace("any: {}", f"row: {row}, loop: {{anyOf: [{row}]}}")
    nested = {"rows": [{"id": 1, "row": {"id": 2, "loop": {"row": {"id": 3}}}}]}
    assert not differs(operation("list", text), shape_of(nested))
    nested["rows"][0]["row"]["loop"]["row"]["more"] = 4  # type: ignore[index]
    assert differs(operation("list", text), shape_of(nested))


CART = """
openapi: 3.1.0
info: {title: Cart, version: "1"}
servers: [{url: "https://cart.example"}]
paths:
  /cart: {get: {operationId: read_cart, responses: {"200": {description: ok}}}}
  /orders:
    post:
      operationId: order
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Order"}}}}
      responses: {"201": {description: ok}}
components:
  schemas:
    Order:
      type: object
      properties: {items: {type: array, items: {}}, note: {type: string}, tags: {type: array, items: {type: string}}}
"""


def test_fields_of_a_body_that_the_document_leaves_open_are_known_from_answers(store: BaseStore) -> None:
    shapes, order = Shapes(store), operation("order", CART)
    assert shapes.sent(order) == ""
    answer = {"tags": [{"id": 1}], "cart": {"items": [{"sku": "A-1", "count": 2}], "note": {"by": "me"}}}
    shapes.learn(operation("read_cart", CART), answer)
    assert shapes.sent(order) == "items, as responses show it: [{sku: str, count: int}]"
