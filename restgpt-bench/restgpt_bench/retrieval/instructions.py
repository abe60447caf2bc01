"""Instructions with the operations that fulfil them: RestBench, and sets of our own over eighteen published documents.

The ranking was learned on RestBench and the parts with `tuning` in their names; nobody looked at what it finds for the
instructions of the others while it was made. The parts `changes_…` ask in everyday words for changes that only a field
of the body names.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from restgpt.specs import Api, SpecError, load_api
from restgpt_bench.packages import named_document
from restgpt_bench.restbench.judges.task import shape
from restgpt_bench.restbench.suite import gold_path

WORLDS = ("tmdb", "spotify")
RESTBENCH = "restbench"
PARTS = ("tuning", "measured", "changes_tuning", "changes_measured")


@dataclass(frozen=True, slots=True)
class Task:
    """One instruction with the operations that it needs; each is a set of alternatives, of which one suffices."""

    instruction: str
    needed: tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True)
class Part:
    """The tasks over one document."""

    name: str
    api: Api
    tasks: tuple[Task, ...]


def open_part(name: str, data: Path | None, cache: Path) -> Iterator[Part]:
    """Read RestBench from the data folder, or a part of our set."""
    if name != RESTBENCH:
        yield from read_part(name, cache)
    elif data is not None:
        yield from (read_world(world, data / "restbench") for world in WORLDS)


def read_world(world: str, folder: Path) -> Part:
    """Read the published tasks of RestBench for one world, their operations written as its document writes them."""
    api = load_api(folder / f"{world}_oas.json")
    path = folder / f"{world}.json"
    known = {shape(key): key for key in _keys(api)}
    tasks = []
    for row in json.loads(path.read_text()):
        steps = list(dict.fromkeys(gold_path(row)))
        for step in steps:
            if shape(step) not in known:
                raise SpecError(f"{path.name} names {step}, which the document of {api.name} does not have.")
        tasks.append(Task(row["query"], tuple(frozenset({known[shape(step)]}) for step in steps)))
    return Part(world, api, tuple(tasks))


def read_part(part: str, cache: Path) -> Iterator[Part]:
    """Read the tasks of a part of our set, document by document; fetches the documents that are not in the cache."""
    rows: dict[str, list[Mapping[str, object]]] = {}
    for line in files("restgpt_bench.retrieval").joinpath(f"{part}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        rows.setdefault(row["document"], []).append(row)
    for name, found in rows.items():
        yield read_rows(name, load_api(named_document(name, cache)), found)


def read_rows(name: str, api: Api, rows: list[Mapping[str, object]]) -> Part:
    """Read the tasks over one document; raises SpecError for an operation that the document lacks."""
    known = _keys(api)
    tasks = []
    for row in rows:
        listed = row["operations"]
        needed = tuple(frozenset(item if isinstance(item, list) else [item]) for item in _items(listed))
        for key in frozenset().union(*needed) - known:
            raise SpecError(f"An instruction for {name} names {key}, which its document does not have.")
        tasks.append(Task(str(row["instruction"]), needed))
    return Part(name, api, tuple(tasks))


def _keys(api: Api) -> set[str]:
    return {f"{item.method} {item.path}" for item in api.operations}


def _items(listed: object) -> list[str | list[str]]:
    return listed if isinstance(listed, list) else []
