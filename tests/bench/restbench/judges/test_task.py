"""Gold calls: how arguments are found in earlier results, and when a path follows another."""

from typing import Any

import pytest

from restgpt_bench.restbench.judges.answer import Verdict
from restgpt_bench.restbench.judges.task import BrokenTaskError, Step, Task, follows, select
from restgpt_bench.restbench.judges.tasks import open_tasks
from restgpt_bench.worlds import open_world

CREDITS = {
    "crew": [
        {"id": 1, "job": "Writer", "day": "2001-01-01", "tags": ["x"]},
        {"id": 2, "job": "Director", "day": "2003-01-01", "tags": ["y", "z"]},
        {"id": 3, "job": "Director", "day": "2002-01-01", "tags": []},
        {"id": 4, "job": "Director", "day": "", "tags": []},
    ]
}


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("$1.crew[0].id", [1]),
        ("$1.crew[-1].id", [4]),
        ("$1.crew.id", [1, 2, 3, 4]),
        ("$1.crew[job=Director].id", [2, 3, 4]),
        ("$1.crew[job=Director].max(day).id", [2]),
        ("$1.crew[job=Director].min(day).id", [3]),
        ("$1.crew.tags", ["x", "y", "z"]),
        ("$1.crew[*].id", [1, 2, 3, 4]),
        ("$1.crew+crew[0:5].id", [1, 2, 3, 4, 1]),
        ("$1.crew[:2][*].id", [1, 2]),
        ("$1.crew[job=Director][1:].id", [3, 4]),
    ],
)
def test_a_reference_finds_values_in_earlier_results(reference: str, expected: list[Any]) -> None:
    assert select(reference, [CREDITS]) == expected


def test_a_reference_that_finds_nothing_breaks_the_task() -> None:
    with pytest.raises(BrokenTaskError, match="finds nothing"):
        select("$1.crew[job=Baker].id", [CREDITS])


def test_references_are_looked_up_wherever_they_stand() -> None:
    step = Step(
        "PUT /a/{b}", {"b": "$1.crew[1].id"}, {"q": "plain"}, {"ids": ["$1.crew.id"], "one": ["$1.crew[0].id", 9]}
    )
    assert step.planned([CREDITS]).arguments == {
        "path": {"b": 2},
        "query": {"q": "plain"},
        "body": {"ids": [1, 2, 3, 4], "one": [1, 9]},
    }


@pytest.mark.parametrize(
    ("called", "path", "expected"),
    [
        (["GET /a", "GET /x", "GET /b/{id}"], ["GET /a", "GET /b/{other}"], True),
        (["GET /b/{id}", "GET /a"], ["GET /a", "GET /b/{id}"], False),
        (["GET /a"], ["GET /a", "GET /a"], False),
        (["GET /a"], [" GET /a "], True),
        ([], [], True),
    ],
)
def test_a_path_is_followed_in_order_whatever_else_is_called(
    called: list[str], path: list[str], expected: bool
) -> None:
    assert follows(called, path) == expected


def test_a_refused_gold_call_breaks_the_task() -> None:
    task = Task(
        key="x",
        instruction="?",
        steps=(Step("GET /tasks/{task_id}", {"task_id": 9_999}),),
        check=lambda world, log, answer: Verdict(True, ""),
        right=lambda world: "",
        wrong=lambda world: "",
    )
    with pytest.raises(BrokenTaskError, match="got 404"):
        task.replay(open_world("toy"))


def test_a_replay_tells_calls_results_and_answer() -> None:
    task = next(task for task in open_tasks("toy", own=True) if task.key == "add")
    world = open_world("toy")
    replay = task.replay(world)
    assert [call.operation for call in replay.calls] == ["GET /projects", "POST /projects/{project_id}/tasks"]
    assert replay.results[1]["title"] == "Buy bulbs"
    assert world.log.operations() == list(task.gold)
