"""Runs of graphs as threads of a server: a recipe, or the whole agent on an instruction.

What a client gives was written by a model of its host, so nothing of it counts as the words of the user.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

from langchain_core.messages import AnyMessage

from restgpt.client import begun_state, resuming
from restgpt.graph.build import build_graph, recursion_limit
from restgpt.graph.persistence import Persistence, thread_config
from restgpt.graph.recipes.build import build_recipe, narrowed
from restgpt.nodes.run.services import Services
from restgpt.outcome import Pending
from restgpt.recipes.recipe import recipe_of_json
from restgpt.threads import ThreadRecord, instruction_message
from restgpt.tools.http.cancellation import Cancellation, CancelledRunError, cancellable


@dataclass(frozen=True, slots=True)
class Answer:
    """The end of a run: what it answered, or why it did not reach its end.

    `messages` tell which APIs answered in it, whose values the text may hold.
    """

    thread: str
    text: str
    ok: bool = True
    messages: Sequence[AnyMessage] = ()


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
    """One kind of runs: how the graph and its input are made of the record of a thread, and the answer of its state."""

    graph: Callable[[ThreadRecord], Any]
    input: Callable[[ThreadRecord], dict[str, Any]]

    def begin(self, record: ThreadRecord, seen: Sequence[AnyMessage] = ()) -> Pending | Answer:
        """Begin a run, up to its first pause or its end; `seen` tells which APIs the client's model has read."""
        made = self.input(record)
        given = {**made, "messages": [*seen, *made.get("messages", ())]}
        return self._driven(self.graph(record), record.thread, given)

    def standing(self, record: ThreadRecord) -> Pending | Answer:
        """Return the state of a run; a killed one goes on first. Raises `UnknownThreadError` if it never began."""
        graph, thread = self.graph(record), record.thread
        snapshot = begun_state(graph, thread)
        if snapshot.tasks and not snapshot.interrupts:
            return self._driven(graph, thread, None)
        return self._standing(graph, thread)

    def decide(self, pending: Pending, decision: Mapping[str, Any], record: ThreadRecord) -> Pending | Answer:
        """Answer exactly this question; raises `OutdatedDecisionError` if it is no longer open."""
        graph = self.graph(record)
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
        return _answer(thread, snapshot.values)


def recipe_runs(services: Services, kept: Persistence) -> RunKind:
    """Return the runs of recipes, whose records have the recipe and its inputs."""

    def given(record: ThreadRecord) -> Mapping[str, Any]:
        return record.recipe or {}

    def graph(record: ThreadRecord) -> Any:
        recipe = recipe_of_json(given(record)["recipe"])
        return build_recipe(recipe, services=narrowed(services, recipe), is_tool=True, **kept.saved)

    return RunKind(graph, lambda record: {"inputs": dict(given(record)["inputs"])})


def agent_runs(services: Services, kept: Persistence) -> RunKind:
    """Return the runs of the agent, whose records have the instruction."""
    built = build_graph(services=services, **kept.saved)
    graph = built.with_config(recursion_limit=recursion_limit(services.defaults.max_steps))
    return RunKind(lambda record: graph, lambda record: {"messages": [instruction_message(record)]})


def _answer(thread: str, values: Mapping[str, Any]) -> Answer:
    program = values.get("program") or {}
    is_fulfilled = values.get("decision", {}).get("fulfilled") is not False
    is_whole = program.get("writer") != "recipe" or program.get("end") in ("report", "unknown")
    text, messages = str(values.get("answer", "")), values.get("messages", ())
    return Answer(thread, text, ok=is_fulfilled and is_whole, messages=messages)
