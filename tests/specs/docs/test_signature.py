"""Guards operations as Python functions: names, arguments, and typed signatures within their budget."""

import json
import keyword
from typing import Any

import pytest
from paths import api_of, operation_of, read_paths

from restgpt.specs import Catalogue, Operation
from restgpt.specs.docs.function_arguments import SignatureError, arguments_of
from restgpt.specs.docs.signature import signature
from restgpt.specs.operation import identifier
from restgpt.tools.request.prepared_request import build_request

SEARCH = """
/movies:
  get:
    operationId: search_movies
    summary: Find movies by title
    parameters:
      - {name: page, in: query, schema: {type: integer, default: 1}}
      - {name: query, in: query, required: true, schema: {type: string}}
      - {name: year, in: query, description: Year of the first release in any country., schema: {type: integer}}
      - {name: order, in: query, schema: {type: string, enum: [up, down]}}
    responses: {200: {description: ok, content: {application/json: {schema: {type: object, properties: {
      page: {type: integer}, results: {type: array, items: {$ref: '#/components/schemas/Movie'}},
      total_results: {type: integer}}}}}}}
"""
MOVIE = {
    "type": "object",
    "properties": {
        "overview": {"type": "string", "description": "The plot."},
        "poster_path": {"type": "string"},
        "id": {"type": "integer"},
        "title": {"type": "string"},
        "release_date": {"type": "string", "format": "date", "nullable": True},
    },
}
UPDATE = """
/lists/{id}/{from}:
  put:
    operationId: update
    parameters:
      - {name: id, in: path, required: true, schema: {type: integer}}
      - {name: from, in: path, required: true, schema: {type: string}}
      - {name: id, in: query, schema: {type: string}}
      - {name: body, in: query, schema: {type: string}}
      - {name: X-Trace, in: header, schema: {type: string}}
      - {name: Content-Length, in: header, required: true, schema: {type: integer}}
      - {name: mode, in: query, required: true, schema: {type: string, default: quick}}
    requestBody: {required: true, content: {application/json: {schema: {type: object, required: [name], properties: {
      id: {type: integer, readOnly: true}, name: {type: string}, note: {type: string, nullable: true},
      public: {type: boolean, default: true}}}}}}
    responses: {204: {description: done}}
"""


HERE = {"id": 7, "from": "here"}


def only(text: str, **schemas: Any) -> Operation:
    return read_paths(text, **schemas).operations[0]


def answer(schema: str, **schemas: Any) -> Operation:
    paths = (
        f"/a: {{get: {{responses: {{200: {{description: ok, content: {{application/json: {{schema: {schema}}}}}}}}}}}}}"
    )
    return only(paths, **schemas)


def test_function_names_are_unique_python_names_that_hide_nothing() -> None:
    ids = ["print", "class", "gather", "a.b", "a-b", "ok"]
    paths = {f"/{n}": {"get": {"operationId": name}} for n, name in enumerate(ids)}
    one, two = api_of(paths, title="One"), api_of({"/b": {"get": {"operationId": "ok"}}}, title="Two")
    catalogue = Catalogue([one, two])
    assert list(catalogue.functions) == ["print_", "class_", "gather_", "a_b", "a_b_2", "one_ok", "two_ok"]
    for name, operation in catalogue.functions.items():
        assert catalogue.function_name(operation) == name
        assert catalogue.function_name(operation.fresh()) == name


@pytest.mark.parametrize("text", ["$filter", "2fa", "from", "x-y.z", "größe", "!!", "_limit", "ﬁle", "None"])
def test_every_text_becomes_an_identifier(text: str) -> None:
    name = identifier(text)
    assert name.isidentifier()
    assert not keyword.iskeyword(name)
    assert not name.startswith("_")


def test_keywords_are_required_first_and_unique() -> None:
    found = [(item.name, item.location, item.field, item.required) for item in only(UPDATE).keywords]
    assert found == [
        ("id", "path", "id", True),
        ("from_", "path", "from", True),
        ("id_query", "query", "id", False),
        ("body_query", "query", "body", False),
        ("X_Trace", "header", "X-Trace", False),
        ("mode", "query", "mode", False),
    ]


