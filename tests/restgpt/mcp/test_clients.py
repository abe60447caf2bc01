"""Guards what clients rely on, in memory, over stdio and over HTTP: hints, names, arguments, results, sessions."""

import json
import os
import socket
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from cli import TOY, at
from loopback import Handler, served
from mcp.client.stdio import StdioServerParameters
from mcpserver import (
    ERAS,
    MADE,
    MOSS,
    Person,
    Wire,
    changes,
    environment,
    http_server,
    stdio,
    text_of,
    used,
    with_client,
)
from paths import openapi
from starlette.testclient import TestClient
from uiserver import UiPlatform, running_ui

from recipes import recipe
from restgpt.commands.serving import open_server
from restgpt.mcp.http import MOST_SESSIONS, Tokens, make_app
from restgpt.mcp.protocol import LISTS_HOLD_MS
from restgpt.recipes.book import RecipeBook
from restgpt.server.page_routes import page_of
from restgpt.sources import Sources
from restgpt.specs import load_api
from restgpt.tools.settings import Settings
from restgpt.tools.settings.entry import ServerAccess
from restgpt_bench.worlds import CREDENTIAL
from restgpt_bench.worlds.server import WorldServer

Opener = Callable[..., Any]

OPENING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.mark.parametrize("era", ERAS)
def test_a_client_may_allow_reads_for_ever(era: str, toy: WorldServer, opened: Opener) -> None:
    async def use(client: Any) -> list[Any]:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        for tool in tools.values():
            hints = tool.annotations.model_dump(exclude={"title"})
            assert (bool(tool.title), len(hints), set(hints.values()) <= {True, False}) == (True, 4, True), tool
        assert tools["read_operation"].annotations.read_only_hint is True
        assert tools["change_operation"].annotations.read_only_hint is False
        read = {"operation": "list_projects"}
        return [await client.call_tool("read_operation", given) for given in (read, MOSS)]

    read, refused = with_client(opened({"writes": "allow"}), use, Person(), era)
    assert (read.is_error, "Winter timetable" in text_of(read)) == (False, True)
    assert (refused.is_error, "Call it with `change_operation`" in text_of(refused)) == (True, True)
    assert changes(toy) == []


def test_a_recipe_leaves_tools_of_its_name_to_the_server(toy: WorldServer, opened: Opener, recipes: RecipeBook) -> None:
    recipes.save(recipe(load_api(TOY, base_url=toy.url), name="pending"))

    async def use(client: Any) -> list[str]:
        names = [tool.name for tool in (await client.list_tools()).tools]
        made = await client.call_tool("pending_2", {"project": "Winter timetable", "title": "Moss"})
        return [*names, text_of(await client.call_tool("pending", {})), text_of(made)]

    *names, waiting, made = with_client(opened(), use, Person())
    assert {"pending", "pending_2"} <= set(names)
    assert (waiting, changes(toy)) == ("Nothing waits for a person.", [MADE]), made


def test_arguments_are_taken_as_clients_write_them(opened: Opener) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("read_operation", {"operation": "get_task", "arguments": '{"path": {"task_id": 103}}', "pages": "1"}),
        ("read_operation", {"operation": "get_task", "arguments": {"path": '{"task_id": "103"}', "query": None}}),
        ("read_operation", {"operation": "find_tasks", "arguments": {"assignee": None, "page": "1"}, "pages": None}),
        ("read_operation", {"operation": "list_projects", "arguments": None, "pages": 1.0}),
        ("find_operations", {"query": "task", "limit": "3"}),
        ("describe_operation", {"operations": '["get_task"]'}),
        ("run_program", {"code": "print(1)", "thread": None}),
        ("pending", {"handle": None}),
    ]
    direct: list[tuple[str, dict[str, Any]]] = [
        ("get_task", {"path": '{"task_id": "103"}'}),
        ("find_tasks", {"query": None}),
        ("find_tasks", {"query": {"page": "1", "assignee": None}}),
    ]

    def each(made: list[tuple[str, dict[str, Any]]]) -> Callable[[Any], Any]:
        async def use(client: Any) -> list[Any]:
            return [await client.call_tool(name, given) for name, given in made]

        return use

    found = [*with_client(opened(), each(calls)), *with_client(opened(is_direct=True), each(direct))]
    assert [text_of(result) for result in found if result.is_error] == []


