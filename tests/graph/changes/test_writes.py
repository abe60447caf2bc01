"""Guards changes: no change is sent without approval, other than shown, or twice."""

from typing import Any

import pytest
import yaml
from board import CALLS, TOY, Agent, Board, served_board
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from question import own_lines, unmarked
from roles import by_role, call, end, missing, plan, prompts_of, select
from scripted import ScriptedModel
from typing_extensions import TypedDict

from lab.kit.port import held_port
from restgpt.calling.journal import Journal
from restgpt.graph.build import build_graph
from restgpt.nodes.run.services import Context, Services
from restgpt.specs import load_api
from restgpt.tools.errors import ConnectFault
from restgpt.tools.settings import ApiEntry, PolicyRule, Settings
from restgpt_bench.worlds import CREDENTIAL
from restgpt_bench.worlds.faults import Fault, FaultKind
from restgpt_bench.worlds.server import serve

NEW_TASK = {"path": {"project_id": 1}, "body": {"title": "Count the chairs"}}


def decide(**decision: object) -> Command:
    return Command(resume={"decisions": [decision]})


def writer(board: Board, **script: object) -> Agent:
    told = {
        "planner": [plan("Add the task 'Count the chairs' to project 1"), end("Done.")],
        "selector": [select("create_task")],
        "caller": [call(NEW_TASK)],
    }
    return board.agent(by_role({**told, **script}))  # type: ignore[arg-type]


def titles(board: Board) -> list[str]:
    return [task["title"] for task in board.tasks().values()]


def test_a_change_waits_with_the_exact_request_in_the_middleware_format(board: Board) -> None:
    result = writer(board).ask("Add the task 'Count the chairs' to project 1")
    [pause] = result["__interrupt__"]
    [action] = pause.value["action_requests"]
    assert action["name"] == "create_task"
    assert action["args"] == NEW_TASK
    assert f"POST {board.server.url}/projects/1/tasks" in action["description"]
    assert "Count the chairs" in action["description"]
    assert "simulated-credential" not in str(pause.value)
    assert pause.value["review_configs"] == [
        {"action_name": "create_task", "allowed_decisions": ["approve", "edit", "reject", "respond"]}
    ]
    assert board.calls() == []


def test_an_approved_change_is_made_exactly_once(board: Board) -> None:
    agent = writer(board)
    agent.ask("Add the task 'Count the chairs' to project 1")
    assert agent.graph.invoke(decide(type="approve"), agent.config)["answer"] == "Done."
    assert board.calls() == ["POST /projects/{project_id}/tasks 201"]
    assert titles(board).count("Count the chairs") == 1


@pytest.mark.parametrize("answer", ["approve", {"type": "approve"}, [{"type": "approve"}]])
def test_approval_may_be_said_in_short(board: Board, answer: object) -> None:
    agent = writer(board)
    agent.ask("Add the task 'Count the chairs' to project 1")
    agent.graph.invoke(Command(resume=answer), agent.config)
    assert "Count the chairs" in titles(board)


def test_a_rejected_change_is_not_made_and_the_planner_hears_why(board: Board) -> None:
    agent = writer(board)
    agent.ask("Add the task 'Count the chairs' to project 1")
    agent.graph.invoke(decide(type="reject", message="not today"), agent.config)
    assert board.calls() == []
    assert "The user rejected it. not today" in str(prompts_of(agent.model, "planner")[1][-1].text)


def ruled(board: Board, *rules: PolicyRule) -> Services:
    """An agent that creates and deletes under the user's rules."""
    model = by_role(
        {
            "planner": [plan("Add a task and delete another"), end("Done.")],
            "selector": [select("create_task", "delete_task")],
            "caller": [call(NEW_TASK, {"path": {"task_id": 1}})],
        }
    )
    settings = Settings(apis={board.api.name: ApiEntry(name=board.api.name, spec="board.yaml", policy=rules)})
    return Services([board.entry()], model=model, settings=settings, defaults=Context(**CALLS))


@pytest.mark.parametrize("kind", ["reject", "respond"])
def test_what_a_person_refused_is_not_sent_though_it_would_be_allowed_by_then(board: Board, kind: str) -> None:
    agent = writer(board)
    agent.ask("Add the task 'Count the chairs' to project 1")
    agent.graph.invoke(decide(type=kind, message="no"), agent.config, context=Context(writes="allow"))
    assert board.calls() == []


