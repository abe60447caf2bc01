"""The addresses that a request may connect to, and an adapter that connects to no other (protection against SSRF).

A request goes only to an origin of its API: the base URL, else the servers of the document. The adapter resolves the
host once, checks every address, and connects to an address that it checked, so a second DNS answer has no effect.
Loopback and private addresses need a base URL or a document URL that names the host, or `allow_private`: a document is
text of somebody else, wherever it was saved. A document from a loopback URL may name another loopback address.
Link-local addresses, which serve cloud metadata, need a base URL with that address or `allow_private`.
"""

import ipaddress
import re
import socket
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import LocationParseError
from urllib3.util import Url, parse_url

from restgpt.specs.api import Api
from restgpt.specs.operation import Operation
from restgpt.specs.problem import SpecError
from restgpt.specs.reading.download import WholeHeadResponse
from restgpt.specs.servers import absolute_url
from restgpt.specs.watchdog import Watchdog
from restgpt.tools.errors import AddressFault, ConnectFault, ResolveFault, TimeoutFault

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str, int], list[str]]

PORTS = {"http": 80, "https": 443}
"""The port of a scheme where a text names none (RFC 9110, section 4.2)."""
_ODD = re.compile(r"[\x00-\x20\x7f\\]")
# Suffixes of host names in private networks; a name without a dot is private too.
_PRIVATE_SUFFIXES = (".local", ".localhost", ".internal", ".intranet", ".lan", ".home", ".corp", ".home.arpa", ".test")
# Metadata services outside the link-local range: AWS and Google over IPv6, Alibaba Cloud, Oracle Cloud, Azure.
_METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in ("fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "192.0.0.192", "168.63.129.16")
)
# IPv6 networks whose addresses end in an IPv4 address: NAT64 (RFC 6052) and stateless translation (RFC 2765).
_TRANSLATED = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("::ffff:0:0:0/96"))
# Local networks that some Python versions report as global: local NAT64 (RFC 8215), site-local, protocol assignments.
_LOCAL = tuple(ipaddress.ip_network(text) for text in ("64:ff9b:1::/48", "fec0::/10", "192.0.0.0/24"))


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port of a URL (RFC 6454), the host in lower case and without brackets."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == PORTS.get(self.scheme) else f":{self.port}")


def origin_of(url: str) -> Origin:
    """Read the origin of a URL; raises AddressFault if two URL parsers could read it differently."""
    if _ODD.search(url):
        raise AddressFault("a URL holds spaces, backslashes or control characters; correct the server or --base-url")
    read = _read_twice(url)
    if read is None:
        raise AddressFault("a URL cannot be read; correct the server or --base-url")
    parts, host, port, second = read
    if parts.scheme not in PORTS or not host:
        raise AddressFault(
            f"only http and https URLs with a host are requested, not {parts.scheme or 'a relative one'}"
        )
    if "@" in parts.netloc:
        raise AddressFault("a URL holds a user name before its host; give credentials as RESTGPT_AUTH_<SCHEME>")
    same = (second.host or "").strip("[]").lower().rstrip(".") == host and second.port == port
    if not same or not host.isascii():
        raise AddressFault("the host of a URL is ambiguous; write it in ASCII (punycode for other letters)")
    return Origin(parts.scheme, host, port or PORTS[parts.scheme])


def joined_url(base: str, reference: str) -> str:
    """Resolve a reference, as in a Location or Link header, against a URL (RFC 3986, section 5).

    Raises AddressFault if the reference is no URL. Python's own error is dropped, because it quotes the reference, in
    which a server may echo a credential.
    """
    try:
        return urljoin(base, reference)
    except ValueError:
        reason = "it is no URL"
    raise AddressFault(reason)


def _read_twice(url: str) -> tuple[SplitResult, str, int | None, Url] | None:
    """A URL as the standard library and as urllib3 parse it; None if either cannot.

    Their exceptions are dropped, because they quote the URL.
    """
    try:
        parts = urlsplit(url)
        return parts, (parts.hostname or "").rstrip("."), parts.port, parse_url(url)
    except (ValueError, LocationParseError):
        return None


def classify(address: Address) -> str:
    """The kind of an address: public, loopback, private, link-local (with cloud metadata) or none (not for hosts)."""
    inner = _embedded(address)
    if inner is not None:
        return classify(inner)
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
class AddressPolicy:
    """The origins and addresses that the requests of one operation may go to.

    `origins` are the origins of the API, which get credentials. `others` are further hosts that redirects may lead to,
    which get none. `allowed` holds the allowed kinds of non-public addresses (see `classify`) by origin; with
    `allow_private` all kinds are allowed for every host.
    """

    origins: frozenset[Origin]
    others: frozenset[str] = frozenset()
    allowed: Mapping[Origin, frozenset[str]] = field(default_factory=dict)
    allow_private: bool = False

    def check(self, origin: Origin) -> None:
        """Raise AddressFault if the origin belongs neither to the API nor to the configured hosts."""
        if origin in self.origins or origin.host in self.others or f"{origin.host}:{origin.port}" in self.others:
            return
        names = ", ".join(sorted(str(item) for item in self.origins)) or "no server"
        raise AddressFault(f"{origin} is not a server of this API ({names}); configure it as base_url or under hosts")

    def allows(self, origin: Origin, address: Address) -> bool:
        """Whether a connection for this origin may go to this address."""
        kind = classify(address)
        return (
            kind == "public" or (self.allow_private and kind != "none") or kind in self.allowed.get(origin, frozenset())
        )


