"""Guards that each checkpoint is saved before the next node starts, unless the host chooses another durability."""

import asyncio
import time
from typing import Any

import pytest
from board import Board
from langgraph.checkpoint.memory import InMemorySaver
from roles import by_role, program

from restgpt.graph.build import Graph, build_graph
from restgpt.nodes.run.services import Services
from restgpt.tools.graphs import ServedGraph
from restgpt.tools.http.http_client import HttpClient
from restgpt.tools.response.content import Reply
from restgpt.tools.settings import Settings

CONFIG: Any = {"configurable": {"thread_id": "1"}}
GIVEN: Any = {"instruction": "Create Moss"}
CONTEXT: Any = {"writes": "allow"}
CODE = 'create_project(body={"name": "Moss"})\nprint("Moss is there.")\n'
DELAY_S = 0.1


class SlowSaver(InMemorySaver):
    """Takes its time for each checkpoint, as a database across a network does; `kept` has the calls in checkpoints."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[str] = []

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        time.sleep(DELAY_S)
        written = super().put(config, checkpoint, metadata, new_versions)
        self.kept += [str(request["id"]) for request in checkpoint["channel_values"].get("requests", [])]
        return written

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)


class WatchingClient(HttpClient):
    """Notes at each request whether a checkpoint holds a call by then."""

    def __init__(self, saver: SlowSaver) -> None:
        super().__init__(settings=Settings())
        self._saver = saver
        self.seen: list[bool] = []

    def send(self, *args: Any, **kwargs: Any) -> Reply:
        self.seen.append(bool(self._saver.kept))
        return super().send(*args, **kwargs)


@pytest.fixture
def saver() -> SlowSaver:
    return SlowSaver()


@pytest.fixture
def http(saver: SlowSaver) -> WatchingClient:
    return WatchingClient(saver)


@pytest.fixture
def graph(board: Board, saver: SlowSaver, http: WatchingClient) -> Graph:
    services = Services([board.api], model=by_role({"express": [program(CODE)]}), http=http, settings=Settings())
    return build_graph(services=services, checkpointer=saver)


# Otherwise a run that is killed in between drafts its call anew, under an id that the journal does not have.
@pytest.mark.parametrize("way", ["called", "awaited", "a server adds its checkpointer to a copy"])
def test_a_change_is_in_a_checkpoint_before_it_is_sent(
    board: Board, graph: Graph, saver: SlowSaver, http: WatchingClient, way: str
) -> None:
    if way == "called":
        graph.invoke(GIVEN, CONFIG, context=CONTEXT)
    else:
        bare = graph.copy(update={"checkpointer": None})
        served = graph if way == "awaited" else bare.copy(update={"checkpointer": saver})
        asyncio.run(served.ainvoke(GIVEN, CONFIG, context=CONTEXT))
    assert board.calls() == ["POST /projects 201"]
    assert http.seen == [True]


def test_it_is_on_a_server_that_passes_the_default_of_langgraph(graph: Graph, http: WatchingClient) -> None:
    asyncio.run(ServedGraph.of(graph).ainvoke(GIVEN, CONFIG, context=CONTEXT, durability="async"))
    assert http.seen == [True]


def test_a_host_can_choose_another_durability(graph: Graph, http: WatchingClient) -> None:
    graph.invoke(GIVEN, CONFIG, context=CONTEXT, durability="exit")
    assert http.seen == [False]


def test_a_graph_without_a_checkpointer_runs_as_before(board: Board) -> None:
    graph = build_graph([board.api], model=by_role({"express": [program(CODE)]}))
    assert graph.invoke(GIVEN, context=CONTEXT)["answer"] == "Moss is there."