@pytest.mark.parametrize("writes", ["deny", "dry-run"])
def test_what_a_person_approved_is_not_sent_where_it_is_barred_by_then(board: Board, writes: str) -> None:
    agent = writer(board)
    agent.ask("Add the task 'Count the chairs' to project 1")
    agent.graph.invoke(decide(type="approve"), agent.config, context=Context(writes=writes))  # type: ignore[arg-type]
    assert board.calls() == []


@pytest.mark.parametrize("writes", ["deny", "dry-run"])
def test_what_the_rules_allowed_is_not_sent_where_they_bar_it_before_it_went_out(board: Board, writes: str) -> None:
    agent = writer(board)
    given = {"instruction": "Add the task 'Count the chairs' to project 1"}
    allowed, barred = Context(writes="allow"), Context(writes=writes)  # type: ignore[arg-type]
    agent.stop_at("approved", given, context=allowed)
    agent.graph.invoke(None, agent.config, context=barred)
    assert board.calls() == []


@pytest.mark.parametrize("writes", ["deny", "dry-run"])
def test_a_change_of_unknown_outcome_is_not_sent_again_where_it_is_barred_by_then(board: Board, writes: str) -> None:
    agent = writer(board)
    agent.ask("Add the task 'Count the chairs' to project 1")
    [waiting] = agent.state["requests"]
    Journal(agent.graph.store, agent.thread).intend(waiting["id"], waiting["fingerprint"], {})  # type: ignore[arg-type]
    assert "__interrupt__" in agent.graph.invoke(decide(type="approve"), agent.config)
    agent.graph.invoke(decide(type="approve"), agent.config, context=Context(writes=writes))  # type: ignore[arg-type]
    assert board.calls() == []
    assert "whether it was carried out is not known. It was not sent again" in agent.state["steps"][-1]["result"]


@pytest.mark.parametrize(("kind", "sent"), [("reject", []), ("approve", ["POST /projects/{project_id}/tasks 201"])])
def test_an_answer_is_for_what_was_shown_though_the_rules_are_others_by_then(
    board: Board, kind: str, sent: list[str]
) -> None:
    kept = {"checkpointer": InMemorySaver(), "store": InMemoryStore()}
    asked = ruled(board, PolicyRule("ask", ids=("create_task",)), PolicyRule("allow", ids=("delete_task",)))
    first = Agent(build_graph(services=asked, **kept), ScriptedModel([]))  # type: ignore[arg-type]
    [pause] = first.ask("Add the task 'Count the chairs' to project 1 and delete task 1")["__interrupt__"]
    assert [action["name"] for action in pause.value["action_requests"]] == ["create_task"]
    barred = ruled(board, PolicyRule("ask", ids=("create_task",)), PolicyRule("deny", ids=("delete_task",)))
    build_graph(services=barred, **kept).invoke(decide(type=kind), first.config)  # type: ignore[arg-type]
    assert board.calls() == sent


def test_an_edit_in_a_fork_leaves_what_was_sent_before_in_the_journal(board: Board) -> None:
    agent = writer(board, planner=[plan("Add the task"), end("Done."), end("Done.")])
    agent.ask("Add the task 'Count the chairs' to project 1")
    pause = agent.graph.get_state(agent.config).config
    agent.graph.invoke(decide(type="approve"), agent.config)
    agent.graph.invoke(None, agent.graph.update_state(pause, {"hint": ""}, as_node="parser"))
    edited = {"name": "create_task", "args": {**NEW_TASK, "body": {"title": "Count the tables"}}}
    agent.graph.invoke(decide(type="edit", edited_action=edited), agent.config)
    assert isinstance(agent.graph.store, InMemoryStore)
    bodies = [entry["request"]["body"]["title"] for entry in Journal(agent.graph.store, agent.thread).entries()]
    assert bodies == ["Count the chairs", "Count the tables"]


