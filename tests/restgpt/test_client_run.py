"""Guards `Client.run`: programs are decided, corrected, undone and read like the calls of a client."""

from typing import Any

import pytest
from board import Board
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from pair import Pair

from restgpt.client import Client
from restgpt.nodes.run.services import Services
from restgpt.outcome import Called, Pending, Ran, Undone
from restgpt.specs.problem import UnknownOperationError
from restgpt.threads import UnknownThreadError
from restgpt.tools.errors import OutdatedDecisionError, UnfinishedProgramError
from restgpt.tools.response.store import UnknownHandleError

ADD = "made = create_task(project_id=1, body={'title': 'Buy soil'})\n"


@pytest.fixture
def client(board: Board) -> Client:
    return Client([board.api])


def ran(outcome: Any) -> Ran:
    assert isinstance(outcome, Ran)
    return outcome


def waiting(outcome: Any) -> Pending:
    assert isinstance(outcome, Pending)
    return outcome


def test_a_program_of_reads_gives_its_report_and_its_calls(client: Client) -> None:
    done = ran(client.run("print(len(rows(list_projects())))"))
    assert (done.ok, done.end, done.text) == (True, "report", "4")
    assert [(call.operation, call.state, call.ok) for call in done.calls] == [("list_projects", "sent", True)]
    assert len(done.calls[0].json["items"]) == 4
    assert client.outcome(done.thread) == done


def test_a_change_of_a_program_is_decided_like_any_other_and_can_be_undone(client: Client, board: Board) -> None:
    question = waiting(client.run(f"{ADD}print(made['title'])"))
    assert question.program is not None
    assert client.outcome(question.thread) == question
    done = ran(client.decide(question, "approve"))
    assert done.text == "Buy soil"
    undone = client.decide(waiting(client.undo(done.thread)), "approve")
    assert isinstance(undone, Undone)
    assert board.calls()[-1] == "DELETE /tasks/{task_id} 204"


def test_an_undo_that_has_begun_to_send_is_finished_first(client: Client, board: Board) -> None:
    change = "update_task(task_id=101, body={'title': 'Buy soil'})\n"
    question = waiting(client.run(f"{change}{ADD}print(made['title'])"))
    while isinstance(question, Pending):
        question = client.decide(question, "approve")
    asked = waiting(client.undo(question.thread))
    assert not client.is_undoing(question.thread)
    board.server.world.call("PATCH /tasks/101", body={"title": "Somebody else's"})
    left = waiting(client.decide(asked, "approve"))
    assert client.is_undoing(question.thread)
    assert client.undo(question.thread, steps=1) == left
    assert [action["name"] for action in left.actions] == ["update_task"]


def test_a_corrected_program_does_not_repeat_a_change(client: Client, board: Board) -> None:
    failed = ran(client.decide(waiting(client.run(f"{ADD}raise ValueError('x')")), "approve"))
    assert (failed.ok, failed.end) == (False, "failed")
    assert "line 2" in failed.text
    assert ran(client.run(f"{ADD}print(made['title'])", thread=failed.thread)).text == "Buy soil"
    assert board.calls() == ["POST /projects/{project_id}/tasks 201"]


def test_a_program_that_waits_is_not_replaced_and_its_question_still_stands(client: Client) -> None:
    question = waiting(client.run(f"{ADD}print(made['title'])"))
    with pytest.raises(UnfinishedProgramError, match="has not ended"):
        client.run("print(1)", thread=question.thread)
    assert ran(client.decide(question, "approve")).text == "Buy soil"


def test_a_thread_that_holds_no_program_cannot_be_corrected(client: Client) -> None:
    call = waiting(client.call("delete_task", {"path": {"task_id": 102}}))
    for thread in (call.thread, "nothing", "program-nothing"):
        with pytest.raises(UnknownThreadError):
            client.run("print(1)", thread=thread)


def test_an_unknown_operation_is_an_error_before_anything_is_kept(client: Client) -> None:
    with pytest.raises(UnknownOperationError, match="list_projects"):
        client.run("print(1)", operations=["list_project"])
    done = ran(client.run("print(len(rows(list_projects())))", operations=["get_task"]))
    assert "there is no function list_projects" in done.text


def test_the_text_of_each_program_of_a_thread_stays_readable(client: Client) -> None:
    first = ran(client.run("print('long ' * 5000)"))
    second = ran(client.run("print('short')", thread=first.thread))
    assert client.body(first.handle).text().count("long") == 5000
    assert client.body(second.handle).text() == "short"
    for handle in (
        f"report-9-{first.thread}",
        f"report-x-{first.thread}",
        "report-1-program-none",
        "report-",
        "body-1",
    ):
        with pytest.raises(UnknownHandleError):
            client.body(handle)


def test_a_handle_of_a_call_gives_its_body(client: Client) -> None:
    called = client.call("list_projects")
    assert isinstance(called, Called)
    assert client.body(called.handle).value == called.json == client.body(called.handle).value


def test_a_program_of_a_conversation_may_not_send_on_what_other_calls_answered(pair: Pair) -> None:
    client = Client(services=Services([pair.crm, pair.collector], settings=pair.settings()))
    client.call("get_customer", {"path": {"customer": 7}}, conversation="chat")
    assert waiting(client.run("print(find_items(q='thing'))", conversation="chat"))
    assert pair.log == []
    assert ran(client.run("print(find_items(q='thing'))", conversation="another")).ok


def test_a_call_of_a_conversation_may_not_send_on_what_a_program_read(pair: Pair) -> None:
    client = Client(services=Services([pair.crm, pair.collector], settings=pair.settings()))
    ran(client.run("print(get_customer(customer=7))", conversation="chat"))
    assert waiting(client.call("find_items", {"query": {"q": "thing"}}, conversation="chat"))


def test_another_process_can_decide_and_go_on(board: Board) -> None:
    saver, store = InMemorySaver(), InMemoryStore()
    question = waiting(Client([board.api], checkpointer=saver, store=store).run(f"{ADD}print(made['title'])"))
    other = Client([board.api], checkpointer=saver, store=store)
    assert other.outcome(question.thread) == question
    done = ran(other.decide(Pending.from_json(question.to_json()), "approve"))
    assert (done.text, other.body(done.handle).text()) == ("Buy soil", "Buy soil")
    with pytest.raises(OutdatedDecisionError):
        other.decide(question, "approve")
    assert board.calls() == ["POST /projects/{project_id}/tasks 201"]
