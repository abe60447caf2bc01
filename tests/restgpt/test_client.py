"""Guards `Client`: calls without a model are decided, sent once, kept and undone, and what a conversation knows."""

import asyncio
import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import requests
from board import Board
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import Op, PutOp, Result
from langgraph.store.memory import InMemoryStore
from pair import SECRET, Pair
from paths import api_of
from wire.case import Canned
from wire.echo import EchoServer
from wire.raw import raw_server

from restgpt.calling.journal import Journal
from restgpt.client import Client
from restgpt.commands.terminal import explain
from restgpt.earlier import MOST_CONVERSATIONS, MOST_EARLIER
from restgpt.mcp.tool_runs import explained
from restgpt.nodes.run.services import Services
from restgpt.outcome import Called, Pending, Undone
from restgpt.specs import Api, load_api
from restgpt.specs.problem import UnknownOperationError
from restgpt.specs.reading.download import bundled_document
from restgpt.threads import UnknownThreadError
from restgpt.tools.errors import ArgumentError, MissingCredentialError, OutdatedDecisionError
from restgpt.tools.settings import Settings

DELETE = ("delete_task", {"path": {"task_id": 102}})


@pytest.fixture
def client(board: Board) -> Client:
    return Client([board.api])


def toy_at(url: str) -> Api:
    return load_api(bundled_document("toy").read_bytes(), base_url=url, auth={"key": "k"})


def pending(client: Client, *call: Any, **options: Any) -> Pending:
    outcome = client.call(*call or DELETE, **options)
    assert isinstance(outcome, Pending)
    return outcome


def test_operations_are_found_and_described(client: Client) -> None:
    assert "delete_task" in [operation.name for operation in client.find("remove a task", limit=3)]
    assert "task_id" in client.describe("DELETE /tasks/{task_id}")
    with pytest.raises(UnknownOperationError, match="delete_task"):
        client.describe("delete_tusk")


def test_a_read_is_sent_at_once_and_has_a_value(client: Client, board: Board) -> None:
    called = client.call("list_projects")
    assert isinstance(called, Called)
    assert (called.state, called.ok, called.status_code, called.thread) == ("sent", True, 200, "")
    assert len(called.json["items"]) == 4
    assert board.calls() == ["GET /projects 200"]


def test_a_question_and_a_call_can_be_asked_for_the_next_step(client: Client, board: Board) -> None:
    waiting = pending(client)
    called = waiting.approve()
    assert repr(called) == f"<Call delete_task 204 thread={waiting.thread}>"
    assert (called.request["method"], "102" in board.tasks()) == ("DELETE", False)
    reversing = called.undo()
    assert isinstance(reversing, Pending)
    assert reversing.reject("not now").calls[0].state == "rejected"
    with pytest.raises(RuntimeError, match=r"Client\.decide"):
        Pending.from_json(waiting.to_json()).approve()
    read = asyncio.run(client.acall("list_projects"))
    assert isinstance(read, Called)
    assert (repr(read), read.headers["content-type"]) == ("<Call list_projects 200>", "application/json")
    with pytest.raises(ValueError, match="changed nothing"):
        read.undo()


def test_a_change_waits_for_a_person_and_is_sent_once(client: Client, board: Board) -> None:
    waiting = pending(client)
    assert "DELETE" in waiting.description
    assert "102" in board.tasks()
    called = client.decide(waiting, "approve")
    assert (called.ok, called.status_code, called.thread) == (True, 204, waiting.thread)
    assert "102" not in board.tasks()
    with pytest.raises(OutdatedDecisionError, match="answered already"):
        client.decide(waiting, "approve")
    assert client.outcome(waiting.thread) == called
    assert board.changes() == ["DELETE /tasks/{task_id} 204"]


def test_arguments_may_be_named_as_those_of_the_function(client: Client, board: Board) -> None:
    assert client.call("get_task", {"task_id": 103}).ok  # type: ignore[union-attr]
    waiting = pending(client, "create_task", {"project_id": 1, "title": "Buy soil"})
    assert waiting.actions[0]["args"] == {"path": {"project_id": 1}, "body": {"title": "Buy soil"}}
    with pytest.raises(ArgumentError, match="did you mean 'task_id'"):
        client.call("get_task", {"tsk_id": 103})


def test_a_pending_call_is_a_value_that_another_client_can_decide(board: Board) -> None:
    saver, store = InMemorySaver(), InMemoryStore()
    kept = json.dumps(pending(Client([board.api], checkpointer=saver, store=store)).to_json())
    other = Client([board.api], checkpointer=saver, store=store)
    assert other.decide(Pending.from_json(json.loads(kept)), "approve").ok
    assert "102" not in board.tasks()


