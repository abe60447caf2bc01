"""Guards the undo of changes that name the version of their target: it sends what a read gives right before it."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from loopback import Handler, Server
from paths import api_of

from restgpt.calling.record import UNDO, undo_report
from restgpt.client import Client
from restgpt.outcome import Called, Pending, Undone

NOTE = {"type": "object", "properties": {name: {} for name in ("name", "rev", "version", "meta")}}
ANSWER = {"200": {"description": "ok"}}


class Notes:
    """A server of one note, which refuses a change that does not name its version by `named`."""

    def __init__(self, named: Callable[[Any, Any], Any], **note: Any) -> None:
        self.note: dict[str, Any] = {"name": "old", "version": 1, **note}
        self.named, self.is_up, self.is_gone, self.has_etag = named, True, False, True
        self.sent: list[str] = []

    @property
    def etag(self) -> str:
        return f'"e{self.note["version"]}"' if self.has_etag else ""

    def answer(self, handler: Any, body: Any) -> tuple[int, dict[str, str], Any]:
        if handler.command in ("GET", "POST"):
            return (200, {"ETag": self.etag}, self.note | {"id": 9}) if self.is_up else (403, {}, {})
        self.sent.append(handler.command)
        if not self.named(handler, body):
            return 409, {}, {"error": {"message": "the note was changed."}}
        self.is_gone = handler.command == "DELETE"
        version = self.note["version"] + 1
        meta = {"meta": {**body["meta"], "rev": f"r{version}"}} if "meta" in (body or {}) else {}
        self.note = {**self.note, **(body or {}), "version": version, **meta}
        return 200, {"ETag": self.etag}, self.note


@contextmanager
def serving(notes: Notes, **parameters: Any) -> Iterator[Any]:
    class Served(Handler):
        def do_GET(self) -> None:
            status, headers, value = notes.answer(self, json.loads(self.body() or b"null"))
            self.answer(value, status, **headers)

        do_PUT = do_POST = do_DELETE = do_GET

    number = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
    content = {"required": True, "content": {"application/json": {"schema": NOTE}}}
    more = {key: [number, *items] for key, items in parameters.items() if key != "reader"}
    one = {
        "get": {"operationId": "get", "parameters": [number], "responses": ANSWER},
        "put": {"operationId": "put", "parameters": more.get("put", [number]), "requestBody": content},
        "delete": {"operationId": "drop", "parameters": more.get("delete", [number])},
    }
    if not parameters.get("reader", True):
        del one["get"]
    made = {"post": {"operationId": "make", "requestBody": content}}
    with Server(Served) as server:
        yield Client([api_of({"/notes": made, "/notes/{id}": one}, base_url=server.url)])


def approved(client: Client, outcome: Any) -> Any:
    while isinstance(outcome, Pending):
        outcome = client.decide(outcome, "approve")
    return outcome


def put(client: Client, body: Any, **more: Any) -> Called:
    done = approved(client, client.call("put", {"path": {"id": 9}, "body": body, **more}))
    assert (done.status_code, done.record.get("can_undo")) == (200, True)
    return done  # type: ignore[no-any-return]


IF_MATCH = {"name": "If-Match", "in": "header", "schema": {"type": "string"}}
VERSION = {"name": "version", "in": "query", "required": True, "schema": {"type": "integer"}}


def by_header(notes: Notes) -> Any:
    return lambda handler, body: handler.headers.get("If-Match") == notes.etag


def test_if_match_is_that_of_the_read_before_the_question() -> None:
    notes = Notes(lambda *_: True)
    notes.named = by_header(notes)
    with serving(notes, put=[IF_MATCH]) as client:
        done = put(client, {"name": "new"}, header={"If-Match": '"e1"'})
        asked = client.undo(done.thread)
        assert isinstance(asked, Pending)
        assert asked.actions[0]["args"]["header"] == {"If-Match": '"e2"'}
        assert client.undo(done.thread) == asked
        assert [call.status_code for call in approved(client, asked).calls] == [200]
    assert notes.note["name"] == "old"


@pytest.mark.parametrize("place", ["top", "nested"])
def test_a_version_in_the_body_is_that_of_the_read(place: str) -> None:
    def version(note: Any) -> Any:
        return note["version"] if place == "top" else note["meta"]["rev"]

    notes = Notes(lambda _, body: version(body) == version(notes.note), meta={"rev": "r1", "by": "ada"})
    fields = {"version": 1} if place == "top" else {"meta": {"rev": "r1", "by": "bob"}}
    with serving(notes) as client:
        done = put(client, {"name": "new", **fields})
        assert isinstance(approved(client, client.undo(done.thread)), Undone)
    assert notes.note["name"] == "old"
    assert place == "top" or notes.note["meta"] == {"rev": "r3", "by": "ada"}


LOCKS = pytest.mark.parametrize(
    "lock", [IF_MATCH, {**IF_MATCH, "required": True}, VERSION], ids=["wanted", "required", "query"]
)


@LOCKS
def test_the_deletion_of_what_a_post_made_names_its_version(lock: Any) -> None:
    notes = Notes(lambda handler, _: by_header(notes)(handler, _) or f"version={notes.note['version']}" in handler.path)
    with serving(notes, delete=[lock]) as client:
        asked = client.call("make", {"body": {"name": "new"}})
        assert "DELETE /notes/{id} deletes what it makes" in asked.actions[0]["undo"]
        done = approved(client, asked)
        notes.note["version"] = 5
        approved(client, client.undo(done.thread))
    assert notes.is_gone


@LOCKS
def test_without_a_read_of_the_version_no_undo_is_promised(lock: Any) -> None:
    with serving(Notes(lambda *_: True), delete=[lock], reader=False) as client:
        undo = client.call("make", {"body": {"name": "new"}}).actions[0]["undo"]
    assert undo.startswith("not possible: no operation reads what")


def test_an_if_match_that_no_answer_gives_promises_no_undo() -> None:
    notes = Notes(lambda *_: True)
    notes.has_etag = False
    with serving(notes, put=[IF_MATCH]) as client:
        asked = client.call("put", {"path": {"id": 9}, "body": {"name": "n"}, "header": {"If-Match": "x"}})
    assert asked.actions[0]["undo"] == "not possible: what If-Match has to be then cannot be read"


def test_a_version_that_the_change_set_is_data() -> None:
    notes = Notes(lambda *_: True, meta={"version": "1.0"})
    with serving(notes) as client:
        done = put(client, {"meta": {"version": "2.0"}})
        approved(client, client.undo(done.thread))
    assert notes.note["meta"]["version"] == "1.0"


def test_a_target_that_changes_after_the_question_is_asked_about_with_its_new_version() -> None:
    notes = Notes(lambda *_: True)
    notes.named = by_header(notes)
    with serving(notes, put=[IF_MATCH]) as client:
        done = put(client, {"name": "new"}, header={"If-Match": '"e1"'})
        asked = client.undo(done.thread)
        notes.note["version"] = 7
        again = client.decide(asked, "approve")
        assert again.actions[0]["args"]["header"] == {"If-Match": '"e7"'}
        assert notes.sent == ["PUT"]
        approved(client, again)
    assert notes.note["name"] == "old"


def test_two_changes_of_one_target_are_undone_each_with_its_version() -> None:
    notes = Notes(lambda handler, body: body["version"] == notes.note["version"])
    with serving(notes) as client:
        code = 'put(id=9, body={"name": "a", "version": 1})\nput(id=9, body={"name": "b", "version": 2})\nprint(1)'
        ran = approved(client, client.run(code))
        undone = approved(client, client.undo(ran.thread))
    assert (notes.note["name"], len(undone.calls)) == ("old", 2)


def test_an_undo_whose_version_cannot_be_read_is_not_sent() -> None:
    notes = Notes(lambda *_: True)
    with serving(notes) as client:
        done = put(client, {"name": "new", "version": 1})
        notes.is_up = False
        [call] = client.undo(done.thread).calls
    assert (call.state, notes.sent) == ("failed", ["PUT"])
    assert "could not be read" in undo_report([call.record])


def test_a_refused_undo_is_told_with_the_reason_of_the_api() -> None:
    notes = Notes(lambda *_: True)
    with serving(notes) as client:
        done = put(client, {"name": "new"})
        notes.named = lambda *_: False
        [call] = approved(client, client.undo(done.thread)).calls
    assert "the API answered with status 409: the note was changed." in undo_report([call.record])


def test_only_an_undo_says_that_what_it_reverses_is_gone() -> None:
    record: Any = {"id": "a.0", "description": "", "status": "sent", "response": {"status": 404}}
    assert undo_report([record]).strip() == "Not done: the API answered with status 404."
    assert "what it reverses is gone" in undo_report([{**record, "id": f"a.0{UNDO}0"}])
