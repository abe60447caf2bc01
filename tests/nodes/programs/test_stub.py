"""Guards what a program gets: stubs of functions with the fields of their answers, and answers of earlier programs."""

from typing import Any

import pytest
from paths import operation_of, read_paths

from restgpt.nodes.programs.calls import FIELDS_MOST, offered, stub
from restgpt.tools.sandbox.result import Entry

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
    api = read_paths(f"/a: {{get: {{responses: {{{', '.join(texts)}}}}}}}", **SCHEMAS)
    return stub(api.operations[0], "a")["result"]


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
        # Others may occur.
        (["200 text/csv {properties: {a: {}}}"], None),
        (["200 application/json {}"], None),
        (["200 application/json {type: array, items: {properties: {a: {}}}}"], None),
        (["200 application/json {properties: {a: {}}, additionalProperties: true}"], None),
        (["200 application/json {oneOf: [{properties: {a: {}}}, {properties: {b: {}}}]}"], None),
        (["200 application/json {$ref: '#/components/schemas/Base'}"], None),
        (["200 application/json {$ref: '#/components/schemas/Loop'}"], None),
        (["200 application/json {$ref: '#/components/schemas/Lost'}"], None),
        (["200 application/json {$ref: '#/components/schemas/Wide'}"], None),
        (["200 application/json {properties: {a: {}}}", "202 application/json {properties: {b: {}}}"], None),
        (["200 application/json {properties: {a: {}}}", "202 text/plain {type: string}"], None),
    ],
)
def test_a_result_lists_the_fields_unless_others_may_occur(responses: list[str], fields: list[str] | None) -> None:
    assert result(*responses) == fields


def test_a_stub_takes_a_media_type_where_the_body_may_have_several() -> None:
    kinds: dict[str, Any] = {"application/json": {}, "application/merge-patch+json": {}}
    assert stub(operation_of({"requestBody": {"content": kinds}}, "patch"), "x")["others"] == ["body", "content_type"]


def answer(key: str, size: int, *, position: str = "", safe: bool = True) -> tuple[Any, Entry]:
    return {"safe": safe}, Entry(position, key, "digest", "answer", 200, {}, "text", b"x" * size)


def test_answers_that_fit_are_all_offered() -> None:
    given = [answer("a", 40), answer("b", 60, position="0")]
    assert offered(given, most=100) == [entry for _, entry in given]


def test_a_read_that_does_not_fit_is_made_again() -> None:
    assert [entry.key for entry in offered([answer("a", 90), answer("b", 20), answer("c", 10)], most=100)] == ["a", "c"]


def test_a_change_that_does_not_fit_is_offered_without_its_body() -> None:
    [entry] = offered([answer("a", 200, safe=False)], most=100)
    assert (entry.key, entry.given, entry.media, entry.body) == ("a", "answer", "empty", b"")


def test_the_answers_of_the_program_itself_come_first() -> None:
    kept = offered([answer("earlier", 50), answer("own", 80, position="0")], most=100)
    assert [entry.key for entry in kept] == ["own"]
