"""The arguments of a host's own tools, checked before anything is begun: a sentence for the model about each problem.

The definitions are short, since every client's model reads them. So what their schemas leave out is said here: a text
that is required is not blank, texts and lists are bounded, and numbers begin at one. Clients write some types in
another way, so what is converted without loss is taken: null for nothing, a number or an object as text.

The place of a tool's call in the checkpoints of the graph that calls the tool.

LangGraph numbers the graphs that a node calls in the order of their starts, and gives an answer without an id to the
first question that the node asks. A node that runs several tools at once, such as LangGraph's `ToolNode`, may start
them in another order when it resumes: a person's approval of one change would then count for another. So a call has a
place named after its arguments, and gets such an answer only if its question is the one that the person was shown.

A node under asyncio ends at the first error of its tools, and a pause is one: the calls that are still under way are
cancelled, among them the one whose question was just answered. So an error leaves a call only after the other calls.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from hashlib import sha256
from threading import Lock
from typing import Any
from unicodedata import category
from weakref import WeakKeyDictionary

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from restgpt.host.definitions import CHANGE, READ, Definition
from restgpt.tools.errors import RepairableError
from restgpt.tools.request.arguments import coerce, without_nulls

LONG = frozenset({"code", "instruction"})
"""The names of the texts that may have `MOST_LONG` characters; all others have at most `MOST_CHARACTERS`."""

MOST_LONG, MOST_CHARACTERS = 65_536, 4_096

MOST_ITEMS = 100
"""The most items of a list."""

_WANTED = {"string": "a text", "integer": "a whole number from 1", "object": "an object", "array": "a list of texts"}
_LAYOUT = frozenset("\t\n\r\f")


class ToolArgumentError(RepairableError):
    """The arguments are not those that the tool takes; the message has a clause about each."""

    def __init__(self, name: str, problems: Sequence[str]) -> None:
        super().__init__(f"The arguments of the tool {name} do not fit: {'; '.join(problems)}. Nothing was sent.")


def in_types(schema: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments in the types of a schema, without loss; nulls that it does not allow are left out."""
    return dict(coerce(without_nulls(dict(given), schema), schema, schema))


