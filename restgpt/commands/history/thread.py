"""The command line's record of a thread: its instruction, APIs and settings, and the status of its last run."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict, cast

from restgpt.commands.failure import UsageError
from restgpt.commands.sources import Sources

if TYPE_CHECKING:
    from langchain_core.messages import HumanMessage
    from langgraph.store.base import BaseStore, Item

Status = Literal["running", "paused", "done", "failed", "stopped"]
NAMESPACE = ("restgpt", "threads")
MOST_LISTED = 1_000_000
DAY_S = 24 * 60 * 60
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


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
    checkpoint, and `resume` starts it again. `turn` is 0 for calls without a model: a change sent by `restgpt call`,
    and calls and programs of MCP clients. With `is_relayed` a model of such a client wrote the instruction or inputs.
    `written` gives the order in which records were written.
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
    is_relayed: bool = False
    written: int = 0


def checked_name(thread: str) -> str:
    """Return a valid thread id; raises `UsageError` unless it has only letters, digits, hyphens and underscores."""
    if not _NAME.fullmatch(thread):
        raise UsageError(f"{thread!r} is not a valid thread ID. Use 1 to 64 letters, digits, hyphens or underscores.")
    return thread


def instruction_message(record: ThreadRecord) -> "HumanMessage":
    """Return the message that opens the turn of a record."""
    from langchain_core.messages import HumanMessage

    from restgpt.nodes.dialogue.conversation import RELAYED

    return HumanMessage(record.instruction, additional_kwargs={RELAYED: True} if record.is_relayed else {})


class Threads:
    """The thread records in a LangGraph store."""

    def __init__(self, store: "BaseStore") -> None:
        self._store = store

    def find(self, thread: str) -> ThreadRecord | None:
        """Return the record of a thread; None if it has no record."""
        item = self._store.get(NAMESPACE, thread)
        return None if item is None else _record(item)

    def get(self, thread: str) -> ThreadRecord:
        """Return the record of a thread; raises `UsageError` if it has no record."""
        found = self.find(checked_name(thread))
        if found is None:
            raise UsageError(f"There is no thread {thread}. List the threads with `restgpt threads`.")
        return found

    def keep(self, record: ThreadRecord) -> None:
        """Write a record with its creation time, because some stores reset `created_at` at each write.

        The number `written` gives the order of the records, because a clock can be set back.
        """
        from restgpt.calling.journal.claim import claims_of

        earlier = self.find(record.thread)
        written = claims_of(self._store).take("threads", "written").number
        value = {**asdict(record), "created": earlier.created if earlier else "", "written": written}
        del value["updated"]
        self._store.put(NAMESPACE, record.thread, value, index=False)

    def mark(self, record: ThreadRecord, status: Status) -> ThreadRecord:
        """Write the record with a new status, and return it."""
        marked = replace(record, status=status)
        self.keep(marked)
        return marked

    def forget(self, record: ThreadRecord) -> None:
        """Delete a record; delete the thread's checkpoints and journal before."""
        self._store.delete(NAMESPACE, record.thread)

    def newest(self) -> list[ThreadRecord]:
        """Return all records, the most recently updated first."""
        records = map(_record, self._store.search(NAMESPACE, limit=MOST_LISTED))
        return sorted(records, key=lambda record: record.written, reverse=True)


def is_older(record: ThreadRecord, days: float, *, now: datetime) -> bool:
    """Return whether a record was last updated more than `days` ago; a time without a time zone is UTC."""
    updated = datetime.fromisoformat(record.updated)
    age = now - (updated if updated.tzinfo else updated.replace(tzinfo=UTC))
    return age.total_seconds() > days * DAY_S


def _record(item: "Item") -> ThreadRecord:
    """Read a record; raises `UsageError` for one of another version."""
    value = item.value
    if missing := {"sources", "recipe", "is_relayed", "written"} - value.keys():
        raise UsageError(
            f"The record of thread {item.key} was written by another version of RestGPT (it has no "
            f"{', '.join(sorted(missing))}). Set RESTGPT_HOME to another folder, or open the thread with that version."
        )
    sources = value["sources"]
    return ThreadRecord(
        thread=item.key,
        instruction=value["instruction"],
        sources=Sources(tuple(sources["names"]), tuple(sources["specs"]), sources["base_url"]),
        context=value["context"],
        turn=value["turn"],
        status=cast("Status", value["status"]),
        created=value["created"] or item.created_at.isoformat(timespec="seconds"),
        updated=item.updated_at.isoformat(timespec="seconds"),
        recipe=value["recipe"],
        is_relayed=value["is_relayed"],
        written=value["written"],
    )
