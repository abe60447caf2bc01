"""Guards who may talk to a server: the headers of pages, of names that lead here, and of programs."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from asgi import HERE, requested
from httpx2 import Response
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from restgpt.server.access import IN_PROCESS, AccessCheck
from restgpt.server.app import STUDIO, GuardedApp
from restgpt.tools.errors import SettingsError
from restgpt.tools.settings import ServerAccess
from restgpt.tools.settings.entry import SERVER_HOSTS, SERVER_ORIGINS

CONTAINER = "http://172.17.0.2:8000"
EVIL = "http://evil.example"
CHAT = "http://localhost:3000"


async def echo(request: Request) -> PlainTextResponse:
    return PlainTextResponse((await request.body()).decode())


async def listen(socket: WebSocket) -> None:
    await socket.accept()
    await socket.close()


ROUTES = [Route("/runs/wait", echo, methods=["GET", "POST", "DELETE"]), WebSocketRoute("/events", listen)]


def sent(app: Any, method: str, headers: Mapping[str, str], **given: Any) -> Response:
    """The answer to a request on a connection that ends at an address and a port."""
    return requested(app, method, "/runs/wait", headers=dict(headers), **given)


def status(headers: Mapping[str, str], *, at: str = HERE, environ: Mapping[str, str] = {}, **options: Any) -> int:
    """The status of an answer to a read."""
    app = AccessCheck(Starlette(routes=ROUTES), ServerAccess.from_env(environ), **options)
    return sent(app, "GET", headers, at=at).status_code


OWN = (b"host", b"127.0.0.1:2024")


def refusal(*headers: tuple[bytes, bytes], at: Any = ("127.0.0.1", 2024), **more: Any) -> str | None:
    """Why a request whose headers no client would write is refused."""
    scope = {"type": "http", "scheme": "http", "path": "/", "server": at, "headers": list(headers), **more}
    return AccessCheck(Starlette(), ServerAccess()).refusal(scope)


def test_every_name_of_this_machine_with_the_real_port_is_served() -> None:
    for host in ("127.0.0.1", "localhost", "LocalHost", "[::1]", "127.0.0.2", "0.0.0.0"):
        assert status({"Host": f"{host}:2024"}) == 200, host


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:2024", "127.0.0.1.evil.example:2024", "127.0.0.1:2024.evil.example"),
        *("localhost:2024.evil.example", "localhost.evil.example:2024", "evil-localhost:2024", "x.localhost:2024"),
        *("127.0.0.1", "127.0.0.1:1", "127.0.0.1:20240", "127.0.0.1:02024x", "localhost:", "localhost:0", "[::1]:80"),
        *("127.0.0.1:2024@evil.example", "evil.example@127.0.0.1:2024", "http://127.0.0.1:2024", "127.0.0.1:2024/"),
        *("[evil]:2024", "[::1:2024", "127.0.0.1 :2024", "127.1:2024", "2130706433:2024", "10.0.0.5:2024", ""),
    ],
)
def test_every_other_host_is_refused(host: str) -> None:
    assert status({"Host": host}) == 403


def test_a_host_without_a_port_has_the_port_of_its_scheme() -> None:
    assert status({"Host": "localhost"}, at="http://127.0.0.1:80") == 200
    assert status({"Host": "localhost"}, at="https://127.0.0.1:443") == 200
    assert status({"Host": "localhost"}, at="https://127.0.0.1:80") == 403


def test_two_hosts_or_none_are_refused() -> None:
    assert [refusal(OWN), bool(refusal()), bool(refusal(OWN, OWN))] == [None, True, True]


def test_a_published_port_of_a_container_is_served_and_a_foreign_name_is_not() -> None:
    for host in ("localhost:8123", "127.0.0.1:8123", "[::1]:8123", "172.17.0.2:8000"):
        assert status({"Host": host}, at=CONTAINER) == 200
    for host in ("evil.example:8123", "172.17.0.2:1", "172.17.0.3:8000", "server:8000"):
        assert status({"Host": host}, at=CONTAINER) == 403
    assert status({"Host": "localhost:8123", "Origin": "http://localhost:8123"}, at=CONTAINER) == 200
    assert status({"Host": "localhost:8123", "Origin": CHAT}, at=CONTAINER) == 403


def test_a_connection_over_ipv6_ends_at_the_ipv4_address_that_it_carries() -> None:
    carried = ("::ffff:127.0.0.1", 2024)
    assert refusal(OWN, at=carried) is None
    assert refusal((b"host", b"127.0.0.1:1"), at=carried) is not None


def test_a_server_behind_a_socket_file_is_this_machine() -> None:
    file = ("/run/restgpt.sock", None)
    assert refusal((b"host", b"localhost"), at=file) is None
    assert refusal((b"host", b"evil.example"), at=file) is not None


def test_hosts_that_the_user_names_are_served_by_name_by_port_and_by_domain() -> None:
    environ = {SERVER_HOSTS: "agent.example.com, strict.example.com:8443, *.tunnel.example"}
    for host in ("agent.example.com", "Agent.Example.Com:9000", "strict.example.com:8443", "a.b.tunnel.example"):
        assert status({"Host": host}, environ=environ) == 200
    for host in ("strict.example.com", "tunnel.example", "eviltunnel.example", "agent.example.com.evil.example"):
        assert status({"Host": host}, environ=environ) == 403


def test_pages_of_a_named_host_are_its_own_though_a_proxy_takes_tls_off() -> None:
    environ = {SERVER_HOSTS: "agent.example.com"}
    own = {"Host": "agent.example.com", "Origin": "https://agent.example.com", "Sec-Fetch-Site": "same-origin"}
    assert status(own, environ=environ) == 200
    assert status(own | {"Origin": "https://agent.example.com:444"}, environ=environ) == 403
    assert status(own | {"Origin": "https://other.example.com"}, environ=environ) == 403


@pytest.mark.parametrize(
    "origin",
    [
        *(EVIL, "null", "", "https://smith.langchain.com", CHAT, "https://127.0.0.1:2024", "http://localhost:2024"),
        *("http://127.0.0.1", "http://127.0.0.1:1", "http://127.0.0.1:2024.evil.example", "http://127.0.0.1:2024/"),
        *("file://", "chrome-extension://abc", "127.0.0.1:2024", "http://127.0.0.1:2024 http://evil.example"),
    ],
)
def test_every_other_origin_is_refused_also_another_port_of_this_machine(origin: str) -> None:
    assert status({"Origin": origin}) == 403


def test_the_servers_own_page_is_served() -> None:
    assert status({"Origin": HERE, "Sec-Fetch-Site": "same-origin"}) == 200
    assert status({"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}) == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "Cross-Site", "odd", ""])
@pytest.mark.parametrize("origin", [{}, {"Origin": HERE}])
def test_what_a_page_of_another_site_leads_to_is_refused_also_without_origin(site: str, origin: dict[str, str]) -> None:
    assert status({"Sec-Fetch-Site": site, **origin}) == 403


def test_pages_that_the_user_names_are_served_whatever_their_site() -> None:
    environ = {SERVER_ORIGINS: f"{CHAT}/, https://chat.example.com:443"}
    for origin in (CHAT, "https://chat.example.com"):
        assert status({"Origin": origin, "Sec-Fetch-Site": "cross-site"}, environ=environ) == 200
    for origin in ("http://localhost:3001", "https://localhost:3000", "http://chat.example.com", EVIL):
        assert status({"Origin": origin, "Sec-Fetch-Site": "cross-site"}, environ=environ) == 403


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize(
    "declared",
    [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/json", "*/*"],
)
def test_a_body_that_is_not_declared_as_json_is_refused(method: str, declared: str | None) -> None:
    app = AccessCheck(Starlette(routes=ROUTES), ServerAccess())
    headers = {} if declared is None else {"Content-Type": declared}
    answer = sent(app, method, headers, content=b"{}")
    assert (answer.status_code, "Content-Type: application/json" in answer.json()["detail"]) == (403, True)


@pytest.mark.parametrize("declared", ["application/json", "Application/JSON; charset=utf-8", "application/a2a+json"])
def test_json_and_requests_without_a_body_are_served(declared: str) -> None:
    app = AccessCheck(Starlette(routes=ROUTES), ServerAccess())
    assert sent(app, "POST", {"Content-Type": declared}, content=b"{}").text == "{}"
    assert sent(app, "POST", {}).status_code == sent(app, "DELETE", {}).status_code == 200


def test_a_body_in_chunks_counts_and_two_declarations_are_none() -> None:
    chunks = (OWN, (b"transfer-encoding", b"chunked"))
    json_, text = (b"content-type", b"application/json"), (b"content-type", b"text/plain")
    assert refusal(*chunks, method="POST") is not None
    assert refusal(*chunks, json_, method="POST") is None
    assert refusal(*chunks, text, json_, method="POST") is not None


def test_a_refusal_is_one_sentence_with_the_remedy_and_shows_headers_without_control_characters() -> None:
    app = AccessCheck(Starlette(routes=ROUTES), ServerAccess())
    for headers, named in (
        ({"Host": "evil.example"}, SERVER_HOSTS),
        ({"Origin": EVIL}, SERVER_ORIGINS),
        ({"Origin": "null"}, SERVER_ORIGINS),
        ({"Sec-Fetch-Site": "cross-site"}, SERVER_ORIGINS),
    ):
        answer = sent(app, "POST", headers)
        assert (answer.status_code, list(answer.json())) == (403, ["detail"])
        assert named in answer.json()["detail"]
    said = str(refusal(OWN, (b"origin", b"\x1b[2J\xe2\x80\xae" + b"x" * 9999)))
    assert (said.isprintable(), said.isascii(), len(said) < 1000) == (True, True, True)


def messages_of_socket(origin: str, extensions: Mapping[str, Any]) -> list[Any]:
    """What a server gets to send when a page opens a WebSocket."""
    headers = [OWN, (b"origin", origin.encode())]
    scope = {"type": "websocket", "scheme": "ws", "path": "/events", "root_path": "", "query_string": b""}
    scope |= {"server": ("127.0.0.1", 2024), "headers": headers, "extensions": extensions, "subprotocols": []}
    seen: list[Any] = []

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        seen.append(message)

    asyncio.run(AccessCheck(Starlette(routes=ROUTES), ServerAccess())(scope, receive, send))
    return seen


def test_a_websocket_of_a_foreign_page_is_never_accepted() -> None:
    assert [message["type"] for message in messages_of_socket(HERE, {})] == ["websocket.accept", "websocket.close"]
    assert [message["type"] for message in messages_of_socket(EVIL, {})] == ["websocket.close"]
    start, body = messages_of_socket(EVIL, {"websocket.http.response": {}})
    assert (start["type"], start["status"]) == ("websocket.http.response.start", 403)
    assert SERVER_ORIGINS in json.loads(body["body"])["detail"]


def test_the_server_itself_may_talk_to_itself() -> None:
    check = AccessCheck(Starlette(routes=ROUTES), ServerAccess())
    own = {"at": "http://api", "root": IN_PROCESS}
    assert requested(check, "GET", f"{IN_PROCESS}/runs/wait", **own).status_code == 200
    assert status({"Host": "api"}) == 403


def preflight(app: Any, origin: str) -> Response:
    """The answer to the question of a browser whether a page may send JSON."""
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    return sent(app, "OPTIONS", {"Origin": origin, "Access-Control-Request-Private-Network": "true", **asked})


def test_a_page_is_told_that_it_may_read_answers_only_if_it_is_studio_or_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SERVER_ORIGINS, CHAT)
    app = GuardedApp(routes=ROUTES)
    for origin in (STUDIO, CHAT):
        asked = preflight(app, origin)
        assert (asked.status_code, asked.headers["access-control-allow-origin"]) == (200, origin)
        assert asked.headers["access-control-allow-private-network"] == "true"
        # Studio declares its JSON as text.
        told = sent(app, "POST", {"Origin": origin, "Content-Type": "text/plain"}, content=b"{}")
        assert (told.status_code, told.headers["access-control-allow-origin"]) == (200, origin)
    for refused in (preflight(app, EVIL), preflight(app, "null"), sent(app, "GET", {"Origin": EVIL})):
        assert refused.status_code == 403
        assert not [name for name in refused.headers if name.startswith("access-control")]
    assert "access-control-allow-origin" not in sent(app, "GET", {}).headers


def test_the_check_stands_before_middleware_that_is_added_later_and_before_unknown_paths() -> None:
    app = GuardedApp(routes=ROUTES)
    app.add_middleware(CORSMiddleware, allow_origins=["*"])
    for answer in (
        preflight(app, EVIL),
        *(sent(app, "GET", odd) for odd in ({"Origin": EVIL}, {"Host": "evil.example"})),
    ):
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers
    assert requested(app, "GET", "/nothing", headers={"Origin": EVIL}).status_code == 403


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((SERVER_HOSTS, text) for text in ("https://a.example", "a.example/x", "*", "a.example:99999", "a b")),
        *((SERVER_ORIGINS, text) for text in ("*", "null", "a.example", "https://a.example/x", "https://*.example")),
    ],
)
def test_a_host_or_an_origin_that_cannot_be_read_is_an_error_that_names_it(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name) as raised:
        ServerAccess.from_env({name: f"a.example, {value}" if name == SERVER_HOSTS else value})
    assert repr(value) in str(raised.value)
