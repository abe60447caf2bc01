"""Measures what the imports of a program cost, beside the import of LangGraph itself.

Run it with `python -m lab.speed.imports [--rounds N]`.

Each statement runs in a fresh process, and the statements take turns, so that a busy machine slows all of them alike.
Times are seconds of wall clock and of CPU; the time of an empty program is taken off. Bytecode is written in a first
round that does not count, as it is when a package is installed.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass

from lab.kit.table import markdown

EMPTY = "pass"
BASE = "import langgraph.graph"
STATEMENTS = ("import restgpt", BASE, "from restgpt import load_api", "from restgpt import build_graph")
ROUNDS = 15
MOST_ABOVE = 0.5
"""The seconds that `from restgpt import build_graph` may take beside `import langgraph.graph`."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of wall clock and of CPU time."""

    wall: float
    cpu: float

    def __sub__(self, other: "Cost") -> "Cost":
        return Cost(self.wall - other.wall, self.cpu - other.cpu)


def cost(statement: str, folder: str) -> Cost:
    """Run a statement in a fresh process with `folder` as its working folder; return what it costs."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, started = os.times(), time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], cwd=folder, env=environ, check=True)
    wall, after = time.perf_counter() - started, os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return Cost(wall, used)


def measure(statements: Sequence[str], rounds: int) -> dict[str, Cost]:
    """Return the median cost of each statement, above that of an empty program."""
    taken: dict[str, list[Cost]] = {statement: [] for statement in (EMPTY, *statements)}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds + 1):
            for statement, costs in taken.items():
                found = cost(statement, folder)
                if number:
                    costs.append(found)
    medians = {
        statement: Cost(statistics.median(item.wall for item in costs), statistics.median(item.cpu for item in costs))
        for statement, costs in taken.items()
    }
    return {statement: medians[statement] - medians[EMPTY] for statement in statements}


def main() -> int:
    """Print the table; return 1 if `build_graph` costs more than it may."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="processes for each statement")
    rounds: int = parser.parse_args().rounds
    found = measure(STATEMENTS, rounds)
    base = found[BASE]
    rows = [
        (f"`{name}`", f"{it.wall:.2f}", f"{it.cpu:.2f}", f"{it.wall - base.wall:+.2f}", f"{it.wall / base.wall:.2f}")
        for name, it in found.items()
    ]
    print(*markdown(("statement", "wall s", "CPU s", "wall s above LangGraph", "times LangGraph"), rows), sep="\n")
    return int(found[STATEMENTS[-1]].wall - base.wall > MOST_ABOVE)


if __name__ == "__main__":
    sys.exit(main())
