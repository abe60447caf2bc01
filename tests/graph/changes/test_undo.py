"""Guards undo, by command and as a graph: newest first, after approval, once, and what cannot be reversed is named."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from board import CALLS, Board, agent_of
from cli import TOY, Cli
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from paths import api_of
from question import unmarked
from wire.case import Canned
from wire.echo import EchoServer

from lab.kit.errand import Errand, ErrandModel, Step, board_errand
from restgpt.calling.journal import Journal
from restgpt.calling.record import NOTHING
from restgpt.client import Client
from restgpt.graph.build import build_graph
from restgpt.graph.persistence import open_persistence, undo_thread, undo_thread_id
from restgpt.graph.single import UndoGraph, WrongUndoThreadError, build_calls, build_undo
from restgpt.host.preview import preview
from restgpt.nodes.run.services import Context, Services
from restgpt.outcome import Called, Ran
from restgpt.sources import Sources
from restgpt.threads import ThreadRecord, Threads
from restgpt.tools.http.http_client import HttpClient
from restgpt.tools.settings import Settings
from restgpt_bench.worlds import CREDENTIAL

THREAD = "errand-1"
GONE = "DELETE /tasks/{task_id} 204"
REVERSED = ["PATCH /projects/{project_id} 200", GONE, GONE, "DELETE /projects/{project_id} 204"]
"""What reverses the four changes of the errand, in its order."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RESTGPT_HOME", str(tmp_path))
    monkeypatch.setenv("RESTGPT_AUTH_KEY", CREDENTIAL)
    return tmp_path


def carry_out(board: Board, home: Path, errand: Errand, *, writes: str = "allow") -> None:
    """Run an errand in a thread that has a record of the command line."""
    settings = Settings(home=home)
    with open_persistence(settings) as kept:
        services = Services([board.api], model=ErrandModel.over(errand), settings=settings, defaults=Context(**CALLS))
        graph = build_graph(services=services, checkpointer=kept.checkpointer, store=kept.store)
        options = {"code": False, "writes": writes}
        config = {"configurable": {"thread_id": THREAD}}
        graph.invoke({"instruction": errand.instruction}, config, context=options)  # type: ignore[arg-type]
        sources = Sources(specs=(TOY,), base_url=board.server.url)
        Threads(kept.store).keep(ThreadRecord(THREAD, errand.instruction, sources, status="done"))


def test_all_changes_of_a_thread_go_back_newest_first(board: Board, home: Path) -> None:
    before = board.world.dump()
    carry_out(board, home, board_errand())
    assert board.world.dump() != before
    ran = Cli(home)("undo", THREAD, "--approve", "--json")
    assert (ran.code, ran.document["status"]) == (0, "done"), ran.err
    assert board.changes()[4:] == REVERSED
    kept = [{key: dump[key] for key in ("projects", "tasks")} for dump in (before, board.world.dump())]  # type: ignore[call-overload,index]
    assert kept[0] == kept[1]


def test_what_was_undone_is_not_undone_again(board: Board, home: Path) -> None:
    carry_out(board, home, board_errand())
    assert Cli(home)("undo", THREAD, "--approve", "--steps", "1").code == 0
    assert board.changes()[4:] == ["PATCH /projects/{project_id} 200"]
    assert Cli(home)("undo", THREAD, "--approve").code == 0
    assert len(board.changes()) == 8
    ran = Cli(home)("undo", THREAD, "--approve")
    assert (ran.code, ran.out.strip()) == (0, "There is nothing to undo.")
    assert len(board.changes()) == 8


def test_a_rule_that_allows_the_agent_something_does_not_undo_it(board: Board, home: Path) -> None:
    carry_out(board, home, board_errand())
    rules = f"{json.dumps(board.api.name)}: {{spec: {json.dumps(str(TOY))}, policy: [{{decision: allow}}]}}"
    (home / "apis.yaml").write_text(rules)
    before = board.world.dump()
    ran = Cli(home)("undo", THREAD, "--json")
    assert (ran.code, ran.document["status"]) == (3, "paused"), ran.err
    [pause] = ran.document["pending"]
    assert 'owner: "Noor" → ' in pause["actions"][0]["description"]
    assert board.world.dump() == before
    (home / "apis.yaml").unlink()
    assert Cli(home)("undo", THREAD, "--approve").code == 0
    assert len(board.changes()) == 8


