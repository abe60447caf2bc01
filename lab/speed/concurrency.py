"""Many runs of the agent at once in one process against one world: whether all finish right, and what that takes.

Each run makes two changes on the simulated team board over loopback. Without `--async` the runs are threads with a
model that replies at once, with checkpoints in memory and in SQLite. With `--async` each model call takes `--seconds`,
and two hosts are compared: one that calls `invoke` in threads of its own, and one that awaits `ainvoke` on its event
loop. All resolve a name through their event loop all the while, which uses the loop's default executor.
"""

import argparse
import asyncio
import re
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from lab.kit.board import board_agent, board_resources
from lab.kit.errand import DONE, Errand, ErrandModel, Step
from lab.kit.fresh import fresh
from lab.kit.table import markdown
from restgpt.graph.build import Graph, build_graph
from restgpt.nodes.run.services import Context, Services
from restgpt_bench.worlds import open_world
from restgpt_bench.worlds.server import serve

Mode = Literal["threads", "async"]

ALONE = 3
"""How many runs are made alone, one after the other, before many are made at once."""

IDLE_SECONDS = 2.0
LOOKUP_PAUSE = 0.02


@dataclass(slots=True)
class Figures:
    """What a host with many runs at once came to: seconds, megabytes, and milliseconds of its name look-ups.

    `wrong` names the runs that did not end right; `alone` is the longest of some runs before, one after the other.
    """

    host: str
    runs: int
    wrong: list[str]
    seconds: float
    slowest: float
    alone: float
    cpu: float
    memory_mb: float
    lookup_median_ms: float
    lookup_max_ms: float
    idle_median_ms: float
    idle_max_ms: float

    @property
    def bound(self) -> float:
        """The seconds to stay below: 1.5 times the longest run alone, and the CPU time that all used."""
        return 1.5 * self.alone + self.cpu


def _errand(number: int) -> Errand:
    name = f"Plot {number}"
    below = {"path": {"project_id": "{project}"}, "body": {"title": f"Dig plot {number}"}}
    steps = (
        Step("create_project", {"body": {"name": name}}, 1, "project", "list_projects", name),
        Step("create_task", below, stage=2),
    )
    return Errand("toy", f"Make the project {name} with the task 'Dig plot {number}'.", steps)


def _errand_of(prompt: str) -> Errand:
    """The errand of a prompt; where none is named, they do not differ."""
    named = re.search(r"\bPlot (\d+)", prompt)
    return _errand(int(named.group(1)) if named else 0)


def run_many(count: int, *, kept_in: Path | None = None) -> Figures:
    """Run `count` threads at once with a model that replies at once, kept in memory or in SQLite in a folder."""
    return host_many(count, 0.0, "threads", kept_in=kept_in)


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _resources(url: str, *, seconds: float = 0.0) -> Services:
    """The services over the team board at `url`, with a model that takes `seconds` for each reply."""
    model = ErrandModel.choosing(_errand_of, seconds=seconds)
    return board_resources(url, model, Context(road="roles", writes="allow", code=False))


def _given(number: int) -> tuple[Any, Any]:
    """The input and the configuration of a run."""
    return {"instruction": _errand(number).instruction}, {"configurable": {"thread_id": f"run.{number}"}}


def _misplaced(state: Any, numbers: Sequence[int]) -> list[str]:
    """What in the world's end state is not as it should be: each project once, each with its own task."""
    projects = {project["name"]: project["id"] for project in state["projects"].values()}
    titles = [(task["title"], task["project_id"]) for task in state["tasks"].values()]
    return [
        f"plot {number}"
        for number in numbers
        if [place for title, place in titles if title == f"Dig plot {number}"] != [projects.get(f"Plot {number}")]
    ]


class _Timed(NamedTuple):
    """The answer of one run and its seconds."""

    answer: str
    seconds: float


def host_many(count: int, seconds: float, mode: Mode, *, kept_in: Path | None = None) -> Figures:
    """Run `count` runs at once in a fresh process, with a model that takes `seconds` for each reply."""
    with serve(open_world("toy")) as server:
        figures = fresh(_measure, server.url, count, seconds, mode, kept_in)
        figures.wrong += _misplaced(server.world.dump(), range(1, count + ALONE + 1))
    return figures


def _measure(url: str, count: int, seconds: float, mode: Mode, kept_in: Path | None) -> Figures:
    # The first run in a process imports modules, so it is made before the clock starts.
    build_graph(services=_resources(url)).invoke(*_given(count + ALONE + 1))
    with ExitStack() as stack:
        return asyncio.run(_host(board_agent(_resources(url, seconds=seconds), stack, kept_in), count, mode))


