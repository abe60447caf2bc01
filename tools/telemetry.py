"""What a run tells those who watch it: one structured log event per node and request, and spans for OpenTelemetry.

Events are in the attribute `event` of standard log records. Spans are made when the process itself has loaded
OpenTelemetry (as `opentelemetry-instrument` does); without it nothing is imported. Neither holds arguments, bodies,
URLs or the text of errors.
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
_here: ContextVar[Mapping[str, Any]] = ContextVar("restgpt_here", default=MappingProxyType({}))


def here() -> Mapping[str, Any]:
    """The thread, step and node that the current code runs in; empty outside a run."""
    return _here.get()


def observed(name: str, node: Callable[..., Update]) -> Callable[..., Update]:
    """The node with an event and a span for each of its runs."""

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
    token = _here.set(place)
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
                current.set_attribute("restgpt.status", status)
    finally:
        _here.reset(token)
        ms = round((time.monotonic() - started) * 1000)
        event = {**place, "status": status, "ms": ms, **({"fault": fault} if fault else {})}
        log.info("node %s %s %s ms", name, status, ms, extra={"event": event})


def span(name: str, attributes: Mapping[str, Any]) -> AbstractContextManager[Any]:
    """A span of OpenTelemetry around a block, nothing if the process does not use it.

    It is told of no exception: the text may hold anything, and a pause is no error.
    """
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return nullcontext(_NoSpan())
    known = {f"restgpt.{key}": value for key, value in attributes.items() if value is not None}
    tracer = trace.get_tracer("restgpt")
    opened: AbstractContextManager[Any] = tracer.start_as_current_span(
        name, attributes=known, record_exception=False, set_status_on_exception=False
    )
    return opened


class _NoSpan:
    """Stands in for a span."""

    def set_attribute(self, name: str, value: Any) -> None:
        """Do nothing."""
