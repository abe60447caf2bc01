"""Measures how soon a run shows what it does: from the model's first decision to the first progress event.

Run it with `python -m lab.speed.stream [--runs N] [--json]`. Each run counts the tasks of the simulated team
board over loopback, with a scripted model. The clock starts when the model has given its first reply, and stops when
the program that streams the run has the first event; a second figure is the time from there until the first request.
The goal is an event within 100 ms.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from langchain_core.messages import BaseMessage
from pydantic import PrivateAttr

from lab.kit.board import board_agent, board_resources
from lab.kit.table import markdown
from lab.speed.timing import p95
from restgpt.graph.build import Graph
from restgpt.nodes.run.services import Context
from restgpt.tools.model.scripted import Reply, ScriptedChatModel
from restgpt_bench.worlds import open_world
from restgpt_bench.worlds.server import serve

GOAL_MS = 100.0
INSTRUCTION = "How many tasks are there?"
PROGRAM = "print('There are', find_tasks()['total'], 'tasks.')"
ANSWER = "There are 24 tasks."


@dataclass(frozen=True, slots=True)
class Delays:
    """The milliseconds of some runs from the reply of the model to its event, and from there to the first request."""

    event_ms: Sequence[float]
    request_ms: Sequence[float]

    @property
    def slowest(self) -> float:
        """The longest time until an event."""
        return max(self.event_ms)


class Programmer(ScriptedChatModel):
    """Writes the program of the instruction, and notes the moment of its reply."""

    _decided: float = PrivateAttr(default=0.0)

    @property
    def decided(self) -> float:
        """The moment of the newest reply, in seconds of the performance counter."""
        return self._decided

    def reply(self, messages: list[BaseMessage], tools: Sequence[str]) -> Reply:
        """The caller's program."""
        self._decided = time.perf_counter()
        return {"thought": "", "decision": "program", "text": PROGRAM}


@dataclass(frozen=True, slots=True)
class Streamed:
    """The moments of one run: the event of its program and its first request; and its answer."""

    event: float
    request: float
    answer: str


def measure(count: int, *, is_async: bool, kept_in: Path | None = None) -> Delays:
    """Stream `count` runs one after the other, after one that is not measured; raises `RuntimeError` if one is wrong.

    Checkpoints are kept in memory, or in SQLite in a folder.
    """
    events: list[float] = []
    requests: list[float] = []
    model = Programmer()
    with ExitStack() as stack:
        server = stack.enter_context(serve(open_world("toy")))
        graph = board_agent(board_resources(server.url, model, Context()), stack, kept_in)
        stream: Callable[[Graph, int], Streamed] = _awaited if is_async else _streamed
        for number in range(count + 1):
            found = stream(graph, number)
            if found.answer != ANSWER:
                raise RuntimeError(f"run {number} answered: {found.answer}")
            if number:
                events.append((found.event - model.decided) * 1000)
                requests.append((found.request - found.event) * 1000)
    return Delays(events, requests)


def _config(number: int) -> Any:
    return {"configurable": {"thread_id": f"run.{number}"}}


def _streamed(graph: Graph, number: int) -> Streamed:
    given: Any = {"instruction": INSTRUCTION}
    parts = graph.stream(given, _config(number), stream_mode=["custom", "values"])
    return _read([(time.perf_counter(), part) for part in parts])


def _awaited(graph: Graph, number: int) -> Streamed:
    async def run() -> list[tuple[float, Any]]:
        given: Any = {"instruction": INSTRUCTION}
        parts = graph.astream(given, _config(number), stream_mode=["custom", "values"])
        return [(time.perf_counter(), part) async for part in parts]

    return _read(asyncio.run(run()))


def _read(parts: Sequence[tuple[float, Any]]) -> Streamed:
    events = [(moment, part["type"]) for moment, (mode, part) in parts if mode == "custom"]
    answers = [part["answer"] for _, (mode, part) in parts if mode == "values"]
    written, request = (
        next(moment for moment, name in events if name == wanted) for wanted in ("program_written", "request_started")
    )
    return Streamed(written, request, answers[-1])


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
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    found = {
        "`stream`, in memory": measure(options.runs, is_async=False),
        "`astream`, in memory": measure(options.runs, is_async=True),
    }
    with tempfile.TemporaryDirectory(prefix="restgpt-stream-") as home:
        found["`stream`, SQLite"] = measure(options.runs, is_async=False, kept_in=Path(home))
    print(json.dumps({name: asdict(delays) for name, delays in found.items()}) if options.json else table(found))
    return 1 if any(delays.slowest > GOAL_MS for delays in found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
