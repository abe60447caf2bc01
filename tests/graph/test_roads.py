"""Guards the one road and its drawing: every run passes the four roles, and a role asks a model only where it must."""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from board import Board
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command
from roles import by_role, call, end, plan, program, prompts_of, role_of, select
from typing_extensions import TypedDict

from recipes import recipe
from restgpt.graph.agent import graph
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


ROOT = Path(__file__).parents[2]


def test_the_graph_is_named_with_an_edge_for_each_way_and_every_role_is_described() -> None:
    assert graph.get_name() == "RestGPT"
    drawing = graph.get_graph()
    assert len(drawing.edges) == 10
    roles = {"planner", "selector", "caller", "parser"}
    assert drawing.nodes.keys() == {*roles, "intake", "__start__", "__end__"}
    assert all((drawing.nodes[role].metadata or {})["description"] for role in roles)


def test_the_exported_graph_brings_no_checkpointer() -> None:
    assert graph.checkpointer is None
    assert graph.store is None


def test_the_picture_is_the_graph_as_it_is_wired_with_the_decisions_of_the_planner() -> None:
    picture = (ROOT / "docs" / "graph.mmd").read_text(encoding="utf-8")
    edges = re.findall(r"(\w+) -\.->\|\"(.*?)\"\| (\w+);", picture)
    assert {("planner", "plan / continue", "selector"), ("planner", "end", "__end__")} <= set(edges)
    assert ("parser", "result", "planner") in edges
    assert runpy.run_path(str(ROOT / "docs" / "generate.py"))["picture"]() == picture, "run `make docs`"
    assert f"```mermaid\n{picture}```" in (ROOT / "README.md").read_text(encoding="utf-8"), "run `make docs`"


def test_no_label_of_a_decision_is_lost_in_the_drawing() -> None:
    drawn = {(edge.source, edge.target, edge.data) for edge in graph.get_graph().edges}
    wired = {
        (source, end, label)
        for source, branches in graph.builder.branches.items()
        for branch in branches.values()
        for label, end in (branch.ends or {}).items()
    }
    assert ("planner", "selector", "plan / continue") in wired
    assert wired - drawn == set()


def test_two_decisions_for_one_pair_of_nodes_need_one_label_because_langgraph_draws_one_edge() -> None:
    class Round(TypedDict):
        decision: str

    builder = StateGraph(Round)
    for node in ("planner", "selector"):
        builder.add_node(node, lambda state: {})
    builder.add_edge(START, "planner")
    ends = {"plan": "selector", "continue": "selector", "end": END}
    builder.add_conditional_edges("planner", lambda state: state["decision"], ends)
    edges = builder.compile().get_graph().to_json()["edges"]
    assert [edge["data"] for edge in edges if edge["target"] == "selector"] == ["continue"]
