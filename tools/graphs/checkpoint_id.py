"""The ids of checkpoints, which LangGraph makes from the clock: new ones follow those that a thread has."""

from typing import Any

from langgraph.checkpoint.base import id as checkpoint_id


def continue_after(written: str) -> None:
    """Let this process give greater ids to checkpoints than `written`, as LangGraph does after an id of its own."""
    try:
        newest = checkpoint_id.UUID(written)
    except ValueError:
        # The id of another version of LangGraph, which has another order.
        return
    if newest.version == 6:
        # The time of the last id that this process gave; LangGraph has no public way to set it.
        clock: Any = checkpoint_id
        clock._last_v6_timestamp = max(clock._last_v6_timestamp or 0, newest.time)
