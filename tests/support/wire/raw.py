"""A server of raw bytes on loopback, for answers that are slow or no HTTP."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

DRIPPED = {
    "body": b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b"x" * 1000,
    "headers": b"HTTP/1.1 200 OK\r\n" + b"X-Header: 1\r\n" * 1000,
    "interim heads": b"HTTP/1.1 103 Early Hints\r\n\r\n" * 40,
    "status line": b"HTTP/1.1 200 " + b"O" * 1000,
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 1000,
}


@contextmanager
def raw_server(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that calls `answer` with each connection after it has read the request."""
    listener = socket.create_server(("127.0.0.1", 0))
    held: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            held.append(connection)
            threading.Thread(target=handle, args=(connection,), daemon=True).start()

    def handle(connection: socket.socket) -> None:
        try:
            connection.recv(65536)
            answer(connection)
        except OSError:
            return

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        stop(listener)
        for connection in held:
            connection.close()


def stop(listener: socket.socket) -> None:
    """Shut a listener down, which ends the `accept` of its thread, and close it."""
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def drip(
    data: bytes, pause: float = 0.05, *, first: bytes = b"", closed: threading.Event | None = None
) -> Callable[[socket.socket], None]:
    """An answer that sends `first` at once and `data` byte by byte; it sets `closed` when the client has closed."""

    def answer(connection: socket.socket) -> None:
        connection.sendall(first)
        try:
            for number in range(len(data)):
                connection.sendall(data[number : number + 1])
                time.sleep(pause)
        except OSError:
            if closed is not None:
                closed.set()

    return answer
