"""Guards the HTTP client: its limits of time and size, its retries and redirects, and the redaction of secrets."""

import gzip
import json
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from paths import api_of, operation_of
from wire.case import Canned
from wire.echo import EchoServer
from wire.raw import DRIPPED, drip, raw_server, stop

from lab.kit.port import held_port
from restgpt.specs import Operation
from restgpt.tools.errors import (
    BoundFault,
    BrokenFault,
    ConnectFault,
    HttpFault,
    RedirectFault,
    SettingsError,
    TimeoutFault,
    TlsFault,
)
from restgpt.tools.http.connection import TlsOptions
from restgpt.tools.http.http_client import HttpClient, HttpLimits
from restgpt.tools.request.prepared_request import build_request
from restgpt.tools.response.content import Reply, read_content
from restgpt.tools.settings import ApiEntry, Secret, Settings
from restgpt.tools.settings.entry import TimeoutRule

SECRET = "sk-very-secret-value"


class Clock:
    """A clock that only `sleep` moves."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.slept: list[float] = []
        self._lock = threading.Lock()

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.slept.append(seconds)
            self.time += seconds

    def client(self, **options: Any) -> HttpClient:
        """A client that waits by this clock."""
        return HttpClient(clock=self.now, sleep=self.sleep, **options)


@pytest.fixture
def echo() -> Iterator[EchoServer]:
    with EchoServer() as server:
        yield server


SCHEMES = {"Key": {"type": "apiKey", "in": "query", "name": "api_key"}, "Mutual": {"type": "mutualTLS"}}


def operation(
    url: str, method: str = "GET", *, entry: str | None = None, secret: str = SECRET, **more: Any
) -> Operation:
    return operation_of(more, method, base_url=url, auth={"Key": secret}, entry=entry, schemes=SCHEMES)


def configured(**fields: Any) -> Settings:
    """Settings with the entry t, which has these fields in apis.yaml."""
    return Settings(apis={"t": ApiEntry("t", "t.yaml", **fields)})


def send(found: Operation, client: HttpClient | None = None, deadline: float | None = None) -> Reply:
    return (client or HttpClient()).send(build_request(found, {}), found, deadline=deadline)


@pytest.mark.parametrize("data", DRIPPED.values(), ids=DRIPPED)
def test_a_server_that_drips_is_cut_off_at_the_deadline(data: bytes) -> None:
    # The clock of the client does not advance, so its deadline cannot pass before the server sends.
    clock = Clock()
    with raw_server(drip(data)) as url, pytest.raises(TimeoutFault, match="did not finish answering"):
        send(operation(url), clock.client(), deadline=clock.now() + 0.3)


def test_a_server_that_never_answers_is_left_after_the_read_time() -> None:
    arrived: list[int] = []

    def answer(connection: socket.socket) -> None:
        arrived.append(1)
        time.sleep(1)

    client = HttpClient(limits=HttpLimits(read_seconds=0.1))
    with raw_server(answer) as url, pytest.raises(TimeoutFault, match=r"within 0\.1 s.*apis\.yaml") as caught:
        send(operation(url), client)
    # What was slow once is not asked for again and again in silence.
    assert (caught.value.outcome_unknown, len(arrived)) == (True, 1)


@pytest.mark.parametrize(
    ("entry", "seconds"),
    [
        ({}, 30.0),
        ({"timeout": 90}, 90.0),
        ({"timeout": 90, "timeouts": (TimeoutRule(600, methods=("GET",)),)}, 600.0),
        ({"timeout": 90, "timeouts": (TimeoutRule(600, paths=("/reports/**",)),)}, 90.0),
    ],
)
def test_an_entry_says_how_long_an_answer_may_take(entry: dict[str, Any], seconds: float) -> None:
    found = operation("http://127.0.0.1:1", entry="t")
    assert HttpClient(settings=configured(**entry)).answer_seconds(found) == seconds


def test_nothing_listening_is_a_fault_whose_outcome_is_known() -> None:
    clock = Clock()
    with held_port() as port, pytest.raises(ConnectFault, match="cannot be reached") as caught:
        send(operation(f"http://127.0.0.1:{port}", "POST"), clock.client())
    assert (caught.value.outcome_unknown, len(clock.slept)) == (False, 1)


def saying(data: bytes, arrived: list[int] | None = None) -> Callable[[socket.socket], None]:
    """An answer of these bytes, after which the connection is closed."""

    def answer(connection: socket.socket) -> None:
        if arrived is not None:
            arrived.append(1)
        connection.sendall(data)
        connection.shutdown(socket.SHUT_RDWR)

    return answer


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"SSH-2.0-OpenSSH\r\n", b"HTTP/9.9 what\r\n\r\n", b"\x00\xff" * 50 + b"\r\n\r\n"),
        *(OK + b"Content-Length: %b\r\n\r\nok" % length for length in (b"-1", b"+2", b"2x", b"0x2")),
    ],
)
def test_what_is_no_http_or_has_no_number_of_bytes_is_a_broken_answer(data: bytes) -> None:
    with raw_server(saying(data)) as url, pytest.raises(BrokenFault):
        send(operation(url), Clock().client())


HALF_HEADS = [b"", OK, b"HTTP/1.1 201 Created\r\nX-A: b\r\n", OK + b"Content-Le"]
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n"


@pytest.mark.parametrize("head", [*HALF_HEADS, SWITCH])
def test_a_head_that_never_ends_or_switches_is_no_answer_and_a_change_may_have_been_made(head: bytes) -> None:
    arrived: list[int] = []
    with raw_server(saying(head, arrived)) as url, pytest.raises(BrokenFault) as caught:
        send(operation(url, "POST"))
    assert (caught.value.outcome_unknown, len(arrived)) == (True, 1)


INTERIM = {"102": b"HTTP/1.1 102 Processing\r\n\r\n", "103": b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"}


@pytest.mark.parametrize("interim", [*INTERIM.values(), b"".join(INTERIM.values()) * 3], ids=[*INTERIM, "many"])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
def test_an_interim_answer_is_not_the_answer_to_this_or_the_next_request(interim: bytes, method: str) -> None:
    asked = []

    def answer(connection: socket.socket) -> None:
        while True:
            asked.append(1)
            connection.sendall(interim)
            connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\n%d" % len(asked))
            if not connection.recv(65536):
                return

    with raw_server(answer) as url:
        client, found = HttpClient(), operation(url, method)
        replies = [send(found, client) for _ in range(3)]
    assert [(reply.status, reply.body) for reply in replies] == [(201, b"1"), (201, b"2"), (201, b"3")]
    assert len(asked) == 3


def test_too_many_interim_answers_or_trailers_are_no_answer() -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
    for first, rest in ((b"", INTERIM["102"]), (chunked, b"X-More: 1\r\n")):
        answer = drip(b"", first=first + rest * 10_000)
        with raw_server(answer) as url, pytest.raises(BrokenFault):
            send(operation(url), HttpClient(limits=HttpLimits(attempts=1)))


def test_what_came_of_an_endless_stream_of_events_is_kept() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n"

    def answer(connection: socket.socket) -> None:
        connection.sendall(head + b"data: 1\n\n")
        connection.recv(1)  # until the client has left

    for limits, left in ((HttpLimits(read_seconds=0.2), 9), (HttpLimits(), 0.2)):
        with raw_server(answer) as url:
            found = operation(url)
            deadline = time.monotonic() + left
            reply = HttpClient(limits=limits).send(build_request(found, {}), found, deadline=deadline)
        assert (reply.status, reply.body, reply.truncated) == (200, b"data: 1\n\n", True)


def test_plain_http_on_a_tls_port_is_a_tls_fault(echo: EchoServer) -> None:
    with pytest.raises(TlsFault, match="TLS"):
        send(operation(echo.url.replace("http:", "https:")))


def test_an_unknown_certificate_is_refused_and_a_known_one_is_not(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    with tls_server(certificate) as url:
        with pytest.raises(TlsFault, match="certificate"):
            send(operation(url))
        settings = Settings(ca_bundle=str(certificate))
        assert send(operation(url), HttpClient(settings=settings)).body == b"ok"


def test_an_api_has_authorities_and_a_client_certificate_of_its_own(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    with tls_server(certificate, ssl.CERT_REQUIRED) as url:
        with pytest.raises(HttpFault):
            send(operation(url, entry="t"), HttpClient(settings=configured(ca_file=certificate)))
        client = HttpClient(settings=configured(ca_file=certificate, cert_file=certificate))
        assert send(operation(url, entry="t"), client).body == b"ok"
        # The certificate satisfies the scheme; no other credential is needed.
        secured = operation(url, entry="t", security=[{"Mutual": []}])
        assert send(secured, client).body == b"ok"
        lost = HttpClient(settings=configured(ca_file=certificate, cert_file=tmp_path / "absent.pem"))
        with pytest.raises(SettingsError, match=r"t\.cert_file in apis\.yaml names .*, which is not a file"):
            send(operation(url, entry="t"), lost)


def test_a_client_certificate_is_for_the_server_of_the_api_only(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    entry = ApiEntry("t", "t.yaml", ca_file=certificate, cert_file=certificate)
    assert TlsOptions(entry, None).for_connection(home=True) == (str(certificate), (str(certificate), str(certificate)))
    assert TlsOptions(entry, None).for_connection(home=False) == (True, None)
    assert TlsOptions(entry, "bundle.pem").for_connection(home=False) == ("bundle.pem", None)


def make_certificate(folder: Path) -> Path:
    from datetime import UTC, datetime, timedelta
    from ipaddress import ip_address

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return path


@contextmanager
def tls_server(certificate: Path, client: ssl.VerifyMode = ssl.CERT_NONE) -> Iterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.load_verify_locations(certificate)
    context.verify_mode = client
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            try:
                with context.wrap_socket(connection, server_side=True) as secure:
                    secure.recv(65536)
                    secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
            except OSError:  # A client that does not trust the certificate closes the connection.
                continue

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"https://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        stop(listener)


@pytest.mark.parametrize(
    ("answers", "status", "slept"),
    [
        ([Canned(status=503), Canned(status=429, headers={"Retry-After": "7"}), Canned(status=502)], 200, [0.5, 7, 2]),
        ([Canned(b"", 202, {"Retry-After": "2"})], 200, [2.0]),
        ([Canned(b"", 202)], 202, []),
    ],
)
def test_waits_grow_or_are_those_that_the_api_asks_for(
    echo: EchoServer, answers: list[Canned], status: int, slept: list[float]
) -> None:
    clock = Clock()
    echo.script([*answers, Canned()])
    reply = send(operation(echo.url), clock.client())
    assert (reply.status, clock.slept) == (status, slept)
    assert reply.attempts == len(echo.arrived) == len(slept) + 1


def test_a_wait_past_the_deadline_hands_the_reply_on_and_holds_for_other_threads(echo: EchoServer) -> None:
    clock = Clock()
    client, found = clock.client(), operation(echo.url)
    echo.script([Canned(status=429, headers={"Retry-After": "30"}), Canned()])
    reply = send(found, client, deadline=clock.now() + 20)
    assert (reply.status, reply.attempts, clock.slept) == (429, 1, [])
    assert reply.header("retry-after") == "30"
    send(found, client)
    assert clock.slept == [30.0]


def test_an_operation_that_asks_for_a_long_pause_is_left_alone_and_no_other_one(echo: EchoServer) -> None:
    clock = Clock()
    client = clock.client()
    paths = {f"/{name}": {"get": {"operationId": name, "responses": {}}} for name in "ab"}
    found, other = api_of(paths, base_url=echo.url).operations
    echo.script([Canned(status=429, headers={"Retry-After": "1000000000"}), Canned(), Canned()])
    assert send(found, client).status == 429
    with pytest.raises(TimeoutFault, match="another 3600 seconds"):
        send(found, client)
    assert send(other, client).status == 200
    assert (len(echo.arrived), clock.slept) == (2, [])
    clock.sleep(3600)
    assert send(found, client).status == 200


def test_requests_per_second_hold_across_threads(echo: EchoServer) -> None:
    clock = Clock()
    client = clock.client(settings=configured(requests_per_second=4))
    found = operation(echo.url, entry="t")
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(send, [found] * 8, [client] * 8))
    assert len(echo.arrived) == 8
    # The threads share this clock, so their waits together are at least the sum of the gaps.
    assert clock.time - 1000.0 >= 7 / 4 - 1e-9


def test_a_post_never_goes_out_on_a_used_connection() -> None:
    connections: list[int] = []

    def answer(connection: socket.socket) -> None:
        connections.append(0)
        number = len(connections)
        while True:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n" + str(number).encode())
            if not connection.recv(65536):
                return

    with raw_server(answer) as url:
        client = HttpClient()
        read, write = operation(url), operation(url, "POST")
        assert [send(item, client).body for item in (read, read, write, read, write)] == [b"1", b"1", b"2", b"2", b"3"]


def test_a_write_with_a_documented_idempotency_key_may_be_repeated(echo: EchoServer) -> None:
    echo.script([Canned(close=True), Canned(status=503), Canned()])
    parameters = [{"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}]
    found = operation(echo.url, "POST", parameters=parameters)
    request = build_request(found, {"header": {"Idempotency-Key": "k1"}})
    assert Clock().client().send(request, found).status == 200
    assert [item.header("Idempotency-Key") for item in echo.arrived] == ["k1"] * 3


def test_no_secret_is_in_a_prepared_request_or_a_reply_whatever_the_server_echoes(echo: EchoServer) -> None:
    body = json.dumps({"url": f"/x?api_key={SECRET}", "token": SECRET}).encode()
    headers = {"X-Echo": SECRET, "Set-Cookie": "sid=1", "Link": f'</x?page=2&api_key={SECRET}>; rel="next"'}
    echo.script([Canned(body, headers={"Content-Type": "application/json", **headers})])
    found = operation(echo.url, security=[{"Key": []}])
    request = build_request(found, {})
    reply = HttpClient().send(request, found)
    assert echo.arrived[0].query == f"api_key={SECRET}"
    assert SECRET not in repr(request) + json.dumps(request.shown()) + repr(reply)
    assert reply.next_link == "/x?page=2&api_key=[redacted]"
    assert reply.headers["set-cookie"] == "[redacted]"


@pytest.mark.parametrize("charset", ["cp037", "utf-16", "utf-32"])
def test_no_secret_is_in_a_body_of_another_charset(charset: str, echo: EchoServer) -> None:
    text = json.dumps({"token": SECRET, "name": "Zoë"}, ensure_ascii=False)
    body = text.encode(charset)
    echo.script([Canned(body, headers={"Content-Type": f"application/json; charset={charset}"})])
    reply = send(operation(echo.url, security=[{"Key": []}]))
    read = read_content(reply.body, reply.header("content-type")).text()
    assert SECRET not in read
    assert charset == "utf-16" or json.loads(read) == {"token": "[redacted]", "name": "Zoë"}


def test_no_secret_is_in_a_fault_its_causes_or_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="restgpt")
    found = operation("http://127.0.0.1:1", security=[{"Key": []}])
    with pytest.raises(HttpFault) as caught:
        send(found, Clock().client())
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert SECRET not in repr([caught.value, *(record.__dict__ for record in caplog.records)])


LONG_SECRET = "sk-Long-" + "0123456789abcdefghijklmnopqrstuvwxyz" * 4


@pytest.mark.parametrize(
    "head",
    [
        f"200 You sent {LONG_SECRET}\r\nContent-Length: 0",
        f"200 OK\r\nContent-Encoding: {LONG_SECRET}\r\nContent-Length: 0",
        f"200 OK\r\nContent-Type: application/{LONG_SECRET}\r\nContent-Length: 0",
        f"200 OK\r\nX-{LONG_SECRET}: 1\r\nContent-Length: 0",
        f"200 OK\r\nthis is no header but {LONG_SECRET}\r\nContent-Length: 0",
    ],
)
def test_no_secret_and_no_half_of_one_comes_through_the_head_of_an_answer(
    head: str, caplog: pytest.LogCaptureFixture
) -> None:
    # Without a valid Content-Length the body lasts until the connection is closed.
    answer = saying(f"HTTP/1.1 {head}\r\n\r\n".encode())
    with caplog.at_level(logging.DEBUG), raw_server(answer) as url:
        try:
            told = repr(send(operation(url, secret=LONG_SECRET, security=[{"Key": []}])))
        except HttpFault as fault:
            told = str(fault)
    for text in (told, caplog.text):
        assert LONG_SECRET[:20].lower() not in text.lower()


@pytest.mark.parametrize(("method", "is_read", "tries"), [("POST", True, 3), ("POST", False, 1), ("GET", False, 1)])
@pytest.mark.parametrize("statuses", [(500, 503), (503, 500)])
def test_a_request_is_sent_again_only_if_it_reads(
    echo: EchoServer, method: str, is_read: bool, tries: int, statuses: tuple[int, ...]
) -> None:
    found = operation(echo.url, method)
    echo.script([*(Canned(status=status) for status in statuses), Canned()])
    Clock().client().send(build_request(found, {}), found, is_read=is_read)
    assert len(echo.arrived) == tries


BODY = {"requestBody": {"content": {"application/json": {"schema": {}}}}}


@pytest.mark.parametrize(
    ("status", "is_read", "sent"),
    [(307, True, 2), (308, True, 2), (307, False, 1), (301, True, 1), (302, True, 1), (303, True, 1)],
)
def test_a_post_is_moved_only_if_it_reads_and_the_status_keeps_its_body(
    echo: EchoServer, status: int, is_read: bool, sent: int
) -> None:
    found = operation(echo.url, "POST", **BODY)
    echo.script([Canned(status=status, headers={"Location": "/x/"}), Canned()])
    HttpClient().send(build_request(found, {"body": {"q": 1}}), found, is_read=is_read)
    assert [(request.method, json.loads(request.body)) for request in echo.arrived] == [("POST", {"q": 1})] * sent


def test_the_body_of_a_post_goes_to_no_other_host() -> None:
    with EchoServer() as home, EchoServer() as other:
        found = operation(home.url, "POST", **BODY)
        home.script([Canned(status=307, headers={"Location": f"{other.url}/x"})])
        other.script([Canned()])
        assert HttpClient().send(build_request(found, {"body": {}}), found, is_read=True).status == 307
        assert other.arrived == []


def test_redirects_take_credentials_to_the_same_origin_only() -> None:
    with EchoServer() as home, EchoServer() as other:
        home.script([Canned(status=302, headers={"Location": "/y"}), Canned()])
        found = operation(home.url, security=[{"Key": []}])
        send(found)
        assert [item.target for item in home.arrived] == [f"/x?api_key={SECRET}", f"/y?api_key={SECRET}"]
        home.script([Canned(status=302, headers={"Location": f"{other.url}/file"})])
        other.script([Canned(b'"file"')])
        host = other.url.removeprefix("http://")
        settings = configured(hosts=(host,), headers={"X-Team": Secret("team-secret")}, allow_private=True)
        send(operation(home.url, entry="t", security=[{"Key": []}]), HttpClient(settings=settings))
        assert [item.target for item in other.arrived] == ["/file"]
        assert other.arrived[0].header("X-Team") is None


def test_a_redirect_that_copies_the_query_takes_no_credential_elsewhere() -> None:
    adapter = Recorder([(302, {"Location": f"https://cdn.test/file?a=1&api_key={SECRET}&b=2"}), (200, {})])
    client = HttpClient(settings=configured(hosts=("cdn.test",)), adapter=adapter)
    send(operation("https://api.example.com", entry="t", security=[{"Key": []}]), client)
    assert adapter.sent[1].url == "https://cdn.test/file?a=1&b=2"


def test_an_upgrade_to_https_keeps_credentials_and_a_downgrade_is_refused() -> None:
    up = Recorder([(301, {"Location": "https://api.example.com/x"}), (200, {})])
    found = operation("http://api.example.com", entry="t", security=[{"Key": []}])
    settings = configured(hosts=("api.example.com",))
    send(found, HttpClient(settings=settings, adapter=up))
    assert [item.url for item in up.sent] == [
        f"{scheme}://api.example.com/x?api_key={SECRET}" for scheme in ("http", "https")
    ]
    down = Recorder([(301, {"Location": "http://api.example.com/x"}), (200, {})])
    with pytest.raises(HttpFault, match="unencrypted"):
        send(operation("https://api.example.com", entry="t"), HttpClient(settings=settings, adapter=down))


NO_URLS = [
    *("http://[bad/x", "http://[::1\x00", f"http://{SECRET}℀.example/", "http://a:99999999/x", "//["),
    "http://[v1.x]/",
]


@pytest.mark.parametrize("location", NO_URLS)
def test_a_location_that_is_no_url_is_a_redirect_fault_that_quotes_nothing(echo: EchoServer, location: str) -> None:
    found = operation(echo.url, security=[{"Key": []}])
    echo.script([Canned(status=302, headers={"Location": location.encode().decode("latin-1")})])
    with pytest.raises(RedirectFault, match="redirects to an address that is not followed") as caught:
        send(found)
    said: list[str] = []
    error: BaseException | None = caught.value
    while error is not None:
        said.append(repr(error))
        error = error.__cause__ or error.__context__
    assert SECRET not in " ".join(said)


@pytest.mark.parametrize("location", [*NO_URLS, "https://elsewhere.example/", "/x"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_change_that_is_redirected_nowhere_keeps_its_answer(echo: EchoServer, method: str, location: str) -> None:
    found = operation(echo.url, method)
    echo.script([Canned(status=302, headers={"Location": location.encode().decode("latin-1")})] * 9)
    answer = HttpClient().send(build_request(found, {}), found, is_read=False)
    assert answer.status == 302
    assert len(echo.arrived) == (6 if (method, location) == ("GET", "/x") else 1)


def test_a_change_whose_redirect_leads_to_no_server_may_have_been_made_and_is_sent_once(echo: EchoServer) -> None:
    with held_port() as port:
        client = HttpClient(settings=configured(hosts=(f"127.0.0.1:{port}",), allow_private=True))
        found = operation(echo.url, entry="t")
        echo.script([Canned(status=302, headers={"Location": f"http://127.0.0.1:{port}/x"})] * 4)
        with pytest.raises(ConnectFault) as caught:
            client.send(build_request(found, {}), found, is_read=False)
    assert (caught.value.outcome_unknown, len(echo.arrived)) == (True, 1)


@pytest.mark.parametrize(
    ("method", "statuses", "unknown"),
    [
        ("DELETE", [0, 404], True),
        ("DELETE", [502, 404], True),
        ("DELETE", [503, 404], True),
        ("PUT", [504, 401], True),
        ("PUT", [502, 412], True),
        ("POST", [502], True),
        ("DELETE", [502, 204], False),
        ("DELETE", [429, 404], False),
        ("DELETE", [408, 404], False),
        ("POST", [503], False),
        ("GET", [502, 404], False),
    ],
)
def test_a_change_that_was_tried_again_after_an_uncertain_answer_may_have_been_made(
    method: str, statuses: list[int], unknown: bool, echo: EchoServer
) -> None:
    echo.script([Canned(status=status, close=not status) for status in statuses])
    reply = send(operation(echo.url, method), Clock().client())
    assert (reply.tries, reply.outcome_unknown) == (tuple(str(item or "no response") for item in statuses), unknown)


def test_a_change_whose_next_try_does_not_arrive_may_have_been_made_by_the_one_before() -> None:
    client = Clock().client(adapter=Recorder([(502, {}), ConnectFault("no"), ConnectFault("no")]))
    with pytest.raises(ConnectFault) as caught:
        send(operation("http://api.test", "PUT"), client)
    assert caught.value.outcome_unknown


def test_a_change_whose_next_try_a_rate_limit_holds_back_keeps_its_answer(echo: EchoServer) -> None:
    echo.script([Canned(status=502), Canned(status=404)])
    client = Clock().client(settings=configured(requests_per_second=0.001))
    reply = send(operation(echo.url, "DELETE", entry="t"), client)
    assert (reply.tries, reply.outcome_unknown) == (("502",), True)


@pytest.mark.parametrize(("retry", "sent"), [(True, 2), (False, 1)])
def test_the_owner_of_an_api_decides_whether_a_change_is_sent_again_after_429(
    echo: EchoServer, retry: bool, sent: int
) -> None:
    client = HttpClient(settings=configured(retry_429=retry), sleep=lambda seconds: None)
    for is_read in (False, True):
        found = operation(echo.url, "POST", entry="t")
        echo.script([Canned(status=429), Canned()])
        client.send(build_request(found, {}), found, is_read=is_read)
        assert len(echo.arrived) == (2 if is_read else sent)


class Recorder:
    """An adapter that records its requests and answers from a list."""

    def __init__(self, answers: Sequence[tuple[int, Mapping[str, str]] | HttpFault], body: bytes = b"{}") -> None:
        self._answers = answers
        self._body = body
        self.sent: list[Any] = []

    def send(self, request: Any, **_: Any) -> Any:
        import io

        import requests

        self.sent.append(request)
        response, answer = requests.Response(), self._answers[len(self.sent) - 1]
        if isinstance(answer, HttpFault):
            raise answer
        response.status_code, headers = answer
        response.headers.update(headers)
        response.raw = io.BytesIO(self._body)
        return response

    def close(self) -> None:
        """There are no connections to close."""


def test_the_time_to_decode_a_body_counts_and_what_was_not_decoded_is_not_shown() -> None:
    class Ticking(Clock):
        def now(self) -> float:
            self.time += 1
            return self.time

    body = f'{{"token": "{SECRET}", "name": "{"x" * 4_000_000}"}}'.encode("cp037")
    head = {"Content-Type": "application/json; charset=cp037"}

    def sent(deadline: float) -> tuple[Reply, float]:
        clock = Ticking()
        client = clock.client(adapter=Recorder([(201, head)], body), limits=HttpLimits(total_seconds=1e6))
        return send(operation("http://api.test", "POST"), client, deadline), clock.time

    whole, end = sent(float("inf"))
    assert "[redacted]" in read_content(whole.body, whole.header("content-type")).text()
    cut, _ = sent(end - 4)
    assert (cut.status, cut.body, cut.truncated) == (201, b"", True)


def test_many_threads_share_one_client(echo: EchoServer) -> None:
    client = HttpClient()
    found = operation(echo.url)
    with ThreadPoolExecutor(50) as threads:
        assert [reply.status for reply in threads.map(send, [found] * 50, [client] * 50)] == [200] * 50


def test_each_api_has_the_names_of_its_own_schemes_hidden() -> None:
    client = HttpClient()
    for name in ("first_pass", "second_pass"):
        api = api_of({}, schemes={"S": {"type": "apiKey", "in": "query", "name": name}}, base_url="https://t.example")
        assert "visible" not in client.redactor(api).url(f"https://t.example/?{name}=visible")


def test_a_moment_that_has_passed_is_not_blamed_on_the_rate_limit(echo: EchoServer) -> None:
    clock = Clock()
    with pytest.raises(TimeoutFault, match="the time is used up, so it was not sent"):
        send(operation(echo.url), clock.client(), deadline=clock.time - 1)
    assert echo.arrived == []


def test_a_date_that_no_calendar_has_is_no_retry_after(echo: EchoServer) -> None:
    echo.script([Canned(status=503, headers={"Retry-After": "Fri, 31 Dec 99999999999 23:59:59 GMT"}), Canned(b"{}")])
    client = HttpClient(limits=HttpLimits(backoff_seconds=0.01))
    assert send(operation(echo.url), client).status == 200


def test_compressed_data_has_a_bounded_number_of_members(echo: EchoServer) -> None:
    echo.script([Canned(gzip.compress(b"") * 2000, headers={"Content-Encoding": "gzip"})])
    with pytest.raises(BoundFault, match="more than 1,000 compressed pieces"):
        send(operation(echo.url))


def test_a_date_to_retry_after_is_read_by_the_clock_of_the_server() -> None:
    clock = Clock()
    head = {"Date": "Wed, 21 Oct 2015 07:28:00 GMT", "Retry-After": "Wed, 21 Oct 2015 07:28:07 GMT"}
    client = clock.client(adapter=Recorder([(429, head), (200, {})]))
    assert send(operation("https://t.example"), client).status == 200
    assert sum(clock.slept) == 7


def test_the_caller_is_asked_right_before_each_attempt_and_may_stop_it(echo: EchoServer) -> None:
    class RefusedError(Exception):
        """The caller does not want the request to be sent any more."""

    echo.script([Canned(status=503), Canned()])
    arrived: list[int] = []

    def before_send() -> None:
        arrived.append(len(echo.arrived))
        if len(arrived) == 2:
            raise RefusedError

    found = operation(echo.url)
    client = HttpClient(sleep=lambda seconds: None)
    with pytest.raises(RefusedError):
        client.send(build_request(found, {}), found, before_send=before_send)
    assert (arrived, len(echo.arrived)) == ([0, 1], 1)
