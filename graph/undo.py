"""Undoing what a thread changed: the same approval, sender and journal as the agent's, with no model in between."""

from typing import Annotated, Any, Literal

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Send
from typing_extensions import TypedDict

from restgpt.calling.idempotency import with_key
from restgpt.calling.journal import Journal
from restgpt.graph.routes import after_sender
from restgpt.nodes.approval import make_approval
from restgpt.nodes.context import Context
from restgpt.nodes.records import Request, Usage, add_usage, merge_requests
from restgpt.nodes.resources import Resources
from restgpt.nodes.sender import make_sender
from restgpt.specs import Catalogue
from restgpt.tools.errors import ArgumentError
from restgpt.tools.executor import on_loop, run_in_threads
from restgpt.tools.request.build import build_request
from restgpt.tools.telemetry import observed


class UndoState(TypedDict):
    """The requests that reverse changes, the newest change first."""

    round: int
    requests: Annotated[list[Request], merge_requests]
    usage: Annotated[Usage, add_usage]


UndoGraph = CompiledStateGraph[UndoState, Context, UndoState, UndoState]


class Reversal(TypedDict):
    """What is to be done about one change: `request` reverses it, or `reason` says why nothing does."""

    change: str
    shown: dict[str, Any]
    request: Request | None
    reason: str
    caution: str


def undo_thread(thread: str) -> str:
    """The thread that the undoing of a thread is kept under, with a journal of its own."""
    return f"{thread}/undo"


def build_undo(resources: Resources, *, checkpointer: BaseCheckpointSaver[Any], store: BaseStore) -> UndoGraph:
    """Build the graph that has reversing requests approved and sends them in order."""
    builder = StateGraph(UndoState, context_schema=Context)
    builder.add_node("approval", observed("approval", make_approval(resources)))
    builder.add_node("sender", observed("sender", make_sender(resources)))
    builder.add_edge(START, "approval")
    builder.add_conditional_edges(
        "approval", _after_approval, {"asked": "approval", "approved": "sender", "not approved": END}
    )
    builder.add_conditional_edges("sender", after_sender, {"unknown outcome": "approval", "answered": END})
    run_in_threads(builder)
    return builder.compile(checkpointer=checkpointer, store=store, name="Undo")


@on_loop
def _after_approval(state: UndoState) -> list[Send] | Literal["asked", "not approved"]:
    """What was approved goes out in order once all is decided, and nothing else."""
    if any(request["status"] == "asked" for request in state["requests"]):
        return "asked"
    approved = [request for request in state["requests"] if request["status"] == "approved"]
    return [Send("sender", {"requests": approved})] if approved else "not approved"


def reversals(journal: Journal, catalogue: Catalogue, *, round_number: int, steps: int | None = None) -> list[Reversal]:
    """What would undo the last `steps` changes of a journal, or all of them, the newest first.

    Changes that the API refused, and those that were undone already, are none.
    """
    made = [entry for entry in journal.entries() if _is_made(entry)]
    newest = made[::-1][:steps]
    return [_reversal(entry, catalogue, round_number, number) for number, entry in enumerate(newest, 1)]


def _is_made(entry: dict[str, Any]) -> bool:
    outcome = entry.get("outcome")
    if outcome is None:
        return True
    status = (outcome.get("response") or {}).get("status", 0)
    return outcome["status"] == "sent" and 200 <= status < 300 and not entry.get("undone")


def _reversal(entry: dict[str, Any], catalogue: Catalogue, round_number: int, number: int) -> Reversal:
    undo = entry.get("undo") or {}
    found: Reversal = {
        "change": entry["id"],
        "shown": entry["request"],
        "request": None,
        "reason": undo.get("reason", ""),
        "caution": undo.get("caution", ""),
    }
    if entry.get("outcome") is None:
        return {**found, "reason": "whether it was carried out is not known"}
    if "operation" not in undo:
        return {**found, "reason": found["reason"] or "nothing was kept that would reverse it"}
    try:
        return {**found, "request": _request(entry, undo, catalogue, round_number, number)}
    except ArgumentError as error:
        return {**found, "reason": f"the document changed since: {error}"}


def _request(
    entry: dict[str, Any], undo: dict[str, Any], catalogue: Catalogue, round_number: int, number: int
) -> Request:
    operation = catalogue.operation(undo["operation"])
    # The number of failed tries is part of the id: what the API refused once may be asked of it again.
    request_id = f"{entry['id']}.undo.{entry.get('undo_tries', 0)}"
    arguments = with_key(operation, undo["arguments"], request_id)
    change = entry["request"]
    return {
        "id": request_id,
        "round": round_number,
        "call": number,
        "attempt": 0,
        "operation": undo["operation"],
        "safe": operation.is_safe,
        "arguments": arguments,
        "pages": 1,
        "description": f"Undo {change['method']} {change['url']}. {undo.get('caution', '')}".strip(),
        "output_instruction": "",
        "fingerprint": build_request(operation, arguments).fingerprint,
        # A person is asked about every reversal, whatever a rule lets the agent do by itself.
        "status": "asked",
        "note": "",
        "response": {},
        "result": "",
        "code": "",
    }


def settle(journal: Journal, requests: list[Request]) -> None:
    """Note in a thread's journal which of its changes were undone, and which the API did not let be undone."""
    tries = {entry["id"]: entry.get("undo_tries", 0) for entry in journal.entries()}
    for request in requests:
        change = request["id"].rpartition(".undo.")[0]
        if is_done(request):
            journal.note(change, undone=True)
        elif request["status"] in ("sent", "failed", "rejected"):
            journal.note(change, undo_tries=tries.get(change, 0) + 1)


def is_done(request: Request) -> bool:
    """Whether the API carried a reversing request out."""
    return request["status"] == "sent" and 200 <= int(request["response"]["status"]) < 300
