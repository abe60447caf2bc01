"""The MCP servers that are compared, each over the document of a world that is served on loopback."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import yaml
from fastmcp import Client, FastMCP
from fastmcp.experimental.transforms.code_mode import CodeMode

from restgpt.specs.bundled import bundled_document
from restgpt.worlds import CREDENTIAL


@dataclass(slots=True)
class Person:
    """The person at the client, who approves every change that is shown; `approved` counts the questions."""

    approved: int = 0
    shown: list[str] = field(default_factory=list)

    async def answer(self, message: str, *_: Any) -> dict[str, Any]:
        """Approve what a server asks about."""
        self.approved += 1
        self.shown.append(message)
        return {"decision": "approve"}


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


SURFACES: dict[str, Surface] = {"fastmcp": from_openapi, "fastmcp-code": code_mode}
