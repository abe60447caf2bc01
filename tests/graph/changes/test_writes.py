"""Guards changes: no change is sent without approval, other than shown, or twice."""

from typing import Any

import pytest
import yaml
from board import CALLS, TOY, Agent, Board, agent_of, served_board
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from programs import actions
from question import own_lines, unmarked
from roles import by_role, call, end, missing, one_task, plan, prompts_of, select
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
SECOND = {"path": {"project_id": 1}, "body": {"title": "Count the tables"}}


ASKED = "Add the task 'Count the chairs' to project 1"
MADE = "POST /projects/{project_id}/tasks 201"
UNKNOWN = "may or may not have been carried out"


def decide(**decision: object) -> Command:
    return Command(resume={"decisions": [decision]})


def writer(board: Board, **script: Any) -> Agent:
    planner = [plan(ASKED), end("Done.")]
    return board.one_task("create_task", **{"planner": planner, "caller": [call(NEW_TASK)], **script})


def asking(board: Board, **script: Any) -> Agent:
    """An agent that waits with its change."""
    agent = writer(board, **script)
    agent.ask(ASKED)
    return agent


def titles(board: Board) -> list[str]:
    return [task["title"] for task in board.tasks().values()]


def half_sent(agent: Agent) -> tuple[Journal, dict[str, object]]:
    """A run that was killed while it sent the first of its approved changes."""
    request, *_ = agent.state["requests"]
    journal = agent.journal
    journal.intend(request["id"], request["fingerprint"], {"method": "POST", "url": "…"})
    return journal, request


def test_a_change_waits_with_the_exact_request_in_the_middleware_format(board: Board) -> None:
    result = writer(board).ask(ASKED)
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


@pytest.mark.parametrize(
    "answer", [{"decisions": [{"type": "approve"}]}, "approve", {"type": "approve"}, [{"type": "approve"}]]
)
def test_an_approved_change_is_made_exactly_once_however_short_the_approval_is(board: Board, answer: object) -> None:
    agent = asking(board)
    assert agent.graph.invoke(Command(resume=answer), agent.config)["answer"] == "Done."
    assert board.calls() == [MADE]
    assert titles(board).count("Count the chairs") == 1


def ruled(board: Board, *rules: PolicyRule) -> Services:
    """An agent that creates and deletes under the user's rules."""
    caller = [call(NEW_TASK, {"path": {"task_id": 1}})]
    settings = Settings(apis={board.api.name: ApiEntry(name=board.api.name, spec="board.yaml", policy=rules)})
    model = by_role(one_task("create_task", "delete_task", caller=caller))
    return Services([board.entry()], model=model, settings=settings, defaults=Context(**CALLS))


@pytest.mark.parametrize(("kind", "told"), [("reject", "The user rejected it. not today"), ("respond", "not today")])
@pytest.mark.parametrize("writes", ["ask", "allow"])
def test_what_a_person_refused_is_not_sent_though_it_would_be_allowed_by_then(
    board: Board, kind: str, told: str, writes: Any
) -> None:
    agent = asking(board)
    agent.graph.invoke(decide(type=kind, message="not today"), agent.config, context=Context(writes=writes))
    assert board.calls() == []
    assert told in agent.state["steps"][0]["result"]
    assert told in str(prompts_of(agent.model, "planner")[1][-1].text)


@pytest.mark.parametrize("writes", ["deny", "dry-run"])
def test_what_a_person_approved_is_not_sent_where_it_is_barred_by_then(board: Board, writes: str) -> None:
    agent = asking(board)
    agent.graph.invoke(decide(type="approve"), agent.config, context=Context(writes=writes))  # type: ignore[arg-type]
    assert board.calls() == []


@pytest.mark.parametrize("writes", ["deny", "dry-run"])
def test_what_the_rules_allowed_is_not_sent_where_they_bar_it_before_it_went_out(board: Board, writes: Any) -> None:
    agent = writer(board)
    agent.stop_at("approved", {"instruction": ASKED}, context=Context(writes="allow"))
    agent.graph.invoke(None, agent.config, context=Context(writes=writes))
    assert board.calls() == []


