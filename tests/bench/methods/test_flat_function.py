"""Guards flat arguments: each value of a request is one argument, and goes back to its place."""

from collections.abc import Mapping
from typing import Any

import pytest
from paths import api_of

from restgpt_bench.methods.flat_function import FlatFunction, flatten

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
TITLED = {"type": "object", "required": ["title"], "properties": {"title": TEXT, "year": NUMBER}}
MOVED = {"type": "object", "properties": {"id": NUMBER, "shelf": TEXT}}
OPEN = {"type": "object", "properties": {"first": TEXT}, "additionalProperties": TEXT}
PAGE = {"name": "page", "in": "query", "schema": NUMBER, "description": "Which page."}


def sending(name: str, schema: Any, *, required: bool = True) -> dict[str, Any]:
    body = {"required": required, "content": {"application/json": {"schema": schema}}}
    return {"operationId": name, "requestBody": body}


BOOK = {
    "parameters": [{"name": "id", "in": "path", "required": True, "schema": NUMBER}],
    "get": {
        "operationId": "get_book",
        "summary": "Get a book",
        "description": "With its pages.",
        "parameters": [{"name": "id", "in": "query", "schema": TEXT}, PAGE],
    },
    "put": sending("put_book", TITLED),
    "patch": sending("change_book", TITLED, required=False),
    "post": sending("move_book", MOVED),
}
BOOKS = {
    "post": sending("add_books", {"type": "array", "items": TEXT}),
    "put": sending("replace_books", OPEN, required=False),
}
API = api_of({"/books/{id}": BOOK, "/books": BOOKS}, base_url="http://shelf.example")


def flat(name: str) -> FlatFunction:
    return flatten(API.operation(name), name)


def schema(name: str) -> Mapping[str, Any]:
    return flat(name).schema


def test_parameters_and_body_fields_are_arguments_side_by_side() -> None:
    assert list(schema("put_book")["properties"]) == ["id", "title", "year"]
    assert schema("put_book")["required"] == ["id", "title"]
    given = {"id": 3, "title": "Herons"}
    assert flat("put_book").grouped(given) == {"path": {"id": 3}, "body": {"title": "Herons"}}


def test_summary_description_and_parameter_descriptions_are_kept() -> None:
    assert flat("get_book").description == "Get a book\nWith its pages."
    assert schema("get_book")["properties"]["page"]["description"] == "Which page."


def test_a_name_in_two_places_gets_its_place() -> None:
    assert list(schema("get_book")["properties"]) == ["id", "id__query", "page"]
    assert flat("get_book").grouped({"id": 3, "id__query": "x"}) == {"path": {"id": 3}, "query": {"id": "x"}}


def test_a_body_with_the_name_of_a_parameter_stays_one_argument() -> None:
    assert list(schema("move_book")["properties"]) == ["id", "body"]
    given = {"id": 3, "body": {"id": 4, "shelf": "B"}}
    assert flat("move_book").grouped(given) == {"path": {"id": 3}, "body": {"id": 4, "shelf": "B"}}


@pytest.mark.parametrize("name", ["add_books", "replace_books"])
def test_a_body_that_is_no_plain_object_stays_one_argument(name: str) -> None:
    assert list(schema(name)["properties"]) == ["body"]


def test_fields_of_an_optional_body_are_optional_and_a_required_body_is_never_left_out() -> None:
    assert schema("change_book")["required"] == ["id"]
    assert flat("change_book").grouped({"id": 3}) == {"path": {"id": 3}}
    assert flat("put_book").grouped({"id": 3}) == {"path": {"id": 3}, "body": {}}


def test_an_unknown_argument_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"no argument colour\. Its arguments are: id, title, year"):
        flat("put_book").grouped({"id": 3, "colour": "red"})
