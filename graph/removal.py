"""Deletes threads: their checkpoints, their journals, and the response bodies that no other thread refers to."""

from collections.abc import Collection, Iterator
from typing import Any

from restgpt.calling.journal.journal import Journal, journals
from restgpt.graph.persistence import Persistence, undo_thread
from restgpt.tools.response.store import ResponseStore, handles_in

PAGE = 200
"""The number of checkpoints to load at a time, because all of them might not fit into memory."""


def is_unsettled(persistence: Persistence, thread: str) -> bool:
    """Return whether the journal has a change of the thread without an outcome."""
    return any(
        entry.get("outcome") is None for journal in _journals(persistence, thread) for entry in journal.entries()
    )


def remove_thread(persistence: Persistence, thread: str) -> set[str]:
    """Delete a thread that this process has locked, and its undo thread; returns the handles of its bodies.

    Deletes the journal last: while a checkpoint can still be resumed, the journal prevents repeated changes.
    """
    handles = _handles(persistence, {"configurable": {"thread_id": thread}})
    for name in (thread, undo_thread(thread)):
        persistence.checkpointer.delete_thread(name)
    for journal in _journals(persistence, thread):
        handles |= handles_in(journal.entries())
        journal.clear()
    return handles


def remove_bodies(persistence: Persistence, handles: Collection[str]) -> None:
    """Delete those of the bodies that no checkpoint and no journal refers to."""
    if not handles:
        return
    used = _handles(persistence, None) | handles_in(journals(persistence.store))
    responses = ResponseStore(persistence.store)
    for handle in set(handles) - used:
        responses.remove(handle)


def _journals(persistence: Persistence, thread: str) -> Iterator[Journal]:
    return (Journal(persistence.store, name) for name in (thread, undo_thread(thread)))


def _handles(persistence: Persistence, config: Any) -> set[str]:
    """Return the handles of the bodies that the checkpoints of one thread, or of all threads, refer to."""
    found: set[str] = set()
    before = None
    while page := list(persistence.checkpointer.list(config, before=before, limit=PAGE)):
        for kept in page:
            found |= handles_in((kept.checkpoint["channel_values"], kept.pending_writes))
        before = page[-1].config
    return found
