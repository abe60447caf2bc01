"""Measures how soon a run shows what it does: from the model's first decision to the first progress event.

Run it with `python -m lab.speed.stream [--runs N]`. Each run counts the tasks of the simulated team
board over loopback, with a scripted model. The clock starts when the model has given its first reply, and stops when
the program that streams the run has the first event; a second figure is the time from there until the first request.
The goal is an event within 100 ms.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from lab.kit.board import Programmer, board_agent, board_resources
from lab.kit.table import markdown, p95
from restgpt.graph.build import Graph
from restgpt.nodes.run.services import Context
from restgpt_bench.worlds import open_world
from restgpt_bench.worlds.server import serve

GOAL_MS = 100.0
INSTRUCTION = "How many tasks are there?"
PROGRAM = "print('There are', find_tasks()['total'], 'tasks.')"
ANSWER = "There are 24 tasks."


@dataclass(frozen=True, slots=True)
class Delays:
    """The milliseconds of some runs from the reply of the model to its event, and from there to the first request."""

    event_ms: list[float]
    request_ms: list[float]

    @property
    def slowest(self) -> float:
        """The longest time until an event."""
        return max(self.event_ms)


def measure(count: int, *, is_async: bool, kept_in: Path | None = None) -> Delays:
    """Stream `count` runs one after the other, after one that is not measured; raises `RuntimeError` if one is wrong.

    Checkpoints are kept in memory, or in SQLite in a folder.
    """
    found = Delays([], [])
    model = Programmer(code=PROGRAM)
    with ExitStack() as stack:
        server = stack.enter_context(serve(open_world("toy")))
        graph = board_agent(board_resources(server.url, model, Context()), stack, kept_in)
        for number in range(count + 1):
            parts = asyncio.run(_awaited(graph, number)) if is_async else list(_streamed(graph, number))
            answer = next(part["answer"] for _, mode, part in reversed(parts) if mode == "values")
            if answer != ANSWER:
                raise RuntimeError(f"run {number} answered: {answer}")
            events = {part["type"]: moment for moment, mode, part in reversed(parts) if mode == "custom"}
            if number:
                found.event_ms.append((events["program_written"] - model.decided) * 1000)
                found.request_ms.append((events["request_started"] - events["program_written"]) * 1000)
    return found


def _given(number: int) -> Any:
    return {"input": {"instruction": INSTRUCTION}, "config": {"configurable": {"thread_id": f"run.{number}"}}}


def _streamed(graph: Graph, number: int) -> Iterator[tuple[float, str, Any]]:
    for mode, part in graph.stream(**_given(number), stream_mode=["custom", "values"]):
        yield time.perf_counter(), str(mode), part


async def _awaited(graph: Graph, number: int) -> list[tuple[float, str, Any]]:
    parts = graph.astream(**_given(number), stream_mode=["custom", "values"])
    return [(time.perf_counter(), str(mode), part) async for mode, part in parts]


def table(found: dict[str, Delays]) -> str:
    """The figures as a table of Markdown, a line for each way to stream."""
    columns = ("streamed by", "first event: median ms", "95th percentile", "most")
    figures = {
        name: (median(delays.event_ms), p95(delays.event_ms), delays.slowest, median(delays.request_ms))
        for name, delays in found.items()
    }
    rows = ([name, *(f"{value:.1f}" for value in values)] for name, values in figures.items())
    return "\n".join(markdown([*columns, "from there to the first request: median ms"], rows))


def main() -> int:
    """Print the figures; 1 if an event came later than the goal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=50, help="how many runs of each kind (default: 50)")
    options = parser.parse_args()
    found = {
        "`stream`, in memory": measure(options.runs, is_async=False),
        "`astream`, in memory": measure(options.runs, is_async=True),
    }
    with tempfile.TemporaryDirectory(prefix="restgpt-stream-") as home:
        found["`stream`, SQLite"] = measure(options.runs, is_async=False, kept_in=Path(home))
    print(table(found))
    return 1 if any(delays.slowest > GOAL_MS for delays in found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
