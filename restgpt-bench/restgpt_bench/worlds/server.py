"""Serves a world over real HTTP on loopback: the API on one port, the controls on another, hidden from agents."""

import contextlib
import json
import selectors
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from restgpt_bench.worlds.exchange import Json, RefusalError, Reply, Request
from restgpt_bench.worlds.faults import Fault, FaultKind
from restgpt_bench.worlds.world import World

LOOPBACK = "127.0.0.1"
POLL_SECONDS = 0.02


def serve(world: World[Any], *, port: int = 0) -> "WorldServer":
    """Serve `world` on 127.0.0.1 (`port` 0: any free one) until the returned context manager is left."""
    return WorldServer(world, port=port)


class WorldServer:
    """A running world: `url` is the base URL of the API, `control_url` that of the controls.

    Controls: GET /log, GET /snapshot, GET /health, POST /reset {"fixture": name or null}, POST /faults [fault, ...].
    """

    def __init__(self, world: World[Any], *, port: int = 0) -> None:
        self.world = world
        self._servers = [_listen(_ApiHandler, world, port), _listen(_ControlHandler, world, 0)]
        self.url = f"http://{LOOPBACK}:{self._servers[0].server_port}{world.base_path}"
        self.control_url = f"http://{LOOPBACK}:{self._servers[1].server_port}"

    def __enter__(self) -> "WorldServer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def settle(self) -> None:
        """Wait until the API has handled all requests of clients that are gone."""
        self._servers[0].settle()

    def close(self) -> None:
        """Stop both servers, free their ports and close the connections on which no request is under way."""
        for server in self._servers:
            server.shutdown()
            server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: type["_Handler"], world: World[Any]) -> None:
        self.world = world
        self._open = 0
        # The connections on which the next request has not begun.
        self._idle: set[socket.socket] = set()
        self._is_closed = False
        self._changed = threading.Condition()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Count a connection that is opened."""
        with self._changed:
            self._open += 1
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Count a connection that is closed, its last request being answered."""
        super().shutdown_request(request)
        with self._changed:
            self._open -= 1
            self._changed.notify_all()

    def await_request(self, connection: socket.socket, seconds: float) -> bool:
        """Wait until a request begins on a connection, or the client closes it; return whether it did in time."""
        with self._changed:
            if self._is_closed:
                return False
            self._idle.add(connection)
            self._changed.notify_all()
        try:
            return _is_readable(connection, seconds)
        finally:
            with self._changed:
                self._idle.discard(connection)

    def shutdown(self) -> None:
        """Stop accepting: the end of listening wakes the thread that serves, where the system allows it (Linux)."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        super().shutdown()

    def server_close(self) -> None:
        """Free the port, and end the waiting for requests that never come, which would leave threads and sockets."""
        super().server_close()
        with self._changed:
            self._is_closed = True
            for connection in self._idle:
                with contextlib.suppress(OSError):  # the client has closed it
                    connection.shutdown(socket.SHUT_RDWR)

    def settle(self) -> None:
        """Wait until no request is under way: each connection is closed, or its client has sent nothing more.

        A client that was stopped closes none.
        """
        # The server accepts connections in order: once it closes this one, it has accepted all earlier ones.
        with socket.create_connection((LOOPBACK, self.server_port)) as last:
            last.shutdown(socket.SHUT_WR)
            last.recv(1)
        with self._changed:
            while self._open > len(self._idle) or any(_is_readable(idle, 0) for idle in self._idle):
                self._changed.wait(POLL_SECONDS)

    def server_bind(self) -> None:
        # HTTPServer asks DNS for the host's full name here, which a loopback server does not need.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = LOOPBACK, self.socket.getsockname()[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that hang up; any other error is a bug in the world and is shown."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


def _listen(handler: type["_Handler"], world: World[Any], port: int) -> _Server:
    server = _Server((LOOPBACK, port), handler, world)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    return server


def _is_readable(connection: socket.socket, seconds: float) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_READ)
        return bool(selector.select(seconds))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "RestGPT-world"
    sys_version = ""
    timeout = 60
    wbufsize = -1  # send head and body together
    begun = 0.0
    disable_nagle_algorithm = True
    server: _Server

    def handle_one_request(self) -> None:
        """Handle the next request, if the client sends one in time."""
        if self.server.await_request(self.connection, self.timeout):
            self.begun = time.perf_counter()
            super().handle_one_request()
        else:
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing: the world has its own log."""

    def _answer(self) -> None:
        raise NotImplementedError

    def do_GET(self) -> None:
        """Answer any method alike."""
        self._answer()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = do_GET

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return b"".join(iter(self._chunk, b""))
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _chunk(self) -> bytes:
        size = int(self.rfile.readline().partition(b";")[0], 16)
        data = self.rfile.read(size)
        self.rfile.readline()
        return data

    def _send(self, reply: Reply, content: bytes, *, announced: int | None = None) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if content:
            self.send_header("Content-Type", reply.media_type)
        if reply.status not in (204, 304):
            self.send_header("Content-Length", str(len(content) if announced is None else announced))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


