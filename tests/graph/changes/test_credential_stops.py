"""Guards runs with a missing or refused credential: they stop for the user, and go on once it is given."""

import asyncio
from collections.abc import Mapping
from typing import Any, TypedDict

import pytest
from board import CALLS, TOY, Agent, Board, agent_of
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from roles import by_role, end, one_task, program

from restgpt.graph.build import build_graph
from restgpt.nodes.run.services import Services
from restgpt.specs import load_api
from restgpt.tools.errors import MissingCredentialError, OutdatedDecisionError, RefusedCredentialError, StoppingError
from restgpt.tools.http.http_client import HttpClient
from restgpt.tools.settings import Secret, Settings
from restgpt.tools.text.redaction import sent_before
from restgpt_bench.worlds import CREDENTIAL
from restgpt_bench.worlds.faults import Fault

READ = "print(find_tasks()['total'])"
GREEDY = """
try:
    print(find_tasks()['total'])
except Exception:
    print('There are no tasks.')
"""
CHANGE = "create_task(project_id=1, body={'title': 'Chairs'})\nprint('Done.')"


class Host(TypedDict, total=False):
    """The state of a graph around the agent."""

    instruction: str
    answer: str


class Runs:
    """One thread that runs with other credentials each time, as `restgpt resume` does."""

    def __init__(self, board: Board, script: Mapping[str, Any], **context: Any) -> None:
        self.model = by_role(script)
        self.saver, self.store = InMemorySaver(), InMemoryStore()
        self.api = load_api(TOY.read_bytes(), base_url=board.server.url)
        self.context = context

    def services(self, credential: str | None) -> Services:
        settings = Settings(auth={"KEY": Secret(credential)} if credential else {})
        services = Services([self.api], model=self.model, settings=settings, http=HttpClient(settings=settings))
        return services.with_defaults(**self.context)

    def agent(self, credential: str | None) -> Agent:
        kept = {"checkpointer": self.saver, "store": self.store}
        return agent_of(None, self.model, services=self.services(credential), **kept)

    def stopped(self, given: Any, credential: str | None) -> StoppingError:
        with pytest.raises(StoppingError) as caught:
            self.agent(credential).graph.invoke(given, self.agent(credential).config)
        return caught.value

    def go_on(self, credential: str = CREDENTIAL) -> dict[str, Any]:
        agent = self.agent(credential)
        return agent.graph.invoke(None, agent.config)  # type: ignore[return-value]


ADD = {"instruction": "Add the task Chairs to project 1"}
HOW_MANY = {"instruction": "How many tasks are there?"}


def answer(kind: str, pause: str = "") -> Any:
    decisions = {"decisions": [{"type": kind, "message": "not now"}]}
    return Command(resume={pause: decisions} if pause else decisions)


@pytest.mark.parametrize("code", [READ, GREEDY])
@pytest.mark.parametrize("credential", [None, "not-the-key"])
def test_a_program_stops_at_its_first_call_and_goes_on_with_the_credential(
    board: Board, code: str, credential: str | None
) -> None:
    runs = Runs(board, {"express": [program(code)]})
    error = runs.stopped(HOW_MANY, credential)
    assert isinstance(error, RefusedCredentialError if credential else MissingCredentialError)
    assert "RESTGPT_AUTH_KEY" in str(error)
    assert "team-board" in str(error)
    assert board.calls() == (["GET /tasks 401"] if credential else [])
    assert runs.go_on()["answer"] == "24"


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("by_pause", [False, True])
def test_the_next_answer_replaces_an_approval_that_could_not_be_used(
    board: Board, is_async: bool, by_pause: bool
) -> None:
    runs = Runs(board, {"express": [program(CHANGE), end("Nothing was added.")]})
    [pause] = runs.agent(CREDENTIAL).ask("Add the task Chairs to project 1")["__interrupt__"]
    at = pause.id if by_pause else ""
    error = runs.stopped(answer("approve", at), None)
    assert "approval stands recorded" in sent_before(error)
    agent = runs.agent(CREDENTIAL)
    if is_async:
        asyncio.run(agent.graph.ainvoke(answer("reject", at), agent.config))
    else:
        agent.graph.invoke(answer("reject", at), agent.config)
    assert board.calls() == []
    [request] = agent.state["steps"][-1]["requests"]
    assert (request["status"], request["note"]) == ("rejected", "The user rejected it. not now")
    with pytest.raises(OutdatedDecisionError):
        agent.graph.invoke(answer("approve", at), agent.config)
    assert board.calls() == []


