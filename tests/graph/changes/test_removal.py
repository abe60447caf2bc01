"""Guards the deletion of threads: all their data is deleted, except bodies that other threads use."""

import pytest
from board import Board
from roles import by_role, call, one_task

from restgpt.calling.journal import Journal
from restgpt.graph.build import build_graph
from restgpt.graph.persistence import AT_ONCE, Persistence, is_unsettled, remove_bodies, remove_thread, undo_thread
from restgpt.tools.response.store import ResponseStore, UnknownHandleError, handles_in


def run(kept: Persistence, board: Board, thread: str, *projects: int, make: str = "") -> list[str]:
    """Read some projects in a thread, and create one if a name is given; returns the handles of the responses."""
    reads = [call(*({"path": {"project_id": number}} for number in projects))]
    makes = [call({"body": {"name": make}}, numbers=[len(projects) + 1])] if make else []
    operations = [*["get_project"] * len(projects), *["create_project"] * len(makes)]
    agent = board.agent(by_role(one_task(*operations, caller=[*reads, *makes])), **kept.saved)
    agent.thread = thread
    agent.ask(f"Do it with {projects}", writes="allow")
    [step] = agent.state["steps"]
    return [request["response"]["handle"] for request in step["requests"]]


def test_nothing_of_a_removed_thread_is_left_but_the_bodies_that_others_use(kept: Persistence, board: Board) -> None:
    shared, own, changed = run(kept, board, "gone", 1, 2, make="Moss")
    assert run(kept, board, "stays", 1) == [shared]
    Journal(kept.store, undo_thread("gone")).intend("r.undo.0", "abc", {})
    remove_bodies(kept, remove_thread(kept, "gone"))
    assert {item.config["configurable"]["thread_id"] for item in kept.checkpointer.list(None)} == {"stays"}
    assert Journal(kept.store, "gone").entries() == Journal(kept.store, undo_thread("gone")).entries() == []
    claims = kept.store.conn.execute("SELECT DISTINCT thread FROM restgpt_claims").fetchall()  # type: ignore[attr-defined]
    assert len(claims) == 1
    responses = ResponseStore(kept.store)
    assert b"id" in responses.body(shared)
    for handle in (own, changed):
        with pytest.raises(UnknownHandleError):
            responses.open(handle)
    assert len(kept.store.search(("restgpt", "bodies"), limit=100)) == len(["about", "its one piece"])


def test_a_body_that_only_a_journal_of_another_thread_names_stays(kept: Persistence, board: Board) -> None:
    [shared] = run(kept, board, "gone", 1)
    Journal(kept.store, "killed").conclude("r.0", "abc", {"status": "sent", "response": {"handle": shared}})
    remove_bodies(kept, remove_thread(kept, "gone"))
    assert ResponseStore(kept.store).body(shared)


def test_a_change_without_an_outcome_makes_a_thread_unsettled(kept: Persistence) -> None:
    Journal(kept.store, "one").intend("r.0", "abc", {})
    Journal(kept.store, undo_thread("two")).intend("r.0", "abc", {})
    Journal(kept.store, "three").conclude("r.0", "abc", {"status": "sent", "response": {}})
    assert [is_unsettled(kept, name) for name in ("one", "two", "three", "none")] == [True, True, False, False]


@pytest.mark.slow
def test_a_body_is_found_however_many_checkpoints_came_after_it(kept: Persistence, board: Board) -> None:
    [shared] = run(kept, board, "stays", 1)
    graph = build_graph([], **kept.saved)
    for number in range(AT_ONCE + 1):
        graph.update_state({"configurable": {"thread_id": "other"}}, {"answer": str(number)}, as_node="intake")
    remove_bodies(kept, {shared})
    assert ResponseStore(kept.store).body(shared)


def test_the_handles_in_a_value_are_found_at_any_depth() -> None:
    one, two = "body-" + "a1" * 20, "body-" + "b2" * 20
    assert handles_in({"steps": [{"response": {"handle": one}}, (two, "body-short")]}) == {one, two}
