"""Guards what a turn does with a model that repeats an unfit reply for ever: it takes another road, and never fails."""

from typing import Any

import pytest
from board import Board
from langchain_core.messages import BaseMessage
from roles import by_role, call, end, plan, program, prompts_of, role_of, select
from scripted import Reply, ScriptedModel

HOURS = "How many hours does task 117 take?"
ONE = {"path": {"task_id": 117}}


def steady(**replies: Reply) -> ScriptedModel:
    """A model that gives the same reply whenever a role is asked; a role of which nothing is known gets an odd one."""

    def reply(prompt: list[BaseMessage]) -> Reply:
        opening = str(prompt[0].text)
        name = "operation" if "choose the one operation" in opening else "arguments" if "of one call" in opening else ""
        return replies.get(name or role_of(prompt), "I am a small model.")

    return ScriptedModel(reply)


@pytest.mark.parametrize("odd", ["Hm.", {"thought": "x", "decision": "functions", "text": "get_task"}])
def test_a_program_that_cannot_be_read_gives_way_to_the_roles(board: Board, odd: Reply) -> None:
    model = by_role(
        {
            "express": [odd] * 3,
            "planner": [end("50 hours.")],
            "selector": [select("get_task")],
            "caller": [call(ONE)],
        }
    )
    agent = board.agent(model, context={})
    assert agent.ask(HOURS)["answer"] == "50 hours."
    assert (board.calls(), agent.state["decision"]["fulfilled"]) == (["GET /tasks/{task_id} 200"], True)
    assert agent.state["road"] == "roles"


def test_the_next_turn_is_carried_out_by_a_program_again(board: Board) -> None:
    script = {
        "express": ["Hm.", "Hm.", program("print(get_task(117)['hours'])")],
        "planner": [end("50 hours.")],
        "selector": [select("get_task")],
        "caller": [call(ONE)],
    }
    agent = board.agent(by_role(script), context={})
    agent.ask(HOURS)
    agent.ask(f"{HOURS} Look again.")
    assert (agent.state["road"], agent.state["steps"][-1]["kind"]) == ("", "program")


@pytest.mark.parametrize("code", ["print(get_task(117)['nothing'])", "get_task(117)"])
def test_a_program_that_is_written_again_as_it_was_gives_way_to_the_roles(board: Board, code: str) -> None:
    choice = {"operation": "get_task"}
    model = steady(express=program(code), planner=end("50 hours."), operation=choice, arguments=ONE)
    agent = board.agent(model, context={})
    assert agent.ask(HOURS)["answer"] == "50 hours."
    assert len(prompts_of(model, "express")) == 2


def test_a_sub_tasks_program_that_is_written_again_gives_way_to_single_calls(board: Board) -> None:
    model = by_role(
        {
            "express": [plan("Find the hours of task 117")],
            "planner": [end("50 hours.")],
            "selector": [select("get_task")],
            "program": ["print(get_task(117)['nothing'])"] * 2,
            "caller": [call(ONE)],
        }
    )
    assert board.agent(model, context={}).ask(HOURS)["answer"] == "50 hours."


def test_a_selection_that_cannot_be_read_gives_way_to_one_operation_of_a_list(board: Board) -> None:
    model = steady(planner=plan("Find the hours of task 117"), operation={"operation": "get_task"}, caller=call(ONE))
    board.agent(model, context={"road": "roles", "max_steps": 1}).ask(HOURS)
    assert board.calls() == ["GET /tasks/{task_id} 200"]
    assert len(prompts_of(model, "selector")) == 3


def test_arguments_that_cannot_be_read_give_way_to_those_of_the_operations_own_schema(board: Board) -> None:
    model = steady(planner=plan("Find the hours of task 117"), selector=select("get_task"), arguments=ONE)
    board.agent(model, context={"road": "roles", "max_steps": 1}).ask(HOURS)
    assert board.calls() == ["GET /tasks/{task_id} 200"]


@pytest.mark.parametrize("known", [{}, {"selector": select("get_task")}, {"planner": plan("Find task 117")}])
@pytest.mark.parametrize("road", ["roles", "auto"])
def test_a_turn_without_any_reply_that_can_be_read_ends_with_a_question(
    board: Board, road: str, known: dict[str, Any]
) -> None:
    agent = board.agent(steady(**known), context={"road": road})
    assert "Which function should I call" in agent.ask(HOURS)["answer"]
    assert agent.state["decision"]["fulfilled"] is False
    assert len(agent.model.prompts) < 14


def test_what_was_done_before_an_unreadable_decision_is_told(board: Board) -> None:
    script = {"planner": [plan("Delete task 103"), "Hm.", "Hm."], "selector": [select("delete_task")]}
    agent = board.agent(by_role({**script, "caller": [call({"path": {"task_id": 103}})]}))
    answer = agent.ask("Delete task 103.", writes="allow")["answer"]
    assert "\n- delete_task (task_id 103): done" in answer
    assert agent.state["decision"]["fulfilled"] is False


def test_the_refusal_of_an_invented_id_names_the_call_that_gives_it(board: Board) -> None:
    invented = call({"path": {"project_id": 1}})
    script = {
        "planner": [plan("Count the tasks of the project Maps"), end("7.")],
        "selector": [select("list_project_tasks"), select("list_projects")],
        "caller": [invented, invented, {"path": {"project_id": 1}}, {"path": {"project_id": 1}}, call({})],
    }
    model = by_role(script)
    agent = board.agent(model)
    agent.ask("How many tasks has the project Maps?")
    assert "It stands in the answer of list_projects()" in str(prompts_of(model, "caller")[1][-1].text)
    assert "Operations that give such values: project_id: list_projects" in str(
        prompts_of(model, "selector")[1][-1].text
    )
    assert board.calls() == ["GET /projects 200"]
