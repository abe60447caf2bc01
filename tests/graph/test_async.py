"""Guards the agent under asyncio: awaited, streamed, paused and cancelled, with async checkpointer and store."""

import asyncio
import logging
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from threading import Barrier, Event, Lock
from typing import Any

import pytest
from board import CALLS, Board
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite.aio import AsyncSqliteStore
from langgraph.types import Command
from roles import by_role, call, end, one_task, plan, role_of, select
from scripted import Reply as Scripted
from scripted import ScriptedModel

from restgpt.graph.build import build_graph
from restgpt.nodes.intake import EmptyInstructionError
from restgpt.nodes.run.services import Context, Services
from restgpt.tools.http.http_client import HttpClient
from restgpt.tools.response.content import Reply

CONFIG: Any = {"configurable": {"thread_id": "1"}}


def creating() -> ScriptedModel:
    planner = [plan("Create Moss"), end("Moss is there.")]
    return by_role(one_task("create_project", planner=planner, caller=[call({"body": {"name": "Moss"}})]))


def test_a_paused_run_is_streamed_to_its_end_with_what_asyncio_offers(board: Board, tmp_path: Path) -> None:
    async def run() -> list[str]:
        file = str(tmp_path / "threads.db")
        async with AsyncSqliteSaver.from_conn_string(file) as saver, AsyncSqliteStore.from_conn_string(file) as store:
            await store.setup()
            graph = build_graph([board.api], model=creating(), context=CALLS, checkpointer=saver, store=store)
            paused = await graph.ainvoke({"instruction": "Create Moss"}, CONFIG)
            assert "__interrupt__" in paused
            assert board.calls() == []
            stream = graph.astream(Command(resume="approve"), CONFIG, stream_mode="updates")
            seen = [name async for part in stream for name in part]
            assert (await graph.aget_state(CONFIG)).values["answer"] == "Moss is there."
            return seen

    assert asyncio.run(run())[-3:] == ["parser", "parser", "planner"]
    assert board.calls() == ["POST /projects 201"]


class Held(HttpClient):
    """Blocks a response until the test releases it."""

    def __init__(self) -> None:
        super().__init__()
        self.answered, self.free = Event(), Event()

    def send(self, *args: Any, **more: Any) -> Reply:
        reply = super().send(*args, **more)
        self.answered.set()
        self.free.wait()
        return reply


def cancelled(board: Board, http: Held, then: Callable[[], object]) -> dict[str, Any]:
    """Cancel a run while its change waits for its answer, do something, and go on with the run."""
    services = Services([board.api], model=creating(), http=http, defaults=Context(**CALLS, writes="allow"))
    graph = build_graph(services=services, checkpointer=InMemorySaver(), store=InMemoryStore())

    async def run() -> Any:
        task = asyncio.create_task(graph.ainvoke({"instruction": "Create"}, CONFIG))  # type: ignore[arg-type]
        await asyncio.to_thread(http.answered.wait)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        await asyncio.to_thread(then)
        try:
            return await graph.ainvoke(None, CONFIG)
        finally:
            http.free.set()

    done: dict[str, Any] = asyncio.run(run())
    assert board.calls() == ["POST /projects 201"]
    return done


def test_a_change_whose_run_was_cancelled_is_not_sent_again_unasked(board: Board) -> None:
    [pause] = cancelled(board, Held(), lambda: None)["__interrupt__"]
    assert "may or may not have been carried out" in pause.value["action_requests"][0]["description"]


class Ended(logging.Handler):
    """Signals that a node has ended."""

    def __init__(self, node: str) -> None:
        super().__init__()
        self.node, self.happened = node, Event()

    def emit(self, record: logging.LogRecord) -> None:
        if record.event["node"] == self.node:  # type: ignore[attr-defined]
            self.happened.set()


def test_a_cancelled_runs_change_is_journalled_when_answered(board: Board, caplog: pytest.LogCaptureFixture) -> None:
    http, ended = Held(), Ended("parser")

    def let_it_come() -> None:
        ended.happened.clear()  # the node had ended before the change went out
        http.free.set()
        ended.happened.wait()

    log = logging.getLogger("restgpt.nodes")
    log.addHandler(ended)
    try:
        with caplog.at_level(logging.INFO, logger=log.name):
            assert cancelled(board, http, let_it_come)["answer"] == "Moss is there."
    finally:
        log.removeHandler(ended)