def test_an_error_as_the_answer_to_a_question_leaves_the_change_waiting(toy: WorldServer, home: Path) -> None:
    with Wire(toy, home) as wire:
        wire.open("2025-11-25", elicitation={"form": {}})
        asked = wire.call(2, "tools/call", name="change_operation", arguments=MOSS)
        assert asked["params"]["requestedSchema"]["properties"]["reason"]["default"] == ""
        wire.send(id=asked["id"], error={"code": -32603, "message": "no window"})
        result = wire.read()["result"]
    assert (result["isError"], result["_meta"]["restgpt"]["status"], changes(toy)) == (False, "pending", [])
    assert "--approve" in result["content"][0]["text"]


def test_the_command_that_a_waiting_change_names_works_if_pasted(toy: WorldServer, home: Path, tmp_path: Path) -> None:
    apis = tmp_path / "my apis.yaml"
    apis.write_text(f"board: {{spec: {TOY}, base_url: '{toy.url}', auth: {{key: '${{BOARD_KEY}}'}}}}")
    command = stdio(toy, home, env={"RESTGPT_APIS": str(apis), "BOARD_KEY": CREDENTIAL})
    command.args = ["-m", "restgpt", "mcp", "--api", "board"]

    async def use(client: Any) -> Any:
        return await client.call_tool("change_operation", MOSS)

    text = text_of(used(command, use))
    line = next(line for line in text.splitlines() if line.endswith("--approve")).strip()
    assert ("BOARD_KEY" in text, CREDENTIAL in text) == (True, False)
    shell = {"PATH": os.defpath, "HOME": str(tmp_path), "BOARD_KEY": CREDENTIAL}
    ran = subprocess.run(line, shell=True, env=shell, cwd="/", capture_output=True, text=True, timeout=120, check=False)
    assert (ran.returncode, changes(toy)) == (0, [MADE]), ran.stderr


PROPERTIES = {"id": {"type": "integer"}, "made": {"type": "string", "format": "date-time"}}
TYPED = {"type": "object", "required": ["id"], "properties": PROPERTIES}
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
ZIP = b"PK\x03\x04" + bytes(range(256)) * 8
ANSWERS: dict[str, tuple[Any, str]] = {
    "fits": ({"id": 7, "made": "yesterday"}, "application/json"),
    "lies": ({"id": "seven"}, "application/json"),
    "long": ({"id": 7, "rows": [{"n": n, "text": "row " * 20} for n in range(400)]}, "application/json"),
    "image": (PNG, "application/octet-stream"),
    "label": (ZIP, "image/png"),
    "file": (ZIP, "application/zip"),
}


class Answers(Handler):
    """An API with an operation for each answer."""

    def do_GET(self) -> None:
        value, media_type = ANSWERS[self.path.strip("/")]
        self.answer(value, media_type=media_type)


@pytest.fixture
def answers(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opener]:
    """Open a server of the API in this process."""
    paths = {}
    for name, (_, media_type) in ANSWERS.items():
        content = {media_type: {"schema": TYPED if media_type == "application/json" else {}}}
        paths[f"/{name}"] = {"get": {"operationId": name, "responses": {"200": {"content": content}}}}
    (tmp_path / "answers.json").write_text(json.dumps(openapi(paths)))
    monkeypatch.setenv("RESTGPT_HOME", str(home))
    with served(Answers) as url:
        sources = Sources((), (str(tmp_path / "answers.json"),), url)
        yield lambda **chosen: open_server(Settings.from_env(), sources, {}, **chosen)


