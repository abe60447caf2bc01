"""Holds a free port on loopback, so that the system gives it to no other process."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def held_port() -> Iterator[int]:
    """Hold a free port: nothing listens there until the caller starts a server with SO_REUSEADDR on it.

    Without the hold, the system could give the port to another process before the server takes it, or after.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])
