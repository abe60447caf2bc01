"""Guards what the model reads of an operation: complete where it fits, each schema once, never over its budget."""

from typing import Any

import pytest
from paths import operation_of, read_paths

from restgpt.specs import Operation
from restgpt.specs.docs.documentation import described_status, documentation, response_documentation

OPERATION = """
/pets/{id}:
  put:
    summary: Change a pet
    description: Changes <b>one</b> pet, see [the guide](https://example.com).
    parameters:
      - {name: sort, in: query, description: Order., schema: {type: string, enum: [up, down], default: up}}
      - {name: limit, in: query, schema: {type: integer, minimum: 1, maximum: 50, default: 20, description: How many.}}
      - {name: id, in: path, required: true, schema: {type: string, format: uuid}}
    requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}
    responses: {200: {description: ok, content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}}
"""
PET = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "id": {"type": "string", "readOnly": True},
        "friends": {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}},
        "name": {"type": "string", "maxLength": 10, "description": "What it is called."},
        "owner": {"type": "object", "properties": {"age": {"type": "integer", "nullable": True}}},
        "secret": {"type": "string", "writeOnly": True},
        "home": {"oneOf": [{"$ref": "#/components/schemas/House"}, {"type": "string"}]},
        "tags": {"type": "object", "additionalProperties": {"type": "boolean"}},
    },
}
HOUSE = {"type": "object", "properties": {"rooms": {"type": "integer"}}}
TEXT = {"type": "string"}
NOISE = {f"noise_{n}": {**TEXT, "description": "nothing " * 10} for n in range(80)}


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def answered(**schemas: Any) -> Operation:
    """An operation whose answer has the first of these schemas."""
    content = {"a/json": {"schema": ref(next(iter(schemas)))}}
    return operation_of({"responses": {"200": {"content": content}}}, schemas=schemas, openapi="3.0.0")


def said(responses: str, method: str = "get") -> Operation:
    """An operation with these responses in YAML."""
    return read_paths(f"/a: {{{method}: {{responses: {responses}}}}}").operations[0]


DOCS = """\
PUT /pets/{id}  Change a pet
Changes one pet, see the guide.
path  id*: uuid
query  sort: 'up'|'down' = 'up'  Order.
query  limit=20 ≤50  How many.
body*  application/json  {name*: str ≤10 characters, friends: [Pet], owner: {age: int?}, home: {rooms: int}|str, \
secret: str, tags: {str: bool}}
answers 200 application/json  {id: str, friends: [Pet], name: str, owner: {age: int?}, home: {rooms: int}|str, \
tags: {str: bool}}"""


def test_an_operation_is_written_with_what_is_said_of_its_fields() -> None:
    assert documentation(read_paths(OPERATION, Pet=PET, House=HOUSE).operations[0]) == DOCS


@pytest.mark.parametrize("budget", [20, 60, 150, 400])
def test_docs_keep_to_their_budget(budget: int) -> None:
    wide = {f"field_{n}": {"type": "string", "description": "word " * 40} for n in range(60)}
    api = read_paths(OPERATION, Pet={"type": "object", "properties": wide}, House=HOUSE)
    operation = api.operations[0]
    assert len(documentation(operation, budget=budget)) <= budget * 4
    assert len(response_documentation(operation, 200, focus="field 7", budget=budget)) <= budget * 4
    assert documentation(operation, budget=budget).startswith("PUT /pets/{id}")


def test_a_response_is_cut_to_the_words_of_its_focus() -> None:
    fields = {**NOISE, "id": {"type": "integer"}, "crew": {"type": "array", "items": ref("Member")}}
    member = {f"detail_{n}": TEXT for n in range(40)} | {"director": {"type": "boolean"}}
    film = answered(Film={"properties": fields}, Member={"properties": member})
    found = response_documentation(film, 200, focus="names of the directors", budget=300)
    assert "crew: [{director: bool" in found
    assert "id: int" in found
    assert "detail_3: str" not in found
    assert "noise_39: str" not in found
    assert len(found) <= 1200


def test_an_answer_takes_a_third_of_the_docs_and_is_cut_to_their_focus() -> None:
    operation = answered(Film={"properties": {"runtime": {"type": "integer", "description": "In minutes."}, **NOISE}})
    docs = documentation(operation, budget=600, focus="how long the film is: its runtime")
    assert "{runtime: int, " in docs
    assert "\n  runtime: In minutes." in docs
    assert "noise_50: " not in docs
    assert len(docs) <= 900