@pytest.mark.parametrize("era", ERAS)
def test_results_are_data_by_the_schema_of_the_document(era: str, answers: Opener) -> None:
    async def use(client: Any) -> dict[str, Any]:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        schema = tools["fits"].output_schema["properties"]["body"]
        assert schema == {**TYPED, "properties": {"id": {"type": "integer"}, "made": {"type": "string"}}}
        # The client checks each result against the schema.
        return {name: (await client.call_tool(name, {})).structured_content for name in ("fits", "lies", "long")}

    found = with_client(answers(is_direct=True), use, era=era)
    assert (found["fits"]["http_status"], found["fits"]["body"]) == (200, ANSWERS["fits"][0])
    assert ("body" in found["lies"], "seven" in found["lies"]["text"]) == (False, True)
    assert ("body" in found["long"], found["long"]["bytes"] > 30_000) == (False, True)
    assert "." in found["long"]["result"]


def test_the_state_of_a_call_is_data(opened: Opener) -> None:
    async def use(client: Any) -> list[Any]:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["find_operations"].output_schema is None
        assert tools["run_program"].output_schema["required"] == ["status"]
        read = await client.call_tool("read_operation", {"operation": "get_task", "arguments": {"task_id": 103}})
        ran = await client.call_tool("run_program", {"code": "print(41 + 1)"})
        return [item.structured_content for item in (read, ran, await client.call_tool("change_operation", MOSS))]

    read, ran, waiting = with_client(opened(), use)
    assert (read["status"], read["http_status"], read["body"]["id"]) == ("sent", 200, 103)
    assert (ran["status"], "42" in ran["text"]) == ("done", True)
    assert (waiting["status"], waiting["handle"] in waiting["text"]) == ("pending", True)


def test_images_and_files_have_their_type(answers: Opener) -> None:
    async def use(client: Any) -> dict[str, Any]:
        found = {}
        for name in ("image", "label", "file"):
            result = await client.call_tool("read_operation", {"operation": name})
            [link] = [part for part in result.content if part.type == "resource_link"]
            images = [(b64decode(part.data), part.mime_type) for part in result.content if part.type == "image"]
            [whole] = (await client.read_resource(link.uri)).contents
            found[name] = (images, link.mime_type, link.size, b64decode(whole.blob), whole.mime_type)
        return found

    found = with_client(answers(), use)
    stream = "application/octet-stream"
    assert found["image"] == ([(PNG, "image/png")], stream, len(PNG), PNG, stream)
    # What says that it is an image, and is none, would end the conversation of a model.
    assert found["label"] == ([], "image/png", len(ZIP), ZIP, "image/png")
    assert found["file"] == ([], "application/zip", len(ZIP), ZIP, "application/zip")


class Patient(Handler):
    """An API that answers when the client has heard that its call goes on."""

    heard = Event()

    def do_GET(self) -> None:
        is_heard = self.heard.wait(60)
        self.answer({"is_heard": is_heard})


READ: tuple[str, dict[str, Any]] = ("read_operation", {"operation": "wait"})
RUN: tuple[str, dict[str, Any]] = ("run_program", {"code": "print(wait())"})


