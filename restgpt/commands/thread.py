"""What is kept of a thread beside its checkpoints: which APIs and settings it runs with, and how its last run ended."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, cast

from restgpt.commands.failure import UsageError
from restgpt.commands.sources import Sources

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore, Item

Status = Literal["running", "paused", "done", "failed", "stopped"]
NAMESPACE = ("restgpt", "threads")
MOST_LISTED = 1_000_000
DAY_S = 24 * 60 * 60
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class ThreadRecord:
    """A thread as the command line knows it; `context` holds the settings given with it, never a secret.

    `turn` is the turn of the graph that `instruction` opens, so that one that was killed at once is begun again; it is
    0 for a single change that `restgpt call` sent.
    """

    thread: str
    instruction: str
    sources: Sources
    context: Mapping[str, Any] = field(default_factory=dict)
    turn: int = 1
    status: Status = "running"
    created: str = ""
    updated: str = ""


def checked_name(thread: str) -> str:
    """Return the name of a thread; raises `UsageError` unless it is letters, digits, hyphens and underscores."""
    if not _NAME.fullmatch(thread):
        raise UsageError(f"A thread cannot be called {thread!r}: use 1 to 64 letters, digits, hyphens, underscores.")
    return thread


class Threads:
    """The records of all threads in a store."""

    def __init__(self, store: "BaseStore") -> None:
        self._store = store

    def find(self, thread: str) -> ThreadRecord | None:
        """The record of a thread, None if there is none."""
        item = self._store.get(NAMESPACE, thread)
        return None if item is None else _record(item)

    def get(self, thread: str) -> ThreadRecord:
        """The record of a thread; raises `UsageError` if there is none."""
        found = self.find(checked_name(thread))
        if found is None:
            raise UsageError(f"There is no thread {thread}. `restgpt threads` lists them.")
        return found

    def keep(self, record: ThreadRecord) -> None:
        """Write a record; when the thread began is kept in it, since some stores date a value by its last change."""
        earlier = self.find(record.thread)
        value = {**asdict(record), "created": earlier.created if earlier else ""}
        del value["updated"]
        self._store.put(NAMESPACE, record.thread, value, index=False)

    def mark(self, record: ThreadRecord, status: Status) -> ThreadRecord:
        """Write how the run of a thread stands."""
        marked = replace(record, status=status)
        self.keep(marked)
        return marked

    def forget(self, record: ThreadRecord) -> None:
        """Remove a record; what else is kept of the thread goes before it."""
        self._store.delete(NAMESPACE, record.thread)

    def newest(self) -> list[ThreadRecord]:
        """All threads, the one that was used last first."""
        items = self._store.search(NAMESPACE, limit=MOST_LISTED)
        return sorted((_record(item) for item in items), key=lambda record: record.updated, reverse=True)


def is_older(record: ThreadRecord, days: float, *, now: datetime) -> bool:
    """Whether a thread was last used more than some days ago; a store that names no time zone means UTC."""
    updated = datetime.fromisoformat(record.updated)
    age = now - (updated if updated.tzinfo else updated.replace(tzinfo=UTC))
    return age.total_seconds() > days * DAY_S


def _record(item: "Item") -> ThreadRecord:
    value = item.value
    sources = value["sources"]
    return ThreadRecord(
        thread=item.key,
        instruction=value["instruction"],
        sources=Sources(tuple(sources["names"]), tuple(sources["specs"]), sources["base_url"]),
        context=value["context"],
        turn=value["turn"],
        status=cast("Status", value["status"]),
        created=value.get("created") or item.created_at.isoformat(timespec="seconds"),
        updated=item.updated_at.isoformat(timespec="seconds"),
    )
