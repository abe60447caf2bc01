"""Guards how a run ends when the database that keeps its thread refuses."""

import sqlite3
from typing import Any

import pytest
import typer

from restgpt.commands.agent import Agent, Outcome
from restgpt.commands.run import run_thread
from restgpt.commands.sources import Sources
from restgpt.commands.terminal import Terminal
from restgpt.commands.thread import Status, ThreadRecord, Threads

FULL = sqlite3.OperationalError("database or disk is full")


class FullThreads(Threads):
    """Records of threads on a disk that fills up while a run goes on."""

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
    assert "database or disk is full. Check that its disk has room" in said.err
    assert "restgpt resume mine" in said.err
    assert '"thread": "mine"' in said.out