@pytest.mark.parametrize(
    ("transport", "era", "tool", "given"),
    [("stdio", ERAS[0], *READ), ("http", ERAS[1], *RUN), *(("", era, *call) for era in ERAS for call in (READ, RUN))],
)
def test_a_client_hears_that_a_long_call_goes_on(
    transport: str,
    era: str,
    tool: str,
    given: dict[str, Any],
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "wait.json").write_text(json.dumps(openapi({"/wait": {"get": {"operationId": "wait"}}})))
    Patient.heard.clear()
    reports: list[float] = []

    async def progress(reported: float, total: float | None, message: str | None) -> None:
        reports.append(reported)
        Patient.heard.set()

    async def use(client: Any) -> Any:
        return await client.call_tool(tool, given, progress_callback=progress)

    with served(Patient) as url:
        options = ["--spec", str(tmp_path / "wait.json"), "--base-url", url]
        if not transport:
            monkeypatch.setenv("RESTGPT_HOME", str(home))
            sources = Sources((), (str(tmp_path / "wait.json"),), url)
            result = with_client(open_server(Settings.from_env(), sources, {}), use, era=era)
        elif transport == "stdio":
            command = [*("-m", "restgpt", "mcp"), *options]
            result = used(
                StdioServerParameters(command=sys.executable, args=command, env=environment(home)), use, era=era
            )
        else:
            with http_server(options, home) as (address, _):
                result = used(address, use, era=era)
    assert "true" in text_of(result).lower()
    assert reports == sorted(set(reports)) != []


def test_lists_say_how_long_they_hold_and_there_are_no_prompts(opened: Opener) -> None:
    async def use(client: Any) -> list[Any]:
        return [await client.list_tools(), await client.list_prompts(), await client.list_resource_templates()]

    tools, prompts, templates = with_client(opened(), use)
    assert [found.ttl_ms for found in (tools, prompts, templates)] == [LISTS_HOLD_MS] * 3
    assert prompts.prompts == []


def test_a_blank_after_a_header_value_does_no_harm(toy: WorldServer, home: Path) -> None:
    with http_server(at(toy), home) as (url, _):
        address = urlsplit(url)
        body = json.dumps(OPENING).encode()
        own = {"Host": f"{address.netloc} ", "Origin": f"http://{address.netloc}\t"}
        kind = {"Content-Type": "application/json ", "Mcp-Protocol-Version": "2025-11-25 "}
        end = {"Content-Length": str(len(body)), "Connection": "close"}
        with socket.create_connection((address.hostname, address.port)) as raw:
            headers = {**own, **kind, **ACCEPT, **end}
            lines = ["POST /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
            raw.sendall("\r\n".join(lines).encode() + body)
            assert raw.makefile("rb").readline() == b"HTTP/1.1 200 OK\r\n"


@pytest.mark.slow
def test_the_sessions_of_a_server_are_bounded(toy: WorldServer, home: Path) -> None:
    with http_server(at(toy), home) as (url, _), requests.Session() as http:
        codes = [http.post(url, json=OPENING, headers=ACCEPT, timeout=30).status_code for _ in range(MOST_SESSIONS + 1)]
    assert (set(codes[:-1]), codes[-1]) == ({200}, 503)


def test_an_idle_session_ends(toy: WorldServer, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESTGPT_HOME", str(home))
    with open_server(Settings.from_env(), Sources((), (TOY,), toy.url), {}, is_http=True) as server:
        app = make_app(server, "127.0.0.1", Tokens({}), ServerAccess(), idle=0.01)
        with TestClient(app, base_url="http://127.0.0.1") as http:
            opened = http.post("/mcp", json=OPENING, headers=ACCEPT)
            headers = {**ACCEPT, "Mcp-Session-Id": opened.headers["mcp-session-id"]}
            ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
            status = 200
            while status == 200:
                time.sleep(0.05)  # longer than it may be idle
                status = http.post("/mcp", json=ping, headers=headers).status_code
            assert status == 404


MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "wire", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"url": {}}},
}


@pytest.fixture
def page(tmp_path: Path) -> Iterator[UiPlatform]:
    """`restgpt ui` on the home of the servers."""
    with running_ui(tmp_path, "http://127.0.0.1:9", env={"RESTGPT_AUTH_KEY": CREDENTIAL}) as found:
        yield found


def asked_on_the_page(params: Any, page: UiPlatform) -> str:
    """The thread of the address that a client is to open, which has no token."""
    assert (params["mode"], '{"title":"Moss"}' in params["message"]) == ("url", True)
    address, _, thread = params["url"].rpartition("/")
    assert address == f"{page.url}/debug#/thread"
    return str(thread)