@pytest.mark.parametrize(("kind", "is_same"), [("approve", True), ("edit", False)])
def test_an_edited_request_has_an_idempotency_key_of_its_own(board: Board, kind: str, is_same: bool) -> None:
    document = yaml.safe_load(TOY.read_bytes())
    header = {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}
    document["paths"]["/projects/{project_id}/tasks"]["post"].setdefault("parameters", []).append(header)
    api = load_api(document, base_url=board.server.url, auth={"key": CREDENTIAL})
    agent = writer(Board(board.server, api))
    [pause] = agent.ask("Add the task 'Count the chairs' to project 1")["__interrupt__"]
    [shown] = pause.value["action_requests"]
    agent.graph.invoke(decide(type=kind, edited_action={"name": "create_task", "args": NEW_TASK}), agent.config)
    [sent] = agent.state["steps"][0]["requests"]
    assert (sent["arguments"]["header"] == shown["args"]["header"]) == is_same


def test_words_of_a_model_cannot_pass_for_lines_of_the_program(board: Board) -> None:
    agent = writer(board, caller=[call(NEW_TASK, description="It is wanted.\nIt can be undone: nothing happens.")])
    [pause] = agent.ask("Add the task 'Count the chairs' to project 1")["__interrupt__"]
    [action] = pause.value["action_requests"]
    assert "It can be undone: nothing happens." in unmarked(action["details"])
    assert not [line for line in own_lines(action["description"]) if "nothing happens" in line]


def test_an_answer_instead_goes_to_the_planner(board: Board) -> None:
    agent = writer(board)
    agent.ask("Add the task 'Count the chairs' to project 1")
    agent.graph.invoke(decide(type="respond", message="it is there already"), agent.config)
    assert board.calls() == []
    assert "it is there already" in agent.state["steps"][0]["result"]


@pytest.mark.parametrize(
    "args",
    [
        {"path": {"project_id": 1}, "body": {"title": "Count the tables"}},
        {"project_id": 1, "title": "Count the tables"},
    ],
)
def test_an_edited_change_is_checked_again_and_sent_as_edited(board: Board, args: dict[str, Any]) -> None:
    agent = writer(board)
    agent.ask("Add the task 'Count the chairs' to project 1")
    wrong = {"name": "create_task", "args": {"path": {"project_id": 1}, "body": {}}}
    paused = agent.graph.invoke(decide(type="edit", edited_action=wrong), agent.config)
    [action] = paused["__interrupt__"][0].value["action_requests"]
    assert "title" in unmarked(action["description"])[2]
    agent.graph.invoke(decide(type="edit", edited_action={"name": "create_task", "args": args}), agent.config)
    assert "Count the tables" in titles(board)
    assert "Count the chairs" not in titles(board)


@pytest.mark.parametrize("writes", ["deny", "dry-run"])
def test_a_policy_against_changes_sends_none(board: Board, writes: str) -> None:
    result = writer(board).ask("Add the task 'Count the chairs' to project 1", writes=writes)
    assert board.calls() == []
    assert result["answer"].startswith("Done.")


def test_a_dry_run_ends_with_the_list_of_what_would_be_sent(board: Board) -> None:
    result = writer(board).ask("Add the task 'Count the chairs' to project 1", writes="dry-run")
    assert f"1. POST {board.server.url}/projects/1/tasks" in result["answer"]


def test_changes_may_be_allowed(board: Board) -> None:
    writer(board).ask("Add the task 'Count the chairs' to project 1", writes="allow")
    assert titles(board).count("Count the chairs") == 1


def test_several_changes_are_shown_together_and_made_in_order(board: Board) -> None:
    second = {"path": {"project_id": 1}, "body": {"title": "Count the tables"}}
    agent = writer(board, selector=[select("create_task")], caller=[call(NEW_TASK, second, numbers=[1, 1])])
    result = agent.ask("Add two tasks to project 1")
    assert len(result["__interrupt__"][0].value["action_requests"]) == 2
    agent.graph.invoke(Command(resume={"decisions": [{"type": "approve"}, {"type": "reject"}]}), agent.config)
    assert "Count the chairs" in titles(board)
    assert "Count the tables" not in titles(board)