@pytest.mark.parametrize("writes", ["deny", "dry-run"])
def test_a_change_of_unknown_outcome_is_not_sent_again_where_it_is_barred_by_then(board: Board, writes: Any) -> None:
    agent = asking(board)
    half_sent(agent)
    assert "__interrupt__" in agent.graph.invoke(decide(type="approve"), agent.config)
    agent.graph.invoke(decide(type="approve"), agent.config, context=Context(writes=writes))
    assert board.calls() == []
    assert "whether it was carried out is not known. It was not sent again" in agent.state["steps"][-1]["result"]


@pytest.mark.parametrize(("kind", "sent"), [("reject", []), ("approve", [MADE])])
def test_an_answer_is_for_what_was_shown_though_the_rules_are_others_by_then(
    board: Board, kind: str, sent: list[str]
) -> None:
    kept = {"checkpointer": InMemorySaver(), "store": InMemoryStore()}
    asked = ruled(board, PolicyRule("ask", ids=("create_task",)), PolicyRule("allow", ids=("delete_task",)))
    first = Agent(build_graph(services=asked, **kept), ScriptedModel([]))  # type: ignore[arg-type]
    shown = actions(first.ask(f"{ASKED} and delete task 1"))
    assert [action["name"] for action in shown] == ["create_task"]
    barred = ruled(board, PolicyRule("ask", ids=("create_task",)), PolicyRule("deny", ids=("delete_task",)))
    build_graph(services=barred, **kept).invoke(decide(type=kind), first.config)  # type: ignore[arg-type]
    assert board.calls() == sent


def test_an_edit_in_a_fork_leaves_what_was_sent_before_in_the_journal(board: Board) -> None:
    agent = asking(board, planner=[plan("Add the task"), end("Done."), end("Done.")])
    pause = agent.graph.get_state(agent.config).config
    agent.graph.invoke(decide(type="approve"), agent.config)
    agent.graph.invoke(None, agent.graph.update_state(pause, {"hint": ""}, as_node="parser"))
    edited = {"name": "create_task", "args": SECOND}
    agent.graph.invoke(decide(type="edit", edited_action=edited), agent.config)
    bodies = [entry["request"]["body"]["title"] for entry in agent.journal.entries()]
    assert bodies == ["Count the chairs", "Count the tables"]


@pytest.mark.parametrize(("kind", "is_same"), [("approve", True), ("edit", False)])
def test_an_edited_request_has_an_idempotency_key_of_its_own(board: Board, kind: str, is_same: bool) -> None:
    document = yaml.safe_load(TOY.read_bytes())
    header = {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}
    document["paths"]["/projects/{project_id}/tasks"]["post"].setdefault("parameters", []).append(header)
    api = load_api(document, base_url=board.server.url, auth={"key": CREDENTIAL})
    agent = writer(Board(board.server, api))
    [shown] = actions(agent.ask(ASKED))
    agent.graph.invoke(decide(type=kind, edited_action={"name": "create_task", "args": NEW_TASK}), agent.config)
    [sent] = agent.state["steps"][0]["requests"]
    assert (sent["arguments"]["header"] == shown["args"]["header"]) == is_same


def test_words_of_a_model_cannot_pass_for_lines_of_the_program(board: Board) -> None:
    agent = writer(board, caller=[call(NEW_TASK, description="It is wanted.\nIt can be undone: nothing happens.")])
    [action] = actions(agent.ask(ASKED))
    assert "It can be undone: nothing happens." in unmarked(action["details"])
    assert not [line for line in own_lines(action["description"]) if "nothing happens" in line]


@pytest.mark.parametrize("args", [SECOND, {"project_id": 1, "title": "Count the tables"}])
def test_an_edited_change_is_checked_again_and_sent_as_edited(board: Board, args: dict[str, Any]) -> None:
    agent = asking(board)
    wrong = {"name": "create_task", "args": {"path": {"project_id": 1}, "body": {}}}
    [action] = actions(agent.graph.invoke(decide(type="edit", edited_action=wrong), agent.config))
    assert "title" in unmarked(action["description"])[2]
    agent.graph.invoke(decide(type="edit", edited_action={"name": "create_task", "args": args}), agent.config)
    assert "Count the tables" in titles(board)
    assert "Count the chairs" not in titles(board)


@pytest.mark.parametrize("writes", ["deny", "dry-run"])
def test_a_policy_against_changes_sends_none(board: Board, writes: str) -> None:
    result = writer(board).ask(ASKED, writes=writes)
    assert board.calls() == []
    assert result["answer"].startswith("Done.")


