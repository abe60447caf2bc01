"""The graph that reverses the changes of a thread, with the agent's approval, sender and journal, without a model."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired

from langgraph.channels import UntrackedValue
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Send
from typing_extensions import TypedDict

from restgpt.calling.reversal import Reversal
from restgpt.graph.build import approval_node, sender_node
from restgpt.graph.channels import Aggregate, FormatChannel
from restgpt.graph.routes import after_sender
from restgpt.nodes.context import Context
from restgpt.nodes.records import (
    FORMAT,
    Request,
    Step,
    Usage,
    add_steps,
    add_usage,
    merge_requests,
    no_usage,
    placed,
)
from restgpt.nodes.resources import Resources
from restgpt.tools.thread_pool import on_loop, run_in_threads
from restgpt.tools.tracing.traced_graph import TracedGraph


class UndoState(TypedDict):
    """The state of an undo: the requests that reverse changes, newest change first; `steps` stays empty."""

    format: Annotated[int, FormatChannel]
    round: int
    requests: Annotated[list[Request], Aggregate(list[Request], merge_requests)]
    steps: Annotated[list[Step], Aggregate(list[Step], add_steps)]
    usage: Annotated[Usage, Aggregate(Usage, add_usage)]
    claim: NotRequired[Annotated[int, UntrackedValue(int, guard=False)]]


UndoGraph = CompiledStateGraph[UndoState, Context, UndoState, UndoState]


def undo_input(reversals: Sequence[Reversal], *, round_number: int) -> UndoState:
    """Return the input of the graph: the reversing drafts, in order; `round_number` counts the undos of a thread."""
    drafts = [reversal.draft for reversal in reversals if reversal.draft is not None]
    requests = [placed(draft.to_json(), round_number=round_number, call=call) for call, draft in enumerate(drafts, 1)]
    return {"format": FORMAT, "round": round_number, "requests": requests, "steps": [], "usage": no_usage()}


def undo_thread(thread: str) -> str:
    """Return the id of the thread that saves the undo of a thread; it has its own journal."""
    return f"{thread}/undo"


def build_undo(resources: Resources, *, checkpointer: BaseCheckpointSaver[Any], store: BaseStore) -> UndoGraph:
    """Build the graph that asks for approval of the reversing requests and sends them in order."""
    builder = StateGraph(UndoState, context_schema=Context)
    builder.add_node("approval", approval_node(resources))
    builder.add_node("sender", sender_node(resources))
    builder.add_edge(START, "approval")
    builder.add_conditional_edges(
        "approval", _after_approval, {"asked": "approval", "approved": "sender", "not approved": END}
    )
    builder.add_conditional_edges("sender", after_sender, {"asked again": "approval", "answered": END})
    run_in_threads(builder)
    compiled = builder.compile(checkpointer=checkpointer, store=store, name="Undo")
    return TracedGraph.of(compiled, traced_as="workflow")


@on_loop
def _after_approval(state: UndoState) -> list[Send] | Literal["asked", "not approved"]:
    """After all decisions, send the approved requests in order."""
    if any(request["status"] == "asked" for request in state["requests"]):
        return "asked"
    approved = [request for request in state["requests"] if request["status"] == "approved"]
    return [Send("sender", {"requests": approved, "claim": state.get("claim")})] if approved else "not approved"
