"""Guards failing programs: the writer is told why, and a corrected program repeats no call that was answered."""

from typing import Any

import pytest
from board import Board
from programs import decide, programmer, worker
from roles import by_role, end, no_call, plan, program, prompts_of

from restgpt_bench.worlds.faults import Fault, FaultKind

MADE = "POST /projects/{project_id}/tasks 201"
FOUND = "GET /tasks 200"
COUNT = "print(find_tasks()['total'])"
WISH = "Add the task Chairs to project 1"


def feedback(agent: Any, number: int = 1, role: str = "program") -> str:
    """What the writer of a program is told before it writes again."""
    return str(prompts_of(agent.model, role)[number][-1].text)


OPENING = "found = find_tasks()\nif found['total']:\n    open('/etc/passwd')\nprint(1)"
DIVIDING = "tasks = find_tasks()\nprint('so far', tasks['total'])\nprint(1 / (tasks['total'] - 24))"
SHAPES = "Shapes of the responses, with values of their first items:\nfind_tasks (status 200):"
HIDING = "def find_tasks(**given):\n    return {'total': 12}\nprint(find_tasks()['total'])"
IMPORTING = "data = [1]\nfrom urllib.request import urlopen\nprint(len(data))"


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("print('never'", ["SyntaxError", "was never closed"]),
        ("print(find_task())", ["Line 1", "find_task"]),
        ("print(find_tasks(who='Ada'))", ["Line 1", "who"]),
        ("print(create_task(project_id=1))", ["Line 1", "body"]),
        ("print(find_tasks()['tasks'])", ["Line 1", "tasks", "items"]),
        ("import socket\nprint(find_tasks())", ["Line 1", "socket"]),
        (HIDING, ["Line 1", "find_tasks is a function of the API", "another name"]),
        (IMPORTING, ["Line 2", "urllib.request", "functions"]),
        (DIVIDING, ["ZeroDivisionError", "print(1 / (tasks['total'] - 24))", "so far 24", SHAPES]),
        ("for task in rows(find_tasks()):\n    print(task['titel'])", ["Hint: `task` is a dict with the keys 'id',"]),
        ("found = find_tasks()\nprint(found['items'][0]['titel'])", ["Hint: `found['items'][0]` is a dict"]),
        ("found = find_tasks()\nprint(found['items']['titel'])", ["Hint: `found['items']` is a list of 10"]),
        ("found = find_tasks()\nprint(found.total)", ["Hint: `found` is a dict with the keys 'items',"]),
        ("print(rows(find_tasks())[0]['titel'])", ["find_tasks (status 200): {items: [10 × {id: int"]),
        ("found = find_tasks()", ["print"]),
        (OPENING, ["Hint:"]),
    ],
)
def test_a_failed_program_gets_its_line_and_help_and_repeats_no_read(board: Board, code: str, told: list[str]) -> None:
    agent = worker(board, code, COUNT)
    agent.ask("How many tasks are there?")
    assert [part for part in told if part not in feedback(agent)] == []
    assert "`data`" not in feedback(agent)
    assert board.calls() == [FOUND]
    assert "24" in agent.state["steps"][-1]["result"]


def test_an_api_error_that_is_not_caught_is_told_with_its_status_and_body(board: Board) -> None:
    agent = worker(board, "print(get_project(project_id=99)['name'])", "print(get_project(project_id=1)['name'])")
    agent.ask("Name project 99, or else project 1")
    assert "ApiError" in feedback(agent)
    assert "get_project answered 404" in feedback(agent)
    assert board.calls() == ["GET /projects/{project_id} 404", "GET /projects/{project_id} 200"]


def test_an_api_error_can_be_caught_and_read(board: Board) -> None:
    code = "try:\n    get_project(99)\nexcept ApiError as error:\n    print(error.status, error.body['code'])"
    assert programmer(board, code).ask("Is there a project 99?")["answer"].startswith("404 ")


@pytest.mark.parametrize("status", [302, 304, 404])
def test_a_status_that_is_no_success_is_an_error_in_a_program(board: Board, status: int) -> None:
    board.world.faults.replace([Fault(status=status)])
    code = (
        "try:\n    create_project(body={'name': 'Quay'})\nexcept ApiError as error:\n    print('failed:', error.status)"
    )
    told = programmer(board, code, writes="allow").ask("Make a project.")["answer"]
    assert told == f"failed: {status}\n(create_project was not done: the API answered {status})"
    assert board.calls() == [f"POST /projects {status}"]


