"""The servers that the conformance suite is run against, over an API whose operations have the names of its tools."""

import json
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import create_connection
from threading import Thread
from typing import Any

import requests
from mcp import Client

from lab.kit.port import held_port
from lab.kit.process import running
from restgpt.host.operations import DIGEST
from restgpt_bench.worlds import CREDENTIAL

PROGRESS_S = 3.5
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc000000301010018dd8db0"
    "0000000049454e44ae426082"
)
READS = ("test_simple_text", "test_image_content", "test_error_handling", "test_tool_with_progress", "test_long")
CHANGES = (
    "test_elicitation",
    "test_streaming_elicitation",
    "test_input_required_result_elicitation",
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
)
LONG = [{"number": 123, "text": "This is a line of a long answer."} for _ in range(400)]


class Quiet(BaseHTTPRequestHandler):
    """A handler that logs nothing."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""

    def answer(self, status: int, data: bytes, headers: Mapping[str, str]) -> None:
        """Send an answer."""
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


class Api(Quiet):
    """The API whose operations have the names of the suite's tools."""

    def do_GET(self) -> None:
        """Answer what the tool of this name answers."""
        name = self.path.strip("/")
        if name == "test_tool_with_progress":
            time.sleep(PROGRESS_S)
        value = LONG if name == "test_long" else {"text": "This is a simple text response for testing."}
        is_image = name == "test_image_content"
        kind = {"Content-Type": "image/png" if is_image else "application/json"}
        self.answer(
            400 if name == "test_error_handling" else 200, PNG if is_image else json.dumps(value).encode(), kind
        )

    def do_POST(self) -> None:
        """Make a change, which leaves nothing behind."""
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.do_GET()


@contextmanager
def answering(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve on loopback; gives the address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def document() -> dict[str, Any]:
    """Return the document of the API."""
    done = {"200": {"description": "Done"}}
    text = {"type": "object", "properties": {"message": {"type": "string"}}}
    body = {"content": {"application/json": {"schema": text}}}
    paths: dict[str, Any] = {
        f"/{name}": {"get": {"operationId": name, "summary": name, "responses": done}} for name in READS
    }
    for name in CHANGES:
        paths[f"/{name}"] = {"post": {"operationId": name, "summary": name, "requestBody": body, "responses": done}}
    return {"openapi": "3.1.0", "info": {"title": "Conformance", "version": "1"}, "paths": paths}


FASTMCP = """
import os, sys, httpx2, yaml
from fastmcp import FastMCP
document, url, port = sys.argv[1:]
headers = {"Authorization": "Bearer " + os.environ["RESTGPT_AUTH_KEY"]}
client = httpx2.AsyncClient(base_url=url, headers=headers, timeout=30)
server = FastMCP.from_openapi(yaml.safe_load(open(document)), client)
server.run(transport="http", port=int(port), show_banner=False)
"""


@contextmanager
def served(server: str, document: Path, url: str, folder: Path, *options: str) -> Iterator[str]:
    """Start a server over a document of an API at an address; gives its own one. `options` are those of RestGPT."""
    with held_port() as port:
        given = [str(document), url, str(port)]
        own = ["-m", "restgpt", "mcp", "--spec", given[0], "--base-url", url, "--http", "--port", given[2], *options]
        command = [sys.executable, *(own if server == "restgpt" else ["-c", FASTMCP, *given])]
        home = {"RESTGPT_HOME": str(folder), "RESTGPT_AUTH_KEY": CREDENTIAL}
        with running(command, folder=folder, is_up=partial(_listens, port), environment=home):
            yield f"http://127.0.0.1:{port}/mcp"


def _listens(port: int) -> bool:
    with suppress(OSError), create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


async def aliases(url: str) -> dict[str, str]:
    """Return what RestGPT calls the tools and resources of the suite that cannot have its names."""
    async with Client(url) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        links = [
            next(part.uri for part in (await client.call_tool(name, {})).content if part.type == "resource_link")
            for name in ("test_long", "test_image_content")
        ]
    # A name of more than 40 characters ends with a digest.
    digested = {tool[:-DIGEST]: tool for tool in tools if len(tool) > DIGEST}
    cut = {name: tool for name in set(CHANGES) - set(tools) for stem, tool in digested.items() if name.startswith(stem)}
    return {
        **cut,
        "test://static-text": links[0],
        "test://static-binary": links[1],
        "test://template/123/data": links[0],
    }


@contextmanager
def proxied(url: str, names: Mapping[str, str]) -> Iterator[str]:
    """Serve a server under another address, and under other names in each direction."""
    own = re.sub(r"^http://|/mcp$", "", url)
    forth = {alias.encode(): name.encode() for alias, name in names.items()}

    class Proxy(Quiet):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            given = {name.lower(): renamed(value.encode(), forth) for name, value in self.headers.items()}
            headers = {name: value for name, value in given.items() if name != "content-length"} | {
                "host": own.encode()
            }
            answer = requests.post(url, data=renamed(body, forth), headers=headers, timeout=60)
            kept = {name: answer.headers[name] for name in ("Content-Type", "Mcp-Session-Id") if name in answer.headers}
            back = {name: alias for alias, name in forth.items()}
            self.answer(answer.status_code, renamed(answer.content, back), kept)

        def do_GET(self) -> None:
            # Nothing is renamed in a stream of the server's own messages, of which there are none.
            self.answer(405, b"", {})

    with answering(Proxy) as address:
        yield f"{address}/mcp"


def renamed(data: bytes, table: Mapping[bytes, bytes]) -> bytes:
    """Return bytes with each name of a table replaced."""
    for old, new in table.items():
        data = data.replace(old, new)
    return data
