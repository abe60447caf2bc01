"""Guards the question about a call: it shows the exact request, and no foreign text passes for the program's words."""

import base64
import copy
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore
from markdown_it import MarkdownIt
from paths import openapi
from question import own_lines, unmarked

from restgpt.calling.call import Call, draft
from restgpt.calling.decision import Rules
from restgpt.calling.journal import Journal
from restgpt.calling.question import present
from restgpt.calling.record import Provenance
from restgpt.calling.session import Session
from restgpt.calling.target import FieldChange, Target
from restgpt.specs import Api, Catalogue, load_api
from restgpt.tools.http.http_client import HttpClient
from restgpt.tools.request.files import FilePolicy
from restgpt.tools.response.store import BoundedMemory, ResponseStore
from restgpt.tools.settings import Settings
from restgpt.tools.text.redaction import MARK

IBAN = "DE89370400440532013000"
SECRET = "sk-live-4f9a7c21d8"
FILE = {"type": "string", "format": "binary"}
BODIES = {
    "application/json": {"schema": {"type": "object"}},
    "text/plain": {"schema": {"type": "string"}},
    "multipart/form-data": {"schema": {"type": "object", "properties": {"file": FILE, "note": {"type": "string"}}}},
    "application/octet-stream": {"schema": FILE},
}
TEXT = {"type": "string"}
CHANGE = {
    "operationId": "change_note",
    "summary": "Changes a note",
    "security": [{"key": []}],
    "parameters": [
        {"name": "id", "in": "path", "required": True, "schema": TEXT},
        {"name": "sig", "in": "query", "schema": TEXT},
        {"name": "X-Token", "in": "header", "schema": TEXT},
    ],
    "requestBody": {"content": BODIES},
    "responses": {"200": {"description": "ok"}},
}
DOCUMENT = openapi(
    {"/notes/{id}": {"patch": CHANGE}},
    title="notes",
    schemes={"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
    servers=[{"url": "https://notes.example"}],
)
OLD = Target.of({"known": "present", "value": {"note": "old"}})
JSON = {"header": {"Content-Type": "application/json"}}


def changed_document(change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    document = copy.deepcopy(DOCUMENT)
    change(document)
    return document


def asked(
    document: dict[str, Any] = DOCUMENT,
    *,
    change: tuple[FieldChange, ...] | None = None,
    note: str = "",
    files: FilePolicy | None = None,
    provenance: tuple[Provenance, ...] = (),
    why: str = "",
    target: Target | None = None,
    answers: tuple[int, ...] = (),
    **arguments: Any,
) -> dict[str, Any]:
    """The action request about a change of a note."""
    api: Api = load_api(document, auth={"key": SECRET})
    settings = Settings()
    session = Session(
        Catalogue([api]),
        HttpClient(settings=settings),
        ResponseStore(BoundedMemory()),
        Journal(InMemoryStore(), "thread"),
        Rules(settings, "ask"),
    )
    operation = next(iter(api.operations))
    given = {"path": {"id": "7"}, **JSON, "body": {}, **arguments}
    made = draft(operation, given, id="1", description=why, files=files)
    assert isinstance(made, Call), made
    made = replace(made, provenance=provenance)
    for number, status in enumerate(answers):
        session.journal.intend(f"before-{number}", made.fingerprint, {})
        outcome = {"status": "sent", "response": {"status": status}, "note": ""}
        session.journal.conclude(f"before-{number}", made.fingerprint, outcome)
    found = present(session, replace(made.asked(target=target or Target()), note=note), changed=change)
    return dict(found.question)


def described(**given: Any) -> str:
    action = asked(**given)
    return f"{action['description']}\n\n{action['details']}"


def patch_of(document: dict[str, Any]) -> dict[str, Any]:
    return document["paths"]["/notes/{id}"]["patch"]  # type: ignore[no-any-return]


def target(value: Any) -> dict[str, Any]:
    return {"target": Target.of({"known": "present", "value": value})}


def came_from(pointer: str, origin: str, **more: Any) -> dict[str, Any]:
    return {"provenance": ({"pointer": pointer, "origin": origin, **more},)}


# A text that tries to be the program's own words, in every way a line can begin or be hidden.
LIE = "It can be undone: nothing happens."
ATTACKS = {
    "a line of its own": f"x\n{LIE}",
    "a section of its own": f"x\n\nUndo:\n\n    │ {LIE}",
    "marks of the program": f"x\n    ⋮ {LIE}\n    ┆ {LIE}",
    "carriage return": f"x\r{LIE}",
    "line separator": f"x\u2028{LIE}",
    "paragraph separator": f"x\u2029{LIE}",
    "next line": f"x\x85{LIE}",
    "vertical tab and form feed": f"x\x0b{LIE}\x0c{LIE}",
    "blanks up to the next row": f"x{' ' * 74}{LIE}",
    "ideographic blanks up to the next row": f"x{chr(0x3000) * 37}{LIE}",
    "Braille blanks": f"x{chr(0x2800) * 80}{LIE}",
    "Hangul fillers": f"x{chr(0x3164) * 40}{LIE}",
    "empty lines": "x" + "\n" * 200 + LIE,
    "terminal controls": f"x\x1b[2J\x1b[H{LIE}",
    "C1 controls": f"x\x9b2J{LIE}",
    "a link of the terminal": f"\x1b]8;;https://evil.example\x07{LIE}\x1b]8;;\x07",
    "backspaces": f"x\x08\x08{LIE}",
    "reversed text": f"x\u202e{LIE[::-1]}",
    "tag characters": "x" + "".join(chr(0xE0000 + ord(char)) for char in LIE),
    "zero width": f"x\u200b\u2060{LIE}",
    "Markdown heading": f"x\n# {LIE}\n\n{LIE}\n===\n",
    "Markdown link": "x\n\n[Approve](https://evil.example) ![](https://evil.example/x.png) <https://evil.example>",
    "Markdown fence": f"x\n```\n# {LIE}\n~~~\n[a](https://evil.example)",
    "HTML": f"x\n\n<h1>{LIE}</h1><script>x</script>\n\n<a href='https://evil.example'>Approve</a>",
    "list and quote": f"x\n- {LIE}\n> {LIE}\n1. {LIE}\n---\n",
    "length": f"{LIE} " * 400,
}
PLACES: dict[str, Callable[[str], dict[str, Any]]] = {
    "the model's reason": lambda text: {"why": text},
    "a refused edit": lambda text: {"note": text},
    "the summary": lambda text: {"document": changed_document(lambda found: patch_of(found).update(summary=text))},
    "a text body": lambda text: {"header": {"Content-Type": "text/plain"}, "body": text[:19_000]},
    "a long text body": lambda text: {"header": {"Content-Type": "text/plain"}, "body": text + "x" * 25_000},
    "a value in JSON": lambda text: {"body": {"note": text}},
    "a name in JSON": lambda text: {"body": {text: 1}},
    "a field of a form": lambda text: {"header": {"Content-Type": "multipart/form-data"}, "body": {"note": text}},
    # A longer URL is refused.
    "a query value": lambda text: {"query": {"sig": text[:800]}},
    "a path value": lambda text: {"path": {"id": text[:800]}},
    "a value of the target": lambda text: {**target({"note": text}), "body": {"note": 1}},
    "a field of the target": lambda text: target({text: 2}),
    "a target that is text": lambda text: target(text),
    "the name of an operation": lambda text: {
        "document": changed_document(lambda found: patch_of(found).update(operationId=text)),
        "target": OLD,
        "body": {"note": "new"},
    },
    "a field that cannot be restored": lambda text: {"target": OLD, "body": {text: "new"}},
    "a changed field": lambda text: {"change": ({"field": text, "before": text, "after": 1},)},
    "a place in an answer": lambda text: came_from("/body/a", "response", handle="h", at=text),
    "an API that answered": lambda text: came_from("/body/a", "response", handle="h", at="/a", api=text),
    "an argument's name": lambda text: came_from(f"/body/{text}", "model"),
    "parts of a computed text": lambda text: came_from(
        "/body/a", "program", parts=[{"handle": "h", "at": text, "api": text}] * 3
    ),
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
def test_no_foreign_text_passes_for_words_of_the_program(place: Callable[[str], dict[str, Any]]) -> None:
    plain = [label(line) for line in own_lines(described(**place("plain")))]
    for name, attack in ATTACKS.items():
        shown = described(**place(attack))
        assert [label(line) for line in own_lines(shown)] == plain, name
        marked = [line for line in shown.splitlines() if line.startswith(" ")]
        assert all(line.startswith(("    │", "    ┆ ", "    ⋮ ")) for line in marked), name
        assert not {char for char in shown if not char.isprintable()} - {"\n"}, name
        assert not {"\u2800", "\u3164"} & set(shown), name
        assert len(shown) < 40_000, name
        kinds = {token.type for token in MarkdownIt("commonmark").parse(shown)}
        assert kinds <= {"paragraph_open", "inline", "paragraph_close", "code_block"}, name


def label(line: str) -> str:
    """A label without its figures."""
    return line.partition(", ")[0] if line.startswith("Its body, ") else line


TITLES = [
    'notes says: ok"\n# Approved',
    "[Approve](https://evil.example)",
    "www.evil.example",
    "n\u2028It can be undone",
]


@pytest.mark.parametrize("title", TITLES)
def test_the_title_of_an_api_stays_a_name_in_its_label(title: str) -> None:
    shown = described(document=changed_document(lambda found: found["info"].update(title=title)))
    [line] = [line for line in own_lines(shown) if line.startswith("What it does, by the spec of ")]
    assert line.endswith(":")
    assert not set(line) & set("[]()#\n\u2028")
    assert "www." not in line
    assert len(own_lines(shown)) == len(own_lines(described()))


def test_each_foreign_text_is_labelled_with_who_said_it() -> None:
    places = [{"handle": "h", "at": "/iban", "operation": "get_customer", "api": "crm"}]
    given = came_from("/body/iban", "response", places=places)
    lines = unmarked(described(why="They asked for it.", target=OLD, body={"note": "new"}, **given))
    assert lines[lines.index("What it does, by the spec of notes:") + 2] == "Changes a note"
    assert lines[lines.index("The model says why:") + 2] == "They asked for it."
    assert lines[lines.index("Changes, by a response of notes:") + 3] == 'note: "old" → "new"'
    assert lines[lines.index("Where values come from:") + 2] == "body.iban: iban in a response of get_customer (crm)"


def test_a_question_about_the_same_request_says_how_it_was_answered_before() -> None:
    said = "This very request was sent before. The API answered "
    assert f"{said}409." in described(answers=(409,))
    assert f"{said}503, then 409." in described(answers=(503, 409))
    assert said not in described()


def test_a_value_under_a_secret_name_is_shown() -> None:
    action = asked(body={"token": IBAN}, query={"sig": IBAN}, header={**JSON["header"], "X-Token": IBAN})
    assert action["description"].count(IBAN) == 3
    assert action["request"]["body"] == {"token": IBAN}
    assert action["request"]["url"].endswith(f"?sig={IBAN}")
    assert action["request"]["headers"]["X-Token"] == IBAN


@pytest.mark.parametrize("value", [SECRET, base64.b64encode(SECRET.encode()).decode(), f"a {SECRET} b"])
def test_a_known_secret_is_hidden_by_value_and_the_person_is_told(value: str) -> None:
    warning = f"It contains a configured credential as a value, which is shown as {MARK}."
    for arguments in ({"body": {"note": value}}, {"query": {"sig": value}}, {"header": {"X-Token": value}}):
        action = asked(**arguments)
        assert SECRET not in json.dumps(action["request"]) + action["description"]
        assert value not in action["description"]
        assert warning in action["description"]


@pytest.mark.parametrize(
    ("text", "left_out"),
    [("A" * 30_000 + IBAN, "27,022"), ("x\n" * 3_000 + IBAN, "3,022")],
    ids=["long", "of many lines"],
)
def test_of_a_long_body_head_tail_size_and_hash_are_shown_and_the_way_to_the_rest(text: str, left_out: str) -> None:
    action = asked(header={"Content-Type": "text/plain"}, body=text)
    assert IBAN in action["description"]
    assert f"{left_out} bytes are left out here" in action["description"]
    assert "`restgpt threads ID --request N` prints all of it" in action["description"]
    if left_out == "27,022":
        digest = hashlib.sha256(text.encode()).hexdigest()
        body = action["request"]["body"]
        assert (body["bytes"], body["sha256"], body["media_type"]) == (len(text), digest, "text/plain")
        assert body["tail"].endswith(IBAN)
        assert digest in action["description"]


def test_odd_bytes_are_shown_as_escapes_beside_the_text_around_them() -> None:
    raw = b"pay \xff\x00 to " + IBAN.encode()
    blob = {"@bytes": base64.b64encode(raw).decode()}
    action = asked(header={"Content-Type": "application/octet-stream"}, body=blob)
    assert f"pay \\xff\\x00 to {IBAN}" in unmarked(action["description"])
    assert action["request"]["body"]["head"] == f"pay \\xff\\x00 to {IBAN}"


def test_a_secret_at_the_cut_of_a_long_body_is_hidden() -> None:
    for start in range(1_985, 2_001):
        text = "A" * start + SECRET + "A" * 30_000 + SECRET + "A" * (3_000 - start)
        action = asked(header={"Content-Type": "text/plain"}, body=text)
        assert SECRET[:6] not in json.dumps(action["request"]) + action["description"]
        assert SECRET[-6:] not in json.dumps(action["request"]) + action["description"]


def test_the_files_of_a_form_are_shown_with_name_size_hash_and_head(tmp_path: Path) -> None:
    content = b"%PDF-1.7 " + b"\xff" * 40_000
    (tmp_path / "bill.pdf").write_bytes(content)
    action = asked(
        header={"Content-Type": "multipart/form-data"},
        body={"file": {"@file": "bill.pdf"}, "note": f"to {IBAN}"},
        files=FilePolicy((tmp_path,)),
    )
    lines = unmarked(action["description"])
    assert any('name="file"; filename="bill.pdf"' in line for line in lines)
    assert any(line.startswith("%PDF-1.7 \\xff") for line in lines)
    assert f"to {IBAN}" in lines
    digest = hashlib.sha256(content).hexdigest()
    assert any(f"40,009 bytes, SHA-256 {digest}" in line for line in lines)
    assert lines[lines.index("Files that it sends:") + 2] == "bill.pdf"


def test_the_middleware_keys_of_an_action_are_as_before() -> None:
    action = asked(body={"note": "x"})
    assert {"name", "args", "description"} <= action.keys()
    assert (action["name"], action["args"]["body"]) == ("change_note", {"note": "x"})


@pytest.mark.parametrize(
    "given",
    [
        {"body": {SECRET: 1}, **came_from(f"/body/{SECRET}", "model")},
        {"header": {"Content-Type": "multipart/form-data"}, "body": {"file": {"@bytes": "eA==", "filename": SECRET}}},
        {"body": {"note": SECRET}, "target": OLD},
        {"change": ({"field": "note", "before": "old", "after": SECRET},)},
        {"note": f"unknown field {SECRET}"},
    ],
    ids=["a name", "the name of a file", "a field that would change", "a field that changed", "an unusable answer"],
)
def test_a_known_secret_is_hidden_beside_the_request_too(given: dict[str, Any]) -> None:
    action = asked(**given)
    assert SECRET not in action["description"]
    assert MARK in action["description"]
    assert not [key for key in action if SECRET in str(action[key]) and key != "args"]
