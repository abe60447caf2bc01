"""Guards the agent in other people's graphs: what it takes for its instruction, and what it passes on to its models."""

from collections.abc import Sequence
from typing import Any

import pytest
from board import Board
from deepagents import CompiledSubAgent, create_deep_agent
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from langgraph_supervisor import create_supervisor
from langgraph_swarm import create_handoff_tool, create_swarm
from roles import by_role, program
from scripted import ScriptedModel

from restgpt import as_tools
from restgpt.graph.build import Graph, build_graph
from restgpt.nodes.intake import EmptyInstructionError, UnreadablePartError

THREAD: Any = {"configurable": {"thread_id": "1"}}
COUNT = 'print(find_tasks()["total"], "tasks.")'
CREATE = 'print("Made", create_project(body={"name": "Moss"})["name"])'
ASKED: Any = {"messages": [("user", "How many tasks are there?")]}
APPROVE = Command(resume={"decisions": [{"type": "approve"}]})


class Host(ScriptedModel):
    """The model of a host, to which tools are bound as a provider takes them."""

    def bind_tools(self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any) -> Any:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools])


def tool(name: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{name}", "type": "tool_call"}])


def worker(board: Board, *codes: str) -> tuple[Graph, ScriptedModel]:
    model = by_role({"express": [program(code) for code in codes]})
    return build_graph([board.api], model=model, name="board"), model


def kept() -> dict[str, Any]:
    return {"checkpointer": InMemorySaver(), "store": InMemoryStore()}


def test_a_worker_of_a_supervisor_gets_the_instruction_and_its_answer_comes_back(board: Board) -> None:
    graph, model = worker(board, COUNT)
    host = Host([tool("transfer_to_board"), "There are 24 tasks."])
    made = create_supervisor([graph], model=host).compile(**kept())
    messages = made.invoke(ASKED, THREAD)["messages"]
    assert messages[-1].text == "There are 24 tasks."
    assert "24 tasks." in [message.text for message in messages]
    assert "How many tasks are there?" in model.texts[0]


def supervised_change(board: Board, *replies: Any) -> Any:
    """A supervisor whose worker waits with its change."""
    graph, _ = worker(board, CREATE, CREATE)
    made = create_supervisor([graph], model=Host([tool("transfer_to_board"), *replies])).compile(**kept())
    given: Any = {"messages": [("user", "Create a project Moss")]}
    assert "__interrupt__" in made.invoke(given, THREAD)
    return made


def test_a_change_of_a_worker_pauses_the_supervisor_and_is_made_after_the_approval(board: Board) -> None:
    made = supervised_change(board, "Moss is there.")
    assert made.invoke(APPROVE, THREAD)["messages"][-1].text == "Moss is there."
    assert board.calls() == ["POST /projects 201"]


def test_a_message_that_was_answered_is_not_carried_out_again(board: Board) -> None:
    made = supervised_change(board, tool("transfer_to_board"))
    with pytest.raises(EmptyInstructionError, match="read already"):
        made.invoke(APPROVE, THREAD)
    assert board.calls() == ["POST /projects 201"]


def test_an_agent_of_a_swarm_hands_over_and_keeps_the_next_turn(board: Board) -> None:
    graph, _ = worker(board, COUNT, COUNT)
    clerk = create_agent(
        ScriptedModel([tool("transfer_to_board")]), [create_handoff_tool(agent_name="board")], name="clerk"
    )
    made = create_swarm([clerk, graph], default_active_agent="clerk").compile(**kept())
    assert made.invoke(ASKED, THREAD)["messages"][-1].text == "24 tasks."
    assert made.invoke({"messages": [("user", "And now?")]}, THREAD)["messages"][-1].text == "24 tasks."


def test_a_subagent_of_deepagents_gets_its_task(board: Board) -> None:
    graph, model = worker(board, COUNT)
    host = Host([tool("task", description="Count the tasks", subagent_type="board"), "24."])
    agents = [CompiledSubAgent(name="board", description="Knows the task board.", runnable=graph)]
    made = create_deep_agent(host, subagents=agents, **kept())
    messages = made.invoke(ASKED, THREAD)["messages"]
    assert "24 tasks." in [message.text for message in messages if message.type == "tool"]
    assert "Count the tasks" in model.texts[0]


def test_the_tools_of_an_agent_of_langchain_call_and_pause(board: Board) -> None:
    call = tool("change_operation", operation="create_project", arguments={"body": {"name": "Moss"}})
    made = create_agent(ScriptedModel([call, "Done."]), as_tools([board.api]), **kept())
    assert "__interrupt__" in made.invoke(ASKED, THREAD)
    assert made.invoke(APPROVE, THREAD)["messages"][-1].text == "Done."
    assert board.calls() == ["POST /projects 201"]


def behind(board: Board, *before: Any, instruction: str = "") -> ScriptedModel:
    """Run the agent as a node of a graph after other messages; returns its model."""
    graph, model = worker(board, COUNT)
    builder = StateGraph(MessagesState)
    if instruction:
        builder.add_node("board", lambda state: graph.invoke({**state, "instruction": instruction}))
    else:
        builder.add_node("board", graph)
    builder.add_edge(START, "board")
    builder.compile(**kept()).invoke({"messages": list(before)}, THREAD)
    return model


def test_what_another_agent_said_since_is_context(board: Board) -> None:
    model = behind(board, HumanMessage("How many tasks are there?"), AIMessage("Ada wants to know it."))
    assert "ai: Ada wants to know it." in model.texts[0]
    assert model.texts[0].count("How many tasks are there?") == 1


def test_a_given_instruction_goes_first(board: Board) -> None:
    model = behind(board, HumanMessage("Help me with my day."), instruction="Count the tasks")
    assert model.texts[0].rstrip().endswith("Count the tasks")
    assert "human: Help me with my day." in model.texts[0]


def test_the_rules_of_the_host_reach_the_model(board: Board) -> None:
    model = behind(board, SystemMessage("Answer in Latin."), HumanMessage("How many tasks are there?"))
    assert "Answer in Latin." in str(model.prompts[0][0].text)
    assert "Answer in Latin." not in str(model.prompts[0][1].text)


PICTURE: Any = {"type": "image_url", "image_url": {"url": "data:image/png;base64,c2VjcmV0"}}
LEFT_OUT = "human: [A part of the type image_url stood here, which you cannot see.]"


def test_a_picture_beside_the_text_or_before_it_is_left_out_and_the_model_is_told(board: Board) -> None:
    asked: Any = [{"type": "text", "text": "How many tasks are there?"}, PICTURE]
    model = behind(board, HumanMessage([PICTURE]), AIMessage("A cat."), HumanMessage(asked))
    told = model.texts[0]
    assert (told.count(LEFT_OUT), "c2VjcmV0" in told, told.count("How many tasks are there?")) == (2, False, 1)
    assert told.index("ai: A cat.") < told.rindex(LEFT_OUT) < told.index("How many tasks are there?")


def test_parts_of_an_answer_that_only_its_model_reads_are_no_news(board: Board) -> None:
    thought: Any = [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "A cat."}]
    model = behind(board, HumanMessage("Hi."), AIMessage(thought), HumanMessage("How many tasks are there?"))
    assert "you cannot see" not in model.texts[0]


def test_a_picture_alone_is_refused_with_a_sentence(board: Board) -> None:
    with pytest.raises(UnreadablePartError, match="a part of the type 'image_url', and RestGPT reads text only"):
        behind(board, HumanMessage([PICTURE]))
