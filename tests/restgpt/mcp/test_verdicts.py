"""Guards every verdict in every state of a change through every door: a rejection never sends, nothing is sent twice.

A change is left in a state by the doors themselves: without the credential an approved one does not go out, and the
checkpoints after the approval are removed, or a journal entry is added, as a killed process leaves them.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cli import TOY, Cli
from langgraph.types import Command
from mcp import Client as McpClient
from mcp import types
from mcpserver import MADE, MOSS, Person, changes, text_of, with_client

from restgpt.calling.journal import Journal
from restgpt.client import Client
from restgpt.commands.terminal import Terminal, UsageError
from restgpt.commands.ui.page_runs import Runs
from restgpt.commands.ui.page_threads import AGENT, PageThreads
from restgpt.graph.persistence import Persistence, open_persistence, thread_config
from restgpt.nodes.run.services import Services
from restgpt.outcome import Pending
from restgpt.sources import Sources
from restgpt.specs import load_api
from restgpt.threads import UnknownThreadError
from restgpt.tools.errors import OutdatedDecisionError
from restgpt.tools.settings import Settings
from restgpt_bench.worlds import CREDENTIAL
from restgpt_bench.worlds.server import WorldServer

EDITED = {"path": {"project_id": 1}, "body": {"title": "Fern"}}
DECISIONS: dict[str, dict[str, Any]] = {
    "approve": {"type": "approve"},
    "edit": {"type": "edit", "edited_action": {"name": "create_task", "args": EDITED}},
    "reject": {"type": "reject", "message": "not now"},
    "respond": {"type": "respond", "message": "ask Ada"},
    "unreadable": {"type": "edit"},
}
OPTIONS = {
    "approve": ["--approve"],
    "edit": ["--edit", json.dumps(EDITED)],
    "reject": ["--reject", "not now"],
    "respond": ["--respond", "ask Ada"],
}
STATES = ("waiting", "approved", "sent", "unknown", "done", "deleted")
REFUSALS = (OutdatedDecisionError, UnknownThreadError, UsageError)


class Change:
    """A change of a client of a server, in the database of a home folder, with its question as the person saw it."""

    def __init__(self, opened: Callable[..., Any], cli: Cli, toy: WorldServer, monkeypatch: pytest.MonkeyPatch) -> None:
        self._opened, self._cli, self.toy, self._environment = opened, cli, toy, monkeypatch
        self._asked = self._send()
        self.thread = self.listed()["thread"]
        with self._client() as (client, _):
            self.question = client.question(self.thread)

    def listed(self) -> Any:
        """The one thread in the list of the command line."""
        [listed] = self._cli("threads", "--json").document["threads"]
        return listed

    def begin_by_client(self, source: Any = TOY) -> None:
        """Delete the change, and begin the same one through `Client`, over the API of a document."""
        assert self._cli("threads", "--delete", self.thread, "--yes").code == 0
        with self._client(source) as (client, _):
            self.question = client.call("create_task", {"path": {"project_id": 1}, "body": {"title": "Moss"}})
        self.thread = self.question.thread

    def leave(self, state: str) -> None:
        """Bring the change from its open question to a state."""
        if state in ("approved", "sent", "unknown"):
            self._environment.delenv("RESTGPT_AUTH_KEY")
            ended = self._cli("resume", self.thread, "--approve")
            assert "approval stands recorded" in ended.err
            self._environment.setenv("RESTGPT_AUTH_KEY", CREDENTIAL)
            shown = self._cli("threads", self.thread)
            assert "Approved, and not sent yet: create_task." in shown.err
        if state == "unknown":
            with self._client() as (client, kept):
                request = client.graph_of(self.thread).get_state(thread_config(self.thread)).values["requests"][0]
                journal = Journal(kept.store, self.thread)
                claim = journal.claim(request["id"], request["fingerprint"])
                shown = {"method": "POST"}
                journal.intend(request["id"], request["fingerprint"], shown, attempt=claim.number)
                claim.begin()
        if state == "sent":
            self._kill_after_sending()
        if state in ("done", "deleted"):
            assert self._cli("resume", self.thread, "--approve").code == 0
        if state == "deleted":
            assert self._cli("threads", "--delete", self.thread, "--yes").code == 0

    def _kill_after_sending(self) -> None:
        """Send the change, and remove what the sender's run has written to the thread after that."""
        with self._client() as (client, kept):
            newest = client.graph_of(self.thread).get_state(thread_config(self.thread)).config["configurable"]
            assert client.outcome(self.thread).ok
            saver: Any = kept.checkpointer
            with saver.cursor() as cursor:
                last = newest["checkpoint_id"]
                cursor.execute("DELETE FROM checkpoints WHERE thread_id = ? AND checkpoint_id > ?", (self.thread, last))
                cursor.execute("DELETE FROM writes WHERE thread_id = ? AND checkpoint_id >= ?", (self.thread, last))

    @contextmanager
    def _client(self, source: Any = TOY) -> Iterator[tuple[Client, Persistence]]:
        with open_persistence(Settings.from_env()) as kept:
            api = load_api(source, base_url=self.toy.url, auth={"key": CREDENTIAL})
            yield Client(services=Services([api], store=kept.store), **kept.saved), kept

    def _send(self, **answers: Any) -> Any:
        def call(client: McpClient) -> Any:
            return client.session.call_tool("change_operation", MOSS, allow_input_required=True, **answers)

        return with_client(self._opened(), call, Person())

    def standing(self) -> str:
        """Return how the thread stands in the end."""
        with self._client() as (client, _):
            try:
                return "asked" if client.question(self.thread) else str(client.outcome(self.thread).state)
            except UnknownThreadError:
                return "deleted"

    def by_cli(self, verdict: str) -> str:
        ended = self._cli("resume", self.thread, *OPTIONS[verdict])
        return f"{ended.out}{ended.err}"

    def by_mcp(self, verdict: str) -> str:
        is_approval = verdict == "approve"
        content: Any = {"decision": "approve"} if is_approval else None
        answer = types.ElicitResult(action="accept" if is_approval else "decline", content=content)
        given = dict.fromkeys(self._asked.input_requests, answer)
        after = self._send(input_responses=given, request_state=self._asked.request_state)
        return text_of(after) if isinstance(after, types.CallToolResult) else "asked again"

    def by_client(self, verdict: str) -> str:
        assert isinstance(self.question, Pending)
        with self._client() as (client, _):
            return _tried(lambda: repr(client.decide(self.question, DECISIONS[verdict])))  # type: ignore[arg-type]

    def by_graph(self, verdict: str) -> str:
        """Resume the graph as LangGraph's own clients do, which name no question."""
        answer: Any = Command(resume={"decisions": [DECISIONS[verdict]]})
        with self._client() as (client, _):
            graph = client.graph_of(self.thread)
            return _tried(lambda: repr(graph.invoke(answer, thread_config(self.thread))))

    def by_page(self, verdict: str) -> str:
        assert isinstance(self.question, Pending)
        answers = {self.question.id: {"decisions": [DECISIONS[verdict]]}}
        with self.page() as page:

            def run() -> str:
                work = page.begin(self.thread, {}, answers=answers)
                try:
                    return repr(list(work.parts))
                finally:
                    work.release()

            return _tried(run)

    @contextmanager
    def page(self) -> Iterator[PageThreads]:
        settings, quiet = Settings.from_env(), Terminal(quiet=True)
        with open_persistence(settings) as kept:
            yield PageThreads(kept, settings, sources=Sources(), context={}, terminal=quiet, runs=Runs())


