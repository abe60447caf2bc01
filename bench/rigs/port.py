"""A port on loopback that no other process can be given while it is held."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def held_port() -> Iterator[int]:
    """Hold a free port: nothing listens there until a server that may reuse addresses is told to take it.

    A port that was merely found free may be given to another process before it is used, or after.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])
