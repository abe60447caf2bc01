"""A node's road: everything that happens around the function of a node, in the order in which a run passes it."""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime

from restgpt.nodes.run.context import Context
from restgpt.nodes.run.events import events_of, shown
from restgpt.nodes.run.run import CLAIM, Run, run_claim
from restgpt.nodes.run.services import Services
from restgpt.nodes.state.records import turn_usage
from restgpt.tools.text.exits import withholding
from restgpt.tools.tracing.telemetry import observed

Node = Callable[..., dict[str, Any]]


def node_of(name: str, node: Node, services: Services, *, tells: bool = False) -> Node:
    """Return the function as the node `name` of a graph.

    Under asyncio the node gets a thread of the pool (`run_in_threads`). Then, from the outside to the inside:

    1. no error leaves the node with a secret (`withholding`);
    2. its run is logged and has a span (`observed`);
    3. it runs only while its run holds the thread, and else raises `LostClaimError`;
    4. its update is told as events, before the next node runs (`tell`), unless the node `tells` them itself.

    The first node of a run takes the next number of the thread, and a channel that no checkpoint holds keeps it for the
    other nodes. A run that was stopped, and goes on after another run has taken over on any machine, ends at its
    current node: that node sends no change, and saves no checkpoint that would take the thread back.
    """

    def told(state: Any, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        update = node(state, runtime, config)
        if not tells:
            tell(state, update, runtime, services)
        return update

    @wraps(node)
    def in_run(state: Any, runtime: Runtime[Context], config: RunnableConfig) -> Any:
        claim = run_claim(state.get("claim"), services.store_of(runtime), runtime, config)
        if claim is None:
            return told(state, runtime, config)
        configurable = {**config.get("configurable", {}), CLAIM: claim}
        try:
            update = told(state, runtime, {**config, "configurable": configurable})
        except GraphBubbleUp:
            claim.check()
            raise
        claim.check()
        return {**update, "claim": claim.number}

    return withholding(observed(name, in_run), services.redactor)


def role_of(name: str, role: Callable[[Run, Any], dict[str, Any]], services: Services) -> Node:
    """Return a role as the node `name`: its run is opened once."""

    def node(state: Any, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        return role(Run.open(services, runtime, config, used=turn_usage(state), state=state), state)

    return node_of(name, node, services)


def tell(state: Any, update: Any, runtime: Runtime[Context], services: Services) -> None:
    """Write the events of an update of a state to the stream mode `custom`, without secrets."""
    redactor = cache(services.redactor)
    for event in events_of(state, update):
        runtime.stream_writer(shown(event, lambda text: redactor().text(text)))
