"""Guards the address policy: no spelling of a URL leads a request to an address that is not configured."""

import gc
import ipaddress
import select
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from paths import operation_of
from wire.echo import EchoServer

from restgpt.specs import Operation
from restgpt.tools.errors import AddressFault, ResolveFault
from restgpt.tools.http.addresses import AddressPolicy, Exchange, address_policy_of, classify, origin_of
from restgpt.tools.http.http_client import HttpClient
from restgpt.tools.request.prepared_request import PreparedRequest, build_request


def operation(server: str | None, *, base_url: str | None = None, variables: Any = None) -> Operation:
    servers = [{"url": server, "variables": variables or {}}] if server else []
    return operation_of({}, servers=servers, base_url=base_url)


def answer_once(server: socket.socket) -> socket.socket:
    """Answer one request on a connection, and return the connection, which stays open."""
    connection, _ = server.accept()
    connection.settimeout(30)
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
    return connection


class Dns:
    """A resolver with a fixed answer that records the hosts it is asked for."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = list(addresses)
        self.asked: list[str] = []

    def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        if not self.addresses:
            raise socket.gaierror(-2, "unknown")
        return self.addresses


def send(operation: Operation, dns: Dns) -> None:
    client = HttpClient(resolver=dns, sleep=lambda seconds: None)
    client.send(build_request(operation, {}), operation)


KINDS = {
    "public": ("93.184.216.34", "2606:4700::1111"),
    "loopback": (
        *("127.0.0.1", "127.9.9.9", "::1", "::ffff:0:7f00:1", "::ffff:127.0.0.1", "::127.0.0.1"),
        *("64:ff9b::7f00:1", "2002:7f00:1::"),
    ),
    "private": (
        *("10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "192.0.2.1", "198.18.0.1", "192.0.0.8"),
        *("fc00::1", "fec0::1", "64:ff9b:1::7f00:1", "2002:a00:1::"),
    ),
    "link-local": (
        *("168.63.129.16", "169.254.169.254", "100.100.100.200", "fd20:ce::254", "fe80::1", "fd00:ec2::254"),
        *("::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe"),
    ),
    "none": ("0.0.0.0", "::", "224.0.0.1", "255.255.255.255"),
}


@pytest.mark.parametrize(("address", "kind"), [(one, kind) for kind, listed in KINDS.items() for one in listed])
def test_addresses_are_judged_by_what_they_reach(address: str, kind: str) -> None:
    assert classify(ipaddress.ip_address(address)) == kind


@pytest.mark.parametrize("host", ["169.254.169.254", "fd00:ec2::254", "::ffff:169.254.169.254", "0.0.0.0", "::"])
def test_a_document_cannot_name_a_metadata_or_unspecified_address(host: str) -> None:
    with pytest.raises(AddressFault, match="address"):
        send(operation(f"http://{f'[{host}]' if ':' in host else host}:8080"), Dns(host))


@pytest.mark.parametrize(
    "answer", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "::ffff:10.0.0.1", "fc00::1", "100.64.0.1", "0.0.0.0"]
)
@pytest.mark.parametrize("base_url", [None, "http://api.example.com"])
def test_a_public_name_never_leads_to_a_private_address(answer: str, base_url: str | None) -> None:
    with pytest.raises(AddressFault, match="leads to a"):
        send(operation("http://api.example.com", base_url=base_url), Dns(answer))


@pytest.mark.parametrize(
    ("server", "addresses"),
    [
        *((f"http://{host}", ("127.0.0.1",)) for host in ("2130706433", "0x7f000001", "0177.0.0.1", "127.1")),
        *((f"http://{host}", ("127.0.0.1",)) for host in ("intranet", "api.internal", "x.local")),
        ("http://api.example.com", ("93.184.216.34", "127.0.0.1")),
    ],
)
def test_no_name_in_a_document_leads_anywhere_private(server: str, addresses: tuple[str, ...]) -> None:
    with pytest.raises(AddressFault):
        send(operation(server), Dns(*addresses))


def test_a_server_variable_cannot_move_the_host_inside() -> None:
    variables = {"host": {"default": "169.254.169.254/latest?x="}}
    with pytest.raises(AddressFault):
        send(operation("http://{host}.example.com", variables=variables), Dns("169.254.169.254"))


@pytest.mark.parametrize(
    "url",
    [
        *("http://api.example.com@127.0.0.1/", "http://user:pass@127.0.0.1/"),
        *("http://127.0.0.1\\@api.example.com/", "http://api.example.com\\.evil.test/", "http://api.example.com /"),
        *("http://api.example.com\t.evil.test/", "ftp://api.example.com/", "file:///etc/passwd"),
        *("gopher://127.0.0.1:70/", "http:///x", "//127.0.0.1/", "http://[::1", "http://1.2.3.4:99999/"),
        *("http://１２７.0.0.1/", "http://api.exam\u2024ple.com/"),
    ],
)
def test_urls_that_two_parsers_could_read_differently_are_refused(url: str) -> None:
    with pytest.raises(AddressFault):
        origin_of(url)


@pytest.mark.parametrize(
    ("base_url", "kind", "admitted"),
    [
        ("http://127.0.0.1:8000", "127.0.0.1", True),
        ("http://localhost:8000", "127.0.0.1", True),
        ("http://localhost:8000", "10.0.0.1", False),
        ("http://192.168.1.7", "192.168.1.7", True),
        ("http://192.168.1.7", "127.0.0.1", False),
        ("http://db:8080", "172.18.0.3", True),
        ("http://api.corp", "10.0.0.1", True),
        ("http://api.corp", "169.254.169.254", False),
        ("http://169.254.169.254", "169.254.169.254", True),
        ("http://api.example.com", "10.0.0.1", False),
        ("http://api.example.com", "93.184.216.34", True),
    ],
)
def test_a_base_url_opens_what_it_names_and_no_more(base_url: str, kind: str, admitted: bool) -> None:
    policy = address_policy_of(operation(None, base_url=base_url))
    assert policy.allows(origin_of(base_url), ipaddress.ip_address(kind)) is admitted


def test_allow_private_opens_private_names() -> None:
    found = operation("http://api.example.com")
    origin = origin_of("http://api.example.com")
    assert address_policy_of(found, allow_private=True).allows(origin, ipaddress.ip_address("10.0.0.1"))


def test_a_base_url_takes_the_place_of_the_documents_servers_and_another_port_is_another_one() -> None:
    policy = address_policy_of(operation("http://evil.test", base_url="http://127.0.0.1:9"))
    for server in ("http://evil.test", "http://127.0.0.1:8001"):
        with pytest.raises(AddressFault, match="not a server"):
            policy.check(origin_of(server))


def test_a_request_that_was_tampered_with_does_not_leave() -> None:
    found = operation(None, base_url="http://127.0.0.1:9")
    request = PreparedRequest("GET", "http://127.0.0.1:10/x", {}, None, "t", found.name)
    dns = Dns("127.0.0.1")
    with pytest.raises(AddressFault):
        HttpClient(resolver=dns).send(request, found)
    assert dns.asked == []


def test_the_name_is_resolved_once_and_the_connection_goes_to_the_judged_address() -> None:
    class Rebinding(Dns):
        def __call__(self, host: str, port: int) -> list[str]:
            self.asked.append(host)
            return ["93.184.216.34"] if len(self.asked) > 1 else ["127.0.0.1"]

    dns = Rebinding()
    with pytest.raises(AddressFault):
        send(operation("http://api.example.com"), dns)
    assert dns.asked == ["api.example.com"]


def test_an_exchange_whose_time_ends_while_it_connects_is_broken_off_as_soon_as_it_has() -> None:
    origin = origin_of("http://127.0.0.1:8000")
    exchange = Exchange(AddressPolicy(frozenset({origin})), origin, deadline=1.0, clock=lambda: 0.0)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"HTTP/1.1 200 OK")
        exchange.abort()
        exchange.use_socket(ours)
        with pytest.raises(BrokenPipeError):
            theirs.sendall(b" and so on")


def test_a_name_without_an_address_says_so() -> None:
    with pytest.raises(ResolveFault, match=r"api\.example\.com has no address"):
        send(operation("http://api.example.com"), Dns())


def test_a_kept_connection_of_one_api_leads_no_other_inside() -> None:
    with EchoServer() as echo:
        address = echo.url.replace("127.0.0.1", "printer")
        client = HttpClient(resolver=Dns("127.0.0.1"), sleep=lambda seconds: None)
        named, stranger = operation(None, base_url=address), operation(address)
        assert client.send(build_request(named, {}), named).status == 200
        with pytest.raises(AddressFault, match="leads to a loopback address"):
            client.send(build_request(stranger, {}), stranger)
        assert len(echo.arrived) == 1


def test_a_client_that_nobody_uses_any_more_closes_its_connections() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:
        accepted = pool.submit(answer_once, server)
        found = operation(None, base_url=f"http://127.0.0.1:{server.getsockname()[1]}")
        client = HttpClient()
        assert client.send(build_request(found, {}), found).status == 200
        with accepted.result() as connection:
            assert not select.select([connection], [], [], 0)[0]
            del client
            gc.collect()
            assert connection.recv(1) == b""
