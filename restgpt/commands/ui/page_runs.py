"""The runs of this process: each in a thread of its own, with all its events, so that any tab can follow it."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from threading import Event, Lock, Thread
from typing import Any
from uuid import uuid4

from langchain_core.messages import BaseMessage

from restgpt.commands.terminal import UsageError, expected_errors, explain
from restgpt.tools.errors import name_and_place
from restgpt.tools.http.cancellation import Cancellation, CancelledRunError, cancellable

log = logging.getLogger("restgpt.cli")

Part = tuple[str, Any]
"""The name and the data of an event."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a run does: the parts of its stream, and how its thread is released in the end."""

    parts: Iterator[Part]
    release: Callable[[], None]


class Run:
    """One run; `status` is one of LangGraph's server."""

    def __init__(self, thread: str) -> None:
        self.id = str(uuid4())
        self.thread = thread
        self.status = "running"
        self.events: list[tuple[str, str]] = []
        self.cancellation = Cancellation()
        self.ended = Event()
        self._followers: set[Callable[[], None]] = set()

    def to_json(self) -> dict[str, str]:
        """Return the run as the page reads it."""
        return {"run_id": self.id, "thread_id": self.thread, "status": self.status}

    def tell(self, event: str, data: Any) -> None:
        """Add an event."""
        self.events.append((event, text_of(data)))
        self._wake()

    def end(self, status: str) -> None:
        """Note that nothing more comes."""
        self.status = status
        self.ended.set()
        self._wake()

    async def follow(self, after: int = -1) -> AsyncIterator[tuple[int, str, str]]:
        """Give number, name and data of each event after a number, up to the end of the run."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(changed.set)

        self._followers.add(wake)
        try:
            while True:
                changed.clear()
                is_last = self.ended.is_set()
                for number, (event, data) in enumerate(self.events[after + 1 :], after + 1):
                    after = number
                    yield number, event, data
                if is_last:
                    return
                await changed.wait()
        finally:
            self._followers.discard(wake)

    def _wake(self) -> None:
        for wake in tuple(self._followers):
            wake()


class Runs:
    """The runs of each thread, the newest first; of ended runs only the newest keeps its events."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._runs: dict[str, list[Run]] = {}

    def of(self, thread: str) -> list[Run]:
        """Return the runs of a thread, the newest first."""
        return list(self._runs.get(thread, ()))

    def get(self, thread: str, name: str) -> Run:
        """Return a run; raises `UsageError`."""
        found = next((run for run in self.of(thread) if run.id == name), None)
        if found is None:
            raise UsageError("There is no such run.")
        return found

    def is_running(self, thread: str) -> bool:
        """Return whether a run of this process goes on in a thread."""
        return any(not run.ended.is_set() for run in self.of(thread))

    @property
    def going(self) -> list[Run]:
        """The runs that go on."""
        return [run for runs in list(self._runs.values()) for run in runs if not run.ended.is_set()]

    def forget(self, thread: str) -> None:
        """Forget the runs of a thread that was deleted."""
        with self._lock:
            self._runs.pop(thread, None)

    def start(self, thread: str, work: Work) -> Run:
        """Start a run."""
        run = Run(thread)
        with self._lock:
            earlier = self._runs.setdefault(thread, [])
            for old in earlier:
                old.events = []
            earlier.insert(0, run)
        # A daemon, because a second Ctrl-C ends the process at once; the first one waits for it, in `stop`.
        Thread(target=_carry_out, args=(run, work), name=f"run of {thread}", daemon=True).start()
        return run

    def cancel(self) -> bool:
        """Stop all runs, each after its running model call or request, and return whether any goes on."""
        going = self.going
        for run in going:
            run.cancellation.cancel()
        return bool(going)

    def stop(self) -> None:
        """Stop all runs, and wait for them."""
        self.cancel()
        for run in self.going:
            run.ended.wait()


def _carry_out(run: Run, work: Work) -> None:
    status = "error"
    try:
        # Closing the parts ends the run, after the nodes that are at work.
        with cancellable(run.cancellation), closing(work.parts):  # type: ignore[type-var]
            for event, data in work.parts:
                run.tell(event, data)
                if run.cancellation.is_cancelled:
                    break
        status = "interrupted" if run.cancellation.is_cancelled else "success"
    except CancelledRunError:
        status = "interrupted"
    except Exception as error:
        # The entry point of a thread: what is not expected is a bug, whose text may hold a secret.
        is_known = isinstance(error, expected_errors())
        told = explain(error)[0] if is_known else f"The run has failed by a bug: {name_and_place(error)}."
        log.debug("The run failed", exc_info=error)
        run.tell("error", {"error": type(error).__name__, "message": told})
    finally:
        work.release()
        run.end(status)


def text_of(data: Any) -> str:
    """Return data of the state as JSON."""
    return json.dumps(data, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, BaseMessage):
        return value.model_dump()
    raise TypeError(type(value).__name__)