def test_a_dry_run_ends_with_the_list_of_what_would_be_sent(board: Board) -> None:
    result = writer(board).ask(ASKED, writes="dry-run")
    assert f"1. POST {board.server.url}/projects/1/tasks" in result["answer"]


def test_changes_may_be_allowed_and_the_journal_keeps_what_was_sent_and_what_came_of_it(board: Board) -> None:
    agent = writer(board)
    agent.ask(ASKED, writes="allow")
    assert titles(board).count("Count the chairs") == 1
    [entry] = agent.journal.entries()
    assert (entry["request"]["method"], entry["outcome"]["response"]["status"]) == ("POST", 201)
    assert "simulated-credential" not in str(entry)


def test_several_changes_are_shown_together_and_made_in_order(board: Board) -> None:
    agent = writer(board, caller=[call(NEW_TASK, SECOND, numbers=[1, 1])])
    assert len(actions(agent.ask("Add two tasks to project 1"))) == 2
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
    agent = asking(board)
    journal, request = half_sent(agent)
    outcome = {"status": "sent", "note": "", "response": {"status": 201, "sketch": ""}}
    journal.conclude(request["id"], request["fingerprint"], outcome)  # type: ignore[arg-type]
    agent.graph.invoke(decide(type="approve"), agent.config)
    assert board.calls() == []
    assert "status 201" in agent.state["steps"][0]["result"]


@pytest.mark.parametrize("writes", ["ask", "allow"])
@pytest.mark.parametrize(("answer", "calls"), [("reject", []), ("approve", [MADE])])
def test_a_change_with_an_unknown_outcome_asks_before_it_is_repeated_also_where_changes_are_allowed(
    board: Board, answer: str, calls: list[str], writes: Any
) -> None:
    agent = asking(board)
    half_sent(agent)
    paused = agent.graph.invoke(decide(type="approve"), agent.config, context=Context(writes=writes))
    assert UNKNOWN in str(paused["__interrupt__"][0].value)
    assert paused["__interrupt__"][0].value["review_configs"][0]["allowed_decisions"] == ["approve", "reject"]
    edit = decide(type="edit", edited_action={"name": "create_task", "args": {}})
    [again] = actions(agent.graph.invoke(edit, agent.config, context=Context(writes=writes)))
    assert "That decision cannot be used" in again["description"]
    assert board.calls() == []
    agent.graph.invoke(decide(type=answer), agent.config)
    assert board.calls() == calls


def test_a_missing_value_does_not_lose_what_the_round_did(board: Board) -> None:
    caller = [call({}), missing("the project's id")]
    agent = asking(board, selector=[select("list_projects", ("create_task", [1]))], caller=caller)
    result = agent.state["steps"][0]["result"]
    assert "Winter timetable" in result
    assert "the project's id" in result


def changing(board: Board, operation: str, arguments: dict[str, object]) -> Agent:
    return writer(board, selector=[select(operation)], caller=[call(arguments)])


def target_of(board: Board, operation: str, arguments: dict[str, object]) -> dict[str, Any]:
    """The question about a change of task 101 or 777."""
    [action] = actions(changing(board, operation, arguments).ask("Change task 101 or 777, hours 99"))
    return action


def test_a_change_is_shown_beside_what_the_target_is_now(board: Board) -> None:
    before = board.tasks()["101"]
    change = {"path": {"task_id": 101}, "body": {"hours": 99, "done": before["done"]}}
    action = target_of(board, "update_task", change)
    assert action["target"]["changes"] == [{"field": "hours", "before": before["hours"], "after": 99}]
    assert f"hours: {before['hours']} → 99" in unmarked(action["description"])
    assert board.tasks()["101"] == before


def test_a_deletion_is_shown_with_what_would_be_lost_if_that_can_be_read(board: Board) -> None:
    action = target_of(board, "delete_task", {"path": {"task_id": 101}})
    assert action["target"]["present"] == board.tasks()["101"]
    assert board.tasks()["101"]["title"] in action["description"]
    assert target_of(board, "delete_task", {"path": {"task_id": 777}})["target"] is None


NO_EDITS = (None, "create_task", {"name": "create_task"}, {"name": "create_task", "args": [1]})