@pytest.mark.parametrize("is_async", [False, True])
def test_an_answer_to_a_graph_around_the_agent_replaces_an_unused_approval_too(board: Board, is_async: bool) -> None:
    runs = Runs(board, {"express": [program(CHANGE), end("Nothing was added.")]})
    config = runs.agent(CREDENTIAL).config

    def host(credential: str | None) -> Any:
        builder = StateGraph(Host)
        builder.add_node("agent", build_graph(services=runs.services(credential)))
        builder.add_edge(START, "agent")
        return builder.compile(checkpointer=runs.saver, store=runs.store)

    assert "__interrupt__" in host(CREDENTIAL).invoke(ADD, config)
    with pytest.raises(MissingCredentialError):
        host(None).invoke(answer("approve"), config)
    graph = host(CREDENTIAL)
    rejected = answer("reject")
    ended = asyncio.run(graph.ainvoke(rejected, config)) if is_async else graph.invoke(rejected, config)
    assert (ended["answer"], board.calls()) == ("Nothing was added.", [])


@pytest.mark.parametrize("credential", [None, "not-the-key"])
def test_a_call_of_an_api_plan_stops_too(board: Board, credential: str | None) -> None:
    runs = Runs(board, one_task("find_tasks", parser=["print(data['total'])"]), **CALLS)
    assert "RESTGPT_AUTH_KEY" in str(runs.stopped(HOW_MANY, credential))
    assert runs.go_on()["answer"] == "Done."


@pytest.mark.parametrize("credential", [None, "not-the-key"])
def test_nobody_is_asked_about_a_change_that_lacks_its_credential(board: Board, credential: str | None) -> None:
    code = "update_task(task_id=101, body={'title': 'Chairs'})\nprint('Done.')"
    runs = Runs(board, {"express": [program(code)]})
    runs.stopped({"instruction": "Rename task 101 to Chairs"}, credential)
    assert [line for line in board.calls() if not line.startswith("GET")] == []
    assert runs.go_on()["__interrupt__"]


def test_a_change_that_was_refused_with_401_is_sent_once_after_the_credential_was_given(board: Board) -> None:
    runs = Runs(board, {"express": [program(CHANGE)]}, writes="allow")
    error = runs.stopped(ADD, "not-the-key")
    assert "create_task of team-board was refused with status 401" in str(error)
    assert runs.go_on()["answer"] == "Done."
    assert board.calls() == [f"POST /projects/{{project_id}}/tasks {status}" for status in (401, 201)]


def test_a_credential_that_ends_between_two_calls_stops_and_keeps_what_was_done(board: Board) -> None:
    code = f"create_task(project_id=1, body={{'title': 'Chairs'}})\n{READ}"
    runs = Runs(board, {"express": [program(code)]}, writes="allow")
    board.world.faults.replace([Fault(operation="GET /tasks", status=401)])
    assert "find_tasks" in str(runs.stopped({"instruction": "Add the task Chairs to project 1, and count"}, CREDENTIAL))
    board.world.faults.replace([])
    assert runs.go_on()["answer"] == "25"
    assert [line for line in board.calls() if line.startswith("POST")] == ["POST /projects/{project_id}/tasks 201"]


def test_a_403_about_an_object_is_told_to_the_program(board: Board) -> None:
    code = "try:\n    get_project(project_id=1)\nexcept ApiError as error:\n    print('status', error.status)"
    runs = Runs(board, {"express": [program(code)]})
    board.world.faults.replace([Fault(status=403)])
    agent = runs.agent(CREDENTIAL)
    assert agent.graph.invoke({"instruction": "May I see project 1?"}, agent.config)["answer"] == "status 403"


def test_a_dry_run_of_a_change_needs_no_credential(board: Board) -> None:
    runs = Runs(board, {"express": [program(CHANGE)]}, writes="dry-run")
    agent = runs.agent(None)
    assert "Dry run" in agent.graph.invoke(ADD, agent.config)["answer"]
