"""Serves a world over HTTP on a free port of loopback."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from lab.readers.world import World


@contextmanager
def served(world: World) -> Iterator[str]:
    """Serve a world on a free port of loopback, one request at a time, and give the base URL."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one(self) -> None:
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            try:
                body = json.loads(text) if text else None
            except ValueError:
                body = text.decode("utf-8", "replace")
            with lock:
                reply = world.answer(self.command, self.path, body, dict(self.headers))
            data = b"" if reply.body is None else json.dumps(reply.body, ensure_ascii=False).encode()
            self.send_response(reply.status)
            kind = {"Content-Type": "application/json; charset=utf-8"} if data else {}
            for name, value in {**kind, "Content-Length": str(len(data)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_one

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: the world logs."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{world.prefix}"
    finally:
        server.shutdown()
        server.server_close()