def test_a_cancelled_run_starts_no_further_node(board: Board, caplog: pytest.LogCaptureFixture) -> None:
    asked, free = Event(), Event()

    def reply(prompt: list[BaseMessage]) -> Scripted:
        asked.set()
        free.wait()
        return plan("Create Moss")

    model = ScriptedModel(reply)
    graph = build_graph([board.api], model=model, context=CALLS, concurrency=1)

    async def run() -> None:
        task = asyncio.create_task(graph.ainvoke({"instruction": "Create"}, context={"writes": "allow"}))  # type: ignore[arg-type]
        await asyncio.to_thread(asked.wait)
        task.cancel()
        await asyncio.wait([task])
        free.set()
        # The graph's only thread starts this run after it has finished the cancelled one.
        with pytest.raises(EmptyInstructionError):
            await graph.ainvoke({"instruction": ""})  # type: ignore[arg-type]

    with caplog.at_level(logging.INFO, logger="restgpt.nodes"):
        asyncio.run(run())
    events = [record.event for record in caplog.records]  # type: ignore[attr-defined]
    assert [(event["node"], event["status"]) for event in events] == [
        *(("intake", "done"), ("planner", "done"), ("intake", "failed"))
    ]
    assert len(model.prompts) == 1


CALLER: ContextVar[str] = ContextVar("caller", default="nobody")


def test_a_node_sees_the_context_variables_of_the_run_that_it_belongs_to(board: Board) -> None:
    seen: dict[str, set[str]] = {"one": set(), "other": set()}

    def reply(prompt: list[BaseMessage]) -> Scripted:
        who = next(name for name in seen if f"Count for {name}" in str(prompt[1:]))
        seen[who].add(CALLER.get())
        called = "status 200" in str(prompt[1:])
        replies = {"planner": end("4") if called else plan(f"Count for {who}"), "selector": select("list_projects")}
        return replies.get(role_of(prompt), call({}))

    graph = build_graph(
        [board.api], model=ScriptedModel(reply), context={**CALLS, "code": False, "result_budget": 5000}
    )

    async def one(who: str) -> Any:
        CALLER.set(who)
        return await graph.ainvoke({"instruction": f"Count for {who}"})  # type: ignore[arg-type]

    async def both() -> Any:
        return await asyncio.gather(one("one"), one("other"))

    assert [found["answer"] for found in asyncio.run(both())] == ["4", "4"]
    assert seen == {"one": {"one"}, "other": {"other"}}


class Names(BaseCallbackHandler):
    """Records the names of a trace's steps in the order in which they start."""

    run_inline = True

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_chain_start(self, *args: Any, **more: Any) -> None:
        self.names.append(more["name"])


def test_the_trace_of_an_awaited_run_names_the_same_steps(board: Board) -> None:
    called, awaited = Names(), Names()

    def run(trace: Names, way: str) -> Any:
        graph = build_graph([board.api], model=creating(), context={**CALLS, "writes": "dry-run"})
        return getattr(graph, way)({"instruction": "Create Moss"}, {"callbacks": [trace]})

    run(called, "invoke")
    asyncio.run(run(awaited, "ainvoke"))
    assert called.names == awaited.names
    assert {"RestGPT", "intake", "planner", "after_planner", "parser", "after_parser"} <= set(awaited.names)


def test_a_graph_with_a_concurrency_of_its_own_runs_so_many_nodes_at_once_and_no_more(board: Board) -> None:
    two_there, lock = Barrier(2), Lock()
    at_once: list[int] = [0]

    def reply(prompt: list[BaseMessage]) -> Scripted:
        with lock:
            at_once.append(at_once[-1] + 1)
        two_there.wait()
        with lock:
            at_once.append(at_once[-1] - 1)
        return end("Done.")

    graph = build_graph([board.api], model=ScriptedModel(reply), context=CALLS, concurrency=2)
    found = asyncio.run(graph.abatch([{"instruction": "Rest"}] * 6))  # type: ignore[list-item]
    assert [one["answer"] for one in found] == ["Done."] * 6
    assert max(at_once) == 2


def test_a_graph_needs_a_thread(board: Board) -> None:
    with pytest.raises(ValueError, match="concurrency must be a whole number above zero"):
        build_graph([board.api], concurrency=0)
