"""Measures the time of generated code in the sandbox, by size of the data.

Run it with `python -m lab.speed.sandbox [--soak N]`.

Times are milliseconds of wall clock from the call to the result, the start of the worker included. `--soak`
runs code many times and counts what is left behind.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from lab.speed.programs import LIMITS, snippet_times
from lab.speed.search_page import search_page
from lab.speed.timing import p95
from restgpt.tools.sandbox.cpython import CPythonBackend
from restgpt.tools.sandbox.runner import run_python

SIZES = {"1 KB": 1 << 10, "10 KB": 10 << 10, "100 KB": 100 << 10, "1 MB": 1 << 20, "10 MB": 10 << 20, "50 MB": 50 << 20}
ROUNDS = {"10 MB": 12, "50 MB": 5}
USUAL_ROUNDS = 40
CODE = """
import json
best = sorted(data["results"], key=lambda row: -row["vote_average"])[:3]
print(json.dumps([{"id": row["id"], "title": row["title"]} for row in best]))
"""
SOAK = ("print(data)", "1 / 0", "import os; os._exit(1)", "print('x' * 100000)", "x = [0] * 10**11", "x = (")


def document(size: int) -> bytes:
    """Return a page of search results in several languages."""
    return search_page(size, ("harbour", "café", "orbit", "night", "letter", "東京"), count=24, beside=100)


def spread(taken: Sequence[float]) -> str:
    """Return median and 95th percentile as a table cell."""
    return f"{statistics.median(taken):7.1f} {p95(taken):7.1f}"


def table(write: Callable[[str], object]) -> None:
    """Write the latency table: a line per size with median and p95."""
    backend = CPythonBackend()
    write("| data   | median, p95 ms   |")
    write("|--------|------------------|")
    for name, size in SIZES.items():
        data, rounds = document(size), ROUNDS.get(name, USUAL_ROUNDS)
        write(f"| {name:6} | {spread(snippet_times(backend, CODE, data, rounds)):16} |")
    backend.close()


def soak(runs: int, write: Callable[[str], object]) -> None:
    """Run good and bad code `runs` times and write how many processes and descriptors there are before and after."""
    write(f"before: {left_behind()}")
    backend = CPythonBackend()
    started = time.monotonic()
    for number in range(runs):
        run_python(SOAK[number % len(SOAK)], number, backend=backend, limits=LIMITS)
    elapsed = time.monotonic() - started
    write(f"after {runs} runs in {elapsed:.1f} s: {left_behind()}")
    backend.close()
    write(f"closed: {left_behind()}")


def left_behind() -> str:
    """Return the counts of child processes, zombies included, and of open descriptors of this process."""
    tasks = Path("/proc/self/task").iterdir()
    children = sum(len((task / "children").read_text().split()) for task in tasks)
    return f"{children} children, {len(os.listdir('/proc/self/fd'))} descriptors"


def main() -> None:
    """Parse the command line and print the table, or with `--soak` the counts."""
    parser = argparse.ArgumentParser(description="Latency of the sandbox by size of the data.")
    parser.add_argument("--soak", type=int, metavar="N", help="run code N times instead and count what is left behind")
    chosen = parser.parse_args()
    if chosen.soak:
        soak(chosen.soak, print)
    else:
        table(print)


if __name__ == "__main__":
    main()
