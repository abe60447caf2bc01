"""A client that finds, describes, calls and undoes operations without a model, with the checks of the agent's calls."""

import asyncio
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal, cast
from urllib.parse import urlsplit
from uuid import uuid4

import requests
from langchain_core.messages import AnyMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import Command, StateSnapshot

from restgpt.calling.call import Call, Problems, draft
from restgpt.calling.decision import decide
from restgpt.calling.execution import carry_out
from restgpt.calling.idempotency import identity_of
from restgpt.calling.job import goes_on
from restgpt.calling.journal import Journal, entry_id
from restgpt.calling.permissions import Permission, Permissions
from restgpt.calling.question import permit_of, present
from restgpt.calling.record import CallRecord, request_of
from restgpt.calling.session import Session
from restgpt.calling.undo import Reversal, reversals, settle_reversals
from restgpt.earlier import MOST_EARLIER, Earlier
from restgpt.graph.build import make_resources
from restgpt.graph.persistence import open_persistence, thread_config, undo_thread, undone_by
from restgpt.graph.single import ProgramInput, build_calls, build_program, calls_input
from restgpt.host.operations import description
from restgpt.nodes.dialogue.conversation import answered, answered_apis, operations_by_handle, responses, seen_message
from restgpt.nodes.run.run import Run, check_store
from restgpt.nodes.run.services import Context, Services
from restgpt.outcome import REPORT, Called, Outcome, Pending, Ran, Undone, report_of, status_of
from restgpt.sources import Sources
from restgpt.specs import Api, Catalogue, Operation
from restgpt.specs.docs.interface import Learned
from restgpt.specs.effect import Effect
from restgpt.threads import PROGRAM, ThreadRecord, Threads, UnknownThreadError
from restgpt.tools.errors import OutdatedDecisionError, UnfinishedProgramError
from restgpt.tools.http.cancellation import pause
from restgpt.tools.http.http_client import retry_after
from restgpt.tools.request.files import FilePolicy
from restgpt.tools.response.content import Body
from restgpt.tools.response.store import BoundedMemory, UnknownHandleError, locked
from restgpt.tools.settings import Settings

MOST_ABOUT = 200
"""The characters of a call by which a list of threads names it."""

Decision = Mapping[str, Any]


