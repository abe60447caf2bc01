"""Observability of a run: one structured log event per node and request, and a span per node.

An event is the attribute `event` of a standard log record. Events contain no arguments, bodies, URLs or texts of
errors.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from types import MappingProxyType
from typing import Any, TypeVar

from restgpt.tools.tracing.run_span import conversation, note_pause
from restgpt.tools.tracing.span import is_interrupt, span

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
