"""Guards search: stemming, responses, producers, methods that are asked for, and several threads."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from paths import api_of, read_paths

from restgpt.specs import Api, Catalogue
from restgpt.specs.search.query import (
    LONGEST,
    asked_methods,
    mentions_name,
    mentions_person,
    phrases,
    read_query,
    stem,
    synonyms,
)
from restgpt.specs.search.ranking import Search
from restgpt.specs.search.search_index import impacts, rarity

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
BOOKS = {"type": "array", "items": {"type": "object", "properties": {"isbn": {}, "publisher": {}}}}


read = partial(read_paths, title="Library")


@pytest.fixture(scope="module")
def library() -> Api:
    return read(LIBRARY, Books=BOOKS)


def signatures(api: Api, text: str, k: int = 3) -> list[str]:
    return [f"{operation.method} {operation.path}" for operation in api.search(text, k)]


@pytest.mark.parametrize(
    "forms",
    [
        "movies movie",
        "directed director",
        "recommendations recommend",
        "libraries library",
        "playing plays",
        "stopped stop",
    ],
)
def test_forms_of_a_word_share_a_stem_and_different_words_do_not(forms: str) -> None:
    assert len({stem(word) for word in forms.split()}) == 1
    assert len({stem(word) for word in ("movie", "move", "series", "server", "news", "new", "address")}) == 7


def test_field_names_of_the_response_are_found(library: Api) -> None:
    assert signatures(library, "list every isbn", 1) == ["GET /books"]


def test_the_operation_that_yields_the_identifier_comes_along(library: Api) -> None:
    found = signatures(library, "awards of Ursula Le Guin", 2)
    assert sorted(found) == ["GET /authors/{author_id}/awards", "GET /search/authors"]


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


@pytest.mark.parametrize(
    ("text", "methods"),
    [
        ("remove it", {"DELETE"}),
        ("get rid of the book", {"DELETE"}),
        ("take that song off the list", {"DELETE"}),
        ("set up a loan", {"POST"}),
        ("what is it", set()),
        # A verb that tells what was done
        ("the limit that is set for it", set()),
        ("which loans did we cancel?", set()),
        ("I've removed it", set()),
    ],
)
def test_an_order_asks_for_its_methods_and_what_was_done_for_none(text: str, methods: set[str]) -> None:
    assert asked_methods(text) >= methods
    assert bool(asked_methods(text)) is bool(methods)


def test_signs_of_people_and_names_are_read() -> None:
    assert mentions_person("films by Agnes Varda")
    assert mentions_person("the director of it")
    assert not mentions_person("the number of posters")
    assert mentions_name("the capital of Peru")
    assert not mentions_name("List the capitals")


MACHINES = """
/machines:
  get: {summary: List machines, responses: {}}
  post: {summary: Create a machine, responses: {}}
/machines/{id}:
  get: {summary: Get a machine, responses: {}}
  put: {summary: Update a machine, responses: {}}
  delete: {summary: Delete a machine, responses: {}}