def test_a_change_after_one_that_failed_is_not_sent(board: Board) -> None:
    lost = {"path": {"project_id": 77}, "body": {"title": "Count the chairs"}}
    agent = writer(board, caller=[call(lost, NEW_TASK, numbers=[1, 1])])
    agent.ask("Add tasks to projects 77 and 1", writes="allow")
    assert board.calls() == ["POST /projects/{project_id}/tasks 404"]
    assert "the change before it did not succeed" in agent.state["steps"][0]["result"]


def test_a_change_that_was_answered_before_a_crash_is_not_sent_again(board: Board) -> None:
    agent = writer(board)
    agent.ask("Add the task 'Count the chairs' to project 1")
    [request] = agent.state["requests"]
    journal = Journal(agent.graph.store, agent.thread)  # type: ignore[arg-type]
    journal.intend(request["id"], request["fingerprint"], {"method": "POST", "url": "…"})
    journal.conclude(
        request["id"], request["fingerprint"], {"status": "sent", "note": "", "response": {"status": 201, "sketch": ""}}
    )
    agent.graph.invoke(decide(type="approve"), agent.config)
    assert board.calls() == []
    assert "status 201" in agent.state["steps"][0]["result"]


@pytest.mark.parametrize(("answer", "calls"), [("reject", 0), ("approve", 1)])
def test_a_change_with_an_unknown_outcome_asks_before_it_is_repeated(board: Board, answer: str, calls: int) -> None:
    agent = writer(board)
    agent.ask("Add the task 'Count the chairs' to project 1")
    [request] = agent.state["requests"]
    journal = Journal(agent.graph.store, agent.thread)  # type: ignore[arg-type]
    journal.intend(request["id"], request["fingerprint"], {"method": "POST", "url": "…"})
    paused = agent.graph.invoke(decide(type="approve"), agent.config)
    assert "may or may not have been carried out" in str(paused["__interrupt__"][0].value)
    assert board.calls() == []
    agent.graph.invoke(decide(type=answer), agent.config)
    assert len(board.calls()) == calls


def test_the_journal_keeps_what_was_sent_and_what_came_of_it(board: Board) -> None:
    agent = writer(board)
    agent.ask("Add the task 'Count the chairs' to project 1", writes="allow")
    [entry] = Journal(agent.graph.store, agent.thread).entries()  # type: ignore[arg-type]
    assert entry["request"]["method"] == "POST"
    assert entry["outcome"]["response"]["status"] == 201
    assert "simulated-credential" not in str(entry)


def test_a_missing_value_does_not_lose_what_the_round_did(board: Board) -> None:
    agent = writer(
        board,
        selector=[select("list_projects", ("create_task", [1]))],
        caller=[call({}), missing("the project's id")],
    )
    agent.ask("Add a task to the best project")
    result = agent.state["steps"][0]["result"]
    assert "Winter timetable" in result
    assert "the project's id" in result


def changing(board: Board, operation: str, arguments: dict[str, object]) -> Agent:
    return writer(board, selector=[select(operation)], caller=[call(arguments)])


def test_a_change_is_shown_beside_what_the_target_is_now(board: Board) -> None:
    before = board.tasks()["101"]
    agent = changing(board, "update_task", {"path": {"task_id": 101}, "body": {"hours": 99, "done": before["done"]}})
    result = agent.ask("Set the hours of task 101 to 99")
    [action] = result["__interrupt__"][0].value["action_requests"]
    assert action["target"]["changes"] == [{"field": "hours", "before": before["hours"], "after": 99}]
    assert f"hours: {before['hours']} → 99" in unmarked(action["description"])
    assert board.tasks()["101"] == before


def test_a_deletion_is_shown_with_what_would_be_lost(board: Board) -> None:
    agent = changing(board, "delete_task", {"path": {"task_id": 101}})
    [action] = agent.ask("Delete task 101")["__interrupt__"][0].value["action_requests"]
    assert action["target"]["present"] == board.tasks()["101"]
    assert board.tasks()["101"]["title"] in action["description"]


def test_a_target_that_cannot_be_read_does_not_stop_the_question(board: Board) -> None:
    agent = changing(board, "delete_task", {"path": {"task_id": 777}})
    [action] = agent.ask("Delete task 777")["__interrupt__"][0].value["action_requests"]
    assert action["target"] is None


