"""Guards what a resumed run knows: each checkpoint is kept before the next node starts, whatever the host passes."""

import asyncio
import time
from threading import Lock
from typing import Any

import pytest
from board import Board
from langgraph.checkpoint.memory import InMemorySaver
from roles import by_role, program

from restgpt.graph.build import build_graph
from restgpt.nodes.resources import Resources
from restgpt.tools.http.client import HttpClient
from restgpt.tools.response.reply import Reply
from restgpt.tools.settings import Settings

CONFIG: Any = {"configurable": {"thread_id": "1"}}
CODE = 'create_project(body={"name": "Moss"})\nprint("Moss is there.")\n'
DELAY_S = 0.1


class SlowSaver(InMemorySaver):
    """Takes its time for each checkpoint, as a database across a network does; `kept` counts those that are kept."""

    def __init__(self) -> None:
        super().__init__()
        self._writing = Lock()
        self.kept: list[str] = []

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        time.sleep(DELAY_S)
        with self._writing:
            written = super().put(config, checkpoint, metadata, new_versions)
            self.kept += [str(request["id"]) for request in checkpoint["channel_values"].get("requests", [])]
        return written

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)


class WatchingClient(HttpClient):
    """Notes at each request how many calls the checkpoints hold by then."""

    def __init__(self, saver: SlowSaver) -> None:
        super().__init__(settings=Settings())
        self._saver = saver
        self.seen: list[bool] = []

    def send(self, *args: Any, **kwargs: Any) -> Reply:
        self.seen.append(bool(self._saver.kept))
        return super().send(*args, **kwargs)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_change_is_in_a_checkpoint_before_it_is_sent(board: Board, is_async: bool) -> None:
    # Else a run that is killed in between would draft the call anew, and the journal would not know it again.
    saver = SlowSaver()
    http = WatchingClient(saver)
    resources = Resources([board.api], model=by_role({"express": [program(CODE)]}), http=http, settings=Settings())
    graph = build_graph(resources=resources, checkpointer=saver)
    given, context = {"instruction": "Create Moss"}, {"writes": "allow"}
    if is_async:
        asyncio.run(graph.ainvoke(given, CONFIG, context=context))  # type: ignore[arg-type]
    else:
        graph.invoke(given, CONFIG, context=context)  # type: ignore[arg-type]
    assert board.calls() == ["POST /projects 201"]
    assert http.seen == [True]


def test_a_host_can_still_choose_another_durability(board: Board) -> None:
    saver = SlowSaver()
    http = WatchingClient(saver)
    resources = Resources([board.api], model=by_role({"express": [program(CODE)]}), http=http, settings=Settings())
    graph = build_graph(resources=resources, checkpointer=saver)
    graph.invoke(
        {"instruction": "Create Moss"},
        CONFIG,
        context={"writes": "allow"},
        durability="exit",  # type: ignore[arg-type]
    )
    assert http.seen == [False]
