"""An MCP server in a test: `restgpt mcp` in a process of its own, or the same server in this one."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from cli import at
from mcp import Client, types
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from restgpt_bench.worlds import CREDENTIAL
from restgpt_bench.worlds.server import WorldServer

T = TypeVar("T")
ERAS = ("legacy", "2026-07-28")
"""The two eras of the protocol, as the SDK's client names them: a handshake and a session, or neither."""

MOSS = {"operation": "create_task", "arguments": {"path": {"project_id": 1}, "body": {"title": "Moss"}}}
MADE = "POST /projects/{project_id}/tasks 201"


@dataclass
class Person:
    """A person at a client, who answers each question in the same way; keeps what was shown."""

    action: str = "accept"
    content: Mapping[str, Any] | None = field(default_factory=lambda: {"decision": "approve"})
    shown: list[str] = field(default_factory=list)
    before: Callable[[], None] = lambda: None
    """What happens while the question is shown."""

    async def __call__(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.shown.append(params.message)
        self.before()
        return types.ElicitResult(action=self.action, content=self.content)  # type: ignore[arg-type]


def changes(world: WorldServer) -> list[str]:
    """The changes that a world has carried out."""
    return [f"{entry.method} {entry.template} {entry.status}" for entry in world.world.log if entry.method != "GET"]


def environment(home: Path, more: Mapping[str, str] = {}) -> dict[str, str]:
    """The environment of a server."""
    return {**os.environ, "RESTGPT_HOME": str(home), "RESTGPT_AUTH_KEY": CREDENTIAL, **more}


def stdio(world: WorldServer, home: Path, *options: str, env: Mapping[str, str] = {}) -> StdioServerParameters:
    """The command of a server for a client over stdio."""
    arguments = ["-m", "restgpt", "mcp", *at(world), *options]
    return StdioServerParameters(command=sys.executable, args=arguments, env=environment(home, env))


@asynccontextmanager
async def connected(server: Any, era: str, person: Person | None = None, **options: Any) -> AsyncIterator[Client]:
    """A client of the SDK in an era of the protocol; it can ask a person if there is one."""
    async with Client(server, mode=era, elicitation_callback=person, **options) as client:
        yield client


def with_client(
    opened: AbstractContextManager[Any],
    use: Callable[[Client], Awaitable[T]],
    person: Person | None = None,
    era: str = "2026-07-28",
) -> T:
    """Open a server in this process, and use a client of it."""
    with opened as server:
        return used(server, use, person, era)


def used(
    server: Any, use: Callable[[Client], Awaitable[T]], person: Person | None = None, era: str = "2026-07-28"
) -> T:
    """Use a client of a server, which may be the address of one in another process."""

    async def run() -> T:
        async with connected(server, era, person) as client:
            return await use(client)

    return asyncio.run(run())


class Wire:
    """A client that writes the messages of the protocol itself, over stdio."""

    def __init__(self, toy: WorldServer, home: Path, *options: str) -> None:
        command = [sys.executable, "-m", "restgpt", "mcp", *at(toy), *options]
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, env=environment(home), **pipes)

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()

    def send(self, **message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def read(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def call(self, id: int, method: str, **params: Any) -> Any:
        self.send(id=id, method=method, params=params)
        return self.read()

    def open(self, version: str, **capabilities: Any) -> Any:
        about = {"clientInfo": {"name": "wire", "version": "1"}, "capabilities": capabilities}
        answer = self.call(1, "initialize", protocolVersion=version, **about)
        self.send(method="notifications/initialized")
        return answer


@contextmanager
def http_server(
    arguments: Sequence[str], home: Path, *options: str, env: Mapping[str, str] = {}
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Start `restgpt mcp --http` on a free port; gives its URL and its process."""
    command = [sys.executable, "-m", "restgpt", "mcp", *arguments, "--http", "--port", "0", *options]
    process = subprocess.Popen(command, text=True, env=environment(home, env), stderr=subprocess.PIPE)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        assert "MCP server at" in line, line + process.stderr.read()
        yield line.rpartition(" ")[2].strip(), process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@asynccontextmanager
async def over_http(url: str, token: str = "") -> AsyncIterator[Any]:
    """The transport to a server over HTTP, with a bearer token."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        create_mcp_http_client(headers=headers) as http,
        streamable_http_client(url, http_client=http) as streams,
    ):
        yield streams


def text_of(result: types.CallToolResult) -> str:
    """The text of a result."""
    return "\n".join(part.text for part in result.content if isinstance(part, types.TextContent))


def facts_of(result: types.CallToolResult) -> dict[str, Any]:
    """What a result tells programs."""
    return dict((result.meta or {}).get("restgpt", {}))
