"""The MCP servers that are compared, each over the document of a world that is served on loopback."""

import json
import os
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import yaml
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StdioTransport
from fastmcp.experimental.transforms.code_mode import CodeMode

from restgpt.specs import load_api
from restgpt.specs.reading.download import bundled_document
from restgpt_bench.worlds import CREDENTIAL


@dataclass(slots=True)
class Person:
    """The person at the client, who approves every change that is shown; `shown` are the questions."""

    shown: list[str] = field(default_factory=list)

    async def answer(self, message: str, *_: Any) -> dict[str, Any]:
        """Approve what a server asks about."""
        self.shown.append(message)
        return {"decision": "approve"}

    def saw(self, method: str, url: str) -> bool:
        """Return whether a question showed this method and address."""
        return any(re.search(rf"\b{method} {re.escape(url)}(?![\w/-])", _unwrapped(text)) for text in self.shown)


def _unwrapped(text: str) -> str:
    """Return a text without the marks and line breaks of quotations."""
    return re.sub(r"\n\s*┆ ?", "", text)


@asynccontextmanager
async def restgpt_server(world: str, url: str, person: Person) -> AsyncIterator[Client[Any]]:
    """`restgpt mcp` in a process of its own, over stdio, with the person at the client's elicitation."""
    with TemporaryDirectory() as home:
        document = bundled_document(world)
        schemes = load_api(document.read_bytes()).security_schemes
        entry = {"spec": str(document), "base_url": url, "auth": dict.fromkeys(schemes, CREDENTIAL)}
        described = Path(home) / "apis.yaml"
        described.write_text(json.dumps({world: entry}), encoding="utf-8")
        environment = {**os.environ, "RESTGPT_HOME": home, "RESTGPT_APIS": str(described), "RESTGPT_RECIPES": home}
        command = ["-m", "restgpt", "mcp"]
        transport = StdioTransport(sys.executable, command, env=environment, cwd=home, keep_alive=False)
        async with Client(transport, elicitation_handler=person.answer) as client:
            yield client


Surface = Callable[[str, str, Person], AbstractAsyncContextManager[Client[Any]]]
"""Opens a client of a server over the API of a world: name of the world, address, the person at the client."""


@asynccontextmanager
async def from_openapi(world: str, url: str, person: Person) -> AsyncIterator[Client[Any]]:
    """FastMCP's server with one tool for each operation."""
    async with _made(world, url) as server, Client(server) as client:
        yield client


@asynccontextmanager
async def code_mode(world: str, url: str, person: Person) -> AsyncIterator[Client[Any]]:
    """The same server in its code mode: the model searches tools, and writes code that calls them."""
    async with _made(world, url) as server:
        server.add_transform(CodeMode())
        async with Client(server) as client:
            yield client


@asynccontextmanager
async def _made(world: str, url: str) -> AsyncIterator[FastMCP[Any]]:
    document = yaml.safe_load(bundled_document(world).read_text(encoding="utf-8"))
    headers = {"Authorization": f"Bearer {CREDENTIAL}"}
    async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=30) as http:
        yield FastMCP.from_openapi(openapi_spec=document, client=http, name=world)


SURFACES: dict[str, Surface] = {"restgpt": restgpt_server, "fastmcp": from_openapi, "fastmcp-code": code_mode}
