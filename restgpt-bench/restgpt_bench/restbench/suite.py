"""The suites of RestBench: the published instructions, read where they are published, and our own development sets."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from restgpt.tools.errors import StoppingError
from restgpt_bench.restbench.judges.task import Task
from restgpt_bench.restbench.judges.tasks import open_tasks

PUBLISHED = {"restbench-tmdb": "tmdb", "restbench-spotify": "spotify"}
OWN = {"dev-tmdb": "tmdb", "dev-spotify": "spotify", "dev-toy": "toy"}
NAMES = (*PUBLISHED, *OWN)

MISSPELT = {"GET /track/{id}": "GET /tracks/{id}"}
"""Published gold steps that no document has, with the right path; the names of parameters never count."""


class SuiteError(StoppingError):
    """A suite cannot be opened; the message says what is missing where."""


@dataclass(frozen=True, slots=True)
class Item:
    """One instruction of a suite.

    `gold` is the path as published (for our own: the task's), which the strict Correct Path and the lengths count by;
    `task` judges success.
    """

    key: str
    instruction: str
    gold: tuple[str, ...]
    task: Task

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        """All paths that are as good, as "METHOD /template": the published, the repaired, the alternatives."""
        return tuple(dict.fromkeys((self.gold, *self.task.paths)))


@dataclass(frozen=True, slots=True)
class Suite:
    """Instructions over one world."""

    name: str
    world: str
    items: tuple[Item, ...]

    def only(self, keys: Sequence[str]) -> "Suite":
        """The suite cut to some instructions, by key; raises `SuiteError` for a key that it does not have."""
        known = {item.key: item for item in self.items}
        if unknown := [key for key in keys if key not in known]:
            raise SuiteError(f"The suite {self.name} has no task {unknown[0]}. It has: {', '.join(known)}.")
        return Suite(self.name, self.world, tuple(known[key] for key in dict.fromkeys(keys)))


def open_suite(name: str, *, data: Path | None = None) -> Suite:
    """A suite by name; `data` is the folder with the published files. Raises `SuiteError`."""
    if name in OWN:
        world = OWN[name]
        items = [Item(task.key, task.instruction or "", task.gold, task) for task in open_tasks(world, own=True)]
        return Suite(name, world, tuple(items))
    if name not in PUBLISHED:
        raise SuiteError(f"There is no suite {name}. There are: {', '.join(NAMES)}.")
    world = PUBLISHED[name]
    rows = _published(name, world, data)
    tasks = open_tasks(world)
    if len(rows) != len(tasks):
        raise SuiteError(f"The file of {name} has {len(rows)} instructions, but {len(tasks)} are published.")
    pairs = zip(rows, tasks, strict=True)
    return Suite(name, world, tuple(Item(task.key, row["query"].strip(), gold_path(row), task) for row, task in pairs))


def _published(name: str, world: str, data: Path | None) -> list[dict[str, Any]]:
    if data is None:
        raise SuiteError(
            f"The suite {name} is read from the published data, which is not part of this project. Put it into a "
            "folder and name that with RESTGPT_DATA; docs/restbench.md says where it is published. The development "
            f"sets need nothing: {', '.join(OWN)}."
        )
    path = data / "restbench" / f"{world}.json"
    try:
        rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SuiteError(f"The suite {name} needs {path}, which cannot be read: {error.strerror}.") from None
    except ValueError:
        raise SuiteError(f"The suite {name} needs {path}, which is not JSON. `make data` checks the file.") from None
    return rows


def gold_path(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The solution of a published instruction, without stray blanks and with misspelt paths corrected."""
    steps = (" ".join(step.split()) for step in row["solution"])
    return tuple(MISSPELT.get(step, step) for step in steps)