def taken_arguments(definition: Definition, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments in the types of a tool's schema; raises `ToolArgumentError` for wrong ones."""
    schema = definition.input_schema
    given = in_types(schema, given)
    required = schema.get("required", ())
    problems = [
        f"{name} is missing: {_WANTED[part['type']]} is wanted"
        for name, part in schema["properties"].items()
        if name in required and name not in given
    ]
    if definition.name not in (READ, CHANGE):
        # Of a call, what is beside `arguments` may be the operation's own.
        problems += [
            f"{name} is unknown: it takes {', '.join(schema['properties'])}"
            for name in given
            if name not in schema["properties"]
        ]
    for name, part in schema["properties"].items():
        if name in given:
            problems += _problems(name, part, given[name], is_required=name in required)
    if problems:
        raise ToolArgumentError(definition.name, problems[:5])
    return given


def _problems(name: str, schema: Mapping[str, Any], value: Any, *, is_required: bool) -> Iterator[str]:
    wanted = _WANTED[schema["type"]]
    match schema["type"], value:
        case "string", str():
            yield from _of_text(name, value, is_required=is_required)
        case "integer", int() | float() if not isinstance(value, bool) and value == value // 1:
            if value < 1:
                yield f"{name} must be {wanted}, not below"
            elif value > schema.get("maximum", value):
                yield f"{name} must be at most {schema['maximum']}"
        case "object", Mapping():
            pass
        case "array", list() if len(value) > MOST_ITEMS:
            yield f"{name} has {len(value):,} items, and at most {MOST_ITEMS} are taken"
        case "array", []:
            yield f"{name} is empty: {wanted} is wanted"
        case "array", list():
            for number, item in enumerate(value):
                yield from _problems(f"{name}[{number}]", schema["items"], item, is_required=True)
        case _:
            yield f"{name} must be {wanted}, not {_kind(value)}"


def _of_text(name: str, text: str, *, is_required: bool) -> Iterator[str]:
    most = MOST_LONG if name in LONG else MOST_CHARACTERS
    if len(text) > most:
        yield f"{name} has {len(text):,} characters, and at most {most:,} are taken"
    elif not text.strip() and (is_required or text):
        yield f"{name} is empty: a text is wanted"
    else:
        bad = (at for at, sign in enumerate(text, 1) if category(sign) in ("Cc", "Cs") and sign not in _LAYOUT)
        if at := next(bad, 0):
            yield f"{name} must be a text without control characters, and character {at} is U+{ord(text[at - 1]):04X}"


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number" if isinstance(value, int) else "a number with a fraction"
        case str():
            return "a text"
        case Mapping():
            return "an object"
        case _:
            return "a list"


INTERRUPT = "__interrupt__"
"""The channel of the questions in the writes of a checkpoint."""


@dataclass(frozen=True, slots=True)
class CallPlace:
    """The place of one call in the checkpoints of the host's thread."""

    configurable: Mapping[str, Any]
    name: str

    @property
    def has_answer(self) -> bool:
        """Whether the host was resumed with an answer that names no question."""
        return self._scratchpad.get_null_resume(False) is not None

    @property
    def saver(self) -> BaseCheckpointSaver[Any]:
        """The checkpointer of the host."""
        saver: BaseCheckpointSaver[Any] = self.configurable["__pregel_checkpointer"]
        return saver

    @property
    def shown(self) -> RunnableConfig:
        """The checkpoint that has the questions which the person was shown."""
        outer = str(self.configurable["checkpoint_ns"]).rpartition("|")[0]
        number = self.configurable.get("checkpoint_map", {}).get(outer)
        return self._at(outer) if number is None else self._at(outer, checkpoint_id=number)

    @property
    def own(self) -> RunnableConfig:
        """The newest checkpoint of the call."""
        return self._at(self._namespace)

    def config(self, begun: CheckpointTuple | None, shown: CheckpointTuple | None) -> RunnableConfig:
        """Return the config of the call's graph, from the checkpoints `own` and, if `has_answer`, `shown`."""
        changed: dict[str, Any] = {"subgraph_counter": lambda: 0}
        if not _questions(begun) & _questions(shown):
            changed["get_null_resume"] = lambda consume=False: None
        scratchpad = replace(self._scratchpad, **changed)
        given = {"checkpoint_ns": self._namespace, "__pregel_scratchpad": scratchpad}
        return {"configurable": {**self.configurable, **given}}

    @property
    def _scratchpad(self) -> Any:
        return self.configurable["__pregel_scratchpad"]

    @property
    def _namespace(self) -> str:
        return f"{self.configurable['checkpoint_ns']}|{self.name}"

    def _at(self, namespace: str, **more: Any) -> RunnableConfig:
        return {"configurable": {"thread_id": self.configurable["thread_id"], "checkpoint_ns": namespace, **more}}


class _Execution:
    """The calls of one execution of a node. As a context of each call it holds back errors; cancellation is none."""

    def __init__(self) -> None:
        self._equal: Counter[str] = Counter()
        self._under_way = 0
        self._held: list[asyncio.Future[None]] = []
        self._lock = Lock()

    def number(self, digest: str) -> int:
        """Return the number of one more call among the equal ones, from 1."""
        with self._lock:
            self._equal[digest] += 1
            return self._equal[digest]

    async def __aenter__(self) -> None:
        with self._lock:
            self._under_way += 1

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        own = asyncio.get_running_loop().create_future()
        with self._lock:
            self._under_way -= 1
            if isinstance(error, Exception):
                self._held.append(own)
            freed, self._held = (self._held, []) if not self._under_way else ([], self._held)
        for held in freed:
            if not held.done():
                held.get_loop().call_soon_threadsafe(_release, held)
        if isinstance(error, Exception):
            await own


class CallPlaces:
    """Gives each call of a tool its place: equal calls of one node are numbered."""

    def __init__(self) -> None:
        # The key is a function of LangGraph's own that exists once for each execution of a node.
        self._executions: WeakKeyDictionary[Any, _Execution] = WeakKeyDictionary()
        self._lock = Lock()

    def place(self, configurable: Mapping[str, Any], tool: str, given: Mapping[str, Any]) -> CallPlace | None:
        """Return the place of a call; None outside of a graph with a checkpointer."""
        scratchpad = configurable.get("__pregel_scratchpad")
        if scratchpad is None or not isinstance(configurable.get("__pregel_checkpointer"), BaseCheckpointSaver):
            return None
        written = json.dumps(given, sort_keys=True, default=str)
        digest = sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return CallPlace(configurable, f"{tool}:{digest}-{self._execution(scratchpad).number(digest)}")

    def together(self, configurable: Mapping[str, Any]) -> AbstractAsyncContextManager[None]:
        """Return a context that lets an error of a call, such as a pause, out once no call of the node is under way."""
        scratchpad = configurable.get("__pregel_scratchpad")
        return nullcontext() if scratchpad is None else self._execution(scratchpad)

    def _execution(self, scratchpad: Any) -> _Execution:
        with self._lock:
            return self._executions.setdefault(scratchpad.get_null_resume, _Execution())


def _release(held: asyncio.Future[None]) -> None:
    if not held.done():
        held.set_result(None)


def _questions(found: CheckpointTuple | None) -> set[str]:
    writes = (found.pending_writes or ()) if found is not None else ()
    return {question.id for _, channel, asked in writes if channel == INTERRUPT for question in asked}
