"""The tasks of the toy world: enough to see a whole run work, reads and writes, in seconds."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from restgpt_bench.restbench.judges.answer import Expectation, Names, Number, Verdict
from restgpt_bench.restbench.judges.task import Step, Task
from restgpt_bench.worlds.log import LogEntry
from restgpt_bench.worlds.toy.board import Board, Toy
from restgpt_bench.worlds.world import World


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges the answer by `says` and the board by `becomes`; None: no answer is needed, nothing may change."""

    says: Callable[[Board], Expectation] | None = None
    becomes: Callable[[Board], None] | None = None

    def check(self, world: World[Any], log: Sequence[LogEntry], answer: str) -> Verdict:
        """Pass a true answer after a fulfilled call, if the board has the wanted changes and no others."""
        if not any(entry.ok for entry in log):
            return Verdict(False, "nothing was asked")
        start = Toy(seed=world.seed)
        start.state.exchanged = world.exchanged
        heard = Verdict(True, "nothing to say") if self.says is None else self.says(start.state).judge(answer)
        if self.becomes is not None:
            self.becomes(start.state)
        if world.dump() != start.dump():
            return Verdict(False, "the board is not as it should be")
        return heard

    def answer(self, right: bool, world: World[Any]) -> str:
        """A true or false answer; a task that only writes has none."""
        if self.says is None:
            return "Done."
        expected = self.says(replace(deepcopy(world.state), exchanged=world.exchanged))
        return expected.right() if right else expected.wrong()


@dataclass(frozen=True, slots=True)
class ToyTask(Task):
    """A task whose end state can be spoilt."""

    def spoil(self, world: World[Any]) -> None:
        """Change a task that no instruction names."""
        world.call("PATCH /tasks/{task_id}", path={"task_id": 101}, body={"notes": "Changed by mistake."})


def _project(board: Board, name: str) -> int:
    said = board.said("project", name)
    return next(number for number, project in board.projects.items() if project["name"] == said)


def _hours(board: Board) -> Expectation:
    return Number(board.tasks[board.said("task_id", 117)]["hours"])


def _owner(board: Board) -> Expectation:
    return Names((board.projects[_project(board, "Seed library")]["owner"],))


def _open_tasks(board: Board) -> Expectation:
    return Number(sum(not task["done"] for task in board.tasks.values()))


def _add(board: Board) -> None:
    title = board.said("title", "Buy bulbs")
    task = {"id": board.next_id, "project_id": _project(board, "Harbour lights"), "title": title}
    board.tasks[board.next_id] = {**task, "done": False, "assignee": None, "hours": 0, "notes": ""}


def _delete(board: Board) -> None:
    del board.tasks[board.said("task_id", 103)]


def published() -> tuple[Task, ...]:
    """Nothing is published about this world."""
    return ()


def own() -> tuple[Task, ...]:
    """All tasks of this world."""
    harbour = "$1.items[name=Harbour lights].id"
    return (
        _task(
            "owner",
            "Who is in charge of the Seed library project?",
            [Step("GET /projects")],
            Judge(says=_owner),
            "{$1.items[name=Seed library].owner}",
        ),
        _task(
            "hours",
            "How many hours are estimated for task 117?",
            [Step("GET /tasks/{task_id}", {"task_id": 117})],
            Judge(says=_hours),
            "{$1.hours}",
        ),
        _task(
            "open",
            "How many tasks are not done yet?",
            [Step("GET /tasks", query={"done": False})],
            Judge(says=_open_tasks),
            "{$1.total}",
        ),
        _task(
            "add",
            "Add a task called Buy bulbs to the project Harbour lights.",
            [Step("GET /projects"), Step("POST /projects/{project_id}/tasks", {"project_id": harbour}, body=_BULBS)],
            Judge(becomes=_add),
        ),
        _task(
            "delete",
            "Delete task 103.",
            [Step("DELETE /tasks/{task_id}", {"task_id": 103})],
            Judge(becomes=_delete),
        ),
    )


_BULBS = {"title": "Buy bulbs"}


def _task(key: str, instruction: str, steps: list[Step], judge: Judge, report: str = "") -> Task:
    right, wrong = partial(judge.answer, True), partial(judge.answer, False)
    return ToyTask(key, instruction, tuple(steps), judge.check, right, wrong, answer=report)
