"""The edges that depend on the state; their return values are the labels in the drawing."""

from typing import Literal

from langgraph.types import Send

from restgpt.graph.state import State
from restgpt.nodes.records import Request, no_usage, spent_since
from restgpt.tools.executor import on_loop


@on_loop
def after_planner(state: State) -> Literal["plan / continue", "end"]:
    """Planning goes on, with the next sub-task or the same one, or is over.

    One label for both ways on, since a server tells clients one label for each pair of nodes.
    """
    return "end" if state["decision"]["kind"] == "end" else "plan / continue"


@on_loop
def after_selector(state: State) -> Literal["api plan", "no call needed"]:
    """An API plan goes to the caller; without calls the round is over."""
    return "api plan" if state["api_plan"]["calls"] else "no call needed"


@on_loop
def after_caller(state: State) -> Literal["requests", "unknown value", "no request"]:
    """Requests go to approval; a value that nothing gives goes back to the selector, then to the planner."""
    if state["hint"]:
        return "unknown value"
    return "requests" if _this_round(state, "planned") else "no request"


@on_loop
def after_approval(state: State) -> list[Send] | Literal["asked", "not approved"]:
    """Nothing goes out before a person has decided; then safe requests in parallel, changes one after the other."""
    if _this_round(state, "asked"):
        return "asked"
    approved = _this_round(state, "approved")
    if not approved:
        return "not approved"
    changes = [request for request in approved if not request["safe"]]
    batches = [[request] for request in approved if request["safe"]] + ([changes] if changes else [])
    began = state["usage"]["seconds"]
    seconds = spent_since(state["baseline"] or no_usage(), state["usage"])["seconds"]
    return [Send("sender", {"requests": batch, "seconds": seconds, "began": began}) for batch in batches]


@on_loop
def after_sender(state: State) -> Literal["asked again", "answered"]:
    """A change of unknown outcome, or whose target has changed, goes back to a person before anything else."""
    return "asked again" if _this_round(state, "asked") else "answered"


@on_loop
def after_parser(state: State) -> Literal["next call or repair", "result"]:
    """The round goes on until its step is written."""
    over = bool(state["steps"]) and state["steps"][-1]["round"] == state["round"]
    return "result" if over else "next call or repair"


def _this_round(state: State, status: str = "") -> list[Request]:
    return [
        request
        for request in state["requests"]
        if request["round"] == state["round"] and (not status or request["status"] == status)
    ]
