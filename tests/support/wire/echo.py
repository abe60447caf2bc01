"""A loopback server that notes every request byte for byte and answers with scripted replies."""

from typing import Any

from loopback import Handler, Server
from wire.case import Arrived, Canned


class EchoServer:
    """Serves while it is entered; `script` sets the coming replies, the last of which repeats."""

    def __init__(self) -> None:
        self._server = _Server(_Handler)

    def __enter__(self) -> "EchoServer":
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.__exit__()

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._server.url

    def script(self, replies: Any) -> None:
        """Forget what arrived and set the replies to come."""
        self._server.arrived = []
        self._server.replies = list(replies) or [Canned()]

    @property
    def arrived(self) -> list[Arrived]:
        """What arrived since the last script."""
        return list(self._server.arrived)


class _Server(Server):
    arrived: list[Arrived]
    replies: list[Canned]

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.arrived = []
        self.replies = [Canned()]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is part of some cases."""


class _Handler(Handler):
    server: _Server

    def handle_one_request(self) -> None:
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline or not self.parse_request():
            self.close_connection = True
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = self._read_chunked()
        self.server.arrived.append(Arrived(self.command, self.path, tuple(self.headers.items()), body))
        replies = self.server.replies
        self._answer(replies.pop(0) if len(replies) > 1 else replies[0])
        self.wfile.flush()

    def _read_chunked(self) -> bytes:
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _answer(self, canned: Canned) -> None:
        if canned.close:
            self.close_connection = True
            self.connection.close()
            return
        host = self.headers.get("Host", "")
        self.send_response(canned.status)
        for name, value in canned.headers.items():
            self.send_header(name, value.replace("HOST", host))
        body = canned.body.replace(b"URL", f"http://{host}".encode())
        if canned.chunked:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for start in range(0, len(body), 5):
                part = body[start : start + 5]
                self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            self.wfile.write(b"0\r\n\r\n")
            return
        if canned.status not in (204, 304):
            self.send_header("Content-Length", str(len(body) + (10 if canned.cut else 0)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.close_connection = self.close_connection or canned.cut
