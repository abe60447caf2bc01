"""Guards the size of checkpoints: no response bodies, however large, and earlier turns only in few of them."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from board import CALLS, Agent, Board, agent_of
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.sqlite import SqliteStore
from langgraph.types import StateSnapshot
from loopback import Handler, served
from paths import api_of
from programs import decide
from roles import by_role, one_task, program
from scripted import ScriptedModel

from restgpt.graph.persistence import FILE, Persistence, remove_bodies, remove_thread
from restgpt.nodes.state.records import StateError
from restgpt.tools.response.store import NAMESPACE

LIST = {"operationId": "list_records", "responses": {"200": {"content": {"application/json": {"schema": {}}}}}}
RECORDS = [{"id": number, "text": f"record {number} " * 40} for number in range(10_000)]
BODY = json.dumps({"records": RECORDS}).encode()


@contextmanager
def archive() -> Iterator[str]:
    """Serve an API with one response of five megabytes; yields its base URL."""

    class Large(Handler):
        def do_GET(self) -> None:
            self.answer(BODY)

    with served(Large) as url:
        yield url


def stored(path: Path, tables: tuple[str, ...]) -> int:
    """Return the total size of the values in some tables, in bytes."""
    with closing(sqlite3.connect(path)) as database:
        total = 0
        for table in tables:
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            lengths = " + ".join(f'COALESCE(LENGTH(CAST("{column}" AS BLOB)), 0)' for column in columns)
            total += database.execute(f"SELECT COALESCE(SUM({lengths}), 0) FROM {table}").fetchone()[0]
        return int(total)


def test_a_response_of_five_megabytes_leaves_a_small_checkpoint(tmp_path: Path) -> None:
    assert len(BODY) > 5_000_000
    model = by_role(one_task("list_records", parser=["print(len(data['records']), 'records')"]))
    path = tmp_path / "threads.db"
    with (
        archive() as url,
        SqliteSaver.from_conn_string(str(path)) as saver,
        SqliteStore.from_conn_string(str(path)) as store,
    ):
        store.setup()
        agent = agent_of(
            [api_of({"/records": {"get": LIST}}, base_url=url)], model, context=CALLS, checkpointer=saver, store=store
        )
        agent.ask("How many records are there?")
        [step] = agent.state["steps"]
    assert "10000 records" in step["result"]
    assert stored(path, ("store",)) > 5_000_000
    assert 0 < stored(path, ("checkpoints", "writes")) < 200_000


READS = "print(get_task(task_id=101)['title'], get_task(task_id=102)['title'])"
PLACES = ("checkpoints", "writes", "store")


def reader(board: Board, kept: Persistence, code: str = READS) -> Agent:
    """An agent that runs the same program in each turn."""
    return board.agent(ScriptedModel(lambda prompt: program(code)), context={}, **kept.saved)


def ask_often(agent: Agent, turns: int) -> None:
    for _ in range(turns):
        # As the host of a chat gives it: without an id.
        agent.ask({"messages": [("user", "Read the tasks 101 and 102.")]})


def history(agent: Agent) -> list[StateSnapshot]:
    return list(agent.graph.get_state_history(agent.config))


def values_of(snapshot: StateSnapshot) -> dict[str, Any]:
    """The values of a state, its messages by id and text."""
    messages: list[BaseMessage] = snapshot.values.get("messages", [])
    return {**snapshot.values, "messages": [(message.id, message.type, message.text) for message in messages]}


def test_a_turn_writes_no_more_the_later_it_is(board: Board, kept: Persistence, tmp_path: Path) -> None:
    agent, sizes = reader(board, kept), []
    for _ in range(6):
        ask_often(agent, 1)
        sizes.append(stored(tmp_path / FILE, PLACES))
    taken = [after - before for before, after in pairwise(sizes)]
    assert max(taken[1:]) < 1.05 * min(taken[1:])


@pytest.mark.slow
def test_forty_turns_take_five_times_the_bytes_of_eight(board: Board, kept: Persistence, tmp_path: Path) -> None:
    agent = reader(board, kept)
    ask_often(agent, 8)
    of_eight = stored(tmp_path / FILE, PLACES)
    ask_often(agent, 32)
    # More than five times, because two of the few checkpoints of a turn hold the whole list of steps.
    assert stored(tmp_path / FILE, PLACES) < 5.8 * of_eight


@pytest.mark.slow
def test_every_checkpoint_of_a_long_thread_reads_as_it_was_and_can_be_forked(board: Board, kept: Persistence) -> None:
    agent, was = reader(board, kept), {}
    for _ in range(22):
        ask_often(agent, 1)
        snapshot = agent.graph.get_state(agent.config)
        was[snapshot.values["turn"]] = values_of(snapshot)
    read = history(agent)
    ends = {item.values["turn"]: item for item in read if item.values.get("turn") and not item.next}
    assert {turn: values_of(item) for turn, item in ends.items()} == was
    for item in read:
        turn = item.values.get("turn", 0)
        earlier = {step["turn"] for step in item.values.get("steps", ())} - {turn}
        assert earlier == set(range(1, turn))
    for item in (ends[1], ends[19], ends[20], ends[21]):
        fork = agent.graph.invoke({"messages": [("user", "Read the tasks 101 and 102.")]}, item.config)
        assert [message.id for message in fork["messages"][:-2]] == [id for id, _, _ in values_of(item)["messages"]]
        forked = agent.state
        assert [step["turn"] for step in forked["steps"]] == list(range(1, item.values["turn"] + 2))
    assert [values_of(item) for item in history(agent)[-len(read) :]] == [values_of(item) for item in read]


def test_a_message_given_without_an_id_keeps_the_one_that_it_got(board: Board, kept: Persistence) -> None:
    agent = reader(board, kept)
    ask_often(agent, 2)
    first, second = agent.state, agent.state
    ids = [message.id for message in first["messages"]]
    assert len(set(ids)) == 4
    assert first["asked"] == ids[2]
    assert [message.id for message in second["messages"]] == ids
    # It was read, so it is no new instruction.
    with pytest.raises(Exception, match="no instruction"):
        agent.ask({"messages": []})


def test_a_thread_whose_checkpoint_holds_the_whole_lists_goes_on(board: Board, kept: Persistence) -> None:
    agent = reader(board, kept)
    ask_often(agent, 2)
    before = agent.graph.get_state(agent.config)
    saved = kept.checkpointer.get_tuple(agent.config)
    assert saved is not None
    whole = {name: before.values[name] for name in ("messages", "steps")}
    values = {**saved.checkpoint["channel_values"], **whole}
    checkpoint = {**saved.checkpoint, "channel_values": values}
    kept.checkpointer.put(saved.parent_config or agent.config, checkpoint, saved.metadata, {})
    assert values_of(agent.graph.get_state(agent.config)) == values_of(before)
    ask_often(agent, 1)
    assert [step["turn"] for step in agent.state["steps"]] == [1, 2, 3]
    assert len(agent.state["messages"]) == 6


def test_steps_that_were_refused_are_in_no_later_state(board: Board, kept: Persistence) -> None:
    agent = reader(board, kept, "create_task(project_id=1, body={'title': 'Buy soil'})\nprint('Made.')")
    for turns in ([1], [1, 2]):
        agent.ask("Create the task 'Buy soil' in project 1")
        with pytest.raises(StateError):
            agent.graph.update_state(agent.config, {"steps": [{"turn": 1}]})
        assert decide(agent, "approve")["answer"] == "Made."
        assert [step["turn"] for step in agent.state["steps"]] == turns


def test_the_bodies_of_earlier_turns_go_with_their_thread(board: Board, kept: Persistence) -> None:
    agent = reader(board, kept)
    ask_often(agent, 3)
    assert kept.store.search(NAMESPACE, limit=100)
    remove_bodies(kept, remove_thread(kept, agent.thread))
    assert not kept.store.search(NAMESPACE, limit=100)
    assert not list(kept.checkpointer.list(agent.config))
