"""Removing threads for good: their checkpoints, their journal, and the response bodies that nothing else refers to."""

from collections.abc import Collection, Iterator
from typing import Any

from restgpt.calling.journal import Journal, journals
from restgpt.graph.persistence import Persistence
from restgpt.graph.undo import undo_thread
from restgpt.tools.response.store import ResponseStore, handles_in

PAGE = 200
"""How many checkpoints are looked through at once: all would not fit into memory."""


def is_unsettled(persistence: Persistence, thread: str) -> bool:
    """Whether a change of the thread was begun and nobody knows what became of it."""
    return any(
        entry.get("outcome") is None for journal in _journals(persistence, thread) for entry in journal.entries()
    )


def remove_thread(persistence: Persistence, thread: str) -> set[str]:
    """Remove a thread that this process holds, and its undoing; gives the bodies that it referred to.

    The journal goes last: as long as there is a checkpoint to go on from, it says what must not be sent again.
    """
    handles = _handles(persistence, {"configurable": {"thread_id": thread}})
    for name in (thread, undo_thread(thread)):
        persistence.checkpointer.delete_thread(name)
    for journal in _journals(persistence, thread):
        handles |= handles_in(journal.entries())
        journal.clear()
    return handles


def remove_bodies(persistence: Persistence, handles: Collection[str]) -> None:
    """Remove those of the bodies that no checkpoint and no journal refers to any more."""
    if not handles:
        return
    used = _handles(persistence, None) | handles_in(journals(persistence.store))
    responses = ResponseStore(persistence.store)
    for handle in set(handles) - used:
        responses.remove(handle)


def _journals(persistence: Persistence, thread: str) -> Iterator[Journal]:
    return (Journal(persistence.store, name) for name in (thread, undo_thread(thread)))


def _handles(persistence: Persistence, config: Any) -> set[str]:
    """The bodies that the checkpoints of a thread refer to, or those of all."""
    found: set[str] = set()
    before = None
    while page := list(persistence.checkpointer.list(config, before=before, limit=PAGE)):
        for kept in page:
            found |= handles_in((kept.checkpoint["channel_values"], kept.pending_writes))
        before = page[-1].config
    return found
