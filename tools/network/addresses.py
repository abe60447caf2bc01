"""Which addresses a request may go to, and the connections that go nowhere else.

A request goes to an origin of its API only: the base URL, else the servers of the document. The name is resolved
once, every address is judged, and the connection is made to a judged address, so a second answer of the DNS changes
nothing. Private addresses are for servers that the user named: loopback and private networks through a base URL, a
document from the same machine, or `allow_private`; link-local ones, where clouds keep their metadata, through a base
URL that spells the address or `allow_private` only.
"""

import ipaddress
import re
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlsplit

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import LocationParseError
from urllib3.util import Url, parse_url

from restgpt.specs.api import Api
from restgpt.specs.operation import Operation
from restgpt.specs.server import absolute_url
from restgpt.tools.errors import AddressFault, ConnectFault, ResolveFault, TimeoutFault

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str, int], list[str]]

_PORTS = {"http": 80, "https": 443}
_ODD = re.compile(r"[\x00-\x20\x7f\\]")
# Names that belong to a private network by their nature; a name without a dot does too.
_PRIVATE_SUFFIXES = (".local", ".localhost", ".internal", ".intranet", ".lan", ".home", ".corp", ".home.arpa", ".test")
# Metadata services outside the link-local range: AWS and Google over IPv6, Alibaba Cloud, Oracle Cloud, Azure.
_METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in ("fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "192.0.0.192", "168.63.129.16")
)
# What ends in an IPv4 address: NAT64 (RFC 6052) and stateless translation (RFC 2765).
_TRANSLATED = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("::ffff:0:0:0/96"))
# Local networks that some versions of Python take for global: local NAT64 (RFC 8215), site-local, protocol assignments.
_LOCAL = tuple(ipaddress.ip_network(text) for text in ("64:ff9b:1::/48", "fec0::/10", "192.0.0.0/24"))


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port of a URL (RFC 6454), the host in lower case and without brackets."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == _PORTS.get(self.scheme) else f":{self.port}")


def origin_of(url: str) -> Origin:
    """Read the origin of a URL; raises AddressFault on one that two parsers could read differently."""
    if _ODD.search(url):
        raise AddressFault("a URL holds spaces, backslashes or control characters; correct the server or --base-url")
    read = _read_twice(url)
    if read is None:
        raise AddressFault("a URL cannot be read; correct the server or --base-url")
    parts, host, port, second = read
    if parts.scheme not in _PORTS or not host:
        raise AddressFault(
            f"only http and https URLs with a host are requested, not {parts.scheme or 'a relative one'}"
        )
    if "@" in parts.netloc:
        raise AddressFault("a URL holds a user name before its host; give credentials as RESTGPT_AUTH_<SCHEME>")
    same = (second.host or "").strip("[]").lower().rstrip(".") == host and second.port == port
    if not same or not host.isascii():
        raise AddressFault("the host of a URL is ambiguous; write it in ASCII (punycode for other letters)")
    return Origin(parts.scheme, host, port or _PORTS[parts.scheme])


def _read_twice(url: str) -> tuple[SplitResult, str, int | None, Url] | None:
    """A URL as the standard library and as urllib3 read it, None where either cannot.

    The errors of theirs are dropped here: they quote the URL.
    """
    try:
        parts = urlsplit(url)
        return parts, (parts.hostname or "").rstrip("."), parts.port, parse_url(url)
    except (ValueError, LocationParseError):
        return None


def judge(address: Address) -> str:
    """Sort an address: public, loopback, private, link-local (clouds' metadata included) or none (not for hosts)."""
    inner = _embedded(address)
    if inner is not None:
        return judge(inner)
    if address in _METADATA or address.is_link_local:
        return "link-local"
    if address.is_loopback:
        return "loopback"
    if address.is_unspecified or address.is_multicast or address == ipaddress.ip_address("255.255.255.255"):
        return "none"
    return "public" if address.is_global and not any(address in network for network in _LOCAL) else "private"


