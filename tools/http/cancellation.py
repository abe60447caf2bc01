"""Cancellation of some work: whoever began it takes no result any more, so it begins no further request.

A request that is being sent goes on to its end, and what came of it is kept.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event, Lock

from restgpt.tools.errors import StoppingError

STEP_S = 0.1
"""How long a wait takes at most until it notices that an outer work was cancelled, in seconds."""


class CancelledRunError(StoppingError):
    """The work was cancelled, so the next request was not sent."""

    def __init__(self) -> None:
        super().__init__("Stopped: nothing more was sent. What was sent is kept, and the thread can go on.")


class Cancellation:
    """Whether some work is cancelled; safe for several threads. Work inside of other work is cancelled with it."""

    def __init__(self) -> None:
        self._outer = _CURRENT.get()
        self._event = Event()
        self._lock = Lock()
        self._sending = 0

    def cancel(self) -> None:
        """Let no further request begin."""
        self._event.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether this work, or work around it, was cancelled."""
        return self._event.is_set() or (self._outer is not None and self._outer.is_cancelled)

    @property
    def is_sending(self) -> bool:
        """Whether a request of this work is on its way."""
        return self._sending > 0

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Count a request while the block sends it; raises `CancelledRunError` before the block."""
        with self._lock:
            if self.is_cancelled:
                raise CancelledRunError
            self._sending += 1
        try:
            yield
        finally:
            with self._lock:
                self._sending -= 1

    def wait(self, seconds: float) -> None:
        """Wait for some seconds, or until the work is cancelled."""
        while seconds > 0 and not self.is_cancelled:
            self._event.wait(min(seconds, STEP_S) if self._outer else seconds)
            seconds -= STEP_S if self._outer else seconds


_CURRENT: ContextVar[Cancellation | None] = ContextVar("restgpt_cancellation", default=None)


@contextmanager
def cancellable(cancellation: Cancellation) -> Iterator[None]:
    """Let the work in the block be cancelled, with all threads that get its context variables."""
    token = _CURRENT.set(cancellation)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def cancellation() -> Cancellation:
    """Return the cancellation of the work that runs this code; one that nobody knows outside of any."""
    return _CURRENT.get() or Cancellation()


def pause(seconds: float) -> None:
    """Wait for some seconds, or until the work that runs this code is cancelled."""
    cancellation().wait(seconds)
