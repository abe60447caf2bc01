"""The interface of several operations: types that functions share are written once, and the budget is kept."""

from paths import api_of, operation_of

from restgpt.specs import Catalogue, load_api
from restgpt.specs.docs.function_arguments import arguments_of
from restgpt.specs.docs.interface import Learned, interface
from restgpt_bench.worlds import open_world

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


BODIES = """
openapi: 3.1.0
info: {title: Zones, version: '1'}
servers: [{url: http://localhost}]
paths:
  /zones:
    post:
      operationId: create_zone
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Zone'}}}}
      responses: {'200': {description: ok, content: {application/json: {schema: {$ref: '#/components/schemas/Zone'}}}}}
    put:
      operationId: import_zones
      requestBody:
        content: {application/json: {schema: {type: array, items: {$ref: '#/components/schemas/Zone'}}}}
      responses: {'204': {description: done}}
  /keys:
    post:
      operationId: create_key
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Key'}}}}
      responses: {'200': {description: ok, content: {application/json: {schema: {$ref: '#/components/schemas/Key'}}}}}
    get:
      operationId: get_key
      responses: {'200': {description: ok, content: {application/json: {schema: {$ref: '#/components/schemas/Key'}}}}}
components:
  schemas:
    Zone:
      type: object
      required: [name]
      properties: {name: {type: string}, ttl: {type: integer, default: 60, maximum: 900}, kind: {type: string}}
    Key:
      type: object
      properties: {id: {type: string, readOnly: true}, title: {type: string}, bits: {type: integer}}
"""


def bodies(budget: int = 400) -> list[str]:
    api = load_api(BODIES)
    return interface(list(api.operations), lambda operation: operation.name, budget=budget).splitlines()


def test_a_body_is_written_in_place_with_what_it_must_have_starred_and_its_items_by_their_type() -> None:
    assert bodies()[:2] == [
        "create_zone(body*: {name*: str, ttl: int = 60 ≤900, kind: str}) -> Zone",
        "import_zones(body: [Zone]) -> None",
    ]
    assert "Zone = {name*: str, ttl: int = 60 ≤900, kind: str}" in bodies()


def test_a_body_without_the_fields_that_only_answers_have_is_written_in_place() -> None:
    assert bodies()[2:4] == ["create_key(body*: {title: str, bits: int}) -> Key", "get_key() -> Key"]
    assert "Key = {id, title, bits: int}" in bodies()


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


def test_what_nearly_every_operation_takes_stands_once() -> None:
    common = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in ("alt", "prettyPrint")]
    own = {"name": "colour", "in": "query", "schema": {"type": "string"}}
    paths = {
        f"/a{n}": {"get": {"operationId": f"read_{n}", "parameters": [*common, own][: 3 - n % 2]}} for n in range(12)
    }
    api = api_of(paths)
    text = interface(list(api.operations), lambda operation: operation.name, budget=900)
    assert text.splitlines()[:2] == ["read_0(colour: str) -> any", "read_1() -> any"]
    assert "Nearly every function also takes: alt, prettyPrint." in text
    assert arguments_of(api.operation("read_1"), {"alt": "json"}) == {"query": {"alt": "json"}}


def test_what_an_item_of_a_list_must_have_is_never_left_out() -> None:
    contact = {"type": "object", "properties": {f"field_{n}": {"type": "string"} for n in range(40)}}
    names = {"id": {"type": "string"}, "contact": contact, "amount": {"type": "number"}, "date": {"type": "string"}}
    item = {"type": "object", "required": ["contact", "amount", "date"], "properties": names}
    schema = {"type": "object", "properties": {"items": {"type": "array", "items": item}}}
    body = {"content": {"application/json": {"schema": schema}}}
    api = api_of({"/a": {"post": {"operationId": "allocate", "requestBody": body}}})
    text = interface(list(api.operations), lambda operation: operation.name, budget=60, focus="contact field 7")
    assert "amount*: float" in text
    assert "date*: str" in text