def address_policy_of(operation: Operation, *, allow_private: bool = False, hosts: Iterable[str] = ()) -> AddressPolicy:
    """The address policy of an operation, from its base URL, its servers and the user's configuration."""
    api = operation.api
    if api.base_url is not None:
        origins = [origin_of(api.base_url)]
    else:
        urls = [absolute_url(server, api.location) for server in operation.servers]
        origins = [origin_of(url) for url in urls if url is not None]
    return _policy(api, origins, allow_private, frozenset(host.lower() for host in hosts))


def address_policy_of_url(api: Api, url: str, *, allow_private: bool = False, is_typed: bool = False) -> AddressPolicy:
    """The address policy of one URL outside the API's servers, such as a token URL; `is_typed`: the user named it."""
    return _policy(api, [origin_of(url)], allow_private, frozenset(), is_typed=is_typed)


def origins_of(api: Api) -> list[Origin]:
    """The origins of an API: that of its base URL, else those of the servers of its document that can be read."""
    servers = [absolute_url(server, api.location) for server in api.servers]
    found = []
    for url in [api.base_url] if api.base_url is not None else servers:
        try:
            found += [origin_of(url)] if url is not None else []
        except AddressFault:
            continue
    return found


def closed_server(api: Api) -> str:
    """The base URL of an API whose document alone names a server in a private network; empty for any other."""
    for operation in api.operations[:1]:
        with suppress(AddressFault, SpecError):
            policy, origin = address_policy_of(operation), origin_of(operation.base_url)
            if _kind_of_host(origin.host) not in ("public", "name") and not policy.allowed.get(origin):
                return operation.base_url
    return ""


def _policy(
    api: Api, origins: list[Origin], allow_private: bool, others: frozenset[str], *, is_typed: bool = False
) -> AddressPolicy:
    typed = {urlsplit(text).hostname for text in (api.base_url, api.location) if text is not None}
    is_local = _is_local(api.location)
    allowed = {origin: _allowed(origin, is_typed or origin.host in typed, is_local) for origin in origins}
    return AddressPolicy(frozenset(origins), others, allowed, allow_private)


def _is_local(location: str | None) -> bool:
    """Whether a document comes from a loopback URL."""
    if location is None or not location.startswith(("http://", "https://")):
        return False
    return _kind_of_host(urlsplit(location).hostname or "") == "loopback"


def _kind_of_host(host: str) -> str:
    """The kind of a host by its text: a kind of `classify` for an IP address, else loopback, intranet or name."""
    try:
        return classify(ipaddress.ip_address(host))
    except ValueError:
        pass
    if host == "localhost" or host.endswith(".localhost"):
        return "loopback"
    return "intranet" if "." not in host or host.endswith(_PRIVATE_SUFFIXES) else "name"


def _allowed(origin: Origin, is_typed: bool, is_local: bool) -> frozenset[str]:
    """The kinds of addresses that a host may lead to beside public ones."""
    kind = _kind_of_host(origin.host)
    if not (is_typed or (is_local and kind == "loopback")):
        return frozenset()
    kinds = {"loopback", "private"} if kind == "intranet" else {kind}
    return frozenset(kinds & {"loopback", "private", "link-local"})


def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host, in the order in which the system's resolver returns them; raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(item[4][0]) for item in found))


class Exchange(Watchdog):
    """One HTTP exchange (request and response) in this thread: its address policy, its deadline and its socket.

    `before_send` is called before the first byte of the request; the request is not sent if it raises an exception.
    """

    def __init__(
        self,
        policy: AddressPolicy,
        origin: Origin,
        deadline: float,
        clock: Callable[[], float],
        before_send: Callable[[], None] | None = None,
    ) -> None:
        super().__init__()
        self.policy = policy
        self.origin = origin
        self.was_sent = False
        self._deadline = deadline
        self._clock = clock
        self._before_send = before_send

    def begin(self) -> None:
        """Call `before_send` once, and note that bytes of the request may go out from now on."""
        if not self.was_sent and self._before_send is not None:
            self._before_send()
        self.was_sent = True

    def remaining(self, most: float) -> float:
        """The seconds left, at most `most`; raises TimeoutFault if the deadline has passed."""
        left = min(most, self._deadline - self._clock())
        if left <= 0:
            raise TimeoutFault(f"the time for {self.origin} is used up; raise the time budget or ask for less")
        return left


