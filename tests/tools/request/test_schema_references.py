"""Guards that the validation of arguments never fetches a remote schema."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from restgpt.tools.request.arguments import validate


class Schemas(BaseHTTPRequestHandler):
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(404)
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Log nothing."""


@pytest.fixture
def address() -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []
    server = HTTPServer(("127.0.0.1", 0), type("Handler", (Schemas,), {"asked": asked}))
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/schema.json", asked
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
def test_a_reference_that_leaves_the_schema_is_not_fetched(address: tuple[str, list[str]], keyword: str) -> None:
    url, asked = address
    assert validate({"name": 3}, {"properties": {"name": {keyword: url}}}, "") == []
    assert asked == []