@pytest.mark.parametrize(
    "answer",
    [
        *("", "perhaps", 7, {"decisions": []}, {"decisions": ["approve", "approve"]}, {"type": "shrug"}),
        *({"decisions": [{"type": "edit", "edited_action": action}]} for action in NO_EDITS),
    ],
)
def test_an_answer_that_makes_no_sense_is_asked_for_again(board: Board, answer: object) -> None:
    agent = asking(board)
    [action] = actions(agent.graph.invoke(Command(resume=answer), agent.config))
    assert action["description"].startswith("That decision cannot be used")
    assert board.calls() == []


class Nothing(TypedDict, total=False):
    """The state of a parent graph without keys."""

    nothing: str


def test_leave_to_send_again_is_good_for_one_try_only(board: Board) -> None:
    agent = asking(board)
    journal, request = half_sent(agent)
    agent.graph.invoke(decide(type="approve"), agent.config)
    agent.stop_at("approved", decide(type="approve"))
    journal.intend(request["id"], request["fingerprint"], {})  # type: ignore[arg-type]
    paused = agent.graph.invoke(None, agent.config)
    assert UNKNOWN in str(paused["__interrupt__"][0].value)
    assert board.calls() == []
    agent.graph.invoke(decide(type="approve"), agent.config)
    assert board.calls() == [MADE]


def test_a_change_behind_one_of_unknown_outcome_waits_with_it(board: Board) -> None:
    agent = asking(board, caller=[call(NEW_TASK, SECOND, numbers=[1, 1])])
    half_sent(agent)
    for kind in ("approve", "reject"):
        agent.graph.invoke(Command(resume={"type": kind}), agent.config)
        assert board.calls() == []
    assert "whether the change before it was carried out" in agent.state["steps"][0]["result"]


def test_a_change_that_certainly_did_not_leave_needs_no_question() -> None:
    with held_port() as port:
        with served_board(port=port) as board:
            agent = writer(board)
            agent.ask(ASKED)
        with pytest.raises(ConnectFault):
            agent.graph.invoke(decide(type="approve"), agent.config)
        assert Journal(agent.graph.store, agent.thread).entries() == []  # type: ignore[arg-type]
        with serve(board.world, port=port):
            agent.graph.invoke(None, agent.config)
    assert board.calls() == [MADE]


def test_a_change_whose_answer_was_lost_says_that_its_outcome_is_unknown(board: Board) -> None:
    board.world.faults.replace([Fault(kind=FaultKind.RESET, applied=True)])
    agent = writer(board)
    agent.ask(ASKED, writes="allow")
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
    [asked] = actions(agent.ask(ASKED))
    edit = {"name": "create_task", "args": {"path": {"project_id": 1}, "body": {"a\nDELETE /everything": 1}}}
    for _ in range(2):
        [shown] = actions(agent.graph.invoke(decide(type="edit", edited_action=edit), agent.config))
    description = shown["description"]
    note, _, others = description.partition(f"\n\n{own_lines(asked['description'])[0]}")
    assert own_lines(note) == ["That decision cannot be used:"]
    assert f"{own_lines(asked['description'])[0]}{others}" == asked["description"]


def test_the_earlier_state_is_kept_and_the_setting_leaves_it_out(board: Board) -> None:
    change = {"path": {"task_id": 101}, "body": {"hours": 99}}
    for undo, kept in ((True, "present"), (False, "unread")):
        agent = changing(board, "update_task", change)
        agent.ask("Set the hours of task 101 to 99", writes="allow", undo=undo)
        [entry] = agent.journal.entries()
        assert entry["earlier"]["known"] == kept


@pytest.mark.parametrize(("hours", "sent"), [(3.9, 1), (4.1, 0)])
def test_an_answer_after_the_expiry_of_the_question_is_a_rejection(board: Board, hours: float, sent: int) -> None:
    now, model = 1_800_000_000.0, writer(board).model
    defaults = Context(**CALLS, approval_hours=4)
    agent = agent_of(None, model, services=Services([board.api], model=model, now=lambda: now, defaults=defaults))
    [action] = actions(agent.ask(ASKED))
    assert action["expires"] == "2027-01-15T12:00:00+00:00"
    now += hours * 3600
    agent.graph.invoke(decide(type="approve"), agent.config)
    assert len(board.calls()) == sent
    told = "Nobody answered in time" in str(prompts_of(model, "planner")[-1][-1].text)
    assert told == (not sent)
