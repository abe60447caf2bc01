"""The history of a thread: its saved states, put together from checkpoints that are read once for all of them."""

from collections.abc import Iterator
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.types import StateSnapshot

from restgpt.graph.persistence import thread_config

AT_ONCE = 100
"""The number of checkpoints to load at a time, because all of them might not fit into memory."""


class _Checkpoints(BaseCheckpointSaver[Any]):
    """The checkpoints of a thread, the newest first, for a graph that reads states from them.

    A state has the messages and steps of checkpoints before its own. LangGraph looks for these anew for each state.
    """

    def __init__(self, saver: BaseCheckpointSaver[Any], thread: str, before: str) -> None:
        super().__init__(serde=saver.serde)
        self._saver = saver
        self._thread: RunnableConfig = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
        self._last: RunnableConfig | None = thread_config(thread, before) if before else None
        self._read: dict[str, CheckpointTuple] = {}
        self._configs: list[RunnableConfig] = []

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint, and read on to it if need be."""
        wanted = config["configurable"]["checkpoint_id"]
        while wanted not in self._read:
            if not self._read_on():
                # Another program made its id, by a clock that was behind.
                return self._saver.get_tuple(config)
        return self._read[wanted]

    def configs(self) -> Iterator[RunnableConfig]:
        """Yield the config of each checkpoint."""
        number = 0
        while number < len(self._configs) or self._read_on():
            yield self._configs[number]
            number += 1

    def _read_on(self) -> bool:
        page = list(self._saver.list(self._thread, before=self._last, limit=AT_ONCE))
        self._read |= {item.config["configurable"]["checkpoint_id"]: item for item in page}
        self._configs += [item.config for item in page]
        self._last = page[-1].config if page else self._last
        return bool(page)


def history_of(graph: Any, thread: str, before: str = "") -> Iterator[StateSnapshot]:
    """Yield the saved states of a thread, the newest first, from those before a checkpoint on."""
    checkpoints = _Checkpoints(graph.checkpointer, thread, before)
    reader = graph.copy({"checkpointer": checkpoints})
    for config in checkpoints.configs():
        yield reader.get_state(config)
