"""The metrics of RestBench (paper, section 4.3), the stricter ones beside them, and their uncertainty."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from restgpt_bench.restbench.judges.task import follows
from restgpt_bench.restbench.record import Record

Z = 1.959964
"""The normal quantile of a two-sided 95 % interval."""


@dataclass(frozen=True, slots=True)
class Proportion:
    """`hits` of `n`."""

    hits: int
    n: int

    @property
    def rate(self) -> float:
        """The share; 0 where n is 0."""
        return self.hits / self.n if self.n else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of Wilson (1927); from 0 to 1 where n is 0."""
        if not self.n:
            return 0.0, 1.0
        z2 = Z * Z
        centre = (self.rate + z2 / (2 * self.n)) / (1 + z2 / self.n)
        half = Z / (1 + z2 / self.n) * math.sqrt(self.rate * (1 - self.rate) / self.n + z2 / (4 * self.n * self.n))
        return max(0.0, centre - half), min(1.0, centre + half)


@dataclass(frozen=True, slots=True)
class Score:
    """The metrics of some records.

    `correct_path` is the published path as a subsequence of the fulfilled calls (2xx), `correct_path_any` of all calls
    whatever their status, `relaxed_path` any listed path of the fulfilled calls. `delta` is the mean of calls made
    minus gold length over successes, None without success. The others are means per task: model calls, tokens, seconds.
    `failures` counts runs that broke off; they are no success.
    """

    n: int
    failures: int
    success: Proportion
    correct_path: Proportion
    correct_path_any: Proportion
    relaxed_path: Proportion
    delta: float | None
    model_calls: float
    input_tokens: float
    output_tokens: float
    wall_s: float
    cpu_s: float


def is_correct(record: Record, *, fulfilled: bool = True) -> bool:
    """Correct Path: the published path is a subsequence of what was called."""
    return follows(record.called(fulfilled=fulfilled), record.gold)


def is_relaxed_correct(record: Record) -> bool:
    """Correct Path where any listed path counts, and the parts that one request asks for count as asked."""
    called = record.called(covered=True)
    return any(follows(called, path) for path in record.paths)


def excess(record: Record) -> int:
    """Calls made, whatever their status, minus the length of the published path."""
    return len(record.log) - len(record.gold)


def spent(record: Record, name: str) -> int:
    """The sum over all roles of calls, input_tokens or output_tokens."""
    return sum(int(role[name]) for role in record.usage.get("roles", {}).values())


def score(records: Sequence[Record]) -> Score:
    """All metrics of some records."""
    n = len(records)

    def share(holds: Callable[[Record], bool]) -> Proportion:
        return Proportion(sum(map(holds, records)), n)

    def mean(value: Callable[[Record], float]) -> float:
        return fmean(map(value, records)) if records else 0.0

    extra = [excess(record) for record in records if record.success]
    return Score(
        n=n,
        failures=sum(record.failure is not None for record in records),
        success=share(lambda record: record.success),
        correct_path=share(is_correct),
        correct_path_any=share(lambda record: is_correct(record, fulfilled=False)),
        relaxed_path=share(is_relaxed_correct),
        delta=fmean(extra) if extra else None,
        model_calls=mean(lambda record: spent(record, "calls")),
        input_tokens=mean(lambda record: spent(record, "input_tokens")),
        output_tokens=mean(lambda record: spent(record, "output_tokens")),
        wall_s=mean(lambda record: record.wall_s),
        cpu_s=mean(lambda record: record.cpu_s),
    )


def by_length(records: Sequence[Record]) -> dict[int, Score]:
    """The metrics by the length of the published path, the shortest first."""
    lengths = sorted({len(record.gold) for record in records})
    return {length: score([record for record in records if len(record.gold) == length]) for length in lengths}
