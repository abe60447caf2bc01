"""Guards `langgraph dev` against web pages: every route of the real server refuses them, and clients go on working."""

import http.client
import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from boardscript import READ, WRITE
from langgraph_sdk import get_sync_client
from langgraphserver import APPROVE, CHAT_PAGE, PATIENCE_S, Platform

from restgpt.server.app import STUDIO

pytestmark = pytest.mark.slow

EVIL = "http://evil.example"
LOOPBACK_PAGE = "http://localhost:3001"
"""A page of another program on this machine, which the user has not named."""
PLAIN, JSON = {"Content-Type": "text/plain"}, {"Content-Type": "application/json"}
ASKED = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
A2A = "/a2a/b6354249-0b06-5b85-80ea-c7ab8c0c69ef"
ELSEWHERE = ("/debug", "/mcp", A2A, "/ui/restgpt", "/nothing", "/noauth/threads")
"""Paths that the document of the server does not have."""


def send(platform: Platform, method: str, path: str, headers: Mapping[str, str], body: Any = None) -> Any:
    """Send one request; the body as it is, or as JSON that is declared by the headers."""
    content = None if body is None else json.dumps(body)
    url = f"{platform.url}{path}"
    # A stream that is served stays open, so only its head is waited for.
    return requests.request(method, url, headers=dict(headers), data=content, timeout=PATIENCE_S, stream=True)


def is_shut(answer: requests.Response) -> bool:
    """Whether a page was refused with a sentence, and is not let read even that."""
    is_readable = any(name.lower().startswith("access-control") for name in answer.headers)
    return answer.status_code == 403 and "RESTGPT_SERVER_" in answer.json()["detail"] and not is_readable


def routes(platform: Platform) -> Iterator[tuple[str, str]]:
    """Every method and path of the server, with a value for each parameter."""
    paths = requests.get(f"{platform.url}/openapi.json", timeout=PATIENCE_S).json()["paths"]
    thread = platform.new_thread()
    for path, methods in paths.items():
        for method in methods.keys() & {"get", "post", "put", "patch", "delete"}:
            filled = path.replace("{thread_id}", thread)
            yield method.upper(), "/".join("x" if part.startswith("{") else part for part in filled.split("/"))


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": EVIL},
        {"Origin": "null"},
        {"Origin": LOOPBACK_PAGE, "Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
        {"Host": "evil.example"},
    ],
    ids=str,
)
def test_no_route_of_the_server_answers_a_foreign_page(platform: Platform, headers: dict[str, str]) -> None:
    found = [*routes(platform), *(("POST", path) for path in ELSEWHERE), ("GET", "/docs"), ("GET", "/metrics")]
    paths = {path for _, path in found}
    assert {"/runs/wait", "/threads", "/assistants/search", "/store/items", "/ok"} <= paths
    assert len(found) > 40
    served = [f"{method} {path}" for method, path in found if not is_shut(send(platform, method, path, headers))]
    assert served == []


@pytest.mark.parametrize("declared", [PLAIN, {"Content-Type": "application/x-www-form-urlencoded"}, {}], ids=str)
def test_no_route_takes_a_body_that_is_not_declared_as_json(platform: Platform, declared: dict[str, str]) -> None:
    for method, path in routes(platform):
        if method != "GET":
            answer = send(platform, method, path, declared, {})
            assert (path, answer.status_code) == (path, 403)
            assert "Content-Type: application/json" in answer.json()["detail"]


@pytest.mark.parametrize(
    "headers",
    [{"Origin": EVIL, **PLAIN}, {"Origin": EVIL, **JSON}, {"Origin": "null", **PLAIN}, PLAIN, {"Host": "evil.example"}],
    ids=str,
)
def test_a_page_can_neither_make_a_change_nor_approve_one(platform: Platform, headers: dict[str, str]) -> None:
    given = {"assistant_id": "restgpt", "input": {"instruction": WRITE}, "context": {"writes": "allow"}}
    assert send(platform, "POST", "/runs/wait", headers, given).status_code == 403
    thread = platform.new_thread()
    assert "__interrupt__" in platform.run(thread, input={"instruction": WRITE})
    approving = {"assistant_id": "restgpt", "command": APPROVE}
    for path in ("wait", "stream"):
        assert send(platform, "POST", f"/threads/{thread}/runs/{path}", headers, approving).status_code == 403
    assert platform.changes() == []


def socket_status(platform: Platform, origin: str | None) -> int:
    """The status of the answer to a WebSocket that a page opens; 101 is an open one."""
    place = urlsplit(platform.url)
    handshake = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    headers = handshake | {"Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg=="} | ({"Origin": origin} if origin else {})
    with closing(http.client.HTTPConnection(place.hostname or "", place.port, timeout=PATIENCE_S)) as connection:
        connection.request("GET", f"/threads/{platform.new_thread()}/stream/events", headers=headers)
        return connection.getresponse().status


def test_a_websocket_is_opened_by_the_same_pages_only(platform: Platform) -> None:
    for origin in (None, platform.url, STUDIO, CHAT_PAGE):
        assert (origin, socket_status(platform, origin)) == (origin, 101)
    for origin in (EVIL, "null", LOOPBACK_PAGE, f"{platform.url}.evil.example"):
        assert (origin, socket_status(platform, origin)) == (origin, 403)


def test_a_preflight_of_a_foreign_page_is_refused(platform: Platform) -> None:
    for origin in (EVIL, "null", LOOPBACK_PAGE):
        assert is_shut(send(platform, "OPTIONS", "/runs/wait", {"Origin": origin, **ASKED}))


@pytest.mark.parametrize("origin", [STUDIO, CHAT_PAGE])
def test_studio_and_a_page_that_the_user_names_go_on_working(platform: Platform, origin: str) -> None:
    headers = {"Origin": origin, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}
    asked = send(platform, "OPTIONS", "/threads", headers | ASKED | {"Access-Control-Request-Private-Network": "true"})
    told = asked.headers
    assert (asked.status_code, told["Access-Control-Allow-Origin"]) == (200, origin)
    assert told["Access-Control-Allow-Private-Network"] == "true"

    client = get_sync_client(url=platform.url, headers=headers)
    thread = client.threads.create()["thread_id"]
    given: Any = {"instruction": WRITE}
    assert "__interrupt__" in client.runs.wait(thread, "restgpt", input=given)  # type: ignore[operator]
    parts = list(client.runs.stream(thread, "restgpt", command=APPROVE, stream_mode=["values"]))  # type: ignore[arg-type]
    assert parts[-1].data["answer"] == "It is created."
    assert platform.changes() == ["POST 201"]

    # Studio declares its JSON as text.
    found = send(platform, "POST", "/assistants/search", headers | PLAIN, {})
    told = found.headers
    assert (found.status_code, len(found.json()), told["Access-Control-Allow-Origin"]) == (200, 3, origin)
    assert "content-location" in told["Access-Control-Expose-Headers"].lower()


def test_curl_goes_on_working(platform: Platform) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    body = json.dumps({"assistant_id": "restgpt", "input": {"instruction": READ}})
    port = urlsplit(platform.url).port

    def curl(*arguments: str) -> Any:
        command = ["curl", "--silent", "--noproxy", "*", "--ipv4", *arguments]
        return json.loads(
            subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=True).stdout
        )

    address = f"http://localhost:{port}/runs/wait"
    assert curl(address, "--json", body)["answer"] == "There are 24 tasks."
    # Without the option curl declares a form, as a page would.
    assert "Content-Type: application/json" in curl(address, "--data", body)["detail"]
