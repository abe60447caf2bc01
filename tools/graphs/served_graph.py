"""A graph as a LangGraph server loads it: it also checks the settings of a run, and its schema names the APIs."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from langgraph.types import Durability
from langgraph_sdk.runtime import ServerRuntime

from restgpt.tools.errors import SettingsError
from restgpt.tools.graphs.compiled_graph import DurableGraph
from restgpt.tools.graphs.thread_pool import SHARED
from restgpt.tools.settings import ServerAccess, Settings
from restgpt.tools.settings.run_settings import checked_settings, offering_apis


class ServedGraph(DurableGraph):
    """A compiled graph that is its own factory; its context schema is a pydantic model.

    A server silently leaves out settings that a graph does not have. It calls a graph that is callable first, as a
    factory: for a run with all its settings, and for each look at the schemas, so that no file is read before somebody
    asks. The streams `values` and `updates` of a run show only the output and the keys `shown` of the state.
    """

    def __init__(self, *, shown: Sequence[str] = (), **options: Any) -> None:
        super().__init__(**options)
        self.shown = shown

    async def __call__(self, runtime: ServerRuntime[Any]) -> "ServedGraph":
        """Give the graph for one request of the server; raises `SettingsError` if a run's settings cannot be used."""
        execution, schema = runtime.execution_runtime, self.context_schema
        if schema is None:
            return self
        if execution is not None and isinstance(execution.context, Mapping):
            # A `RemoteGraph` that is a node passes flags of its host's LangGraph, which the server takes for settings.
            checked_settings(schema, {k: v for k, v in execution.context.items() if not k.startswith("__pregel_")})
            # What an assistant or a run brings is a client's: also who may not change a system assistant can run one.
            ServerAccess.from_env().check_run(execution.context)
        if runtime.access_context == "assistants.read":
            return self.copy({"context_schema": offering_apis(schema, await _configured_apis())})
        return self

    async def astream(
        self, input: Any, config: Any = None, *, output_keys: Any = None, **options: Any
    ) -> AsyncIterator[Any]:
        """Run the graph as `DurableGraph.astream` does, with the shown keys where the server asks for the output."""
        if output_keys == self.output_channels:
            output_keys = [*self.output_channels, *self.shown]
        async with aclosing(super().astream(input, config, output_keys=output_keys, **options)) as parts:  # type: ignore[type-var]
            async for part in parts:
                yield part

    def _durability(self, given: Durability | None, config: Mapping[str, Any] | None) -> Durability | None:
        # LangGraph's server passes `async` for a client that chose nothing.
        return super()._durability(None if given == "async" else given, config)


async def _configured_apis() -> list[str]:
    """Return the names of the APIs in `apis.yaml`; none if it is faulty, because the error belongs to the runs."""
    try:
        settings = await SHARED.run(Settings.from_env)
    except SettingsError:
        return []
    return list(settings.apis)
