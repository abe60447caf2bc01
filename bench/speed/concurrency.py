"""Many threads of a changing run at once in one process against one world: all finish right, and what that takes."""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from restgpt.bench.errand import DONE, Errand, ErrandModel, Step
from restgpt.graph.build import build_graph
from restgpt.graph.persistence import open_persistence
from restgpt.nodes.resources import Resources
from restgpt.specs import load_api
from restgpt.tools.http.client import HttpClient
from restgpt.tools.settings import Settings
from restgpt.worlds import CREDENTIAL, open_world
from restgpt.worlds.server import serve


@dataclass(frozen=True, slots=True)
class Figures:
    """What some runs at once came to; `wrong` names the runs that did not end right."""

    runs: int
    wrong: Sequence[str]
    seconds: float
    memory_mb: float

    def __str__(self) -> str:
        rate = self.runs / self.seconds
        return (
            f"{self.runs} runs at once: {len(self.wrong)} wrong, {self.seconds:.1f} s, {rate:.1f} runs a second, "
            f"{self.memory_mb:.0f} MB more at the peak"
        )


def _errand(number: int) -> Errand:
    name = f"Plot {number}"
    below = {"path": {"project_id": "{project}"}, "body": {"title": f"Dig plot {number}"}}
    steps = (
        Step("create_project", {"body": {"name": name}}, 1, "project", "list_projects", name),
        Step("create_task", below, stage=2),
    )
    return Errand("toy", f"Make the project {name} with the task 'Dig plot {number}'.", steps)


def run_many(count: int, *, kept_in: Path | None = None) -> Figures:
    """Run `count` threads at once, each of two changes, kept in memory or in SQLite in a folder."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with ExitStack() as stack:
        server = stack.enter_context(serve(open_world("toy")))
        document = files("restgpt.specs").joinpath("openapi/toy.yaml").read_bytes()
        api = load_api(document, base_url=server.url, auth={"key": CREDENTIAL}, name="toy")
        http = HttpClient(settings=Settings())
        saver, store = _memory(stack, kept_in)

        def run(number: int) -> str:
            errand = _errand(number)
            resources = Resources([api], model=ErrandModel.over(errand), settings=Settings(), http=http)
            graph = build_graph(resources=resources, checkpointer=saver, store=store)
            config: Any = {"configurable": {"thread_id": f"run.{number}"}}
            given: Any = {"instruction": errand.instruction}
            return str(graph.invoke(given, config, context={"writes": "allow", "code": False})["answer"])  # type: ignore[call-overload]

        started = time.monotonic()
        with ThreadPoolExecutor(count) as pool:
            answers = list(pool.map(run, range(1, count + 1)))
        seconds = time.monotonic() - started
        wrong = [f"run {number}: {answer}" for number, answer in enumerate(answers, 1) if answer != DONE]
        wrong += _misplaced(server.world.dump(), count)
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return Figures(count, wrong, seconds, memory)


def _memory(stack: ExitStack, kept_in: Path | None) -> tuple[Any, Any]:
    if kept_in is None:
        return InMemorySaver(), InMemoryStore()
    kept = stack.enter_context(open_persistence(Settings(home=kept_in)))
    return kept.checkpointer, kept.store


def _misplaced(state: Any, count: int) -> list[str]:
    """What in the world's end state is not as it should be: each project once, each with its own task."""
    projects = {project["name"]: project["id"] for project in state["projects"].values()}
    titles = [(task["title"], task["project_id"]) for task in state["tasks"].values()]
    return [
        f"plot {number}"
        for number in range(1, count + 1)
        if [place for title, place in titles if title == f"Dig plot {number}"] != [projects.get(f"Plot {number}")]
    ]


def main() -> int:
    """Print the figures in memory and in SQLite; 1 if any run ended wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    count = parser.parse_args().runs
    with tempfile.TemporaryDirectory(prefix="restgpt-concurrency-") as home:
        found = {"in memory": run_many(count), "in SQLite": run_many(count, kept_in=Path(home))}
    for name, figures in found.items():
        print(f"{name}: {figures}", *figures.wrong, sep="\n  ")
    return 1 if any(figures.wrong for figures in found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
