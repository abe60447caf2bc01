"""Guards the habits of weak models: their number, what the agent makes of them, and the judge of their runs."""

from dataclasses import replace

import pytest

from lab.habits.__main__ import HABITS, KNOWN, MOST_MORE, main, measure, summary
from lab.habits.habit import ADD, HOURS, TOTAL, Habit, program


def test_there_are_enough_habits_each_with_a_name_of_its_own() -> None:
    names = [habit.name for habit in HABITS]
    assert len(set(names)) == len(names) >= 40
    assert KNOWN.keys() <= set(names)


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ('update_task(task_id=103, body={"hours": 5})\nprint("5")', 0),
        ('update_task(task_id=104, body={"hours": 5})\nprint("5")', 1),
        ('update_task(task_id=103, body={"hours": 5})\nupdate_task(task_id=104, body={"done": True})\nprint("5")', 1),
    ],
)
def test_the_judge_sees_a_wrong_change(code: str, wrong: int) -> None:
    task = replace(HOURS, instruction="Set the hours of task 103 to 5, not those of task 104")
    found = measure(Habit("judged", task, program(code)))
    assert (found.wrong, found.done, found.more) == (wrong, not wrong, 0)


def test_the_judge_sees_a_creation_made_twice() -> None:
    made = 'create_task(project_id=p["id"], body={"title": "Buy soil"})\n'
    code = f'p = one(rows(list_projects()), name="Seed library")\n{made}{made}print("Buy soil")'
    found = measure(Habit("judged", ADD, program(code)))
    assert (found.wrong, found.done, found.recovered) == (1, False, False)


def test_the_report_tells_every_outcome(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "an invented function", "prose around JSON"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for habit in ("prose around JSON", "an invented function"):
        assert any(line.startswith(f"| {habit} | yes | 1 | 0 |") for line in lines)
    assert {"habits: 2", "recovered: 2", "wrong changes: 0"} <= set(lines)


@pytest.mark.slow
def test_every_habit_is_recovered_from_or_known_and_none_makes_a_wrong_change() -> None:
    outcomes = [measure(habit) for habit in HABITS]
    found = summary(outcomes)
    assert found["wrong changes"] == 0
    assert set(found["not recovered"]) <= KNOWN.keys()
    assert found["claims"] == []
    assert found["repeated for ever"]["done"] >= 40
    assert max(item.more for item in outcomes if item.recovered) <= MOST_MORE
    told, known = ("could not", "wrote the same program again"), [item for item in outcomes if item.habit in KNOWN]
    assert [item.habit for item in known if not any(text in item.answer for text in told)] == []


@pytest.mark.parametrize(("field", "end"), [("nothing", "told"), ("total", "done")])
def test_a_model_that_repeats_its_first_reply_is_judged_too(field: str, end: str) -> None:
    found = measure(Habit("judged", TOTAL, program(f"print(find_tasks()['{field}'])")))
    assert (found.steady, found.steady_wrong) == (end, 0)