def test_of_alternatives_only_the_received_fields_are_written() -> None:
    item = answered(
        Item={"oneOf": [ref("Track"), ref("Episode")]},
        Track={"required": ["name", "album"], "properties": {"name": {}, "album": {}}},
        Episode={"required": ["name", "show"], "properties": {"name": {}, "show": {}}},
    )
    text = response_documentation(item, 200, received={"name": "a", "album": "b", "type": "c"})
    assert text == "200 a/json  {name: any, album: any}"


def test_a_response_is_cut_to_the_names_that_were_received() -> None:
    deep = {"a": {"properties": {"b": {"properties": {"c": {"properties": {"near": {}, "absent": {}}}}}}}}
    page = answered(
        Page={"properties": {"items": {"type": "array", "items": ref("Film")}, "next": {}}},
        Film={"properties": {"title": TEXT, "seasons": ref("Season"), **deep}},
        Season={"properties": {"number": {"type": "integer"}}},
    )
    received = {"items": [{"title": "x"}, {"a": {"b": {"c": {"near": 1}}}}]}
    found = response_documentation(page, 200, focus="titles", budget=300, received=received)
    assert "title: str" in found
    assert "near" in found
    assert not any(name in found for name in ("next", "seasons", "Season", "absent"))


def test_words_that_most_fields_hold_make_none_of_them_worth_showing() -> None:
    page = {"properties": {"uri": TEXT, "pages": {"type": "integer", "description": "nothing " * 10}}}
    schemas = {f"kind_{n}": {**page, "description": f"kind_{n}"} for n in range(20)} | {"track": page}
    found = answered(Found={"properties": {name: ref(name) for name in schemas}}, **schemas)
    text = response_documentation(found, 200, focus="the URI of the first track", budget=300)
    assert text.startswith("200 a/json  {track: {uri: str, ")


def test_fields_of_the_whole_body_are_those_it_has_itself() -> None:
    found = answered(
        Found={"properties": {"artists": ref("Page"), "tracks": {"type": "array"}}},
        Page={"properties": {"total": {"type": "integer"}}},
    )
    text = response_documentation(found, 200, received={"tracks": [{"artists": [{"total": 1}]}]})
    assert ("tracks" in text, "artists" in text) == (True, False)


def test_what_is_deep_inside_choices_makes_a_field_worth_showing() -> None:
    now = answered(
        Now={"properties": {**NOISE, "item": ref("Playable")}},
        Playable={"oneOf": [ref("Track"), ref("Episode")]},
        Track={"allOf": [ref("Simple"), {"properties": {"popularity": {}}}]},
        Simple={"properties": {"artists": {"type": "array"}}},
        Episode={"properties": {"show": {}}},
    )
    text = response_documentation(now, 200, focus="the id and name of each artist", budget=400)
    assert text.startswith("200 a/json  {item: {artists: [any], ")


def test_nothing_is_named_as_null() -> None:
    film = answered(Film={"properties": {"part_of": {"anyOf": [ref("House"), {"type": "null"}]}}}, House=HOUSE)
    assert "part_of: {rooms: int}?" in response_documentation(film, 200)


def test_a_small_response_is_shown_whole() -> None:
    operation = said("{200: {content: {text/plain: {schema: {type: string}}}}, 204: {description: Gone.}}")
    assert response_documentation(operation, 200, focus="anything") == "200 text/plain  str"
    assert response_documentation(operation, 204) == "204 without a body  Gone."
    assert "does not describe" in response_documentation(operation, 500)


@pytest.mark.parametrize(
    ("status", "description", "told"),
    [
        *((status, text, "") for status, text in ((200, "OK"), (201, "Created."), (204, "No content"))),
        *((status, text, "") for status, text in ((200, "Successful Response"), (404, "Not Found"))),
        (200, "The operation was completed successfully", ""),
        (204, "The item is gone for good.", "The item is gone for good."),
        (202, "Accepted: look at the job later.", "Accepted: look at the job later."),
    ],
)
def test_the_description_of_a_status_is_said_if_it_says_anything(status: int, description: str, told: str) -> None:
    operation = said(f"{{{status}: {{description: '{description}'}}}}")
    assert described_status(operation, status) == told
    assert described_status(operation, 203) == ""


def test_an_undocumented_success_is_read_as_the_documented_one() -> None:
    content = "{application/json: {schema: {properties: {made: {type: integer}}}}}"
    operation = said(f"{{200: {{content: {content}}}, 422: {{description: a}}, default: {{description: b}}}}", "post")
    assert "made: int" in response_documentation(operation, 201)
    assert response_documentation(operation, 500) == "default without a body  b"
