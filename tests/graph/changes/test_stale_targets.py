"""Guards approvals of changed targets: if the target changed since the question, the person is asked again."""

from typing import Any

import pytest
from board import Agent, Board, served_board
from langgraph.types import Command
from programs import actions, decide
from question import unmarked
from roles import call

from lab.kit.port import held_port
from restgpt.nodes.state.records import StateError
from restgpt.tools.errors import ConnectFault
from restgpt.tools.request.prepared_request import PreparedRequest
from restgpt_bench.worlds.server import serve

RENAME = {"path": {"project_id": 2}, "body": {"owner": "Noor"}}
GET, PATCH = "GET /projects/{project_id} 200", "PATCH /projects/{project_id} 200"


def changer(board: Board, *arguments: dict[str, Any], operation: str = "update_project") -> Agent:
    wanted = arguments or (RENAME,)
    return board.one_task(operation, caller=[call(*wanted, numbers=[1] * len(wanted))])


def asking(board: Board) -> Agent:
    """An agent that waits with its change of project 2."""
    agent = changer(board)
    agent.ask("Let Noor own project 2")
    return agent


def approve(agent: Agent) -> dict[str, Any]:
    return agent.graph.invoke(Command(resume="approve"), agent.config)


def elsewhere(board: Board, **fields: Any) -> None:
    """Change the project as another client would; the world's log records this too."""
    answer = board.world.call("PATCH /projects/{project_id}", path={"project_id": 2}, body=fields)
    assert answer.status == 200


def test_an_approved_change_looks_once_before_the_question_and_once_before_it_is_sent(board: Board) -> None:
    agent = asking(board)
    assert board.calls() == [GET]
    assert agent.state["usage"]["requests"] == 1
    approve(agent)
    assert board.calls() == [GET, GET, PATCH]
    assert agent.state["usage"]["requests"] == 3


def test_a_field_that_changed_since_the_question_is_asked_about_again(board: Board) -> None:
    agent = asking(board)
    before = board.world.dump()["projects"]["2"]["name"]  # type: ignore[call-overload,index]
    elsewhere(board, name="Somebody else's")
    [action] = actions(approve(agent))
    assert board.calls() == [GET, PATCH, GET]
    label, _, line, *_ = unmarked(action["description"])
    assert label.startswith("The target has changed since this request was approved, so it was not sent.")
    assert line == f'name: "{before}" → "Somebody else\'s"'
    assert action["target"]["present"]["name"] == "Somebody else's"
    approve(agent)
    assert board.calls() == [GET, PATCH, GET, GET, PATCH]
    assert board.world.dump()["projects"]["2"]["owner"] == "Noor"  # type: ignore[call-overload,index]


def test_a_field_that_the_request_writes_is_compared_every_time(board: Board) -> None:
    agent = asking(board)
    for owner in ("Ada", "Ben"):
        elsewhere(board, owner=owner)
        [action] = actions(approve(agent))
        assert f'owner: "{owner}" → "Noor"' in unmarked(action["description"])
    assert board.calls() == [GET, PATCH, GET, PATCH, GET]


def test_a_field_that_the_request_writes_as_json_text_is_compared_every_time(board: Board) -> None:
    agent = changer(board, {"path": {"project_id": 2}, "body": '{"owner": "Noor"}'})
    [action] = actions(agent.ask("Let Noor own project 2"))
    assert any(line.startswith("Changes, ") for line in unmarked(action["description"]))
    assert action["undo"] == "PATCH /projects/2"
    for owner in ("Ada", "Ben"):
        elsewhere(board, owner=owner)
        assert "__interrupt__" in approve(agent)


def test_a_field_that_never_rests_makes_one_more_question_only(board: Board) -> None:
    agent = asking(board)
    elsewhere(board, name="one")
    assert "__interrupt__" in approve(agent)
    elsewhere(board, name="two")
    approve(agent)
    assert board.calls() == [GET, PATCH, GET, PATCH, GET, PATCH]


def test_for_a_question_that_is_shown_again_and_for_a_rejected_change_nothing_is_looked_at_again(board: Board) -> None:
    agent = asking(board)
    first, second = (agent.graph.invoke(Command(resume=odd), agent.config)["__interrupt__"][0] for odd in (7, []))
    assert first.value == second.value
    agent.graph.invoke(Command(resume="reject"), agent.config)
    assert board.calls() == [GET]


