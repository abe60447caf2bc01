"""Measures the time of one run of a program in the sandbox, by the calls that are answered already.

Run it with `python -m lab.speed.programs [--json]`, or `make bench-programs`.

Times are milliseconds of wall clock from the call of `run_program` to its result. A program runs again from
its start after each pause, so its last run is the longest.
"""

import argparse
import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lab.kit.table import markdown
from lab.speed.search_page import search_page
from lab.speed.timing import p95, times
from restgpt.tools.sandbox.code import call_text, digest_of
from restgpt.tools.sandbox.result import Entry, Limits, ProgramRun, SandboxResult
from restgpt.tools.sandbox.runner import run_program, run_python

ROUNDS = 40
LIMITS = Limits(wall=60.0)
STUB = {
    "name": "get",
    "keywords": {"n": True},
    "others": ["pages"],
    "needs_body": False,
    "result": ["page", "results"],
    "truths": [],
}


@dataclass(frozen=True)
class Case:
    """A program at one of its runs: `answered` calls have answers of `size` bytes each."""

    name: str
    code: str
    answered: int = 0
    size: int = 0
    is_first: bool = False


SMALL = "print(len(get(n=0)['results']))"
IN_ORDER = "total = 0\nfor n in range({0}):\n    total += len(get(n=n)['results'])\nprint(total)"
TOGETHER = "print(sum(len(found['results']) for found in gather(*[get(n=n) for n in range({0})])))"
WITH_LIBRARY = "print(one(rows(get(n=0)), id=3)['title'], field(get(n=1), 'page'))"
CASES = (
    Case("a small program, checked, to its first call", SMALL, is_first=True),
    Case("a small program to its first call", SMALL),
    Case("a small program, 1 answer of 10 kB", SMALL, 1, 10_000),
    Case("the library, 2 answers of 10 kB", WITH_LIBRARY, 2, 10_000),
    Case("20 answers of 10 kB in order", IN_ORDER.format(20), 20, 10_000),
    Case("20 answers of 10 kB in gather", TOGETHER.format(20), 20, 10_000),
    Case("100 answers of 10 kB in order", IN_ORDER.format(100), 100, 10_000),
    Case("20 answers of 1 MB in order", IN_ORDER.format(20), 20, 1_000_000),
)


def body(size: int) -> bytes:
    """Return a page of search results."""
    return search_page(size, ("harbour", "orbit", "night", "letter"), count=20, beside=90)


def entries(case: Case) -> list[Entry]:
    """Return the answers of a case."""
    raw = body(case.size)
    found = []
    for number in range(case.answered):
        digest = digest_of(call_text("get", [], {"n": number}))
        found.append(Entry(str(number), f"key {number}", digest, "answer", 200, {"etag": "x" * 32}, "json", raw))
    return found


def program_times(case: Case, rounds: int) -> list[float]:
    """Return the milliseconds of `rounds` runs. Raises RuntimeError if one of them fails."""
    given = entries(case)

    def run() -> ProgramRun:
        return run_program(
            case.code,
            functions=["get"],
            entries=given,
            clock=1.7e9,
            seed="seed",
            most=50,
            check="fields" if case.is_first else "",
            stubs=[STUB] if case.is_first else (),
            names=["get"] if case.is_first else (),
            limits=LIMITS,
        )

    def fault_of(run: ProgramRun) -> str:
        return "" if run.kind == ("finished" if given else "calls") else run.problem or run.kind

    return times(run, rounds, fault_of=fault_of)


def snippet_times(code: str, data: bytes, rounds: int) -> list[float]:
    """Return the milliseconds of `rounds` runs of a parser's snippet. Raises RuntimeError if one of them fails."""

    def run() -> SandboxResult:
        return run_python(code, data, limits=LIMITS)

    return times(run, rounds, fault_of=lambda result: "" if result.ok else result.feedback())


def measured(rounds: int) -> dict[str, list[float]]:
    """Return the times of all cases by their names."""
    snippet = snippet_times("print(len(data['results']))", body(10_000), rounds)
    found = {"a snippet of the parser over 10 kB": snippet}
    found |= {case.name: program_times(case, rounds) for case in CASES}
    return found


def spread(taken: Sequence[float]) -> dict[str, float]:
    """Return minimum, median and 95th percentile."""
    return {
        "minimum": round(min(taken), 1),
        "median": round(statistics.median(taken), 1),
        "p95": round(p95(taken), 1),
    }


def table(found: dict[str, list[float]], write: Callable[[str], object]) -> None:
    """Write a line for each case."""
    rows = ([name, *spread(taken).values()] for name, taken in found.items())
    for line in markdown(("one run of", "minimum ms", "median ms", "p95 ms"), rows):
        write(line)


def main() -> None:
    """Parse the command line and print the table, or with `--json` the figures."""
    parser = argparse.ArgumentParser(description="Latency of programs in the sandbox by their answered calls.")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help=f"runs of each case ({ROUNDS})")
    chosen = parser.parse_args()
    found = measured(chosen.rounds)
    if chosen.json:
        print(json.dumps({name: spread(taken) for name, taken in found.items()}, indent=2))
    else:
        table(found, print)


if __name__ == "__main__":
    main()
