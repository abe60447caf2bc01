"""Spans of OpenTelemetry, as the semantic conventions for GenAI and HTTP describe them.

A span is created only if the process has set a provider of OpenTelemetry; nothing here imports its packages, or any
other. A span has names, numbers and fixed words, and content only from `content.py`. It never has the text of an error.

The root span of a run of a graph, under which all spans of the run are.
"""

import sys
from asyncio import CancelledError
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

Kind = Literal["INTERNAL", "CLIENT"]

METHODS = frozenset(["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY"])
"""The methods that `http.request.method` may name; another one is `_OTHER` there."""


class Span:
    """A span, or none if the process does not use OpenTelemetry; all methods then do nothing."""

    def __init__(self, span: Any = None) -> None:
        self.span = span

    @property
    def is_recording(self) -> bool:
        """Whether what is set will be exported."""
        return self.span is not None and bool(self.span.is_recording())

    def set(self, attributes: Mapping[str, Any]) -> None:
        """Set attributes, without those that are None; a span that has ended takes none any more."""
        if self.is_recording:
            self.span.set_attributes(_known(attributes))

    def fail(self, error_type: str) -> None:
        """Mark the span as failed, with the type of the error and no description."""
        if self.is_recording:
            self.span.set_attribute("error.type", error_type)
            self.span.set_status(sys.modules["opentelemetry.trace"].StatusCode.ERROR)


NO_SPAN = Span()


def tracer() -> Any:
    """Return the tracer of this project; None if the process has set no provider."""
    trace = sys.modules.get("opentelemetry.trace")
    # Other libraries load the API of OpenTelemetry too; without a provider, its spans have no effect.
    if trace is None or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return None
    return trace.get_tracer("restgpt")


def is_interrupt(error: BaseException) -> bool:
    """Return whether an exception is no error, but LangGraph's way to end a node: a pause, a jump."""
    # The sandbox opens spans too, and runs where LangGraph is not installed.
    found = getattr(sys.modules.get("langgraph.errors"), "GraphBubbleUp", None)
    return found is not None and isinstance(error, found)


def type_name(error: BaseException) -> str:
    """Return the full name of an exception's class, as `error.type` wants it."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


@contextmanager
def span(
    name: str,
    attributes: Mapping[str, Any],
    *,
    kind: Kind = "INTERNAL",
    error_type: Callable[[BaseException], str] = type_name,
) -> Iterator[Span]:
    """Open a span around a block; it fails with the type of the error that the block raises.

    The span records no exception, because its text may be confidential. An interrupt of LangGraph is not an error.
    """
    found = tracer()
    if found is None:
        yield NO_SPAN
        return
    with found.start_as_current_span(
        name,
        kind=sys.modules["opentelemetry.trace"].SpanKind[kind],
        attributes=_known(attributes),
        record_exception=False,
        set_status_on_exception=False,
    ) as opened:
        current = Span(opened)
        try:
            yield current
        except BaseException as error:
            if not is_interrupt(error):
                current.fail(error_type(error))
            raise


@contextmanager
def tool_span(tool: str, *, kind: Literal["function", "extension"], call_id: str | None = None) -> Iterator[Span]:
    """Open the span of a tool's execution: an `extension` calls an API, a `function` runs code here."""
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "gen_ai.tool.type": kind,
        "gen_ai.tool.call.id": call_id,
    }
    with span(f"execute_tool {tool}", attributes) as current:
        yield current


@contextmanager
def http_span(method: str, host: str, port: int, *, template: str = "", resends: int = 0) -> Iterator[Span]:
    """Open the span of one HTTP request; `template` is the path as the API's document writes it.

    Meanwhile instrumentations of HTTP libraries create no spans of their own: these would hold the whole URL.
    """
    known = method if method in METHODS else "_OTHER"
    attributes = {
        "http.request.method": known,
        "http.request.method_original": None if known == method else method,
        "server.address": host,
        "server.port": port,
        "url.template": template or None,
        "http.request.resend_count": resends or None,
    }
    name = f"{'HTTP' if known == '_OTHER' else known} {template}".strip()
    with span(name, attributes, kind="CLIENT") as current, _without_http_instrumentation(current):
        yield current


@contextmanager
def _without_http_instrumentation(current: Span) -> Iterator[None]:
    context = sys.modules.get("opentelemetry.context")
    key = getattr(context, "_SUPPRESS_HTTP_INSTRUMENTATION_KEY", None)
    if current.span is None or context is None or key is None:
        yield
        return
    token = context.attach(context.set_value(key, True))
    try:
        yield
    finally:
        context.detach(token)


def answered(current: Span, status: int) -> None:
    """Set the status of a response on the span of its request, which fails from 400 on."""
    current.set({"http.response.status_code": status})
    if status >= 400:
        current.fail(str(status))


def _known(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}


RunKind = Literal["agent", "workflow"]
"""What a graph is to the conventions: an `agent` asks models, a `workflow` does not."""

_run: ContextVar["RunSpan | None"] = ContextVar("restgpt_run_span", default=None)


class RunSpan(Span):
    """The root span of a run; it is the current span only while the graph itself runs."""

    is_paused = False

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make this the current span, while the graph itself runs."""
        token = _run.set(self)
        trace = sys.modules["opentelemetry.trace"]
        try:
            with trace.use_span(self.span, record_exception=False, set_status_on_exception=False):
                yield
        finally:
            _run.reset(token)

    @contextmanager
    def ending(self) -> Iterator[None]:
        """End the span with the status of the run."""
        status = "failed"
        try:
            yield
            status = "paused" if self.is_paused else "done"
        except (GeneratorExit, CancelledError, KeyboardInterrupt):
            status = "stopped"
            raise
        except BaseException as error:
            if is_interrupt(error):
                status = "paused"
            else:
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


def run_span(kind: RunKind, name: str, config: Any) -> RunSpan | None:
    """Open the root span of a run of the graph `name`; None if the process does not use OpenTelemetry."""
    found = tracer()
    if found is None:
        return None
    # Late, because a call without a graph is no run of one.
    from langchain_core.runnables.config import ensure_config

    operation = f"invoke_{kind}"
    attributes = {"gen_ai.operation.name": operation, f"gen_ai.{kind}.name": name}
    if thread := conversation(ensure_config(config)):
        attributes["gen_ai.conversation.id"] = thread
    return RunSpan(found.start_span(f"{operation} {name}", attributes=attributes))
