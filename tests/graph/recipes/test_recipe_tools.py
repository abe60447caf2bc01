"""Guards recipes as tools of LangChain and as graphs of a server."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from board import Board
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from scripted import ScriptedModel
from typing_extensions import TypedDict

import restgpt
from recipes import ADD, INPUTS, LISTED, recipe
from restgpt.graph.recipe_graph import load_recipes
from restgpt.nodes.approval import UnapprovedCallError
from restgpt.recipes.book import RecipeBook, RecipeFileError

GIVEN = {"project": "Winter timetable", "title": "Buy soil"}
DONE = "Added Buy soil to Winter timetable."
APPROVE: Any = Command(resume={"decisions": [{"type": "approve"}]})
CONFIG: Any = {"configurable": {"thread_id": "host"}}


class Host(TypedDict, total=False):
    """The state of a parent graph."""

    said: str


def parent(board: Board, saver: InMemorySaver, store: InMemoryStore, *, is_async: bool) -> Any:
    """Return a parent graph that calls the tool of a recipe in a node."""
    [tool] = load_recipes([recipe(board.api)], apis=[board.api])

    def node(state: Host) -> Host:
        return {"said": tool.invoke(GIVEN)}

    async def anode(state: Host) -> Host:
        return {"said": await tool.ainvoke(GIVEN)}

    builder = StateGraph(Host)
    builder.add_node("node", anode if is_async else node)
    builder.add_edge(START, "node")
    return builder.compile(checkpointer=saver, store=store)


def test_a_tool_has_the_name_the_inputs_and_the_description_of_its_recipe(board: Board) -> None:
    [tool] = load_recipes([recipe(board.api)], apis=[board.api])
    assert tool.name == "add_task"
    assert tool.description == "Adds a task to a project."
    assert tool.args == INPUTS["properties"]


def test_a_tool_returns_the_answer_of_the_recipe(board: Board) -> None:
    [tool] = load_recipes([recipe(board.api)], apis=[board.api], context={"writes": "allow"})
    assert tool.invoke(GIVEN) == DONE
    assert asyncio.run(tool.ainvoke({**GIVEN, "title": "Dig"})) == "Added Dig to Winter timetable."
    assert len(board.calls()) == 4


@pytest.mark.parametrize("is_async", [False, True])
def test_a_pause_in_a_tool_is_a_pause_of_the_parent_and_its_answer_comes_back(board: Board, is_async: bool) -> None:
    saver, store = InMemorySaver(), InMemoryStore()

    def run(given: Any) -> Any:
        graph = parent(board, saver, store, is_async=is_async)
        return asyncio.run(graph.ainvoke(given, CONFIG)) if is_async else graph.invoke(given, CONFIG)

    [pause] = run({"said": ""})["__interrupt__"]
    assert "POST" in pause.value["action_requests"][0]["description"]
    assert board.calls() == ["GET /projects 200"]
    assert run(APPROVE)["said"] == DONE
    assert len(board.calls()) == 2


def test_an_agent_of_langchain_calls_a_recipe_and_pauses_with_it(board: Board) -> None:
    call = {"name": "add_task", "args": GIVEN, "id": "call-1", "type": "tool_call"}
    host_model = ScriptedModel([AIMessage("", tool_calls=[call]), "Done."])
    tools = load_recipes([recipe(board.api)], apis=[board.api])
    host = create_agent(host_model, tools, checkpointer=InMemorySaver(), store=InMemoryStore())
    given: Any = {"messages": [("user", "Add Buy soil")]}
    assert "__interrupt__" in host.invoke(given, CONFIG)
    messages = host.invoke(APPROVE, CONFIG)["messages"]
    assert [message.text for message in messages if message.type == "tool"] == [DONE]


def test_a_change_is_not_sent_where_nobody_can_be_asked(board: Board) -> None:
    [tool] = load_recipes([recipe(board.api)], apis=[board.api])
    with pytest.raises(UnapprovedCallError, match="waits for a person's approval"):
        tool.invoke(GIVEN)
    assert board.calls() == ["GET /projects 200"]


def test_a_tool_without_changes_needs_nobody(board: Board) -> None:
    made = recipe(board.api, "print(len(rows(list_projects())))", (LISTED,), inputs={"type": "object"})
    [tool] = load_recipes([made], apis=[board.api])
    assert tool.invoke({}) == "4"


def test_an_input_may_have_a_name_that_tools_use_themselves(board: Board) -> None:
    code = ADD.replace('inputs["title"]', 'inputs["config"]')
    inputs = {"type": "object", "properties": {"project": {"type": "string"}, "config": {"type": "string"}}}
    made = recipe(board.api, code, inputs={**inputs, "required": ["config"]})
    [tool] = load_recipes([made], apis=[board.api], context={"writes": "allow"})
    assert tool.invoke({"project": "Winter timetable", "config_": "Buy soil"}) == DONE
    assert tool.args_schema["required"] == ["config_"]  # type: ignore[index]


def test_recipes_are_loaded_by_folder_or_name(board: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = RecipeBook(tmp_path / "recipes")
    book.save(recipe(board.api))
    book.save(recipe(board.api, name="other"))
    monkeypatch.setenv("RESTGPT_RECIPES", str(book.folder))
    assert [tool.name for tool in restgpt.load_recipes(book.folder, apis=[board.api])] == ["add_task", "other"]
    assert [tool.name for tool in restgpt.load_recipes(["other"], apis=[board.api])] == ["other"]
    assert [tool.name for tool in restgpt.load_recipes([book.folder / "other.yaml"], apis=[board.api])] == ["other"]
    with pytest.raises(RecipeFileError, match="no recipe"):
        restgpt.load_recipes(["others"], apis=[board.api])
