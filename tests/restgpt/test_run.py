"""Guards the record of a run, the line that tells for which model it waits, and the end if its database fails."""

import re
import sqlite3
import threading
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import typer
from board import Board
from roles import program
from scripted import ScriptedModel

from restgpt.commands.agent_run import Agent, Outcome, run_thread
from restgpt.commands.terminal import Terminal
from restgpt.commands.waiting import Waiting
from restgpt.graph.build import build_graph
from restgpt.graph.persistence import open_persistence
from restgpt.sources import Sources
from restgpt.threads import Status, ThreadRecord, Threads
from restgpt.tools.settings import Settings

FULL = sqlite3.OperationalError("database or disk is full")


class FullThreads(Threads):
    """Thread records on a disk that becomes full during a run."""

    def __init__(self) -> None:
        pass

    def mark(self, record: ThreadRecord, status: Status) -> ThreadRecord:
        if status != "running":
            raise FULL
        return record


class StoppedAgent(Agent):
    """An agent whose checkpoint cannot be written."""

    def __init__(self) -> None:
        pass

    def drive(self, *_: Any, **__: Any) -> Outcome:
        raise FULL

    def outcome(self, thread: str, *, error: str = "") -> Outcome:
        return Outcome(thread, "failed", error=error)


def test_a_run_on_a_full_disk_ends_with_a_remedy_and_its_thread(capsys: pytest.CaptureFixture[str]) -> None:
    record = ThreadRecord("mine", "How many?", Sources(specs=("toy.yaml",)))
    with pytest.raises(typer.Exit) as ended:
        run_thread(StoppedAgent(), record, None, threads=FullThreads(), terminal=Terminal(as_json=True))
    said = capsys.readouterr()
    assert ended.value.exit_code == 2
    assert "database or disk is full. Check that its disk has free space" in said.err
    assert "restgpt resume mine" in said.err
    assert '"thread": "mine"' in said.out


def test_a_thread_keeps_the_time_at_which_it_began(tmp_path: Path) -> None:
    record = ThreadRecord("mine", "How many?", Sources(specs=("toy.yaml",)))
    with open_persistence(Settings(home=tmp_path)) as persistence:
        threads = Threads(persistence.store)
        threads.keep(record)
        with sqlite3.connect(tmp_path / "restgpt.db") as database:
            database.execute("UPDATE store SET created_at = '2020-02-29 12:00:00'")
        ends: tuple[Status, ...] = ("running", "paused", "done")
        for status in ends:
            threads.mark(record, status)
        assert threads.get("mine").created == "2020-02-29T12:00:00"
        assert threads.get("mine").updated > "2020-02-29T12:00:00"


def test_threads_are_listed_in_the_order_in_which_they_were_used_though_the_clock_was_set_back(tmp_path: Path) -> None:
    with open_persistence(Settings(home=tmp_path)) as persistence:
        threads = Threads(persistence.store)
        for name in ("one", "two", "one", "three", "two"):
            threads.keep(ThreadRecord(name, "How many?", Sources(specs=("toy.yaml",))))
            ahead = {"one": "+5 hours", "two": "-5 hours"}.get(name, "+0 hours")
            persistence.store.conn.execute(  # type: ignore[attr-defined]
                "UPDATE store SET updated_at = datetime('now', ?) WHERE key = ?", (ahead, name)
            )
        assert [record.thread for record in threads.newest()] == ["two", "three", "one"]


def test_a_line_says_for_which_model_a_run_waits_until_it_speaks(board: Board) -> None:
    heard, said = Event(), list[str]()

    def say(text: str) -> None:
        said.append(text)
        if len(said) == 2:
            heard.set()

    def reply(prompt: Any) -> Any:
        assert heard.wait(60)
        return program("print(len(rows(list_projects())))")

    # A call that was cut off in another test may be waited for still.
    before = threading.enumerate()
    waiting = Waiting(say, first=0.01)
    agent = build_graph([board.api], model=ScriptedModel(reply))
    found = agent.invoke({"messages": [("user", "How many?")]}, {"callbacks": [waiting]})
    assert found["answer"] == "4"
    assert [line.partition(",")[0] for line in said[:2]] == ["waiting for scriptedmodel"] * 2
    assert re.fullmatch(r"waiting for [^,]+, \d+ s", said[0])
    for thread in threading.enumerate():
        if thread.name == "restgpt-waiting" and thread not in before:
            thread.join(60)
            assert not thread.is_alive()


def test_a_waiting_line_names_provider_and_model() -> None:
    said, heard = list[str](), Event()

    def say(text: str) -> None:
        said.append(text)
        heard.set()

    waiting = Waiting(say, first=0.01)
    about = {"ls_provider": "openai", "ls_model_name": "gpt-5-mini"}
    waiting.on_chat_model_start({}, [], run_id="one", metadata=about)
    assert heard.wait(60)
    waiting.on_llm_new_token("x", run_id="one")
    assert said[0] == "waiting for openai:gpt-5-mini, 0 s"
