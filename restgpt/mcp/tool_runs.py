"""Runs of graphs as threads of a server: a recipe, or the whole agent on an instruction.

What a client gives was written by a model of its host, so nothing of it counts as the words of the user.

The watch over one request: its client hears that it goes on, and it ends when the client is gone.

Commands of `restgpt` for the shell of a person, which has neither the folder nor the environment of the server.

The result of a tool, without the protocol: as a text, and as data.

Foreseen errors as texts of a tool, which a model can act on or pass on to a person.
"""

import json
import shlex
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import anyio
import anyio.from_thread
from langchain_core.messages import AnyMessage
from langgraph.errors import GraphRecursionError
from mcp.server.context import ServerRequestContext

from restgpt.client import begun_state, resuming
from restgpt.graph.build import build_graph, recursion_limit
from restgpt.graph.persistence import Persistence, thread_config
from restgpt.graph.recipe_graph import build_recipe, narrowed
from restgpt.host.preview import Preview, result_uri
from restgpt.nodes.run.services import Services
from restgpt.outcome import Pending
from restgpt.recipes.recipe import recipe_of_json
from restgpt.specs import SpecError, UnknownOperationError
from restgpt.threads import ThreadRecord, instruction_message
from restgpt.tools.errors import INSIST, ArgumentError, RestgptError, name_and_place
from restgpt.tools.http.cancellation import Cancellation, CancelledRunError, cancellable
from restgpt.tools.request.arguments import validate
from restgpt.tools.settings import Settings
from restgpt.tools.text.redaction import sent_before, sentence, text_without_secrets


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


@dataclass(frozen=True, slots=True)
class Said:
    """The result of a tool: a text, whether it is an error, and facts for programs.

    `seen` is the preview that the text was made of, if it was: it has the result as data, its image, and where it goes
    on.
    """

    text: str
    is_error: bool = False
    seen: Preview | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def link(self) -> str:
        """The URI at which a result goes on that its preview does not show whole; empty without one."""
        seen = self.seen
        return (
            "" if seen is None or seen.is_whole or not seen.handle else result_uri(seen.handle, seen.pointer, seen.page)
        )

    def structured(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result as data; the body is in it only if it is whole and fits the schema, else the text."""
        found = {"status": "done", **(self.seen.structured if self.seen else {}), **self.facts}
        if "body" in found and not validate(found["body"], answer, ""):
            return found
        return {**{name: item for name, item in found.items() if name != "body"}, "text": self.text}


MOST_CHARACTERS = 4_000
"""The most characters of an error's text, which may repeat an argument."""


def foreseen() -> tuple[type[BaseException], ...]:
    """Return the errors that `explained` has a text for; those of PostgreSQL's driver only if it is in use."""
    driver = sys.modules.get("psycopg")
    lost = () if driver is None else (driver.Error,)
    return (RestgptError, SpecError, UnknownOperationError, GraphRecursionError, sqlite3.Error, *lost)


def explained(error: BaseException) -> str:
    """Return what happened and what to do; never the text of a driver's error, which may name a password."""
    if isinstance(error, UnknownOperationError):
        return f"{_sentence(error)} Search operations with `find_operations`."
    if isinstance(error, ArgumentError):
        example = f" Valid arguments are, for example: {json.dumps(error.example, ensure_ascii=False)}"
        insist = f" {INSIST}" if error.claims else ""
        return f"{_sentence(error)} Nothing was sent.{example if error.example else ''}{insist}"
    if isinstance(error, GraphRecursionError):
        return "The run reached the recursion limit of its graph. Give a smaller instruction."
    if isinstance(error, RestgptError | SpecError):
        return _sentence(error)
    sent = sent_before(error)
    return (
        f"The database of the threads failed ({type(error).__name__}). Check that it can be reached and has space. "
        f"Call `pending` without a handle to see the state of your calls.{f' {sent}' if sent else ''}"
    )


def unforeseen(error: BaseException) -> str:
    """Return the text about an error that nobody foresaw, with its type and place; its own text stays here."""
    return (
        f"restgpt failed with an unforeseen error, {name_and_place(error)}: a bug in restgpt. Call `pending` without a "
        "handle to see the state of your calls."
    )


def _sentence(error: BaseException) -> str:
    text = text_without_secrets(str(error)).strip() or type(error).__name__
    if len(text) > MOST_CHARACTERS:
        text = f"{text[:MOST_CHARACTERS]}…"
    return sentence(text, error)
