"""Guards the state and its inputs: it rejects invalid values, another version's checkpoints, settings given twice."""

from typing import Any

import pytest
from board import Board
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from roles import by_role, call, end, one_task, plan

from restgpt.graph.build import build_graph
from restgpt.nodes.run.services import Context, Services
from restgpt.nodes.state.records import FORMAT, StateError
from restgpt.nodes.state.state import OtherFormatError
from restgpt_bench.methods.build import build_method

READER = one_task("list_projects", planner=[plan("List the projects"), end("Done."), end("Done again.")])


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"steps": "garbage"}, "steps"),
        ({"steps": [{"turn": 1}]}, r"steps\[0\]\['task'\]"),
        ({"requests": [{"id": 7}]}, r"requests\[0\]"),
        ({"decision": {"kind": "dance", "text": ""}}, r"decision\['kind'\]"),
        ({"api_plan": []}, "api_plan"),
        ({"usage": {"roles": "many"}}, r"usage\['roles'\]"),
        ({"baseline": 5}, "baseline"),
        ({"turn": "first"}, "turn"),
        ({"round": None}, "round"),
        ({"messages": {"text": "hidden"}}, "messages: Message dict must contain 'role' and 'content' keys. Read"),
        ({"messages": 7}, "messages: Unsupported message type"),
    ],
)
def test_garbage_written_into_the_state_is_refused_by_its_place(board: Board, values: Any, place: str) -> None:
    agent = board.agent(by_role(READER))
    agent.ask("List the projects")
    before = agent.state
    with pytest.raises(StateError, match=f"at {place}.*get_state"):
        agent.graph.update_state(agent.config, values)
    assert agent.state == before
    assert agent.ask("And again")["answer"] == "Done again."


@pytest.mark.parametrize("part", ["target", "question"])
def test_garbage_in_a_call_that_waits_is_refused_and_it_waits_on(board: Board, part: str) -> None:
    rename = {"path": {"project_id": 2}, "body": {"owner": "Noor"}}
    agent = board.one_task("update_project", caller=[call(rename)])
    agent.ask("Let Noor own project 2")
    [waiting] = agent.state["requests"]
    agent.graph.update_state(agent.config, {"requests": [waiting]}, as_node="parser")
    with pytest.raises(StateError, match=rf"requests\[0\]\['{part}'\]"):
        agent.graph.update_state(agent.config, {"requests": [{**waiting, part: {"known": 1}}]}, as_node="parser")
    assert "__interrupt__" in agent.graph.invoke(None, agent.config)
    assert agent.graph.invoke(Command(resume="approve"), agent.config)["answer"] == "Done."


def test_what_the_state_holds_may_be_written_back(board: Board) -> None:
    agent = board.agent(by_role(READER))
    agent.ask("List the projects")
    agent.graph.update_state(agent.config, {"plan": "another", "decision": {"kind": "plan", "text": "another"}})
    assert agent.state["plan"] == "another"


def test_a_thread_of_another_version_is_refused_and_kept(board: Board) -> None:
    agent = board.agent(by_role(READER))
    agent.ask("List the projects")
    assert agent.state["format"] == FORMAT
    saver = agent.graph.checkpointer
    assert isinstance(saver, InMemorySaver)
    agent.graph.update_state(agent.config, {"format": FORMAT + 1})
    kept = len(list(saver.list(None)))
    for touch in (
        lambda: agent.ask("And again"),
        lambda: agent.state,
        lambda: agent.graph.update_state(agent.config, {}),
    ):
        with pytest.raises(OtherFormatError, match=f"format {FORMAT + 1}, and this version reads format {FORMAT}"):
            touch()
    assert len(list(saver.list(None))) == kept


@pytest.mark.parametrize("build", [build_graph, lambda *given, **options: build_method("react", *given, **options)])
def test_resources_beside_what_they_hold_are_refused(board: Board, build: Any) -> None:
    services = Services([board.api])
    for twice in ({"model": "openai:x"}, {"models": {"planner": "openai:x"}}, {"context": Context(writes="deny")}):
        with pytest.raises(ValueError, match=f"{next(iter(twice))} cannot be given together with services"):
            build(services=services, **twice)
    with pytest.raises(ValueError, match="apis and model cannot be given together with services"):
        build([board.api], model="openai:x", services=services)
    assert build(services=services, checkpointer=InMemorySaver(), store=InMemoryStore())
