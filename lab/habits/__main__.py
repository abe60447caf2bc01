"""Measures what habits of weak models cost: replies as such models write them, on tasks of the toy API.

A scripted model has one habit, and mends it as soon as a prompt says what is wrong. For each habit: whether the task is
done, the model calls beyond a clean run, and the changes that nobody asked for, of which there must be none. The same
with a model that repeats its first reply for ever, which no prompt mends: it must not claim what is not so.
"""

import argparse
import logging
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from lab.habits.habit import Habit, HabitModel, Task, habits, program
from lab.kit.drive import driven, rejecting
from lab.kit.table import markdown
from restgpt.graph.build import build_graph
from restgpt.tools.errors import RestgptError
from restgpt_bench.worlds import open_world, served_api
from restgpt_bench.worlds.server import serve

HABITS = habits()

MOST_MORE = 2
"""A habit is recovered from if it costs at most so many model calls more than a clean run."""

KNOWN = {
    "the same error in every reply": "the model never corrects what it is told, so the run ends and says so",
    "an endless retry": "a rejected call comes again until no request is left, so the run ends and says so",
    "another error in every reply": "three programs are all that a task gets, so the run ends and says so",
}
"""The habits that nothing recovers from, and why."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a task under a habit: `more` model calls than a clean run, `wrong` changes that nobody wanted.

    `steady` is how it ended with a model that repeats its first reply for ever: done, told (not fulfilled, and said
    so), claimed (said to be fulfilled, and is not), or error; `steady_wrong` are wrong changes then.
    """

    habit: str
    done: bool
    more: int
    wrong: int
    answer: str
    steady: str = ""
    steady_wrong: int = 0

    @property
    def recovered(self) -> bool:
        """Whether the task was done at a bounded cost."""
        return self.done and self.more <= MOST_MORE and not self.wrong


@dataclass(frozen=True, slots=True)
class _Ran:
    calls: int
    answer: str
    state: Any
    changes: tuple[str, ...]
    end: str


def measure(habit: Habit) -> Outcome:
    """Carry out the task of a habit on a fresh world, with every change allowed, and judge it by the world."""
    clean, ran, steady = _clean(habit.task), _run(habit), _run(habit, is_steady=True)
    end = "done" if _is_done(habit.task, steady) else steady.end
    more, wrong = ran.calls - clean.calls, _wrong(habit.task, ran)
    return Outcome(habit.name, _is_done(habit.task, ran), more, wrong, ran.answer, end, _wrong(habit.task, steady))


def _is_done(task: Task, ran: "_Ran") -> bool:
    return bool(ran.state == _clean(task).state) and task.answer in ran.answer


def _wrong(task: Task, ran: "_Ran") -> int:
    """The number of changes that a clean run does not make."""
    # A change that is made once more changes nothing more, unless it creates something.
    twice = len(ran.changes) - len(set(ran.changes)) if any(item.startswith("POST") for item in ran.changes) else 0
    return len(set(ran.changes) - set(_clean(task).changes)) + twice


@cache
def _clean(task: Task) -> _Ran:
    return _run(Habit("", task, program(task.code)))


def _run(habit: Habit, *, is_steady: bool = False) -> _Ran:
    model = HabitModel.of(habit, is_steady=is_steady)
    with serve(open_world("toy")) as server:
        graph = build_graph(
            [served_api("toy", server.url)],
            model=model,
            checkpointer=InMemorySaver(),
            store=InMemoryStore(),
            context={"writes": "allow"},
        )
        config: RunnableConfig = {"configurable": {"thread_id": "habit"}}
        try:
            # A person knows nothing of an id that nobody gave.
            values = driven(graph, {"instruction": habit.task.instruction}, config, rejecting)
            answer, end = str(values["answer"]), "claimed" if values["decision"].get("fulfilled") else "told"
        except RestgptError as error:
            answer, end = str(error), "error"
        changes = (f"{item.method} {item.path} {item.body}" for item in server.world.log if item.ok)
        made = tuple(change for change in changes if not change.startswith("GET"))
        return _Ran(model.calls, answer, server.world.dump(), made, end)


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The figures over all outcomes, and the names of those that were not recovered from."""
    recovered = [item for item in outcomes if item.recovered]
    return {
        "habits": len(outcomes),
        "recovered": len(recovered),
        "without a further call": sum(not item.more for item in recovered),
        "more calls": sum(item.more for item in outcomes),
        "wrong changes": sum(item.wrong + item.steady_wrong for item in outcomes),
        "repeated for ever": dict(Counter(item.steady for item in outcomes)),
        "claims": [item.habit for item in outcomes if item.steady in ("claimed", "error")],
        "not recovered": [item.habit for item in outcomes if not item.recovered],
    }


def report(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The lines of a report: the table, the figures, and why the habits that are known to remain do so."""
    rows = [
        [one.habit, "yes" if one.recovered else "no", one.more, one.wrong, one.steady, one.steady_wrong]
        for one in outcomes
    ]
    columns = ("habit", "recovered", "more calls", "wrong changes", "repeated for ever", "wrong then")
    yield from markdown(columns, rows)
    for name, value in summary(outcomes).items():
        for found in value if isinstance(value, list) else [value]:
            yield f"{name}: {found}" + (f" ({KNOWN.get(found, 'not known before')})" if found != value else "")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the habits; 1 if a change was wrong, or a habit remains or ends in a claim that was not known."""
    parser = argparse.ArgumentParser(prog="python -m lab.habits", description=__doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="only habits with one of these words")
    given = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    try:
        chosen = [item for item in HABITS if not given.only or any(word in item.name for word in given.only)]
        outcomes = [measure(habit) for habit in chosen]
    finally:
        logging.disable(logging.NOTSET)
    found = summary(outcomes)
    print("\n".join(report(outcomes)))
    unknown = set(found["not recovered"]) - KNOWN.keys() or set(found["claims"])
    return 1 if found["wrong changes"] or unknown else 0


if __name__ == "__main__":
    sys.exit(main())
