"""What trials of a rig come to: counts by name, a line for each trial that went wrong, and the longest time."""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

Trial = TypeVar("Trial")

say = partial(print, flush=True)


@dataclass(slots=True)
class Tally:
    """The results of some trials; tallies of lanes, which run at the same time, add up."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def __getitem__(self, name: str) -> int:
        return self.counts[name]

    def __add__(self, other: "Tally") -> "Tally":
        counts = Counter(self.counts)
        counts.update(other.counts)
        return Tally(counts, self.wrong + other.wrong, max(self.seconds, other.seconds))

    def __str__(self) -> str:
        counts = ", ".join(f"{number} {name}" for name, number in self.counts.items())
        return f"{counts}; {len(self.wrong)} wrong; {self.seconds:.0f} s"


def tallied(
    trials: Iterable[Trial],
    run: Callable[[Trial, Tally], None],
    *,
    name: str = "",
    say: Callable[[str], None] = lambda line: None,
) -> Tally:
    """Run trials one after another; says at once what goes wrong, and how far they are."""
    tally, started = Tally(), time.monotonic()
    for number, trial in enumerate(trials, 1):
        known = len(tally.wrong)
        tally.counts["trials"] += 1
        run(trial, tally)
        for line in tally.wrong[known:]:
            say(line)
        if number % 10 == 0:
            say(f"  {name}{number} trials")
    tally.seconds = time.monotonic() - started
    return tally


def in_lanes(count: int, run: Callable[[int], Tally]) -> Tally:
    """Run so many lanes at the same time, each by its number, and add up what they come to."""
    with ThreadPoolExecutor(count) as pool:
        return sum(pool.map(run, range(count)), Tally())
