"""Guards the command of the tasks on real servers: what is skipped is said, and nothing passes without having run."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from lab.real.__main__ import main
from lab.real.http import Http
from lab.real.server import Server
from lab.real.state import Effect, Sent, State
from lab.real.task import Task


class Absent(Server):
    """A server that is not installed."""

    name, missing = "absent", "Absent is not installed. Install it with: get absent"

    def __init__(self) -> None:
        self.tasks = [Task("one", "Do something.")]

    def program(self) -> None:
        return None

    def options(self, folder: Path, port: int) -> Sequence[str]:
        raise AssertionError("nothing is started")

    def reset(self, http: Http) -> None:
        raise AssertionError("nothing is seeded")

    def state(self, http: Http) -> State:
        raise AssertionError("there is no state")

    def effects(self, sent: Sent, http: Http) -> Sequence[Effect]:
        raise AssertionError("nothing is asked")


def test_a_server_that_is_not_installed_is_skipped_with_its_reason_and_nothing_has_passed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--check"], servers={"absent": Absent()}) == 2
    assert "absent: skipped. Absent is not installed. Install it with: get absent" in capsys.readouterr().out


def test_without_a_recording_the_command_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--model", f"recorded:{tmp_path / 'none.jsonl'}"], servers={"absent": Absent()}) == 2
    assert "cannot be read" in capsys.readouterr().err
