"""The routing functions of the conditional edges; they return the labels of the edges in the drawing."""

from typing import Any, Literal

from langgraph.types import Send

from restgpt.calling.record import Request
from restgpt.graph.state import State
from restgpt.nodes.state.records import no_usage, spent_since
from restgpt.nodes.state.rounds import is_asked, is_closed, of_round, waits
from restgpt.tools.graphs.thread_pool import on_loop


@on_loop
def after_planner(state: State) -> Literal["plan / continue", "end"]:
    """Go to the selector with a new or an unfinished sub-task, or end.

    Plan and continue share one label, because LangGraph draws one edge for each pair of nodes: of two labels it keeps
    the one that sorts first. The state has the decision itself, in `decision`.
    """
    return "end" if state["decision"]["kind"] == "end" else "plan / continue"


@on_loop
def after_caller(state: State) -> Literal["program or calls", "functions or unknown value"]:
    """Go to the parser with a program, with calls, or with a proposal to the planner.

    For other functions, and for an unknown value, go to the selector; the second time for an unknown value, the round
    is over.
    """
    wants = is_asked(state.get("selection")) or state["hint"]
    return "functions or unknown value" if wants else "program or calls"


@on_loop
def after_approval(state: State) -> list[Send] | Literal["asked", "not approved"]:
    """After all decisions, send reads in parallel, or with changes among them, all one after the other.

    Each parallel sender sees only its own requests, so it could not tell that another one must ask a person again.
    """
    if _this_round(state, "asked"):
        return "asked"
    approved = _this_round(state, "approved")
    if not approved:
        return "not approved"
    return [Send("sender", batch) for batch in _batches(state, approved)]


def planned_reads(state: State) -> list[Request]:
    """Return the planned requests of the round if all only read and no other request is under way, else none."""
    planned = _this_round(state, "planned")
    others = _this_round(state, "asked") or _this_round(state, "approved")
    return planned if not others and all(request["safe"] for request in planned) else []


def batches_of_reads(state: State) -> list[dict[str, Any]] | None:
    """Return the input of each sender if all requests of the round that are not over are approved reads, else None."""
    approved = _this_round(state, "approved")
    others = _this_round(state, "asked") or _this_round(state, "planned")
    return None if others or not all(request["safe"] for request in approved) else _batches(state, approved)


def _batches(state: State, approved: list[Request]) -> list[dict[str, Any]]:
    """Return the input of each sender: one read, or all requests if one of them changes something."""
    are_reads = all(request["safe"] for request in approved)
    batches = [[request] for request in approved] if are_reads else [approved]
    began = state["usage"]["seconds"]
    seconds = spent_since(state["baseline"] or no_usage(), state["usage"])["seconds"]
    kept: dict[str, Any] = {"seconds": seconds, "began": began, "claim": state.get("claim")}
    if recipe := state.get("recipe"):
        kept |= {"recipe": recipe, "turn": state["turn"]}
    return [{"requests": batch, **kept} for batch in batches]


@on_loop
def after_sender(state: State) -> Literal["asked again", "answered"]:
    """Ask a person again about a change with an unknown outcome or a changed target; otherwise go on."""
    return "asked again" if _this_round(state, "asked") else "answered"


@on_loop
def after_parser(state: State) -> Literal["calls", "next call or repair", "result"]:
    """Go to approval with calls, to the planner with a proposal or the step of this round, else back to the caller."""
    if any(map(waits, of_round(state))):
        return "calls"
    return "result" if state.get("proposal") or is_closed(state) else "next call or repair"


def _this_round(state: State, status: str) -> list[Request]:
    return [request for request in of_round(state) if request["status"] == status]
