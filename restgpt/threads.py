"""The registry of threads, for the command line, the page, MCP and `Client`: how each began, and its last status."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

from restgpt.sources import Sources
from restgpt.specs import SpecError, UnknownOperationError
from restgpt.specs.reach import Reach
from restgpt.tools.errors import RestgptError, WaitingError
from restgpt.tools.http.cancellation import CancelledRunError

if TYPE_CHECKING:
    from langchain_core.messages import HumanMessage
    from langgraph.store.base import BaseStore, Item
    from langgraph.types import StateSnapshot

    from restgpt.graph.persistence import Persistence

Kind = Literal["agent", "recipe", "program", "call"]
Status = Literal["running", "paused", "done", "failed", "stopped"]
NAMESPACE = ("restgpt", "threads")
PROGRAM = "program-"
"""The beginning of the id of a thread of programs."""
MOST_LISTED = 1_000_000
DAY_S = 24 * 60 * 60
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

FAILURES = (RestgptError, SpecError, UnknownOperationError, RecursionError)
"""The errors with which a run fails, and its thread can be resumed."""


class UnknownThreadError(RestgptError):
    """Nothing of this thread is kept."""

    def __init__(self, thread: str) -> None:
        super().__init__(f"There is no thread {thread}. List the threads with `restgpt threads`.")


class ThreadNameError(RestgptError):
    """A text is not a valid thread id."""


class RecipeOfThread(TypedDict):
    """The recipe of a run as JSON, with its inputs, so that `resume` does not depend on the file.

    `file` is the path of its file, empty for a recipe that was read from another document. `heals` says that the agent
    goes on where the recipe stops before its first change. `defaults` are the inputs that the file has given. With
    `is_passed` a model of an MCP client gave the inputs.
    """

    recipe: Mapping[str, Any]
    inputs: Mapping[str, Any]
    file: str
    heals: bool
    defaults: NotRequired[Sequence[str]]
    is_passed: NotRequired[bool]


@dataclass(frozen=True, slots=True)
class ThreadRecord:
    """The record of a thread; `context` has the settings given for it, never a secret.

    `recipe` is the recipe that the last run of the thread carries out; None if it had only an instruction. `turn` is
    the number of the turn that `instruction` opens. If the graph has fewer turns, the run was killed before its first
    checkpoint, and `resume` starts it again. `turn` is 0 for calls and programs without a model.

    `owner` is the digest of the MCP client that began the thread, empty for the user, and `given` is what that client
    gave, with its `digest`, by which an equal call is found. `begun` is in seconds of the server's clock, and the
    client got the result if it `is_delivered`. `written` gives the order in which records were written.
    """

    thread: str
    instruction: str
    sources: Sources
    context: Mapping[str, Any] = field(default_factory=dict)
    turn: int = 1
    status: Status = "running"
    created: str = ""
    updated: str = ""
    recipe: RecipeOfThread | None = None
    owner: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""
    begun: float = 0.0
    is_delivered: bool = False
    written: int = 0

    @property
    def is_relayed(self) -> bool:
        """Whether a model of an MCP client wrote the instruction or the inputs."""
        return bool(self.owner)

    @property
    def is_undo(self) -> bool:
        """Whether the thread is the undo of another one."""
        return "/" in self.thread

    @property
    def kind(self) -> Kind:
        """What runs in the thread: calls, a program, a recipe, or the agent, which also heals recipes."""
        if self.turn:
            return "agent" if self.recipe is None or self.recipe["heals"] else "recipe"
        return "program" if self.thread.startswith(PROGRAM) and not self.is_undo else "call"


def checked_name(thread: str) -> str:
    """Return a valid thread id; raises `ThreadNameError` for one with other characters than in its message."""
    if not _NAME.fullmatch(thread):
        raise ThreadNameError(
            f"{thread!r} is not a valid thread ID. Use 1 to 64 letters, digits, hyphens or underscores."
        )
    return thread


def instruction_message(record: ThreadRecord) -> "HumanMessage":
    """Return the message that opens the turn of a record."""
    from langchain_core.messages import HumanMessage

    from restgpt.nodes.dialogue.conversation import RELAYED

    return HumanMessage(record.instruction, additional_kwargs={RELAYED: True} if record.is_relayed else {})


class Threads:
    """The records of threads in a LangGraph store; the undo of the thread `garden` is the thread `garden/undo`."""

    def __init__(self, store: "BaseStore") -> None:
        self._store = store

    def find(self, thread: str) -> ThreadRecord | None:
        """Return the record of a thread; None if it has no record. Raises `PersistenceError` for another format."""
        item = self._store.get(NAMESPACE, thread)
        return None if item is None else _record(item)

    def get(self, thread: str) -> ThreadRecord:
        """Return the record of a thread that a user names; raises `UnknownThreadError` and `ThreadNameError`."""
        found = self.find(checked_name(thread))
        if found is None:
            raise UnknownThreadError(thread)
        return found

    def keep(self, record: ThreadRecord) -> None:
        """Write a record with its creation time, because some stores reset `created_at` at each write.

        The number `written` gives the order of the records, because a clock can be set back.
        """
        earlier = self.find(record.thread)
        written = self.count("threads", "written")
        value = {**asdict(record), "created": earlier.created if earlier else "", "written": written}
        del value["thread"], value["updated"]
        self._store.put(NAMESPACE, record.thread, value, index=False)

    def count(self, group: str, name: str) -> int:
        """Count one more of a name in a group, for all processes of the database, and return the number, from 1."""
        from restgpt.calling.claim import claims_of

        return claims_of(self._store).take(group, name).number

    def forget_counts(self, group: str) -> None:
        """Delete the numbers of a group."""
        from restgpt.calling.claim import claims_of

        claims_of(self._store).clear(group)

    def mark(self, record: ThreadRecord, status: Status) -> ThreadRecord:
        """Write the record with a new status, and return it."""
        marked = replace(record, status=status)
        self.keep(marked)
        return marked

    @contextmanager
    def running(self, record: ThreadRecord) -> Iterator[Callable[[Status], ThreadRecord]]:
        """Note that a thread runs, and give what notes how its run ended; one that was stopped or failed is noted."""
        note = partial(self.mark, self.mark(record, "running"))
        try:
            yield note
        except (GeneratorExit, KeyboardInterrupt, CancelledRunError):
            note("stopped")
            raise
        except WaitingError:
            note("paused")
            raise
        except FAILURES:
            note("failed")
            raise

    def forget(self, thread: str) -> None:
        """Delete the record of a thread and of its undo; delete their checkpoints and journals before."""
        for name in (thread, f"{thread}/undo"):
            self._store.delete(NAMESPACE, name)

    def newest(self, *, undos: bool = False) -> list[ThreadRecord]:
        """Return the records of all threads, or of all undos, the most recently updated first."""
        return [record for record in self._search({}) if record.is_undo == undos]

    def waiting(self) -> list[ThreadRecord]:
        """Return the records of the threads and undos that wait for a person, however many are newer.

        A run that was killed may have left a question, so its record is among them.
        """
        return [*self._search({"status": "paused"}), *self._search({"status": "running"})]

    def undelivered(self, owner: str, digest: str | None = None) -> list[ThreadRecord]:
        """Return the records of a client whose results it has not got, or those of an equal call, the newest first."""
        return self._search({"owner": owner, "is_delivered": False, **({} if digest is None else {"digest": digest})})

    def _search(self, filter: dict[str, Any]) -> list[ThreadRecord]:
        items = self._store.search(NAMESPACE, filter=filter or None, limit=MOST_LISTED)
        return sorted(map(_record, items), key=lambda record: record.written, reverse=True)


def is_older(record: ThreadRecord, days: float, *, now: datetime) -> bool:
    """Return whether a record was last updated more than `days` ago; a time without a time zone is UTC."""
    updated = datetime.fromisoformat(record.updated)
    age = now - (updated if updated.tzinfo else updated.replace(tzinfo=UTC))
    return age.total_seconds() > days * DAY_S


def _record(item: "Item") -> ThreadRecord:
    """Read a record; raises `PersistenceError` for one of another version."""
    names = {part.name for part in fields(ThreadRecord)} - {"thread", "updated"}
    if wrong := names ^ item.value.keys():
        from restgpt.graph.persistence import PersistenceError

        raise PersistenceError(
            f"The record of thread {item.key} was written by another version of RestGPT (it differs in "
            f"{', '.join(sorted(wrong))}). Set RESTGPT_HOME to another folder, or open the thread with that version."
        )
    times = {name: getattr(item, f"{name}_at").isoformat(timespec="seconds") for name in ("created", "updated")}
    value = {name: value for name, value in item.value.items() if value or name != "created"}
    sources = item.value["sources"]
    reaches = tuple(map(Reach.kept, sources.get("reaches", ())))
    named = (tuple(sources["names"]), tuple(sources["specs"]), sources["base_url"])
    made = Sources(*named, reaches, sources.get("external", False))
    return ThreadRecord(**{**times, **value, "thread": item.key, "sources": made})


class SavedStates:
    """The states of the threads of a database, read by the graph that runs each thread, without any document."""

    def __init__(self, persistence: "Persistence") -> None:
        self._saved = persistence.saved
        self._graphs: dict[str, Any] = {}

    def graph(self, kind: Kind, recipe: RecipeOfThread | None = None) -> Any:
        """Return the graph that reads and edits the states of threads of a kind."""
        key = kind if kind != "recipe" or recipe is None else json.dumps(recipe["recipe"], sort_keys=True)
        if key not in self._graphs:
            self._graphs[key] = self._built(kind, recipe)
        return self._graphs[key]

    def _built(self, kind: Kind, recipe: RecipeOfThread | None) -> Any:
        from restgpt.graph.build import build_graph
        from restgpt.graph.recipe_graph import build_recipe
        from restgpt.graph.single import build_calls, build_program
        from restgpt.nodes.run.services import Services
        from restgpt.recipes.recipe import Recipe

        if kind == "call":
            return build_calls(Services([]), **self._saved)
        if kind == "recipe" and recipe is not None:
            # A recipe of a former form cannot be run, but its states can be read.
            return build_recipe(Recipe.model_construct(**recipe["recipe"]), [], **self._saved)
        return build_program([], **self._saved) if kind == "program" else build_graph([], **self._saved)

    def newest(self, record: ThreadRecord) -> "StateSnapshot":
        """Return the newest state of a thread; it is empty if the thread has none."""
        from restgpt.graph.persistence import thread_config

        found: StateSnapshot = self.graph(record.kind, record.recipe).get_state(thread_config(record.thread))
        return found


def due_threads(persistence: "Persistence") -> dict[str, dict[str, Any]]:
    """Return the paused threads that go on by themselves, oldest first, with what they are resumed with.

    Their programs have waited long enough, which needs nothing, or their questions have expired: a rejection of each.
    """
    from restgpt.calling.record import has_expired
    from restgpt.nodes.state.records import waits_until
    from restgpt.outcome import Pending

    states, now = SavedStates(persistence), datetime.now(UTC).timestamp()
    due: dict[str, dict[str, Any]] = {}
    paused = [record for record in Threads(persistence.store).newest() if record.status == "paused"]
    for record in reversed(paused):
        snapshot = states.newest(record)
        program = snapshot.values.get("program")
        pauses = [Pending.of(interrupt) for interrupt in snapshot.interrupts]
        has_waited = program and program["status"] == "running" and "waits" in program
        if not pauses and has_waited and not waits_until(program, now):
            due[record.thread] = {}
        elif pauses and all(has_expired(action, now) for pause in pauses for action in pause.actions):
            due[record.thread] = {pause.id: {"type": "reject"} for pause in pauses}
    return due


def undeletable(persistence: "Persistence", records: Sequence[ThreadRecord], *, force: bool = False) -> dict[str, str]:
    """Return why threads are not to be deleted: a process uses them, or a change has an unknown outcome."""
    from restgpt.graph.persistence import ThreadBusyError, is_unsettled

    reasons: dict[str, str] = {}
    for thread in (record.thread for record in records):
        if persistence.is_busy(thread):
            reasons[thread] = str(ThreadBusyError(thread))
        elif not force and is_unsettled(persistence, thread):
            reasons[thread] = (
                f"Thread {thread} has a change of unknown outcome. Resolve it with `restgpt resume {thread}`, or add "
                "--force to delete the thread anyway."
            )
    return reasons


def delete(persistence: "Persistence", records: Sequence[ThreadRecord]) -> dict[str, str]:
    """Lock and delete each thread, then delete unreferenced bodies; returns the threads that another process locked."""
    from restgpt.graph.persistence import ThreadBusyError, remove_bodies, remove_thread

    threads = Threads(persistence.store)
    reasons: dict[str, str] = {}
    handles: set[str] = set()
    for thread in (record.thread for record in records):
        try:
            with persistence.lock(thread):
                handles |= remove_thread(persistence, thread)
                threads.forget(thread)
        except ThreadBusyError as error:
            reasons[thread] = str(error)
    remove_bodies(persistence, handles)
    return reasons