def _tried(act: Callable[[], str]) -> str:
    try:
        return act()
    except REFUSALS as error:
        return str(error)


DOORS = {
    "command line": Change.by_cli,
    "MCP": Change.by_mcp,
    "Client": Change.by_client,
    "graph": Change.by_graph,
    "page": Change.by_page,
}


@pytest.fixture
def change(
    opened: Callable[..., Any], cli: Cli, toy: WorldServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> Change:
    monkeypatch.setenv("RESTGPT_HOME", str(home))
    return Change(opened, cli, toy, monkeypatch)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("verdict", OPTIONS)
def test_a_verdict_does_what_it_says_and_no_more(change: Change, verdict: str, state: str, door: str) -> None:
    if door == "MCP" and verdict in ("edit", "respond"):
        pytest.skip("a form of MCP offers approve and reject")
    change.leave(state)
    before = changes(change.toy)
    said = DOORS[door](change, verdict)
    sends = state in ("waiting", "approved") and verdict in ("approve", "edit")
    assert changes(change.toy) == before + [MADE] * sends, said
    assert change.standing() == ends(verdict, state), said


def ends(verdict: str, state: str) -> str:
    """Return what has become of the change; what may have been sent is asked about again, unless it is rejected."""
    if state in ("sent", "done"):
        return "sent"
    if state == "unknown":
        return "failed" if verdict == "reject" else "asked"
    return "deleted" if state == "deleted" else "sent" if verdict in ("approve", "edit") else "rejected"


def test_a_stale_rejection_by_a_form_does_not_go_on_with_the_thread(change: Change) -> None:
    edited = change.by_client("unreadable")
    assert "asked" in change.standing(), edited
    change.leave("approved")
    assert "no longer open" in change.by_mcp("reject")
    assert changes(change.toy) == []
    change.by_cli("reject")
    assert change.standing() == "rejected"


@pytest.mark.parametrize("door", ["command line", "Client", "graph", "page"])
def test_a_change_that_the_client_began_is_listed_and_decided_at_every_door(change: Change, door: str) -> None:
    change.begin_by_client()
    assert (change.listed()["thread"], change.listed()["status"]) == (change.thread, "paused")
    with change.page() as page:
        [listed] = page.search(AGENT)
        assert (listed["thread_id"], len(listed["interrupts"])) == (change.thread, 1)
    said = DOORS[door](change, "approve")
    assert changes(change.toy) == [MADE], said
    assert change.standing() == "sent"
    assert change.listed()["status"] == "done"


def test_a_change_over_a_document_given_as_text_says_where_to_go_on(change: Change) -> None:
    change.begin_by_client(Path(TOY).read_bytes())
    assert change.listed()["status"] == "paused"
    assert "Go on with it in the program that began it." in change.by_cli("approve")
    assert changes(change.toy) == []