@pytest.mark.parametrize(
    ("text", "given", "positional", "grouped"),
    [
        (
            UPDATE,
            {"id_query": "q", "X-trace": "t", "name": "n", "note": None, "public": None},
            (7, "here"),
            {"path": HERE, "query": {"id": "q"}, "header": {"X-Trace": "t"}, "body": {"name": "n", "note": None}},
        ),
        (UPDATE, {**HERE, "body": {"name": "n"}}, (), {"path": HERE, "body": {"name": "n"}}),
        (
            UPDATE,
            {"id": 7, "from_": "here", "body": {"name": "n"}, "public": False},
            (),
            {"path": HERE, "body": {"name": "n", "public": False}},
        ),
        (SEARCH, {"query": "x", "year": None}, (), {"query": {"query": "x"}}),
    ],
    ids=["positional", "names of the API", "fields beside the body", "None for an optional one"],
)
def test_arguments_are_grouped_by_their_place(
    text: str, given: dict[str, Any], positional: tuple[Any, ...], grouped: dict[str, Any]
) -> None:
    assert arguments_of(only(text, Movie=MOVIE), given, positional) == grouped


def test_the_media_type_of_the_body_may_be_chosen() -> None:
    kinds = {"application/json-patch+json": {}, "application/merge-patch+json": {}}
    found = operation_of({"requestBody": {"content": kinds}}, "patch", base_url="http://127.0.0.1:1")
    given = arguments_of(found, {"body": {"a": 1}, "content_type": "application/merge-patch+json"})
    assert given == {"body": {"a": 1}, "header": {"Content-Type": "application/merge-patch+json"}}
    assert build_request(found, given).headers["Content-Type"] == "application/merge-patch+json"
    with pytest.raises(SignatureError):
        arguments_of(only(UPDATE), {"id": 7, "from": "x", "body": {}, "content_type": "application/json"})


NEEDS_BODY = "It takes id*, from_*, id_query, body_query, X_Trace, mode, body* {name"


@pytest.mark.parametrize(
    ("given", "positional", "message"),
    [
        ({"q": "x"}, (), "has no argument 'q': did you mean 'query'? It takes query*, page, year, order."),
        ({}, (), "search_movies needs the argument 'query'. It takes query*, page, year, order."),
        ({"query": None}, (), "search_movies needs the argument 'query'."),
        ({}, ("x", 1, 2, "up", 5), "search_movies takes 4 positional arguments but 5 were given."),
        ({"query": "x"}, ("y",), "search_movies got two values for 'query'."),
        ({"query": "x", "zzz": 1, "yeer": 2}, (), "'zzz'. search_movies has no argument 'yeer': did you mean 'year'?"),
        ({"query": "x", "body": {"a": 1}}, (), "search_movies takes no body."),
        (HERE, (), f"update needs the argument 'body'. {NEEDS_BODY}"),
        ({**HERE, "nme": "n"}, (), "update has no argument 'nme': did you mean 'name'?"),
        ({**HERE, "body": {"name": "n"}, "name": "m"}, (), "update got two values for 'name': one is in the body."),
        ({**HERE, "body": [1], "name": "m"}, (), "update got 'name' beside a body that is no object"),
    ],
)
def test_a_wrong_call_is_told_every_problem(given: dict[str, Any], positional: tuple[Any, ...], message: str) -> None:
    with pytest.raises(SignatureError) as caught:
        arguments_of(only(UPDATE if "id" in given else SEARCH, Movie=MOVIE), given, positional)
    assert message in str(caught.value)


def test_a_signature_shows_arguments_result_and_purpose() -> None:
    assert signature(only(SEARCH, Movie=MOVIE), "search_movies", budget=90) == (
        "search_movies(query*: str, page=1, year: int, order: 'up'|'down', pages=1) -> {results: [{id: int, title, "
        "release_date: date?, overview, poster_path}], total_results: int, page: int}\n"
        "  Find movies by title. year: Year of the first release in any country."
    )


def test_a_signature_shows_the_body() -> None:
    assert signature(only(UPDATE), "update", budget=100) == (
        "update(id*: int, from_*: str, id_query: str, body_query: str, X_Trace: str, mode='quick', "
        "body*: {name*: str, note: str?, public: bool = True}) -> None"
    )


def test_a_short_signature_keeps_ids_names_and_dates_or_the_fields_of_the_focus_and_names_the_rest() -> None:
    text = signature(only(SEARCH, Movie=MOVIE), "search_movies", budget=45)
    assert "results: [{id: int, title, … 3 more: release_date" in text
    focused = signature(only(SEARCH, Movie=MOVIE), "search_movies", budget=45, focus="what is its plot")
    assert ("overview" in text, "results: [{overview, " in focused) == (False, True)


