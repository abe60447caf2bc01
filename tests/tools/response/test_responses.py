"""Guards the response store: equal bodies are stored once, any store works, schema violations are only notices."""

import json
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore
from paths import operation_of

from restgpt.specs import Operation
from restgpt.tools.response.content import Body, Reply
from restgpt.tools.response.store import MOST_VALIDATED, BodyCache, ResponseStore, UnknownHandleError


def reply(body: bytes, kind: str = "application/json", status: int = 200, **more: Any) -> Reply:
    return Reply(status, "", {"content-type": kind}, kind.partition(";")[0], body, **more)


@pytest.fixture
def store() -> BaseStore:
    return InMemoryStore()


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"a":[1,2,3]}', "application/json"),
        ("é€𝄞 ".encode() * 50, "text/plain"),
        (bytes(range(256)) * 20, "image/png"),
        (b"a\0b\0c" * 10, "text/plain"),
        (b"", "application/json"),
    ],
)
@pytest.mark.parametrize("piece", [7, 4096])
def test_a_body_comes_back_as_it_was(store: BaseStore, body: bytes, kind: str, piece: int) -> None:
    kept = ResponseStore(store, piece=piece)
    stored = kept.put(reply(body, kind))
    assert kept.body(stored.handle) == body
    assert kept.open(stored.handle).size == len(body)


def test_bodies_survive_in_sqlite(tmp_path: Path) -> None:
    body = json.dumps({"text": "é\u0000€", "n": 10**30}).encode()
    with SqliteStore.from_conn_string(str(tmp_path / "store.sqlite")) as store:
        store.setup()
        handle = ResponseStore(store, piece=10).put(reply(body)).handle
    with SqliteStore.from_conn_string(str(tmp_path / "store.sqlite")) as store:
        assert ResponseStore(store).open(handle).value == {"text": "é\u0000€", "n": 10**30}


def test_the_same_body_is_kept_once_as_plain_json_with_the_time_that_it_took(store: BaseStore) -> None:
    kept = ResponseStore(store)
    first, second = kept.put(reply(b'{"a":1}', elapsed_ms=12)), kept.put(reply(b'{"a":1}', status=201))
    assert first.handle == second.handle
    assert kept.put(reply(b'{"a":1}', "text/plain")).handle != first.handle
    data = json.loads(json.dumps(first.to_dict()))
    assert (data["status"], data["media_type"], data["size"]) == (200, "application/json", 7)
    assert (data["sketch"], data["elapsed_ms"]) == ("{a: int = 1}", 12)
    with pytest.raises(UnknownHandleError, match="send the request again"):
        kept.open("body-0")


def test_a_body_that_was_half_written_is_written_again(store: BaseStore) -> None:
    kept = ResponseStore(store, piece=4)
    handle = kept.put(reply(b"[1,2,3,4]")).handle
    store.delete(("restgpt", "bodies"), f"{handle}.1")
    with pytest.raises(UnknownHandleError, match="missing"):
        kept.open(handle)
    store.delete(("restgpt", "bodies"), handle)
    assert kept.body(kept.put(reply(b"[1,2,3,4]")).handle) == b"[1,2,3,4]"


def test_bodies_are_seen_in_utf_8(store: BaseStore) -> None:
    kept = ResponseStore(store)
    body = kept.open(kept.put(reply('\ufeff{"é":1}'.encode("utf-16-le"))).handle)
    assert (body.raw, body.is_json, body.value, body.text(3)) == ('{"é":1}'.encode(), True, {"é": 1}, '{"é')


@pytest.mark.parametrize(
    ("body", "kind", "shown"),
    [
        (b"", "application/json", "no body"),
        (b"\x89PNG\0", "image/png", "image/png, 5 bytes"),
        (b"a,b\n1,2\n3,4\n", "text/csv", "table, 3 lines:\na,b\n1,2\n3,4\n"),
        (b"hello", "text/plain", "text, 1 line:\nhello"),
        (b'{"a":1}\n{"a":2}\n', "application/x-ndjson", "JSON Lines: [2 × {a: int = 1 or 2}]"),
    ],
)
def test_every_kind_of_body_has_a_sketch(store: BaseStore, body: bytes, kind: str, shown: str) -> None:
    assert ResponseStore(store).put(reply(body, kind)).sketch == shown


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"\\ud800": "\\u0000\\udfff", "a\\u0000": 1}', "application/json"),
        (b"a\0b\x1b[31m", "text/plain"),
        (b"a,b\0\n", "text/csv"),
        (b'{"id": "\\ud800\\u0000"}', "application/json"),
    ],
)
def test_no_hostile_body_makes_a_record_that_a_database_refuses(store: BaseStore, body: bytes, kind: str) -> None:
    text = json.dumps(ResponseStore(store).put(reply(body, kind), documented()).to_dict(), ensure_ascii=False)
    text.encode("utf-8")
    assert "\0" not in text
    assert "u0000" not in text.replace("\\\\u0000", "")


