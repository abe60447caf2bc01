"""Fences the runs of a thread: a run stops as soon as a newer one of the same thread has begun, on any machine.

The first node of a run takes the next number of the thread, and a channel that no checkpoint holds keeps it for the
other nodes. A run that was stopped, and goes on after another run has taken over, ends at its current node: that node
sends no change, and saves no checkpoint that would take the thread back.
"""

from collections.abc import Callable
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime

from restgpt.nodes.run.context import Context
from restgpt.nodes.run.resources import RUN_CLAIM, Resources


def fenced(node: Callable[..., dict[str, Any]], resources: Resources, *, parallel: bool = False) -> Callable[..., Any]:
    """Wrap a node so that it runs under the claim of its run; raises `LostClaimError` once that is lost.

    `parallel` nodes may be several in one step: if they are the first of a run, they share its claim.
    """

    def in_run(state: Any, runtime: Runtime[Context], config: RunnableConfig) -> Any:
        claim = resources.run_claim(state.get("claim"), runtime, config, parallel=parallel)
        if claim is None:
            return node(state, runtime, config)
        configurable = {**config.get("configurable", {}), RUN_CLAIM: claim}
        try:
            update = node(state, runtime, {**config, "configurable": configurable})
        except GraphBubbleUp:
            claim.check()
            raise
        claim.check()
        return {**update, "claim": claim.number}

    return in_run
