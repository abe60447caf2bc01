"""Guards native tool calling as a method: whole responses as tool results, and the same safe way for every request."""

import json
from typing import Any

import pytest
from board import Agent, Board
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from roles import by_role
from scripted import Reply, ScriptedModel

from restgpt.specs import Catalogue
from restgpt_bench.methods.build import build_method
from restgpt_bench.methods.toolbox import toolbox

INSTRUCTION = "Add the task 'Count the chairs' to project 1"
NEW_TASK = {"project_id": 1, "title": "Count the chairs"}


def tools(*calls: tuple[str, dict[str, Any]], text: str = "") -> Reply:
    listed = [
        {"name": name, "args": given, "id": f"given-{number}", "type": "tool_call"}
        for number, (name, given) in enumerate(calls, 1)
    ]
    return AIMessage(text, tool_calls=listed)


def agent(board: Board, *replies: Reply, checkpointer: Any = None, store: Any = None) -> Agent:
    model = by_role({"tools": replies})
    graph = build_method(
        "tools", [board.api], model=model, checkpointer=checkpointer or InMemorySaver(), store=store or InMemoryStore()
    )
    return Agent(graph, model)


def results(model: ScriptedModel, number: int = -1) -> list[ToolMessage]:
    return [message for message in model.prompts[number] if isinstance(message, ToolMessage)]


def titles(board: Board) -> list[str]:
    return [task["title"] for task in board.tasks().values()]


def test_a_read_gives_the_model_the_whole_body_under_the_id_of_its_call(board: Board) -> None:
    reader = agent(board, tools(("get_project", {"project_id": 1}), text="I look."), AIMessage("Winter timetable."))
    assert reader.ask("What is project 1?")["answer"] == "Winter timetable."
    assert board.calls() == ["GET /projects/{project_id} 200"]
    said = reader.model.prompts[1][2]
    assert isinstance(said, AIMessage)
    [call] = said.tool_calls
    assert (said.text, call["args"], call["id"]) == ("I look.", {"project_id": 1}, "given-1")
    [result] = results(reader.model)
    assert (result.tool_call_id, result.status) == ("given-1", "success")
    assert json.loads(str(result.text))["name"] == "Winter timetable"


def test_a_change_waits_for_approval_and_goes_on_with_its_result(board: Board) -> None:
    saver, store = InMemorySaver(), InMemoryStore()
    replies = [tools(("create_task", NEW_TASK)), AIMessage("Added.")]
    asking = agent(board, *replies, checkpointer=saver, store=store)
    [pause] = asking.ask(INSTRUCTION)["__interrupt__"]
    [action] = pause.value["action_requests"]
    assert (action["name"], action["args"]) == (
        "create_task",
        {"path": {"project_id": 1}, "body": {"title": "Count the chairs"}},
    )
    assert board.calls() == []
    resumed = agent(board, *replies[1:], checkpointer=saver, store=store)
    assert resumed.graph.invoke(Command(resume="approve"), resumed.config)["answer"] == "Added."
    assert board.calls() == ["POST /projects/{project_id}/tasks 201"]
    assert "Count the chairs" in str(results(resumed.model)[0].text)


def test_a_rejected_change_is_a_failed_tool_call_with_the_reason(board: Board) -> None:
    writer = agent(board, tools(("create_task", NEW_TASK)), AIMessage("It was not added."))
    writer.ask(INSTRUCTION)
    writer.graph.invoke(Command(resume={"decisions": [{"type": "reject", "message": "not today"}]}), writer.config)
    [result] = results(writer.model)
    assert (result.status, "not today" in str(result.text)) == ("error", True)
    assert board.calls() == []


def test_an_edited_change_tells_the_model_what_was_sent(board: Board) -> None:
    writer = agent(board, tools(("create_task", NEW_TASK)), AIMessage("Added."))
    writer.ask(INSTRUCTION)
    edited = {"name": "create_task", "args": {"path": {"project_id": 1}, "body": {"title": "Sell the chairs"}}}
    writer.graph.invoke(Command(resume={"decisions": [{"type": "edit", "edited_action": edited}]}), writer.config)
    assert "Edited by the user. It was sent with" in str(results(writer.model)[0].text)
    assert "Sell the chairs" in titles(board)


