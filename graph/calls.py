"""The graph that carries out drafted calls without a model, with the loop and the journal of the agent's parser."""

from collections.abc import Iterable
from typing import Annotated, Any, NotRequired

from langgraph.channels import UntrackedValue
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from typing_extensions import TypedDict

from restgpt.calling.call import Call
from restgpt.calling.record import Request, request_of
from restgpt.graph.build import compiled
from restgpt.graph.running import after_sending, make_parser
from restgpt.nodes.run.context import Context
from restgpt.nodes.run.services import Services
from restgpt.nodes.state.records import FORMAT, Usage, add_usage, merge_requests, no_usage
from restgpt.nodes.state.state import Aggregate, Checked, FormatChannel, Requests


class CallsState(TypedDict):
    """The state of some calls: requests, sent in their order. `round` numbers the calls made together in a thread."""

    format: Annotated[int, FormatChannel]
    turn: NotRequired[Annotated[int, Checked]]
    round: int
    requests: Annotated[list[Request], Aggregate(Requests, merge_requests)]
    usage: Annotated[Usage, Aggregate(Usage, add_usage)]
    claim: NotRequired[Annotated[int, UntrackedValue(int, guard=False)]]


CallsGraph = CompiledStateGraph[CallsState, Context, CallsState, CallsState]


def calls_input(drafts: Iterable[Call], *, round_number: int = 1) -> CallsState:
    """Return the input of the graph: the drafts in order."""
    requests = [
        request_of(draft.to_json(), round_number=round_number, call=call) for call, draft in enumerate(drafts, 1)
    ]
    return {"format": FORMAT, "turn": 1, "round": round_number, "requests": requests, "usage": no_usage()}


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
    builder.add_node("parser", make_parser(services, None))
    builder.add_edge(START, "parser")
    builder.add_conditional_edges("parser", after_sending, {"next calls": "parser", "answered": END})
    graph: CallsGraph = compiled(builder, "Calls", checkpointer=checkpointer, store=store)
    return graph
