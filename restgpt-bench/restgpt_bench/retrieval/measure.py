"""Scores of the search beside plain BM25, for each document and for parts of several documents."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from restgpt.specs import Api, Catalogue, Operation, load_api
from restgpt_bench.packages import directory_documents
from restgpt_bench.retrieval.instructions import Part, Task
from restgpt_bench.retrieval.plain_bm25 import PlainBm25

DEPTHS = (5, 10, 20)
Ranking = Callable[[str, int], Sequence[Operation]]


@dataclass(frozen=True, slots=True)
class Score:
    """Per depth, the share of tasks whose operations are all found and the mean share found; milliseconds a query."""

    tasks: int
    whole: dict[int, float]
    recall: dict[int, float]
    milliseconds: float

    def document(self) -> dict[str, float]:
        """Return the figures by their names."""
        shares = {f"all@{depth}": round(value, 3) for depth, value in self.whole.items()}
        recalls = {f"recall@{depth}": round(value, 3) for depth, value in self.recall.items()}
        return {"tasks": self.tasks, **shares, **recalls, "ms a query": round(self.milliseconds, 2)}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the report: our score beside plain BM25."""

    name: str
    operations: int
    ours: Score
    plain: Score

    def document(self) -> dict[str, object]:
        """Return the line as plain JSON."""
        return {"operations": self.operations, "ours": self.ours.document(), "bm25": self.plain.document()}


def compare(part: Part, others: Sequence[Api] = ()) -> Row:
    """Score our search and plain BM25 on the tasks of a document, among the operations of other APIs if there are."""
    catalogue = Catalogue([part.api, *others])
    for api in catalogue.apis:
        # Built on first use; a query is timed without it.
        _ = api.search_index
    catalogue.search("anything", 1)
    ours = score(catalogue.search, part.api, part.tasks)
    return Row(part.name, len(catalogue), ours, score(PlainBm25(list(catalogue)).search, part.api, part.tasks))


def score(search: Ranking, own: Api, tasks: Sequence[Task]) -> Score:
    """Score a ranking on tasks; operations of other APIs count as wrong."""
    found = []
    start = time.process_time()
    for task in tasks:
        found.append(search(task.instruction, max(DEPTHS)))
    seconds = time.process_time() - start
    ranked = [[f"{item.method} {item.path}" if item.api is own else "" for item in items] for items in found]
    shares = {
        depth: [share(task, set(keys[:depth])) for task, keys in zip(tasks, ranked, strict=True)] for depth in DEPTHS
    }
    count = max(1, len(tasks))
    return Score(
        len(tasks),
        {depth: sum(value == 1 for value in values) / count for depth, values in shares.items()},
        {depth: sum(values) / count for depth, values in shares.items()},
        1000 * seconds / count,
    )


def share(task: Task, found: set[str]) -> float:
    """Return the share of the needed operations that are found."""
    return sum(not found.isdisjoint(alternatives) for alternatives in task.needed) / max(1, len(task.needed))


def total(name: str, rows: Sequence[Row]) -> Row:
    """Join the lines of several documents, each task counted once."""
    return Row(
        name,
        sum(row.operations for row in rows),
        _joined([row.ours for row in rows]),
        _joined([row.plain for row in rows]),
    )


def _joined(scores: Sequence[Score]) -> Score:
    count = max(1, sum(item.tasks for item in scores))

    def mean(value: Callable[[Score], float]) -> float:
        return sum(item.tasks * value(item) for item in scores) / count

    return Score(
        sum(item.tasks for item in scores),
        {depth: mean(lambda item, depth=depth: item.whole[depth]) for depth in DEPTHS},  # type: ignore[misc]
        {depth: mean(lambda item, depth=depth: item.recall[depth]) for depth in DEPTHS},  # type: ignore[misc]
        mean(lambda item: item.milliseconds),
    )


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
