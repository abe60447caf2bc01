"""Guards stubs: the keywords of functions, and the fields of answers, which are listed only if no others may occur."""

from typing import Any

import pytest
from paths import operation_of, read_paths

from restgpt.nodes.programs.calls import FIELDS_MOST, stub

UPDATE = """
/lists/{id}/{from}:
  put:
    parameters:
      - {name: id, in: path, required: true, schema: {type: integer}}
      - {name: from, in: path, required: true, schema: {type: string}}
      - {name: X-Trace, in: header, schema: {type: string}}
      - {name: mode, in: query, required: true, schema: {type: string, default: quick}}
    requestBody:
      required: true
      content: {application/json: {schema: {required: [name], properties: {name: {}, for-all: {}}}}}
    responses: {204: {description: done}}
"""
BASE = {"properties": {"a": {"type": "integer"}}, "discriminator": {"propertyName": "kind"}}
FIELDS = {f"field_{number}": {"type": "string"} for number in range(FIELDS_MOST + 1)}
SCHEMAS: dict[str, Any] = {
    "Base": BASE,
    "Loop": {"oneOf": [{"$ref": "#/components/schemas/Loop"}, {"$ref": "#/components/schemas/Loop"}]},
    "Node": {"properties": {"next": {"$ref": "#/components/schemas/Node"}}},
    "Wide": {"properties": FIELDS},
}


def result(*responses: str) -> Any:
    """The result in the stub of an operation with responses, each a status, a media type and a schema in YAML."""
    listed = [response.split(maxsplit=2) for response in responses]
    texts = [
        f"{status}: {{description: ok, content: {{{media}: {{schema: {body}}}}}}}" for status, media, body in listed
    ]
    return stub(read_paths(f"/a: {{get: {{responses: {{{', '.join(texts)}}}}}}}", **SCHEMAS).operations[0], "a")[
        "result"
    ]


def test_a_stub_lists_keywords_and_fields_of_the_body() -> None:
    assert stub(read_paths(UPDATE).operations[0], "update") == {
        "name": "update",
        "keywords": {"id": True, "from_": True, "X_Trace": False, "mode": False},
        "claims": {},
        "others": ["body", "name", "for_all", "for-all"],
        "needs_body": True,
        "result": None,
        "truths": [],
    }


def test_a_read_has_pages() -> None:
    read = read_paths("/a: {get: {responses: {200: {description: ok}}}}").operations[0]
    assert (stub(read, "a")["others"], stub(read, "a", reads=lambda _: False)["others"]) == (["pages"], [])


def test_the_names_that_hold_true_or_false_wherever_they_occur_are_listed() -> None:
    task = "{properties: {done: {type: boolean}, open: {type: boolean}, of: {properties: {open: {type: string}}}}}"
    schema = f"{{properties: {{items: {{type: array, items: {task}}}}}}}"
    paths = f"/a: {{get: {{responses: {{200: {{description: ok, content: {{a/json: {{schema: {schema}}}}}}}}}}}}}"
    assert stub(read_paths(paths).operations[0], "a")["truths"] == ["done"]


@pytest.mark.parametrize(
    ("responses", "fields"),
    [
        (["200 application/json {properties: {a: {}, b: {}}}"], ["a", "b"]),
        (["default application/json {properties: {a: {}}}"], ["a"]),
        (["200 '*/*' {properties: {a: {}}}", "404 application/json {properties: {b: {}}}"], ["a"]),
        (["200 application/json {allOf: [{properties: {a: {}}}, {properties: {b: {}}}]}"], ["b", "a"]),
        (["200 application/json {allOf: [{$ref: '#/components/schemas/Base'}]}"], ["a"]),
        (["200 application/json {$ref: '#/components/schemas/Node'}"], ["next"]),
    ],
)
def test_a_result_lists_the_fields_of_an_object(responses: list[str], fields: list[str]) -> None:
    assert result(*responses) == fields


@pytest.mark.parametrize(
    "responses",
    [
        ["200 text/csv {properties: {a: {}}}"],
        ["200 application/json {}"],
        ["200 application/json {type: array, items: {properties: {a: {}}}}"],
        ["200 application/json {properties: {a: {}}, additionalProperties: true}"],
        ["200 application/json {oneOf: [{properties: {a: {}}}, {properties: {b: {}}}]}"],
        ["200 application/json {$ref: '#/components/schemas/Base'}"],
        ["200 application/json {$ref: '#/components/schemas/Loop'}"],
        ["200 application/json {$ref: '#/components/schemas/Lost'}"],
        ["200 application/json {$ref: '#/components/schemas/Wide'}"],
        ["200 application/json {properties: {a: {}}}", "202 application/json {properties: {b: {}}}"],
        ["200 application/json {properties: {a: {}}}", "202 text/plain {type: string}"],
    ],
)
def test_no_field_is_listed_where_others_may_occur(responses: list[str]) -> None:
    assert result(*responses) is None


def test_a_stub_takes_a_media_type_where_the_body_may_have_several() -> None:
    kinds: dict[str, Any] = {"application/json": {}, "application/merge-patch+json": {}}
    assert stub(operation_of({"requestBody": {"content": kinds}}, "patch"), "x")["others"] == ["body", "content_type"]
