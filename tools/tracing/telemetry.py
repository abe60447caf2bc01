"""The content of spans: prompts, replies, arguments and answers, only if the user asks for it, and without secrets.

The export of traces for processes that RestGPT starts itself: the command line and its servers.

A host that imports RestGPT, and a LangGraph server, set a provider of OpenTelemetry themselves.

Observability of a run: one structured log event per node and request, and a span per node.

An event is the attribute `event` of a standard log record. Events contain no arguments, bodies, URLs or texts of
errors.
"""

import json
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

from restgpt.tools.errors import extra_command
from restgpt.tools.settings.environment import captures_content, exports_traces
from restgpt.tools.text.redaction import Redactor
from restgpt.tools.tracing.span import Span, conversation, is_interrupt, note_pause, span, tracer

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

MOST_CONTENT = 100_000
"""The maximum number of characters of one captured value."""

_redactor: ContextVar[Callable[[], Redactor] | None] = ContextVar("restgpt_content_redactor", default=None)


def set_content(
    current: Span, name: str, value: Callable[[], Any], redactor: Callable[[], Redactor] | None = None
) -> None:
    """Set an attribute of a span to a value as redacted text, if content is captured; what is no text becomes JSON.

    Without a `redactor`, that of the function `redacted_with` is used; without any, the value is not set.
    """
    redactor = redactor or _redactor.get()
    if redactor is None or not current.is_recording or not captures_content():
        return
    hidden = _without_secrets(value(), redactor())
    text = hidden if isinstance(hidden, str) else json.dumps(hidden, ensure_ascii=False, default=str)
    current.set({name: text[:MOST_CONTENT]})


def redacted_with(
    redactor: Callable[[], Redactor], function: Callable[Arguments, Result]
) -> Callable[Arguments, Result]:
    """Return the function so that the content of the spans inside it may be captured, redacted by this redactor."""

    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        token = _redactor.set(redactor)
        try:
            return function(*args, **kwargs)
        finally:
            _redactor.reset(token)

    return run


def _without_secrets(value: Any, redactor: Redactor) -> Any:
    if isinstance(value, str):
        return redactor.message(value)
    if isinstance(value, Mapping):
        hidden = redactor.json(value, by_name=True)
        return {name: _without_secrets(item, redactor) for name, item in hidden.items()}
    if isinstance(value, list | tuple):
        return [_without_secrets(item, redactor) for item in value]
    return value


tracing_log = logging.getLogger("restgpt.tracing")

MISSING = "No traces are exported, because the packages of OpenTelemetry are missing. Run: %s"


def export_traces() -> None:
    """Send the spans of this process by OTLP over HTTP, if the environment names a collector.

    A provider that the process has already is kept. The packages are imported only here. Spans that were not sent yet
    are sent when the process ends.
    """
    if not exports_traces() or tracer() is not None:
        return
    if not all(_is_installed(name) for name in ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")):
        tracing_log.warning(MISSING, extra_command("otel"))
        return
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    # The user's own name of the service, in OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES, comes last.
    resource = Resource.create({"service.name": "restgpt"}).merge(OTELResourceDetector().detect())
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def _is_installed(name: str) -> bool:
    try:
        return name in sys.modules or find_spec(name) is not None
    except ModuleNotFoundError:
        # A parent package is missing.
        return False


log = logging.getLogger("restgpt.nodes")

Update = TypeVar("Update")
_facts: ContextVar[dict[str, Any] | None] = ContextVar("restgpt_node_facts", default=None)
_node_context: ContextVar[Mapping[str, Any]] = ContextVar("restgpt_node_context", default=MappingProxyType({}))


def node_context() -> Mapping[str, Any]:
    """The thread, step and node of the current code; empty outside a run."""
    return _node_context.get()


def annotate(**facts: int | str) -> None:
    """Add facts to the event and the span of the running node: numbers and fixed words, never content."""
    current = _facts.get()
    if current is not None:
        current.update(facts)


def observed(name: str, node: Callable[..., Update]) -> Callable[..., Update]:
    """Wrap a node so that each of its runs logs an event and has a span."""

    @wraps(node)
    def watched(*args: Any, **kwargs: Any) -> Update:
        with _watching(name):
            return node(*args, **kwargs)

    return watched


@contextmanager
def _watching(name: str) -> Iterator[None]:
    # Late, because a call without a graph has no node.
    from langchain_core.runnables.config import ensure_config

    config = ensure_config()
    place = {
        "thread": str(config.get("configurable", {}).get("thread_id", "")),
        "step": config.get("metadata", {}).get("langgraph_step"),
        "node": name,
    }
    token = _node_context.set(place)
    facts: dict[str, Any] = {}
    facts_token = _facts.set(facts)
    started = time.monotonic()
    status, fault = "failed", ""
    try:
        with span(f"restgpt.{name}", _attributes(place, config)) as current:
            try:
                yield
                status = "done"
            except BaseException as error:
                if is_interrupt(error):
                    status = "paused"
                    note_pause()
                else:
                    fault = type(error).__name__
                raise
            finally:
                current.set({f"restgpt.{key}": value for key, value in {"status": status, **facts}.items()})
    finally:
        _facts.reset(facts_token)
        _node_context.reset(token)
        ms = round((time.monotonic() - started) * 1000)
        event = {**place, "status": status, "ms": ms, **facts, **({"fault": fault} if fault else {})}
        log.info("node %s %s %s ms", name, status, ms, extra={"event": event})


def _attributes(place: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "gen_ai.conversation.id": conversation(config),
        "restgpt.node": place["node"],
        "restgpt.step": place["step"],
    }
