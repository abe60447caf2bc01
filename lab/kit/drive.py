"""Runs an agent until its end, while somebody answers its questions, and counts what the run cost."""

from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from restgpt.graph.build import Graph
from restgpt.tools.errors import RestgptError

MOST_QUESTIONS = 1000
"""How often a run may ask: a program that tries again for ever asks until it may send no request any more."""

Decide = Callable[[dict[str, Any]], dict[str, Any]]
"""Gives the decision about one action of a question."""


class EndlessError(RestgptError):
    """A run asked again and again."""


def driven(graph: Graph, given: Any, config: RunnableConfig, decide: Decide, **options: Any) -> dict[str, Any]:
    """Run until the end, and return the state; raises what the run raises, and `EndlessError`."""
    for _ in range(MOST_QUESTIONS):
        graph.invoke(given, config, **options)
        state = graph.get_state(config)
        if not state.interrupts:
            return dict(state.values)
        decisions = {pause.id: [*map(decide, pause.value["action_requests"])] for pause in state.interrupts}
        given = Command(resume={key: {"decisions": made} for key, made in decisions.items()})
    raise EndlessError(f"the run asked more than {MOST_QUESTIONS} times")


def rejecting(action: dict[str, Any]) -> dict[str, Any]:
    """Decide as a person who knows nothing of the change."""
    return {"type": "reject"}


def spent(usage: Mapping[str, Any] | None) -> dict[str, int]:
    """Return what a run cost, by the usage in its state: calls of the model, tokens and requests."""
    usage = usage or {"roles": {}, "requests": 0}
    names = ("calls", "input_tokens", "output_tokens")
    summed = {name: sum(role[name] for role in usage["roles"].values()) for name in names}
    return {**summed, "requests": usage["requests"]}
