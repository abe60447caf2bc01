"""`restgpt threads --delete`: check which threads may be deleted, ask, delete them, and report the others."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from restgpt.commands.failure import UsageError
from restgpt.commands.screen.terminal import Terminal
from restgpt.threads import ThreadRecord, delete, undeletable

if TYPE_CHECKING:
    from restgpt.graph.persistence import Persistence


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
    left = undeletable(persistence, records, force=force)
    if left and all_or_none:
        raise UsageError("\n".join(["Nothing was deleted.", *left.values()]))
    free = [record for record in records if record.thread not in left]
    if free and not yes and not _is_wanted(terminal, free):
        terminal.answer("Nothing was deleted.")
        return
    left |= delete(persistence, free)
    gone = [record.thread for record in free if record.thread not in left]
    shrunk = not gone or persistence.shrink()
    terminal.document({"deleted": gone, "left": [{"thread": name, "reason": why} for name, why in left.items()]})
    terminal.answer("\n".join([_counted("Deleted", len(gone)), *left.values()]))
    if not shrunk:
        terminal.say("The database file was not made smaller, because another process uses it or the disk is full.")


def _is_wanted(terminal: Terminal, records: Sequence[ThreadRecord]) -> bool:
    if not terminal.is_interactive:
        raise UsageError(f"{_counted('This would delete', len(records))} To skip the question, add --yes.")
    for record in records:
        terminal.say(
            f"{record.thread}  {record.updated[:16].replace('T', ' ')}  {' '.join(record.instruction.split())}"
        )
    return terminal.ask(f"{_counted('Delete', len(records))[:-1]} for good? [y/N] ").lower() in ("y", "yes")


def _counted(verb: str, number: int) -> str:
    return f"{verb} {number} {'thread' if number == 1 else 'threads'}."
