"""The root span of a run of a graph, under which all spans of the run are."""

import sys
from asyncio import CancelledError
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

from restgpt.tools.tracing.span import Span, is_interrupt, tracer, type_name

Kind = Literal["agent", "workflow"]
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


def run_span(kind: Kind, name: str, config: Any) -> RunSpan | None:
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
