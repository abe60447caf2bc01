"""The threads that a server begins for its clients: begun once, found again after a kill, decided and finished.

Whatever may change something is a thread. Its record in the registry says how it began, before the thread exists, so
that another process can go on with it. A call that a client repeats while an equal one is unfinished, or while nobody
knows whether the client got its result, is that one: a repetition after a lost connection makes no second change.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, TypeAlias, cast
from uuid import uuid4

from restgpt.client import Client
from restgpt.graph.persistence import Persistence, undo_thread
from restgpt.mcp.seal import digest_of
from restgpt.mcp.tool_runs import Answer, RunKind, Watch, watching
from restgpt.outcome import Called, Pending, Ran, Undone, status_of
from restgpt.sources import Sources
from restgpt.specs import SpecError, UnknownOperationError
from restgpt.threads import RecipeOfThread, SavedStates, ThreadRecord, UnknownThreadError
from restgpt.tools.errors import OutdatedDecisionError, RestgptError, UnfinishedProgramError

Standing = Pending | Called | Ran | Undone | Answer
"""The state of a thread: it waits for a person, or it is over."""

Given: TypeAlias = Mapping[str, Any]

Settle: TypeAlias = Callable[[Standing], Standing]
"""Notes the state in which a tool leaves a thread, and returns it."""


@dataclass(frozen=True, slots=True)
class Left:
    """The state in which a tool left a thread; `is_joined` if an equal call had begun the thread before."""

    standing: Standing
    is_joined: bool = False


Answered: TypeAlias = dict[str, tuple[ThreadRecord, Watch | None]]
"""Threads whose result a client was sent, by their ids, with the watch of the request that got it."""


class UnbegunThreadError(RestgptError):
    """The thread was killed before it began, and nothing was sent."""

    def __init__(self) -> None:
        super().__init__("This call was interrupted before it began. Nothing was sent. Make the call again.")


class DeletedThreadError(RestgptError):
    """The thread was deleted, perhaps after it had sent changes."""

    def __init__(self, thread: str) -> None:
        super().__init__(
            f"The thread {thread} was deleted, or never begun; what was known of the changes that it had sent is gone "
            "with it. Look at what is there before you make the call again."
        )


class UnofferedUndoError(RestgptError):
    """The changes of a thread are of an API that this server does not offer, or no longer in the same form."""

    def __init__(self, thread: str, reason: str) -> None:
        super().__init__(
            f"This server cannot undo the thread {thread}: {reason}. Nothing was sent. A person undoes it with "
            f"`restgpt undo {thread}`."
        )


class ServedThreads:
    """The threads of a server's clients on one database; new ones get `sources` and the settings `context`."""

    def __init__(
        self,
        client: Client,
        persistence: Persistence,
        *,
        sources: Sources,
        context: Mapping[str, Any],
        runs: Mapping[str, RunKind],
        lifetime: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._client = client
        self._lock = persistence.lock
        self._threads = client.threads
        self._states = SavedStates(persistence)
        self._sources = sources
        self._context = context
        self._runs = runs
        self._lifetime = lifetime
        self._clock = clock
        self._answered: dict[str, Answered] = {}
        self._answering = Lock()

    def taken(self, principal: str) -> Answered:
        """Return the results that a client got, since it sends another request: call it when that arrives.

        They are those of requests that were over by then: one that was sent beside them tells nothing.
        """
        with self._answering:
            sent = self._answered.get(principal, {})
            names = [thread for thread, (_, watch) in sent.items() if watch is None or watch.is_over]
            return {thread: sent.pop(thread) for thread in names}

    def acknowledge(self, taken: Answered) -> None:
        """Note which results a client got: not those of requests that were cancelled, or whose connection was lost."""
        for record, watch in taken.values():
            if watch is None or not watch.cancellation.is_cancelled:
                self._deliver(record)

    def _deliver(self, record: ThreadRecord) -> None:
        if (newest := self._threads.find(record.thread)) is not None:
            self._threads.keep(replace(newest, is_delivered=True))

    def close(self) -> None:
        """Note the same for all clients, since this server ends without having lost an answer."""
        for principal in list(self._answered):
            self.acknowledge(self.taken(principal))

    def call(self, principal: str, operation: str, arguments: Mapping[str, Any], *, pages: int = 1) -> Left:
        """Make one call; returns the state of its thread.

        A call that only reads is sent at once, and has a thread only if a person has to be asked about it. Raises what
        `Client.call` raises, and `ThreadBusyError` for an equal call that is being carried out.
        """
        made = self._client.draft(operation, arguments, pages=pages, conversation=principal)
        given = {"operation": made.name, "arguments": dict(arguments), "pages": pages}
        if not made.effect.is_read:
            identity = self._client.identity(made.operation, arguments)
            return self._begin(principal, "call", given, identity=identity)
        record = self._record(principal, "call", given)
        standing = self._client.carry_out(made, conversation=principal, thread=record.thread)
        if isinstance(standing, Pending):
            self._threads.mark(record, "paused")
        return Left(standing)

    def run(self, principal: str, kind: str, given: Given) -> Left:
        """Begin a program or a run of a kind, or go on with an equal one; returns and raises what `call` does.

        Raises `UnfinishedProgramError` for a program in the thread of one that has not ended, and `DeletedThreadError`
        and `UnknownThreadError`.
        """
        return self._begin(principal, kind, given)

    def _begin(self, principal: str, kind: str, given: Given, *, identity: str = "") -> Left:
        record = self._record(principal, kind, given, identity=identity)
        # An equal call that arrives at the same moment, on any server of the database, must find this one.
        with self._lock(f"{principal} {record.digest}"):
            if before := self._threads.undelivered(record.owner, record.digest):
                with self._held(principal, before[-1].thread) as (found, settle):
                    return Left(settle(self._continued(found, principal)), is_joined=True)
            if "thread" in given and self._client.is_unfinished(record.thread):
                raise UnfinishedProgramError(record.thread)
            with self._held(principal, record.thread, new=record) as (_, settle):
                return Left(settle(self._started(record, principal)))

    def _record(self, principal: str, kind: str, given: Given, *, identity: str = "") -> ThreadRecord:
        """Return the record of a new thread, or of the program that is corrected; raises as `run`."""
        thread, instruction, turn, recipe = f"{kind}-{uuid4().hex}", f"run a {kind}", 1, None
        match kind:
            case "call":
                instruction, turn = f"call {given['operation']}", 0
            case "program":
                thread, turn = self._corrected(principal, given) or thread, 0
            case "recipe":
                instruction = f"run the recipe {given['recipe']['name']}"
                recipe = RecipeOfThread(
                    recipe=given["recipe"], inputs=given["inputs"], file="", heals=False, is_passed=True
                )
            case "agent":
                instruction = str(given["instruction"])
        return ThreadRecord(
            thread,
            instruction,
            self._sources,
            self._context,
            turn=turn,
            recipe=recipe,
            owner=digest_of(principal),
            given={} if recipe else given,
            digest=digest_of([kind, identity or given]),
            begun=self._clock(),
        )

    def _corrected(self, principal: str, given: Given) -> str | None:
        """Return the thread of the client's program that a program corrects, if it names one."""
        if "thread" not in given:
            return None
        # Without its record nothing tells which of its changes were made, and would be made again.
        found = self._find(str(given["thread"]))
        if found.owner != digest_of(principal) or found.kind != "program":
            raise UnknownThreadError(str(given["thread"]))
        return found.thread

    def _started(self, record: ThreadRecord, principal: str) -> Standing:
        thread, given, kind = record.thread, record.given, record.kind
        if kind == "program":
            named: Any = {"thread" if "thread" in given else "as_thread": thread}
            return self._client.run(given["code"], conversation=principal, **named)
        if kind == "call":
            pages = given["pages"]
            return self._client.call(
                given["operation"], given["arguments"], pages=pages, conversation=principal, thread=thread
            )
        return self._runs[kind].begin(record, self._client.seen_messages(principal))

    def _continued(self, record: ThreadRecord, principal: str) -> Standing:
        """Go on with a thread; one that was killed before its first checkpoint begins again."""
        try:
            return self._standing(record)
        except UnknownThreadError:
            return self._started(record, principal)

    def question(self, thread: str) -> Pending | None:
        """Return the question of a thread that `decide` answers, as `Client.question` does; None without a thread."""
        try:
            return next(iter(Pending.all_of(self._states.newest(self._find(thread)), thread=thread)), None)
        except DeletedThreadError:
            return None

    def standing(self, principal: str, thread: str, *, decision: Mapping[str, Any] | None = None) -> Standing:
        """Return the state of a thread; one that was killed on the way is finished first.

        Not after a `decision` that rejects what is not asked any more: to go on could send what was approved since.
        Raises `OutdatedDecisionError` for that, `UnbegunThreadError`, `DeletedThreadError`, `ThreadBusyError`, and what
        `Client.outcome` raises.
        """
        record = self._find(thread)
        try:
            with self._held(principal, thread) as (_, settle):
                return settle(self._standing(record, decision))
        except UnknownThreadError:
            self._deliver(record)
            raise UnbegunThreadError from None

    def decide(
        self, principal: str, pending: Pending, decision: Mapping[str, Any], *, once: Callable[[], bool] = lambda: True
    ) -> Standing:
        """Answer exactly this question as a person; returns the question that has replaced it, if one has.

        `once` is asked with the thread locked, and the decision counts only if it agrees: a thread that is busy leaves
        the decision unused. Raises `ThreadBusyError` and `DeletedThreadError`.
        """
        with self._held(principal, pending.thread) as (record, settle):
            run = self._runs.get(record.kind)
            if not once() and decision.get("type") != "reject":
                return settle(self._standing(record))
            try:
                if run is None:
                    return settle(self._client.decide(pending, decision))
                return settle(run.decide(pending, decision, record))
            except OutdatedDecisionError:
                return settle(self._standing(record, decision))

    def undo(self, thread: str) -> Standing:
        """Reverse the changes of a thread: a person is asked about each reversing call.

        Raises `ThreadBusyError`, `DeletedThreadError` and `UnofferedUndoError`.
        """
        with self._lock(thread):
            self._find(thread)
            try:
                found = self._client.undo(thread)
            except (SpecError, UnknownOperationError) as error:
                raise UnofferedUndoError(thread, str(error)) from None
            if isinstance(found, Pending):
                undo = self._find(undo_thread(thread))
                self._threads.keep(replace(undo, begun=self._clock(), is_delivered=False, digest=""))
        return found

    def has_changes(self, thread: str) -> bool:
        """Return whether a thread has sent changes that were not undone."""
        try:
            return bool(self._client.reversals(thread))
        except (SpecError, UnknownOperationError):
            # The document has changed since; `undo` says so.
            return True

    def unfinished(self, principal: str) -> list[ThreadRecord]:
        """Return the threads of a principal whose result it has not got, the oldest first, without expired ones."""
        oldest = self._clock() - self._lifetime
        found = self._threads.undelivered(digest_of(principal))
        for record in found:
            if record.begun < oldest:
                self._deliver(record)
        return sorted((record for record in found if record.begun >= oldest), key=lambda record: record.begun)

    def _standing(self, record: ThreadRecord, decision: Mapping[str, Any] | None = None) -> Standing:
        if decision is not None and decision.get("type") == "reject":
            snapshot = self._states.newest(record)
            if snapshot.tasks and not snapshot.interrupts:
                raise OutdatedDecisionError(record.thread)
        run = self._runs.get(record.kind)
        if run is None:
            return cast("Standing", self._client.outcome(record.thread))
        return run.standing(record)

    def _find(self, thread: str) -> ThreadRecord:
        found = self._threads.find(thread)
        if found is None:
            raise DeletedThreadError(thread)
        return found

    @contextmanager
    def _held(
        self, principal: str, thread: str, *, new: ThreadRecord | None = None
    ) -> Iterator[tuple[ThreadRecord, Settle]]:
        """Lock a thread and note its status before and after; the block passes its state to the given function."""
        with self._lock(thread.partition("/")[0]):
            record = new or self._find(thread)
            if record.turn == 0 and not record.is_undo:
                # Another process may have begun the thread.
                self._client.earlier.expect(thread, principal)
            with self._threads.running(record) as note:

                def settle(standing: Standing) -> Standing:
                    note(status_of(standing))
                    if isinstance(standing, Answer):
                        self._client.earlier.read(principal, standing.messages)
                    if not isinstance(standing, Pending) and not record.is_delivered:
                        with self._answering:
                            self._answered.setdefault(principal, {})[thread] = (record, watching())
                    return standing

                yield record, settle
