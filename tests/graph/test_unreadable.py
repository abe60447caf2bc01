"""Guards what a turn does with replies that cannot be used: when it takes another road, and that it never fails."""

from typing import Any

import pytest
from board import Board
from langchain_core.messages import AIMessage, BaseMessage
from roles import by_role, call, end, plan, program, role_of, select
from scripted import Reply, ScriptedModel

from restgpt.trace import lines_of

HOURS = "How many hours does task 117 take?"
ONE = {"path": {"task_id": 117}}


def steady(**replies: Reply) -> ScriptedModel:
    """A model that gives the same reply whenever a role is asked; a role of which nothing is known gets an odd one."""

    def reply(prompt: list[BaseMessage]) -> Reply:
        return replies.get(role_of(prompt), "I am a small model.")

    return ScriptedModel(reply)


ODD = ["Hm.", "Here it is:\n```python\nget_task(117)\n```", ""]


@pytest.mark.parametrize("odd", ODD)
def test_three_replies_without_a_form_give_way_to_the_roles_for_this_turn(board: Board, odd: Reply) -> None:
    script = {"planner": [end("50 hours.")], "selector": [select("get_task")], "caller": [call(ONE)]}
    again = program("print(get_task(117)['hours'])")
    agent = board.agent(by_role({**script, "express": [*[odd] * 3, again]}), context={})
    assert agent.ask(HOURS)["answer"] == "50 hours."
    assert (board.calls(), agent.state["decision"]["fulfilled"]) == (["GET /tasks/{task_id} 200"], True)
    assert agent.state["road"] == "roles"
    agent.ask(f"{HOURS} Look again.")
    assert (agent.state["road"], agent.state["steps"][-1]["kind"]) == ("", "program")


def test_a_change_of_road_is_told_with_the_setting_that_avoids_it(board: Board) -> None:
    agent = board.agent(steady(planner=end("I do not know.", fulfilled=False)), context={})
    told = list(agent.graph.stream({"instruction": HOURS}, agent.config, stream_mode="custom"))
    [event] = [one for one in told if one["type"] == "road_changed"]
    assert "`road: program`" in event["reason"]
    assert [line.label for line in lines_of(event)] == ["road"]


def test_where_programs_are_demanded_replies_without_a_form_end_the_turn(board: Board) -> None:
    agent = board.agent(steady(), context={"road": "program"})
    assert "The model's replies were not a valid ProgramReply" in agent.ask(HOURS)["answer"]
    assert (agent.state["decision"]["fulfilled"], len(agent.model.prompts)) == (False, 3)


@pytest.mark.parametrize(
    "reply",
    [
        {"thought": "x", "decision": "functions", "text": "get_task"},
        program("print(get_task(117)['nothing'])"),
        program("stop('Hm.')"),
        "```python\nprint(\n```",
        AIMessage("", tool_calls=[{"name": "ProgramReply", "args": {"text": ""}, "id": "1", "type": "tool_call"}]),
    ],
    ids=range(5),
)
def test_no_other_reply_changes_the_road_however_often_it_comes(board: Board, reply: Reply) -> None:
    agent = board.agent(ScriptedModel(lambda prompt: reply), context={})
    agent.ask(HOURS)
    assert (agent.state["road"], agent.state["decision"]["fulfilled"]) == ("", False)
    assert {role_of(prompt) for prompt in agent.model.prompts} == {"express"}


def test_a_sub_tasks_program_that_is_written_again_goes_back_to_the_planner(board: Board) -> None:
    code = "print(get_task(117)['nothing'])"
    script = {"express": [plan("Find the hours of task 117")], "planner": [end("Unknown.", fulfilled=False)]}
    agent = board.agent(by_role({**script, "selector": [select("get_task")], "program": [code] * 2}), context={})
    assert agent.ask(HOURS)["answer"] == "Unknown."
    assert agent.state["road"] == ""


@pytest.mark.parametrize("known", [{}, {"selector": select("get_task")}, {"planner": plan("Find task 117")}])
@pytest.mark.parametrize("road", ["roles", "auto"])
def test_a_turn_without_a_readable_reply_ends_and_says_so(board: Board, road: str, known: dict[str, Any]) -> None:
    agent = board.agent(steady(**known), context={"road": road})
    assert "The model's replies were not a valid" in agent.ask(HOURS)["answer"]
    assert agent.state["decision"]["fulfilled"] is False
    assert len(agent.model.prompts) < 14


def test_what_was_done_before_an_unreadable_decision_is_told(board: Board) -> None:
    planner = [plan("Delete task 103"), "Hm.", "Hm.", "Hm."]
    agent = board.one_task("delete_task", planner=planner, caller=[call({"path": {"task_id": 103}})])
    answer = agent.ask("Delete task 103.", writes="allow")["answer"]
    assert "\n- delete_task (task_id 103): done" in answer
    assert agent.state["decision"]["fulfilled"] is False