def _embedded(address: Address) -> Address | None:
    """The IPv4 address inside an IPv6 one: mapped, compatible, translated, 6to4 or Teredo."""
    if not isinstance(address, ipaddress.IPv6Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if any(address in network for network in _TRANSLATED):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    is_compatible = int(address) >> 32 == 0 and int(address) > 0xFFFF
    return ipaddress.IPv4Address(int(address)) if is_compatible else None


@dataclass(frozen=True, slots=True)
class Reach:
    """Where the requests of one operation may go.

    `origins` are those of the API, with credentials; `others` hosts that redirects may lead to, without. `allowed`
    are the kinds of non-public addresses (see `judge`) by origin; with `is_open` all kinds are, for every host.
    """

    origins: frozenset[Origin]
    others: frozenset[str] = frozenset()
    allowed: Mapping[Origin, frozenset[str]] = field(default_factory=dict)
    is_open: bool = False

    def check(self, origin: Origin) -> None:
        """Raise AddressFault where the origin is not one of the API's nor another that is configured."""
        if origin in self.origins or origin.host in self.others or f"{origin.host}:{origin.port}" in self.others:
            return
        names = ", ".join(sorted(str(item) for item in self.origins)) or "no server"
        raise AddressFault(f"{origin} is not a server of this API ({names}); configure it as base_url or under hosts")

    def admits(self, origin: Origin, address: Address) -> bool:
        """Tell whether a connection for this origin may go to this address."""
        kind = judge(address)
        return kind == "public" or (self.is_open and kind != "none") or kind in self.allowed.get(origin, frozenset())


def reach_of(operation: Operation, *, allow_private: bool = False, hosts: Iterable[str] = ()) -> Reach:
    """Work out where an operation's requests may go, from its base URL, servers and the user's configuration."""
    api = operation.api
    if api.base_url is not None:
        origins = [origin_of(api.base_url)]
    else:
        urls = [absolute_url(server, api.location) for server in operation.servers]
        origins = [origin_of(url) for url in urls if url is not None]
    return _reach(api, origins, allow_private, frozenset(host.lower() for host in hosts))


def reach_of_url(api: Api, url: str, *, allow_private: bool = False) -> Reach:
    """Work out whether an address that the API's document names beside its servers, as for tokens, may be reached."""
    return _reach(api, [origin_of(url)], allow_private, frozenset())


def _reach(api: Api, origins: list[Origin], allow_private: bool, others: frozenset[str]) -> Reach:
    typed = {urlsplit(text).hostname for text in (api.base_url, api.location) if text is not None}
    is_local = _is_local(api.location)
    allowed = {origin: _allowed(origin, origin.host in typed, is_local) for origin in origins}
    return Reach(frozenset(origins), others, allowed, allow_private)


def _is_local(location: str | None) -> bool:
    """Tell whether a document comes from this machine: text, a file, or a loopback URL."""
    if location is None or not location.startswith(("http://", "https://")):
        return True
    return _kind_of_host(urlsplit(location).hostname or "") == "loopback"


def _kind_of_host(host: str) -> str:
    """What the spelling of a host says of its address: a kind of `judge`, intranet, or name."""
    try:
        return judge(ipaddress.ip_address(host))
    except ValueError:
        pass
    if host == "localhost" or host.endswith(".localhost"):
        return "loopback"
    return "intranet" if "." not in host or host.endswith(_PRIVATE_SUFFIXES) else "name"


def _allowed(origin: Origin, is_typed: bool, is_local: bool) -> frozenset[str]:
    kind = _kind_of_host(origin.host)
    if kind == "intranet":
        return frozenset({"loopback", "private"}) if is_typed else frozenset()
    if kind == "link-local":
        return frozenset({kind}) if is_typed else frozenset()
    return frozenset({kind}) if kind in ("loopback", "private") and (is_typed or is_local) else frozenset()


def resolve(host: str, port: int) -> list[str]:
    """Ask the system for the addresses of a host, in its order; raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(item[4][0]) for item in found))


class Flight:
    """One exchange under way in this thread: where it may go, until when, and the socket it is on."""

    def __init__(self, reach: Reach, origin: Origin, deadline: float, clock: Callable[[], float]) -> None:
        self.reach = reach
        self.origin = origin
        self.was_sent = False
        self.was_aborted = False
        self._deadline = deadline
        self._clock = clock
        self._socket: socket.socket | None = None

    def remaining(self, most: float) -> float:
        """The seconds left, at most `most`; raises TimeoutFault when there are none."""
        left = min(most, self._deadline - self._clock())
        if left <= 0:
            raise TimeoutFault(f"the time for {self.origin} is used up; raise the time budget or ask for less")
        return left

    def hold(self, held: socket.socket | None) -> None:
        """Note the socket that the exchange is on, and break it off if that was asked for before there was one."""
        self._socket = held
        if self.was_aborted:
            self.abort()

    def abort(self) -> None:
        """Break the exchange off from another thread: what waits on its socket wakes up."""
        self.was_aborted = True
        held = self._socket
        if held is not None:
            try:
                # The plain method: that of a TLS socket would first drop the state that another thread is using.
                socket.socket.shutdown(held, socket.SHUT_RDWR)
            except OSError:
                return


class GuardedAdapter(HTTPAdapter):
    """A requests adapter whose connections go to judged addresses only; safe to share between threads.

    Set `flight` (per thread) before each send.
    """

    def __init__(self, *, resolver: Resolver = resolve, connect_seconds: float = 10.0, pool_size: int = 32) -> None:
        self._local = threading.local()
        self._resolver = resolver
        self._connect_seconds = connect_seconds
        super().__init__(pool_connections=pool_size, pool_maxsize=pool_size)

    @property
    def flight(self) -> Flight:
        """The exchange of this thread; raises AddressFault where none was announced."""
        flight = getattr(self._local, "flight", None)
        if flight is None:
            raise AddressFault("a connection was asked for outside an exchange")
        return flight  # type: ignore[no-any-return]

    @flight.setter
    def flight(self, flight: Flight | None) -> None:
        self._local.flight = flight

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **pool_kwargs: Any) -> None:
        """Make the pools with guarded connections."""
        super().init_poolmanager(connections, maxsize, block, **pool_kwargs)
        self.poolmanager.pool_classes_by_scheme = _guarded_pools(self)

    def connect(self, host: str, port: int) -> socket.socket:
        """Resolve, judge and connect; raises AddressFault, ResolveFault, ConnectFault or TimeoutFault."""
        flight = self.flight
        addresses = self._judged(flight, host, port)
        problem: OSError | None = None
        for address in addresses:
            left = flight.remaining(self._connect_seconds)
            try:
                sock = socket.create_connection((address, port), timeout=left)
            except OSError as error:
                problem = error
                continue
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            flight.hold(sock)
            return sock
        if isinstance(problem, TimeoutError):
            raise TimeoutFault(f"{flight.origin} does not answer connections; check the address, or try later")
        reason = (problem.strerror or "no connection").lower() if problem else "no address"
        raise ConnectFault(
            f"{flight.origin} cannot be reached ({reason}); check that it runs and that the URL is right"
        )

    def _judged(self, flight: Flight, host: str, port: int) -> list[str]:
        if host.strip("[]").rstrip(".").lower() != flight.origin.host or port != flight.origin.port:
            raise AddressFault(f"a connection was asked for that does not belong to {flight.origin}")
        try:
            found = self._resolver(flight.origin.host, port)
        except (OSError, UnicodeError):
            found = []
        if not found:
            raise ResolveFault(f"the host {flight.origin.host} has no address; check its name and the network")
        for text in found:
            address = ipaddress.ip_address(text.partition("%")[0])
            if not flight.reach.admits(flight.origin, address):
                raise AddressFault(
                    f"{flight.origin.host} leads to a {judge(address)} address; if that is meant, give it with "
                    "--base-url, or set allow_private: true for the API in apis.yaml"
                )
        return found


def _guarded_pools(adapter: GuardedAdapter) -> dict[str, type[HTTPConnectionPool]]:
    """Connection pools that connect through the adapter and tell its flight what they are doing."""

    class GuardedConnection(HTTPConnection):
        is_used = False

        def _new_conn(self) -> socket.socket:
            return adapter.connect(self.host, self.port or self.default_port)

        def request(self, method: str, *args: Any, **options: Any) -> None:
            _prepare(adapter.flight, self, method)
            super().request(method, *args, **options)

        def send(self, data: Any) -> None:
            _open(adapter.flight, self)
            super().send(data)

    class GuardedTlsConnection(GuardedConnection, HTTPSConnection):
        """What is above comes first, also where `HTTPSConnection` has a method of its own."""

    class GuardedPool(HTTPConnectionPool):
        ConnectionCls = GuardedConnection

    class GuardedTlsPool(HTTPSConnectionPool):
        ConnectionCls = GuardedTlsConnection

    return {"http": GuardedPool, "https": GuardedTlsPool}


def _prepare(flight: Flight, connection: Any, method: str) -> None:
    """Give a request a connection of its own where a kept one will not do.

    On one that the server is just closing, nobody would know whether a request that may not be repeated was carried
    out. And one may have been made for an API that may reach more than this one.
    """
    if connection.sock is not None and (
        (method in ("POST", "PATCH") and connection.is_used) or not _is_admitted(flight, connection.sock)
    ):
        connection.close()
    connection.is_used = True
    flight.hold(connection.sock)


def _is_admitted(flight: Flight, held: socket.socket) -> bool:
    """Tell whether the exchange may use a connection that leads where this one does."""
    try:
        peer = str(held.getpeername()[0])
    except OSError:
        return False
    return flight.reach.admits(flight.origin, ipaddress.ip_address(peer.partition("%")[0]))


def _open(flight: Flight, connection: HTTPConnection) -> None:
    """Connect first, so that only what fails from here on has an unknown outcome."""
    if connection.sock is None:
        connection.connect()
        flight.hold(connection.sock)
    flight.was_sent = True
