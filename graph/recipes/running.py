"""The node that runs a recipe: the program up to its next change, with the plain reads before it sent on the spot.

A plain read needs no checkpoint: a run that is killed sends it again. So the node carries out such reads itself, by the
same nodes parser, approval and sender as the graph has, with their claims, events and budgets, and returns one update.
All else it leaves to those nodes: changes, questions, and many reads at once. After `QUICK` seconds it leaves them the
reads too, so that a long run shows its progress and is not begun again.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import get_executor_for_config
from langgraph.runtime import Runtime

from restgpt.graph.build import approval_node, parser_node, sender_node
from restgpt.graph.routes import approved_reads, planned_reads
from restgpt.nodes.context import Context
from restgpt.nodes.program import is_running
from restgpt.nodes.records import add_usage, merge_requests
from restgpt.nodes.resources import Resources
from restgpt.tools.thread_pool import is_abandoned

Node = Callable[..., dict[str, Any]]

QUICK = 1.0
"""The seconds after which the node sends no further reads itself."""

FEW = 4
"""The maximum number of reads side by side that the node sends itself; of more, each should have its own checkpoint."""


def make_running(resources: Resources) -> Node:
    """Make the node that runs the program of a recipe and sends its plain reads."""
    parser, approval, sender = parser_node(resources), approval_node(resources), sender_node(resources)

    def running(state: Any, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        begun = resources.clock()
        update = parser(state, runtime, config)
        while (
            _wants_few_reads(now := _after(state, update))
            and resources.clock() - begun < QUICK
            and not _is_stopped(runtime)
        ):
            update = _merged(update, approval(now, runtime, config))
            now = _after(state, update)
            batches = approved_reads(now)
            if batches is None:
                break
            # An update of this node adds to the usage before it, so the senders begin at what the node has used.
            began = update["usage"]["seconds"]
            for sent in _sent(sender, [{**batch, "began": began} for batch in batches], runtime, config):
                update = _merged(update, sent)
            update = _merged(update, parser(_after(state, update), runtime, config))
        return update

    return running


def _wants_few_reads(state: Any) -> bool:
    return is_running(state["program"]) and 0 < len(planned_reads(state)) <= FEW


def _is_stopped(runtime: Runtime[Context]) -> bool:
    """Return whether nobody waits for the run any more, or its host wants it to end at the next checkpoint."""
    return runtime.drain_requested or is_abandoned()


def _sent(
    sender: Node, batches: Sequence[dict[str, Any]], runtime: Runtime[Context], config: RunnableConfig
) -> list[dict[str, Any]]:
    """Return the updates of parallel senders, of which as many run at once as LangGraph would let; one needs no thread.

    The first error in the order of the program is raised, after all senders that had begun have ended.
    """
    send = partial(sender, runtime=runtime, config=config)
    if len(batches) <= 1:
        return [send(batch) for batch in batches]
    with get_executor_for_config(config) as executor:
        return list(executor.map(send, batches))


def _after(state: Any, update: dict[str, Any]) -> Any:
    """Return the state of the graph as it would be after an update."""
    requests = merge_requests(state["requests"], update.get("requests", []))
    return {**state, **update, "requests": requests, "usage": add_usage(state["usage"], update["usage"])}


def _merged(update: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Return two updates as one; only the last one of a program ends its round, so none has steps before it."""
    requests = merge_requests(update.get("requests", []), more.get("requests", []))
    return {**update, **more, "requests": requests, "usage": add_usage(update["usage"], more["usage"])}
