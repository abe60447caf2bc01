"""Runs of scripted programs over a served world, and their recipes."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from goodprograms import Good
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from roles import by_role, program

from restgpt.graph.build import build_graph
from restgpt.nodes.run.services import Services
from restgpt.nodes.saved_run import save_run
from restgpt.recipes.recipe import Recipe
from restgpt.specs import Api
from restgpt_bench.worlds import open_world, served_api
from restgpt_bench.worlds.server import WorldServer, serve


class GoodRun:
    """An agent over a served world whose planner writes given programs; all changes are allowed."""

    def __init__(self, server: WorldServer, api: Api) -> None:
        self.server, self.api = server, api
        self.store = InMemoryStore()
        self.state: dict[str, Any] = {}

    def ask(self, instruction: str, *codes: str, **script: Any) -> str:
        """Carry out an instruction, and return the answer."""
        told = {"express": [program(code.strip() + "\n") for code in codes], **script}
        context = {"writes": "allow"}
        graph = build_graph(
            [self.api], model=by_role(told), context=context, checkpointer=InMemorySaver(), store=self.store
        )
        config: Any = {"configurable": {"thread_id": "thread"}}
        answer: str = graph.invoke({"instruction": instruction}, config)["answer"]
        self.state = graph.get_state(config).values
        return answer

    def saved(self, **options: Any) -> Recipe:
        """Save the run."""
        given = {"name": "saved", "store": self.store, "thread": "thread", **options}
        return save_run(self.state, Services([self.api]), **given)


@contextmanager
def good_run(good: Good) -> Iterator[GoodRun]:
    """A run of a good program."""
    with world_run(good.world, good.fixture) as run:
        run.ask(good.instruction, good.code)
        yield run


@contextmanager
def world_run(name: str, fixture: str | None = None) -> Iterator[GoodRun]:
    """An agent over a fresh world."""
    world = open_world(name)
    world.reset(fixture=fixture)
    with serve(world) as server:
        yield GoodRun(server, served_api(name, server.url))
