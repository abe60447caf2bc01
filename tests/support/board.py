"""The agent with a served toy world, as most tests of the graph use it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from roles import by_role, one_task
from scripted import ScriptedModel

from restgpt.calling.journal import Journal
from restgpt.graph.build import Graph, build_graph
from restgpt.specs import Api, load_api
from restgpt.specs.reading.download import bundled_document
from restgpt_bench.worlds import CREDENTIAL, World, open_world
from restgpt_bench.worlds.server import WorldServer, serve

TOY = bundled_document("toy")
CALLS: dict[str, Any] = {"road": "roles"}
"""The setting of a run that carries out sub-tasks call by call."""


@dataclass
class Board:
    """A served toy world and its API."""

    server: WorldServer
    api: Api

    @property
    def world(self) -> World[Any]:
        return self.server.world

    def calls(self) -> list[str]:
        """The requests in the world's log, as `METHOD /template status`."""
        return [f"{entry.method} {entry.template} {entry.status}" for entry in self.world.log]

    def changes(self) -> list[str]:
        """Those of the requests that are no reads by their method."""
        return [line for line in self.calls() if not line.startswith("GET")]

    def tasks(self) -> dict[str, dict[str, Any]]:
        """The world's tasks by id."""
        return self.world.dump()["tasks"]  # type: ignore[call-overload,index,return-value]

    def entry(self) -> Api:
        """The API as an entry of `apis.yaml` that has its name."""
        return load_api(
            TOY.read_bytes(), base_url=self.server.url, auth=self.api.auth, name=self.api.name, entry=self.api.name
        )

    def agent(self, model: ScriptedModel, **options: Any) -> "Agent":
        """An agent that carries out sub-tasks call by call, unless its `context` says otherwise."""
        return agent_of([self.api], model, **{"context": CALLS, **options})

    def one_task(self, *operations: Any, **script: Any) -> "Agent":
        """An agent with the script of one sub-task."""
        return self.agent(by_role(one_task(*operations, **script)))


@dataclass
class Agent:
    """A graph with a thread of its own."""

    graph: Graph
    model: ScriptedModel
    thread: str = "thread"

    @property
    def config(self) -> RunnableConfig:
        return {"configurable": {"thread_id": self.thread}}

    def ask(self, instruction: Any, **context: Any) -> dict[str, Any]:
        given = {"instruction": instruction} if isinstance(instruction, str) else instruction
        return self.graph.invoke(given, self.config, context=context or None)  # type: ignore[return-value,arg-type]

    @property
    def journal(self) -> Journal:
        """What the thread has changed."""
        return Journal(self.graph.store, self.thread)  # type: ignore[arg-type]

    def stop_at(self, status: str, given: Any, **options: Any) -> None:
        """Run from a checkpoint of the parser to the next one, until a request has a status there."""
        for _ in range(9):
            self.graph.invoke(given, self.config, interrupt_before=["parser"], **options)
            if any(request["status"] == status for request in self.state["requests"]):
                return
            given = None
        raise AssertionError(f"no request became {status}")

    @property
    def state(self) -> dict[str, Any]:
        return self.graph.get_state(self.config).values


def agent_of(apis: Any, model: ScriptedModel, **options: Any) -> Agent:
    """An agent over these APIs, or over `services` with this model, that keeps its threads in memory."""
    given = {"checkpointer": InMemorySaver(), "store": InMemoryStore(), **options}
    if "services" not in options:
        given |= {"apis": apis, "model": model}
    return Agent(build_graph(**given), model)


@contextmanager
def served_board(*, port: int = 0, **options: Any) -> Iterator[Board]:
    with serve(open_world("toy"), port=port) as server:
        yield Board(server, load_api(TOY.read_bytes(), base_url=server.url, auth={"key": CREDENTIAL}, **options))
