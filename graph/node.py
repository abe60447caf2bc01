"""The nodes of all graphs: fenced against newer runs of the thread, observed, reporting, and no exit for secrets."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from restgpt.graph.fence import fenced
from restgpt.nodes.run.context import Context
from restgpt.nodes.run.progress import events_of
from restgpt.nodes.run.resources import Resources
from restgpt.tools.exits import withholding
from restgpt.tools.telemetry import observed

Node = Callable[..., dict[str, Any]]


def node_of(name: str, node: Node, resources: Resources, *, parallel: bool = False) -> Node:
    """Wrap a function as the node `name` of a graph: fenced, observed, reporting its progress, errors without secrets.

    With `parallel`, several runs of the node may belong to one step.
    """
    in_run = fenced(reporting(node, resources), resources, parallel=parallel)
    return withholding(observed(name, in_run), resources.redactor)


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
