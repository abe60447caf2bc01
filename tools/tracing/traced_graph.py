"""A graph of which each run is one trace: a root span, under which all spans of the run are.

`invoke`, `ainvoke`, `batch`, `stream_events` and a LangGraph server all run a graph by its `stream` or `astream`.
"""

import sys
from asyncio import CancelledError
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing, closing, contextmanager
from contextvars import ContextVar
from typing import Any, Literal, Self

from langchain_core.runnables.config import ensure_config
from langgraph.errors import GraphBubbleUp
from langgraph.graph.state import CompiledStateGraph

from restgpt.tools.tracing.span import Span, tracer, type_name

Role = Literal["agent", "workflow"]

_END = object()
_run: ContextVar["_RunSpan | None"] = ContextVar("restgpt_run_span", default=None)


class TracedGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph that opens a span for each of its runs, if the process uses OpenTelemetry.

    An `agent` asks models, a `workflow` does not; the conventions have a name for each.
    """

    def __init__(self, *, traced_as: Role = "agent", **options: Any) -> None:
        super().__init__(**options)
        self.traced_as: Role = traced_as

    @classmethod
    def of(cls, graph: CompiledStateGraph[Any, Any, Any, Any], **options: Any) -> Self:
        """Return the same graph as one of this class, with further options of it."""
        return cls(**{name: value for name, value in vars(graph).items() if name != "__orig_class__"} | options)

    def stream(self, input: Any, config: Any = None, **options: Any) -> Iterator[Any]:
        """Run the graph as `CompiledStateGraph.stream` does."""
        parts = super().stream(input, config, **options)
        opened = _opened(self, config)
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
        opened = _opened(self, config)
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


class _RunSpan(Span):
    """The root span of a run; it is the current span only while the graph itself runs."""

    is_paused = False

    @contextmanager
    def current(self) -> Iterator[None]:
        token = _run.set(self)
        trace = sys.modules["opentelemetry.trace"]
        try:
            with trace.use_span(self.span, record_exception=False, set_status_on_exception=False):
                yield
        finally:
            _run.reset(token)

    @contextmanager
    def ending(self) -> Iterator[None]:
        status = "failed"
        try:
            yield
            status = "paused" if self.is_paused else "done"
        except GraphBubbleUp:
            status = "paused"
            raise
        except (GeneratorExit, CancelledError, KeyboardInterrupt):
            status = "stopped"
            raise
        except BaseException as error:
            self.fail(type_name(error))
            raise
        finally:
            self.set({"restgpt.status": status})
            self.span.end()


def note_pause() -> None:
    """Note on the root span that the run pauses."""
    if (run := _run.get()) is not None:
        run.is_paused = True


def note_provider(provider: str) -> None:
    """Note on the root span the provider of the model that the run asks."""
    if (run := _run.get()) is not None:
        run.set({"gen_ai.provider.name": provider})


def conversation(config: Mapping[str, Any]) -> str | None:
    """Return the thread of a run, which the conventions call its conversation."""
    thread = config.get("configurable", {}).get("thread_id")
    return str(thread) if thread else None


def _opened(graph: TracedGraph, config: Any) -> _RunSpan | None:
    found = tracer()
    if found is None:
        return None
    operation, name = f"invoke_{graph.traced_as}", graph.get_name()
    attributes = {"gen_ai.operation.name": operation, f"gen_ai.{graph.traced_as}.name": name}
    if thread := conversation(ensure_config(config)):
        attributes["gen_ai.conversation.id"] = thread
    return _RunSpan(found.start_span(f"{operation} {name}", attributes=attributes))
