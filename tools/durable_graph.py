"""A graph that keeps each checkpoint before its next node starts, unless its host chooses another durability.

LangGraph's own default keeps a checkpoint while the next node runs already, and servers such as aegra pass no other.
A run that is killed in between would draft a call again that it has sent, and the write journal would not know it.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Self

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Durability


class DurableGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph whose default durability is `sync`, if it has a checkpointer."""

    @classmethod
    def of(cls, graph: CompiledStateGraph[Any, Any, Any, Any]) -> Self:
        """Return the same graph as one of this class."""
        return cls(**{name: value for name, value in vars(graph).items() if name != "__orig_class__"})

    def stream(  # type: ignore[override]
        self, input: Any, config: Any = None, *, durability: Durability | None = None, **options: Any
    ) -> Iterator[Any]:
        """Run the graph as `CompiledStateGraph.stream` does."""
        return super().stream(input, config, durability=self._durability(durability, config), **options)

    def astream(  # type: ignore[override]
        self, input: Any, config: Any = None, *, durability: Durability | None = None, **options: Any
    ) -> AsyncIterator[Any]:
        """Run the graph as `CompiledStateGraph.astream` does."""
        return super().astream(input, config, durability=self._durability(durability, config), **options)

    def _durability(self, given: Durability | None, config: Mapping[str, Any] | None) -> Durability | None:
        # LangGraph fails with durability and no checkpointer, and a subgraph inherits what its parent's host chose.
        is_kept = isinstance(self.checkpointer, BaseCheckpointSaver)
        inherits = "__pregel_durability" in ((config or {}).get("configurable") or {})
        return "sync" if given is None and is_kept and not inherits else given