@pytest.mark.parametrize("budget", [40, 60, 100, 200])
def test_a_signature_keeps_to_its_budget(budget: int) -> None:
    wide = {f"field_{n}": {"$ref": "#/components/schemas/Wide"} for n in range(300)}
    operation = answer("{$ref: '#/components/schemas/Wide'}", Wide={"type": "object", "properties": wide})
    text = signature(operation, "wide", budget=budget)
    assert budget * 2 < len(text) <= budget * 4 + 10


def test_many_arguments_keep_the_required_ones_and_those_of_the_focus() -> None:
    many = [{"name": f"option_{n}", "in": "query", "schema": {"type": "string"}} for n in range(80)]
    needed = {"name": "region", "in": "query", "required": True, "schema": {"type": "string"}}
    paths = json.dumps({"/a": {"get": {"parameters": [*many, {**many[0], "name": "genre"}, needed]}}})
    text = signature(only(paths), "find", budget=50, focus="films of one genre")
    assert text.startswith("find(region*: str, option_0, option_1, ")
    assert "genre, … 2" in text
    assert 600 < len(text) < 640


LOOP = {"oneOf": [{"$ref": "#/components/schemas/Loop"}, {"$ref": "#/components/schemas/Loop"}]}


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ("{}", "any"),
        ("{type: array, items: {type: number}}", "[float]"),
        ("{type: object, additionalProperties: {type: boolean}}", "{str: bool}"),
        ("{oneOf: [{type: string}, {type: integer}]}", "str|int"),
        ("{anyOf: [{type: 'null'}, {$ref: '#/components/schemas/Movie'}]}", "{id: int, title, "),
        ("{oneOf: [{properties: {a: {type: integer}}}, {properties: {b: {type: string}}}]}", "{a: int, b}"),
        ("{$ref: '#/components/schemas/Lost'}", "any"),
        ("{$ref: '#/components/schemas/Loop'}", "any"),
        ("{properties: {kind: {enum: [up, down]}, secret: {type: string, writeOnly: true}}}", "{kind: 'up'|'down'}"),
    ],
)
def test_results_are_typed(schema: str, text: str) -> None:
    assert f"a() -> {text}" in signature(answer(schema, Movie=MOVIE, Loop=LOOP), "a", budget=100)


def test_an_answer_without_content_is_none_and_a_text_is_a_text() -> None:
    assert signature(only("/a: {delete: {responses: {204: {description: gone}}}}"), "a", budget=50) == "a() -> None"
    csv = "/a: {get: {responses: {200: {description: ok, content: {text/csv: {}}}}}}"
    assert signature(only(csv), "a", budget=50) == "a() -> str"


def test_a_learned_shape_is_appended_within_the_budget() -> None:
    text = signature(answer("{}"), "a", budget=50, seen="{items: [{id: int, " + "name, " * 100 + "}]}")
    assert text.startswith("a() -> any\n  seen: {items: [{id: int, name, ")
    assert len(text) <= 200


ORDER = """
/orders/{id}:
  parameters: [{name: id, in: path, required: true, schema: {type: string}}]
  delete: {operationId: withdraw_order, summary: Take an order back., responses: {204: {description: gone}}}
  patch:
    operationId: update_order
    requestBody: {content: {application/json: {schema: {type: object, properties: {FIELD: {enum: [open, cancelled]}}}}}}
    responses: {204: {description: changed}}
/orders/{id}/LAST:
  parameters: [{name: id, in: path, required: true, schema: {type: string}}]
  post: {operationId: end_order, responses: {204: {description: ended}}}
"""


@pytest.mark.parametrize(
    ("field", "last", "told"),
    [
        ("status", "notes", "Take an order back. Removes it; update_order with status='cancelled' only ends it."),
        ("colour", "cancel", "Take an order back. Removes it; end_order only ends it."),
        ("colour", "cancel-preview", "Take an order back."),
    ],
)
def test_a_removal_names_the_change_beside_it_that_only_ends_the_thing(field: str, last: str, told: str) -> None:
    api = read_paths(ORDER.replace("FIELD", field).replace("LAST", last))
    removal = next(item for item in api.operations if item.method == "DELETE")
    assert signature(removal, removal.name, budget=150).splitlines()[1].strip() == told


