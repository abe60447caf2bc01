"""Observability of a run: one structured log event per node and request, and OpenTelemetry spans.

An event is the attribute `event` of a standard log record. Spans are created only if the process has set an
OpenTelemetry provider (as `opentelemetry-instrument` does); this module does not import it. Events and spans contain no
arguments, bodies, URLs or texts of errors.
"""

import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import wraps
from types import MappingProxyType
from typing import Any, TypeVar

from langchain_core.runnables.config import ensure_config
from langgraph.errors import GraphBubbleUp

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
        with span(f"restgpt.{name}", place) as current:
            try:
                yield
                status = "done"
            except GraphBubbleUp:
                status = "paused"
                raise
            except BaseException as error:
                fault = type(error).__name__
                raise
            finally:
                for key, value in {"status": status, **facts}.items():
                    current.set_attribute(f"restgpt.{key}", value)
    finally:
        _facts.reset(facts_token)
        _node_context.reset(token)
        ms = round((time.monotonic() - started) * 1000)
        event = {**place, "status": status, "ms": ms, **facts, **({"fault": fault} if fault else {})}
        log.info("node %s %s %s ms", name, status, ms, extra={"event": event})


def span(name: str, attributes: Mapping[str, Any]) -> AbstractContextManager[Any]:
    """An OpenTelemetry span around a block; a null span if the process does not use OpenTelemetry.

    The span records no exception: its text may be confidential, and an interrupt is not an error.
    """
    trace = sys.modules.get("opentelemetry.trace")
    # Other libraries load the API of OpenTelemetry too; without a provider, its spans have no effect.
    if trace is None or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return nullcontext(_NoSpan())
    known = {f"restgpt.{key}": value for key, value in attributes.items() if value is not None}
    tracer = trace.get_tracer("restgpt")
    opened: AbstractContextManager[Any] = tracer.start_as_current_span(
        name, attributes=known, record_exception=False, set_status_on_exception=False
    )
    return opened


class _NoSpan:
    """A null span."""

    def set_attribute(self, name: str, value: Any) -> None:
        """Do nothing."""
