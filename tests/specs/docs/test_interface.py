"""The interface of several operations: types that functions share are written once, and the budget is kept."""

from restgpt.specs import Catalogue, load_api
from restgpt.specs.docs.interface import Learned, interface
from restgpt.worlds import open_world

SHARED = """
openapi: 3.1.0
info: {title: Films, version: '1'}
servers: [{url: http://localhost}]
paths:
  /movies:
    get:
      operationId: list_movies
      summary: List movies
      responses: {'200': {description: ok, content: {application/json: {schema: {$ref: '#/components/schemas/Page'}}}}}
  /movies/{id}:
    get:
      operationId: get_movie
      summary: Get a movie
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      responses: {'200': {description: ok, content: {application/json: {schema: {$ref: '#/components/schemas/Movie'}}}}}
  /people/{id}:
    get:
      operationId: get_person
      summary: Get a person
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      responses: {'200': {description: a, content: {application/json: {schema: {$ref: '#/components/schemas/Person'}}}}}
components:
  schemas:
    Page:
      type: object
      properties:
        results: {type: array, items: {$ref: '#/components/schemas/Movie'}}
        total: {type: integer}
        page: {type: integer}
    Movie:
      type: object
      properties:
        id: {type: integer}
        title: {type: string}
        released: {type: string, format: date}
        sequel: {$ref: '#/components/schemas/Movie'}
    Person:
      type: object
      properties: {id: {type: integer}, name: {type: string}, born: {type: string}}
"""


def written(budget: int = 400, seen: str = "") -> str:
    catalogue = Catalogue([load_api(SHARED)])
    return interface(
        list(catalogue),
        catalogue.function_name,
        budget=budget,
        learned=Learned(lambda operation: seen, lambda operation: ""),
    )


def test_a_type_that_several_functions_share_is_written_once_and_may_contain_itself() -> None:
    text = written()
    assert "get_movie(id*: int) -> Movie\n" in text
    assert "list_movies(pages=1) -> {results: [Movie], total: int, page: int}" in text
    assert text.count("Movie = {id: int, title, sequel: Movie, released: date}") == 1


def test_a_type_that_one_function_uses_stays_in_its_signature() -> None:
    text = written()
    assert "get_person(id*: int) -> {id: int, name, born}" in text
    assert "Person =" not in text


def test_the_learned_shape_of_an_answer_is_shown_with_its_function() -> None:
    assert "seen: {title: str}" in written(seen="{title: str}")


def test_all_functions_of_a_world_fit_the_budget_with_the_fields_that_programs_need() -> None:
    catalogue = Catalogue([open_world("tmdb").api])
    text = interface(list(catalogue), catalogue.function_name, budget=3500)
    assert len(text) <= 3500 * 4
    assert all(f"{catalogue.function_name(operation)}(" in text for operation in catalogue)
    for name in ("release_date: date", "job", "known_for", "number_of_seasons: int", "revenue: int"):
        assert name in text


def test_a_small_budget_cuts_fields_and_keeps_every_function() -> None:
    catalogue = Catalogue([open_world("tmdb").api])
    small, large = (interface(list(catalogue), catalogue.function_name, budget=budget) for budget in (2200, 6000))
    assert all(f"{catalogue.function_name(operation)}(" in small for operation in catalogue)
    assert "Movie = {id: int" in small
    assert small.count(" more") > large.count(" more")
    assert len(small) < 3000 * 4 < len(large)
