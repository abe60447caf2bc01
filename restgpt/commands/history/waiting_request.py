"""`restgpt threads ID --request N`: print a request that waits for approval, exactly as it will be sent."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from restgpt.commands.failure import UsageError
from restgpt.commands.screen.terminal import Terminal

if TYPE_CHECKING:
    from restgpt.calling.record import CallRecord
    from restgpt.graph.persistence import Persistence
    from restgpt.threads import ThreadRecord
    from restgpt.tools.settings import Settings


def show_request(
    terminal: Terminal, persistence: "Persistence", record: "ThreadRecord", settings: "Settings", number: int
) -> None:
    """Print the waiting request of this number, counted in the order of the questions.

    Only secrets that are configured are hidden, so the APIs of the thread are loaded. Raises `UsageError` if there is
    no such request, and `OutdatedCallError` if the document has changed since.
    """
    from restgpt.calling.call import read_draft
    from restgpt.nodes.run.services import Services
    from restgpt.tools.request.view import view_sections, whole_view

    apis = record.sources.load(settings)
    services: Services = Services(apis, settings=settings)
    waiting = _waiting(persistence, record)
    if not waiting:
        raise UsageError(f"No request waits for approval in thread {record.thread}.")
    if number > len(waiting):
        raise UsageError(f"Thread {record.thread} has {len(waiting)} waiting: give --request 1 to {len(waiting)}.")
    draft = read_draft(waiting[number - 1], services.catalogue(()))
    redactor = services.http.redactor(*apis, about=draft.operation.api)
    terminal.document({"thread": record.thread, "number": number, **whole_view(draft.request, redactor)})
    terminal.answer("\n\n".join(view_sections(draft.request, redactor, whole=True)))


def _waiting(persistence: "Persistence", record: "ThreadRecord") -> "list[CallRecord]":
    """The calls that the pause of a thread asks about; of its undo, if the thread itself does not wait."""
    from restgpt.calling.undo.reversal import undo_thread
    from restgpt.threads import SavedStates, Threads

    states, undo = SavedStates(persistence), Threads(persistence.store).find(undo_thread(record.thread))
    for found in (record, *([undo] if undo else [])):
        snapshot = states.newest(found)
        actions = [action for pause in snapshot.interrupts for action in pause.value.get("action_requests", ())]
        if actions:
            return list(_asked(actions, snapshot.values["requests"]))
    return []


def _asked(actions: Sequence[Mapping[str, Any]], records: "Sequence[CallRecord]") -> "Iterator[CallRecord]":
    """The call of each action, in their order; a call whose document has changed waits without an action."""
    left = iter([record for record in records if record["status"] == "asked"])
    for action in actions:
        yield next(record for record in left if _is_of(record, action))


def _is_of(record: "CallRecord", action: Mapping[str, Any]) -> bool:
    return (record["operation"], record["arguments"]) == (action["name"], action["args"])
