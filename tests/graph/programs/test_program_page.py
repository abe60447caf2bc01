"""Guards docs/programs.md: its example runs as shown, and what it promises is so."""

import re
from pathlib import Path
from typing import Any

import pytest
from board import Agent, Board
from langgraph.types import Command
from roles import end, plan, program, select
from scripted import Reply, ScriptedModel

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "programs.md").read_text(encoding="utf-8")
APPROVED = {"type": "approve"}


def block(language: str) -> str:
    """Return the first code block of the page in a language."""
    found = re.search(rf"^```{language}\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1].strip()


def asked(board: Board, instruction: str, *replies: Reply, **context: Any) -> Agent:
    agent = board.agent(ScriptedModel(replies), context={"road": "program"})
    agent.ask(instruction, **context)
    return agent


def answered(agent: Agent, *decisions: dict[str, Any]) -> dict[str, Any]:
    return agent.graph.invoke(Command(resume={"decisions": list(decisions)}), agent.config)  # type: ignore[return-value]


def test_the_example_of_the_page_runs_as_shown(board: Board) -> None:
    instruction = re.search(r"^> (.*)$", PAGE, flags=re.MULTILINE)
    assert instruction is not None
    agent = asked(board, instruction[1], program(block("python")))
    again = answered(agent, APPROVED)
    [pause] = again["__interrupt__"]
    assert len(pause.value["action_requests"]) == 2
    done = answered(agent, APPROVED, APPROVED)
    assert done["answer"] == block("text")
    assert len(agent.model.prompts) == 1
    assert board.calls() == ["POST /projects 201", *["POST /projects/{project_id}/tasks 201"] * 2]


def test_a_corrected_program_does_not_repeat_a_change(board: Board) -> None:
    change = 'made = create_project(body={"name": "Moss"})\n'
    replies = [program(f"{change}print(1 / 0)"), program(f'{change}print("Created", made["name"])')]
    agent = asked(board, "Create Moss", *replies, writes="allow")
    assert agent.state["answer"] == "Created Moss"
    assert board.calls() == ["POST /projects 201"]


def test_a_refusal_is_an_exception_that_the_program_can_catch(board: Board) -> None:
    code = 'try:\n    create_project(body={"name": "Moss"})\nexcept Rejected:\n    print("Moss was not created.")'
    agent = asked(board, "Create Moss", program(code), end("It was not created.", fulfilled=False))
    answered(agent, {"type": "reject", "message": "No."})
    assert "Moss was not created." in agent.state["steps"][0]["result"]
    assert board.calls() == []


def test_a_refusal_that_is_not_caught_ends_the_program(board: Board) -> None:
    code = 'create_project(body={"name": "Moss"})\ncreate_project(body={"name": "Fern"})\nprint("Done.")'
    agent = asked(board, "Create Moss and Fern", program(code), end("Nothing was created.", fulfilled=False))
    answered(agent, {"type": "reject", "message": "No."})
    assert agent.state["steps"][0]["program"]["end"] == "rejected"
    told = str(agent.model.prompts[1][-1].text)
    assert ("The program ended on line 1" in told, "The user rejected it. No." in told) == (True, True)
    assert board.calls() == []


def test_a_change_of_an_id_that_nobody_gave_is_asked_about_though_changes_are_allowed(board: Board) -> None:
    agent = asked(board, "Delete a task", program("delete_task(task_id=987654)"), writes="allow")
    [pause] = agent.graph.get_state(agent.config).interrupts
    [action] = pause.value["action_requests"]
    assert "In the path, task_id is in nothing that you, a response or the API's spec said." in action["description"]
    assert board.calls() == ["GET /tasks/{task_id} 404"]


def test_a_program_of_a_dry_run_ends_where_it_needs_an_answer_that_nobody_has(board: Board) -> None:
    code = 'made = create_project(body={"name": "Moss"})\nprint("Its id is", made["id"])'
    agent = asked(board, "Create Moss", program(code), writes="dry-run")
    unknown = "What would come next is not known: it depends on the response to create_project"
    assert unknown in agent.state["answer"]
    assert "line 2" in agent.state["answer"]
    assert agent.state["answer"].count("POST") == 1
    assert not agent.state["answer"].startswith("Its id is")
    assert board.calls() == []


def test_after_three_programs_of_the_caller_the_planner_decides(board: Board) -> None:
    over = end("They could not be listed.", fulfilled=False)
    replies = [plan("List the projects."), select("list_projects"), *["print(1 / 0)"] * 3, over]
    agent = asked(board, "How many projects are there?", *replies)
    assert "ZeroDivisionError" in agent.model.texts[-1]
    [step] = agent.state["steps"]
    assert (step["program"]["number"], step["program"]["end"]) == (3, "failed")
    assert (agent.state["answer"], agent.state["road"]) == ("They could not be listed.", "")


@pytest.mark.slow
def test_a_program_that_runs_too_long_is_an_error_with_its_reason(board: Board) -> None:
    agent = asked(board, "Wait", program("list_projects()\nwhile True: pass"), end("It took too long."))
    told = agent.state["steps"][0]["result"]
    assert ("The program failed." in told, "took too long" in told) == (True, True)
    assert board.calls() == ["GET /projects 200"]
