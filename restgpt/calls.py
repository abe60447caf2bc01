"""Single calls: the part of `Client` that finds, drafts, decides and sends one, without a graph, so it starts fast."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from langgraph.store.base import BaseStore

from restgpt.calling.call import Call, Problems
from restgpt.calling.draft import draft
from restgpt.calling.execution import carry_out
from restgpt.calling.idempotency import identity_of
from restgpt.calling.journal.journal import Journal, entry_id
from restgpt.calling.permissions import Permissions
from restgpt.calling.policy import Rules, Writes
from restgpt.calling.question import answered, decided_on, present
from restgpt.calling.session import Session
from restgpt.sources import Sources
from restgpt.specs import Api, Catalogue, Operation
from restgpt.specs.effect import Effect
from restgpt.threads import ThreadRecord, Threads
from restgpt.tools.http.client import HttpClient
from restgpt.tools.request.files import FilePolicy
from restgpt.tools.request.view import view
from restgpt.tools.response.memory_store import BoundedMemory
from restgpt.tools.response.store import ResponseStore
from restgpt.tools.settings import Settings

Answer = Callable[[Call], tuple[Call, Mapping[str, Any] | None]]
"""Puts a question to a person: returns the question as it was put, and the decision; None leaves the call unsent."""


def unanswered(ask: Call) -> tuple[Call, None]:
    """Leave a question open."""
    return ask, None


class Calls(ABC):
    """Finds and describes operations, and drafts and sends calls of them, each in a session."""

    @property
    @abstractmethod
    def catalogue(self) -> Catalogue:
        """The operations."""

    @abstractmethod
    def session(self, thread: str = "") -> Session:
        """Return the session of the calls of a thread."""

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

    def drafted(
        self,
        operation: Operation,
        arguments: Mapping[str, Any],
        *,
        id: str,
        pages: int = 1,
        description: str = "",
        files: FilePolicy | None = None,
        origin: Mapping[str, Any] | None = None,
    ) -> Call:
        """Check a call and build its request; raises `ArgumentError` and `SpecError`.

        `origin` says from where its values may come, as `restgpt.calling.draft`; without it they are the user's own.
        """
        made = draft(
            operation,
            arguments,
            id=id,
            name=self.catalogue.name_of(operation),
            is_own=origin is None,
            pages=pages,
            description=description,
            files=files,
            effect=self.effect(operation),
            **(origin or {}),
        )
        if isinstance(made, Problems):
            raise made.error
        return made

    def make(self, session: Session, made: Call, answer: Answer = unanswered, *, unsure: int = 0) -> Call:
        """Decide on a call by the rules and the answers of a person, and send it; it is asked if nobody answered.

        `unsure` is how often an earlier try was about to be sent without a known outcome. Raises
        `MissingCredentialError` and `HttpFault`.
        """
        decided = decided_on(session, made, unsure=unsure)
        while not decided.is_over:
            if decided.stage == "approved":
                decided = self.send(session, decided)
                continue
            asked, decision = answer(decided)
            if decision is None:
                return asked
            decided = answered(session, asked, decision)
        return decided

    def send(self, session: Session, ready: Call) -> Call:
        """Send a call that may be sent now."""
        return carry_out(session, ready)


class SingleCall(Calls):
    """One call whose person is asked at once: a change has a thread of its own, whose id is a hash of what it sends.

    So the same call finds its earlier try, whose outcome may be `unknown`, and `restgpt undo THREAD` finds the change.
    """

    def __init__(
        self,
        session: Session,
        operation: Operation,
        arguments: Mapping[str, Any],
        roots: tuple[Path, ...],
        record: ThreadRecord | None = None,
        threads: Threads | None = None,
    ) -> None:
        """Make a call whose files lie in `roots`; a change has the `record` of its thread and the registry."""
        self._session = session
        self._operation = operation
        self._arguments = arguments
        self._files = FilePolicy(roots=roots)
        self._threads = threads
        self.record = record
        self.unknown = next(filter(_is_unknown, session.journal.entries()), None) if record else None
        self._id = self.unknown["id"].rpartition("-")[0] if self.unknown else self._new_id()

    @classmethod
    @contextmanager
    def open(
        cls,
        operation: Operation,
        arguments: Mapping[str, Any],
        apis: Sequence[Api],
        sources: Sources,
        settings: Settings,
        *,
        roots: tuple[Path, ...],
        writes: Writes,
        keep_earlier: bool = True,
    ) -> Iterator["SingleCall"]:
        """Open a call: in memory for a read; for a change, in the database, with its thread locked.

        What a person permitted is in the database. Raises `ArgumentError`, `PersistenceError` and `ThreadBusyError`.
        """
        thread = f"call-{identity_of(operation, arguments)[:12]}"

        def session(store: BaseStore, permitted: BaseStore | None = None) -> Session:
            http = HttpClient(settings=settings.beside_apis(apis))
            rules = Rules(settings, writes, Permissions(permitted))
            journal = Journal(store, thread)
            return Session(Catalogue(apis), http, ResponseStore(store), journal, rules, keep_earlier)

        def is_unjournalled(rules: Rules) -> bool:
            return rules.effect(operation).is_read or rules.verdict(operation) in ("deny", "hold")

        plain = Rules(settings, writes)
        if not plain.effect(operation).is_proposed and is_unjournalled(plain):
            yield cls(session(BoundedMemory()), operation, arguments, roots)
            return
        from restgpt.graph.persistence import open_persistence

        with open_persistence(settings) as persistence, persistence.lock(thread):
            opened = session(persistence.store, persistence.store)
            if is_unjournalled(opened.rules):
                yield cls(session(BoundedMemory(), persistence.store), operation, arguments, roots)
                return
            record = ThreadRecord(thread, "", sources, turn=0)
            yield cls(opened, operation, arguments, roots, record, Threads(persistence.store))

    @property
    def catalogue(self) -> Catalogue:
        """The operations."""
        return self._session.catalogue

    def session(self, thread: str = "") -> Session:
        """Return the session of the call."""
        return self._session

    def draft(self) -> Call:
        """Draft the call; raises `ArgumentError`."""
        return self.drafted(self._operation, self._arguments, id=self._id, files=self._files)

    def view(self, draft: Call) -> dict[str, Any]:
        """Return the request for the person who typed it: only known secrets are hidden."""
        return view(draft.request, self._session.redactor(draft.operation.api))

    def present(self, ask: Call) -> Call:
        """Return a question with all that a person has to see."""
        return present(self._session, ask)

    def send(self, session: Session, ready: Call) -> Call:
        """Send the call; the record of a change is in the registry before."""
        if self._threads is None or self.record is None:
            return super().send(session, ready)
        shown = session.shown(ready.request)
        record = replace(self.record, instruction=f"call {shown['method']} {shown['url']}")
        with self._threads.running(record) as note:
            done = super().send(session, ready)
            if done.stage == "asked" or done.is_unsent:
                note("paused")
            else:
                note("done" if done.succeeded else "failed")
        return done

    def renewed(self, ask: Call) -> Call:
        """Return the question about the call that is sent although an earlier try may have been carried out.

        It is that try again, if it is still the same. A file that it sends may have changed since; then it is another
        call, with an idempotency key of its own.
        """
        if self.unknown is None or entry_id(ask.id, ask.fingerprint) == self.unknown["id"]:
            return ask
        self.leave()
        self.unknown, self._id = None, self._new_id()
        return self.draft().asked()

    def leave(self) -> None:
        """Note in the journal that the user does not want to repeat the earlier try; its outcome stays unknown."""
        if self.unknown is not None:
            self._session.journal.note(self.unknown["id"], left=True)

    def _new_id(self) -> str:
        """Return an id that no other call has, on any machine: the idempotency key is made from it."""
        return f"{self._session.journal.thread}.{uuid4().hex}"


def _is_unknown(entry: Mapping[str, Any]) -> bool:
    return entry.get("outcome") is None and not entry.get("left")
