"""Guards the order of checkpoints if the clock was set back between two processes: the newest is the last written."""

import asyncio
import operator
from pathlib import Path
from typing import Annotated, Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, empty_checkpoint
from langgraph.checkpoint.base.id import UUID, uuid6
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from lab.kills.postgres import NoPostgresError, postgres_server
from restgpt.graph.persistence import Persistence, open_persistence
from restgpt.tools.graphs import DurableGraph, continue_after
from restgpt.tools.settings import Secret, Settings

AN_HOUR = 3600 * 10**7 >> 12
"""An hour in the unit of the upper 48 bits of such an id."""

THREAD: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


class Log(TypedDict):
    """The state of a small graph."""

    lines: Annotated[list[str], operator.add]


def _graph(saver: BaseCheckpointSaver[Any]) -> Any:
    builder = StateGraph(Log)
    builder.add_node("first", lambda state: {"lines": ["first"]})
    builder.add_node("second", lambda state: {"lines": [interrupt("go on?")]})
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    builder.add_edge("second", END)
    return DurableGraph.of(builder.compile(checkpointer=saver))


def _later(hours: int) -> str:
    """Return an id that a process with a clock some hours ahead gives."""
    return str(UUID(int=uuid6().int + (hours * AN_HOUR << 80)))


def _written(written: str) -> tuple[Any, Any, Any, Any]:
    """What a process with another clock puts into its checkpointer."""
    return THREAD, {**empty_checkpoint(), "id": written}, {"source": "loop", "step": 0, "parents": {}}, {}


def test_a_run_goes_on_after_checkpoints_of_a_clock_that_was_ahead(kept: Persistence) -> None:
    kept.checkpointer.put(*_written(_later(hours=1)))
    graph = _graph(kept.checkpointer)
    graph.invoke({"lines": []}, THREAD)
    assert graph.get_state(THREAD).next == ("second",)
    assert graph.invoke(Command(resume="yes"), THREAD) == {"lines": ["first", "yes"]}
    assert graph.get_state(THREAD).values == {"lines": ["first", "yes"]}


def test_a_fork_of_an_old_checkpoint_becomes_the_newest(kept: Persistence) -> None:
    graph = _graph(kept.checkpointer)
    graph.invoke({"lines": []}, THREAD)
    old = graph.get_state(THREAD).config
    kept.checkpointer.put(*_written(_later(hours=1000)))
    graph.update_state(old, {"lines": ["forked"]}, as_node="second")
    assert graph.get_state(THREAD).values == {"lines": ["first", "forked"]}


@pytest.mark.slow
def test_postgresql_has_the_same_order(tmp_path: Path) -> None:
    pytest.importorskip("psycopg", reason="PostgreSQL's packages are not installed")
    try:
        with (
            postgres_server() as url,
            open_persistence(Settings(home=tmp_path, database_url=Secret(url))) as kept,
        ):
            kept.checkpointer.put(*_written(_later(hours=1_000_000)))
            graph = _graph(kept.checkpointer)
            graph.invoke({"lines": []}, THREAD)
            assert graph.get_state(THREAD).next == ("second",)
    except NoPostgresError as error:
        pytest.skip(str(error))


def test_ids_of_another_kind_are_left_alone() -> None:
    before = str(uuid6())
    for written in ("no id", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"):
        config: Any = {"configurable": {**THREAD["configurable"], "checkpoint_id": written}}
        continue_after(CheckpointTuple(config, {**empty_checkpoint(), "id": written}, {}))
    assert before < str(uuid6())


def test_a_server_whose_clock_is_behind_goes_on_after_another_one(tmp_path: Path) -> None:
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        saver.put(*_written(_later(hours=1)))
        graph = _graph(saver)
        graph.invoke({"lines": []}, THREAD)
        assert graph.get_state(THREAD).values == {"lines": ["first"]}


def test_it_does_so_under_asyncio(tmp_path: Path) -> None:
    async def run() -> dict[str, Any]:
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
            await saver.aput(*_written(_later(hours=1)))
            graph = _graph(saver)
            await graph.ainvoke({"lines": []}, THREAD)
            return (await graph.aget_state(THREAD)).values

    assert asyncio.run(run()) == {"lines": ["first"]}
