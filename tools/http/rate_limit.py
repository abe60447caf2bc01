"""The rate limit of one API: a number of requests per second, for all threads together, and delays after a 429."""

import threading
from collections.abc import Callable


class RateLimit:
    """Gives each request the moment at which it may start. Thread-safe."""

    def __init__(self, per_second: float | None, clock: Callable[[], float]) -> None:
        self._gap = 1.0 / per_second if per_second else 0.0
        self._clock = clock
        self._lock = threading.Lock()
        self._next = float("-inf")
        self._delayed_until = float("-inf")

    def reserve(self, latest: float, longest_delay: float) -> float | None:
        """Reserve the next free moment and return the seconds until then.

        Returns None and reserves nothing if that moment is after `latest`, or if the delay that the server asked for
        lasts more than `longest_delay` seconds.
        """
        with self._lock:
            now = self._clock()
            start = max(now, self._next, self._delayed_until)
            if start > latest or self._delayed_until - now > longest_delay:
                return None
            self._next = start + self._gap
            return start - now

    def delay(self, seconds: float) -> None:
        """Delay all further requests by `seconds`, after a 429."""
        with self._lock:
            self._delayed_until = max(self._delayed_until, self._clock() + seconds)

    def delay_left(self) -> float:
        """The seconds until the delay of the last 429 ends."""
        with self._lock:
            return max(0.0, self._delayed_until - self._clock())
