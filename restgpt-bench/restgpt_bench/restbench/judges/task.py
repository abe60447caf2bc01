"""A task in a world: an instruction, its gold calls, and the check of a run."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from restgpt_bench.restbench.judges.answer import Verdict
from restgpt_bench.worlds.exchange import Json, Reply
from restgpt_bench.worlds.log import LogEntry
from restgpt_bench.worlds.world import World

__all__ = ["Check", "PlannedCall", "Replay", "Step", "Task", "Verdict", "follows", "select"]

Check = Callable[[World[Any], Sequence[LogEntry], str], Verdict]
Send = Callable[["PlannedCall"], Reply]


class BrokenTaskError(Exception):
    """The task is wrong: the world refuses a gold call, or earlier results lack one of its arguments."""


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call with its arguments: `operation` is "METHOD /template", `arguments` are grouped by place."""

    operation: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """A gold call; a text argument such as `$1.results[0].id` is looked up in the result of an earlier step.

    `$1` is the result of the first step. `.name` goes into an object, `.cast+crew` joins two lists, `[0]` picks by
    position, `[:3]` keeps the first three, `[job=Director]` keeps the items with that value, `.max(release_date)` and
    `.min(…)` pick one, `[*]` means each; the first item counts where one value is wanted. `["$1.…"]` in a body gives a
    list of all values.
    """

    operation: str
    path: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Json = None

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> Self:
        """The step of an entry of a task file: `call`, and what there is of `path`, `query` and `body`."""
        return cls(entry["call"], entry.get("path", {}), entry.get("query", {}), entry.get("body"))

    def planned(self, results: Sequence[Json]) -> PlannedCall:
        """The call with its references looked up in `results`."""
        arguments: dict[str, Any] = {}
        if self.path:
            arguments["path"] = _resolved(dict(self.path), results)
        if self.query:
            arguments["query"] = _resolved(dict(self.query), results)
        if self.body is not None:
            arguments["body"] = _resolved(self.body, results)
        return PlannedCall(self.operation, arguments)


@dataclass(frozen=True, slots=True)
class Replay:
    """The gold calls as they were made, their results, and a true answer."""

    calls: tuple[PlannedCall, ...]
    results: tuple[Json, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Task:
    """One task.

    `key` is the index of a published instruction or the name of an own one; `instruction` is None where the text is
    published elsewhere. `steps` are the repaired gold calls, `alternatives` other paths as good. `check` judges;
    `right` and `wrong` give a true and a false answer, computed from the world as it was before the calls. `answer` is
    how the gold calls give the answer: a text with Python expressions in braces, in which references such as
    `$2.title` stand for values; empty where no answer is asked for, or none can be computed from the gold calls.
    """

    key: str
    instruction: str | None
    steps: tuple[Step, ...]
    check: Check
    right: Callable[[World[Any]], str]
    wrong: Callable[[World[Any]], str]
    alternatives: tuple[tuple[str, ...], ...] = ()
    fixture: str | None = None
    answer: str = ""

    @property
    def gold(self) -> tuple[str, ...]:
        """The gold path as "METHOD /template" in order."""
        return tuple(step.operation for step in self.steps)

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        """The gold path and its alternatives."""
        return (self.gold, *self.alternatives)

    def spoil(self, world: World[Any]) -> None:
        """Make a change that nobody asked for, so that the check must fail; nothing in a world without changes."""

    def replay(self, world: World[Any], send: Send | None = None) -> Replay:
        """Make the gold calls on a world that was reset; raises BrokenTaskError if one is refused.

        `send` makes a call elsewhere (over HTTP, say); by default the world is called in process.
        """
        answer = self.right(world)
        calls: list[PlannedCall] = []
        results: list[Json] = []
        for step in self.steps:
            call = step.planned(results)
            reply = send(call) if send is not None else perform(world, call)
            if not reply.ok:
                raise BrokenTaskError(f"task {self.key}: {call.operation} {call.arguments} got {reply.status}")
            calls.append(call)
            results.append(reply.body)
        return Replay(tuple(calls), tuple(results), answer)


def perform(world: World[Any], call: PlannedCall) -> Reply:
    """Make `call` in process."""
    arguments = call.arguments
    return world.call(
        call.operation, path=arguments.get("path"), query=arguments.get("query"), body=arguments.get("body")
    )


def follows(called: Sequence[str], path: Sequence[str]) -> bool:
    """Whether `path` is a subsequence of `called`, parameter names aside."""
    remaining = iter([shape(operation) for operation in called])
    return all(shape(step) in remaining for step in path)


def shape(operation: str) -> str:
    """An operation ("METHOD /template") without surrounding blanks and without the names of its parameters."""
    return re.sub(r"\{[^}]*\}", "{}", operation.strip())


def select(reference: str, results: Sequence[Json]) -> list[Json]:
    """All values that a reference such as `$1.results[0].id` finds; BrokenTaskError if it finds none."""
    number, _, rest = reference.removeprefix("$").partition(".")
    found: list[Json] = [results[int(number) - 1]]
    for step in re.findall(r"max\([^)]*\)|min\([^)]*\)|[^.\[\]]+|\[[^\]]*\]", rest):
        found = _advance(found, step)
    if not found:
        raise BrokenTaskError(f"{reference} finds nothing")
    return found


def _advance(found: list[Json], step: str) -> list[Json]:
    if step.startswith("["):
        return _picked(found, step[1:-1])
    if match := re.fullmatch(r"(max|min)\((.*)\)", step):
        ranked = [item for item in found if item.get(match[2])]
        pick = max if match[1] == "max" else min
        return [pick(ranked, key=lambda item: item[match[2]])] if ranked else []
    gathered: list[Json] = []
    for item in found:
        for name in step.split("+"):
            if isinstance(item, dict) and name in item:
                gathered.extend(item[name] if isinstance(item[name], list) else [item[name]])
    return gathered


def _picked(found: list[Json], inside: str) -> list[Json]:
    name, equals, value = inside.partition("=")
    if equals:
        return [item for item in found if str(item.get(name)) == value]
    if inside == "*":
        return found
    start, colon, stop = inside.partition(":")
    if colon:
        return found[int(start or 0) : int(stop) if stop else None]
    return found[int(inside) :][:1]


def _resolved(value: Json, results: Sequence[Json]) -> Json:
    if isinstance(value, str) and value.startswith("$"):
        return select(value, results)[0]
    if isinstance(value, dict):
        return {name: _resolved(item, results) for name, item in value.items()}
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str) and value[0].startswith("$"):
        return select(value[0], results)
    if isinstance(value, list):
        return [_resolved(item, results) for item in value]
    return value
