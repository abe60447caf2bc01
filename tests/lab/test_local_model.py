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


def run(tmp_path: Path, tool: str, **arguments: Any) -> tuple[dict[str, Any], int]:
    """Run the task of a deletion in the plain loop with a model that calls one tool; give result and requests."""
    replies = iter([native(json.dumps(arguments), tool)])
    out = tmp_path / "results.jsonl"
    with odd_server(lambda body: next(replies, message("Deleted."))) as (url, bodies):
        assert main(["run", "--url", url, "--road", "tools", "--task", "dev-toy/delete", "--out", str(out)]) == 0
    return json.loads(out.read_text(encoding="utf-8").splitlines()[-1]), len(bodies)


def test_a_task_is_judged_by_the_world_and_not_run_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, requests = run(tmp_path, "delete_task", task_id=103)
    assert (found["success"], found["claimed"], found["called"], found["beyond"]) == (True, True, True, [])
    assert (found["calls"], requests) == (2, 2)
    assert run(tmp_path, "delete_task", task_id=104) == (found, 0)
    assert "| tools | 1 of 1 | 0 | 0 | 0 | 0 | 2 |" in capsys.readouterr().out


@pytest.mark.parametrize(("tool", "beyond"), [("update_task", ['PATCH /tasks/103 {"hours": 5}']), ("get_project", [])])
def test_changes_beyond_the_task_and_claims_are_seen(tmp_path: Path, tool: str, beyond: list[str]) -> None:
    given = {"task_id": 103, "hours": 5} if beyond else {"project_id": 103}
    called = bool(beyond)
    found, _ = run(tmp_path, tool, **given)
    assert (found["success"], found["claimed"], found["called"], found["beyond"]) == (False, True, called, beyond)
    (*_, row) = table([found])
    assert f"| 0 of 1 | {int(not called)} | 1 | 0 | {len(beyond)} |" in row


def test_there_are_ten_tasks(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(tasks()) == 10
    assert main(["run", "--task", "dev-toy/nothing"]) == 2
    assert "no task nothing" in capsys.readouterr().err


def test_a_model_that_is_not_there_is_named() -> None:
    with pytest.raises(MissingServerError, match=r"nowhere\.gguf is missing.*get"), served("nowhere"):
        pass
