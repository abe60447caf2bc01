"""A watchdog: the time limit of an HTTP exchange, which also ends one whose server sends a few bytes now and then.

The timeouts of sockets limit the wait for the next bytes only. The watchdog shuts the socket down when the time is
over, so that a thread that reads or writes on it returns.
"""

import socket
import threading
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
        timer = threading.Timer(seconds, self.abort)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
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