def test_a_rejected_call_is_not_sent(client: Client, board: Board) -> None:
    called = client.decide(pending(client), {"type": "reject", "message": "Keep it."})
    assert (called.state, called.ok, called.status_code) == ("rejected", False, None)
    assert "Keep it." in called.note
    assert "102" in board.tasks()


def test_a_call_that_is_edited_to_another_target_is_asked_about_with_that_one(client: Client, board: Board) -> None:
    waiting = pending(client)
    edited = {"name": "delete_task", "args": {"path": {"task_id": 103}}}
    again = client.decide(waiting, {"type": "edit", "edited_action": edited})
    assert isinstance(again, Pending)
    assert "/tasks/103" in again.description
    assert {"102", "103"} <= board.tasks().keys()
    assert again.approve().ok
    assert "103" not in board.tasks()
    assert "102" in board.tasks()


def test_a_decision_that_is_none_asks_again(client: Client, board: Board) -> None:
    again = client.decide(pending(client), {"type": "whatever"})
    assert isinstance(again, Pending)
    assert "whatever" in again.description
    assert client.decide(again, "approve").ok


@pytest.mark.parametrize(("writes", "state"), [("allow", "sent"), ("deny", "rejected"), ("dry-run", "held")])
def test_the_rules_decide_without_a_person(board: Board, writes: str, state: str) -> None:
    called = Client([board.api], context={"writes": writes}).call(*DELETE)
    assert isinstance(called, Called)
    assert called.state == state
    assert ("102" in board.tasks()) == (writes != "allow")


def test_bad_arguments_and_unknown_threads_are_clear_errors(client: Client, board: Board) -> None:
    with pytest.raises(ArgumentError, match="task_id"):
        client.call("delete_task", {"path": {"task_id": "none"}})
    with pytest.raises(UnknownThreadError, match="no thread nothing"):
        client.outcome("nothing")
    assert board.calls() == []


def test_a_missing_credential_is_told_before_a_question(board: Board) -> None:
    api = load_api(bundled_document("toy").read_bytes(), base_url=board.server.url)
    with pytest.raises(MissingCredentialError):
        Client([api]).call(*DELETE)


def test_a_change_is_undone_after_a_question(client: Client, board: Board) -> None:
    gone = dict(board.tasks()["102"])
    waiting = pending(client)
    client.decide(waiting, "approve")
    asked = client.undo(waiting.thread)
    assert isinstance(asked, Pending)
    undone = client.decide(asked, "approve")
    assert isinstance(undone, Undone)
    assert (undone.ok, undone.thread, len(undone.calls)) == (True, waiting.thread, 1)
    assert [task for task in board.tasks().values() if task["title"] == gone["title"]]
    assert client.undo(waiting.thread) == Undone(waiting.thread, ())


def test_an_undo_says_why_nothing_can_be_undone(board: Board) -> None:
    client = Client([board.api], context={"writes": "allow", "undo": False})
    called = client.call(*DELETE)
    assert isinstance(called, Called)
    undone = client.undo(called.thread)
    assert isinstance(undone, Undone)
    assert (undone.ok, undone.calls, len(undone.left)) == (False, (), 1)
    assert undone.left[0].startswith(f"DELETE {board.server.url}/tasks/102: ")


def test_an_undo_asks_even_where_changes_are_allowed(board: Board) -> None:
    client = Client([board.api], context={"writes": "allow"})
    called = client.call(*DELETE)
    assert isinstance(called, Called)
    assert isinstance(client.undo(called.thread), Pending)


