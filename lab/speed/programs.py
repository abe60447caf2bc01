"""Measures the time of one run of a program in the sandbox, by the calls that are answered already.

Run it with `python -m lab.speed.programs [--rounds N]`, or `make bench-programs`.

Times are milliseconds of wall clock from the call of `run_program` to its result. A program runs again from
its start after each pause, so its last run is the longest.
"""

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial

from lab.kit.table import markdown, p95
from restgpt.tools.sandbox.code import call_text, digest_of
from restgpt.tools.sandbox.result import Entry, Limits
from restgpt.tools.sandbox.runner import run_program, run_python

ROUNDS = 40
PAUSE_S = 0.2
"""Seconds between runs, in which the next worker starts, as it does while a model thinks or requests are sent."""

LIMITS = Limits(wall=60.0)
STUB = {
    "name": "get",
    "keywords": {"n": True},
    "others": ["pages"],
    "needs_body": False,
    "result": ["page", "results"],
    "truths": [],
}
SMALL = "print(len(get(n=0)['results']))"
IN_ORDER = "total = 0\nfor n in range({0}):\n    total += len(get(n=n)['results'])\nprint(total)"
TOGETHER = "print(sum(len(found['results']) for found in gather(*[get(n=n) for n in range({0})])))"
WITH_LIBRARY = "print(one(rows(get(n=0)), id=3)['title'], field(get(n=1), 'page'))"


def body(size: int) -> bytes:
    """Return about `size` bytes of JSON in the shape of a page of search results; the same for the same size."""
    source = random.Random(size)
    rows: list[dict[str, object]] = []
    length = 0
    while length < size:
        text = " ".join(source.choices(("harbour", "orbit", "night", "letter"), k=20))
        rows.append({"id": len(rows), "title": text[:30], "vote_average": source.random() * 10, "overview": text})
        length += len(text) + 90
    return json.dumps({"page": 1, "results": rows}).encode()


def snippet() -> str:
    """Run a snippet of the parser; returns what is wrong."""
    result = run_python("print(len(data['results']))", body(10_000), limits=LIMITS)
    return "" if result.ok else result.feedback()


def program(code: str, answered: int = 0, size: int = 0, *, is_first: bool = False) -> Callable[[], str]:
    """Return a run of a program with so many answers of a size; its result says what is wrong."""
    raw = body(size)
    entries = [
        Entry(str(n), f"key {n}", digest_of(call_text("get", [], {"n": n})), "answer", 200, {"etag": "x"}, "json", raw)
        for n in range(answered)
    ]
    checked = {"check": "fields", "stubs": [STUB], "names": ["get"]} if is_first else {}
    given = {"functions": ["get"], "entries": entries, "clock": 1.7e9, "seed": "seed", "most": 50, "limits": LIMITS}
    run = partial(run_program, code, **given, **checked)  # type: ignore[arg-type]

    def fault() -> str:
        done = run()
        return "" if done.kind == ("finished" if answered else "calls") else done.problem or done.kind

    return fault


CASES: dict[str, Callable[[], str]] = {
    "a snippet of the parser over 10 kB": snippet,
    "a small program, checked, to its first call": program(SMALL, is_first=True),
    "a small program to its first call": program(SMALL),
    "a small program, 1 answer of 10 kB": program(SMALL, 1, 10_000),
    "the library, 2 answers of 10 kB": program(WITH_LIBRARY, 2, 10_000),
    "20 answers of 10 kB in order": program(IN_ORDER.format(20), 20, 10_000),
    "20 answers of 10 kB in gather": program(TOGETHER.format(20), 20, 10_000),
    "100 answers of 10 kB in order": program(IN_ORDER.format(100), 100, 10_000),
    "20 answers of 1 MB in order": program(IN_ORDER.format(20), 20, 1_000_000),
}
"""Programs at one of their runs, by what it has."""


def times(run: Callable[[], str], rounds: int) -> list[float]:
    """Return the milliseconds of `rounds` runs; raises RuntimeError with the fault if one of them has any."""
    taken = []
    for _ in range(rounds):
        time.sleep(PAUSE_S)
        started = time.perf_counter()
        fault = run()
        taken.append((time.perf_counter() - started) * 1000)
        if fault:
            raise RuntimeError(fault)
    return taken


def row(name: str, taken: Sequence[float]) -> list[object]:
    """Return minimum, median and 95th percentile of a case."""
    return [name, *(round(value, 1) for value in (min(taken), statistics.median(taken), p95(taken)))]


def main() -> None:
    """Parse the command line and print the table."""
    parser = argparse.ArgumentParser(description="Latency of programs in the sandbox by their answered calls.")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help=f"runs of each case ({ROUNDS})")
    rounds = parser.parse_args().rounds
    rows = (row(name, times(run, rounds)) for name, run in CASES.items())
    for line in markdown(("one run of", "minimum ms", "median ms", "p95 ms"), rows):
        print(line)


if __name__ == "__main__":
    main()
