"""A line to a server that a test can break: all of it, or only the connections that carry a stream of events."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

CHUNK = 65_536


@dataclass
class Line:
    """The address of the line, and whether it lets connections and streams through."""

    port: int
    is_open: bool = True
    lets_streams: bool = True
    streams: int = 0
    """How many streams were asked for."""
    _pairs: dict[socket.socket, tuple[socket.socket, bool]] = field(default_factory=dict)

    def cut(self) -> None:
        """Break all connections, and refuse new ones."""
        self.is_open = False
        self._break(only_streams=False)

    def cut_streams(self) -> None:
        """Break the connections that carry a stream, and those that ask for one."""
        self.lets_streams = False
        self._break(only_streams=True)

    def mend(self) -> None:
        """Let everything through again."""
        self.is_open = self.lets_streams = True

    def _break(self, *, only_streams: bool) -> None:
        for client, (server, is_stream) in list(self._pairs.items()):
            if is_stream or not only_streams:
                _end(client, server)

    def _carry(self, client: socket.socket, server: socket.socket) -> None:
        """Carry what the client sends, up to the end of either side."""
        with suppress(OSError):
            while data := client.recv(CHUNK):
                line = data.split(b"\r\n", 1)[0]
                if line.startswith(b"GET /threads/") and b"/stream" in line:
                    self.streams += 1
                    self._pairs[client] = (server, True)
                    if not self.lets_streams:
                        break
                # The server answers only to its own port.
                server.sendall(data.replace(b"127.0.0.1:%d" % self.port, b"127.0.0.1:%d" % server.getpeername()[1]))
        _end(client, server)
        self._pairs.pop(client, None)

    def _serve(self, listening: socket.socket, target: int) -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            if not self.is_open:
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", target))
            self._pairs[client] = (server, False)
            threading.Thread(target=self._carry, args=(client, server), daemon=True).start()
            threading.Thread(target=_answer, args=(server, client), daemon=True).start()


def _answer(server: socket.socket, client: socket.socket) -> None:
    with suppress(OSError):
        while data := server.recv(CHUNK):
            client.sendall(data)
    _end(client, server)


def _end(*sockets: socket.socket) -> None:
    for each in sockets:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()


@contextmanager
def line_to(port: int) -> Iterator[Line]:
    """Listen on a free port of loopback, and carry everything to this port, until the context is left."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        line = Line(listening.getsockname()[1])
        threading.Thread(target=line._serve, args=(listening, port), daemon=True).start()
        try:
            yield line
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            line.cut()