/machines/{id}/metrics: {get: {summary: Metrics of a machine, responses: {}}}
/machines/{id}/positions: {get: {summary: Positions, responses: {}}}
/machines/{id}/backup: {post: {summary: Machine backup, responses: {}}}
/machines/{id}/snapshots: {post: {summary: Create one, responses: {}}}
/machines/{id}/enable: {post: {summary: Enable a machine, responses: {}}}
/machines/{id}/poweroff: {post: {summary: Poweroff, responses: {}}}
/users/sign_in: {post: {summary: Users, responses: {}}}
/users/sign_out: {post: {summary: Users, responses: {}}}
"""


@pytest.mark.parametrize(
    ("text", "signature"),
    [
        ("Back up the machine 4.", "POST /machines/{id}/backup"),
        ("Back the machine up.", "POST /machines/{id}/backup"),
        ("Take a snapshot of the machine 4.", "POST /machines/{id}/snapshots"),
        ("Turn on the machine 4.", "POST /machines/{id}/enable"),
        ("Shut down the machine 4.", "POST /machines/{id}/poweroff"),
        ("Where is the machine 4 right now?", "GET /machines/{id}/positions"),
        ("Log me in.", "POST /users/sign_in"),
        ("Log out.", "POST /users/sign_out"),
        ("Set up a machine.", "POST /machines"),
    ],
)
def test_a_phrase_finds_what_one_word_says(text: str, signature: str) -> None:
    assert signatures(read(MACHINES), text, 1) == [signature]


def test_the_words_of_a_phrase_weigh_less_than_the_phrase() -> None:
    weights = read_query("Put the report off, it is signed.").weights
    assert weights["off"] == weights["put"] < weights["put off"] < weights["report"]
    assert "sign up" not in weights


def test_every_line_of_the_data_is_read() -> None:
    assert phrases()["turn on"].stems >= {"switch on", "enabl", "start"}
    assert phrases()["tick off"].methods == {"PUT", "PATCH", "POST"}
    for meaning in phrases().values():
        assert meaning.stems
        assert meaning.methods <= {"POST", "PUT", "PATCH", "DELETE"}


def test_quoted_words_values_and_names_weigh_less() -> None:
    weights = read_query("Lend 'Harbour Nights' to Petra, card LIB-204, mail petra@home.example").weights
    assert weights["card"] == 1.0
    assert weights["petra"] < 1.0
    assert max(weights[word] for word in ("harbour", "night", "hom", "lib")) < 0.3
    # A capital letter at the start of a sentence makes no name.
    weights = read_query("Awards of it? Loans too, Petra").weights
    assert weights["award"] == weights["loan"] == 1.0
    assert weights["petra"] < 1.0


def test_a_query_is_read_by_clauses_but_quotations_stay_whole() -> None:
    query = read_query("Delete the loan 'War, and peace', then add an author.")
    assert [sorted(clause.methods) for clause in query.clauses] == [["DELETE"], ["PATCH", "POST", "PUT"]]
    assert "peac" not in query.clauses[1].stems


def test_each_clause_brings_its_operation(library: Api) -> None:
    found = signatures(library, "Delete the book and add a new one", 3)
    assert {"DELETE /books/{book_id}", "POST /books"} <= {*found}


def test_a_synonym_finds_an_operation_that_lacks_the_word(library: Api) -> None:
    assert "author" in synonyms()[stem("creator")]
    assert "GET /authors/{author_id}" in signatures(library, "the creator", 3)


def test_a_word_of_the_query_counts_more_than_its_synonym() -> None:
    api = read("/pictures: {get: {responses: {}}}\n/photos: {get: {responses: {}}}")
    assert signatures(api, "photos", 2) == ["GET /photos", "GET /pictures"]
    assert signatures(api, "pictures", 2) == ["GET /pictures", "GET /photos"]


def test_the_list_behind_other_variables_comes_along() -> None:
    paths = ("/shops/{shop}/orders: {get", "/shops/{shop}/orders/{number}/refund: {post", "/health: {get")
    api = read("\n".join(f"{path}: {{responses: {{}}}}}}" for path in paths))
    assert signatures(api, "refund it", 2) == ["POST /shops/{shop}/orders/{number}/refund", "GET /shops/{shop}/orders"]


def test_near_duplicates_do_not_fill_the_first_places() -> None:
    formats = "\n".join(f"/reports/{{id}}/v{number}/export: {{get: {{responses: {{}}}}}}" for number in range(30))
    api = read(formats + "\n/reports/export/settings: {get: {responses: {}}}")
    assert "GET /reports/export/settings" in signatures(api, "export the report", 10)


def test_a_common_word_still_counts_in_a_large_index(library: Api) -> None:
    index = library.search_index
    search = Search([index] * 2000)
    found = search.find("remove the book", 4)
    assert len(found) == 4
    assert index.facts[found[0][1]].method == "DELETE"


@pytest.mark.parametrize("sign", ["“", '"', "'", ".", ", ", "put ", "!!! ", "{", "\u0000", "é", "９"])
def test_odd_queries_take_no_longer_than_others(library: Api, sign: str) -> None:
    text = "put it " + sign * 200_000
    start = time.process_time()
    library.search(text)
    assert time.process_time() - start < 2
    assert sum(read_query("book " + "x " * LONGEST + "author").weights.values()) < 3


def test_search_from_many_threads_gives_the_same(library: Api) -> None:
    api = read(LIBRARY, Books=BOOKS)
    expected = signatures(library, "authors of books", 5)
    with ThreadPoolExecutor(6) as threads:
        found = list(threads.map(lambda _: signatures(api, "authors of books", 5), range(6)))
    assert found == [expected] * 6


def test_names_are_qualified_only_where_they_collide_and_all_apis_are_searched_together(library: Api) -> None:
    one = api_of({"/a": {"get": {"operationId": "list"}}}, title="One")
    two = api_of({"/b": {"get": {"operationId": "list"}, "post": {"operationId": "make"}}}, title="Two")
    catalogue = Catalogue([one, two])
    assert [catalogue.name_of(operation) for operation in catalogue] == ["one.list", "two.list", "make"]
    assert catalogue.operation("two.list").path == "/b"
    assert catalogue.operation("make").path == "/b"
    assert catalogue.operation("GET /b").api is two
    with pytest.raises(LookupError, match="no operation is called 'lost'"):
        catalogue.operation("lost")
    other = api_of({"/forecast": {"get": {"summary": "Forecast of rain"}}}, title="Weather")
    found = [Catalogue([library, other]).search(text, 1)[0].api for text in ("rain tomorrow", "awards")]
    assert found == [other, library]


def test_two_apis_of_one_name_stay_apart() -> None:
    catalogue = Catalogue([api_of({"/a": {"get": {"operationId": "list"}}}, title="Same") for _ in range(2)])
    names = [catalogue.name_of(operation) for operation in catalogue]
    assert names == ["same.list", "same-2.list"]
    assert [catalogue.operation(name).api for name in names] == list(catalogue.apis)


def test_all_operations_are_offered_while_they_fit_and_else_some_with_their_producers(library: Api) -> None:
    catalogue = Catalogue([library])
    assert catalogue.offer("awards", 10_000) == list(library.operations)
    offered = catalogue.offer("awards of Ursula Le Guin", 120)
    assert sum(len(catalogue.line(item)) + 1 for item in offered) <= 240
    assert {item.path for item in offered} >= {"/authors/{author_id}/awards", "/search/authors"}
    assert len(offered) < len(library.operations)


def texts(*documents: str) -> list[dict[str, Counter[str]]]:
    return [{"text": Counter(document.split())} for document in documents]


def test_a_rare_stem_counts_more_than_a_common_one() -> None:
    assert rarity(1, 100) > rarity(50, 100) > rarity(100, 100) > 0


def test_a_stem_counts_more_often_than_once_but_less_each_time() -> None:
    (once, twice, thrice) = (
        next(impacts(texts(text), {"text": 1.0}, length=0.0))["a"] for text in ("a", "a a", "a a a")
    )
    assert once == pytest.approx(1.0)
    assert 0 < thrice - twice < twice - once


def test_a_long_document_is_damped_unless_length_is_0() -> None:
    documents = texts("a", "a b c d e f g")
    short, long = (found["a"] for found in impacts(documents, {"text": 1.0}, length=0.75))
    assert short > long
    short, long = (found["a"] for found in impacts(documents, {"text": 1.0}, length=0.0))
    assert short == long


def test_a_field_counts_by_its_weight() -> None:
    document = {"name": Counter({"a": 1}), "text": Counter({"b": 1})}
    (found,) = impacts([document], {"name": 3.0, "text": 1.0}, length=0.5)
    assert found["a"] > found["b"]


def test_documents_without_words_have_no_impacts() -> None:
    assert list(impacts(texts("", ""), {"text": 1.0}, length=0.75)) == [{}, {}]
