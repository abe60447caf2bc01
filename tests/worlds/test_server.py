"""The worlds on the wire: real HTTP on loopback, faults as they reach a client, and controls on another port."""

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest

from lab.kit.port import held_port
from restgpt_bench.worlds import CREDENTIAL, open_world
from restgpt_bench.worlds.server import WorldServer, serve

KEY = f"?key={CREDENTIAL}"
PATIENCE_S = 60


@pytest.fixture(scope="module")
def running_server() -> Iterator[WorldServer]:
    with serve(open_world("toy")) as running:
        yield running


@pytest.fixture
def server(running_server: WorldServer) -> WorldServer:
    running_server.world.reset()
    return running_server


def exchange(
    url: str, method: str = "GET", body: Any = None, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], bytes]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE_S)
    content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    try:
        connection.request(method, path, content, headers or {})
        reply = connection.getresponse()
        return reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read()
    finally:
        connection.close()


def fault(server: WorldServer, **rule: Any) -> None:
    status, _, _ = exchange(f"{server.control_url}/faults", "POST", [rule])
    assert status == 200


def test_a_read_is_json_over_http(server: WorldServer) -> None:
    status, headers, body = exchange(f"{server.url}/tasks/117{KEY}")
    assert status == 200
    assert headers["content-type"] == "application/json"
    assert json.loads(body)["id"] == 117


def test_a_bearer_token_is_as_good_as_the_key(server: WorldServer) -> None:
    good, _, _ = exchange(f"{server.url}/projects", headers={"Authorization": f"Bearer {CREDENTIAL}"})
    bad, _, _ = exchange(f"{server.url}/projects", headers={"Authorization": "Bearer other"})
    assert (good, bad) == (200, 401)


def test_a_write_changes_the_world_and_204_has_no_body(server: WorldServer) -> None:
    status, _, body = exchange(f"{server.url}/projects{KEY}", "POST", {"name": "Rain garden"})
    made = json.loads(body)
    assert status == 201
    assert server.world.dump()["projects"][str(made["id"])]["name"] == "Rain garden"
    status, headers, body = exchange(f"{server.url}/projects/{made['id']}{KEY}", "DELETE")
    assert (status, body) == (204, b"")
    assert "content-type" not in headers
    assert str(made["id"]) not in server.world.dump()["projects"]


@pytest.mark.parametrize(
    ("path", "method", "body", "headers", "status"),
    [
        ("projects", "POST", b"{", {"Content-Type": "application/json"}, 400),
        ("projects", "GET", None, {"Content-Length": "some"}, 400),
        ("projects", "PUT", {}, {}, 405),
        # Escaped path segments stay segments.
        ("tasks/..%2Fprojects", "GET", None, {}, 404),
    ],
)
def test_a_wrong_request_is_told_in_the_style_of_the_api(
    server: WorldServer, path: str, method: str, body: Any, headers: dict[str, str], status: int
) -> None:
    got, told, answer = exchange(f"{server.url}/{path}{KEY}", method, body, headers)
    assert (got, json.loads(answer)["code"]) == (status, status)
    assert told.get("allow") == ("GET, POST" if status == 405 else None)


def test_a_chunked_body_is_read(server: WorldServer) -> None:
    parts = urlsplit(server.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE_S)
    chunks = iter([b'{"name": ', b'"In pieces"}'])
    connection.request("POST", f"{parts.path}/projects{KEY}", chunks, encode_chunked=True)
    assert connection.getresponse().status == 201
    connection.close()


def test_a_server_that_ends_closes_the_connections_that_wait() -> None:
    with serve(open_world("toy")) as server:
        parts = urlsplit(server.url)
        # Less than the time after which the server ends an idle connection anyway.
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE_S / 2)
        connection.request("GET", f"{parts.path}/projects{KEY}")
        assert connection.getresponse().read()
    assert connection.sock.recv(1) == b""
    connection.close()


def test_the_controls_are_on_another_port_and_the_api_port_has_none(server: WorldServer) -> None:
    assert urlsplit(server.url).port != urlsplit(server.control_url).port
    base = server.url.removesuffix(server.world.base_path)
    for control in ("log", "snapshot", "reset", "faults"):
        assert exchange(f"{base}/{control}")[0] == 404


def test_the_log_tells_what_was_asked_and_not_the_credential(server: WorldServer) -> None:
    exchange(f"{server.url}/tasks{KEY}&done=true&page=2")
    _, _, body = exchange(f"{server.control_url}/log")
    (entry,) = json.loads(body)
    asked = {"template": "/tasks", "path": "/tasks", "arguments": {}, "query": {"done": "true", "page": "2"}}
    assert entry == {"number": 1, "method": "GET", **asked, "body": None, "status": 200, "fault": None}


def test_a_reset_over_the_wire_takes_a_fixture(server: WorldServer) -> None:
    exchange(f"{server.url}/projects{KEY}", "POST", {"name": "Rain garden"})
    status, _, _ = exchange(f"{server.control_url}/reset", "POST", {"fixture": "empty"})
    assert status == 200
    _, _, body = exchange(f"{server.control_url}/snapshot")
    assert json.loads(body)["state"] == {"projects": {}, "tasks": {}}
    assert exchange(f"{server.control_url}/reset", "POST", {"fixture": "none such"})[0] == 400


@pytest.mark.parametrize("status", [401, 403, 404, 409, 422, 429, 500, 503])
def test_an_error_status_comes_once_in_the_style_of_the_api(server: WorldServer, status: int) -> None:
    fault(server, status=status)
    got, headers, body = exchange(f"{server.url}/projects{KEY}")
    assert got == status
    assert json.loads(body)["code"] == status
    assert "retry-after" not in headers
    assert exchange(f"{server.url}/projects{KEY}")[0] == 200


