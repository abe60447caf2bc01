"""Guards that a client which repeats a call, at whatever moment, makes no second change."""

import asyncio
import itertools
import signal
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
import requests
from cli import Cli, at
from mcp import Client, types
from mcp.shared.exceptions import MCPError
from mcpserver import ERAS, MADE, MOSS, Person, changes, connected, facts_of, http_server, text_of, with_client

from restgpt_bench.worlds.faults import Fault, FaultKind
from restgpt_bench.worlds.server import WorldServer

Opener = Callable[..., Any]
NEWEST = "2026-07-28"
ALLOW = {"writes": "allow"}
MAKE = ("change_operation", MOSS)


async def cut_off(client: Client, toy: WorldServer, tool: str, arguments: dict[str, Any]) -> None:
    """Call a tool, and cancel the call when its first change has arrived at the API, which answers late."""
    toy.world.faults.replace([Fault(kind=FaultKind.SLOW, seconds=2.0)])
    async with anyio.create_task_group() as group:
        group.start_soon(client.call_tool, tool, arguments)
        await until(lambda: bool(changes(toy)))
        group.cancel_scope.cancel()


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    with anyio.fail_after(60):
        while not holds():
            await anyio.sleep(0.02)


@pytest.mark.sampled(2, "era")
@pytest.mark.parametrize("era", ERAS[::-1])
def test_a_call_that_is_repeated_after_a_cancellation_is_made_once(opened: Opener, toy: WorldServer, era: str) -> None:
    async def cancelled_and_repeated(client: Client) -> types.CallToolResult:
        await cut_off(client, toy, *MAKE)
        toy.world.faults.replace([])
        with anyio.fail_after(60):
            while "An equal call is being carried out" in text_of(result := await client.call_tool(*MAKE)):
                await anyio.sleep(0.05)
        return result

    result = with_client(opened(ALLOW), cancelled_and_repeated, era=era)
    assert changes(toy) == [MADE], text_of(result)
    assert facts_of(result)["http_status"] == 201


ADD = "print(create_task(project_id=1, body={'title': title})['title'])"
THREE = {"code": f"for title in ('Moss', 'Fern', 'Reed'):\n    {ADD}"}


@pytest.mark.sampled(2, "era")
@pytest.mark.parametrize("era", ERAS[::-1])
def test_a_program_that_was_cancelled_makes_no_further_change_until_it_is_repeated(
    opened: Opener, toy: WorldServer, era: str
) -> None:
    # A server that ends waits for its works, cancelled ones too.
    with_client(opened(ALLOW), lambda client: cut_off(client, toy, "run_program", THREE), era=era)
    assert changes(toy) == [MADE]
    result = with_client(opened(ALLOW), lambda client: client.call_tool("run_program", THREE), era=era)
    assert ("Moss\nFern\nReed" in text_of(result), changes(toy)) == (True, [MADE] * 3)


def test_a_server_that_ends_keeps_the_outcome_of_a_call_that_was_cancelled(opened: Opener, toy: WorldServer) -> None:
    with_client(opened(ALLOW), lambda client: cut_off(client, toy, *MAKE))
    result = with_client(opened(ALLOW), lambda client: client.call_tool("pending", {}))
    assert changes(toy) == [MADE]
    assert "create_task: HTTP 201" in text_of(result)


@pytest.mark.parametrize("era", ERAS)
def test_equal_calls_that_are_sent_at_once_are_one(opened: Opener, toy: WorldServer, era: str) -> None:
    async def at_once(client: Client) -> None:
        async with anyio.create_task_group() as group:
            grouped = MOSS["arguments"]
            for spelled in [grouped, {"query": {}, **grouped}, {**grouped["path"], **grouped["body"]}] * 3:
                group.start_soon(client.call_tool, "change_operation", {**MOSS, "arguments": spelled})

    with_client(opened(ALLOW), at_once, era=era)
    assert changes(toy) == [MADE]


class Meeting:
    """A clock at which the first two threads that read it wait for each other."""

    def __init__(self) -> None:
        self._both = threading.Barrier(2)
        self._first = threading.main_thread()
        self._left = 2

    def __call__(self) -> float:
        if threading.current_thread() is not self._first and self._left:
            self._left -= 1
            self._both.wait(30)
        return 1_000.0


def test_equal_calls_that_begin_at_the_same_moment_are_one(opened: Opener, toy: WorldServer) -> None:
    async def twice(client: Client) -> Any:
        return await asyncio.gather(*(client.call_tool("change_operation", MOSS) for _ in range(2)))

    results = with_client(opened(clock=Meeting()), twice)
    threads = {facts_of(result)["thread"] for result in results if not result.is_error}
    assert len(threads) == 1


async def disturbed(tool: str, arguments: Mapping[str, Any], client: Client) -> list[types.CallToolResult]:
    """Call a tool, run a program in the thread of the call, and repeat the call."""
    waiting = await client.call_tool(tool, dict(arguments))
    wrong = await client.call_tool("run_program", {"code": "print(1)", "thread": facts_of(waiting)["thread"]})
    return [waiting, wrong, await client.call_tool(tool, dict(arguments))]


