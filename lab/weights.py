"""Learns the weights of the ranking: varies one after the other, and keeps what ranks needed operations higher.

The objective of a task falls smoothly with the rank of its last needed operation around the tenth place, because a
share of tasks would not change with most steps. A document counts by the square root of its number of tasks.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from math import exp, sqrt
from pathlib import Path

from restgpt.specs.search.ranking import WEIGHTS, Search, Weights
from restgpt.specs.search.search_index import SearchIndex
from restgpt_bench.packages import CACHE
from restgpt_bench.retrieval.instructions import WORLDS, Part, Task, read_part, read_world

STEPS = (0.6, 0.8, 1.25, 1.6)
DEPTH, SLOPE, SEEN = 10, 2.0, 30


@dataclass(frozen=True, slots=True)
class Sample:
    """The tasks over one document, with the index that they are ranked by."""

    name: str
    index: SearchIndex
    keys: tuple[str, ...]
    tasks: tuple[Task, ...]
    known: dict[Weights, float] = field(default_factory=dict)

    @classmethod
    def of(cls, part: Part) -> "Sample":
        """Take the tasks of a part."""
        keys = tuple(f"{item.method} {item.path}" for item in part.api.operations)
        return cls(part.name, part.api.search_index, keys, part.tasks)

    def rankings(self, weights: Weights) -> Iterator[tuple[Task, list[str]]]:
        """Yield each task with the operations found for it."""
        search = Search((self.index,), weights)
        for task in self.tasks:
            yield task, [self.keys[number] for _, number in search.find(task.instruction, SEEN)]

    def objective(self, weights: Weights) -> float:
        """Return the mean objective of the tasks, from 0 to 1, computed once for the same weights."""
        if weights not in self.known:
            values = (nearness(task, ranked) for task, ranked in self.rankings(weights))
            self.known[weights] = sum(values) / len(self.tasks)
        return self.known[weights]

    def found(self, weights: Weights) -> float:
        """Return the share of tasks whose operations are all among the first ten."""
        hits = (all(set(ranked[:DEPTH]) & group for group in task.needed) for task, ranked in self.rankings(weights))
        return sum(hits) / len(self.tasks)


def nearness(task: Task, ranked: Sequence[str]) -> float:
    """Return the objective of a task: near 1 if all needed operations rank well above the tenth place, else near 0."""
    places = {key: place for place, key in enumerate(ranked, 1)}
    result = 1.0
    for group in task.needed:
        place = min((places[key] for key in group if key in places), default=SEEN + DEPTH)
        result /= 1 + exp((place - DEPTH - 0.5) / SLOPE)
    return result


def learn(samples: Sequence[Sample], start: Weights = WEIGHTS, rounds: int = 2) -> Weights:
    """Improve one weight after the other, for some rounds."""
    shares = {sample.name: sqrt(len(sample.tasks)) for sample in samples}

    def objective(weights: Weights) -> float:
        return sum(shares[sample.name] * sample.objective(weights) for sample in samples) / sum(shares.values())

    best, most = start, objective(start)
    for _ in range(rounds):
        before = most
        for name in (item.name for item in fields(Weights)):
            for step in STEPS:
                tried = replace(best, **{name: round(getattr(best, name) * step, 3)})
                value = objective(tried)
                if value > most + 1e-4:
                    best, most = tried, value
        if most == before:
            break
    return best


def leave_one_out(samples: Sequence[Sample], rounds: int) -> Iterator[tuple[str, float]]:
    """Yield each document with the share of its tasks found by weights learned on all other documents."""
    for left in samples:
        yield left.name, left.found(learn([item for item in samples if item is not left], rounds=rounds))


def main() -> None:
    """Learn from the command line; prints the weights as `Weights`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--restbench", type=Path, required=True, help="folder of RestBench")
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder for fetched packages")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument(
        "--leave-one-out", action="store_true", help="also measure each document without learning on it"
    )
    options = parser.parse_args()
    parts = [
        *(read_world(world, options.restbench) for world in WORLDS),
        *read_part("tuning", options.cache),
        *read_part("changes_tuning", options.cache),
    ]
    samples = [Sample.of(part) for part in parts]
    weights = learn(samples, rounds=options.rounds)
    print(weights)
    print("fitted", {sample.name: round(sample.found(weights), 3) for sample in samples}, file=sys.stderr, flush=True)
    if options.leave_one_out:
        for name, share in leave_one_out(samples, options.rounds):
            print("left out", name, round(share, 3), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
