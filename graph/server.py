"""The graphs that a LangGraph server loads: the graphs of `agent`, which also validate the settings of each run.

A LangGraph server silently drops settings that a graph does not have. But it first calls a callable graph as a factory,
with all settings of the run.
"""

from collections.abc import Mapping
from typing import Any

from langgraph.graph.state import CompiledStateGraph
from langgraph_sdk.runtime import ServerRuntime

from restgpt.graph import agent
from restgpt.graph.build import Graph
from restgpt.graph.state import InputState, OutputState, State
from restgpt.nodes.context import Context, checked_context


class ServedGraph(CompiledStateGraph[State, Context, InputState, OutputState]):
    """A compiled graph that is its own factory."""

    @classmethod
    def of(cls, graph: Graph) -> "ServedGraph":
        """Make a served graph from a graph."""
        return cls(**{name: value for name, value in vars(graph).items() if name != "__orig_class__"})

    def __call__(self, runtime: ServerRuntime[Any]) -> "ServedGraph":
        """Return the graph for one request of the server; raises `SettingsError` for invalid settings of the run."""
        execution = runtime.execution_runtime
        if execution is not None and isinstance(execution.context, Mapping):
            checked_context(execution.context)
        return self


restgpt = ServedGraph.of(agent.graph)
react = ServedGraph.of(agent.react)
offline = ServedGraph.of(agent.offline)
deps = ServedGraph.of(agent.deps)
reflexion = ServedGraph.of(agent.reflexion)