def test_what_the_same_approval_changed_is_not_asked_about(board: Board) -> None:
    agent = changer(board, RENAME, {"path": {"project_id": 2}, "body": {"name": "Moss"}})
    agent.ask("Let Noor own project 2, and call it Moss")
    assert "__interrupt__" not in approve(agent)
    assert board.calls().count(PATCH) == 2


def test_a_change_that_an_edit_sent_elsewhere_leaves_the_target_of_the_next_to_be_compared(board: Board) -> None:
    agent = changer(board, RENAME, {"path": {"project_id": 2}, "body": {"name": "Moss"}})
    agent.ask("Let Noor own project 2, and call it Moss")
    elsewhere(board, name="Somebody else's")
    action = {"name": "update_project", "args": {"path": {"project_id": 1}, "body": {"owner": "Noor"}}}
    edit = {"type": "edit", "edited_action": action}
    [elsewhere_now] = actions(decide(agent, edit, "approve"))
    assert ("/projects/1" in elsewhere_now["description"], board.calls().count(PATCH)) == (True, 1)
    [action] = actions(approve(agent))
    assert '"Somebody else\'s" → "Moss"' in action["description"]
    assert board.calls().count(PATCH) == 2


def test_a_target_that_is_gone_is_asked_about_again(board: Board) -> None:
    agent = changer(board, {"path": {"task_id": 101}, "body": {"hours": 3}}, operation="update_task")
    agent.ask("Set the hours of task 101 to 3")
    assert board.world.call("DELETE /tasks/{task_id}", path={"task_id": 101}).status < 300
    [action] = actions(approve(agent))
    assert "(nothing there)" in action["description"]


def test_an_unreachable_api_stops_the_run_and_the_approval_stays_good() -> None:
    with held_port() as port:
        with served_board(port=port) as board:
            agent = asking(board)
        with pytest.raises(ConnectFault):
            approve(agent)
        with serve(board.world, port=port):
            agent.graph.invoke(None, agent.config)
    assert agent.state["answer"] == "Done."
    assert board.calls().count(PATCH) == 1


@pytest.mark.parametrize("undo", [True, False])
def test_a_change_that_needs_no_question_is_looked_at_for_its_undo_only(board: Board, undo: bool) -> None:
    changer(board).ask("Let Noor own project 2", writes="allow", undo=undo)
    assert board.calls() == ([GET, PATCH] if undo else [PATCH])


def test_the_arguments_of_a_call_are_settled_once_whatever_happens_to_it(board: Board) -> None:
    agent = asking(board)
    [kept] = agent.state["requests"]
    assert "request" not in kept
    approve(agent)
    [sent] = agent.state["steps"][0]["requests"]
    assert not {"question", "target", "settled", "endpoint"} & sent.keys()


@pytest.mark.parametrize("status", ["approved", "planned"])
def test_a_call_whose_kept_request_is_another_one_is_not_sent(board: Board, status: str) -> None:
    agent = asking(board)
    [kept] = agent.state["requests"]
    [reads] = [item for item in board.api.operations if item.name == "get_project"]
    forged = PreparedRequest("DELETE", f"{reads.base_url}/tasks/102", {}, None, reads.api.name, "get_project")
    request = {"method": "DELETE", "url": forged.url, "headers": {}, "body": None, "security": []}
    left = {
        **kept,
        "operation": "get_project",
        "safe": True,
        "status": status,
        "arguments": {"path": {"project_id": 2}},
        "settled": {"path": {"project_id": 2}},
        "endpoint": f"GET {reads.base_url}{reads.path}",
        "request": {**request, "api": reads.api.name, "operation": "get_project"},
        "fingerprint": forged.fingerprint,
    }
    before = board.calls()
    pause = agent.graph.update_state(
        agent.config, {"requests": [left]}, as_node="caller" if status == "planned" else "parser"
    )
    agent.graph.invoke(None, pause)
    assert board.calls() == before
    assert "102" in board.tasks()
    [step] = agent.state["steps"]
    assert "would not be the same" in step["requests"][0]["note"]


def test_an_edited_call_that_is_sent_without_an_answer_is_refused_with_the_place(board: Board) -> None:
    agent = asking(board)
    [kept] = agent.state["requests"]
    with pytest.raises(StateError, match=r"requests\[0\].*has the status of its response in `response`"):
        agent.graph.update_state(agent.config, {"requests": [{**kept, "status": "sent"}]}, as_node="parser")
