"""A watchdog: the time limit of an HTTP exchange, which also ends one whose server sends a few bytes now and then.

The timeouts of sockets limit the wait for the next bytes only. The watchdog shuts the socket down when the time is
over, so that a thread that reads or writes on it returns.
"""

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Watchdog:
    """Aborts an exchange when its time is over; `was_aborted` tells, also if what came looks like a whole answer."""

    def __init__(self) -> None:
        self.was_aborted = False
        self._socket: socket.socket | None = None

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Abort the exchange if the block takes longer than `seconds`."""
        _ALARM.begin(self, time.monotonic() + seconds)
        try:
            yield
        finally:
            _ALARM.end(self)
            self.use_socket(None)

    def use_socket(self, connected: socket.socket | None) -> None:
        """Set the socket of the exchange; shut it down at once if the exchange was already aborted."""
        self._socket = connected
        if self.was_aborted:
            self.abort()

    def abort(self) -> None:
        """Abort the exchange from another thread: a read or write that blocks on the socket returns."""
        self.was_aborted = True
        connected = self._socket
        if connected is not None:
            try:
                # Not `SSLSocket.shutdown`, which would first drop the TLS state that another thread is using.
                socket.socket.shutdown(connected, socket.SHUT_RDWR)
            except OSError:
                return


class _Alarm:
    """One thread that aborts the exchanges of the process whose time is over; a thread for each costs more than it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._ends: dict[Watchdog, float] = {}
        self._next = float("inf")
        self._thread: threading.Thread | None = None

    def begin(self, watchdog: Watchdog, end: float) -> None:
        """Abort an exchange at a moment of the monotonic clock."""
        with self._changed:
            self._ends[watchdog] = end
            # A process that was forked has the object without its thread.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
                self._thread.start()
            if end < self._next:
                self._changed.notify()

    def end(self, watchdog: Watchdog) -> None:
        """Leave an exchange alone from now on."""
        with self._changed:
            self._ends.pop(watchdog, None)

    def _watch(self) -> None:
        while True:
            with self._changed:
                self._next = min(self._ends.values(), default=float("inf"))
                left = self._next - time.monotonic()
                if left > 0:
                    self._changed.wait(min(left, threading.TIMEOUT_MAX))
                over = [watchdog for watchdog, end in self._ends.items() if end <= time.monotonic()]
                for watchdog in over:
                    del self._ends[watchdog]
            for watchdog in over:
                watchdog.abort()


_ALARM = _Alarm()

if hasattr(os, "register_at_fork"):
    # The lock may have been held, and the exchanges are those of the other process.
    os.register_at_fork(after_in_child=_ALARM.__init__)  # type: ignore[misc]
