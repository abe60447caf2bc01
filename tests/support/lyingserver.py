"""A server that demands more than its document says, and the document; its refusals hold whatever a test gives."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

DOCUMENT = """
openapi: 3.1.0
info: {title: Depot, version: "1"}
servers: [{url: "http://127.0.0.1:1"}]
paths:
  /orders:
    get:
      operationId: list_orders
      summary: List orders
      parameters:
        - {name: region, in: query, schema: {type: string}}
        - {name: sort, in: query, schema: {type: string, enum: [oldest, newest]}}
        - {name: X-Trace, in: header, schema: {type: string}}
      responses:
        "200":
          description: ok
          content:
            application/json: {schema: {type: object, properties: {count: {type: integer}}}}
    post:
      operationId: place_order
      summary: Place an order
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [item]
              additionalProperties: true
              properties:
                item: {type: string}
                contact: {type: object, properties: {phone: {type: string}, email: {type: string}}}
      responses:
        "201":
          description: ok
          content:
            application/json: {schema: {type: object, properties: {id: {type: integer}}}}
"""


@dataclass
class LyingServer:
    """Requires `region` and refuses `sort=oldest` of its list; requires `contact.phone` of an order."""

    url: str = ""
    refusal: Any = field(default_factory=lambda: {"error": "no"})
    requests: list[str] = field(default_factory=list)

    def answer(self, method: str, target: str, body: Any) -> tuple[int, Any]:
        query = parse_qs(urlsplit(target).query)
        if method == "GET":
            refused = "region" not in query or query.get("sort") == ["oldest"]
        else:
            refused = "phone" not in body.get("contact", {})
        status = 422 if refused else 200 if method == "GET" else 201
        self.requests.append(f"{method} {target} {status}")
        return status, self.refusal if refused else {"count": 3} if method == "GET" else {"id": 5}


@contextmanager
def served_lies() -> Iterator[LyingServer]:
    """Serve one on loopback."""
    lying = LyingServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length) or b"null")
            status, answer = lying.answer(self.command, self.path, body)
            raw = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        do_GET = do_POST = _answer

        def log_message(self, format: str, *arguments: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    lying.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield lying
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
