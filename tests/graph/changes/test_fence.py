"""Guards the runs of a thread: a run that another one has overtaken sends nothing and does not take the thread back."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from board import CALLS, Agent, Board
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from roles import by_role, call, end, one_task, plan, role_of
from scripted import Reply, ScriptedModel
from typing_extensions import TypedDict

from restgpt.calling.claim import LostClaimError
from restgpt.graph.build import build_graph
from restgpt.graph.persistence import Persistence, open_persistence
from restgpt.tools.settings import Settings

NEW_TASK: dict[str, Any] = {"path": {"project_id": 1}, "body": {"title": "Count the chairs"}}
ADD = "Add the task 'Count the chairs' to project 1"
SCRIPT: dict[str, Any] = one_task("create_task", planner=[plan(ADD), end("Done.")], caller=[call(NEW_TASK)])
CHANGE = "POST /projects/{project_id}/tasks 201"


def stopped_at(role: str, meanwhile: Callable[[], object]) -> ScriptedModel:
    """A model of a process that is stopped at the first question to a role, while something happens elsewhere."""
    inner, stops = by_role(SCRIPT), [role]

    def reply(prompt: list[BaseMessage]) -> Reply:
        if role_of(prompt) in stops:
            stops.clear()
            meanwhile()
        return inner.reply(prompt, [])

    return ScriptedModel(reply)


def agent_on(kept: Persistence, board: Board, model: ScriptedModel) -> Agent:
    return board.agent(model, context={**CALLS, "writes": "allow"}, **kept.saved)


@pytest.mark.parametrize("role", ["planner", "selector", "caller"])
def test_a_run_that_was_stopped_while_another_finished_sends_nothing_and_leaves_the_thread(
    board: Board, tmp_path: Path, role: str
) -> None:
    settings = Settings(home=tmp_path)
    with open_persistence(settings) as ours, open_persistence(settings) as theirs:
        rest = SCRIPT if role == "planner" else {**SCRIPT, "planner": [end("Done.")]}
        other = agent_on(theirs, board, by_role(rest))
        late = agent_on(ours, board, stopped_at(role, lambda: other.graph.invoke(None, other.config)))
        with pytest.raises(LostClaimError, match="Continue with the other run"):
            late.graph.invoke({"instruction": ADD}, late.config, durability="sync")
        assert board.calls() == [CHANGE]
        assert late.state["answer"] == "Done."
        assert late.graph.get_state(late.config).next == ()


def test_deleted_lock_files_let_no_change_be_made_twice(board: Board, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)

    def go_on_elsewhere() -> None:
        for file in (tmp_path / "locks").iterdir():
            file.unlink()
        with theirs.lock("thread"):
            other.graph.invoke(None, other.config)

    with open_persistence(settings) as ours, open_persistence(settings) as theirs, ours.lock("thread"):
        other = agent_on(theirs, board, by_role({**SCRIPT, "planner": [end("Done.")]}))
        late = agent_on(ours, board, stopped_at("caller", go_on_elsewhere))
        with pytest.raises(LostClaimError):
            late.graph.invoke({"instruction": ADD}, late.config, durability="sync")
    assert board.calls() == [CHANGE]


def test_the_number_of_a_run_is_in_no_checkpoint(board: Board) -> None:
    agent = board.agent(by_role(SCRIPT))
    agent.ask(ADD)
    agent.graph.invoke(Command(resume="approve"), agent.config)
    kept = list(agent.graph.checkpointer.list(agent.config))  # type: ignore[union-attr]
    assert len(kept) > 5
    assert [item for item in kept if "claim" in str(item.checkpoint["channel_values"])] == []
    assert [item for item in kept if "'claim'" in str(item.pending_writes)] == []


def test_an_old_question_can_still_be_answered_by_its_checkpoint(board: Board) -> None:
    agent = board.agent(by_role({**SCRIPT, "planner": [plan(ADD), end("Never mind."), end("Done.")]}))
    agent.ask(ADD)
    asked = agent.graph.get_state(agent.config).config
    agent.ask("Forget it")
    assert board.calls() == []
    agent.graph.invoke(Command(resume="approve"), asked)
    assert board.calls() == [CHANGE]


class Host(TypedDict, total=False):
    """The state of a host with two agents."""

    instruction: str


def test_two_subgraphs_of_one_step_do_not_stop_each_other(board: Board) -> None:
    builder = StateGraph(Host)
    for title in ("Part 1", "Part 2"):
        script = {**SCRIPT, "caller": [call({**NEW_TASK, "body": {"title": title}})]}
        graph = build_graph([board.api], model=by_role(script), context={**CALLS, "writes": "allow"})
        given = {"instruction": f"Add the task '{title}' to project 1"}
        builder.add_node(title, lambda state, graph=graph, given=given: graph.invoke(given) and {})
        builder.add_edge(START, title)
        builder.add_edge(title, END)
    host = builder.compile(checkpointer=InMemorySaver(), store=InMemoryStore())
    host.invoke({"instruction": "go"}, {"configurable": {"thread_id": "t"}})
    assert board.calls() == [CHANGE] * 2
