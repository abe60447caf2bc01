"""Guards where arguments are said to come from, and which of them have to come from the user."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from paths import api_of, operation_of

from restgpt.calling.origin.provenance import MOST_TRACED, described, foreign, owned, trace, with_operations
from restgpt.specs import Operation
from restgpt.tools.request.prepared_request import settle

SPEED = {"name": "speed", "in": "query", "schema": {"enum": ["slow", "fast"], "default": "slow"}}
BANK = "https://bank.example"
OPERATION = operation_of({"parameters": [SPEED]}, "post", "/pay", base_url=BANK)

BODY = {
    "type": "object",
    "properties": {
        "recipient": {"type": "string"},
        "amount": {"type": "integer"},
        "notes": {"type": "array", "items": {"type": "string"}},
    },
}
TO = {"name": "x-to", "in": "header", "schema": {"type": "string"}}
POSTS = {
    "/orders": {"parameters": [TO], "requestBody": {"content": {"application/json": {"schema": BODY}}}},
    "/memos": {"requestBody": {"content": {"application/xml": {}}}},
}
SHOP = api_of({path: {"post": post} for path, post in POSTS.items()}, base_url="https://shop.example")
ORDER, MEMO = SHOP.operation("POST /orders"), SHOP.operation("POST /memos")


def origins(arguments: dict[str, Any], said: str, *responses: tuple[str, Any]) -> dict[str, str]:
    return {item["pointer"]: item["origin"] for item in trace(OPERATION, arguments, said=said, responses=responses)}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("Ada", "Pay ada five"),
        (5, "send 5 to Ada"),
        ("DE12-34", "to DE12-34 please"),
        ("Rain garden", "a 'Rain garden'."),
    ],
)
def test_what_the_user_said_is_the_users_even_if_an_answer_repeats_it(value: object, said: str) -> None:
    assert origins({"body": {"x": value}}, said) == {"/body/x": "user"}
    assert origins({"body": {"x": value}}, said, ("h", {"x": value})) == {"/body/x": "user"}


@pytest.mark.parametrize(
    ("value", "said"), [("1", "pay 12"), (5, "pay 50"), ("Ad", "Ada"), ("garden x", "garden xylophone"), ("", "x")]
)
def test_a_part_of_what_was_said_is_not_what_was_said(value: object, said: str) -> None:
    assert origins({"body": {"x": value}}, said) == {"/body/x": "model"}


def test_a_documented_value_is_the_documents() -> None:
    assert origins({"query": {"speed": "fast"}}, "pay") == {"/query/speed": "document"}


def test_a_value_from_an_answer_has_its_handle_and_pointer() -> None:
    arguments = {"body": {"to": [{"iban": "XX99"}]}}
    answers = [("h2", {"none": 1}), ("h1", {"people": [{"iban": "XX99"}]})]
    [item] = trace(OPERATION, arguments, said="pay", responses=answers)
    places = [{"handle": "h1", "at": "/people/0/iban"}]
    assert item == {"pointer": "/body/to/0/iban", "origin": "response", "places": places}
    assert described([item])[0] == "body.to.0.iban: iban in a response of the API"


def test_number_and_text_are_the_same_and_a_text_has_no_fields() -> None:
    assert origins({"body": {"x": "427"}}, "", ("h", {"x": 427})) == {"/body/x": "response"}
    assert origins({"body": {"x": 427}}, "", ("h", "x: 427")) == {"/body/x": "model"}


def test_an_equal_value_of_another_field_and_one_that_many_answers_hold_say_nothing() -> None:
    orders = ("h", {"items": [{"lines": [{"product_id": 4711}], "id": 12, "paid": True}]})
    found = origins({"body": {"order": 4711, "id": 12, "paid": True}}, "", orders)
    assert found == dict.fromkeys(("/body/order", "/body/id", "/body/paid"), "model")


def test_an_id_may_be_the_id_of_what_it_names() -> None:
    assert origins({"path": {"task_id": 102}}, "", ("h", {"id": 102})) == {"/path/task_id": "response"}
    assert origins({"path": {"task": 102}}, "", ("h", {"id": 102})) == {"/path/task": "model"}


def test_answers_are_only_opened_when_a_value_is_not_known_otherwise() -> None:
    def never() -> Iterator[tuple[str, Any]]:
        raise AssertionError("opened")
        yield

    assert trace(OPERATION, {"body": {"x": "Ada"}}, said="Ada", responses=never())[0]["origin"] == "user"


@pytest.mark.parametrize(
    ("patterns", "pointers"),
    [
        (["body.to"], ["/body/to/0/iban", "/body/to/1/iban"]),
        (["body.to.iban"], ["/body/to/0/iban", "/body/to/1/iban"]),
        (["body.*"], ["/body/amount", "/body/to/0/iban", "/body/to/1/iban"]),
        (["*.amount"], ["/body/amount"]),
        (["path.*"], []),
        ([], []),
    ],
)
def test_a_pattern_covers_an_argument_and_everything_below(patterns: list[str], pointers: list[str]) -> None:
    arguments = {"body": {"amount": 7, "to": [{"iban": "A1"}, {"iban": "B2"}], "by": "Ada"}}
    traced = trace(OPERATION, arguments, said="by Ada")
    assert [item["pointer"] for item in foreign(arguments, traced, patterns)] == pointers


def not_the_users(arguments: dict[str, Any], said: str, pattern: str, operation: Operation = ORDER) -> list[str]:
    if operation.body is not None:
        arguments = settle(operation, arguments).arguments
    traced = trace(operation, arguments, said=said)
    return [item["pointer"] for item in foreign(arguments, traced, [pattern])]


def test_a_body_given_as_text_is_traced_as_it_is_sent() -> None:
    arguments = {"body": json.dumps({"recipient": "evil", "amount": 5})}
    assert not_the_users(arguments, "pay 5", "body.recipient") == ["/body/recipient"]
    assert not_the_users(arguments, "pay 5 to evil", "body.recipient") == []


def test_arguments_past_those_that_are_traced_are_nobodys() -> None:
    arguments = {"body": {"notes": [f"word{number}" for number in range(MOST_TRACED)], "recipient": "evil"}}
    assert not_the_users(arguments, "pay", "body.recipient") == ["/body/recipient"]


@pytest.mark.parametrize("pattern", ["body.recipient", "*.recipient", "body.*"])
def test_text_that_may_hold_anything_is_not_let_through(pattern: str) -> None:
    arguments = {"body": "<order><recipient>evil</recipient></order>"}
    assert not_the_users(arguments, "pay", pattern, MEMO) == ["/body"]
    assert not_the_users(arguments, "pay", "path.*", MEMO) == []
    assert not_the_users({"body": {"to": '{"iban": "XX"}'}}, "pay", "body.to.iban", OPERATION) == ["/body/to"]


def test_a_header_is_traced_in_the_spelling_of_the_document() -> None:
    assert not_the_users({"header": {"X-TO": "evil"}, "body": {}}, "pay", "header.x-to") == ["/header/x-to"]


ANSWERS = [
    ("h2", {"people": [{"id": 4711, "name": "Ada Lovelace", "first": "Ada", "iban": "XX99-11"}]}),
    ("h1", {"shop": {"prefix": "order", "iban": "YY00-22"}}),
]
CODE = """
person, shop = people()["people"][0], get_shop()["shop"]
for number in range(3):
    pay(
        x=f"{shop.get('prefix')} for {person['name']} ({field(person, 'nr', 'bank.iban')}) {person['id']}",
        amount=40 + 2, note="Thanks for the rain garden", tag='it\\'s', first=number
    )