@pytest.mark.parametrize(
    ("arguments", "problem"), [({}, "/path/project_id"), ({"project_id": 1, "colour": "red"}, "has no argument colour")]
)
def test_a_call_that_cannot_be_made_comes_back_with_the_problem(
    board: Board, arguments: dict[str, Any], problem: str
) -> None:
    tried, right = tools(("get_project", arguments)), tools(("get_project", {"project_id": 1}))
    reader = agent(board, tried, right, AIMessage("There."))
    assert reader.ask("What is project 1?")["answer"] == "There."
    [refused] = results(reader.model, 1)
    assert (refused.status, problem in str(refused.text)) == ("error", True)
    assert board.calls() == ["GET /projects/{project_id} 200"]


def test_the_error_of_the_api_comes_back_with_its_status(board: Board) -> None:
    reader = agent(board, tools(("get_project", {"project_id": 77})), AIMessage("There is none."))
    reader.ask("What is project 77?")
    [result] = results(reader.model)
    assert result.status == "error"
    assert str(result.text).startswith("HTTP 404: {")


def test_parallel_calls_get_a_result_each_in_the_order_of_the_reply(board: Board) -> None:
    three = tools(("get_project", {"project_id": 1}), ("get_project", {}), ("list_projects", {}))
    reader = agent(board, three, AIMessage("There."))
    reader.ask("What is project 1, and what else is there?")
    assert sorted(board.calls()) == ["GET /projects 200", "GET /projects/{project_id} 200"]
    told = [(result.tool_call_id, result.status) for result in results(reader.model)]
    assert told == [("given-1", "success"), ("given-2", "error"), ("given-3", "success")]
    assert len(reader.model.prompts) == 2


def test_a_change_is_sent_before_the_reads_that_follow_it_in_the_reply(board: Board) -> None:
    three = tools(("list_projects", {}), ("create_task", NEW_TASK), ("list_project_tasks", {"project_id": 1}))
    writer = agent(board, three, AIMessage("Added."))
    writer.ask(INSTRUCTION, writes="allow")
    tasks = "/projects/{project_id}/tasks"
    assert board.calls() == ["GET /projects 200", f"POST {tasks} 201", f"GET {tasks} 200"]
    assert len(writer.model.prompts) == 2


def test_a_dry_run_shows_the_change_and_sends_nothing(board: Board) -> None:
    writer = agent(board, tools(("create_task", NEW_TASK)), AIMessage("It would be added."))
    writer.ask(INSTRUCTION, writes="dry-run")
    assert "It would be: POST" in str(results(writer.model)[0].text)
    assert board.calls() == []


def test_the_budget_of_requests_holds_for_parallel_calls(board: Board) -> None:
    reader = agent(board, tools(*[("list_projects", {})] * 3))
    answer = reader.ask("What is there?", max_requests=2)["answer"]
    assert board.calls() == ["GET /projects 200"] * 2
    assert "The budget of 2 requests is used up" in answer


def test_every_operation_is_a_tool_with_flat_arguments(board: Board) -> None:
    box = toolbox(Catalogue([board.api]))
    assert set(box.tools) == {operation.name for operation in board.api.operations}
    by_name = {tool["function"]["name"]: tool["function"] for tool in box.definitions}
    parameters = by_name["create_task"]["parameters"]
    assert {"project_id", "title"} <= set(parameters["properties"])
    assert parameters["required"] == ["project_id", "title"]
    assert parameters["additionalProperties"] is False


def test_a_change_beside_a_read_is_asked_about_again_before_the_model_goes_on(board: Board) -> None:
    both = tools(
        ("get_project", {"project_id": 1}), ("update_project", {"project_id": 2, "owner": "Noor"}), text="Both."
    )
    writer = agent(board, both, AIMessage("Done."))
    writer.ask("Show project 1, and let Noor own project 2")
    board.world.call("PATCH /projects/{project_id}", path={"project_id": 2}, body={"owner": "Ada"})
    again = writer.graph.invoke(Command(resume="approve"), writer.config)
    assert 'owner: "Ada" → "Noor"' in again["__interrupt__"][0].value["action_requests"][0]["description"]
    assert len(writer.model.prompts) == 1
    assert writer.graph.invoke(Command(resume="approve"), writer.config)["answer"] == "Done."
    assert board.calls()[-1] == "PATCH /projects/{project_id} 200"