async def _host(graph: Graph, count: int, mode: Mode) -> Figures:
    """A host that makes a few runs alone and then many at once, and resolves a name all the while."""
    with ThreadPoolExecutor(count) as pool:

        def start(number: int) -> Awaitable[Any]:
            if mode == "async":
                return graph.ainvoke(*_given(number))
            return asyncio.get_running_loop().run_in_executor(pool, graph.invoke, *_given(number))

        run = partial(_timed, start)
        async with _lookups() as idle:
            await asyncio.sleep(IDLE_SECONDS)
        alone = [await run(count + number) for number in range(1, ALONE + 1)]
        memory, cpu, started = _peak_mb(), time.process_time(), time.monotonic()
        async with _lookups() as busy:
            runs = await asyncio.gather(*(run(number) for number in range(1, count + 1)))
        wall, cpu = time.monotonic() - started, time.process_time() - cpu
    return Figures(
        host="`invoke` in threads" if mode == "threads" else "`ainvoke`",
        runs=count,
        wrong=[f"run {number}: {one.answer}" for number, one in enumerate([*runs, *alone], 1) if one.answer != DONE],
        seconds=wall,
        slowest=max(one.seconds for one in runs),
        alone=max(one.seconds for one in alone),
        cpu=cpu,
        memory_mb=_peak_mb() - memory,
        lookup_median_ms=statistics.median(busy),
        lookup_max_ms=max(busy),
        idle_median_ms=statistics.median(idle),
        idle_max_ms=max(idle),
    )


async def _timed(started_run: Callable[[int], Awaitable[Any]], number: int) -> _Timed:
    started = time.monotonic()
    result = await started_run(number)
    return _Timed(str(result["answer"]), time.monotonic() - started)


@asynccontextmanager
async def _lookups() -> AsyncIterator[list[float]]:
    """Resolve a name again and again on the event loop; the milliseconds of each look-up come into the list."""
    taken: list[float] = []

    async def look_up() -> None:
        while True:
            started = time.perf_counter()
            await asyncio.get_running_loop().getaddrinfo("localhost", 80)
            taken.append((time.perf_counter() - started) * 1000)
            await asyncio.sleep(LOOKUP_PAUSE)

    task = asyncio.create_task(look_up())
    try:
        yield taken
    finally:
        task.cancel()
        await asyncio.wait([task])


COLUMNS: dict[str, Callable[[Figures], str]] = {
    "host": lambda found: found.host,
    "finished right": lambda found: f"{found.runs - len(found.wrong)} of {found.runs}",
    "seconds": lambda found: f"{found.seconds:.1f}",
    "runs a second": lambda found: f"{found.runs / found.seconds:.1f}",
    "slowest run": lambda found: f"{found.slowest:.1f}",
    "longest alone": lambda found: f"{found.alone:.1f}",
    "CPU s": lambda found: f"{found.cpu:.1f}",
    "1.5 × alone + CPU": lambda found: f"{found.bound:.1f}",
    "more MB at the peak": lambda found: f"{found.memory_mb:.0f}",
    "look-up ms, median (max)": lambda found: f"{found.lookup_median_ms:.1f} ({found.lookup_max_ms:.0f})",
    "idle": lambda found: f"{found.idle_median_ms:.1f} ({found.idle_max_ms:.0f})",
}


def table(found: Sequence[Figures]) -> str:
    """The figures as a table of Markdown, a line for each host."""
    return "\n".join(markdown(COLUMNS, ([cell(one) for cell in COLUMNS.values()] for one in found)))


def main() -> int:
    """Print the figures; 1 if any run ended wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="how many runs at once (default: 200)")
    parser.add_argument("--async", action="store_true", dest="hosts", help="compare threads with `ainvoke`")
    parser.add_argument(
        "--seconds", type=float, default=0.5, help="seconds of a model call with --async (default: 0.5)"
    )
    options = parser.parse_args()
    if options.hosts:
        modes: tuple[Mode, ...] = ("threads", "async")
        found = [host_many(options.runs, options.seconds, mode) for mode in modes]
    else:
        with tempfile.TemporaryDirectory(prefix="restgpt-concurrency-") as home:
            found = [run_many(options.runs), run_many(options.runs, kept_in=Path(home))]
        for figures, place in zip(found, ("in memory", "SQLite"), strict=True):
            figures.host = place
    print(table(found))
    print(*(f"{figures.host}: {fault}" for figures in found for fault in figures.wrong), sep="\n")
    return 1 if any(figures.wrong for figures in found) else 0


if __name__ == "__main__":
    sys.exit(main())