@pytest.mark.parametrize("wait", [1.5, 0, "Fri, 01 Dec 2023 00:00:00 GMT"])
def test_retry_after_is_sent_as_given(server: WorldServer, wait: float | str) -> None:
    fault(server, status=429, retry_after=wait)
    status, headers, _ = exchange(f"{server.url}/projects{KEY}")
    assert (status, headers["retry-after"]) == (429, str(wait))


def test_a_refused_write_was_not_done(server: WorldServer) -> None:
    fault(server, status=503)
    exchange(f"{server.url}/projects{KEY}", "POST", {"name": "Rain garden"})
    assert "Rain garden" not in str(server.world.dump())


@pytest.mark.parametrize("applied", [False, True])
def test_a_reset_connection_leaves_the_write_undone_or_done(server: WorldServer, applied: bool) -> None:
    fault(server, kind="reset", applied=applied)
    with pytest.raises((ConnectionResetError, http.client.RemoteDisconnected)):
        exchange(f"{server.url}/projects{KEY}", "POST", {"name": "Rain garden"})
    assert ("Rain garden" in str(server.world.dump())) == applied
    assert server.world.log[0].fault == "reset"


def test_a_malformed_body_is_not_json(server: WorldServer) -> None:
    fault(server, kind="malformed")
    status, headers, body = exchange(f"{server.url}/projects{KEY}")
    assert (status, headers["content-type"]) == (200, "application/json")
    with pytest.raises(json.JSONDecodeError):
        json.loads(body)


def test_a_truncated_body_ends_before_its_length(server: WorldServer) -> None:
    fault(server, kind="truncated")
    with pytest.raises(http.client.IncompleteRead):
        exchange(f"{server.url}/projects{KEY}")


def test_a_wrong_media_type_comes_with_the_right_body(server: WorldServer) -> None:
    fault(server, kind="media_type")
    _, headers, body = exchange(f"{server.url}/projects{KEY}")
    assert headers["content-type"].startswith("text/html")
    assert len(json.loads(body)["items"]) == 4


def test_a_slow_reply_holds_nobody_else_up(server: WorldServer) -> None:
    fault(server, kind="slow", seconds=PATIENCE_S, operation="GET /projects")
    parts = urlsplit(server.url)
    with socket.create_connection((parts.hostname or "", parts.port or 0)) as slow:
        slow.sendall(f"GET {parts.path}/projects{KEY} HTTP/1.0\r\n\r\n".encode())
        while not len(server.world.log):
            time.sleep(0.01)
        assert exchange(f"{server.url}/tasks{KEY}")[0] == 200
        slow.setblocking(False)
        with pytest.raises(BlockingIOError):
            slow.recv(1)


def test_an_unknown_fault_is_refused(server: WorldServer) -> None:
    assert exchange(f"{server.control_url}/faults", "POST", [{"kind": "flood"}])[0] == 400
    assert exchange(f"{server.control_url}/faults", "POST", [{"wetness": 1}])[0] == 400


def test_parallel_requests_are_all_answered_and_logged(server: WorldServer) -> None:
    with ThreadPoolExecutor(20) as threads:
        for number in range(20):
            threads.submit(exchange, f"{server.url}/projects{KEY}", "POST", {"name": f"Project {number}"})
    assert sorted(entry.number for entry in server.world.log) == list(range(1, 21))
    assert len(server.world.dump()["projects"]) == 24


def test_what_clients_sent_before_they_went_away_can_be_waited_for() -> None:
    with serve(open_world("toy")) as server:
        parts = urlsplit(server.url)
        for _ in range(50):
            with socket.create_connection((parts.hostname or "", parts.port or 0)) as client:
                client.sendall(f"GET {parts.path}/projects{KEY} HTTP/1.1\r\n\r\n".encode())
        server.settle()
        assert [entry.status for entry in server.world.log] == [200] * 50


def test_a_client_that_keeps_its_connection_open_is_not_waited_for() -> None:
    with serve(open_world("toy")) as server:
        parts = urlsplit(server.url)
        with socket.create_connection((parts.hostname or "", parts.port or 0)) as client:
            for number in (1, 2):
                client.sendall(f"GET {parts.path}/projects{KEY} HTTP/1.1\r\n\r\n".encode())
                waiting = threading.Thread(target=server.settle)
                waiting.start()
                waiting.join(10)
                assert not waiting.is_alive()
                assert [entry.status for entry in server.world.log] == [200] * number
                answer = client.recv(100_000)
                assert answer.startswith(b"HTTP/1.1 200")


def test_the_ports_are_free_after_closing() -> None:
    with held_port() as port:
        for _ in range(2):
            with serve(open_world("toy"), port=port) as running:
                assert exchange(f"{running.url}/projects{KEY}")[0] == 200
            with pytest.raises(ConnectionRefusedError):
                exchange(f"{running.url}/projects{KEY}")
    with pytest.raises(ConnectionRefusedError):
        exchange(f"{running.control_url}/health")


def test_two_worlds_run_beside_each_other() -> None:
    with serve(open_world("toy")) as first, serve(open_world("tmdb")) as second:
        exchange(f"{first.url}/projects{KEY}")
        status, _, body = exchange(f"{second.url}/movie/popular?api_key={CREDENTIAL}")
        assert (status, len(json.loads(body)["results"])) == (200, 20)
        assert [len(first.world.log), len(second.world.log)] == [1, 1]