@pytest.mark.parametrize(
    "answer", ["", "perhaps", 7, {"decisions": []}, {"decisions": ["approve", "approve"]}, {"type": "shrug"}]
)
def test_an_answer_that_makes_no_sense_is_asked_for_again(board: Board, answer: object) -> None:
    agent = writer(board)
    agent.ask("Add the task 'Count the chairs' to project 1")
    paused = agent.graph.invoke(Command(resume=answer), agent.config)
    [action] = paused["__interrupt__"][0].value["action_requests"]
    assert action["description"].startswith("That decision cannot be used")
    assert board.calls() == []


class Nothing(TypedDict, total=False):
    """The state of a parent graph without keys."""

    nothing: str


def half_sent(agent: Agent) -> tuple[Journal, dict[str, object]]:
    """A run that was killed while it sent its only approved change."""
    agent.ask("Add the task 'Count the chairs' to project 1")
    [request] = agent.state["requests"]
    journal = Journal(agent.graph.store, agent.thread)  # type: ignore[arg-type]
    journal.intend(request["id"], request["fingerprint"], {"method": "POST", "url": "…"})
    return journal, request


def test_leave_to_send_again_is_good_for_one_try_only(board: Board) -> None:
    agent = writer(board)
    journal, request = half_sent(agent)
    agent.graph.invoke(decide(type="approve"), agent.config)
    agent.stop_at("approved", decide(type="approve"))
    journal.intend(request["id"], request["fingerprint"], {})  # type: ignore[arg-type]
    paused = agent.graph.invoke(None, agent.config)
    assert "may or may not have been carried out" in str(paused["__interrupt__"][0].value)
    assert board.calls() == []
    agent.graph.invoke(decide(type="approve"), agent.config)
    assert board.calls() == ["POST /projects/{project_id}/tasks 201"]


def test_a_change_behind_one_of_unknown_outcome_waits_with_it(board: Board) -> None:
    second = {"path": {"project_id": 1}, "body": {"title": "Count the tables"}}
    agent = writer(board, caller=[call(NEW_TASK, second, numbers=[1, 1])])
    agent.ask("Add two tasks to project 1")
    request = agent.state["requests"][0]
    journal = Journal(agent.graph.store, agent.thread)  # type: ignore[arg-type]
    journal.intend(request["id"], request["fingerprint"], {})
    agent.graph.invoke(Command(resume={"type": "approve"}), agent.config)
    assert board.calls() == []
    agent.graph.invoke(decide(type="reject"), agent.config)
    assert board.calls() == []
    assert "whether the change before it was carried out" in agent.state["steps"][0]["result"]


def test_a_question_of_unknown_outcome_takes_no_edit(board: Board) -> None:
    agent = writer(board)
    half_sent(agent)
    paused = agent.graph.invoke(decide(type="approve"), agent.config)
    assert paused["__interrupt__"][0].value["review_configs"][0]["allowed_decisions"] == ["approve", "reject"]
    again = agent.graph.invoke(decide(type="edit", edited_action={"name": "create_task", "args": {}}), agent.config)
    assert "That decision cannot be used" in again["__interrupt__"][0].value["action_requests"][0]["description"]


def test_an_unknown_outcome_asks_even_where_changes_are_allowed(board: Board) -> None:
    agent = writer(board)
    half_sent(agent)
    paused = agent.graph.invoke(Command(resume="approve"), agent.config, context={"writes": "allow"})
    assert "may or may not have been carried out" in str(paused["__interrupt__"][0].value)


def test_a_change_that_certainly_did_not_leave_needs_no_question() -> None:
    with held_port() as port:
        with served_board(port=port) as board:
            agent = writer(board)
            agent.ask("Add the task 'Count the chairs' to project 1")
        with pytest.raises(ConnectFault):
            agent.graph.invoke(decide(type="approve"), agent.config)
        assert Journal(agent.graph.store, agent.thread).entries() == []  # type: ignore[arg-type]
        with serve(board.world, port=port):
            agent.graph.invoke(None, agent.config)
    assert board.calls() == ["POST /projects/{project_id}/tasks 201"]