def test_a_corrected_program_makes_no_change_twice(board: Board) -> None:
    made = 'made = create_task(project_id=1, body={"title": "Chairs"})\n'
    agent = worker(board, f"{made}print(1 / 0)", f"{made}print('made', made['title'])")
    agent.ask(WISH)
    assert decide(agent, "approve")["answer"] == "Done."
    assert board.calls() == [MADE]
    assert "made Chairs" in agent.state["steps"][-1]["result"]


def test_two_equal_creates_in_a_loop_are_both_made_and_neither_again(board: Board) -> None:
    loop = 'made = [create_task(project_id=1, body={"title": "Chairs"})["id"] for _ in range(2)]\n'
    agent = worker(board, f"{loop}raise ValueError(made)", f"{loop}print(len(set(made)), 'tasks')")
    agent.ask("Add the task Chairs to project 1 twice", writes="allow")
    assert board.calls() == [MADE, MADE]
    assert "2 tasks" in agent.state["steps"][-1]["result"]


def test_a_rejected_change_is_not_asked_about_again_by_a_corrected_program(board: Board) -> None:
    made = 'try:\n    create_task(project_id=1, body={"title": "Chairs"})\n'
    made += "except Rejected as refused:\n    print(refused)\n"
    agent = worker(board, f"{made}print(1 / 0)", made)
    agent.ask(WISH)
    done = decide(agent, {"type": "reject", "message": "no chairs"})
    assert done["answer"] == "Done."
    assert "no chairs" in agent.state["steps"][-1]["result"]
    assert board.calls() == []


def test_a_change_of_unknown_outcome_is_not_made_again_by_a_corrected_program(board: Board) -> None:
    board.world.faults.replace([Fault(FaultKind.RESET, applied=True)])
    made = 'create_task(project_id=1, body={"title": "Chairs"})\nprint("made")'
    careful = (
        'try:\n    create_task(project_id=1, body={"title": "Chairs"})\nexcept ApiError as error:\n    print(error)'
    )
    agent = worker(board, made, careful)
    assert agent.ask(WISH, writes="allow")["answer"] == "Done."
    assert "create_task got no response" in agent.state["steps"][-1]["result"]
    assert board.calls() == [MADE]


def test_after_three_programs_of_the_planner_the_loop_goes_on(board: Board) -> None:
    script = {"planner": [plan("Count the tasks"), end("24")], "selector": [no_call("There are 24.")]}
    codes = [program(f"print({number} / 0)") for number in range(3)]
    agent = board.agent(by_role({**script, "express": codes}), context={})
    assert agent.ask("How many tasks are there?")["answer"] == "24"
    assert "ZeroDivisionError" in str(prompts_of(agent.model, "planner")[0][-1].text)


ENDLESS = "number = 0\nwhile True:\n    number += 1\n    "


def test_an_endless_loop_of_calls_ends_at_the_budget_with_the_results_so_far(board: Board) -> None:
    script = {"express": [program(f"{ENDLESS}find_tasks(text=str(number))")], "planner": [end("Five were found.")]}
    agent = board.agent(by_role(script), context={})
    assert agent.ask("Find tasks for ever", max_requests=5)["answer"] == "Five were found."
    assert board.calls() == [FOUND] * 5
    assert agent.state["usage"]["requests"] == 5
    assert len(agent.state["steps"][-1]["requests"]) == 5


@pytest.mark.parametrize(("writes", "status"), [("deny", "rejected"), ("dry-run", "held")])
def test_an_endless_loop_of_changes_that_are_not_sent_ends_at_a_budget(board: Board, writes: str, status: str) -> None:
    code = "try:\n        create_project(body={'name': f'Plot {number}'})\n    except Exception:\n        pass"
    agent = programmer(board, ENDLESS + code, end("None was made."))
    done = agent.ask("Create projects for ever", max_requests=5, writes=writes)
    assert done["answer"].startswith("None was made.")
    assert [request["status"] for request in agent.state["steps"][-1]["requests"]] == [status] * 5
    assert board.calls() == []


def test_changes_that_were_not_sent_leave_the_next_turn_its_whole_budget(board: Board) -> None:
    add = "for name in ('Moss', 'Fern'):\n    create_project(body={'name': name})\nprint('Added.')"
    agent = programmer(board, add, COUNT, max_requests=2, writes="dry-run")
    agent.ask("Add two projects")
    assert agent.ask("How many tasks are there?")["answer"].startswith("24")