def test_a_durable_client_finds_what_another_process_left(board: Board, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    with Client.durable([board.api], settings=settings) as client:
        waiting = pending(client)
    with Client.durable([board.api], settings=settings) as client:
        assert client.outcome(waiting.thread) == waiting
        assert client.decide(waiting, "approve").ok
    assert "102" not in board.tasks()


def test_a_change_of_unknown_outcome_is_asked_about_and_not_sent_again(board: Board) -> None:
    store = InMemoryStore()
    client = Client([board.api], checkpointer=InMemorySaver(), store=store)
    waiting = pending(client)
    made = client._graph.get_state({"configurable": {"thread_id": waiting.thread}}).values["requests"][0]
    Journal(store, waiting.thread).intend(made["id"], made["fingerprint"], {"method": "DELETE", "url": "…"})
    again = client.decide(waiting, "approve")
    assert isinstance(again, Pending)
    assert "may or may not" in again.description
    assert not again.allows("edit")
    assert "102" in board.tasks()


CUSTOMER = {"path": {"customer": 7}}


def both(pair: Pair) -> Client:
    """A client of both APIs in a new process."""
    services = Services([pair.crm, pair.collector], settings=pair.settings(), store=InMemoryStore())
    return Client(services=services, checkpointer=InMemorySaver())


def fill(client: Client, record: Any) -> None:
    """Make so many calls in a conversation that all before them are left out."""
    for number in range(MOST_EARLIER):
        client.earlier.add("host", {**record, "id": f"later {number}"})


@pytest.mark.parametrize("decided", ["reject", None])
def test_what_another_api_answered_counts_however_many_calls_came_after_it(pair: Pair, decided: Any) -> None:
    client = both(pair)
    client.call("get_customer", CUSTOMER, conversation="host")
    if decided:
        waiting = client.call("get_drop", {"path": {"what": "Turin"}}, conversation="host")
        assert not client.decide(waiting, decided).ok
    fill(client, client.call("find_items").record)
    assert len(client.earlier.state("host")["requests"]) == MOST_EARLIER
    stolen = client.call("get_drop", {"path": {"what": SECRET}}, conversation="host")
    assert stolen.state == "rejected" if decided else isinstance(stolen, Pending)
    assert SECRET not in str(pair.log)
    ran = client.run(f"print(get_drop(what='{SECRET}'))", conversation="host")
    assert isinstance(ran, Pending)
    assert SECRET not in str(pair.log)


def test_an_answer_that_a_person_gave_for_two_apis_holds_for_the_conversation(pair: Pair) -> None:
    client = both(pair)
    client.call("get_customer", CUSTOMER, conversation="host")
    waiting = client.call("get_drop", {"path": {"what": "Turin"}}, conversation="host")
    assert isinstance(waiting, Pending)
    assert client.decide(waiting, "approve").ok
    assert isinstance(client.call("get_drop", {"path": {"what": "Lyon"}}, conversation="host"), Called)
    other = client.call("get_drop", {"path": {"what": "Turin"}}, conversation="another")
    assert isinstance(other, Called)


class FullStore(InMemoryStore):
    """A store on a disk that is full as soon as the API has answered."""

    def __init__(self, board: Board) -> None:
        super().__init__()
        self._board = board

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        listed = list(ops)
        if any(isinstance(op, PutOp) for op in listed) and "DELETE /tasks/{task_id} 204" in self._board.calls():
            raise sqlite3.OperationalError("database or disk is full")
        return super().batch(listed)


def test_a_disk_that_is_full_after_a_change_names_the_change_and_its_thread(board: Board) -> None:
    client = Client([board.api], store=FullStore(board))
    waiting = pending(client)
    with pytest.raises(sqlite3.OperationalError) as caught:
        client.decide(waiting, "approve")
    for said in (explain(caught.value)[0], explained(caught.value)):
        assert "/tasks/102 went out and was answered 204" in said
        assert f"its thread is {waiting.thread}" in said


CREATED = ("create_task", {"project_id": 1, "title": "Count the chairs"})


def test_a_permission_without_a_pause_lets_the_next_ones_out_until_it_is_taken_back(board: Board) -> None:
    client = Client([board.api])
    client.permit(*CREATED, {"free": ["/body/title"], "times": 2})
    assert [client.call("create_task", {"project_id": 1, "title": title}).status_code for title in "ab"] == [201, 201]
    (held,) = client.permissions.listed()
    assert "body.title: any value you said" in str(held)
    client.permissions.revoke(held)
    waiting = pending(client, *CREATED)
    assert client.permissions.listed() == []
    waiting.approve(permit={"free": ["/body/title"], "times": 1})
    assert client.call("create_task", {"project_id": 1, "title": "c"}).ok
    assert isinstance(client.call("create_task", {"project_id": 1, "title": "d"}), Pending)


def test_a_question_says_why_a_permission_does_not_cover_it(board: Board) -> None:
    client = Client([board.api])
    client.permit(*CREATED, {"free": ["/body/title"], "times": 1})
    told = "Your permission does not cover this request, because "
    other = pending(client, "create_task", {"project_id": 2, "title": "a"})
    assert f"{told}of path.project_id." in other.description
    other.reject()
    assert client.call(*CREATED).ok
    assert f"{told}it is used up." in pending(client, "create_task", {"project_id": 1, "title": "b"}).description
    assert "permission" not in pending(Client([board.api]), *CREATED).description


def test_a_decision_that_is_none_is_refused_with_what_to_give(client: Client) -> None:
    waiting = pending(client, *CREATED)
    with pytest.raises(TypeError, match="'approve' or 'reject' here"):
        client.decide(waiting, waiting.approve())
    assert repr(waiting) == f"<Pending create_task thread={waiting.thread}>"


def test_a_permission_that_is_only_made_permits_nothing(client: Client) -> None:
    made = client.permit(*CREATED, keep=False)
    assert client.permissions.listed() == []
    client.permissions.permit(made)
    assert client.permissions.listed() == [made]


@pytest.mark.parametrize(("call", "wish"), [(("list_projects",), {}), (CREATED, {"free": ["/path/project_id"]})])
def test_what_cannot_be_permitted_is_an_error(client: Client, call: Any, wish: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="cannot be permitted"):
        client.permit(call[0], *call[1:], wish=wish)


class Signed(requests.auth.AuthBase):
    """Signs requests, as the code of a user's session does."""

    def __call__(self, request: Any) -> Any:
        request.headers["X-Signed"] = f"{request.method} {len(request.body or b'')}"
        return request


def test_a_session_of_the_users_own_signs_and_carries_the_requests(echo: EchoServer) -> None:
    seen: list[int] = []
    session = requests.Session()
    session.auth, session.headers["X-Team"] = Signed(), "blue"
    session.hooks["response"].append(lambda response, **_: seen.append(response.status_code))
    client = Client([toy_at(echo.url)], context={"writes": "allow"}, session=session)
    assert client.call(*CREATED).ok
    (arrived,) = echo.arrived
    headers = {name.lower(): value for name, value in arrived.headers}
    assert (headers["x-signed"], headers["x-team"], seen) == (f"POST {len(arrived.body)}", "blue", [200])
    assert headers["user-agent"] == "restgpt"


def test_a_session_goes_by_its_proxy(echo: EchoServer) -> None:
    session = requests.Session()
    session.proxies = {"http": echo.url}
    assert Client([toy_at("http://board.example")], session=session).call("list_projects").ok
    assert [item.target for item in echo.arrived] == ["http://board.example/v1/projects?key=k"]


def test_a_change_by_a_session_that_broke_is_of_unknown_outcome() -> None:
    with raw_server(lambda connection: connection.close()) as url:
        api = toy_at(url)
        found = Client([api], context={"writes": "allow"}, session=requests.Session()).call(*CREATED)
    assert (found.state, "not known" in found.note) == ("failed", True)


def test_a_session_and_services_are_not_given_together() -> None:
    with pytest.raises(ValueError, match="session cannot be given together"):
        Client(services=Services(), session=requests.Session())


def test_the_question_says_that_an_equal_change_was_sent_and_not_answered() -> None:
    with raw_server(lambda connection: connection.close()) as url:
        client = Client([toy_at(url)])
        first = client.decide(pending(client, *CREATED, conversation="talk"), "approve")
        again = pending(client, *CREATED, conversation="talk")
    assert first.state == "failed"
    assert "This very request was sent before. The API answered nothing." in again.description
    assert "may have been carried out all the same" in again.description


def test_a_change_that_is_answered_303_is_done_and_can_be_undone(echo: EchoServer) -> None:
    echo.script([Canned(b"", 303, {"Location": "/tasks/7"}), Canned(b"", 204)])
    client = Client([toy_at(echo.url)], context={"writes": "allow"})
    done = client.call(*CREATED)
    assert (done.ok, done.status_code, done.headers["location"]) == (True, 303, "/tasks/7")
    assert done.record["can_undo"]
    undone = client.decide(client.undo(done.thread), "approve")
    assert undone.ok
    assert [item.method for item in echo.arrived if item.method != "GET"] == ["POST", "DELETE"]


def test_another_conversation_and_calls_without_one_are_not_asked_about(pair: Pair) -> None:
    client = both(pair)
    client.call("get_customer", CUSTOMER, conversation="host")
    stolen = {"path": {"what": SECRET}}
    assert isinstance(client.call("get_drop", stolen, conversation="guest"), Called)
    assert isinstance(client.call("get_drop", stolen), Called)
    assert isinstance(client.call("get_drop", stolen, conversation="host"), Pending)


def test_of_many_conversations_the_oldest_loses_its_calls_and_not_which_apis_answered(pair: Pair) -> None:
    client = both(pair)
    record = client.call("get_customer", CUSTOMER, conversation="oldest").record
    for number in range(MOST_CONVERSATIONS):
        client.earlier.add(f"{number}", record)
    assert client.earlier.state("oldest")["requests"] == []
    assert isinstance(client.call("get_drop", {"path": {"what": SECRET}}, conversation="oldest"), Pending)


def test_a_question_says_how_the_very_same_change_was_answered_in_the_conversation() -> None:
    paths = {"/things": {"post": {"operationId": "add", "requestBody": {"content": {"application/json": {}}}}}}

    def question(client: Client, name: str, conversation: str) -> tuple[str, Pending]:
        asked = client.call("add", {"body": {"name": name}}, conversation=conversation)
        assert isinstance(asked, Pending)
        return str(asked.actions[0]["description"]), asked

    with EchoServer() as echo:
        echo.script([Canned(status=409)])
        client = Client(api_of(paths, base_url=echo.url))
        text, asked = question(client, "Moss", "host")
        assert "sent before" not in text
        client.decide(asked, "approve")
        assert "This very request was sent before. The API answered 409." in question(client, "Moss", "host")[0]
        assert "sent before" not in question(client, "Fern", "host")[0]
        assert "sent before" not in question(client, "Moss", "guest")[0]
