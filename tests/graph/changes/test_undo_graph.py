"""Guards the undo as a graph of a server: newest first, each once, only after approval, in a thread of its own."""

from typing import Any

import pytest
from board import CALLS, Board, agent_of
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from lab.kit.errand import ErrandModel, board_errand
from restgpt.calling.record import NOTHING
from restgpt.graph.persistence import undo_thread_id
from restgpt.graph.single import UndoGraph, WrongUndoThreadError, build_undo
from restgpt.nodes.run.services import Context, Services

THREAD = "errand-1"
CONFIG: Any = {"configurable": {"thread_id": undo_thread_id(THREAD)}}


@pytest.fixture
def graph(board: Board) -> UndoGraph:
    """The undo over a store in which the errand has made four changes."""
    errand, store = board_errand(), InMemoryStore()
    defaults = Context(**CALLS, code=False, writes="allow")
    services = Services([board.api], model=ErrandModel.over(errand), defaults=defaults)
    agent = agent_of(None, ErrandModel.over(errand), services=services, store=store)  # type: ignore[arg-type]
    agent.thread = THREAD
    agent.ask(errand.instruction)
    assert len(board.changes()) == 4
    return build_undo(services, checkpointer=InMemorySaver(), store=store)


def undo(graph: UndoGraph, decision: str = "approve", **given: Any) -> Any:
    """Run the undo and decide all its questions in one way."""
    result: Any = graph.invoke({"thread": THREAD, **given}, CONFIG)
    while pauses := result.get("__interrupt__"):
        one = {"type": decision} if decision == "approve" else {"type": decision, "message": "No."}
        result = graph.invoke(Command(resume={"decisions": [one] * len(pauses[0].value["action_requests"])}), CONFIG)
    return result


def test_changes_go_back_newest_first_and_only_after_approval(board: Board, graph: UndoGraph) -> None:
    paused: Any = graph.invoke({"thread": THREAD}, CONFIG)
    assert len(paused["__interrupt__"][0].value["action_requests"]) == 4
    assert len(board.changes()) == 4
    done = undo(graph)
    assert board.changes()[4:] == [
        "PATCH /projects/{project_id} 200",
        "DELETE /tasks/{task_id} 204",
        "DELETE /tasks/{task_id} 204",
        "DELETE /projects/{project_id} 204",
    ]
    assert [line.endswith("Done.") for line in done["answer"].splitlines()] == [True] * 4


def test_what_was_undone_is_not_undone_again(board: Board, graph: UndoGraph) -> None:
    assert "PATCH" in undo(graph, changes=1)["answer"]
    assert board.changes()[4:] == ["PATCH /projects/{project_id} 200"]
    undo(graph)
    assert len(board.changes()) == 8
    assert undo(graph)["answer"] == NOTHING
    assert len(board.changes()) == 8


def test_a_rejected_reversal_can_be_asked_for_again(board: Board, graph: UndoGraph) -> None:
    assert "Not done: The user rejected it. No." in undo(graph, "reject", changes=1)["answer"]
    assert len(board.changes()) == 4
    assert undo(graph, changes=1)["answer"].endswith("Done.")
    assert len(board.changes()) == 5


def test_in_another_thread_nothing_is_undone(board: Board, graph: UndoGraph) -> None:
    with pytest.raises(WrongUndoThreadError, match=undo_thread_id(THREAD)):
        graph.invoke({"thread": THREAD}, {"configurable": {"thread_id": "another"}})
    assert len(board.changes()) == 4
