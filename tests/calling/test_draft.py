"""Guards that what is judged of a draft is what is sent: no value slips past a rule by its form or its name."""

import json
from typing import Any

import pytest

from restgpt.calling.call import Call, OutdatedCallError, Problems, draft, edited, read_call
from restgpt.calling.decision import Rules, decide
from restgpt.calling.idempotency import identity_of
from restgpt.specs import Catalogue, load_api
from restgpt.tools.settings import ApiEntry, PolicyRule, Settings
from restgpt.tools.text.storable import storable_value

OPEN = {"content": {"application/json": {"schema": {"type": "object"}}}}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Bank", "version": "1"},
    "servers": [{"url": "https://bank.example"}],
    "paths": {"/pay": {"post": {"operationId": "pay", "requestBody": OPEN, "responses": {}}}},
}
PAY = load_api(DOCUMENT, name="bank", entry="bank").operation("pay")


def drafted(body: Any, said: str = "pay") -> Call | Problems:
    return draft(PAY, {"body": body}, id="1", said=said)


def rules(pattern: str) -> Rules:
    rule = PolicyRule(None, from_user=(pattern,))
    return Rules(Settings(apis={"bank": ApiEntry(name="bank", spec="bank.json", policy=(rule,))}), "allow")


DEEP = '{"a":' * 150 + '{"recipient": "evil"}' + "}" * 150


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('{"\\u0000recipient": "evil", "\\ufffdrecipient": "pay"}', "where they come from"),
        (json.loads(DEEP), "/body: is nested more than 60 levels deep"),
        (DEEP, "/body: must be object, not the string"),
        ('{"\\ud800": 1}', "half of a surrogate pair"),
        ('{"name": ["\\udfff"]}', "half of a surrogate pair"),
    ],
    ids=["what keeping would take out", "too deep", "a text that is too deep", "half a name", "half a value"],
)
def test_a_body_that_cannot_be_kept_or_sent_is_not_drafted_from_a_model(body: Any, problem: str) -> None:
    assert problem in str(drafted(body))


@pytest.mark.parametrize("body", [{"to": "[redacted]"}, {"a": [{"x-token": "Bearer [redacted]"}]}, {"[redacted]": 1}])
def test_what_stands_for_a_secret_is_never_part_of_a_request(body: Any) -> None:
    assert "stands for a secret" in str(drafted(body))
    assert "stands for a secret" in str(draft(PAY, {"body": body}, id="1", is_own=True))


def test_where_a_value_stands_is_kept_as_stores_take_it() -> None:
    made = draft(PAY, {"body": {"to": "abc-1"}}, id="1", said="pay", found=[("body-1", {"\ud800\0": {"to": "abc-1"}})])
    assert isinstance(made, Call)
    assert made.provenance[0]["places"] == [{"handle": "body-1", "at": "/\ufffd\ufffd/to"}]


@pytest.mark.parametrize("note", ['They said "hi"', "two\nlines", "back\\slash", "a\tb"])
def test_what_a_person_wrote_in_an_edit_is_theirs_in_any_spelling(note: str) -> None:
    before = drafted({"note": "evil"})
    assert isinstance(before, Call)
    for body in ({"note": note}, json.dumps({"note": note})):
        answer = {"type": "edit", "edited_action": {"name": "pay", "args": {"body": body}}}
        assert decide(before.asked(), rules("body.*"), answer).stage == "approved"
    many = edited(before, {"body": {str(number): f"word{number}" for number in range(200)}})
    assert isinstance(many, Call)
    assert decide(many, rules("body.*")).stage == "approved"


EXACT = {"text": "a\x0cb\0\x1bc\ufffd", "number": 2**70, "list": [-(2**63) - 1, 1.5]}


def test_a_value_that_no_store_keeps_as_it_is_is_sent_exactly() -> None:
    made = drafted(EXACT)
    assert isinstance(made, Call)
    record = made.to_json()
    assert storable_value(record) == record
    kept = read_call(json.loads(json.dumps(record)), Catalogue([PAY.api]))
    assert kept.request == made.request
    assert json.loads(kept.request.body or b"") == EXACT
    assert json.loads(edited(kept, {"body": EXACT}).request.body or b"") == EXACT  # type: ignore[union-attr]


def test_arguments_that_an_edit_broke_are_told() -> None:
    made = drafted(EXACT)
    assert isinstance(made, Call)
    with pytest.raises(OutdatedCallError, match="cannot be read"):
        read_call({**made.to_json(), "exact": "{"}, Catalogue([PAY.api]))


def test_named_arguments_are_put_in_their_places_in_a_draft_and_in_an_edit() -> None:
    key = {"in": "header", "name": "Idempotency-Key", "schema": {"type": "string"}}
    dry = {"in": "query", "name": "dry", "schema": {"type": "boolean"}}
    body = {"content": {"application/json": {"schema": {"type": "object", "properties": {"to": {"type": "string"}}}}}}
    pay = {"operationId": "pay", "parameters": [dry, key], "requestBody": body, "responses": {}}
    operation = load_api({**DOCUMENT, "paths": {"/pay": {"post": pay}}}).operation("pay")
    named = {"dry": True, "to": "a", "Idempotency-Key": "k1"}
    placed = {"query": {"dry": True}, "header": {"Idempotency-Key": "k1"}, "body": {"to": "a"}}

    first, again = (draft(operation, given, id="1", is_own=True) for given in (named, placed))
    assert isinstance(first, Call)
    assert isinstance(again, Call)
    assert first.request == again.request
    assert first.arguments == placed
    assert identity_of(operation, named) == identity_of(operation, placed)
    changed = edited(first, {**named, "to": "b", "Idempotency-Key": "k2"})
    assert isinstance(changed, Call)
    assert changed.arguments == {**placed, "header": {"Idempotency-Key": "k2"}, "body": {"to": "b"}}


def test_named_arguments_that_have_no_place_are_told() -> None:
    made = drafted({"to": "a"})
    assert isinstance(made, Call)
    for problems in (draft(PAY, {"amount": 3}, id="1"), edited(made, {"amount": 3})):
        assert "pay has no argument 'amount'" in str(problems)
