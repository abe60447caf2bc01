"""Effort: the number of steps that reading and validating the schemas of one untrusted document may take.

Schemas that refer to one another twice at each level are a short document and an endless walk. The functions that begin
a walk limit it with `within`, and those that walk count their steps with `spend`. An inner limit never exceeds what is
left of an outer one. Every `PATIENCE` limits that a document reaches halve its further limits, because a run reads its
schemas many times; published documents with large schemas reach some too.

A watchdog: the time limit of an HTTP exchange, which also ends one whose server sends a few bytes now and then.

The timeouts of sockets limit the wait for the next bytes only. The watchdog shuts the socket down when the time is
over, so that a thread that reads or writes on it returns.
"""

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from restgpt.specs.problem import TooComplex

PATIENCE, HALVINGS_MOST = 32, 3


@dataclass(slots=True)
class Allowance:
    """The state of a document: how often it reached a limit, and the steps left for passes over all operations."""

    reached: int = 0
    left: int = 4_000_000

    @property
    def halvings(self) -> int:
        """How often the limits are halved by now."""
        return min(HALVINGS_MOST, self.reached // PATIENCE)


@dataclass(slots=True)
class Effort:
    """The steps that were granted, and those that are left; fewer than none once the limit was reached."""

    granted: int
    left: int
    allowance: Allowance | None = None

    @property
    def is_spent(self) -> bool:
        """Whether more steps were asked for than the limit allows, so that something was left out."""
        return self.left < 0


_CURRENT: ContextVar[Effort | None] = ContextVar("effort", default=None)


@contextmanager
def within(steps: int, allowance: Allowance | None = None) -> Iterator[Effort]:
    """Limit the steps of a block of code that reads a document, whose allowance an inner limit need not name."""
    outer = _CURRENT.get()
    if allowance is None and outer is not None:
        allowance = outer.allowance
    granted = steps if allowance is None else steps >> allowance.halvings
    granted = granted if outer is None else min(granted, outer.left)
    effort = Effort(granted, granted, allowance)
    token = _CURRENT.set(effort)
    try:
        yield effort
    finally:
        _CURRENT.reset(token)
        if outer is not None:
            outer.left -= granted - effort.left
        if effort.is_spent and allowance is not None:
            allowance.reached += 1


def spend(steps: int = 1) -> None:
    """Count steps; raises TooComplex if the limit has been reached, always from then on."""
    effort = _CURRENT.get()
    if effort is not None:
        effort.left -= steps
        if effort.left < 0:
            raise TooComplex("the schema is too complex to be read to its end")


def can_spend(steps: int = 1) -> bool:
    """Count steps; return whether the limit has not been reached."""
    try:
        spend(steps)
    except TooComplex:
        return False
    return True


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
