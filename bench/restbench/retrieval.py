"""Measures search on RestBench without a model: does the raw instruction find the operations of its solution?

Gold operations lose stray blanks, and the one path that no document has is corrected. With `--foreign`, the
operations of other published APIs are searched together with them.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from restgpt.bench.packages import CACHE, directory_documents
from restgpt.bench.restbench.suite import gold_path
from restgpt.specs import Api, Catalogue, SpecError, load_api
from restgpt.worlds.task import shape

WORLDS = ("tmdb", "spotify")
DEPTHS = (5, 10, 20)


@dataclass(frozen=True, slots=True)
class Task:
    """One instruction with the operations that solve it."""

    instruction: str
    gold: frozenset[str]


def read_tasks(api: Api, path: Path) -> list[Task]:
    """Read the published tasks of a world, their operations written as its document writes them."""
    known = {shape(key): key for key in (f"{item.method} {item.path}" for item in api.operations)}
    rows = [(row["query"], gold_path(row)) for row in json.loads(path.read_text())]
    for step in (step for _, gold in rows for step in gold if shape(step) not in known):
        raise SpecError(f"{path.name} names {step}, which the document of {api.name} does not have.")
    return [Task(query, frozenset(known[shape(step)] for step in gold)) for query, gold in rows]


def foreign_apis(count: int, cache: Path) -> Iterator[Api]:
    """Yield other published APIs until they have `count` operations together, small documents first."""
    left = count
    documents = sorted(directory_documents(cache), key=lambda path: (path.stat().st_size, path.name))
    for path in documents[::10] + documents[5::10] + documents[3::10]:
        if left <= 0:
            return
        if any(world in path.name for world in ("themoviedb", "spotify")):
            continue
        api = load_api(path)
        left -= len(api.operations)
        yield api


def score(catalogue: Catalogue, own: Api, tasks: list[Task]) -> dict[str, float]:
    """Return, per depth, the share of instructions with all operations found and the mean share found."""
    figures: dict[str, float] = {}
    seconds = 0.0
    for api in catalogue.apis:
        # Built on first use; a query is timed without it.
        _ = api.search_index
    found = []
    for task in tasks:
        start = time.process_time()
        ranked = catalogue.search(task.instruction, max(DEPTHS))
        seconds += time.process_time() - start
        found.append([f"{item.method} {item.path}" if item.api is own else "" for item in ranked])
    for depth in DEPTHS:
        hits = [
            len(task.gold & set(ranked[:depth])) / len(task.gold) for task, ranked in zip(tasks, found, strict=True)
        ]
        figures[f"all@{depth}"] = round(sum(hit == 1 for hit in hits) / len(hits), 3)
        figures[f"recall@{depth}"] = round(sum(hits) / len(hits), 3)
    figures["ms a query"] = round(1000 * seconds / len(tasks), 2)
    return figures


def main() -> None:
    """Measure from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data = os.environ.get("RESTGPT_DATA", "")
    default = Path(data) / "restbench" if data else None
    parser.add_argument("--data", type=Path, default=default, help="folder of RestBench; RESTGPT_DATA/restbench")
    parser.add_argument("--foreign", type=int, default=0, help="mix in this many operations of other APIs")
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder for fetched packages")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.data is None or not options.data.is_dir():
        parser.error("name the folder that holds RestBench with --data, or the one above it with RESTGPT_DATA")
    others = list(foreign_apis(options.foreign, options.cache))
    report = {}
    for world in WORLDS:
        own = load_api(options.data / f"{world}_oas.json")
        tasks = read_tasks(own, options.data / f"{world}.json")
        catalogue = Catalogue([own, *others])
        report[world] = {"operations": len(catalogue), "tasks": len(tasks), **score(catalogue, own, tasks)}
    if options.json:
        json.dump(report, sys.stdout, indent=1)
        return
    for world, figures in report.items():
        print(f"{world:8}", "  ".join(f"{name} {value}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