class Client:
    """Calls operations of REST APIs, each change approved by a person and made exactly once.

    Every change is a LangGraph thread: its question is in a checkpoint before anybody sees it, and the journal records
    whether it was sent and what would undo it. All methods may be used from several threads at once.
    """

    def __init__(
        self,
        apis: Api | Sequence[Api] | None = None,
        *,
        context: Context | Mapping[str, Any] | None = None,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
        store: BaseStore | None = None,
        services: Services | None = None,
        session: requests.Session | None = None,
    ) -> None:
        """Make a client of `apis`, or of the APIs of `apis.yaml`; nothing is read or opened yet.

        `context` has the settings of calls, such as `writes`. Without `checkpointer` and `store`, changes are kept in
        this process only. Requests go by the proxies, hooks and auth of a `session`, which connects by itself: what
        address is behind a name is not checked then. Raises `ValueError` for the same reasons as `build_graph`.
        """
        check_store(checkpointer, store)
        self._store = locked(store or BoundedMemory())
        self.services = make_resources(
            apis, model=None, models=None, context=context, store=self._store, services=services, session=session
        )
        saver = checkpointer or InMemorySaver()
        self._graph = build_calls(self.services, checkpointer=saver, store=self._store)
        self._programs = build_program(services=self.services, checkpointer=saver, store=self._store)
        self.earlier = Earlier()
        self.threads = Threads(self._store)

    @classmethod
    @contextmanager
    def durable(
        cls,
        apis: Api | Sequence[Api] | None = None,
        *,
        context: Context | Mapping[str, Any] | None = None,
        settings: Settings | None = None,
    ) -> Iterator["Client"]:
        """Open a client whose changes are kept in the database of the command line; raises `PersistenceError`."""
        settings = settings or Settings.from_env(is_allowed=apis is not None)
        defaults = context if isinstance(context, Context) else Context(**(context or {}))
        with open_persistence(settings) as kept:
            services = Services(apis, defaults=defaults, settings=settings, store=kept.store)
            yield cls(services=services, **kept.saved)

    @property
    def learned(self) -> Learned:
        """What earlier calls taught of operations beyond their documents: shapes of answers, and demands."""
        return self._run("").learned()

    def describe(self, key: str) -> str:
        """Return the documentation of an operation and its function for `run`, within `documentation_budget` tokens."""
        budget = self.services.defaults.documentation_budget
        return description(
            self.catalogue, [self.operation(key)], budget=budget, effects=self.effect, learned=self.learned
        )

    @property
    def catalogue(self) -> Catalogue:
        """The operations of the APIs."""
        return self.services.catalogue(self.services.defaults.apis)

    def find(self, text: str, *, limit: int = 10) -> list[Operation]:
        """Return the operations that fit a text best; raises `SettingsError` and `SpecError` if there is no API."""
        return self.catalogue.search(text, limit)

    def operation(self, key: str) -> Operation:
        """Find an operation by name, operationId or `METHOD /path`; raises `UnknownOperationError` with near names."""
        return self.catalogue.operation(key)

    def identity(self, operation: Operation, arguments: Mapping[str, Any]) -> str:
        """Return a hash of what a call sends, by which an equal call is found; raises `ArgumentError`."""
        return identity_of(operation, arguments)

    def effect(self, operation: Operation) -> Effect:
        """Return the effect of an operation as it is known now: by `apis.yaml`, else by the document."""
        return self.session().rules.effect(operation)

    @property
    def permissions(self) -> Permissions:
        """What people permitted beyond one request: `listed()` names it, `revoke(permission)` takes one back."""
        return self.session().rules.permissions

    def permit(
        self,
        operation: str,
        arguments: Mapping[str, Any] | None = None,
        wish: Mapping[str, Any] | None = None,
        *,
        keep: bool = True,
    ) -> Permission:
        """Let further changes that look like one with these arguments go out unasked, as a person has decided.

        The `wish` says how they may differ: `{"free": ["/body/title"], "one_of": {"/path/id": [1, 2]}, "times": 10,
        "hours": 24, "most": {"/body/seats": 4}, "from": {"/body/trip_id": "get_trips /data/*/id"}}`, each optional;
        `from` is what a free argument may be beside the user's words. Without `keep` it is only made, to be shown
        first; `permissions.permit` keeps it. Raises `ArgumentError`, `UnknownOperationError`, and `ValueError` where it
        cannot be given.
        """
        call, session = self.draft(operation, arguments), self.session()
        found = permit_of(session, call, wish or {})
        if isinstance(found, str):
            raise ValueError(f"This cannot be permitted: {found}.")
        scope, times, hours = found
        made = self.permissions.for_changes(call.operation, scope, times=times, hours=hours)
        if keep:
            self.permissions.permit(made)
        return made

    def draft(
        self,
        operation: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        pages: int = 1,
        description: str = "",
        conversation: str | None = None,
        files: FilePolicy | None = None,
    ) -> Call:
        """Check a call and build its request, without sending anything.

        `arguments` are grouped by place, `{"path": {…}, "query": {…}, "header": {…}, "cookie": {…}, "body": …}`, or
        named as those of the operation's function. With a `conversation`, a model wrote them that may have read the
        answers to earlier calls of this conversation: the origin of each value is traced. Without it they are the
        user's own. `files` says which files may be sent. A model that gives the value again which the document has
        refused in the conversation insists on it. Raises `ArgumentError`, `UnknownOperationError` and `SpecError`.
        """
        found = self.operation(operation)
        made = draft(
            found,
            arguments or {},
            id=f"{self.services.new_id()}.0",
            name=self.catalogue.name_of(found),
            is_own=conversation is None,
            pages=pages,
            description=description,
            files=files,
            effect=self.effect(found),
            insisted=[] if conversation is None else self.earlier.refused(conversation),
            **({} if conversation is None else self._origin(found, conversation)),
        )
        if isinstance(made, Problems):
            if conversation is not None:
                self.earlier.refused(conversation, made.error.claims)
            raise made.error
        if conversation is None or made.effect.is_read:
            return made
        return replace(made, answered=self.earlier.statuses(conversation, made.fingerprint))

    def _origin(self, operation: Operation, conversation: str) -> dict[str, Any]:
        """Return from where the values of a model's call may come; empty for a read in which that does not matter."""
        run = self._run("")
        is_plain = run.rules.effect(operation).is_read and not run.rules.restricts(operation)
        state = self.earlier.state(conversation)
        if is_plain and answered(run, state) is None:
            return {}
        others = answered(run, state, most=MOST_EARLIER)
        return {
            "said": "",
            "found": responses(run, state, most=MOST_EARLIER),
            "operations": operations_by_handle(state),
            "answered": others and replace(others, run=self.earlier.run(conversation)),
        }

    def call(
        self,
        operation: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        pages: int = 1,
        description: str = "",
        conversation: str | None = None,
        thread: str | None = None,
    ) -> Outcome:
        """Draft a call, decide on it by the rules, and carry it out where no person has to be asked.

        A read is sent at once. A change gets a thread, by default a new one: it comes back as `Pending` if a person
        has to decide. Raises what `draft` raises, `MissingCredentialError`, and faults such as `HttpFault`, after
        which `outcome(thread)` goes on with a change.
        """
        made = self.draft(operation, arguments, pages=pages, description=description, conversation=conversation)
        return self.carry_out(made, conversation=conversation, thread=thread)

    def wait(self, called: Called, *, most: float = 600, say: Callable[[str], None] | None = None) -> Called:
        """Return the last answer about the job that a call began: that it is over, or what it says after `most` s.

        It is asked for at the pace of the server, or after 1 s and then less often. A read that is answered 202 is a
        job too; a call that began none comes back. `say` gets a line before each request.
        """
        job: Any = called.record.get("response", {}).get("job")
        if job is None and called.status_code == 202 and self.operation(called.operation).is_safe:
            job = called.record
        waited, seconds, is_over = 0.0, 1.0, job is None
        while not is_over and waited < most:
            wanted = retry_after(called.record["response"].get("headers") or {}) or seconds
            if say is not None:
                say(f"{called.operation} answered {called.status_code}; {job['operation']} in {wanted:g} s")
            pause(wanted)
            waited, seconds = waited + wanted, min(1.5 * seconds, 30)
            found = self.call(job["operation"], job["arguments"])
            if not isinstance(found, Called) or found.state != "sent":
                return called
            called, is_over = found, not goes_on(found.status_code or 0, found.json)
        return called

    async def acall(self, operation: str, arguments: Mapping[str, Any] | None = None, **given: Any) -> Outcome:
        """Make a call as `call` does, without blocking the event loop."""
        return await asyncio.to_thread(self.call, operation, arguments, **given)

    async def arun(self, code: str, **given: Any) -> Pending | Ran:
        """Run a program as `run` does, without blocking the event loop."""
        return await asyncio.to_thread(self.run, code, **given)

    def carry_out(self, made: Call, *, conversation: str | None = None, thread: str | None = None) -> Outcome:
        """Decide on a drafted call by the rules, and carry it out where no person has to be asked, as `call` does.

        If an earlier call of the same `thread` was cut off while it was sent, that one is finished instead.
        """
        if read := self.read(made, conversation=conversation):
            return read
        thread = thread or new_thread()
        if self._is_cut_off(thread):
            return cast("Outcome", self.outcome(thread))
        if conversation is not None:
            self.earlier.expect(thread, conversation)
        shown = self.session().shown(made.request)
        body = json.dumps(shown["body"], ensure_ascii=False) if shown["body"] else ""
        about = f"call {made.name} {urlsplit(shown['url']).path} {body}".strip()[:MOST_ABOUT]
        return cast("Outcome", self._begin(thread, [made], about))

    def _is_cut_off(self, thread: str) -> bool:
        """Return whether a call of a thread that has not ended was, or may have been, sent."""
        begun = {entry["id"] for entry in Journal(self._store, thread).entries()}
        return any(entry_id(item["id"], item["fingerprint"]) in begun for item in self._unfinished(thread))

    def _unfinished(self, thread: str) -> Sequence[Mapping[str, Any]]:
        state = self._graph.get_state(thread_config(thread))
        return state.values.get("requests", ()) if state.tasks else ()

    def _begin(self, thread: str, drafts: Sequence[Call], instruction: str = "") -> Any:
        """Carry calls out in a thread, as a round of their own, in place of a question that is open."""
        number = int(self._graph.get_state(thread_config(thread)).values.get("round", 0)) + 1
        return self._invoke(self._record(thread, instruction), calls_input(drafts, round_number=number))

    def read(self, made: Call, *, conversation: str | None = None) -> Called | None:
        """Carry out a drafted call without a thread, if nobody is asked about it and it changes nothing.

        It only reads, or the rules refuse it or hold it back. None for any other, unsent.
        """
        run = self._run("")
        decided = decide(made, run.session.rules)
        if not decided.is_over:
            run.session.require_credential(made.operation)
        if decided.stage == "approved" and decided.effect.is_read:
            decided = carry_out(run.session, decided)
        if not decided.is_over:
            return None
        record = request_of(present(run.session, decided).to_json(), round_number=0, call=1)
        run.learn(record)
        if conversation is not None:
            self.earlier.add(conversation, record)
        return Called(record, _open=run.session.responses.open)

    def run(
        self,
        code: str,
        *,
        operations: Sequence[str] | None = None,
        conversation: str | None = None,
        thread: str | None = None,
        as_thread: str | None = None,
    ) -> Pending | Ran:
        """Run a Python program over the operations as functions, in the sandbox, up to its end or its next question.

        `describe` shows the functions. The program is checked before its first request. `operations` are the only ones
        that it may call. The code counts as a model's words, which may have read the answers to earlier calls of the
        `conversation`. With the `thread` of a program that ended without a report, the program is its correction:
        changes that succeeded are not repeated. `as_thread` is the id of a new program, by `new_program`. Raises
        `UnknownOperationError`, `UnknownThreadError`, and `UnfinishedProgramError` for a thread whose program waits for
        a decision; and the faults of `call`.
        """
        if thread is None:
            thread = as_thread or new_program()
        else:
            self._check_ended(thread)
        given = self.program_input(code, operations=operations, conversation=conversation)
        if conversation is not None:
            self.earlier.expect(thread, conversation)
        return cast("Pending | Ran", self._invoke(self._record(thread, "run a program"), given))

    def program_input(
        self, code: str, *, operations: Sequence[str] | None = None, conversation: str | None = None
    ) -> ProgramInput:
        """Return the input of the graph that runs a program; the arguments are those of `run`."""
        given: ProgramInput = {"code": code}
        if operations is not None:
            given["operations"] = [self.catalogue.name_of(self.operation(name)) for name in operations]
        if conversation is not None:
            given["messages"] = self.seen_messages(conversation)
        return given

    def seen_messages(self, conversation: str) -> list[AnyMessage]:
        """Return the messages that tell a run which APIs' answers the models of a conversation may have read."""
        state = self.earlier.state(conversation)
        seen = answered_apis(state["steps"], state["requests"], messages=state["messages"])
        return [seen_message(seen)] if seen else []

    def _check_ended(self, thread: str) -> None:
        if not thread.startswith(PROGRAM):
            raise UnknownThreadError(thread)
        if self._snapshot(thread).tasks:
            raise UnfinishedProgramError(thread)

    def body(self, handle: str) -> Body:
        """Return the body of a `Called`, or the text of a `Ran`, by its handle; raises `UnknownHandleError`."""
        if not handle.startswith(REPORT):
            return self.session().responses.open(handle)
        text = report_of(handle, self._program_state)
        if text is None:
            raise UnknownHandleError("no report of a program is kept under this handle; run the program again")
        return Body(text.encode("utf-8", "replace"), "text/plain", "text" if text else "empty")

    def _program_state(self, thread: str) -> Mapping[str, Any]:
        return self._programs.get_state(thread_config(thread)).values if thread.startswith(PROGRAM) else {}

    def decide(self, pending: Pending, decision: Decision | Sequence[Decision] | Literal["approve", "reject"]) -> Any:
        """Answer exactly this question as a person, and carry the calls out as decided.

        A decision has the form of LangChain's human-in-the-loop middleware, such as `{"type": "approve"}`; one counts
        for all calls of the question. Never pass on what a model decided. Returns what `outcome` returns; raises
        `OutdatedDecisionError` if the question is no longer open, and `UnknownThreadError`.
        """
        answer = resuming(self.graph_of(pending.thread), pending, decision)
        return self._invoke(self._record(pending.thread), answer)

    def resume(self, thread: str, answers: Mapping[str, Any]) -> Any:
        """Decide the question of a thread by LangGraph's resume values: `{question id: {"decisions": […]}}`.

        The answer comes first: to go on with the thread could send what it rejects. Returns and raises what `decide`
        does.
        """
        pending = self.question(thread)
        given = answers.get(pending.id) if pending is not None else None
        if pending is None or not isinstance(given, Mapping) or not isinstance(given.get("decisions"), list):
            raise OutdatedDecisionError(thread)
        return self.decide(pending, given["decisions"])

    def question(self, thread: str) -> Pending | None:
        """Return the question of a thread that `decide` answers, without going on with the thread; None without one.

        It is the open one, or the one whose approval was not used: its request did not go out, and can be taken back.
        Raises `UnknownThreadError`.
        """
        found = next(iter(Pending.all_of(self._snapshot(thread), thread=thread)), None)
        return found and replace(found, _decide=self.decide)

    def outcome(self, thread: str) -> Any:
        """Return the state of a thread: `Pending`, `Called`, `Ran` for a program, or `Undone` for an undo.

        A thread that was killed or has failed on the way is finished first, each change at most once. Raises
        `UnknownThreadError`, and the faults of `call`.
        """
        snapshot, record = self._snapshot(thread), self._record(thread)
        if snapshot.tasks and not snapshot.interrupts:
            return self._invoke(record, None)
        outcome = self._outcome(thread)
        if record.status != status_of(outcome):
            self.threads.mark(record, status_of(outcome))
        return self._noted(outcome)

    def is_unfinished(self, thread: str) -> bool:
        """Return whether calls of a thread wait for a person, or were interrupted on the way."""
        return bool(self.graph_of(thread).get_state(thread_config(thread)).tasks)

    def reversals(self, thread: str, *, steps: int | None = None) -> list[Reversal]:
        """Return the reversals of the last `steps` changes of a thread, or of all, without sending anything."""
        return reversals(Journal(self._store, thread), self.catalogue, steps=steps)

    def undo(self, thread: str, *, steps: int | None = None) -> Pending | Undone:
        """Reverse the last `steps` changes of a thread, or all: a person is asked about each reversing call.

        Goes on with an undo of the thread that is on its way. One that only waits for a person gives way to other
        `steps`, and to newer changes. Changes that cannot be reversed are left out; `reversals` says why. Raises the
        faults of `call`.
        """
        place = undo_thread(thread)
        if self.is_undoing(thread):
            return cast("Pending | Undone", self.outcome(place))
        found = self.reversals(thread, steps=steps)
        drafts = [one.draft for one in found if one.draft is not None]
        if not drafts:
            return Undone(thread, (), tuple(one.left for one in found))
        # What names a version is read anew for each question, so its request tells nothing.
        waiting = [("" if item.get("locks") else item["fingerprint"], item["id"]) for item in self._unfinished(place)]
        if waiting == [("" if draft.locks else draft.fingerprint, draft.id) for draft in drafts]:
            return cast("Pending | Undone", self.outcome(place))
        return cast("Pending | Undone", self._begin(place, drafts))

    def is_undoing(self, thread: str) -> bool:
        """Return whether an undo of a thread is on its way: it has begun to send, or a person has decided about it."""
        requests = self._unfinished(undo_thread(thread))
        return any(item["status"] not in ("planned", "asked") or item.get("unsure") for item in requests)

    def embedded(self, made: Call | ProgramInput) -> tuple[Any, Any]:
        """Return the graph that carries a draft or a program out as a part of a host's graph, and its input.

        It has the checkpointer and the store of the host's graph. `embedded_outcome` reads its output.
        """
        calls, programs = self._inside
        return (calls, calls_input([made])) if isinstance(made, Call) else (programs, made)

    @cached_property
    def _inside(self) -> tuple[Any, Any]:
        host = {"checkpointer": None, "store": None}
        return self._graph.copy(host), self._programs.copy(host)

    def embedded_outcome(self, output: Mapping[str, Any], *, conversation: str) -> Called | Ran:
        """Return the outcome of a graph of `embedded` that has ended, and note its calls in the conversation."""
        outcome = Ran.of(output, body=self.body) or Called(output["requests"][0], _open=self.body)
        for call in (outcome,) if isinstance(outcome, Called) else outcome.calls:
            self.earlier.add(conversation, call.record)
        return outcome

    def _snapshot(self, thread: str) -> StateSnapshot:
        return begun_state(self.graph_of(thread), thread)

    def graph_of(self, thread: str) -> Any:
        """Return the graph of a thread: that of programs for theirs, that of calls for all others and for each undo."""
        return self._programs if thread.startswith(PROGRAM) and undone_by(thread) is None else self._graph

    def _record(self, thread: str, instruction: str = "") -> ThreadRecord:
        """Return the record of a thread; a new one if it has none, which for an undo is made of that of its changes."""
        if (found := self.threads.find(thread)) is not None:
            return found
        if (undone := undone_by(thread)) is not None:
            base = self._record(undone)
            about = f"Undo: {base.instruction}"
            return replace(base, thread=thread, instruction=about, turn=0, recipe=None, is_delivered=True)
        context = self.services.defaults.model_dump(mode="json", exclude_unset=True)
        return ThreadRecord(thread, instruction or thread, Sources.of(self.catalogue.apis), context, turn=0)

    def _invoke(self, record: ThreadRecord, given: Any) -> Any:
        """Run the graph of a thread up to its end or its next question, and return its outcome."""
        thread = record.thread
        with self.threads.running(record) as note:
            self.graph_of(thread).invoke(given, thread_config(thread), context=self._context(thread))
            outcome = self._outcome(thread)
            note(status_of(outcome))
        return self._noted(outcome)

    def _outcome(self, thread: str) -> Pending | Called | Ran | Undone:
        snapshot = self._snapshot(thread)
        if snapshot.interrupts:
            return replace(Pending.of(snapshot.interrupts[0], thread=thread), _decide=self.decide)
        body = self.session(thread).responses.open
        if self.graph_of(thread) is self._programs:
            found = Ran.of(snapshot.values, thread=thread, body=body)
            if found is None:
                raise UnfinishedProgramError(thread)
            return found
        records = cast("Sequence[CallRecord]", snapshot.values["requests"])
        calls = tuple(Called(record, thread, body, self.undo) for record in records)
        undone = undone_by(thread)
        if undone is None:
            return calls[0]
        settle_reversals(Journal(self._store, undone), records)
        return Undone(undone, calls)

    def _noted(self, outcome: Any) -> Any:
        """Add the calls of a thread that is over to their conversation, and return the outcome."""
        if isinstance(outcome, Called):
            self.earlier.settle(outcome.thread, [outcome.record])
        elif isinstance(outcome, Ran):
            self.earlier.settle(outcome.thread, [call.record for call in outcome.calls])
        return outcome

    def session(self, thread: str = "") -> Session:
        """Return the session of the calls of a thread."""
        return self._run(thread).session

    def _run(self, thread: str) -> Run:
        return Run.open(
            self.services, Runtime(context=self.services.defaults, store=self._store), thread_config(thread)
        )

    def _context(self, thread: str) -> Context:
        """Return the settings of a thread: an undo asks about every call, whatever the settings of this client are."""
        defaults = self.services.defaults
        return defaults if undone_by(thread) is None else defaults.model_copy(update={"writes": "ask"})


