"""A graph as a LangGraph server loads it: the same graph, which also checks the settings that a run brings.

A server silently leaves out settings that a graph does not have. It calls a graph that is callable first, as a factory,
with all the settings of the run.
"""

from collections.abc import Mapping
from typing import Any

from langgraph.types import Durability
from langgraph_sdk.runtime import ServerRuntime

from restgpt.tools.durable_graph import DurableGraph
from restgpt.tools.run_settings import checked_settings


class ServedGraph(DurableGraph):
    """A compiled graph that is its own factory; its context schema is a pydantic model."""

    def __call__(self, runtime: ServerRuntime[Any]) -> "ServedGraph":
        """Give the graph for one request of the server; raises `SettingsError` if a run's settings cannot be used."""
        execution, schema = runtime.execution_runtime, self.context_schema
        if execution is not None and isinstance(execution.context, Mapping) and schema is not None:
            checked_settings(schema, execution.context)
        return self

    def _durability(self, given: Durability | None, config: Mapping[str, Any] | None) -> Durability | None:
        # LangGraph's server passes `async` for a client that chose nothing.
        return super()._durability(None if given == "async" else given, config)
