"""Guards the measurement of mutations: what is mutated, how harm is judged, and what the guards of a recipe stop."""

import pytest

from lab.recipes.answers import Mutation, fields, holders
from lab.recipes.mutations import Ended, Verdict, measure, open_stage, table
from lab.recipes.written import programs, written_of

RIGHT = Ended(True, "Done.", ("PATCH /tasks/1",), "state")
STOPPED = Ended(False, "GET /tasks, field /items/*/id: expected an integer.", (), "state")
MUTATION = Mutation("field renamed", "hand-over", "GET /tasks", "/items/*/id", lambda reply: reply)


@pytest.mark.slow
def test_what_does_harm_is_stopped_or_asked_about_and_never_unnoticed() -> None:
    with open_stage() as stage:
        verdicts = measure(stage, [written_of("hand-over"), written_of("finish-task")], count=2)
    outcomes = {verdict.outcome for verdict in verdicts}
    assert {"stopped", "right"} <= outcomes <= {"stopped", "right", "asked", "needless"}
    kinds = {verdict.mutation.kind: verdict.outcome for verdict in verdicts}
    assert (kinds["nothing found"], kinds["other headers"], kinds["new field"]) == ("stopped", "right", "right")


def test_the_written_programs_are_many_and_a_third_of_them_change_something() -> None:
    assert len(programs()) >= 30
    assert 3 * sum(item.changes > 0 for item in programs()) >= len(programs())
    assert len({item.name for item in programs()}) == len(programs())


def test_a_verdict_tells_what_was_stopped_asked_about_unnoticed_and_stopped_without_need() -> None:
    reported = Ended(True, "Else.", (), "state")
    cases = [(True, STOPPED), (True, RIGHT), (True, reported), (False, RIGHT), (False, STOPPED)]
    verdicts = [Verdict(MUTATION, is_harmful, RIGHT, guarded) for is_harmful, guarded in cases]
    assert [verdict.outcome for verdict in verdicts] == ["stopped", "asked", "unnoticed", "right", "needless"]
    assert table(verdicts).splitlines()[1].split() == ["field", "renamed", "1", "1", "1", "1", "1"]


def test_patterns_name_each_field_and_find_all_its_objects() -> None:
    body = {"items": [{"id": 1, "tags": []}, {"id": 2}], "total": 2}
    assert {pattern for pattern, _ in fields(body)} == {"/items", "/items/*/id", "/items/*/tags", "/total"}
    assert [(holder["id"], name) for holder, name in holders(body, "/items/*/id")] == [(1, "id"), (2, "id")]
