"""The graphs as a LangGraph server loads them: the exported ones, which also check the settings that a run brings.

A server silently leaves out settings that a graph does not have. It calls a graph that is callable first, as a factory,
with all the settings of the run.
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
        """The same graph as a served one."""
        return cls(**{name: value for name, value in vars(graph).items() if name != "__orig_class__"})

    def __call__(self, runtime: ServerRuntime[Any]) -> "ServedGraph":
        """Give the graph for one request of the server; raises `SettingsError` if a run's settings cannot be used."""
        execution = runtime.execution_runtime
        if execution is not None and isinstance(execution.context, Mapping):
            checked_context(execution.context)
        return self


restgpt = ServedGraph.of(agent.graph)
react = ServedGraph.of(agent.react)
offline = ServedGraph.of(agent.offline)
deps = ServedGraph.of(agent.deps)
reflexion = ServedGraph.of(agent.reflexion)
