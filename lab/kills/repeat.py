"""Recipes that were saved from jobs, to be run again on a world as it was."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from lab.kills.job import Job, JobModel, make_jobs
from restgpt.graph.build import build_graph
from restgpt.nodes.run.services import Context, Services
from restgpt.nodes.saved_run import save_run
from restgpt.recipes.recipe import Recipe
from restgpt.tools.settings import Settings
from restgpt_bench.worlds import open_world, served_api
from restgpt_bench.worlds.server import serve

SIZES = tuple(range(1, 9))
"""The most changes of recipes, in turn."""

THREAD = "first"


@dataclass(frozen=True, slots=True)
class Repeat(Job):
    """A job whose finished run is a recipe, which makes the same changes on the same world."""

    recipe: Recipe


def make_repeats(count: int, *, seed: int = 0, sizes: Sequence[int] = SIZES) -> list[Repeat]:
    """Return different recipes, each saved from a run of a job."""
    return [_repeat(job, number) for number, job in enumerate(make_jobs(count, seed=seed, sizes=sizes), 1)]


def _repeat(job: Job, number: int) -> Repeat:
    with serve(open_world(job.world)) as server:
        _, recipe = saved(job, server.url, f"job-{number}")
    return Repeat(job.world, job.instruction, job.code, job.changes, recipe)


def saved(job: Job, url: str, name: str) -> tuple[str, Recipe]:
    """Carry a job out on the world at `url`, and save the run as a recipe; return its answer too."""
    defaults, store = Context(writes="allow", road="program"), InMemoryStore()
    services = Services([served_api(job.world, url)], model=JobModel.over(job), settings=Settings(), defaults=defaults)
    graph = build_graph(services=services, checkpointer=InMemorySaver(), store=store)
    config: Any = {"configurable": {"thread_id": THREAD}}
    given: Any = {"instruction": job.instruction}
    graph.invoke(given, config)
    values = graph.get_state(config).values
    return str(values.get("answer", "")), save_run(values, services, name=name, store=store, thread=THREAD)
