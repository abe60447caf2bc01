"""Runs of graphs as threads of a server: a recipe, or the whole agent on an instruction.

What a client gives was written by a model of its host, so nothing of it counts as the words of the user.

The watch over one request: its client hears that it goes on, and it ends when the client is gone.

Commands of `restgpt` for the shell of a person, which has neither the folder nor the environment of the server.
"""

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import anyio
import anyio.from_thread
from langchain_core.messages import AnyMessage
from mcp.server.context import ServerRequestContext

from restgpt.client import begun_state, resuming
from restgpt.graph.build import build_graph, recursion_limit
from restgpt.graph.persistence import Persistence, thread_config
from restgpt.graph.recipe import build_recipe, narrowed
from restgpt.nodes.run.services import Services
from restgpt.outcome import Pending
from restgpt.recipes.recipe import recipe_of_json
from restgpt.threads import ThreadRecord, instruction_message
from restgpt.tools.http.cancellation import Cancellation, CancelledRunError, cancellable
from restgpt.tools.settings import Settings


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


Context = ServerRequestContext[Any, Any]

BEAT_S = 1.0
"""How often a client that asked for progress hears that its request goes on, in seconds."""

LOOK_S = 0.5
"""How often it is looked whether the client of a request is still there, in seconds."""


async def cancel_without_client(context: Context, cancellation: Cancellation) -> None:
    """Cancel the work of a request over HTTP once its client is gone: nobody reads the result."""
    request = context.request
    while request is not None and not cancellation.is_cancelled:
        await anyio.sleep(LOOK_S)
        if await request.is_disconnected():
            cancellation.cancel()


class RequestWatch:
    """Reports to the client that a request goes on, if it asked for progress, until the client takes no answer.

    It reports each step of a run, and each second of whatever takes longer: a client gives up what it hears nothing of.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._reports = 0
        self._last = "working"
        self.is_over = False
        self.cancellation = Cancellation()

    def step(self, name: str) -> None:
        """Report one more step; called in the thread of the run."""
        self._last = name
        if not self.cancellation.is_cancelled:
            anyio.from_thread.run(self._report)

    async def beat(self) -> None:
        """Report every second; ends with its group."""
        while not self.cancellation.is_cancelled:
            await anyio.sleep(BEAT_S)
            await self._report()

    async def _report(self) -> None:
        self._reports += 1
        await self._context.session.report_progress(float(self._reports), message=self._last)


@dataclass(frozen=True, slots=True)
class Shell:
    """The words before each command, and the names of the variables that the shell must have: never their values."""

    words: tuple[str, ...] = ("restgpt",)
    variables: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: Settings) -> "Shell":
        """Return the commands that use the home and the `apis.yaml` of these settings."""
        own = Path(sys.executable).with_name("restgpt")
        program = [str(own)] if own.exists() else [sys.executable, "-m", "restgpt"]
        file = settings.apis_file
        paths = {"RESTGPT_HOME": settings.home, **({"RESTGPT_APIS": file} if file else {})}
        return cls(
            ("env", *(f"{name}={path.absolute()}" for name, path in paths.items()), *program), settings.variables
        )

    @property
    def needs(self) -> str:
        """The sentence about the variables."""
        return f"Their shell must have the variables {', '.join(self.variables)}. " if self.variables else ""

    def line(self, *words: str) -> str:
        """Return a command, to be pasted into a shell."""
        return shlex.join([*self.words, *words])
