"""Runs of graphs as threads of a server: a recipe, or the whole agent on an instruction.

What a client gives was written by a model of its host, so nothing of it counts as the words of the user.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

from langchain_core.messages import AnyMessage, HumanMessage

from restgpt.client import begun_state, resuming
from restgpt.graph.build import build_graph, recursion_limit
from restgpt.graph.persistence import Persistence, thread_config
from restgpt.graph.recipes.build import build_recipe, narrowed
from restgpt.nodes.dialogue.conversation import RELAYED, told_apis
from restgpt.nodes.run.services import Services
from restgpt.outcome import Pending
from restgpt.recipes.recipe import Recipe
from restgpt.tools.http.cancellation import Cancellation, CancelledRunError, cancellable


@dataclass(frozen=True, slots=True)
class Answer:
    """The end of a run: what it answered, or why it did not reach its end.

    `apis` are the ids and names of the APIs that answered in it, whose values the text may hold.
    """

    thread: str
    text: str
    ok: bool = True
    apis: Mapping[str, str] = field(default_factory=dict)


class Watch(Protocol):
    """Follows the steps of a run; `cancellation` tells whether the client takes no answer any more.

    `is_over` says that the answer was handed over to be sent.
    """

    cancellation: Cancellation
    is_over: bool

    def step(self, name: str) -> None:
        """Note that a node has ended."""


_WATCH: ContextVar[Watch | None] = ContextVar("restgpt_mcp_watch", default=None)


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Let a watch follow the runs that the block carries out."""
    before = _WATCH.set(watch)
    try:
        with cancellable(watch.cancellation):
            yield
    finally:
        _WATCH.reset(before)


def watching() -> Watch | None:
    """Return the watch of the request that is served; None outside of one."""
    return _WATCH.get()


@dataclass(frozen=True, slots=True)
class RunKind:
    """One kind of runs: how the graph and its input are made of what a run was given, and the answer of its state."""

    graph: Callable[[Mapping[str, Any]], Any]
    input: Callable[[Mapping[str, Any]], dict[str, Any]]
    answer: Callable[[str, Mapping[str, Any]], Answer]

    def begin(self, thread: str, given: Mapping[str, Any], seen: Sequence[AnyMessage] = ()) -> Pending | Answer:
        """Begin a run, up to its first pause or its end; `seen` tells which APIs the client's model has read."""
        made = self.input(given)
        return self._driven(self.graph(given), thread, {**made, "messages": [*seen, *made.get("messages", ())]})

    def standing(self, thread: str, given: Mapping[str, Any]) -> Pending | Answer:
        """Return the state of a run; a killed one goes on first. Raises `UnknownThreadError` if it never began."""
        graph = self.graph(given)
        snapshot = begun_state(graph, thread)
        if snapshot.tasks and not snapshot.interrupts:
            return self._driven(graph, thread, None)
        return self._standing(graph, thread)

    def decide(self, pending: Pending, decision: Mapping[str, Any], given: Mapping[str, Any]) -> Pending | Answer:
        """Answer exactly this question; raises `OutdatedDecisionError` if it is no longer open."""
        graph = self.graph(given)
        return self._driven(graph, pending.thread, resuming(graph, pending, decision))

    def _driven(self, graph: Any, thread: str, given: Any) -> Pending | Answer:
        watch = watching()
        for update in graph.stream(given, thread_config(thread), stream_mode="updates"):
            if watch is None:
                continue
            for name in update:
                watch.step(str(name).strip("_"))
            if watch.cancellation.is_cancelled:
                raise CancelledRunError
        return self._standing(graph, thread)

    def _standing(self, graph: Any, thread: str) -> Pending | Answer:
        snapshot = graph.get_state(thread_config(thread))
        if snapshot.interrupts:
            return Pending.of(snapshot.interrupts[0], thread=thread)
        return self.answer(thread, snapshot.values)


def recipe_runs(services: Services, kept: Persistence) -> RunKind:
    """Return the runs of recipes, which are given `recipe` as its JSON form and `inputs`."""

    def graph(given: Mapping[str, Any]) -> Any:
        recipe = Recipe.model_validate(given["recipe"])
        return build_recipe(recipe, services=narrowed(services, recipe), is_tool=True, **kept.saved)

    return RunKind(graph, lambda given: {"inputs": dict(given["inputs"])}, _of_agent)


def agent_runs(services: Services, kept: Persistence) -> RunKind:
    """Return the runs of the agent, which are given an `instruction`."""
    built = build_graph(services=services, **kept.saved)
    graph = built.with_config(recursion_limit=recursion_limit(services.defaults.max_steps))

    def message(given: Mapping[str, Any]) -> dict[str, Any]:
        return {"messages": [HumanMessage(given["instruction"], additional_kwargs={RELAYED: True})]}

    return RunKind(lambda given: graph, message, _of_agent)


def _of_agent(thread: str, values: Mapping[str, Any]) -> Answer:
    program = values.get("program") or {}
    is_fulfilled = values.get("decision", {}).get("fulfilled") is not False
    is_whole = program.get("writer") != "recipe" or program.get("end") in ("report", "unknown")
    apis = told_apis(values.get("messages", ()))
    return Answer(thread, str(values.get("answer", "")), ok=is_fulfilled and is_whole, apis=apis)
