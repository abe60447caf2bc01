"""The routing functions of the conditional edges; they return the labels of the edges in the drawing."""

from typing import Any, Literal

from restgpt.graph.running import waiting_calls
from restgpt.graph.state import State
from restgpt.nodes.programs.program import is_running
from restgpt.nodes.state.rounds import is_asked, is_closed, of_round
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
def after_parser(state: State) -> Literal["next calls", "next call or repair", "result"]:
    """Go to the planner with a proposal or the step of this round, on with calls or a program, else to the caller."""
    if state.get("proposal") or is_closed(state):
        return "result"
    goes_on = is_running(state.get("program")) or any(request["status"] == "sent" for request in of_round(state))
    return "next calls" if goes_on or waiting_calls(state) else "next call or repair"


@on_loop
def after_sending(state: Any) -> Literal["next calls", "answered"]:
    """Go on with calls that may still be sent, or end with all answers."""
    return "next calls" if waiting_calls(state) else "answered"