@pytest.mark.parametrize(
    ("decisions", "sent"),
    [
        (["approve", "reject", "reject", "reject"], ["PATCH /projects/{project_id} 200"]),
        (["reject", "approve", "reject", "reject"], ["DELETE /tasks/{task_id} 204"]),
        (["reject", "reject", "reject", "reject"], []),
    ],
)
def test_a_rejected_reversal_is_not_sent(board: Board, home: Path, decisions: list[str], sent: list[str]) -> None:
    carry_out(board, home, board_errand())
    assert Cli(home)("undo", THREAD).code == 3
    config = {"configurable": {"thread_id": undo_thread(THREAD)}}
    with open_persistence(Settings(home=home)) as kept:
        services = Services([board.api], settings=Settings(home=home))
        graph = build_calls(services, checkpointer=kept.checkpointer, store=kept.store)
        answer = {"decisions": [{"type": kind} for kind in decisions]}
        result = graph.invoke(Command(resume=answer), config)  # type: ignore[call-overload,arg-type]
    assert board.changes()[4:] == sent
    rejected = [request["status"] for request in result["requests"]].count("rejected")
    assert rejected == decisions.count("reject")


def test_what_cannot_be_undone_is_said_and_the_rest_goes_back(board: Board, home: Path) -> None:
    rename = Step("update_task", {"path": {"task_id": 101}, "body": {"title": "Later"}}, stage=1)
    delete = Step("delete_task", {"path": {"task_id": 102}}, stage=1)
    errand = Errand("toy", "Rename task 101 to 'Later' and delete task 102.", (rename, delete))
    title = board.tasks()["101"]["title"]
    carry_out(board, home, errand)
    [entry] = [entry for entry in entries(home) if entry["request"]["method"] == "PATCH"]
    with open_persistence(Settings(home=home)) as kept:
        Journal(kept.store, THREAD).note(entry["id"], undo={"reason": "the spec has no operation that undoes it"})
    ran = Cli(home)("undo", THREAD, "--approve", "--json")
    assert ran.code == 1
    assert [left["reason"] for left in ran.document["left"]] == ["the spec has no operation that undoes it"]
    assert ran.document["undone"][0]["operation"] == "create_task"
    assert board.tasks()["101"]["title"] == "Later" != title


def entries(home: Path) -> list[dict[str, object]]:
    with open_persistence(Settings(home=home)) as kept:
        return Journal(kept.store, THREAD).entries()


def test_a_deleted_thing_comes_back_with_its_values(board: Board, home: Path) -> None:
    gone = dict(board.tasks()["102"])
    errand = Errand("toy", "Delete task 102.", (Step("delete_task", {"path": {"task_id": 102}}, stage=1),))
    carry_out(board, home, errand)
    assert "102" not in board.tasks()
    assert Cli(home)("undo", THREAD, "--approve").code == 0
    [back] = [task for task in board.tasks().values() if task["title"] == gone["title"]]
    assert {**back, "id": 102} == gone


SHELF = """
/items:
  post:
    operationId: add_item
    requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Item"}}}}
    responses: {"201": {description: made}}
/items/{id}:
  parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
  get: {operationId: get_item, responses: {"200": {description: ok}}}
  put:
    operationId: put_item
    requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Item"}}}}
    responses: {"200": {description: ok}}
  delete: {operationId: delete_item, responses: {"204": {description: gone}}}
"""
ITEM = {"type": "object", "properties": {"name": {"type": "string"}}}
UNSURE = "Whether the API carried it out is not known: look before it is done again."


@pytest.mark.parametrize(
    ("call", "answers", "tried", "undo"),
    [
        (("delete_item", {"id": 1}), [502, 404], "Tried 2 times: 502, then 404. ", "add_item"),
        (("put_item", {"id": 1, "name": "b"}), [504, 412], "Tried 2 times: 504, then 412. ", "put_item"),
        (("put_item", {"id": 1, "name": "b"}), [0, 403], "Tried 2 times: no response, then 403. ", "put_item"),
        (("add_item", {"name": "b"}), [502], "", ""),
    ],
)
def test_a_change_that_may_have_been_made_is_told_as_such_and_can_be_undone(
    call: tuple[str, dict[str, object]], answers: list[int], tried: str, undo: str
) -> None:
    with EchoServer() as shelf:
        look = [Canned(b'{"id": 1, "name": "a"}')] if undo else []
        shelf.script([*look, *(Canned(status=item, close=not item) for item in answers)])
        api = api_of(yaml.safe_load(SHELF), schemas={"Item": ITEM}, base_url=shelf.url)
        http = HttpClient(sleep=lambda seconds: None)
        client = Client(services=Services([api], http=http, defaults=Context(writes="allow")))
        called = client.call(*call)
        assert isinstance(called, Called)
        assert (called.ok, called.status_code) == (False, answers[-1])
        assert called.notices[0] == f"{tried}{UNSURE}"
        assert called.to_json()["outcome_unknown"]
        assert f"{tried}{UNSURE}" in preview(called).text
        [reversal] = client.reversals(called.thread)
        if undo:
            assert reversal.draft is not None
            assert reversal.draft.name == undo
            assert reversal.draft.description.endswith("Whether it was carried out is not known.")
        else:
            assert reversal.reason.startswith("whether it was carried out is not known, and ")