class GuardedAdapter(HTTPAdapter):
    """A requests adapter that connects to checked addresses only. Thread-safe.

    Set `exchange` (per thread) before each send.
    """

    def __init__(self, *, resolver: Resolver = resolve, connect_seconds: float = 10.0, pool_size: int = 32) -> None:
        self._local = threading.local()
        self._resolver = resolver
        self._connect_seconds = connect_seconds
        super().__init__(pool_connections=pool_size, pool_maxsize=pool_size)

    @property
    def exchange(self) -> Exchange:
        """The exchange of this thread; raises AddressFault if none was set."""
        exchange = getattr(self._local, "exchange", None)
        if exchange is None:
            raise AddressFault("a connection was asked for outside an exchange")
        return exchange  # type: ignore[no-any-return]

    @exchange.setter
    def exchange(self, exchange: Exchange | None) -> None:
        self._local.exchange = exchange

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **pool_kwargs: Any) -> None:
        """Create the pool manager with guarded connections."""
        super().init_poolmanager(connections, maxsize, block, **pool_kwargs)
        # By a weak reference: urllib3 keeps the connections of a pool until the pool is collected, which a connection
        # that refers to its adapter, and so to its pool, would prevent.
        self.poolmanager.pool_classes_by_scheme = _guarded_pools(weakref.proxy(self))

    def connect(self, host: str, port: int) -> socket.socket:
        """Resolve, check the addresses and connect; raises AddressFault, ResolveFault, ConnectFault or TimeoutFault."""
        exchange = self.exchange
        addresses = self._checked(exchange, host, port)
        problem: OSError | None = None
        for address in addresses:
            left = exchange.remaining(self._connect_seconds)
            try:
                sock = socket.create_connection((address, port), timeout=left)
            except OSError as error:
                problem = error
                continue
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            exchange.use_socket(sock)
            return sock
        if isinstance(problem, TimeoutError):
            raise TimeoutFault(f"{exchange.origin} does not answer connections; check the address, or try later")
        reason = (problem.strerror or "no connection").lower() if problem else "no address"
        raise ConnectFault(
            f"{exchange.origin} cannot be reached ({reason}); check that it runs and that the URL is right"
        )

    def _checked(self, exchange: Exchange, host: str, port: int) -> list[str]:
        if host.strip("[]").rstrip(".").lower() != exchange.origin.host or port != exchange.origin.port:
            raise AddressFault(f"a connection was asked for that does not belong to {exchange.origin}")
        try:
            found = self._resolver(exchange.origin.host, port)
        except (OSError, UnicodeError):
            found = []
        if not found:
            raise ResolveFault(f"the host {exchange.origin.host} has no address; check its name and the network")
        for text in found:
            address = ipaddress.ip_address(text.partition("%")[0])
            if not exchange.policy.allows(exchange.origin, address):
                raise AddressFault(
                    f"{exchange.origin.host} leads to a {classify(address)} address; if that is meant, give it with "
                    "--base-url (in Python: base_url=), or set allow_private: true for the API in apis.yaml"
                )
        return found


def _guarded_pools(adapter: GuardedAdapter) -> dict[str, type[HTTPConnectionPool]]:
    """Connection pool classes that connect through the adapter and record their socket in its exchange."""

    class GuardedConnection(HTTPConnection):
        is_used = False
        response_class = WholeHeadResponse

        def _new_conn(self) -> socket.socket:
            return adapter.connect(self.host, self.port or self.default_port)

        def request(self, method: str, *args: Any, **options: Any) -> None:
            _prepare(adapter.exchange, self, method)
            super().request(method, *args, **options)

        def send(self, data: Any) -> None:
            _open(adapter.exchange, self)
            super().send(data)

    class GuardedTlsConnection(GuardedConnection, HTTPSConnection):
        """The methods of GuardedConnection precede those of `HTTPSConnection`."""

    class GuardedPool(HTTPConnectionPool):
        ConnectionCls = GuardedConnection

    class GuardedTlsPool(HTTPSConnectionPool):
        ConnectionCls = GuardedTlsConnection

    return {"http": GuardedPool, "https": GuardedTlsPool}


def _prepare(exchange: Exchange, connection: Any, method: str) -> None:
    """Close a pooled connection that must not be reused for this request, so that a new one is opened.

    A POST or PATCH needs a new connection: if the server is just closing the old one, the outcome would be unknown. And
    the old connection may have been opened for another API, whose address policy allows more.
    """
    if connection.sock is not None and (
        (method in ("POST", "PATCH") and connection.is_used) or not _is_allowed(exchange, connection.sock)
    ):
        connection.close()
    connection.is_used = True
    exchange.use_socket(connection.sock)


def _is_allowed(exchange: Exchange, connected: socket.socket) -> bool:
    """Whether the exchange may use a connection to the peer of this socket."""
    try:
        peer = str(connected.getpeername()[0])
    except OSError:
        return False
    return exchange.policy.allows(exchange.origin, ipaddress.ip_address(peer.partition("%")[0]))


def _open(exchange: Exchange, connection: HTTPConnection) -> None:
    """Connect before sending: only a failure after this point has an unknown outcome."""
    if connection.sock is None:
        connection.connect()
        exchange.use_socket(connection.sock)
    exchange.begin()