def begun_state(graph: Any, thread: str) -> StateSnapshot:
    """Return the newest state of a thread; raises `UnknownThreadError` if nothing of it is kept."""
    snapshot: StateSnapshot = graph.get_state(thread_config(thread))
    if not snapshot.values and not snapshot.tasks:
        raise UnknownThreadError(thread)
    return snapshot


def check_open(snapshot: StateSnapshot, asked: Collection[str], thread: str) -> None:
    """Raise `OutdatedDecisionError` unless the questions of these ids are open, or their approvals not used yet."""
    if not asked or not {pause.id for pause in Pending.all_of(snapshot)}.issuperset(asked):
        raise OutdatedDecisionError(thread)


def resuming(graph: Any, pending: Pending, decision: Decision | Sequence[Decision] | str) -> "Command[Any]":
    """Return what answers exactly this question: a decision for each of its calls, or one for all.

    Raises `OutdatedDecisionError` if it is no longer open, `UnknownThreadError`, and `TypeError`.
    """
    if not isinstance(decision, Mapping | Sequence):
        raise TypeError(f"{decision!r} is no decision: `approve()` decides by itself. Give 'approve' or 'reject' here.")
    check_open(begun_state(graph, pending.thread), [pending.id], pending.thread)
    one = {"type": decision} if isinstance(decision, str) else decision
    listed = [one] * len(pending.actions) if isinstance(one, Mapping) else one
    return Command(resume={pending.id: {"decisions": [dict(item) for item in listed]}})


def new_program() -> str:
    """Return the id of a new thread for one program."""
    return f"{PROGRAM}{uuid4().hex}"


def new_thread() -> str:
    """Return the id of a new thread for one change."""
    return f"call-{uuid4().hex}"
