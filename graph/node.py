"""The nodes of all graphs: fenced against newer runs of the thread, observed, and with events about their progress."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from restgpt.graph.fence import fenced
from restgpt.nodes.context import Context
from restgpt.nodes.progress import events_of
from restgpt.nodes.resources import Resources
from restgpt.tools.telemetry import observed

Node = Callable[..., dict[str, Any]]


def node_of(name: str, node: Node, resources: Resources, *, parallel: bool = False) -> Node:
    """Wrap a function as the node `name` of a graph: fenced, observed and reporting its progress.

    With `parallel`, several runs of the node may belong to one step.
    """
    return observed(name, fenced(reporting(node, resources), resources, parallel=parallel))


def reporting(node: Node, resources: Resources) -> Node:
    """Wrap a node so that it writes the events of its update to the stream mode `custom`, before the next node runs."""

    @wraps(node)
    def reported(state: Any, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        update = node(state, runtime, config)

        def redacted(text: str) -> str:
            return resources.open(runtime, config).session.redacted(text)

        for event in events_of(state, update, redacted=redacted):
            runtime.stream_writer(event)
        return update

    return reported
