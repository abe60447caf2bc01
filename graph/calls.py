"""The graph that carries out drafted calls without a model, with the agent's approval, sender and journal."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, NotRequired

from langgraph.channels import UntrackedValue
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Send
from typing_extensions import TypedDict

from restgpt.calling.call import Draft
from restgpt.calling.record import Request, request_of
from restgpt.graph.channels import Aggregate, Checked, FormatChannel, Requests
from restgpt.graph.resumption import reopened
from restgpt.graph.routes import after_sender
from restgpt.graph.running import approval_node, sender_node
from restgpt.nodes.run.context import Context
from restgpt.nodes.run.services import Services
from restgpt.nodes.state.records import FORMAT, Usage, add_usage, merge_requests, no_usage
from restgpt.tools.graphs.compiled_graph import DurableGraph
from restgpt.tools.graphs.thread_pool import on_loop, run_in_threads


class CallsState(TypedDict):
    """The state of some calls: requests, sent in their order. `round` numbers the calls made together in a thread."""

    format: Annotated[int, FormatChannel]
    turn: NotRequired[Annotated[int, Checked]]
    round: int
    requests: Annotated[list[Request], Aggregate(Requests, merge_requests)]
    usage: Annotated[Usage, Aggregate(Usage, add_usage)]
    claim: NotRequired[Annotated[int, UntrackedValue(int, guard=False)]]


CallsGraph = CompiledStateGraph[CallsState, Context, CallsState, CallsState]


def calls_input(drafts: Iterable[Draft], *, round_number: int = 1) -> CallsState:
    """Return the input of the graph: the drafts in order."""
    requests = [
        request_of(draft.to_json(), round_number=round_number, call=call) for call, draft in enumerate(drafts, 1)
    ]
    return {
        "format": FORMAT,
        "turn": 1,
        "round": round_number,
        "requests": requests,
        "usage": no_usage(),
    }


def build_calls(
    services: Services,
    *,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    store: BaseStore | None = None,
) -> CallsGraph:
    """Build the graph that asks for approval of drafted calls, where the rules want it, and sends them in order.

    Without a checkpointer it is a subgraph, and uses that of its parent.
    """
    builder = StateGraph(CallsState, context_schema=Context)
    builder.add_node("approval", approval_node(services))
    builder.add_node("sender", sender_node(services))
    builder.add_edge(START, "approval")
    builder.add_conditional_edges(
        "approval", after_decisions, {"asked": "approval", "approved": "sender", "not approved": END}
    )
    builder.add_conditional_edges("sender", after_sender, {"asked again": "approval", "answered": END})
    run_in_threads(builder)
    compiled = builder.compile(checkpointer=checkpointer, store=store, name="Calls")
    return DurableGraph.of(compiled, traced_as="workflow", reopen=reopened)


@on_loop
def after_decisions(state: CallsState) -> list[Send] | Literal["asked", "not approved"]:
    """After all decisions, send the approved requests in order."""
    if any(request["status"] == "asked" for request in state["requests"]):
        return "asked"
    approved = [request for request in state["requests"] if request["status"] == "approved"]
    return [Send("sender", {"requests": approved, "claim": state.get("claim")})] if approved else "not approved"
