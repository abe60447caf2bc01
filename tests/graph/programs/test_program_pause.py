"""Guards the pause of a program: its payload has the program beside the requests, and any client can answer it."""

from typing import Any

import pytest
from board import Agent, Board
from langchain.agents.middleware.human_in_the_loop import HITLRequest
from programs import decide
from pydantic import TypeAdapter
from question import unmarked
from roles import call, end, program
from scripted import ScriptedModel

from restgpt_bench.worlds import CREDENTIAL

CODE = """names = ["Moss", "Fern"]
made = gather(*[create_project(body={"name": name}) for name in names])
print("Created", ", ".join(item["name"] for item in made))"""


def paused(board: Board, code: str, **context: Any) -> tuple[Agent, dict[str, Any]]:
    """Run the planner's program up to its pause, and return the agent and the payload of the interrupt."""
    agent = board.agent(ScriptedModel([program(code)]), context={"road": "program"})
    [pause] = agent.ask("Create Moss and Fern", **context)["__interrupt__"]
    return agent, pause.value


def test_the_payload_has_the_code_and_a_place_for_each_action_in_their_order(board: Board) -> None:
    _, payload = paused(board, CODE)
    line = CODE.splitlines()[1]
    assert payload["program"]["code"] == CODE
    calls = payload["program"]["calls"]
    assert [call["position"] for call in calls] == ["0", "1"]
    assert {(call["line"], call["source"], call["operation"]) for call in calls} == {(2, line, "create_project")}
    assert [action["args"]["body"]["name"] for action in payload["action_requests"]] == ["Moss", "Fern"]
    told = f"Line 2 of the program calls it:\n\n{line}"
    assert all(told in "\n".join(unmarked(action["details"])) for action in payload["action_requests"])


def test_a_client_of_the_middleware_reads_and_answers_the_payload(board: Board) -> None:
    agent, payload = paused(board, CODE)
    read = TypeAdapter(HITLRequest).validate_python(payload)
    assert len(read["action_requests"]) == 2
    agent.model._replies = iter([end("Only Moss.", fulfilled=False)])
    assert decide(agent, "approve", {"type": "reject", "message": "No."})["answer"] == "Only Moss."
    assert board.calls() == ["POST /projects 201"]


def test_the_lines_of_a_fenced_program_are_those_of_the_shown_code(board: Board) -> None:
    _, payload = paused(board, f"```python\n{CODE}\n```")
    assert payload["program"]["code"] == CODE
    assert CODE.split("\n")[payload["program"]["calls"][0]["line"] - 1] == payload["program"]["calls"][0]["source"]


def test_the_payload_holds_no_credential_that_the_code_holds(board: Board) -> None:
    code = f'create_project(body={{"name": "Moss"}}) if "{CREDENTIAL}" else None'
    _, payload = paused(board, code)
    assert CREDENTIAL not in str(payload)
    assert "[redacted]" in payload["program"]["code"]


def test_a_pause_without_a_program_has_no_such_key(board: Board) -> None:
    agent = board.one_task("create_project", caller=[call({"body": {"name": "Moss"}})])
    [pause] = agent.ask("Create Moss")["__interrupt__"]
    assert set(pause.value) == {"action_requests", "review_configs"}


def test_a_second_pause_names_the_next_line_and_the_same_program(board: Board) -> None:
    code = 'create_project(body={"name": "Moss"})\ncreate_project(body={"name": "Fern"})\nprint("Done.")'
    agent, payload = paused(board, code)
    assert [call["line"] for call in payload["program"]["calls"]] == [1]
    [pause] = decide(agent, "approve")["__interrupt__"]
    assert [call["line"] for call in pause.value["program"]["calls"]] == [2]
    assert pause.value["program"]["code"] == code


@pytest.mark.parametrize(
    ("code", "ended"),
    [
        ('print("Good morning.")', "report"),
        ('stop("Which one?", [1, 2])', "stopped"),
        ("print(1 / 0)", "failed"),
        ("print(nothing_like_that())", "failed"),
    ],
)
def test_the_record_says_how_a_program_ended(board: Board, code: str, ended: str) -> None:
    over = end("That is all.", fulfilled=False)
    agent = board.agent(ScriptedModel([program(code), over]), context={"road": "program"})
    agent.ask("Say something")
    [step] = agent.state["steps"]
    assert (step["program"]["status"], step["program"]["end"]) == ("over", ended)


def test_a_program_that_is_out_of_requests_says_so_with_its_line_and_both_numbers(board: Board) -> None:
    over = end("Too many.", fulfilled=False)
    code = "gather(*[list_projects(archived=False) for _ in range(5)])"
    agent = board.agent(ScriptedModel([program(code), over]), context={"road": "program"})
    agent.ask("Count", max_requests=2)
    told = agent.state["steps"][0]["result"]
    assert "Line 1: gather(" in told
    assert "asks for 5 requests at once, but the budget of this instruction leaves 2. None of them was sent." in told
    assert board.calls() == []
