"""Guards the runs with a real model: what is judged, that they can be gone on with, and what is said to be missing."""

import json
from pathlib import Path
from typing import Any

import pytest
from oddserver import message, native, odd_server

from lab.kit.process import MissingServerError
from lab.local_model.__main__ import main
from lab.local_model.engine import served
from lab.local_model.run import table, tasks


def run(tmp_path: Path, *replies: Any, expected: int = 0) -> tuple[dict[str, Any], int]:
    """Run the task of a deletion with a model that gives these replies; give result and requests."""
    left, out = iter(replies), tmp_path / "results.jsonl"
    with odd_server(lambda body: next(left)) as (url, bodies):
        arguments = ["run", "--url", url, "--road", "program", "--task", "dev-toy/delete", "--out", str(out)]
        assert main(arguments) == expected
    return json.loads(out.read_text(encoding="utf-8").splitlines()[-1]), len(bodies)


def called(tool: str, **arguments: Any) -> Any:
    return native(json.dumps(arguments), tool)


def test_a_task_is_judged_by_the_world_and_not_run_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, requests = run(tmp_path, called("delete_task", task_id=103))
    assert (found["success"], found["claimed"], found["called"], found["beyond"]) == (True, True, True, [])
    assert (found["calls"], requests) == (1, 1)
    assert run(tmp_path) == (found, 0)
    assert "| program | 1 of 1 | 0 | 0 | 0 | 0 | 1 |" in capsys.readouterr().out


def test_a_change_beyond_the_task_is_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, _ = run(tmp_path, called("update_task", task_id=103, body={"hours": 5}), expected=1)
    assert found["beyond"] == ['PATCH /tasks/103 {} {"hours": 5}']
    (*_, row) = table([found])
    assert "| 0 of 1 | 0 | 1 | 0 | 1 |" in row
    assert "program dev-toy/delete" in capsys.readouterr().err


def test_a_claim_without_a_call_is_seen(tmp_path: Path) -> None:
    end = message(json.dumps({"decision": "end", "text": "Deleted.", "fulfilled": True}))
    found, _ = run(tmp_path, end, end, expected=1)
    assert (found["success"], found["claimed"], found["called"]) == (False, True, False)
    (*_, row) = table([found])
    assert "| 0 of 1 | 1 | 1 | 0 | 0 |" in row


def test_there_are_five_tasks_of_three_apis(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(tasks()) == 15
    assert main(["run", "--task", "dev-toy/nothing"]) == 2
    assert "no task nothing" in capsys.readouterr().err


def test_a_model_that_is_not_there_is_named() -> None:
    with pytest.raises(MissingServerError, match=r"nowhere\.gguf is missing.*get"), served("nowhere"):
        pass