def test_the_alias_of_a_value_is_told_before_what_else_is_said_of_it() -> None:
    said = "The id of the customer, of letters and digits. You can also use the `my_customer` alias for your own."
    parameter = {"name": "customer", "in": "query", "description": said, "schema": {"type": "string"}}
    api = api_of({"/users": {"get": {"operationId": "list_users", "parameters": [parameter]}}})
    text = interface(list(api.operations), lambda operation: operation.name, budget=40)
    assert "customer: You can also use the my_customer alias" in text


def test_what_four_functions_say_of_an_argument_stands_once_and_what_a_body_repeats_not_again() -> None:
    region = {"name": "region", "in": "query", "schema": {"type": "string"}, "description": "Where the stock lies."}
    codes = {"type": "array", "items": {"type": "string"}, "description": "Codes, not names"}
    body = {"content": {"application/json": {"schema": {"type": "object", "properties": {"codes": codes}}}}}
    given = {"name": "codes", "in": "query", "schema": codes, "description": "Codes, not names; here or in the body."}
    reads = {f"/{name}": {"get": {"operationId": f"list_{name}", "parameters": [region]}} for name in "abcd"}
    drop = {"operationId": "drop", "parameters": [given], "requestBody": body}
    api = api_of({**reads, "/e": {"post": drop}})
    text = interface(list(api.operations), lambda one: one.name, budget=600)
    assert text.count("Where the stock lies.") == 1
    assert "In any function, region: Where the stock lies." in text
    assert text.count("not names") == 1
    assert "Codes, not names; here or in the body." in text


def test_what_a_put_does_with_absent_fields_is_said_once_for_all_functions() -> None:
    sent = "requestBody: {content: {application/json: {schema: {type: object, properties: {name: {type: string}}}}}}"
    done = "responses: {'200': {description: ok}}"
    paths = [
        f"/{path}/{{id}}:\n    {method}:\n      operationId: {method}_{path}\n      {body}\n      {done}"
        for path, method, body in (
            *(("room", "put", sent), ("door", "put", sent)),
            *(("lamp", "patch", sent), ("star", "put", "summary: Mark it")),
        )
    ]
    head = "openapi: 3.1.0\ninfo: {title: House, version: '1'}\nservers: [{url: http://localhost}]\npaths:\n  "
    operations = load_api(head + "\n  ".join(paths)).operations
    text = interface(operations, lambda item: item.name, budget=800)
    told = "PUT replaces the whole: what its body leaves out is lost, unless the description says otherwise"
    assert text.endswith(f"\n{told} (put_room, put_door).")
    others = [item for item in operations if item.name in ("patch_lamp", "put_star")]
    assert "PUT" not in interface(others, lambda item: item.name, budget=800)


def test_a_flat_key_with_a_dot_is_quoted() -> None:
    text, number = {"type": "string"}, {"type": "integer"}
    fields = {"parent": text, "parent.id": text, "parent.kind": number}
    schema = {"type": "object", "required": ["parent.id"], "properties": fields}
    answer = {"type": "object", "properties": {"parent.id": text}}
    sent, got = ({"content": {"application/json": {"schema": one}}} for one in (schema, answer))
    page = operation_of({"requestBody": sent, "responses": {"200": {"description": "ok", **got}}}, "post")
    body = "{'parent.id'*: str, parent: str, 'parent.kind': int}"
    assert interface([page], lambda item: "add_page", budget=400) == f"add_page(body: {body}) -> {{'parent.id'}}"


def test_a_condition_on_the_version_is_shown_for_changes_only() -> None:
    version = {"name": "If-Match", "in": "header", "schema": {"type": "string"}}
    one = {"parameters": [version], "responses": {}}
    api = api_of({"/kite": {"get": {**one, "operationId": "see"}, "put": {**one, "operationId": "mend"}}})
    text = interface(list(api.operations), lambda operation: operation.name, budget=200)
    assert text.splitlines()[:2] == ["see() -> any", "mend(If_Match: str) -> any"]
    assert arguments_of(api.operation("see"), {"If_Match": "7"}) == {"header": {"If-Match": "7"}}
    assert text.count("In any function: If_Match is not sent by itself") == 1
    assert "In any function" not in interface([api.operation("see")], lambda operation: operation.name, budget=200)
