"""The interface of several operations: types that functions share are written once, and the budget is kept."""

from typing import Any

from paths import api_of, operation_of, read_paths

from restgpt.specs import Api, Catalogue
from restgpt.specs.docs.function_arguments import arguments_of
from restgpt.specs.docs.interface import Learned, interface
from restgpt_bench.worlds import open_world

SHARED = """
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
"""
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
MOVIE = {"$ref": "#/components/schemas/Movie"}


def has(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields}


FILMS = {
    "Page": has(results={"type": "array", "items": MOVIE}, total=NUMBER, page=NUMBER),
    "Movie": has(id=NUMBER, title=TEXT, released={**TEXT, "format": "date"}, sequel=MOVIE),
    "Person": has(id=NUMBER, name=TEXT, born=TEXT),
}


BODIES = """
/zones:
  post:
    operationId: create_zone
    requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Zone'}}}}
    responses: {'200': {description: ok, content: {application/json: {schema: {$ref: '#/components/schemas/Zone'}}}}}
  put:
    operationId: import_zones
    requestBody: {content: {application/json: {schema: {type: array, items: {$ref: '#/components/schemas/Zone'}}}}}
    responses: {'204': {description: done}}
/keys:
  post:
    operationId: create_key
    requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Key'}}}}
    responses: {'200': {description: ok, content: {application/json: {schema: {$ref: '#/components/schemas/Key'}}}}}
  get:
    operationId: get_key
    responses: {'200': {description: ok, content: {application/json: {schema: {$ref: '#/components/schemas/Key'}}}}}
"""
ZONES = {
    "Zone": {**has(name=TEXT, ttl={**NUMBER, "default": 60, "maximum": 900}, kind=TEXT), "required": ["name"]},
    "Key": has(id={**TEXT, "readOnly": True}, title=TEXT, bits=NUMBER),
}


def named(api: Api, *, budget: int, **more: Any) -> str:
    """The interface of an API whose functions have the names of their operations."""
    return interface(list(api.operations), lambda operation: operation.name, budget=budget, **more)


def test_a_body_is_written_in_place_with_what_a_call_has_and_its_items_by_their_type() -> None:
    lines = named(read_paths(BODIES, **ZONES), budget=400).splitlines()
    assert lines[:4] == [
        "create_zone(body*: {name*: str, ttl: int = 60 ≤900, kind: str}) -> Zone",
        "import_zones(body: [Zone]) -> None",
        "create_key(body*: {title: str, bits: int}) -> Key",
        "get_key() -> Key",
    ]
    assert {"Zone = {name*: str, ttl: int = 60 ≤900, kind: str}", "Key = {id, title, bits: int}"} < {*lines}


def test_a_type_that_several_functions_share_is_written_once_and_others_in_place_with_what_was_learned() -> None:
    learned = Learned(lambda operation: "{title: str}", lambda operation: "")
    text = named(read_paths(SHARED, **FILMS), budget=400, learned=learned)
    assert "get_movie(id*: int) -> Movie\n" in text
    assert "list_movies(pages=1) -> {results: [Movie], total: int, page: int}" in text
    assert text.count("Movie = {id: int, title, sequel: Movie, released: date}") == 1
    assert "get_person(id*: int) -> {id: int, name, born}" in text
    assert "Person =" not in text
    assert "seen: {title: str}" in text


def test_all_functions_of_a_world_fit_the_budget_and_a_small_one_cuts_fields() -> None:
    catalogue = Catalogue([open_world("tmdb").api])
    small, text, large = (
        interface(list(catalogue), catalogue.function_name, budget=budget) for budget in (2200, 3500, 6000)
    )
    assert len(text) <= 3500 * 4
    for name in ("release_date: date", "job", "known_for", "number_of_seasons: int", "revenue: int"):
        assert name in text
    for shown in (small, text):
        assert all(f"{catalogue.function_name(operation)}(" in shown for operation in catalogue)
    assert "Movie = {id: int" in small
    assert small.count(" more") > large.count(" more")
    assert len(small) < 3000 * 4 < len(large)


def test_what_nearly_every_operation_takes_stands_once() -> None:
    given = [{"name": name, "in": "query", "schema": TEXT} for name in ("alt", "prettyPrint", "colour")]
    reads = [{"operationId": f"read_{n}", "parameters": given[: 3 - n % 2]} for n in range(12)]
    api = api_of({f"/a{n}": {"get": read} for n, read in enumerate(reads)})
    text = named(api, budget=900)
    assert text.splitlines()[:2] == ["read_0(colour: str) -> any", "read_1() -> any"]
    assert "Nearly every function also takes: alt, prettyPrint." in text
    assert arguments_of(api.operation("read_1"), {"alt": "json"}) == {"query": {"alt": "json"}}