class _ApiHandler(_Handler):
    def _answer(self) -> None:
        parts = urlsplit(self.path)
        world = self.server.world
        try:
            body = self._body()
        except ValueError:
            self.close_connection = True
            reply = Reply(400, world.error(RefusalError(400, "The body has no known length.")))
            self._send(reply, reply.content)
            return
        request = Request(self.command, parts.path, parts.query, dict(self.headers.items()), body, self.begun)
        reply = world.handle(request)
        fault = reply.fault
        if fault is None or fault.kind is FaultKind.STATUS:
            self._send(reply, reply.content)
            return
        self._damaged(reply, fault)

    def _damaged(self, reply: Reply, fault: Fault) -> None:
        content = reply.content
        match fault.kind:
            case FaultKind.SLOW:
                time.sleep(fault.seconds)
                self._send(reply, content)
            case FaultKind.RESET:
                # A linger time of zero makes the kernel send RST instead of FIN.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
                self.connection.close()
            case FaultKind.MALFORMED:
                self._send(reply, b'{"results": [' + content[: len(content) // 2])
            case FaultKind.TRUNCATED:
                self._send(reply, content[: len(content) // 2], announced=len(content) or 1)
                self.close_connection = True
            case FaultKind.MEDIA_TYPE:
                self._send(Reply(reply.status, None, reply.headers, "text/html; charset=utf-8"), content)


class _ControlHandler(_Handler):
    def _answer(self) -> None:
        body = self._body()
        action = {
            "GET /health": self._health,
            "GET /log": self._log,
            "GET /snapshot": self._snapshot,
            "POST /reset": self._reset,
            "POST /faults": self._faults,
        }.get(f"{self.command} {urlsplit(self.path).path}")
        try:
            reply = Reply(404, {"error": "no such control"}) if action is None else Reply(200, _act(action, body))
        except (ValueError, TypeError) as error:
            reply = Reply(400, {"error": str(error)})
        self._send(reply, reply.content)

    def _health(self, _: Json) -> Json:
        return {"world": self.server.world.name, "seed": self.server.world.seed}

    def _log(self, _: Json) -> Json:
        return self.server.world.log.to_json()

    def _snapshot(self, _: Json) -> Json:
        return self.server.world.snapshot()

    def _reset(self, body: Json) -> Json:
        self.server.world.reset((body or {}).get("fixture"))
        return self._health(None)

    def _faults(self, body: Json) -> Json:
        faults = [Fault.from_json(item) for item in body or []]
        self.server.world.faults.replace(faults)
        return [fault.to_json() for fault in faults]


def _act(action: Callable[[Json], Json], body: bytes) -> Json:
    return action(json.loads(body) if body else None)