def test_a_program_for_the_thread_of_a_call_leaves_the_call_alone(opened: Opener, toy: WorldServer, cli: Cli) -> None:
    waiting, wrong, again = with_client(opened(), partial(disturbed, "change_operation", MOSS))
    assert (wrong.is_error, facts_of(again)["thread"]) == (True, facts_of(waiting)["thread"])
    listed = cli("threads").out
    assert (f"{facts_of(waiting)['thread']} waiting" in listed, "call create_task" in listed) == (True, True)


def test_a_program_for_a_thread_that_waits_leaves_it_as_it_stands(opened: Opener, toy: WorldServer, cli: Cli) -> None:
    program = {"code": "print(create_task(project_id=1, title='Moss'))"}
    waiting, wrong, again = with_client(opened(), partial(disturbed, "run_program", program))
    assert (facts_of(waiting)["status"], wrong.is_error) == ("pending", True)
    assert facts_of(again)["thread"] == facts_of(waiting)["thread"]
    assert f"{facts_of(waiting)['thread']} waiting" in cli("threads").out


class Raw:
    """A client over HTTP that writes JSON-RPC by hand."""

    def __init__(self, url: str, version: str) -> None:
        self._url = url
        self._ids = itertools.count(1)
        self._headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": version}
        self._meta: dict[str, Any] = {}
        if version == NEWEST:
            names = ("protocolVersion", "clientInfo", "clientCapabilities")
            values = (version, {"name": "raw", "version": "1"}, {})
            self._meta = {f"io.modelcontextprotocol/{name}": value for name, value in zip(names, values, strict=True)}
            return
        opening = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        opened = self.send("initialize", opening)
        self._headers["Mcp-Session-Id"] = opened.headers["mcp-session-id"]
        body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        requests.post(url, json=body, headers=self._headers, timeout=60)

    def send(self, method: str, params: Mapping[str, Any], timeout: float = 60.0) -> requests.Response:
        headers = {**self._headers, "Mcp-Method": method, "Mcp-Name": str(params.get("name", ""))}
        meta = {"_meta": self._meta} if self._meta else {}
        body = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": {**params, **meta}}
        return requests.post(self._url, json=body, headers=headers, timeout=timeout)

    def call(self, name: str, arguments: Mapping[str, Any], timeout: float = 60.0) -> str:
        return self.send("tools/call", {"name": name, "arguments": arguments}, timeout).text


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2025-11-25", NEWEST])
def test_a_call_repeated_after_a_lost_connection_is_made_once(toy: WorldServer, home: Path, version: str) -> None:
    with http_server(at(toy), home, "--writes", "allow") as (url, _):
        raw = Raw(url, version)
        toy.world.faults.replace([Fault(kind=FaultKind.SLOW, operation="POST /projects/{project_id}/tasks", seconds=6)])
        with pytest.raises(requests.exceptions.RequestException):
            raw.call("change_operation", MOSS, timeout=2)
        toy.world.faults.replace([])
        for _ in range(100):
            answer = raw.call("change_operation", MOSS)
            if "An equal call is being carried out" not in answer:
                break
            time.sleep(0.1)
    assert ("HTTP 201" in answer, changes(toy)) == (True, [MADE]), answer


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2025-11-25", NEWEST])
def test_a_program_whose_http_client_left_makes_no_further_change(toy: WorldServer, home: Path, version: str) -> None:
    with http_server(at(toy), home, "--writes", "allow") as (url, process):
        raw = Raw(url, version)
        toy.world.faults.replace([Fault(kind=FaultKind.SLOW, seconds=4)])
        with pytest.raises(requests.exceptions.RequestException):
            raw.call("run_program", THREE, timeout=2)
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    assert changes(toy) == [MADE]


def approved(asked: Any) -> Any:
    """The arguments with which a client sends a call again after its person has approved it."""
    answer = types.ElicitResult(action="accept", content={"decision": "approve"})
    return {"input_responses": dict.fromkeys(asked.input_requests, answer), "request_state": asked.request_state}


def test_an_approval_that_is_sent_many_times_at_once_counts_once_and_is_kept(opened: Opener, toy: WorldServer) -> None:
    async def approve_many_times(client: Client) -> None:
        send = partial(client.session.call_tool, "change_operation", MOSS, allow_input_required=True)
        again = approved(await send())
        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(partial(send, **again))
        assert changes(toy) in ([], [MADE])
        last = await send(**again)
        assert facts_of(last)["http_status"] == 201

    with_client(opened(), approve_many_times, Person())
    assert changes(toy) == [MADE]


def test_a_request_state_decides_nothing_in_a_session(opened: Opener, toy: WorldServer) -> None:
    async def run(server: Any) -> None:
        async with connected(server, NEWEST, Person()) as client:
            asked = await client.session.call_tool("change_operation", MOSS, allow_input_required=True)
        async with connected(server, "legacy") as client:
            with pytest.raises(MCPError, match="requestState"):
                await client.session.call_tool("change_operation", MOSS, allow_input_required=True, **approved(asked))

    with opened() as server:
        asyncio.run(run(server))
    assert changes(toy) == []
