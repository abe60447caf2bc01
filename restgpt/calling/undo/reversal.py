"""The reversal of a thread's changes: drafts of the reversing calls that its journal holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from restgpt.calling.call import Call, Problems
from restgpt.calling.draft import draft
from restgpt.calling.journal.journal import UNDO, Journal
from restgpt.calling.record import CallRecord, succeeded
from restgpt.specs import Catalogue

UNSURE = "whether it was carried out is not known"


@dataclass(frozen=True, slots=True)
class Reversal:
    """One change and the draft of the call that reverses it, or the reason why there is none.

    `change` is the id of the change's journal entry, `shown` its redacted request.
    """

    change: str
    shown: dict[str, Any]
    draft: Call | None = None
    reason: str = ""


def reversals(journal: Journal, catalogue: Catalogue, *, steps: int | None = None) -> list[Reversal]:
    """The reversals of the last `steps` changes of a journal, or of all of them, the newest first.

    Changes that the API refused, and changes that were undone already, are left out.
    """
    made = [entry for entry in journal.entries() if _is_made(entry)]
    return [_reversal(entry, catalogue) for entry in made[::-1][:steps]]


def _is_made(entry: dict[str, Any]) -> bool:
    outcome = entry.get("outcome")
    if entry.get("undone"):
        return False
    if outcome is None or outcome.get("outcome_unknown"):
        return True
    return succeeded(outcome)


def _reversal(entry: dict[str, Any], catalogue: Catalogue) -> Reversal:
    undo = entry.get("undo") or {}
    change, shown = entry["id"], entry["request"]
    outcome = entry.get("outcome")
    doubt = UNSURE if outcome is None or outcome.get("outcome_unknown") else ""
    warning = doubt and f"{doubt.capitalize()}."
    if "operation" not in undo:
        reason = undo.get("reason") or ("" if doubt else "nothing was kept that would reverse it")
        return Reversal(change, shown, reason=", and ".join(filter(None, [doubt, reason])))
    made = draft(
        catalogue.operation(undo["operation"]),
        undo["arguments"],
        # The number of failed tries is part of the id: what the API refused once may be asked of it again.
        id=f"{change}{UNDO}{entry.get('undo_tries', 0)}",
        name=undo["operation"],
        description=" ".join(filter(None, [f"Undo {shown['method']} {shown['url']}.", undo.get("caution"), warning])),
        # A person is asked about every reversal, whatever a rule lets the agent do by itself.
        confirm=True,
    )
    if isinstance(made, Problems):
        return Reversal(change, shown, reason=f"the document changed since: {made}")
    return Reversal(change, shown, made)


def settle_reversals(journal: Journal, records: Sequence[CallRecord]) -> None:
    """Note in a thread's journal which of its changes were undone, and which the API did not let be undone."""
    tries = {entry["id"]: entry.get("undo_tries", 0) for entry in journal.entries()}
    for record in records:
        change = record["id"].rpartition(UNDO)[0]
        if succeeded(record):
            journal.note(change, undone=True)
        elif record["status"] in ("sent", "failed", "rejected"):
            journal.note(change, undo_tries=tries.get(change, 0) + 1)
