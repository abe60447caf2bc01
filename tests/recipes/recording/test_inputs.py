"""Guards the rule by which arguments become inputs: what the user said and the document does not fix."""

from typing import Any

import pytest
from paths import api_of

from restgpt.recipes.recording.finished import FinishedCall
from restgpt.recipes.recording.inputs import Input, inputs_of, is_entity, named
from restgpt.recipes.sent import Sent
from restgpt.specs import Api
from restgpt.tools.sandbox.program import Entry

SORT = {"type": "string", "enum": ["newest", "oldest"]}
TITLE = {"type": "string", "description": "What is to be done.", "maxLength": 200}
BODY = {
    "type": "object",
    "properties": {
        "title": TITLE,
        "isDone": {"type": "boolean"},
        "labels": {"type": "array", "items": {"type": "string"}},
        "due": {"type": "string", "format": "date"},
        "owner": {"type": "object", "properties": {"name": {"type": "string"}}},
    },
}
QUERY: list[dict[str, Any]] = [
    {"name": "q", "in": "query", "schema": {"type": "string"}, "description": "What to look for. " * 30},
    {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 50, "default": 20}},
    {"name": "after", "in": "query", "schema": {"type": "integer", "minimum": 0, "maximum": 2**64 - 1}},
    {"name": "sort", "in": "query", "schema": SORT},
    {"name": "types", "in": "query", "schema": {"type": "array", "items": SORT}},
    {"name": "from", "in": "query", "schema": {"type": "string"}},
]
NUMBER = {"name": "list_id", "in": "path", "required": True, "schema": {"type": "integer"}}


def api() -> Api:
    made = {"requestBody": {"content": {"application/json": {"schema": BODY}}}, "responses": {}}
    paths = {
        "/search": {"get": {"operationId": "search", "parameters": QUERY, "responses": {}}},
        "/people": {"get": {"operationId": "find_people", "parameters": QUERY[:1], "responses": {}}},
        "/lists/{list_id}/entries": {"post": {"operationId": "add", "parameters": [NUMBER], **made}},
    }
    return api_of(paths, title="Lists", servers=[{"url": "https://lists.example"}])


API = api()


def call(function: str, **arguments: Any) -> FinishedCall:
    return FinishedCall(Sent(function, arguments), API.operation(function), Entry("0", "key", "", "answer", 200))


def found(said: str, *calls: FinishedCall, **options: Any) -> list[Input]:
    return named(inputs_of(calls, said, **options))


def values(said: str, *calls: FinishedCall, **options: Any) -> dict[str, Any]:
    return {item.name: item.example for item in found(said, *calls, **options)}


def test_a_value_that_the_user_said_becomes_an_input_with_the_name_and_the_type_of_its_parameter() -> None:
    [item] = found("Add milk to list 12", call("add", path={"list_id": 12}))
    assert (item.name, item.property()) == ("list_id", {"type": "integer", "examples": [12]})
    assert item.keyword == "list_id"


def test_a_value_that_the_user_did_not_say_stays_a_constant() -> None:
    assert values("Look for Ada Lovelace", call("search", query={"q": "Grace Hopper"})) == {}


@pytest.mark.parametrize(
    "query", [{"sort": "newest"}, {"limit": 20}, {"types": ["newest", "oldest"]}], ids=lambda query: next(iter(query))
)
def test_a_value_that_the_document_fixes_stays_a_constant(query: dict[str, Any]) -> None:
    assert values("Show the 20 newest and oldest entries", call("search", query=query)) == {}


def test_a_number_keeps_its_bounds_and_a_boolean_is_no_input() -> None:
    [item] = found(
        "Find 5 of them, true or not", call("search", query={"limit": 5}), call("add", body={"isDone": True})
    )
    assert item.property() == {"type": "integer", "minimum": 1, "maximum": 50, "examples": [5]}


def test_a_bound_that_no_store_takes_is_left_out() -> None:
    [item] = found("Show those after 700", call("search", query={"after": 700}))
    assert item.property() == {"type": "integer", "minimum": 0, "examples": [700]}


def test_a_short_description_is_taken_over_and_a_long_one_is_not() -> None:
    title, query = found("Add Milk, find Ada", call("add", body={"title": "Milk"}), call("search", query={"q": "Ada"}))
    assert title.property() == {"type": "string", "description": "What is to be done.", "examples": ["Milk"]}
    assert query.property() == {"type": "string", "examples": ["Ada"]}


def test_names_in_a_longer_text_become_inputs_with_the_words_before_their_colons_as_names() -> None:
    text = "track:Summertime Sadness artist:Lana Del Rey"
    said = "Play Summertime Sadness by Lana Del Rey"
    assert values(said, call("search", query={"q": text})) == {
        "track": "Summertime Sadness",
        "artist": "Lana Del Rey",
    }


def test_ordinary_words_in_a_longer_text_stay_in_it() -> None:
    assert values("Find good music of Björk", call("search", query={"q": "some good music, Björk"})) == {"q": "Björk"}


def test_the_year_of_a_date_becomes_an_input() -> None:
    assert values("What is due from 2024 on?", call("search", query={"from": "2024-01-01"})) == {"year": "2024"}


def test_different_values_of_one_argument_become_one_list() -> None:
    calls = [call("add", body={"title": title}) for title in ("Buy soil", "Order seeds", "Buy soil")]
    [item] = found("Add Buy soil and Order seeds", *calls)
    assert (item.name, item.value, item.schema["type"]) == ("titles", ("Buy soil", "Order seeds"), "array")
    assert values("Add Buy soil and Order seeds", *calls, lists=False) == {
        "entry_title": "Buy soil",
        "entry_title2": "Order seeds",
    }


def test_a_list_of_values_that_the_user_said_is_one_input() -> None:
    [item] = found("Label it Garden and Roof", call("add", body={"labels": ["Garden", "Roof"]}))
    assert item.property() == {"type": "array", "items": {"type": "string"}, "examples": [["Garden", "Roof"]]}


def test_inputs_that_share_a_name_get_the_nouns_of_their_operations() -> None:
    calls = [call("search", query={"q": "Ada"}), call("find_people", query={"q": "Grace"})]
    assert values("Ada and Grace", *calls) == {"search_q": "Ada", "people_q": "Grace"}


def test_one_value_is_one_input_wherever_it_is_used() -> None:
    calls = [call("add", body={"title": "Ada", "owner": {"name": "Ada"}}), call("search", query={"q": "Ada"})]
    assert values("Ada", *calls) == {"title": "Ada"}


def test_a_common_word_becomes_an_input_with_a_default_at_its_argument_only() -> None:
    [item] = found("look for jazz", call("search", query={"q": "jazz"}))
    assert (item.is_required, item.keyword, item.property()["default"]) == (False, "q", "jazz")


@pytest.mark.parametrize(
    ("text", "said"), [("Ada", "Ada"), ("éclair", "éclair"), ("b2", "b2"), ("jazz", 'find "jazz" now')]
)
def test_capitals_digits_other_letters_and_quotation_marks_make_a_name(text: str, said: str) -> None:
    assert is_entity(text, said)
    assert not is_entity("jazz", "find jazz now")


def test_a_text_in_place_of_a_number_is_an_input_of_the_type_that_the_program_gives() -> None:
    [item] = found("list 12", call("add", path={"list_id": "12"}))
    assert item.schema == {"type": "string"}
