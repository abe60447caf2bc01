"""Keeps the checkpoints of a thread in the order in which they were written, also if the clock was set back.

LangGraph makes the id of a checkpoint from the wall clock and takes the checkpoint with the greatest id for the newest.
Within a process it lets each id be greater than the last. But a process whose clock is behind that of the process
before it would write checkpoints that count as older than the ones there are: the next process would go on from an old
checkpoint, and make changes again.
"""

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from restgpt.tools.graphs.checkpoint_id import continue_after


class OrderedSaver(BaseCheckpointSaver[Any]):
    """A mixin for checkpointers: after a process has read a thread, it writes greater ids than the thread has."""

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint of a config, and note the newest id of its thread."""
        found = newest = super().get_tuple(config)
        configurable = config.get("configurable", {})
        if configurable.get("checkpoint_id"):
            # A fork of an old checkpoint must become the newest one.
            place: dict[str, Any] = {
                key: configurable[key] for key in ("thread_id", "checkpoint_ns") if key in configurable
            }
            newest = super().get_tuple({"configurable": place})
        if newest is not None:
            continue_after(str(newest.config["configurable"]["checkpoint_id"]))
        return found
