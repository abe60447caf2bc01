"""Guards the comparison of two looks at a target: no difference is overlooked, and no look is asked for for ever."""

import json
from dataclasses import replace
from typing import Any

import pytest
from paths import operation_of

from restgpt.calling.target import COMPARED, KEPT, Target, shown_target


def seen(value: Any) -> Target:
    """A target as a look found it, out of a checkpoint."""
    return Target.from_json(json.loads(json.dumps(found(value).to_json())))


def found(value: Any) -> Target:
    return Target.of({"known": "present", "value": value}, reader="reader")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"done": 1}, {"done": True}),
        ({"done": [0]}, {"done": [False]}),
        ({"owner": None}, {}),
        ({"name": "a\0"}, {"name": "a\x01"}),
        ({"name": "\ud800"}, {"name": "\ufffd"}),
        ({"size": 2**70}, {"size": str(2**70)}),
    ],
)
def test_states_that_only_look_alike_differ(before: Any, after: Any) -> None:
    assert seen(before).changed(found(after))
    assert not seen(before).changed(found(before))


def test_a_state_that_is_too_large_to_tell_its_fields_may_be_restless_as_a_whole() -> None:
    first, second, third = (found({"at": number, "text": "x" * KEPT}) for number in range(3))
    [change] = first.changed(second)
    again = replace(second, restless=frozenset({change["field"]}))
    assert again.changed(third) == []
    assert again.changed(Target.of({"known": "absent", "value": None}, reader="reader"))


def test_a_field_in_an_envelope_is_written_by_its_own_name() -> None:
    restless = replace(seen({"data": {"title": "one"}}), restless=frozenset({"data"}))
    assert restless.changed(found({"data": {"title": "two"}}), written=frozenset({"title"}))
    assert not restless.changed(found({"data": {"title": "two"}}), written=frozenset({"notes"}))


def test_a_long_state_is_restored_but_not_kept_in_the_checkpoint() -> None:
    target = found({"at": 1, "text": "x" * COMPARED})
    assert target.earlier["known"] == "present"
    kept = Target.from_json(json.loads(json.dumps(target.to_json())))
    assert (kept.value, kept.earlier["known"]) == (None, "unread")
    assert kept.differences(target) == []
    assert kept.differences(found({"at": 2, "text": "x" * COMPARED})) != []


BODY = {"name": "new", "pin": "4711"}


@pytest.mark.parametrize(
    ("present", "changes"),
    [
        ({"name": "old", "id": 7}, [{"field": "name", "before": "old", "after": "new"}]),
        ({"data": {"name": "old", "id": 7}}, [{"field": "name", "before": "old", "after": "new"}]),
        ({"meta": {"at": 1}, "item": {"name": "old"}}, [{"field": "name", "before": "old", "after": "new"}]),
        ({"name": None}, [{"field": "name", "before": None, "after": "new"}]),
        ({"name": "new"}, []),
        ({"other": 1}, []),
        ([{"name": "old"}], []),
    ],
)
def test_only_values_that_an_answer_tells_are_shown_as_those_before(present: Any, changes: list[Any]) -> None:
    api = operation_of({}, "PATCH", base_url="http://127.0.0.1:1")
    shown = shown_target(api, {"body": BODY}, found(present))
    assert shown is not None
    assert shown["changes"] == changes
