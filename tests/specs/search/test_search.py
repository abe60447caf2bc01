"""Guards search: stemming, responses, producers, methods that are asked for, and several threads."""

import json
import threading
from typing import Any

import pytest
import yaml

from restgpt.specs import Api, Catalogue, load_api
from restgpt.specs.search.query import asked_methods, mentions_name, mentions_person
from restgpt.specs.search.stemmer import stem

LIBRARY = """
/books:
  get:
    summary: List books
    responses: {200: {content: {application/json: {schema: {$ref: '#/components/schemas/Books'}}}}}
  post: {summary: Add a book, responses: {}}
/search/authors:
  get:
    summary: Find authors
    parameters: [{name: query, in: query, required: true, schema: {type: string}}]
    responses: {}
/authors/{author_id}:
  parameters: [{name: author_id, in: path, required: true, schema: {type: integer}}]
  get: {summary: Get an author, responses: {}}
/authors/{author_id}/awards:
  parameters: [{name: author_id, in: path, required: true, schema: {type: integer}}]
  get: {summary: Get awards, responses: {}}
/books/{book_id}:
  get: {summary: Get one, responses: {}}
  delete: {summary: Remove one, responses: {}}
/me:
  get: {summary: Get the current user, responses: {200: {content: {application/json: {schema: {type: object}}}}}}
/users/{user_id}/loans:
  get: {summary: Loans, responses: {}}
  post:
    summary: Lend
    requestBody: {content: {application/json: {schema: {properties: {book_id: {type: integer}}}}}}
    responses: {}
/health:
  get: {summary: Ping, responses: {}}
"""
BOOKS = {
    "type": "array",
    "items": {"type": "object", "properties": {"isbn": {"type": "string"}, "publisher": {"type": "string"}}},
}


def read(text: str, **schemas: Any) -> Api:
    return load_api(
        json.dumps(
            {
                "openapi": "3.0.0",
                "info": {"title": "Library", "version": "1"},
                "paths": yaml.safe_load(text),
                "components": {"schemas": schemas},
            }
        )
    )


@pytest.fixture(scope="module")
def library() -> Api:
    return read(LIBRARY, Books=BOOKS)


def signatures(api: Api, text: str, k: int = 3) -> list[str]:
    return [f"{operation.method} {operation.path}" for operation in api.search(text, k)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("movies", "movie"),
        ("directed", "director"),
        ("recommendations", "recommend"),
        ("libraries", "library"),
        ("playing", "plays"),
        ("stopped", "stop"),
    ],
)
def test_forms_of_a_word_share_a_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


def test_different_words_keep_different_stems() -> None:
    assert len({stem(word) for word in ("movie", "move", "series", "server", "news", "new", "address")}) == 7


def test_field_names_of_the_response_are_found(library: Api) -> None:
    assert signatures(library, "list every isbn", 1) == ["GET /books"]


def test_the_operation_that_yields_the_identifier_comes_along(library: Api) -> None:
    assert set(signatures(library, "awards of Ursula Le Guin", 2)) == {
        "GET /authors/{author_id}/awards",
        "GET /search/authors",
    }


def test_a_verb_asks_for_its_method(library: Api) -> None:
    assert signatures(library, "remove the book", 1) == ["DELETE /books/{book_id}"]
    assert signatures(library, "add a book", 1) == ["POST /books"]


def test_producers_are_named_by_parameter(library: Api) -> None:
    producers = library.producers(library.operation("GET /authors/{author_id}/awards"))
    assert producers["author_id"][0].path == "/search/authors"
    producers = library.producers(library.operation("POST /users/{user_id}/loans"))
    assert producers["user_id"][0].path == "/me"
    assert producers["book_id"][0].path == "/books"


def test_words_that_nothing_holds_find_nothing(library: Api) -> None:
    assert library.search("zzz qqq") == []
    assert library.search("") == []


def test_signs_of_people_names_and_changes_are_read() -> None:
    assert mentions_person("films by Agnes Varda")
    assert mentions_person("the director of it")
    assert not mentions_person("the number of posters")
    assert mentions_name("the capital of Peru")
    assert not mentions_name("List the capitals")
    assert "DELETE" in asked_methods("remove it")
    assert asked_methods("what is it") == frozenset()


def test_search_from_many_threads_gives_the_same(library: Api) -> None:
    api = read(LIBRARY, Books=BOOKS)
    expected = signatures(library, "authors of books", 5)
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.append(signatures(api, "authors of books", 5))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 6


def test_names_are_qualified_only_where_they_collide() -> None:
    one = load_api({"openapi": "3.0.0", "info": {"title": "One"}, "paths": {"/a": {"get": {"operationId": "list"}}}})
    two = load_api(
        {
            "openapi": "3.0.0",
            "info": {"title": "Two"},
            "paths": {"/b": {"get": {"operationId": "list"}, "post": {"operationId": "make"}}},
        }
    )
    catalogue = Catalogue([one, two])
    assert [catalogue.name_of(operation) for operation in catalogue] == ["one.list", "two.list", "make"]
    assert catalogue.operation("two.list").path == "/b"
    assert catalogue.operation("make").path == "/b"
    assert catalogue.operation("GET /b").api is two
    with pytest.raises(LookupError, match="no operation is called 'lost'"):
        catalogue.operation("lost")


def test_two_apis_of_one_name_stay_apart() -> None:
    document = {"openapi": "3.0.0", "info": {"title": "Same"}, "paths": {"/a": {"get": {"operationId": "list"}}}}
    catalogue = Catalogue([load_api(document), load_api(document)])
    names = [catalogue.name_of(operation) for operation in catalogue]
    assert names == ["same.list", "same-2.list"]
    assert [catalogue.operation(name).api for name in names] == list(catalogue.apis)


def test_all_operations_are_offered_while_they_fit(library: Api) -> None:
    catalogue = Catalogue([library])
    assert catalogue.offer("awards", 10_000) == list(library.operations)


def test_an_offer_keeps_to_its_budget_and_brings_producers(library: Api) -> None:
    catalogue = Catalogue([library])
    offered = catalogue.offer("awards of Ursula Le Guin", 120)
    assert sum(len(catalogue.line(item)) + 1 for item in offered) <= 240
    assert {item.path for item in offered} >= {"/authors/{author_id}/awards", "/search/authors"}
    assert len(offered) < len(library.operations)


def test_a_catalogue_searches_all_apis_together(library: Api) -> None:
    other = load_api(
        {
            "openapi": "3.0.0",
            "info": {"title": "Weather"},
            "paths": {"/forecast": {"get": {"summary": "Forecast of rain"}}},
        }
    )
    catalogue = Catalogue([library, other])
    assert catalogue.search("rain tomorrow", 1)[0].api is other
    assert catalogue.search("awards", 1)[0].api is library
