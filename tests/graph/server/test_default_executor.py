"""Guards the host's default executor: no graph of ours uses it, by any async method of a graph."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from board import CALLS, Board
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite.aio import AsyncSqliteStore
from langgraph.types import Command
from roles import by_role, call, end, plan, select
from scripted import Reply, ScriptedModel

from lab.kit.errand import DONE, ErrandModel, board_errand, reading_errand
from restgpt.calling.journal import Journal
from restgpt.calling.undo import reversals
from restgpt.graph.build import build_graph
from restgpt.graph.single import build_calls, calls_input
from restgpt.nodes.run.services import Context, Services
from restgpt.tools.sandbox.runner import python_tool
from restgpt.tools.settings import Settings
from restgpt_bench.methods.build import build_method
from restgpt_functions.graph import build_functions_graph

pytestmark = pytest.mark.slow

CREATED = call({"body": {"name": "Moss"}})
DONE_REPLY: Reply = {"thought": "", "calls": [], "answer": "Moss is there."}


class Refusing(ThreadPoolExecutor):
    """A default executor that rejects all work."""

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:
        raise AssertionError("the host's default executor was used")


def run(work: Callable[[], Awaitable[Any]]) -> Any:
    """Run `work` on an event loop whose default executor rejects all work."""

    async def guarded() -> Any:
        asyncio.get_running_loop().set_default_executor(Refusing())
        return await work()

    return asyncio.run(guarded())


async def by_ainvoke(graph: Any, given: Any, config: Any, **more: Any) -> None:
    await graph.ainvoke(given, config, **more)


async def by_astream(graph: Any, given: Any, config: Any, **more: Any) -> None:
    modes = ["updates", "messages", "custom", "values", "debug"]
    assert [part async for part in graph.astream(given, config, stream_mode=modes, subgraphs=True, **more)]


async def by_astream_events(graph: Any, given: Any, config: Any, **more: Any) -> None:
    events = [event async for event in graph.astream_events(given, config, version="v2", **more)]
    assert events[-1]["event"] == "on_chain_end"


async def by_abatch(graph: Any, given: Any, config: Any, **more: Any) -> None:
    await graph.abatch([given], [config], **more)


WAYS = pytest.mark.parametrize("way", [by_ainvoke, by_astream, by_astream_events, by_abatch])


async def to_the_end(
    way: Any, graph: Any, given: Any, *, thread: str = "1", answer: Any = "approve", **more: Any
) -> Any:
    """Await a graph, answer all interrupts, and return the state and the number of interrupts."""
    config = {"configurable": {"thread_id": thread}}
    await way(graph, given, config, **more)
    pauses = 0
    while (state := await graph.aget_state(config)).interrupts:
        pauses += 1
        resumed = {interrupt.id: answer for interrupt in state.interrupts}
        await way(graph, Command(resume=resumed), config, **more)
    return state.values, pauses


def describe(*calls: str) -> Reply:
    return {**select(*calls), "description": "so far", "explanation": "", "answer": "" if calls else "Moss is there."}  # type: ignore[dict-item]


SCRIPTS: dict[str, dict[str, list[Reply]]] = {
    "restgpt": {"planner": [plan("Create Moss"), end("Moss is there.")], "selector": [select("create_project")]},
    "react": {"react": [select("create_project"), DONE_REPLY]},
    "offline": {"offline": [select("create_project")], "answer": ["Moss is there."]},
    "deps": {"deps": [describe("create_project"), describe()]},
    "reflexion": {"react": [select("create_project"), DONE_REPLY], "judge": [{"success": True, "reflection": ""}]},
}


@WAYS
@pytest.mark.parametrize("method", SCRIPTS)
def test_a_change_is_approved_and_made(board: Board, method: str, way: Any) -> None:
    model = by_role({**SCRIPTS[method], "caller": [CREATED]})
    graph = build_method(
        method, [board.api], model=model, context=CALLS, checkpointer=InMemorySaver(), store=InMemoryStore()
    )
    state, pauses = run(lambda: to_the_end(way, graph, {"instruction": "Create Moss"}))
    assert (state["answer"], pauses) == ("Moss is there.", 1)
    assert board.calls() == ["POST /projects 201"]


def test_many_requests_go_out_side_by_side_with_checkpoints_in_sqlite(board: Board, tmp_path: Path) -> None:
    errand = reading_errand()

    async def work() -> Any:
        file = str(tmp_path / "threads.db")
        async with AsyncSqliteSaver.from_conn_string(file) as saver, AsyncSqliteStore.from_conn_string(file) as store:
            await store.setup()
            memory: Any = {"checkpointer": saver, "store": store}
            graph = build_graph([board.api], model=ErrandModel.over(errand), context={**CALLS, "code": False}, **memory)
            return await to_the_end(by_astream, graph, {"instruction": errand.instruction})

    state, _ = run(work)
    assert state["answer"] == DONE
    assert len(board.calls()) == 3


def test_a_batch_runs_side_by_side(board: Board) -> None:
    errand = reading_errand()
    graph = build_graph([board.api], model=ErrandModel.over(errand), context=CALLS)
    given: Any = [{"instruction": errand.instruction}] * 3
    answers = run(lambda: graph.abatch(given, context={**CALLS, "code": False}))
    assert [answer["answer"] for answer in answers] == [DONE] * 3
    assert len(board.calls()) == 9


@WAYS
def test_changes_are_undone(board: Board, way: Any) -> None:
    saver, store = InMemorySaver(), InMemoryStore()
    errand = board_errand()
    services = Services([board.api], model=ErrandModel.over(errand), settings=Settings(), defaults=Context(**CALLS))
    graph = build_graph(services=services, checkpointer=saver, store=store)
    undo = build_calls(services, checkpointer=saver, store=store)

    async def work() -> Any:
        await to_the_end(way, graph, {"instruction": errand.instruction}, context={"code": False, "writes": "allow"})
        found = reversals(Journal(store, "1"), services.catalogue(()))
        given = calls_input(reversal.draft for reversal in found if reversal.draft is not None)
        return await to_the_end(way, undo, given, thread="1/undo")

    state, pauses = run(work)
    assert [request["status"] for request in state["requests"]] == ["sent"] * 4
    assert pauses > 0
    assert board.calls()[-1] == "DELETE /projects/{project_id} 204"


@WAYS
def test_a_missing_value_is_asked_for(way: Any) -> None:
    weather = {
        "name": "weather.get",
        "description": "Get the weather of a city.",
        "parameters": {"type": "dict", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }
    model = ScriptedModel([{"thought": "", "calls": [{"name": "weather.get", "arguments": {}}]}])
    graph = build_functions_graph([weather], model=model, checkpointer=InMemorySaver())
    state, pauses = run(lambda: to_the_end(way, graph, {"prompt": "What is the weather?"}, answer={"city": "Oslo"}))
    assert (state["text"], pauses) == ('weather.get(city="Oslo")', 1)


def test_the_sandbox_tool_runs_in_a_thread_of_ours() -> None:
    assert run(lambda: python_tool([1, 2]).ainvoke({"code": "print(sum(data))"})) == "3\n"