def test_a_change_that_may_have_been_made_is_not_made_again_by_a_corrected_program() -> None:
    with EchoServer() as shelf:
        shelf.script([Canned(b'{"error": "bad"}', status=502), Canned(status=201)])
        client = Client(
            [api_of(yaml.safe_load(SHELF), schemas={"Item": ITEM}, base_url=shelf.url)], context={"writes": "allow"}
        )
        first = client.run('add_item(name="b")')
        assert isinstance(first, Ran)
        assert f"answered 502: {UNSURE}" in first.text
        client.run('try:\n    add_item(name="b")\nexcept Exception as error:\n    print(error)', thread=first.thread)
        assert len(shelf.arrived) == 1


def test_an_undo_that_the_api_refuses_is_told_and_may_be_tried_again(board: Board, home: Path) -> None:
    carry_out(board, home, board_errand(name="Shed"))
    board.world.call("POST /projects/{project_id}/tasks", path={"project_id": 201}, body={"title": "In the way"})
    ran = Cli(home)("undo", THREAD, "--approve", "--json")
    assert (ran.code, ran.document["failed"][0]["operation"]) == (1, "delete_project")
    [task] = [task for task in board.tasks().values() if task["title"] == "In the way"]
    board.world.call("DELETE /tasks/{task_id}", path={"task_id": task["id"]})
    ran = Cli(home)("undo", THREAD, "--approve", "--json")
    assert (ran.code, len(ran.document["undone"])) == (0, 1)


def test_an_undo_of_unknown_outcome_is_not_sent_again_by_yes(board: Board, home: Path) -> None:
    carry_out(board, home, board_errand())
    assert Cli(home)("undo", THREAD, "--steps", "1").code == 3
    config = {"configurable": {"thread_id": undo_thread(THREAD)}}
    with open_persistence(Settings(home=home)) as kept:
        graph = build_graph([board.api], checkpointer=kept.checkpointer, store=kept.store)
        [request] = graph.get_state(config).values["requests"]  # type: ignore[arg-type]
        shown = {"method": "PATCH", "url": "…"}
        Journal(kept.store, undo_thread(THREAD)).intend(request["id"], request["fingerprint"], shown)
    ran = Cli(home)("undo", THREAD, "--approve")
    assert ran.code == 3
    assert "may or may not have been carried out" in ran.err
    assert len(board.changes()) == 4


def test_a_held_or_refused_change_is_none(board: Board, home: Path) -> None:
    carry_out(board, home, board_errand(), writes="deny")
    assert Cli(home)("undo", THREAD, "--approve").out.strip() == "There is nothing to undo."


def test_whether_a_change_can_be_undone_is_said_before_it_is_approved(board: Board) -> None:
    agent = board.agent(ErrandModel.over(board_errand()))  # type: ignore[arg-type]
    paused = agent.ask(board_errand().instruction, code=False)
    [action] = paused["__interrupt__"][0].value["action_requests"]
    assert "DELETE /projects/{project_id} deletes what it makes" in unmarked(action["description"])
    agent.graph.invoke(Command(resume="approve"), agent.config, context={"code": False})  # type: ignore[arg-type]
    [entry] = agent.journal.entries()
    assert entry["undo"] == {"operation": "delete_project", "arguments": {"path": {"project_id": 201}}, "caution": ""}
    assert json.dumps(entry)


def test_a_change_of_odd_values_keeps_its_outcome_and_goes_back(board: Board, home: Path) -> None:
    board.world.call("PATCH /tasks/{task_id}", path={"task_id": 101}, body={"hours": 2**70})
    step = Step("update_task", {"path": {"task_id": 101}, "body": {"hours": 3}}, stage=1)
    carry_out(board, home, Errand("toy", "Set the hours of task 101 to 3.", (step,)))
    [entry] = entries(home)
    assert (entry["outcome"]["status"], entry["outcome"]["response"]["status"]) == ("sent", 200)  # type: ignore[index]
    assert Cli(home)("undo", THREAD, "--approve").code == 0
    assert board.tasks()["101"]["hours"] == 2**70


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
    assert board.changes()[4:] == REVERSED
    assert [line.endswith("Done.") for line in done["answer"].splitlines()] == [True] * 4


def test_what_the_graph_undid_is_not_undone_again(board: Board, graph: UndoGraph) -> None:
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