def test_a_summary_that_only_repeats_the_name_is_left_out() -> None:
    operation = read_paths(ORDER.replace("FIELD", "note").replace("LAST", "notes")).operation("withdraw_order")
    assert "Take an order back." in signature(operation, "withdraw_order", budget=150)
    assert signature(operation, "take_order_back", budget=150).count("\n") == 0


TOOL = """
/tools/{tool_name}:
  post:
    operationId: calculate
    servers: [{url: "http://127.0.0.1:1"}]
    parameters:
      - {name: tool_name, in: path, required: true, schema: {type: string, enum: [calculate]}}
      - {name: version, in: query, required: true, schema: {const: 2}}
    requestBody: {required: true, content: {application/json: {schema: {properties: {expression: {type: string}}}}}}
    responses: {200: {description: ok}}
"""


def test_an_argument_with_one_value_is_neither_shown_nor_asked_for_and_is_sent() -> None:
    operation = read_paths(TOOL).operation("calculate")
    assert signature(operation, "calculate", budget=60) == "calculate(body*: {expression: str}) -> None"
    arguments = arguments_of(operation, {"expression": "1 + 1"})
    assert arguments == {"body": {"expression": "1 + 1"}}
    assert build_request(operation, arguments).url.endswith("/tools/calculate?version=2")


PAUSE = """
/pause:
  post:
    operationId: pause
    requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Pause'}}}}
    responses: {204: {description: done}}
"""
ZONE = {"zone": {"type": "string", "description": "Must be one of the zones that were read."}}
PAUSED = {
    "type": "object",
    "required": ["enabled", "scope"],
    "properties": {
        **{f"flag_{n}": {"type": "boolean"} for n in range(40)},
        "enabled": {"type": "boolean"},
        "duration": {"type": "integer", "minimum": 5, "maximum": 86400, "description": "How long, in milliseconds."},
        "mode": {"enum": [f"{word}_and_slowly" for word in ("soft", "hard", "forced", "graceful")]},
        "code": {"type": "string", "pattern": "^[A-Z]{3}$", "default": "ABC"},
        "until": {"type": "string", "format": "date-time", "nullable": True, "description": "Null means for ever."},
        "note": {"type": "string", "maxLength": 80, "example": "lunch"},
        "scope": {"type": "object", "required": ["zone"], "properties": ZONE},
    },
}


def test_required_fields_of_a_body_always_stand_before_others_that_are_folded() -> None:
    text = signature(only(PAUSE, Pause=PAUSED), "pause", budget=40)
    assert text.startswith("pause(body*: {enabled*: bool, scope*: {zone*: str}, ")
    assert "… 4" in text


def test_fields_of_a_body_have_their_limits_values_and_meaning() -> None:
    schema = {**PAUSED, "properties": {k: v for k, v in PAUSED["properties"].items() if not k.startswith("flag_")}}
    assert signature(only(PAUSE, Pause=schema), "pause", budget=200) == (
        "pause(body*: {enabled*: bool, scope*: {zone*: str}, code: str = 'ABC' /^[A-Z]{3}$/, duration: int 5..86400, "
        "mode: 'soft_and_slowly'|'hard_and_slowly'|'forced_and_slowly'|'graceful_and_slowly', "
        "until: datetime?, note: str ≤80 characters}) -> None\n"
        "  scope.zone: Must be one of the zones that were read. duration: How long, in milliseconds. "
        "until: Null means for ever. note: e.g. 'lunch'."
    )


def test_alternatives_of_a_body_are_told_by_what_each_must_have() -> None:
    card = {"type": "object", "required": ["kind", "number"], "properties": {"kind": {}, "number": {"type": "string"}}}
    bank = {"type": "object", "required": ["kind", "iban"], "properties": {"kind": {}, "iban": {"type": "string"}}}
    either = {
        "oneOf": [{"$ref": "#/components/schemas/Card"}, {"$ref": "#/components/schemas/Bank"}],
        "discriminator": {"propertyName": "kind", "mapping": {"card": "#/components/schemas/Card"}},
    }
    text = signature(only(PAUSE, Pause=either, Card=card, Bank=bank), "pay", budget=120)
    assert "body: one of card {kind*, number*} | Bank {iban*, kind*}, chosen by kind." in text