"""
LINE = 4


def computed(value: Any, said: str = "pay", code: str | None = CODE, answers: Any = ANSWERS) -> Any:
    [item] = trace(OPERATION, {"body": {"x": value}}, said=said, responses=answers, code=code, line=LINE)
    return item


@pytest.mark.parametrize(
    ("value", "origin"),
    [
        ("Thanks for the rain garden", "model"),
        ("rain garden", "model"),
        ("it's", "model"),
        (40, "model"),
        (42, "program"),
        (4, "program"),
        ("Thanks for the rain", "model"),
        ("Thanks for the rai", "program"),
        (True, "program"),
        ("", "model"),
        ("Ada Lovelace", "response"),
        (4711, "response"),
        ("fast", "program"),
    ],
)
def test_a_programs_value_is_the_models_only_where_its_code_holds_it(value: object, origin: str) -> None:
    assert computed(value)["origin"] == origin
    assert computed(42, said="pay 42")["origin"] == "user"
    assert computed(42, code=None) == {"pointer": "/body/x", "origin": "model"}


def test_a_computed_text_names_the_longest_values_it_contains() -> None:
    item = computed("order for Ada Lovelace (XX99-11)")
    kept = [("h2", "/people/0/name"), ("h2", "/people/0/iban"), ("h1", "/shop/prefix")]
    places = [{"handle": handle, "at": at} for handle, at in kept]
    assert item == {"pointer": "/body/x", "origin": "program", "places": places}
    [named] = with_operations([item], {"h2": "list_people", "h1": "get_shop"}, {})
    people = "name in a response of list_people; iban in a response of list_people"
    told = f"body.x: computed by the program from {people}; prefix in a response of get_shop"
    assert described([named])[0] == told


@pytest.mark.parametrize(
    ("expression", "origin"),
    [
        ("shop['nr']", "response"),
        ('shops[0].get("nr")', "response"),
        ("shop['nr'] + 0", "program"),
        ("int(shop['nr'])", "program"),
    ],
)
def test_a_short_value_is_an_answers_only_if_the_program_does_nothing_but_read_it(expression: str, origin: str) -> None:
    code = f"\n\n\npay(x={expression}, y=1)"
    assert computed(3, code=code, answers=[("h", {"nr": 3})])["origin"] == origin


def test_a_computed_number_and_short_texts_name_no_places_and_others_at_most_five() -> None:
    assert computed(47112)["places"] == []
    assert computed("Ab-Ab", answers=[("h", {"name": "Ab"})])["places"] == []
    assert described([computed(47112)])[0] == "body.x: computed by the program"
    words = [{"name": f"word{letter}"} for letter in "abcdefgh"]
    assert len(computed(" ".join(word["name"] for word in words), answers=[("h", words)])["places"]) == 5


@pytest.mark.parametrize(
    ("source", "origin"),
    [
        ('pay(x=o["id"])', "response"),
        ("pay(x=o['id'], amount=o['total'])", "response"),
        ('pay(x=o.get("id"))', "response"),
        ('pay(x=o.get("id", 0))', "response"),
        ('pay(x=field(o, "key", "meta.id"))', "response"),
        ('pay(body={"x": o["id"]})', "response"),
        ('pay(\n    x=o["id"],\n)', "response"),
        ('gather(*[pay(x=o["id"]) for o in rows(orders)])', "response"),
        ("pay(**o)  # o['id']", "response"),
        ("pay(x=chosen)", "program"),
        ('pay(x=o["product_id"])', "program"),
        ('pay(x=o["total"], amount=o["id"])', "program"),
    ],
)
def test_only_a_field_that_the_expression_of_an_argument_reads_gives_it(source: str, origin: str) -> None:
    answers = [("h", {"items": [{"id": 4711, "lines": [{"order_id": 4711}]}]})]
    code = f"o = rows(list_orders())[0]\n{source}"
    [item] = trace(OPERATION, {"body": {"x": 4711}}, said="pay", responses=answers, code=code, line=2)
    assert item["origin"] == origin
    assert item["places"] == ([{"handle": "h", "at": "/items/0/id"}] if origin == "response" else [])


def test_several_operations_that_gave_the_value_are_all_named() -> None:
    answers = [("h3", {"id": 4711}), ("h2", {"id": 4711}), ("h1", [{"id": 4711}])]
    [item] = trace(OPERATION, {"path": {"id": 4711}}, said="pay", responses=answers)
    [named] = with_operations([item], {"h3": "get_order", "h2": "get_order", "h1": "list_orders"}, {"h1": "Shop"})
    assert described([named])[0] == "path.id: id in a response of get_order, also of list_orders (Shop)"


def test_what_a_program_computed_is_not_the_users() -> None:
    arguments = {"body": {"recipient": "XX99-11/2", "amount": 42}}
    traced = trace(ORDER, arguments, said="pay", responses=ANSWERS, code=CODE, line=LINE)
    assert [item["pointer"] for item in foreign(arguments, traced, ["body.*"])] == ["/body/recipient", "/body/amount"]


def test_the_answers_are_read_once_however_many_values_are_computed() -> None:
    opened: list[str] = []

    def answers() -> Iterator[tuple[str, Any]]:
        for handle, body in ANSWERS:
            opened.append(handle)
            yield handle, body

    many = {"body": {"x": [f"{n} Ada Lovelace" for n in range(50)]}}
    trace(OPERATION, many, said="pay", responses=answers(), code=CODE, line=LINE)
    assert opened == ["h2", "h1"]


@pytest.mark.parametrize("content", [{"@bytes": "PHQ+PC90Pg=="}, {"@file": "memo.xml"}])
def test_the_content_of_a_file_may_hold_anything_below_its_place(content: dict[str, str]) -> None:
    arguments = {"body": content}
    [item] = foreign(arguments, trace(MEMO, arguments, said="send it"), ["body.recipient"])
    assert item["pointer"] == f"/body/{next(iter(content))}"


@pytest.mark.parametrize(
    ("pointer", "pattern"),
    [
        ("/query/filter[user]", "query.filter[user]"),
        ("/query/filter[user]", "*.filter[user]"),
        ("/query/why?", "query.why?"),
        ("/header/X-To", "header.x-to"),
    ],
)
def test_only_the_star_of_a_pattern_is_special_and_headers_ignore_case(pointer: str, pattern: str) -> None:
    place, name = pointer[1:].split("/")
    assert foreign({place: {name: "Eve"}}, [], [pattern])
    assert not foreign({place: {name[:-1]: "Eve"}}, [], [pattern])


SHARES = {"type": "object", "additionalProperties": {"type": "integer"}}
SHARED = {"properties": {"shares": SHARES, "plain": {"type": "object"}}}
CONTENT = {"content": {"application/json": {"schema": SHARED}}}
KEYED = operation_of({"requestBody": CONTENT}, "post", "/pay", base_url=BANK)


@pytest.mark.parametrize(
    ("body", "is_foreign"),
    [
        ({"shares": {"Ada": 50}}, False),
        ({"shares": {"Eve": 50}}, True),
        ({"plain": {"amount": 50}}, False),
        ({"plain": {"eve@evil.example": 50}}, True),
        ({"shares": {"Eve": None}}, True),
    ],
)
def test_the_key_of_a_map_must_be_said_too(body: dict[str, Any], is_foreign: bool) -> None:
    arguments = {"body": body}
    traced = trace(KEYED, arguments, said="pay 50 to Ada")
    assert bool(foreign(arguments, traced, ["body.*"])) is is_foreign


@pytest.mark.parametrize("value", [None, [], {}, [None], {"amount": []}])
def test_what_is_null_or_empty_does_not_come_from_the_user_unless_a_person_typed_it(value: Any) -> None:
    arguments = {"path": {}, "body": {"recipients": value}}
    traced = trace(ORDER, arguments, said="null [] {}")
    assert foreign(arguments, traced, ["body.recipients"])
    assert value or foreign(arguments, traced, ["body.recipients.amount"])
    assert not foreign(arguments, owned(arguments), ["*"])
