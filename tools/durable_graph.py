"""A graph whose checkpoints are saved before the next node starts, and in order, on any server.

LangGraph's default keeps a checkpoint while the next node runs already, and makes its id from the clock of the machine.
A run that is killed in between would draft a call again that it has sent, and a machine whose clock is behind would
write checkpoints that count as old. Servers such as aegra pass no other durability, and checkpointers of their own.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Durability

from restgpt.tools.checkpoint_id import continue_after
from restgpt.tools.tracing.traced_graph import TracedGraph


class _Outside(NamedTuple):
    """A thread in a database, and its checkpointer."""

    saver: BaseCheckpointSaver[Any]
    place: RunnableConfig


class DurableGraph(TracedGraph):
    """A compiled graph with a checkpointer of any kind; without one it runs as usual.

    Its default durability is `sync`, and its checkpoints get greater ids than those that the thread has.
    """

    def stream(
        self, input: Any, config: Any = None, *, durability: Durability | None = None, **options: Any
    ) -> Iterator[Any]:
        """Run the graph as `CompiledStateGraph.stream` does."""
        if outside := self._outside(config):
            _continue(outside.saver.get_tuple(outside.place))
        yield from super().stream(input, config, durability=self._durability(durability, config), **options)

    async def astream(
        self, input: Any, config: Any = None, *, durability: Durability | None = None, **options: Any
    ) -> AsyncIterator[Any]:
        """Run the graph as `CompiledStateGraph.astream` does."""
        if outside := self._outside(config):
            _continue(await outside.saver.aget_tuple(outside.place))
        parts: Any = super().astream(input, config, durability=self._durability(durability, config), **options)
        async with aclosing(parts) as opened:
            async for part in opened:
                yield part

    def _outside(self, config: Mapping[str, Any] | None) -> "_Outside | None":
        """Return the thread if others may have written it; in this process's memory, it has only ids of its own."""
        thread = ((config or {}).get("configurable") or {}).get("thread_id")
        saver: Any = self.checkpointer
        if not thread or not isinstance(saver, BaseCheckpointSaver) or isinstance(saver, InMemorySaver):
            return None
        return _Outside(saver, {"configurable": {"thread_id": thread, "checkpoint_ns": ""}})

    def _durability(self, given: Durability | None, config: Mapping[str, Any] | None) -> Durability | None:
        # LangGraph fails with durability and no checkpointer, and a subgraph inherits what its parent's host chose.
        is_kept = isinstance(self.checkpointer, BaseCheckpointSaver)
        inherits = "__pregel_durability" in ((config or {}).get("configurable") or {})
        return "sync" if given is None and is_kept and not inherits else given


def _continue(newest: CheckpointTuple | None) -> None:
    if newest is not None:
        continue_after(str(newest.config["configurable"]["checkpoint_id"]))
