"""Guards the agent under asyncio: awaited, streamed, paused and cancelled, with checkpointer and store of that kind."""

import asyncio
from pathlib import Path
from threading import Event
from typing import Any

from board import Board
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite.aio import AsyncSqliteStore
from langgraph.types import Command
from roles import by_role, call, end, plan, select
from scripted import ScriptedModel

from restgpt.graph.build import build_graph
from restgpt.nodes.resources import Resources
from restgpt.tools.http.client import HttpClient
from restgpt.tools.response.reply import Reply

CONFIG: Any = {"configurable": {"thread_id": "1"}}


def creating() -> ScriptedModel:
    return by_role(
        {
            "planner": [plan("Create Moss"), end("Moss is there.")],
            "selector": [select("create_project")],
            "caller": [call({"body": {"name": "Moss"}})],
        }
    )


def test_a_paused_run_is_streamed_to_its_end_with_what_asyncio_offers(board: Board, tmp_path: Path) -> None:
    async def run() -> list[str]:
        file = str(tmp_path / "threads.db")
        async with AsyncSqliteSaver.from_conn_string(file) as saver, AsyncSqliteStore.from_conn_string(file) as store:
            await store.setup()
            graph = build_graph([board.api], model=creating(), checkpointer=saver, store=store)
            paused = await graph.ainvoke({"instruction": "Create Moss"}, CONFIG)
            assert "__interrupt__" in paused
            assert board.calls() == []
            stream = graph.astream(Command(resume="approve"), CONFIG, stream_mode="updates")
            seen = [name async for part in stream for name in part]
            assert (await graph.aget_state(CONFIG)).values["answer"] == "Moss is there."
            return seen

    assert asyncio.run(run())[-3:] == ["sender", "parser", "planner"]
    assert board.calls() == ["POST /projects 201"]


class Held(HttpClient):
    """Holds an answer back until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.answered, self.free = Event(), Event()

    def send(self, *args: Any, **more: Any) -> Reply:
        reply = super().send(*args, **more)
        self.answered.set()
        self.free.wait()
        return reply


def test_a_change_whose_run_was_cancelled_is_not_sent_again_unasked(board: Board) -> None:
    http = Held()
    resources = Resources([board.api], model=creating(), http=http)
    graph = build_graph(resources=resources, checkpointer=InMemorySaver(), store=InMemoryStore())

    async def run() -> dict[str, Any]:
        task = asyncio.create_task(graph.ainvoke({"instruction": "Create"}, CONFIG, context={"writes": "allow"}))  # type: ignore[arg-type]
        await asyncio.to_thread(http.answered.wait)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        paused: dict[str, Any] = await graph.ainvoke(None, CONFIG, context={"writes": "allow"})  # type: ignore[arg-type]
        return paused

    async def run_and_let_go() -> dict[str, Any]:
        try:
            return await run()
        finally:
            http.free.set()

    [pause] = asyncio.run(run_and_let_go())["__interrupt__"]
    assert "may or may not have been carried out" in pause.value["action_requests"][0]["description"]
    assert board.calls() == ["POST /projects 201"]
