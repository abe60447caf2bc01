"""The tasks of the simulated film database: the published instructions by index, and our own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from restgpt_bench.restbench.judges.answer import Verdict
from restgpt_bench.restbench.judges.task import Step, Task, shape
from restgpt_bench.restbench.judges.tmdb.checks import OWN, PUBLISHED, Truth
from restgpt_bench.worlds.data import read_data
from restgpt_bench.worlds.log import LogEntry
from restgpt_bench.worlds.tmdb.catalogue import Catalogue
from restgpt_bench.worlds.world import World


@cache
def published() -> tuple[Task, ...]:
    """The published instructions in order; their texts are read elsewhere, so `instruction` is None."""
    entries = read_data(__package__, "published.yaml")
    return tuple(_task(str(index), entries[index], truth) for index, truth in PUBLISHED.items())


@cache
def own() -> tuple[Task, ...]:
    """Our own instructions, over other entities than the published ones."""
    entries = read_data(__package__, "tasks.yaml")
    return tuple(_task(key, entries[key], truth) for key, truth in OWN.items())


def _task(key: str, entry: Mapping[str, Any], truth: Truth) -> Task:
    steps = tuple(map(Step.read, entry["steps"]))
    alternatives = tuple(map(tuple, entry.get("alternatives", ())))
    paths = (tuple(step.operation for step in steps), *alternatives)
    telling = [path[-1] for path in paths] if entry.get("decisive") else [step for path in paths for step in path]
    return Task(
        key=key,
        instruction=entry.get("instruction"),
        steps=steps,
        check=partial(_check, truth, frozenset(map(shape, telling))),
        right=lambda world: truth(_asked_about(world)).right(),
        wrong=lambda world: truth(_asked_about(world)).wrong(),
        alternatives=alternatives,
        answer=entry.get("answer", ""),
    )


def _check(truth: Truth, telling: frozenset[str], world: World[Any], log: Sequence[LogEntry], answer: str) -> Verdict:
    """Pass a true answer after a fulfilled call that can give it."""
    if not any(telling.intersection(map(shape, asked(entry))) for entry in log if entry.ok):
        return Verdict(False, "no fulfilled call could have told")
    return truth(_asked_about(world)).judge(answer)


def _asked_about(world: World[Any]) -> Catalogue:
    """The world's catalogue, in which names are looked up as they were exchanged."""
    catalogue: Catalogue = world.state
    return replace(catalogue, exchanged=world.exchanged) if world.exchanged else catalogue


def asked(entry: LogEntry) -> list[str]:
    """The operations that one request covers: its own, and those that append_to_response adds."""
    extra = str(entry.query.get("append_to_response", "")).split(",")
    return [entry.operation, *(f"{entry.operation}/{part.strip()}" for part in extra if part.strip())]
