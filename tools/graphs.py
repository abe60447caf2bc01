"""A thread pool for nodes under asyncio, so that they do not fill the default executor of the host.

LangGraph runs synchronous nodes and routers in the default executor of the event loop. That executor has six threads
on two cores, and the host needs it too, for example to resolve names. `run_in_threads` runs the nodes of a graph in a
separate pool. `on_loop` runs a router on the event loop itself, because a router only reads the state. A node in the
pool ends before its next request if its caller was cancelled.

Our compiled graphs: a run of each is one trace, and one with a checkpointer is kept durably as well.

A graph as a LangGraph server loads it: it also checks the settings of a run, and its schema names the APIs.
"""

import asyncio
import os
from asyncio import CancelledError
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, closing
from contextvars import copy_context
from functools import partial, wraps
from typing import Any, NamedTuple, ParamSpec, Self, TypeVar
from uuid import uuid4

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.runnables.config import ensure_config, run_in_executor
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.base import id as checkpoint_id
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphBubbleUp
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Durability, StateSnapshot
from langgraph_sdk.runtime import ServerRuntime

from restgpt.tools.errors import SettingsError
from restgpt.tools.http.cancellation import Cancellation, CancelledRunError, cancellable, cancellation, pause
from restgpt.tools.settings import ServerAccess, Settings
from restgpt.tools.settings.environment import concurrency_from_env
from restgpt.tools.settings.settings import checked_settings, offering_apis
from restgpt.tools.tracing.span import RunKind, run_span

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class ThreadPool:
    """A pool of at most `size` threads, each started when it is first needed; safe to use from several event loops.

    Without `size` the pool has the size in `RESTGPT_CONCURRENCY`, which is read when the pool is first used.
    """

    def __init__(self, size: int | None = None) -> None:
        if size is not None and size < 1:
            raise ValueError(f"concurrency must be a whole number above zero, not {size}.")
        self._size = size
        # By process id, because a forked child has no threads of its parent.
        self._pools: dict[int, ThreadPoolExecutor] = {}

    async def run(
        self, function: Callable[Arguments, Result], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Run a function in one of the threads, with the context variables of the caller.

        If the caller is cancelled, a function that waits for a thread is never started, and a running one is
        cancelled (`tools.http.cancellation`).
        """
        work = Cancellation()
        with cancellable(work):
            context = copy_context()
        try:
            return await run_in_executor(self._pool(), partial(context.run, function, *args, **kwargs))
        except CancelledError:
            work.cancel()
            raise

    def _pool(self) -> ThreadPoolExecutor:
        process = os.getpid()
        if process not in self._pools:
            size = self._size or concurrency_from_env()
            self._pools.setdefault(process, ThreadPoolExecutor(size, thread_name_prefix="restgpt"))
        return self._pools[process]


SHARED = ThreadPool()
"""The pool of all graphs that are built without `concurrency`."""


class WaitBelow(GraphBubbleUp):
    """A node raises this to be run again after that many seconds, in which it takes no thread under asyncio."""


class ThreadedNode(Runnable[Any, Any]):
    """A node that `invoke` runs in the caller's thread and `ainvoke` in one of `threads`, with the same code."""

    def __init__(self, node: Runnable[Any, Any], threads: ThreadPool) -> None:
        self.name = node.get_name()
        self._node = node
        self._threads = threads

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the node in the caller's thread."""
        while True:
            try:
                return self._node.invoke(input, config, **kwargs)
            except WaitBelow as wait:
                pause(*wait.args)
                if cancellation().is_cancelled:
                    raise CancelledRunError from None

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the node in a thread of the pool."""
        while True:
            try:
                return await self._threads.run(self._node.invoke, input, config, **kwargs)
            except WaitBelow as wait:
                await asyncio.sleep(*wait.args)


def run_in_threads(builder: StateGraph[Any, Any, Any, Any], concurrency: int | None = None) -> None:
    """Make the nodes added so far run in a thread pool under asyncio; call it before the graph is compiled.

    With `concurrency` the graph has its own pool of that size, else it shares the pool of the process. Raises
    `ValueError` for a `concurrency` below one.
    """
    threads = SHARED if concurrency is None else ThreadPool(concurrency)
    for spec in builder.nodes.values():
        if isinstance(spec.runnable, Runnable):
            spec.runnable = ThreadedNode(spec.runnable, threads)


def on_loop(router: Callable[[Any], Result]) -> Runnable[Any, Result]:
    """Make a router that runs on the event loop under asyncio, so it must not block."""

    @wraps(router)
    async def route(state: Any) -> Result:
        return router(state)

    return RunnableLambda(router, route)


_END = object()


def own_thread() -> RunnableConfig | None:
    """Return the config of a run outside of any graph: a thread of its own, for the journal and the checkpointer."""
    has_thread = ensure_config().get("configurable", {}).get("thread_id")
    return None if has_thread else {"configurable": {"thread_id": uuid4().hex}}


class TracedGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph that opens a span for each of its runs, if the process uses OpenTelemetry.

    `invoke`, `ainvoke`, `batch`, `stream_events` and a LangGraph server all run a graph by its `stream` or `astream`.
    """

    def __init__(self, *, traced_as: RunKind = "agent", **options: Any) -> None:
        super().__init__(**options)
        self.traced_as: RunKind = traced_as

    @classmethod
    def of(cls, graph: CompiledStateGraph[Any, Any, Any, Any], **options: Any) -> Self:
        """Return the same graph as one of this class, with further options of it."""
        return cls(**{name: value for name, value in vars(graph).items() if name != "__orig_class__"} | options)

    def stream(self, input: Any, config: Any = None, **options: Any) -> Iterator[Any]:
        """Run the graph as `CompiledStateGraph.stream` does."""
        parts = super().stream(input, config, **options)
        opened = run_span(self.traced_as, self.get_name(), config)
        if opened is None:
            yield from parts
            return
        with opened.ending(), closing(parts):  # type: ignore[type-var]
            while True:
                # Between two parts the span is not the current one: the code there is the consumer's.
                with opened.current():
                    part = next(parts, _END)
                if part is _END:
                    return
                yield part

    async def astream(self, input: Any, config: Any = None, **options: Any) -> AsyncIterator[Any]:
        """Run the graph as `CompiledStateGraph.astream` does."""
        parts: Any = super().astream(input, config, **options)
        opened = run_span(self.traced_as, self.get_name(), config)
        if opened is None:
            async with aclosing(parts):
                async for part in parts:
                    yield part
            return
        with opened.ending():
            async with aclosing(parts):
                while True:
                    with opened.current():
                        part = await anext(parts, _END)
                    if part is _END:
                        return
                    yield part


class Reopened(NamedTuple):
    """A question that is opened again: the update of the state, the node that it counts for, and the answer."""

    update: dict[str, Any]
    node: str
    answer: "Command[Any]"


class DurableGraph(TracedGraph):
    """A compiled graph with a checkpointer of any kind; without one it runs as usual.

    Its default durability is `sync`, and its checkpoints get greater ids than those that the thread has. LangGraph's
    default keeps a checkpoint while the next node runs already, and makes its id from the clock of the machine: a run
    that is killed in between would draft a call again that it has sent, and a machine whose clock is behind would write
    checkpoints that count as old. Servers such as aegra pass no other durability, and checkpointers of their own.

    `reopen` looks at the state and the answer with which a run is resumed, and may open a question for the answer. Its
    third argument says that the answer is this graph's own, and not that of a graph around it.
    """

    def __init__(
        self, *, reopen: Callable[[StateSnapshot, Any, bool], Reopened | None] | None = None, **options: Any
    ) -> None:
        super().__init__(**options)
        self.reopen = reopen

    def stream(
        self, input: Any, config: Any = None, *, durability: Durability | None = None, **options: Any
    ) -> Iterator[Any]:
        """Run the graph as `CompiledStateGraph.stream` does."""
        self._follow(config)
        answer = self._answer(input, config)
        if self.reopen and answer is not None:
            found = self.reopen(self.get_state(config), answer, isinstance(input, Command))
            if found is not None:
                saved = self.update_state(config, found.update, as_node=found.node)
                input, config = _answered(found, input), _at(saved, config)
        yield from super().stream(input, config, durability=self._durability(durability, config), **options)

    async def astream(
        self, input: Any, config: Any = None, *, durability: Durability | None = None, **options: Any
    ) -> AsyncIterator[Any]:
        """Run the graph as `CompiledStateGraph.astream` does."""
        await self._afollow(config)
        answer = self._answer(input, config)
        if self.reopen and answer is not None:
            found = self.reopen(await self.aget_state(config), answer, isinstance(input, Command))
            if found is not None:
                saved = await self.aupdate_state(config, found.update, as_node=found.node)
                input, config = _answered(found, input), _at(saved, config)
        parts: Any = super().astream(input, config, durability=self._durability(durability, config), **options)
        async with aclosing(parts) as opened:
            async for part in opened:
                yield part

    def _answer(self, given: Any, config: Mapping[str, Any] | None) -> Any:
        """Return the answer with which a run is resumed: its own, or as a subgraph its parent's; None without one."""
        configured = (config or {}).get("configurable") or {}
        if isinstance(given, Command):
            return given.resume if isinstance(self.checkpointer, BaseCheckpointSaver) else None
        scratchpad = configured.get("__pregel_scratchpad")
        is_kept = isinstance(configured.get("__pregel_checkpointer"), BaseCheckpointSaver)
        if scratchpad is None or not (is_kept and configured.get("__pregel_resuming")):
            return None
        return scratchpad.get_null_resume(False) or configured.get("__pregel_resume_map")

    def bulk_update_state(self, config: Any, supersteps: Any) -> RunnableConfig:
        """Update the state as `CompiledStateGraph.bulk_update_state` does."""
        self._follow(config)
        return super().bulk_update_state(config, supersteps)

    async def abulk_update_state(self, config: Any, supersteps: Any) -> RunnableConfig:
        """Update the state as `CompiledStateGraph.abulk_update_state` does."""
        await self._afollow(config)
        return await super().abulk_update_state(config, supersteps)

    def _follow(self, config: Mapping[str, Any] | None) -> None:
        if place := self._place(config):
            continue_after(self.checkpointer.get_tuple(place))  # type: ignore[union-attr]

    async def _afollow(self, config: Mapping[str, Any] | None) -> None:
        if place := self._place(config):
            continue_after(await self.checkpointer.aget_tuple(place))  # type: ignore[union-attr]

    def _place(self, config: Mapping[str, Any] | None) -> RunnableConfig | None:
        """Return the thread if others may have written it; in this process's memory, it has only ids of its own."""
        thread = ((config or {}).get("configurable") or {}).get("thread_id")
        is_outside = isinstance(self.checkpointer, BaseCheckpointSaver) and not isinstance(
            self.checkpointer, InMemorySaver
        )
        return {"configurable": {"thread_id": thread, "checkpoint_ns": ""}} if thread and is_outside else None

    def _durability(self, given: Durability | None, config: Mapping[str, Any] | None) -> Durability | None:
        # LangGraph fails with durability and no checkpointer, and a subgraph inherits what its parent's host chose.
        is_kept = isinstance(self.checkpointer, BaseCheckpointSaver)
        inherits = "__pregel_durability" in ((config or {}).get("configurable") or {})
        return "sync" if given is None and is_kept and not inherits else given


def _answered(found: Reopened, given: Any) -> Any:
    """Return the input of a run: a subgraph takes the answer from its parent."""
    return found.answer if isinstance(given, Command) else given


def _at(saved: RunnableConfig, config: Any) -> Any:
    """Return the config of a run that begins at a saved checkpoint; the newest one needs no name."""
    configured = config["configurable"]
    if not configured.get("checkpoint_id"):
        return config
    return {**config, "configurable": {**configured, "checkpoint_id": saved["configurable"]["checkpoint_id"]}}


def continue_after(newest: CheckpointTuple | None) -> None:
    """Let this process give checkpoints greater ids than the newest one, as LangGraph does after an id of its own."""
    try:
        written = checkpoint_id.UUID(str(newest and newest.config["configurable"]["checkpoint_id"]))
    except ValueError:
        # No checkpoint, or one of another version of LangGraph, whose ids have another order.
        return
    if written.version == 6:
        # The time of the last id that this process gave; LangGraph has no public way to set it.
        clock: Any = checkpoint_id
        clock._last_v6_timestamp = max(clock._last_v6_timestamp or 0, written.time)


class ServedGraph(DurableGraph):
    """A compiled graph that is its own factory; its context schema is a pydantic model.

    A server silently leaves out settings that a graph does not have. It calls a graph that is callable first, as a
    factory: for a run with all its settings, and for each look at the schemas, so that no file is read before somebody
    asks. The streams `values` and `updates` of a run show only the output and the keys `shown` of the state.
    """

    def __init__(self, *, shown: Sequence[str] = (), **options: Any) -> None:
        super().__init__(**options)
        self.shown = shown

    async def __call__(self, runtime: ServerRuntime[Any]) -> "ServedGraph":
        """Give the graph for one request of the server; raises `SettingsError` if a run's settings cannot be used."""
        execution, schema = runtime.execution_runtime, self.context_schema
        if schema is None:
            return self
        if execution is not None and isinstance(execution.context, Mapping):
            # A `RemoteGraph` that is a node passes flags of its host's LangGraph, which the server takes for settings.
            checked_settings(schema, {k: v for k, v in execution.context.items() if not k.startswith("__pregel_")})
            # What an assistant or a run brings is a client's: also who may not change a system assistant can run one.
            ServerAccess.from_env().check_run(execution.context)
        if runtime.access_context == "assistants.read":
            return self.copy({"context_schema": offering_apis(schema, await _configured_apis())})
        return self

    async def astream(
        self, input: Any, config: Any = None, *, output_keys: Any = None, **options: Any
    ) -> AsyncIterator[Any]:
        """Run the graph as `DurableGraph.astream` does, with the shown keys where the server asks for the output."""
        if output_keys == self.output_channels:
            output_keys = [*self.output_channels, *self.shown]
        async with aclosing(super().astream(input, config, output_keys=output_keys, **options)) as parts:  # type: ignore[type-var]
            async for part in parts:
                yield part

    def _durability(self, given: Durability | None, config: Mapping[str, Any] | None) -> Durability | None:
        # LangGraph's server passes `async` for a client that chose nothing.
        return super()._durability(None if given == "async" else given, config)


async def _configured_apis() -> list[str]:
    """Return the names of the APIs in `apis.yaml`; none if it is faulty, because the error belongs to the runs."""
    try:
        settings = await SHARED.run(Settings.from_env)
    except SettingsError:
        return []
    return list(settings.apis)
