"""Guards the one road: every run passes the four roles, and a role asks a model only where nothing is decided yet."""

from typing import Any

import pytest
from board import Board
from langgraph.types import Command
from roles import by_role, call, end, plan, program, prompts_of, role_of, select

from recipes import recipe
from restgpt.nodes.run.services import Context
from restgpt.nodes.state.recipe_run import recipe_record

WISH = "Add the task Buy soil to Winter timetable"
ANSWER = "Added Buy soil to Winter timetable."
PROGRAM = """
found = one(rows(list_projects()), name="Winter timetable")
made = create_task(project_id=found["id"], body={"title": "Buy soil"})
print(f"Added {made['title']} to {found['name']}.")
"""
CALLS = {
    "planner": [plan("Find the project"), plan("Add the task Buy soil to project 1"), end(ANSWER)],
    "selector": [select("list_projects"), select("create_task")],
    "caller": [call({}), call({"path": {"project_id": 1}, "body": {"title": "Buy soil"}})],
}
ASKED = [*["planner", "selector", "caller"] * 2, "planner"]
ROLES = ["planner", "selector", "caller", "parser"]
CHANGE = ["parser", "parser"]
"""After the question: the approval is kept in a checkpoint, then the change goes out."""


def visited(agent: Any, *inputs: Any) -> list[str]:
    parts = [part for given in inputs for part in agent.graph.stream(given, agent.config)]
    return [name for part in parts for name in part if name != "__interrupt__"]


@pytest.mark.parametrize(
    ("road", "script", "nodes", "asked"),
    [
        ("auto", {"express": [program(PROGRAM)]}, [*ROLES, *CHANGE], ["express"]),
        ("program", {"express": [program(PROGRAM)]}, [*ROLES, *CHANGE], ["express"]),
        ("roles", CALLS, [*ROLES, *ROLES, *CHANGE], ASKED),
        ("recipe", {}, [*ROLES, *CHANGE], []),
    ],
)
def test_a_run_with_a_read_and_a_change_passes_the_four_roles(
    board: Board, road: str, script: dict[str, Any], nodes: list[str], asked: list[str]
) -> None:
    agent = board.agent(by_role(script), context={} if road == "recipe" else {"road": road})
    inputs = {"project": "Winter timetable", "title": "Buy soil"}
    given = {"recipe": recipe_record(recipe(board.api), inputs)} if road == "recipe" else {"instruction": WISH}
    assert visited(agent, given, Command(resume="approve")) == ["intake", *nodes, "planner"]
    assert agent.state["answer"] == ANSWER
    assert [role_of(prompt) for prompt in agent.model.prompts] == asked
    assert board.calls() == ["GET /projects 200", "POST /projects/{project_id}/tasks 201"]


def test_the_functions_of_a_program_stand_in_the_state_and_a_run_goes_on_from_an_edited_choice(board: Board) -> None:
    agent = board.agent(by_role({"express": [program(PROGRAM)] * 2}), context={"writes": "allow"})
    visited(agent, {"instruction": WISH})
    selection = agent.state["selection"]
    assert {"list_projects", "create_task"} <= set(selection["operations"])
    assert (selection["reason"], selection["looks"]) == ("All functions fit the prompt.", [])
    chosen = next(item for item in agent.graph.get_state_history(agent.config) if item.next == ("caller",))
    few = {**chosen.values["selection"], "operations": ["list_projects", "create_task"], "reason": "I chose them."}
    agent.graph.invoke(None, agent.graph.update_state(chosen.config, {"selection": few}, as_node="selector"))
    texts = [str(prompt[0].text) for prompt in prompts_of(agent.model, "express")]
    assert ["find_tasks(" in text for text in texts] == [True, False]
    assert all("create_task(" in text for text in texts)


@pytest.mark.parametrize(("named", "asked"), [(("planner",), "planner"), (("planner", "caller"), "caller")])
def test_the_model_of_the_planner_writes_programs_where_the_caller_has_none(
    board: Board, named: tuple[str, ...], asked: str
) -> None:
    models = {role: by_role({"express": [program(PROGRAM)]}) for role in ("planner", "caller")}
    given = {role: models[role] for role in named}
    agent = board.agent(by_role({}), models=given, context={"writes": "allow"})
    assert agent.ask(WISH)["answer"] == ANSWER
    assert [role for role in models if models[role].prompts] == [asked]


def test_an_edited_prompt_is_what_the_model_reads(board: Board) -> None:
    edited = f"{Context().caller_prompt}\n\nCall no one Ada. That costs 1 $$."
    agent = board.agent(by_role({"express": [program(PROGRAM)]}), context={"writes": "allow", "caller_prompt": edited})
    assert agent.ask(WISH)["answer"] == ANSWER
    assert str(agent.model.prompts[0][0].text).endswith("Call no one Ada. That costs 1 $.")
