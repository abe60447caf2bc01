"""`restgpt threads --delete`: check which threads may be deleted, ask, delete them, and report the others."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from restgpt.commands.failure import UsageError
from restgpt.commands.history.thread import ThreadRecord, Threads
from restgpt.commands.screen.terminal import Terminal

if TYPE_CHECKING:
    from restgpt.graph.persistence import Persistence

Left = dict[str, str]
"""The reason why a thread is not deleted, by thread."""


def delete_threads(
    terminal: Terminal,
    persistence: "Persistence",
    records: Sequence[ThreadRecord],
    *,
    all_or_none: bool,
    yes: bool,
    force: bool,
) -> None:
    """Ask the user, then delete threads.

    A thread that a process uses is never deleted; one with a change of unknown outcome only with `force`. If there is
    such a thread, `all_or_none` raises `UsageError`; otherwise the other threads are deleted.
    """
    left = left_alone(persistence, records, force=force)
    if left and all_or_none:
        raise UsageError("\n".join(["Nothing was deleted.", *left.values()]))
    free = [record for record in records if record.thread not in left]
    if free and not yes and not _is_wanted(terminal, free):
        terminal.answer("Nothing was deleted.")
        return
    left |= remove(persistence, free)
    gone = [record.thread for record in free if record.thread not in left]
    shrunk = not gone or persistence.shrink()
    terminal.document({"deleted": gone, "left": [{"thread": name, "reason": why} for name, why in left.items()]})
    terminal.answer("\n".join([_counted("Deleted", len(gone)), *left.values()]))
    if not shrunk:
        terminal.say("The database file was not made smaller, because another process uses it or the disk is full.")


def left_alone(persistence: "Persistence", records: Sequence[ThreadRecord], *, force: bool) -> Left:
    """Return the threads that are not to be deleted: a process uses them, or a change has an unknown outcome."""
    from restgpt.graph.persistence import ThreadBusyError
    from restgpt.graph.removal import is_unsettled

    left: Left = {}
    for thread in (record.thread for record in records):
        if persistence.is_busy(thread):
            left[thread] = str(ThreadBusyError(thread))
        elif not force and is_unsettled(persistence, thread):
            left[thread] = (
                f"Thread {thread} has a change of unknown outcome. Resolve it with `restgpt resume {thread}`, or add "
                "--force to delete the thread anyway."
            )
    return left


def _is_wanted(terminal: Terminal, records: Sequence[ThreadRecord]) -> bool:
    if not terminal.is_interactive:
        raise UsageError(f"{_counted('This would delete', len(records))} To skip the question, add --yes.")
    for record in records:
        terminal.say(
            f"{record.thread}  {record.updated[:16].replace('T', ' ')}  {' '.join(record.instruction.split())}"
        )
    return terminal.ask(f"{_counted('Delete', len(records))[:-1]} for good? [y/N] ").lower() in ("y", "yes")


def remove(persistence: "Persistence", records: Sequence[ThreadRecord]) -> Left:
    """Lock and delete each thread, then delete unreferenced bodies; returns the threads that another process locked."""
    from restgpt.graph.persistence import ThreadBusyError
    from restgpt.graph.removal import remove_bodies, remove_thread

    threads = Threads(persistence.store)
    left: Left = {}
    handles: set[str] = set()
    for record in records:
        try:
            with persistence.lock(record.thread):
                handles |= remove_thread(persistence, record.thread)
                threads.forget(record)
        except ThreadBusyError as error:
            left[record.thread] = str(error)
    remove_bodies(persistence, handles)
    return left


def _counted(verb: str, number: int) -> str:
    return f"{verb} {number} {'thread' if number == 1 else 'threads'}."
