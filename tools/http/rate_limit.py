"""The pace of requests to one API: so many a second across all threads, and none while the server asks to wait."""

import threading
from collections.abc import Callable


class Pace:
    """Hands out the moments at which requests may start; safe across threads."""

    def __init__(self, per_second: float | None, clock: Callable[[], float]) -> None:
        self._gap = 1.0 / per_second if per_second else 0.0
        self._clock = clock
        self._lock = threading.Lock()
        self._next = float("-inf")
        self._held = float("-inf")

    def reserve(self, latest: float, patience: float) -> float | None:
        """Take the next free moment and return the seconds until it.

        None, taking nothing, where it is past `latest` or the server asked for more than `patience` seconds.
        """
        with self._lock:
            now = self._clock()
            start = max(now, self._next, self._held)
            if start > latest or self._held - now > patience:
                return None
            self._next = start + self._gap
            return start - now

    def hold(self, seconds: float) -> None:
        """Let nobody start for a while, as a 429 asks."""
        with self._lock:
            self._held = max(self._held, self._clock() + seconds)

    def held(self) -> float:
        """The seconds that the server still asks to wait."""
        with self._lock:
            return max(0.0, self._held - self._clock())
