"""Guards the comparison of MCP servers: the loop, the judgement and the count of unapproved changes."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import requests
from langchain_core.messages import AIMessage
from scripted import ScriptedModel

from lab.mcp.__main__ import main, run, table
from lab.mcp.conformance import verdict
from lab.mcp.loop import MOST_ROUNDS
from lab.mcp.servers import METHODS, first, limits
from lab.mcp.suite_server import Quiet, answering, proxied
from lab.mcp.surfaces import Person
from restgpt.host.operations import MOST
from restgpt_bench.restbench.suite import open_suite


def called(name: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{name}", "type": "tool_call"}])


def result(surface: str, *replies: Any, suite: str = "dev-toy", key: str = "delete") -> Any:
    item = open_suite(suite).only([key]).items[0]
    return asyncio.run(run(surface, suite, item, ScriptedModel(list(replies))))


def test_a_change_by_a_tool_counts_as_unapproved_where_nobody_is_asked() -> None:
    done = result("fastmcp", called("delete_task", task_id=103), "Task 103 is deleted.")
    assert (done.success, done.changes, done.unapproved) == (True, 1, 1)
    assert (done.attempt.model_calls, done.attempt.tool_calls, done.attempt.errors) == (2, 1, [])
    assert done.attempt.input_tokens > 1000 > done.attempt.output_tokens > 0


@pytest.mark.slow
def test_a_change_that_a_person_saw_is_approved() -> None:
    call = called("change_operation", operation="delete_task", arguments={"path": {"task_id": 103}})
    done = result("restgpt", call, "Task 103 is deleted.")
    assert (done.success, done.changes, done.unapproved, done.attempt.errors) == (True, 1, 0, [])


def test_a_person_has_seen_only_what_was_shown() -> None:
    person = Person(["    │ DELETE http://127.0.0.1:1/v1/very/long/\n    ┆ tasks/103\n    │ Accept: */*"])
    assert person.saw("DELETE", "http://127.0.0.1:1/v1/very/long/tasks/103")
    assert not person.saw("DELETE", "http://127.0.0.1:1/v1/very/long/tasks/10")
    assert not person.saw("POST", "http://127.0.0.1:1/v1/very/long/tasks/103")


def test_code_that_calls_tools_is_run() -> None:
    code = "return await call_tool('delete_task', {'task_id': 103})"
    done = result("fastmcp-code", called("execute", code=code), "Task 103 is deleted.")
    assert (done.success, done.unapproved) == (True, 1)


def test_a_wrong_call_is_an_error_that_the_model_sees_and_no_success() -> None:
    done = result("fastmcp", called("delete_task", task_id=104), called("delete_task"), "Deleted.")
    assert (done.success, done.changes) == (False, 1)
    assert [error.partition(":")[0] for error in done.attempt.errors] == ["delete_task"]


def test_a_loop_without_an_answer_ends() -> None:
    done = result("fastmcp", *[called("get_task", task_id=103)] * MOST_ROUNDS)
    assert (done.success, done.attempt.model_calls) == (False, MOST_ROUNDS)
    assert "no answer" in done.attempt.errors[-1]


def test_the_table_has_a_row_for_each_server() -> None:
    done = result("fastmcp", called("delete_task", task_id=103), "Task 103 is deleted.").to_json()
    *_, row = table([done, {**done, "success": False}])
    assert row.startswith("| fastmcp | 1 of 2 | 4 | 2 |")
    assert row.endswith("| 2 | 2 |")


def test_results_in_the_file_are_not_made_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = result("fastmcp", called("delete_task", task_id=103), "Task 103 is deleted.").to_json()
    out = tmp_path / "results.jsonl"
    out.write_text(json.dumps(done) + "\n")
    recording = tmp_path / "none.jsonl"
    recording.write_text("")
    given = ["--surface", "fastmcp", "--model", f"recorded:{recording}", "--task", "dev-toy/delete", "--out", str(out)]
    assert main(given) == 0
    assert "| fastmcp | 1 of 1 |" in capsys.readouterr().out
    assert main(["--model", f"recorded:{recording}", "--task", "dev-nothing/x"]) == 2
    assert "There is no task dev-nothing/x" in capsys.readouterr().err


def test_a_scenario_fails_only_by_a_check_that_the_server_offers() -> None:
    def checks(*told: tuple[str, str]) -> list[dict[str, str]]:
        return [{"status": status, "errorMessage": message} for status, message in told]

    assert verdict("tools-list", "restgpt", checks(("SUCCESS", ""))) == "pass"
    assert verdict("tools-list", "restgpt", checks(("SUCCESS", ""), ("FAILURE", "no tools"))) == "fail"
    assert verdict("tools-list", "restgpt", checks(("SUCCESS", ""), ("FAILURE", "Not testable: no tool"))) == "pass"
    assert verdict("tools-call-audio", "restgpt", checks(("FAILURE", "no audio"))) == "not offered"
    assert verdict("resources-read-text", "restgpt", checks(("FAILURE", "unknown"))) == "fail"
    assert verdict("resources-read-text", "fastmcp", checks(("FAILURE", "unknown"))) == "not offered"


def test_a_proxy_renames_in_both_directions() -> None:
    class Echo(Quiet):
        def do_POST(self) -> None:
            self.answer(200, self.rfile.read(int(self.headers["Content-Length"])) + b" real", {})

    with answering(Echo) as url, proxied(f"{url}/mcp", {"alias": "real"}) as through:
        assert requests.post(through, data=b"an alias", timeout=10).text == "an alias alias"


def test_limits_are_counted_and_names_are_not() -> None:
    schema = {"properties": {"default": {"type": "integer", "minimum": 1, "default": 2}, "a": {"enum": ["minimum"]}}}
    assert limits(schema) == 3


def test_a_document_is_cut_to_the_operations_that_can_be_tools() -> None:
    document = first("tmdb")
    assert sum(method in METHODS for item in document["paths"].values() for method in item) == MOST
