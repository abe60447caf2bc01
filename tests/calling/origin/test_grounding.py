"""Guards the check against invented ids (the failure of the paper's Table 9)."""

from collections.abc import Iterator

import pytest
from paths import operation_of

from restgpt.calling.origin.evidence import Evidence
from restgpt.calling.origin.grounding import Answers, IdSources, ungrounded
from restgpt.calling.origin.provenance import described, foreign, trace
from restgpt.specs import load_api

API = load_api(
    """
openapi: 3.1.0
info: {title: Shows, version: "1"}
servers: [{url: "https://shows.example"}]
paths:
  /shows/{show_id}/seasons/{season_number}:
    get:
      operationId: season
      parameters:
        - {name: show_id, in: path, required: true, schema: {type: integer}}
        - {name: season_number, in: path, required: true, schema: {type: integer}}
        - {name: kind_id, in: query, schema: {type: string, enum: [all, new], default: all}}
        - {name: ids, in: query, schema: {type: string}}
      responses: {"200": {description: ok}}
  /queue:
    post:
      operationId: queue
      requestBody: {content: {application/json: {schema: {type: object}}}}
      responses: {"204": {description: ok}}
"""
)
SEASON, QUEUE = API.operation("season"), API.operation("queue")
SAID = Evidence("Show me season one of Orbit", "Called search: The id of Orbit is 4711. Tracks: spotify:track:Ab-9")


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": {"show_id": 4711, "season_number": 1}},
        {"path": {"show_id": "4711", "season_number": 1}},
        {"path": {"show_id": 4711, "season_number": 1}, "query": {"kind_id": "new"}},
        {"path": {"show_id": 4711, "season_number": 1}, "query": {"ids": "4711,Ab-9"}},
    ],
)
def test_values_that_were_said_are_accepted(arguments: dict[str, object]) -> None:
    assert ungrounded(SEASON, arguments, SAID) == []


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"path": {"show_id": 63926, "season_number": 1}}, ["path.show_id = 63926"]),
        ({"path": {"show_id": 471, "season_number": 1}}, ["path.show_id = 471"]),
        ({"path": {"show_id": 4711}, "query": {"ids": "4711,99"}}, ['query.ids = "4711,99"']),
        ({"path": {"show_id": 4711}, "query": {"kind_id": "old"}}, ['query.kind_id = "old"']),
    ],
)
def test_values_that_nobody_said_are_named(arguments: dict[str, object], found: list[str]) -> None:
    assert ungrounded(SEASON, arguments, SAID) == found


def test_ids_are_found_deep_in_a_body() -> None:
    body = {"tracks": [{"uri": "spotify:track:Ab-9"}, {"uri": "spotify:track:made-up"}], "name": "anything"}
    assert ungrounded(QUEUE, {"body": body}, SAID) == ['body.uri = "spotify:track:made-up"']


def test_a_bare_id_may_be_written_as_a_uri() -> None:
    said = Evidence("the track Ab-9")
    assert ungrounded(QUEUE, {"body": {"uris": ["spotify:track:Ab-9"]}}, said) == []


BODIES: list[object] = [
    {
        "results": [{"id": 63926, "title": "12 Monkeys 2", "url": "https://shows.example/v9/shows/8812/seasons?x=77"}],
        "when": "2024-05-31T17:45:00Z",
        "uri": "spotify:track:4uLU6hMCjMI75M1A2tKUQC",
        "next": "/shows/5150/",
        "members": "ab1, cd2,ef3",
        "by_id": {"991": {"seen": True}},
        "score": 88.0,
        "note": "Your order A-1009 was created, see https://shows.example/orders/6006 for more.",
    },
    "id,name\n777123,garden\n34,roof\n",
]


@pytest.mark.parametrize(
    "value",
    [
        *(
            63926,
            "63926",
            "8812",
            8812,
            "4uLU6hMCjMI75M1A2tKUQC",
            "spotify:track:4uLU6hMCjMI75M1A2tKUQC",
            5150,
            991,
            88,
        ),
        *("ab1", "cd2", "ef3", "ab1,ef3,63926", "ab1 cd2", "https://shows.example/v9/shows/8812/seasons?x=77"),
        *(
            "shows:show:63926",
            "https://other.example/shows/63926",
            "/shows/63926",
            "A-1009",
            "6006",
            "777123",
            34,
            "77",
        ),
    ],
)
def test_an_id_from_an_answer_is_grounded_in_any_form(value: object) -> None:
    assert Answers(BODIES).has_id(value)
    assert ungrounded(QUEUE, {"body": {"id": value}}, Answers(BODIES)) == []


@pytest.mark.parametrize(
    "value",
    [
        *(63927, "6392", 639261, "4uLU6hMCjMI75M1A2tKUQ", "spotify:track:made-up", "ab1,zz9", "ab1 99", "1009", 5, ""),
        *(12, 2, 45, 17, "31", 3926, "77712", "Ab1", "monkeys", ":", ",", "shows/1", "true", "null", "order"),
    ],
)
def test_an_id_that_a_program_invents_is_not(value: object) -> None:
    assert not Answers(BODIES).has_id(value)
    assert ungrounded(QUEUE, {"body": {"id": value}}, Answers(BODIES)) != []


