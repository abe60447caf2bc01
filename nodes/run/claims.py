"""The claims of runs on their threads: a run that lost its claim sends no change and saves no checkpoint."""

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

from restgpt.calling.journal.claim import Claim, LostClaimError
from restgpt.calling.journal.journal import Journal
from restgpt.nodes.run.context import Context

CLAIM = "restgpt_claim"
"""The key in a node's `configurable` under which it finds the claim of its run."""


def run_claim(number: int | None, store: BaseStore, runtime: Runtime[Context], config: RunnableConfig) -> Claim | None:
    """Return the claim of a run: that of its `number`, or the next one of its thread; None without checkpoints.

    A subgraph claims for itself: two of them may run at once in one thread. Raises `LostClaimError` for a run that is
    about to take its first claim, if another run has saved newer checkpoints since this one loaded its own.
    """
    configured = config.get("configurable", {})
    thread, place = configured.get("thread_id"), str(configured.get("checkpoint_ns", "")).rpartition("|")[0]
    if not thread or not isinstance(configured.get("__pregel_checkpointer"), BaseCheckpointSaver):
        return None
    journal = Journal(store, str(thread))
    return _first_claim(journal, place, runtime, config) if number is None else journal.run_claim(place, number)


def _first_claim(journal: Journal, place: str, runtime: Runtime[Context], config: RunnableConfig) -> Claim:
    """Take the first claim of a run, unless another run has moved the thread on since this run loaded it."""
    # Before the claim, so that a run that is late takes nothing from the other one; and after it, because the run may
    # have been stopped in between.
    _check_is_newest(place, runtime, config)
    claim = journal.run_claim(place)
    _check_is_newest(place, runtime, config)
    return claim


def _check_is_newest(place: str, runtime: Runtime[Context], config: RunnableConfig) -> None:
    """Raise `LostClaimError` if the thread has newer checkpoints; not for a run that was given an old one to start."""
    configured, loaded = config.get("configurable", {}), runtime.execution_info
    if loaded is None or config.get("metadata", {}).get("checkpoint_id"):
        return
    thread: RunnableConfig = {"configurable": {"thread_id": configured["thread_id"], "checkpoint_ns": place}}
    newest = configured["__pregel_checkpointer"].get_tuple(thread)
    if newest is not None and newest.checkpoint["id"] > loaded.checkpoint_id:
        raise LostClaimError