def test_a_ten_megabyte_body_has_a_short_sketch(store: BaseStore) -> None:
    body = json.dumps([{"id": number, "text": "x" * 200} for number in range(45_000)]).encode()
    kept = ResponseStore(store)
    stored = kept.put(reply(body))
    assert len(stored.sketch) < 1700
    assert stored.size == len(body)
    assert kept.body(stored.handle) == body


def answering(schema: dict[str, Any], **fields: Any) -> Operation:
    """An operation whose answers have this schema."""
    responses = {"200": {"description": "ok", "content": {"application/json": {"schema": schema}}}}
    return operation_of({"responses": responses, **fields}, base_url="http://127.0.0.1:1")


def documented() -> Operation:
    schema = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}
    return answering(schema, description="Answers 422 for a bad name.")


@pytest.mark.parametrize(
    ("answer", "notice"),
    [
        (reply(b'{"id":1}'), None),
        (reply(b'{"id":"1"}'), "the response differs from its documented schema at /id: must be integer"),
        (reply(b"[]"), "the response differs from its documented schema at /: must be object"),
        (reply(b"hello", "text/plain"), "the document promises application/json, not text/plain"),
        (reply(b"{}", status=418), "the document does not mention status 418"),
        (reply(b"{}", status=422), None),
        (reply(b'{"id":1}', status=201), None),
        (reply(b'{"id":', truncated=True), "only the first 6 bytes were read"),
    ],
)
def test_what_differs_from_the_document_is_only_noted(store: BaseStore, answer: Reply, notice: str | None) -> None:
    notices = ResponseStore(store).put(answer, documented()).notices
    assert any(item.startswith(notice) for item in notices) if notice else notices == ()


def test_a_value_of_several_pages_is_kept_like_a_body(store: BaseStore) -> None:
    kept = ResponseStore(store)
    stored = kept.put_value([{"a": 1}, {"a": 2}], elapsed_ms=30)
    assert kept.open(stored.handle).value == [{"a": 1}, {"a": 2}]
    assert (stored.kind, stored.sketch, stored.elapsed_ms) == ("json", "[2 × {a: int = 1 or 2}]", 30)


def test_a_body_is_parsed_once_however_often_it_is_opened_until_it_is_removed(store: BaseStore) -> None:
    kept = ResponseStore(store, cache=BodyCache())
    answer = reply(b'{"a": [1]}')
    handle = kept.put(answer).handle
    assert kept.open(handle).value is answer.content.value
    kept.remove(handle)
    for gone in (handle, "body-none"):
        with pytest.raises(UnknownHandleError):
            kept.open(gone)


def test_a_full_cache_forgets_the_body_that_was_used_longest_ago(store: BaseStore) -> None:
    kept = ResponseStore(store, cache=BodyCache(most=2 * Body(b"[11]", "application/json", "json").weight))
    first, second = kept.put(reply(b"[11]")), kept.put(reply(b"[22]"))
    value = kept.open(first.handle).value
    third = kept.put(reply(b"[33]"))
    assert kept.open(first.handle).value is value
    assert [kept.open(item.handle).value for item in (second, third)] == [[22], [33]]


@pytest.mark.parametrize(("size", "warned"), [(10, True), (MOST_VALIDATED, False)])
def test_a_body_too_long_to_judge_is_not_compared_with_its_schema(store: BaseStore, size: int, warned: bool) -> None:
    found = answering({"type": "object"})
    stored = ResponseStore(store).put(reply(json.dumps(["x" * size]).encode()), found)
    assert bool(stored.notices) == warned


def test_patterns_are_not_tried_on_answers(store: BaseStore) -> None:
    closed = {"type": "object", "patternProperties": {"^[a-z]$": {}}, "additionalProperties": False}
    schema = {"type": "array", "prefixItems": [{"type": "string", "pattern": "^[a-z]+$"}, closed, {"type": "integer"}]}
    [notice] = ResponseStore(store).put(reply(b'["UPPER", {"LONG": 1}, "text"]'), answering(schema)).notices
    told = 'must be integer, not the string "text"'
    assert notice == f"the response differs from its documented schema at /2: {told}"


def test_json_lines_are_an_array_for_a_program() -> None:
    body = Body(b'\x1e{"a": "x"}\r\n\n\x1e[1, NaN]\n', "application/json-seq", "json-lines")
    assert body.json() == b'[{"a": "x"}\r,[1, NaN]]'
