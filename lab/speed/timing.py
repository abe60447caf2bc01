"""Times of a run that is made again and again, with a pause before each, and what is said of them."""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

Result = TypeVar("Result")

PAUSE_S = 0.2
"""Seconds between runs, in which the next worker starts, as it does while a model thinks or requests are sent."""


def times(run: Callable[[], Result], rounds: int, *, fault_of: Callable[[Result], str]) -> list[float]:
    """Return the milliseconds of `rounds` runs; raises RuntimeError with the fault if one of them has any."""
    taken = []
    for _ in range(rounds):
        time.sleep(PAUSE_S)
        started = time.perf_counter()
        result = run()
        taken.append((time.perf_counter() - started) * 1000)
        if fault := fault_of(result):
            raise RuntimeError(fault)
    return taken


def p95(taken: Sequence[float]) -> float:
    """Return the 95th percentile, a time that at least 95 % of them do not exceed."""
    return sorted(taken)[min(len(taken) - 1, int(len(taken) * 0.95))]
