"""The threads that a server begins for its clients: begun once, found again after a kill, decided and finished.

Whatever may change something is a thread. An entry in the store says how it began, before the thread exists, so that
another process can go on with it. A call that a client repeats while an equal one is unfinished, or while nobody knows
whether the client got its result, is that one: a repetition after a lost connection makes no second change.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, Literal, Protocol, TypeAlias, cast
from uuid import uuid4

from langgraph.store.base import BaseStore
from langgraph.types import StateSnapshot

from restgpt.calling.idempotency import identity_of
from restgpt.calling.undo.reversal import undo_thread
from restgpt.client import Client, begun_state
from restgpt.graph.persistence import Persistence
from restgpt.graph.resumption import OutdatedDecisionError
from restgpt.mcp.runs import Answer, Run, Watch, watching
from restgpt.mcp.seal import digest_of
from restgpt.nodes.programs.client import UnfinishedProgramError
from restgpt.outcome import Called, Pending, Ran, Undone, status_of
from restgpt.specs import SpecError, UnknownOperationError
from restgpt.threads import UnknownThreadError
from restgpt.tools.errors import RestgptError
from restgpt.tools.http.cancellation import CancelledRunError

Standing = Pending | Called | Ran | Undone | Answer
"""The state of a thread: it waits for a person, or it is over."""

Status = Literal["running", "paused", "done", "failed", "stopped"]

CALL, PROGRAM = "call", "program"
"""The kinds of threads that the client makes: single calls and programs. Those of a run have the kind of the run."""

NAMESPACE = ("restgpt", "mcp", "threads")

MOST_LISTED = 1_000
"""How many entries of a principal are read from the store."""


@dataclass(frozen=True, slots=True)
class Begun:
    """How a thread began: its kind, and what it was given. `at` is in seconds of the clock.

    `is_over` once its client got the result; one that a server finished right before it was killed is not over.
    """

    thread: str
    kind: str
    given: Mapping[str, Any]
    at: float
    is_over: bool = False
    identity: str = ""

    @property
    def digest(self) -> str:
        """The hash of kind and input, by which an equal thread is found; that of a call has its `identity`."""
        return digest_of([self.kind, self.identity or self.given])


@dataclass(frozen=True, slots=True)
class Left:
    """The state in which a tool left a thread; `is_joined` if an equal call had begun the thread before."""

    standing: Standing
    is_joined: bool = False


Answered: TypeAlias = dict[str, tuple[Begun, Watch | None]]
"""Threads whose result a client was sent, by their ids, with the watch of the request that got it."""


class Records(Protocol):
    """The list of threads of the command line, where each thread of a server has its place."""

    def mark(self, begun: Begun, status: Status) -> None:
        """Note a thread with its status; its first note comes before it begins."""

    def has(self, thread: str) -> bool:
        """Return whether a thread is in the list: one that was deleted is not."""


class UnbegunThreadError(RestgptError):
    """The thread was killed before it began, and nothing was sent."""

    def __init__(self) -> None:
        super().__init__("This call was interrupted before it began. Nothing was sent. Make the call again.")


class DeletedThreadError(RestgptError):
    """The thread was deleted, perhaps after it had sent changes."""

    def __init__(self, thread: str) -> None:
        super().__init__(
            f"The thread {thread} was deleted, and with it what was known of the changes that it had sent. Look at "
            "what is there before you make the call again."
        )


class UnofferedUndoError(RestgptError):
    """The changes of a thread are of an API that this server does not offer, or no longer in the same form."""

    def __init__(self, thread: str, reason: str) -> None:
        super().__init__(
            f"This server cannot undo the thread {thread}: {reason}. Nothing was sent. A person undoes it with "
            f"`restgpt undo {thread}`."
        )


class Threads:
    """The threads of a server's clients on one database."""

    def __init__(
        self,
        client: Client,
        persistence: Persistence,
        records: Records,
        *,
        runs: Mapping[str, Run],
        lifetime: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._client = client
        self._lock = persistence.lock
        self._book = _Book(persistence.store)
        self._records = records
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

    def acknowledge(self, principal: str, taken: Answered) -> None:
        """Note which results a client got: not those of requests that were cancelled, or whose connection was lost."""
        for begun, watch in taken.values():
            if watch is None or not watch.cancellation.is_cancelled:
                self._book.keep(principal, replace(begun, is_over=True))

    def close(self) -> None:
        """Note the same for all clients, since this server ends without having lost an answer."""
        for principal in list(self._answered):
            self.acknowledge(principal, self.taken(principal))

    def call(self, principal: str, operation: str, arguments: Mapping[str, Any], *, pages: int = 1) -> Left:
        """Make one call; returns the state of its thread.

        A call that only reads is sent at once, and has a thread only if a person has to be asked about it. Raises what
        `Client.call` raises, and `ThreadBusyError` for an equal call that is being carried out.
        """
        made = self._client.draft(operation, arguments, pages=pages, conversation=principal)
        given = {"operation": made.name, "arguments": dict(arguments), "pages": pages}
        if not made.effect.is_read:
            return self._begin(principal, CALL, given, identity=identity_of(made.operation, arguments))
        thread = _new_thread(CALL)
        standing = self._client.carry_out(made, conversation=principal, thread=thread)
        if isinstance(standing, Pending):
            begun = Begun(thread, CALL, given, self._clock())
            self._book.keep(principal, begun)
            self._records.mark(begun, "paused")
        return Left(standing)

    def run(self, principal: str, kind: str, given: Mapping[str, Any]) -> Left:
        """Begin a thread of a kind, or go on with an equal one; returns and raises what `call` does.

        Raises `UnfinishedProgramError` for a program in the thread of one that has not ended.
        """
        return self._begin(principal, kind, given)

    def _begin(self, principal: str, kind: str, given: Mapping[str, Any], *, identity: str = "") -> Left:
        begun = Begun(self._thread(principal, kind, given), kind, given, self._clock(), identity=identity)
        # An equal call that arrives at the same moment, on any server of the database, must find this one.
        with self._lock(f"{principal} {begun.digest}"):
            before = self._book.unfinished(principal, begun.digest)
            if before is not None and not self._is_listed(before.thread):
                self._book.forget(principal, before.thread)
                before = None
            if before is not None:
                with self._marked(principal, before) as settle:
                    return Left(settle(self._continued(before, principal)), is_joined=True)
            if "thread" in given and self._client.is_unfinished(begun.thread):
                raise UnfinishedProgramError(begun.thread)
            self._book.keep(principal, begun)
            with self._marked(principal, begun, is_new=True) as settle:
                return Left(settle(self._started(begun, principal)))

    def _thread(self, principal: str, kind: str, given: Mapping[str, Any]) -> str:
        """Return a new thread, or that of the program that is corrected; raises `UnknownThreadError`."""
        if kind != PROGRAM or "thread" not in given:
            return _new_thread(kind)
        named = str(given["thread"])
        found = self._book.find(principal, named)
        if found is None or found.kind != PROGRAM:
            raise UnknownThreadError(named)
        if not self._is_listed(named):
            # Its changes would be made again: nothing is left that tells them apart.
            raise DeletedThreadError(named)
        return named

    def _started(self, begun: Begun, principal: str) -> Standing:
        given = begun.given
        if begun.kind == PROGRAM:
            is_new = "thread" not in given
            named: Any = {"as_thread" if is_new else "thread": begun.thread}
            return self._client.run(given["code"], conversation=principal, **named)
        if begun.kind != CALL:
            return self._runs[begun.kind].begin(begun.thread, given, self._client.seen_messages(principal))
        return self._client.call(
            given["operation"], given["arguments"], pages=given["pages"], conversation=principal, thread=begun.thread
        )

    def _continued(self, begun: Begun, principal: str) -> Standing:
        """Go on with a thread; one that was killed before its first checkpoint begins again."""
        try:
            return self._standing(begun)
        except UnknownThreadError:
            return self._started(begun, principal)

    def question(self, principal: str, thread: str) -> Pending | None:
        """Return the question of a thread that `decide` answers, as `Client.question` does; None without a thread."""
        try:
            return next(iter(Pending.all_of(self._snapshot(self._begun(principal, thread)), thread=thread)), None)
        except UnknownThreadError:
            return None

    def standing(self, principal: str, thread: str, *, decision: Mapping[str, Any] | None = None) -> Standing:
        """Return the state of a thread; one that was killed on the way is finished first.

        Not after a `decision` that rejects what is not asked any more: to go on could send what was approved since.
        Raises `OutdatedDecisionError` for that, `UnbegunThreadError`, `DeletedThreadError`, `ThreadBusyError`, and what
        `Client.standing` raises.
        """
        begun = self._begun(principal, thread)
        with self._marked(principal, begun) as settle:
            try:
                return settle(self._standing(begun, decision))
            except UnknownThreadError:
                self._book.forget(principal, thread)
                raise (UnbegunThreadError() if self._is_listed(thread) else DeletedThreadError(thread)) from None

    def decide(
        self, principal: str, pending: Pending, decision: Mapping[str, Any], *, once: Callable[[], bool] = lambda: True
    ) -> Standing:
        """Answer exactly this question as a person; returns the question that has replaced it, if one has.

        `once` is asked with the thread locked, and the decision counts only if it agrees: a thread that is busy leaves
        the decision unused. Raises `ThreadBusyError` and `DeletedThreadError`.
        """
        begun = self._begun(principal, pending.thread)
        run = self._runs.get(begun.kind)
        with self._marked(principal, begun) as settle:
            if not once() and decision.get("type") != "reject":
                return settle(self._standing(begun))
            try:
                if run is None:
                    return settle(self._client.decide(pending, decision))
                return settle(run.decide(pending, decision, begun.given))
            except OutdatedDecisionError:
                return settle(self._standing(begun, decision))
            except UnknownThreadError:
                self._book.forget(principal, pending.thread)
                raise DeletedThreadError(pending.thread) from None

    def undo(self, principal: str, thread: str) -> Standing:
        """Reverse the changes of a thread: a person is asked about each reversing call.

        Raises `ThreadBusyError`, `DeletedThreadError` and `UnofferedUndoError`.
        """
        begun = Begun(undo_thread(thread), CALL, {"undo": thread}, self._clock())
        with self._lock(thread):
            if not self._is_listed(thread):
                raise DeletedThreadError(thread)
            try:
                found = self._client.undo(thread)
            except (SpecError, UnknownOperationError) as error:
                raise UnofferedUndoError(thread, str(error)) from None
            if isinstance(found, Pending):
                self._book.keep(principal, begun)
        return found

    def has_changes(self, thread: str) -> bool:
        """Return whether a thread has sent changes that were not undone."""
        try:
            return bool(self._client.reversals(thread))
        except (SpecError, UnknownOperationError):
            # The document has changed since; `undo` says so.
            return True

    def reasons(self, thread: str) -> list[str]:
        """Return why changes of a thread cannot be reversed, a sentence for each."""
        found = [reversal for reversal in self._client.reversals(thread) if reversal.draft is None]
        return [f"{item.shown.get('method')} {item.shown.get('url')}: {item.reason}." for item in found]

    def unfinished(self, principal: str) -> list[Begun]:
        """Return the threads of a principal whose result it has not got, the oldest first, without expired ones."""
        oldest = self._clock() - self._lifetime
        found = []
        for begun in self._book.all(principal):
            if begun.at < oldest:
                self._book.forget(principal, begun.thread)
            elif not begun.is_over:
                found.append(begun)
        return sorted(found, key=lambda begun: begun.at)

    def _standing(self, begun: Begun, decision: Mapping[str, Any] | None = None) -> Standing:
        if decision is not None and decision.get("type") == "reject":
            snapshot = self._snapshot(begun)
            if snapshot.tasks and not snapshot.interrupts:
                raise OutdatedDecisionError(begun.thread)
        run = self._runs.get(begun.kind)
        if run is None:
            return cast("Standing", self._client.standing(begun.thread))
        return run.standing(begun.thread, begun.given)

    def _snapshot(self, begun: Begun) -> StateSnapshot:
        run = self._runs.get(begun.kind)
        if run is not None and not begun.given:
            raise UnknownThreadError(begun.thread)
        graph = self._client.graph_of(begun.thread) if run is None else run.graph(begun.given)
        return begun_state(graph, begun.thread)

    def _begun(self, principal: str, thread: str) -> Begun:
        """Return how a thread began; without an entry, its id says at least the kind."""
        found = self._book.find(principal, thread)
        kind = CALL if "/" in thread else thread.partition("-")[0]
        return found or Begun(thread, kind, {}, self._clock(), is_over=True)

    def _is_listed(self, thread: str) -> bool:
        return self._records.has(thread.partition("/")[0])

    @contextmanager
    def _marked(
        self, principal: str, begun: Begun, *, is_new: bool = False
    ) -> Iterator[Callable[[Standing], Standing]]:
        """Lock a thread and note its status before and after; the block passes its state to the given function.

        A thread that was deleted is not listed again.
        """

        def settle(standing: Standing) -> Standing:
            self._mark(begun, status_of(standing))
            if isinstance(standing, Answer):
                self._client.earlier.read(principal, standing.apis)
            if not isinstance(standing, Pending) and not begun.is_over:
                with self._answering:
                    self._answered.setdefault(principal, {})[begun.thread] = (begun, watching())
            return standing

        if begun.kind in (CALL, PROGRAM) and "/" not in begun.thread:
            # Another process may have begun the thread.
            self._client.earlier.expect(begun.thread, principal)
        with self._lock(begun.thread.partition("/")[0]):
            if is_new or self._is_listed(begun.thread):
                self._mark(begun, "running")
            try:
                yield settle
            except (CancelledRunError, RestgptError) as error:
                if self._is_listed(begun.thread):
                    self._mark(begun, "stopped" if isinstance(error, CancelledRunError) else "failed")
                raise

    def _mark(self, begun: Begun, status: Status) -> None:
        # The list has the thread of a change, not that of its undo, which the change's name leads to.
        if begun.given and "/" not in begun.thread:
            self._records.mark(begun, status)


class _Book:
    """The entries of threads in the store, by principal."""

    def __init__(self, store: BaseStore) -> None:
        self._store = store

    def keep(self, principal: str, begun: Begun) -> None:
        value = {
            "kind": begun.kind,
            "given": dict(begun.given),
            "digest": begun.digest,
            "at": begun.at,
            "is_over": begun.is_over,
            "identity": begun.identity,
        }
        self._store.put(_namespace(principal), _key(begun.thread), value, index=False)

    def find(self, principal: str, thread: str) -> Begun | None:
        item = self._store.get(_namespace(principal), _key(thread))
        return None if item is None else _entry(item)

    def forget(self, principal: str, thread: str) -> None:
        self._store.delete(_namespace(principal), _key(thread))

    def all(self, principal: str) -> list[Begun]:
        return [_entry(item) for item in self._store.search(_namespace(principal), limit=MOST_LISTED)]

    def unfinished(self, principal: str, digest: str) -> Begun | None:
        """Return a thread that began the same way and is not over."""
        wanted = {"digest": digest, "is_over": False}
        items = self._store.search(_namespace(principal), filter=wanted, limit=1)
        return _entry(items[0]) if items else None


def _new_thread(kind: str) -> str:
    return f"{kind}-{uuid4().hex}"


def _namespace(principal: str) -> tuple[str, ...]:
    # A store refuses some characters in a namespace.
    return (*NAMESPACE, digest_of(principal))


def _key(thread: str) -> str:
    return thread.replace("/", ".")


def _entry(item: Any) -> Begun:
    value = item.value
    return Begun(
        item.key.replace(".", "/"),
        value["kind"],
        value["given"],
        value["at"],
        value["is_over"],
        value["identity"],
    )