def test_what_an_item_of_a_list_must_have_is_never_left_out() -> None:
    contact = has(**{f"field_{n}": TEXT for n in range(40)})
    item = has(id=TEXT, contact=contact, amount={"type": "number"}, date=TEXT)
    items = {"type": "array", "items": {**item, "required": ["contact", "amount", "date"]}}
    body = {"content": {"application/json": {"schema": has(items=items)}}}
    api = api_of({"/a": {"post": {"operationId": "allocate", "requestBody": body}}})
    text = named(api, budget=60, focus="contact field 7")
    assert "amount*: float" in text
    assert "date*: str" in text


def test_the_alias_of_a_value_is_told_before_what_else_is_said_of_it() -> None:
    said = "The id of the customer, of letters and digits. You can also use the `my_customer` alias for your own."
    parameter = {"name": "customer", "in": "query", "description": said, "schema": TEXT}
    api = api_of({"/users": {"get": {"operationId": "list_users", "parameters": [parameter]}}})
    assert "customer: You can also use the my_customer alias" in named(api, budget=40)


def test_what_four_functions_say_of_an_argument_stands_once_and_what_a_body_repeats_not_again() -> None:
    region = {"name": "region", "in": "query", "schema": TEXT, "description": "Where the stock lies."}
    codes = {"type": "array", "items": TEXT, "description": "Codes, not names"}
    body = {"content": {"application/json": {"schema": has(codes=codes)}}}
    given = {"name": "codes", "in": "query", "schema": codes, "description": "Codes, not names; here or in the body."}
    reads = {f"/{name}": {"get": {"operationId": f"list_{name}", "parameters": [region]}} for name in "abcd"}
    drop = {"operationId": "drop", "parameters": [given], "requestBody": body}
    text = named(api_of({**reads, "/e": {"post": drop}}), budget=600)
    assert (text.count("Where the stock lies."), text.count("not names")) == (1, 1)
    assert "In any function, region: Where the stock lies." in text
    assert "Codes, not names; here or in the body." in text


def test_what_a_put_does_with_absent_fields_is_said_once_for_all_functions() -> None:
    sent = {"requestBody": {"content": {"application/json": {"schema": has(name=TEXT)}}}}
    made = {"room": ("put", sent), "door": ("put", sent), "lamp": ("patch", sent), "star": ("put", {"summary": "Mark"})}
    paths = {f"/{n}/{{id}}": {m: {"operationId": f"{m}_{n}", "responses": {}, **b}} for n, (m, b) in made.items()}
    told = "PUT replaces the whole: what its body leaves out is lost, unless the description says otherwise"
    assert named(api_of(paths), budget=800).endswith(f"\n{told} (put_room, put_door).")
    del paths["/room/{id}"], paths["/door/{id}"]
    assert "PUT" not in named(api_of(paths), budget=800)


def test_a_flat_key_with_a_dot_is_quoted() -> None:
    schema = {**has(**{"parent": TEXT, "parent.id": TEXT, "parent.kind": NUMBER}), "required": ["parent.id"]}
    sent, got = ({"content": {"application/json": {"schema": one}}} for one in (schema, has(**{"parent.id": TEXT})))
    page = operation_of({"requestBody": sent, "responses": {"200": {"description": "ok", **got}}}, "post")
    body = "{'parent.id'*: str, parent: str, 'parent.kind': int}"
    assert interface([page], lambda item: "add_page", budget=400) == f"add_page(body: {body}) -> {{'parent.id'}}"


def test_a_condition_on_the_version_is_shown_for_changes_only() -> None:
    one = {"parameters": [{"name": "If-Match", "in": "header", "schema": TEXT}], "responses": {}}
    see, mend = {**one, "operationId": "see"}, {**one, "operationId": "mend"}
    api = api_of({"/kite": {"get": see, "put": mend}})
    text = named(api, budget=200)
    assert text.splitlines()[:2] == ["see() -> any", "mend(If_Match: str) -> any"]
    assert arguments_of(api.operation("see"), {"If_Match": "7"}) == {"header": {"If-Match": "7"}}
    assert text.count("In any function: If_Match is not sent by itself") == 1
    assert "In any function" not in named(api_of({"/kite": {"get": see}}), budget=200)