@pytest.mark.slow
@pytest.mark.parametrize(("decision", "status"), [("approve", "sent"), ("reject", "rejected")])
def test_a_client_that_can_only_open_an_address_has_a_change_decided_on_the_page(
    decision: str, status: str, page: UiPlatform, toy: WorldServer, home: Path
) -> None:
    with Wire(toy, home) as wire:
        wire.open("2025-11-25", elicitation={"url": {}})
        asked = wire.call(2, "tools/call", name="change_operation", arguments=MOSS)
        thread = asked_on_the_page(asked["params"], page)
        # Only the page decides: what the client's answer holds approves nothing.
        wire.send(id=asked["id"], result={"action": "accept", "content": {"decision": "approve"}})
        page.run(thread, command={"resume": {"decisions": [{"type": decision}]}})
        told, answer = wire.read(), wire.read()
    assert told["method"] == "notifications/elicitation/complete"
    assert told["params"]["elicitationId"] == asked["params"]["elicitationId"]
    assert answer["result"]["_meta"]["restgpt"]["status"] == status
    assert changes(toy) == ([MADE] if status == "sent" else [])
    assert page.token not in json.dumps([asked, told, answer])


@pytest.mark.slow
def test_the_page_also_decides_in_the_newest_protocol(page: UiPlatform, toy: WorldServer, home: Path) -> None:
    call = {"name": "change_operation", "arguments": MOSS, "_meta": MODERN}
    with Wire(toy, home) as wire:
        asked = wire.call(1, "tools/call", **call)["result"]
        thread = asked_on_the_page(asked["inputRequests"]["approval"]["params"], page)
        answer = {"approval": {"action": "accept", "content": {"decision": "approve"}}}
        given = {**call, "inputResponses": answer, "requestState": asked["requestState"]}
        wire.send(id=2, method="tools/call", params=given)
        page.run(thread, command={"resume": {"decisions": [{"type": "approve"}]}})
        assert wire.read()["result"]["structuredContent"]["http_status"] == 201
    assert changes(toy) == [MADE]


@pytest.mark.slow
def test_a_page_that_ends_leaves_its_question_to_another_way(page: UiPlatform, toy: WorldServer, home: Path) -> None:
    with Wire(toy, home) as wire:
        wire.open("2025-11-25", elicitation={"form": {}, "url": {}})
        asked = wire.call(2, "tools/call", name="change_operation", arguments=MOSS)
        assert "mode" not in asked["params"] or asked["params"]["mode"] == "form"
        wire.send(id=asked["id"], error={"code": -32603, "message": "no window"})
        asked = wire.read()
        thread = asked_on_the_page(asked["params"], page)
        wire.send(id=asked["id"], result={"action": "accept"})
        page.process.kill()
        assert wire.read()["result"]["_meta"]["restgpt"]["status"] == "pending"
    assert (page_of(home, thread), list((home / "locks").glob("page-*")), changes(toy)) == ("", [], [])


@pytest.mark.slow
def test_a_client_with_a_token_is_sent_to_no_local_address(page: UiPlatform, toy: WorldServer, home: Path) -> None:
    token = "t" * 32
    with http_server(at(toy), home, env={"RESTGPT_MCP_TOKEN": token}) as (url, _):
        headers = {**ACCEPT, "Authorization": f"Bearer {token}", "Mcp-Protocol-Version": "2026-07-28"}
        call = {"name": "change_operation", "arguments": MOSS, "_meta": MODERN}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        named = {"Mcp-Method": "tools/call", "Mcp-Name": "change_operation"}
        answer = requests.post(url, json=body, headers={**headers, **named}, timeout=30)
    assert '"status":"pending"' in answer.text.replace(" ", "")
    assert "/debug#" not in answer.text