def test_ids_of_one_list_may_come_from_the_user_and_from_an_answer() -> None:
    both = IdSources(SAID, Answers(BODIES))
    assert ungrounded(QUEUE, {"body": {"ids": "4711,63926"}}, both) == []
    assert ungrounded(QUEUE, {"body": {"ids": ["4711", 63926]}}, both) == []
    assert ungrounded(QUEUE, {"body": {"ids": "4711,63926,5"}}, both) == ['body.ids = "4711,63926,5"']


def test_answers_are_read_once_and_only_when_asked() -> None:
    read: list[int] = []

    def bodies() -> Iterator[object]:
        read.append(1)
        yield {"id": 1}

    answers = Answers(bodies())
    assert read == []
    assert [answers.has_id(value) for value in (1, 2, "1", "1,2")] == [True, False, True, False]
    assert read == [1]


def test_no_answer_grounds_nothing() -> None:
    assert not Answers([]).has_id(1)
    assert not IdSources().has_id("a,b")


ORDER = operation_of(
    {
        "parameters": [
            {
                "name": "order_id",
                "in": "query",
                "description": "The id of the order, such as '#W0000000'.",
                "schema": {"type": "string"},
            },
            {"name": "sku_id", "in": "query", "example": "0042", "schema": {"type": "string"}},
            {"name": "user_id", "in": "query", "schema": {"type": "string", "format": "uuid"}},
            {"name": "card_id", "in": "query", "schema": {"type": "string", "pattern": "^[0-9]{16}$"}},
            {"name": "other_id", "in": "query", "schema": {"type": "string"}},
        ],
        "requestBody": {
            "content": {
                "application/json": {
                    "schema": {"properties": {"line": {"properties": {"orderId": {"example": "ORD-12345"}}}}}
                }
            }
        },
    },
    "post",
)
UUID = "0f8fad5b-d9cb-469f-a165-70867728950e"


@pytest.mark.parametrize(
    ("said", "name", "value"),
    [
        ("Cancel order W5061109.", "order_id", "#W5061109"),
        ("cancel order w5061109, please", "order_id", "#W5061109"),
        ("My order 5061109 is late", "order_id", "#W5061109"),
        ("the sku is 420", "sku_id", "0420"),
        (f"I am {UUID.upper().replace('-', '')}", "user_id", UUID),
        ("Card 4111 1111-1111 1111!", "card_id", "4111111111111111"),
    ],
)
def test_an_id_that_was_said_in_another_form_than_the_documented_one_is_accepted(
    said: str, name: str, value: str
) -> None:
    assert ungrounded(ORDER, {"query": {name: value}}, IdSources(Evidence(said), Answers([]))) == []


@pytest.mark.parametrize(
    ("said", "name", "value"),
    [
        ("Cancel order W5061109.", "order_id", "#W5061108"),
        ("Cancel order W50611091.", "order_id", "#W5061109"),
        ("Cancel order 1W5061109.", "order_id", "#W5061109"),
        ("Cancel order X5061109.", "order_id", "#W5061109"),
        ("the sku is 4200", "sku_id", "0420"),
        ("the sku is 1 420", "sku_id", "0420"),
        ("two of them: 2", "sku_id", "0002"),
        ("Card 4111 1111 1111 1111 2", "card_id", "4111111111111111"),
        ("Cancel order W5061109.", "other_id", "#W5061109"),
    ],
)
def test_another_number_or_a_form_that_no_document_shows_is_invented(said: str, name: str, value: str) -> None:
    assert ungrounded(ORDER, {"query": {name: value}}, IdSources(Evidence(said), Answers([]))) != []


@pytest.mark.parametrize(
    ("said", "value", "told"),
    [
        ("Cancel order W5061109.", "#W5061109", 'query.order_id: you said "W5061109", and the model wrote "#W5061109"'),
        (
            "My order 5061109 is late",
            "#W5061109",
            'query.order_id: you said "5061109", and the model wrote "#W5061109"',
        ),
        ("Cancel order W5061108.", "#W5061109", "query.order_id: the model wrote it"),
        ("Cancel order #W5061109.", "#W5061109", "query.order_id: you said it"),
    ],
)
def test_a_question_shows_the_form_that_was_said_and_the_one_that_is_sent(said: str, value: str, told: str) -> None:
    [item] = trace(ORDER, {"query": {"order_id": value}}, said=said)
    assert described(item) == told
    # A rule that wants the user's own words takes them as they are only.
    assert bool(foreign({"query": {"order_id": value}}, [item], ["query.*"])) == ("you said it" not in told)


def test_the_form_of_an_id_deep_in_a_body_counts() -> None:
    body = {"line": {"orderId": "ORD-77123"}}
    assert ungrounded(ORDER, {"body": body}, Evidence("order 77123")) == []
    assert ungrounded(ORDER, {"body": body}, Evidence("order 77124")) != []
    assert ungrounded(ORDER, {"body": body}, Answers(["order-77123"])) != []
