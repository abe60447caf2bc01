"""Guards the transports of `restgpt mcp`: stdio and streamable HTTP in processes of their own, for several clients."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest
import requests
from cli import at
from fastmcp import Client as FastClient
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp import Client, types
from mcp.shared.exceptions import MCPError
from mcpserver import (
    ERAS,
    MADE,
    MOSS,
    Person,
    Wire,
    changes,
    connected,
    environment,
    facts_of,
    http_server,
    over_http,
    stdio,
    text_of,
    used,
)
from paths import openapi

from restgpt_bench.worlds import open_world
from restgpt_bench.worlds.faults import Fault, FaultKind
from restgpt_bench.worlds.server import WorldServer, serve

pytestmark = pytest.mark.slow

ANN, BOB = "a" * 32, "b" * 32
TOKENS = {"RESTGPT_MCP_TOKEN": f"ann={ANN},bob={BOB}"}
OLDER = "2025-06-18"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_change_is_asked_about_made_and_undone(transport: str, era: str, toy: WorldServer, home: Path) -> None:
    person = Person()

    async def use(client: Client) -> None:
        assert "change_operation" in [tool.name for tool in (await client.list_tools()).tools]
        made = await client.call_tool("change_operation", MOSS)
        await client.call_tool("undo", {"handle": facts_of(made)["handle"]})

    if transport == "stdio":
        used(stdio(toy, home), use, person, era)
    else:
        with http_server(at(toy), home) as (url, _):
            used(url, use, person, era)
    assert changes(toy) == [MADE, "DELETE /tasks/{task_id} 204"]
    assert len(person.shown) == 2


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_client_of_fastmcp_can_use_it(transport: str, toy: WorldServer, home: Path) -> None:
    async def approve(message: str, kind: Any, params: Any, context: Any) -> Any:
        return kind(decision="approve", reason="")

    async def use(server: Any) -> str:
        async with FastClient(server, elicitation_handler=approve) as client:
            return str((await client.call_tool("change_operation", MOSS)).content[0].text)

    if transport == "stdio":
        command = stdio(toy, home)
        said = asyncio.run(use(StdioTransport(command.command, command.args, env=command.env)))
    else:
        with http_server(at(toy), home) as (url, _):
            said = asyncio.run(use(StreamableHttpTransport(url)))
    assert ("Moss" in said, changes(toy)) == (True, [MADE])


def test_the_version_of_june_2025_has_elicitation_with_an_empty_declaration(toy: WorldServer, home: Path) -> None:
    with Wire(toy, home) as wire:
        assert wire.open(OLDER, elicitation={})["result"]["protocolVersion"] == OLDER
        asked = wire.call(2, "tools/call", name="change_operation", arguments=MOSS)
        assert (asked["method"], changes(toy)) == ("elicitation/create", [])
        wire.send(id=asked["id"], result={"action": "accept", "content": {"decision": "approve"}})
        assert wire.read()["result"]["isError"] is False
    assert changes(toy) == [MADE]


def test_a_client_that_goes_away_while_it_is_asked_leaves_the_change_waiting(toy: WorldServer, home: Path) -> None:
    with Wire(toy, home) as wire:
        wire.open(OLDER, elicitation={})
        assert wire.call(2, "tools/call", name="change_operation", arguments=MOSS)["method"] == "elicitation/create"
        assert wire.process.stdin is not None
        wire.process.stdin.close()
        assert wire.process.wait(30) == 0
    with Wire(toy, home) as wire:
        wire.open(OLDER)
        listed = wire.call(2, "tools/call", name="pending", arguments={})["result"]["_meta"]["restgpt"]
    assert ([item["status"] for item in listed["threads"]], changes(toy)) == (["pending"], [])


def test_a_cancelled_request_ends_at_once_and_the_change_still_waits(toy: WorldServer, home: Path) -> None:
    with Wire(toy, home) as wire:
        wire.open("2025-11-25", elicitation={"form": {}})
        asked = wire.call(2, "tools/call", name="change_operation", arguments=MOSS)
        wire.send(method="notifications/cancelled", params={"requestId": 2, "reason": "changed my mind"})
        answer = wire.call(3, "tools/call", name="pending", arguments={})
        while answer.get("id") != 3:
            answer = wire.read()
        assert [item["status"] for item in answer["result"]["_meta"]["restgpt"]["threads"]] == ["pending"]
        wire.send(id=asked["id"], result={"action": "accept", "content": {"decision": "approve"}})
        assert wire.call(4, "ping")["result"] == {}
    assert changes(toy) == []


def test_stdout_has_nothing_but_the_protocol_and_no_output_has_a_secret(toy: WorldServer, home: Path) -> None:
    with Wire(toy, home) as wire:
        answer = wire.open("2025-11-25")
        made = wire.call(2, "tools/call", name="read_operation", arguments={"operation": "list_projects"})
        assert wire.process.stdin is not None
        wire.process.stdin.close()
        assert wire.process.wait(30) == 0
        assert wire.process.stdout is not None
        assert wire.process.stderr is not None
        rest, log = wire.process.stdout.read(), wire.process.stderr.read()
    secret = environment(home)["RESTGPT_AUTH_KEY"]
    assert (rest, secret in json.dumps([answer, made]) + log) == ("", False)


def test_handles_are_those_of_the_token_that_got_them(toy: WorldServer, home: Path) -> None:
    async def run(url: str) -> None:
        async with connected(over_http(url, ANN), "legacy") as ann:
            handle = facts_of(await ann.call_tool("change_operation", MOSS))["handle"]
        async with connected(over_http(url, BOB), "legacy") as bob:
            foreign = await bob.call_tool("pending", {"handle": handle})
            assert (foreign.is_error, "not valid here" in text_of(foreign)) == (True, True)
            assert "Nothing waits" in text_of(await bob.call_tool("pending", {}))
        async with connected(over_http(url, ANN), "2026-07-28") as ann:
            assert facts_of(await ann.call_tool("pending", {"handle": handle}))["status"] == "pending"

    with http_server(at(toy), home, env=TOKENS) as (url, _):
        asyncio.run(run(url))


def test_a_request_state_of_another_client_decides_nothing(toy: WorldServer, home: Path) -> None:
    approve = {"approval": {"action": "accept", "content": {"decision": "approve"}}}

    async def run(url: str) -> None:
        async with connected(over_http(url, ANN), "2026-07-28", Person()) as ann:
            asked = await ann.session.call_tool("change_operation", MOSS, allow_input_required=True)
            again: Any = {"input_responses": answers(asked), "request_state": asked.request_state}
            async with connected(over_http(url, BOB), "2026-07-28", Person()) as bob:
                with pytest.raises(MCPError, match="Invalid or expired requestState"):
                    await bob.session.call_tool("change_operation", MOSS, allow_input_required=True, **again)
            other = {**MOSS, "arguments": {"path": {"project_id": 2}, "body": {"title": "Fern"}}}
            with pytest.raises(MCPError, match="Invalid or expired requestState"):
                await ann.session.call_tool("change_operation", other, allow_input_required=True, **again)
            assert changes(toy) == []
            made = await ann.session.call_tool("change_operation", MOSS, allow_input_required=True, **again)
            assert facts_of(made)["http_status"] == 201
            replayed = await ann.session.call_tool("change_operation", MOSS, allow_input_required=True, **again)
            assert facts_of(replayed)["thread"] == facts_of(made)["thread"]

    def answers(asked: Any) -> Any:
        assert set(asked.input_requests) == set(approve)
        return {key: types.ElicitResult(**value) for key, value in approve.items()}

    with http_server(at(toy), home, env=TOKENS) as (url, _):
        asyncio.run(run(url))
    assert changes(toy) == [MADE]


LISTED = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
PAGE = "http://localhost:3000"


def listed(url: str, version: str, headers: dict[str, str]) -> requests.Response:
    """The answer to a request for the tools, with these headers; `{port}` stands for the real port."""
    sent = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": version}
    sent |= {name: value.format(port=urlsplit(url).port) for name, value in headers.items()}
    return requests.post(url, data=json.dumps(LISTED), headers={"Content-Type": "application/json", **sent}, timeout=30)


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_a_page_in_a_browser_cannot_reach_it(toy: WorldServer, home: Path, version: str) -> None:
    refused: list[dict[str, str]] = [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1:1"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://localhost:{port}"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Content-Type": "text/plain"},
    ]
    with http_server(at(toy), home) as (url, _):
        for headers in refused:
            answer = listed(url, version, headers)
            assert (headers, answer.status_code, list(answer.json())) == (headers, 403, ["detail"])
        for headers in ({}, {"Host": "localhost:{port}"}, {"Origin": "http://127.0.0.1:{port}"}):
            assert listed(url, version, headers).status_code != 403


def test_a_page_and_a_host_that_the_user_names_can_use_it(toy: WorldServer, home: Path) -> None:
    names = {"RESTGPT_SERVER_HOSTS": "agent.example.com", "RESTGPT_SERVER_ORIGINS": PAGE}
    asked = {"Origin": PAGE, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    with http_server(at(toy), home, env=TOKENS | names) as (url, _):
        answer = requests.options(url, headers=asked, timeout=30)
        assert (answer.status_code, answer.headers["Access-Control-Allow-Origin"]) == (200, PAGE)
        for headers in ({"Origin": PAGE}, {"Host": "agent.example.com", "Origin": "https://agent.example.com"}):
            assert listed(url, OLDER, headers).status_code == 401
        foreign = requests.options(url, headers=asked | {"Origin": "http://localhost:3001"}, timeout=30)
        assert (foreign.status_code, "Access-Control-Allow-Origin" in foreign.headers) == (403, False)


def test_a_server_with_tokens_answers_nobody_without_one(toy: WorldServer, home: Path) -> None:
    with http_server(at(toy), home, "--host", "0.0.0.0", env=TOKENS) as (url, process):
        here = url.replace("0.0.0.0", "127.0.0.1")
        for given in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {ANN}"}):
            assert requests.post(here, json=LISTED, headers=given, timeout=30).status_code == 401
        # A client may know the machine by any name; a page has no token, and is refused before.
        assert requests.post(here, json=LISTED, headers={"Host": "a.example"}, timeout=30).status_code == 401
        foreign = requests.post(here, json=LISTED, headers={"Origin": "http://evil.example"}, timeout=30)
        assert foreign.status_code == 403
        used(over_http(here, ANN), lambda client: client.list_tools(), era="legacy")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert process.stderr is not None
        said = process.stderr.read()
    assert ANN not in said
    assert "Its clients are told apart, but the APIs get this server's own credentials from all of them." in said


def test_another_address_needs_a_token(toy: WorldServer, home: Path) -> None:
    command = [sys.executable, "-m", "restgpt", "mcp", *at(toy), "--http", "--host", "0.0.0.0", "--port", "0"]
    ran = subprocess.run(command, env=environment(home), capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, "Set RESTGPT_MCP_TOKEN" in ran.stderr) == (2, True)


@pytest.mark.parametrize("place", ["?tags=projects", "/projects"])
@pytest.mark.parametrize("era", ERAS)
def test_a_client_chooses_direct_tools_by_tags_in_the_url(
    toy: WorldServer, home: Path, tmp_path: Path, place: str, era: str
) -> None:
    tags = {"/projects": "projects", "/tasks": "tasks"}
    paths = {path: {"get": {"operationId": f"list_{tag}", "tags": [tag]}} for path, tag in tags.items()}
    (tmp_path / "board.json").write_text(json.dumps(openapi(paths)))

    async def names(client: Client) -> list[str]:
        return [tool.name for tool in (await client.list_tools()).tools]

    source = ["--spec", str(tmp_path / "board.json"), "--base-url", toy.url]
    with http_server(source, home, "--direct") as (url, _):
        assert {"list_projects", "list_tasks"} <= set(used(url, names, era=era))
        chosen = used(f"{url}{place}", names, era=era)
    assert ("list_projects" in chosen, "list_tasks" in chosen) == (True, False)


def test_two_clients_of_one_server_do_not_wait_for_each_other(home: Path) -> None:
    with serve(open_world("toy")) as slow, http_server(at(slow), home) as (url, _):

        async def run() -> list[str]:
            async with connected(url, "legacy") as one, connected(url, "2026-07-28") as two:
                slow.world.faults.replace([Fault(kind=FaultKind.SLOW, seconds=5.0)])
                async with anyio.create_task_group() as group:
                    ends: list[str] = []

                    async def call(name: str, client: Client, tool: str, arguments: dict[str, Any]) -> None:
                        await client.call_tool(tool, arguments)
                        ends.append(name)

                    group.start_soon(call, "slow", one, "read_operation", {"operation": "list_projects"})
                    while not slow.world.log:
                        await anyio.sleep(0.01)
                    group.start_soon(call, "quick", two, "find_operations", {"query": "task"})
                return ends

        assert asyncio.run(run()) == ["quick", "slow"]
