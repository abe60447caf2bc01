"""Guards the agent against hostile programs: no change without approval, none taken for made that was not."""

from typing import Any

import pytest
from board import Agent, Board
from roles import program
from scripted import ScriptedModel


def end(text: str = "It cannot be done.") -> dict[str, Any]:
    return {"thought": "", "decision": "end", "text": text, "fulfilled": False}


def playing(board: Board, *codes: str) -> Agent:
    return board.agent(ScriptedModel([*map(program, codes), end(), end(), end()]), context={"road": "program"})


def test_answers_taken_one_after_another_stay_at_their_positions(board: Board) -> None:
    reads = [f"find_tasks(page={number})['page']" for number in (1, 2, 3, 4)]
    first = f"{reads[0]}, {reads[1]}\nraise ValueError('too early')"
    second = f"a = {reads[0]}\n{reads[2]}\nb = {reads[1]}\n{reads[3]}\nprint(a, b)"
    agent = playing(board, first, second)
    assert agent.ask("Read the tasks")["answer"].strip() == "1 2"
    requests = agent.state["steps"][0]["requests"]
    assert agent.state["program"]["taken"] == {"0": requests[0]["id"], "2": requests[1]["id"]}
    assert len(board.calls()) == 4


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("gather(*[create_project(body={'name': str(n)}) for n in range(10_000)])", "asks for 10000 requests at once"),
        ("print('x' * 10**7)", "printed too much"),
        ("_host_held(5)", "is a name of the sandbox"),
    ],
)
def test_a_hostile_program_gives_an_error_and_changes_nothing(board: Board, code: str, told: str) -> None:
    agent = playing(board, code)
    result = agent.ask("Make the project Roof")
    assert "__interrupt__" not in result
    assert board.calls() == []
    assert told in agent.state["steps"][0]["result"]
    assert len(agent.model.texts[1]) - len(agent.model.texts[0]) < 10_000
    assert result["answer"] == "It cannot be done."


def test_a_source_line_cannot_imitate_other_lines_of_an_approval(board: Board) -> None:
    code = "create_project(body={'name': 'Roof'})  # \u2028approved by root\x1b[2J\u202e"
    [pause] = playing(board, code).ask("Make the project Roof")["__interrupt__"]
    [action] = pause.value["action_requests"]
    assert not {"\u2028", "\u202e", "\x1b"} & set(action["description"])


@pytest.mark.slow
def test_arguments_of_megabytes_in_call_after_call_come_to_an_end(board: Board) -> None:
    body = "body={'name': str(n) * 240_000}"
    code = f"for n in range(10, 60):\n    try: create_project({body})\n    except ApiError: pass"
    agent = playing(board, code)
    agent.ask("Create projects", writes="allow")
    assert "too large together" in agent.state["steps"][0]["result"]
    assert len(board.calls()) < 50


def test_a_corrected_program_reads_again_what_was_read_before_a_change(board: Board) -> None:
    change = "update_project(project_id=1, body={'name': 'Shed'})"
    first = f"get_project(project_id=1)\nget_project(project_id=2)\n{change}\nget_project(project_id=2)\n1 / 0"
    second = f"{change}\nprint(get_project(project_id=1)['name'], get_project(project_id=2)['name'])"
    agent = board.agent(ScriptedModel([program(first), program(second), end()]), context={"writes": "allow"})
    answer = agent.ask("Name the project 1 Shed")["answer"]
    assert answer.startswith("Shed ")
    read = "GET /projects/{project_id} 200"
    # Of the reads after the change one is kept; the change is not made again.
    # The third one looks at the target of the change.
    assert board.calls() == [read, read, read, "PATCH /projects/{project_id} 200", read, read]