def test_a_change_whose_answer_was_lost_says_that_its_outcome_is_unknown(board: Board) -> None:
    board.world.faults.replace([Fault(kind=FaultKind.RESET, applied=True)])
    agent = writer(board)
    agent.ask("Add the task 'Count the chairs' to project 1", writes="allow")
    assert "Whether the API carried it out is not known" in agent.state["steps"][0]["result"]
    assert titles(board).count("Count the chairs") == 1


def test_two_pauses_of_one_host_are_resumed_by_their_ids(board: Board) -> None:
    """A parent graph with two branches that each run the agent: each answer reaches its own question."""
    inner = {name: writer(board, caller=[call({"path": {"project_id": 1}, "body": {"title": name}})]) for name in "ab"}
    host = StateGraph(Nothing)
    for name, agent in inner.items():
        graph = agent.graph.copy(update={"checkpointer": None})
        host.add_node(name, lambda state, graph=graph: graph.invoke({"instruction": "Add a task to project 1"}) and {})
        host.add_edge(START, name)
    compiled = host.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "host"}}
    pauses = compiled.invoke({}, config)["__interrupt__"]
    answers = {
        pause.id: {"decisions": [{"type": "approve" if action["args"]["body"]["title"] == "b" else "reject"}]}
        for pause in pauses
        for action in pause.value["action_requests"]
    }
    assert len(answers) == 2
    compiled.invoke(Command(resume=answers), config)
    assert ("a" in titles(board), "b" in titles(board)) == (False, True)


def test_a_refused_edit_adds_one_section_to_the_question_whatever_its_names_are(board: Board) -> None:
    agent = writer(board)
    asked = agent.ask("Add the task 'Count the chairs' to project 1")["__interrupt__"][0].value["action_requests"][0]
    edit = {"name": "create_task", "args": {"path": {"project_id": 1}, "body": {"a\nDELETE /everything": 1}}}
    for _ in range(2):
        paused = agent.graph.invoke(decide(type="edit", edited_action=edit), agent.config)
    description = paused["__interrupt__"][0].value["action_requests"][0]["description"]
    note, _, others = description.partition(f"\n\n{own_lines(asked['description'])[0]}")
    assert own_lines(note) == ["That decision cannot be used:"]
    assert f"{own_lines(asked['description'])[0]}{others}" == asked["description"]


def test_an_edit_without_arguments_is_asked_for_again(board: Board) -> None:
    agent = writer(board)
    agent.ask("Add the task 'Count the chairs' to project 1")
    for action in (None, "create_task", {"name": "create_task"}, {"name": "create_task", "args": [1]}):
        paused = agent.graph.invoke(decide(type="edit", edited_action=action), agent.config)
        [shown] = paused["__interrupt__"][0].value["action_requests"]
        assert shown["description"].startswith("That decision cannot be used")
    assert board.calls() == []


def test_the_earlier_state_is_kept_and_the_setting_leaves_it_out(board: Board) -> None:
    change = {"path": {"task_id": 101}, "body": {"hours": 99}}
    for undo, kept in ((True, "present"), (False, "unread")):
        agent = changing(board, "update_task", change)
        agent.ask("Set the hours of task 101 to 99", writes="allow", undo=undo)
        [entry] = Journal(agent.graph.store, agent.thread).entries()  # type: ignore[arg-type]
        assert entry["earlier"]["known"] == kept


@pytest.mark.parametrize(("hours", "sent"), [(3.9, 1), (4.1, 0)])
def test_an_answer_after_the_expiry_of_the_question_is_a_rejection(board: Board, hours: float, sent: int) -> None:
    now = 1_800_000_000.0
    model = writer(board).model
    defaults = Context(**CALLS, approval_hours=4)
    services = Services([board.api], model=model, now=lambda: now, defaults=defaults)
    graph = build_graph(services=services, checkpointer=InMemorySaver(), store=InMemoryStore())
    agent = Agent(graph, model)
    [pause] = agent.ask("Add the task 'Count the chairs' to project 1")["__interrupt__"]
    assert pause.value["action_requests"][0]["expires"] == "2027-01-15T12:00:00+00:00"
    now += hours * 3600
    graph.invoke(decide(type="approve"), agent.config)
    assert len(board.calls()) == sent
    told = "Nobody answered in time" in str(prompts_of(model, "planner")[-1][-1].text)
    assert told == (not sent)
