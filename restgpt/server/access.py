"""The answer to a refused request, over HTTP or a WebSocket: a status, and one sentence that names the remedy.

Who may talk to a server of this program: one check in front of every route, for HTTP and WebSockets.

Any page in a browser can send requests to this machine: as a "simple" request, which no preflight asks about (Fetch
standard, "CORS-safelisted"), or under a name of its own that leads here (DNS rebinding). The user's credentials are on
this machine, so a request is refused unless its headers `Host`, `Origin` and `Sec-Fetch-Site` fit the server. Programs
other than browsers send no `Origin` and pass.

The bearer token that requests from other machines need: compared in front of every route, for HTTP and WebSockets.

On loopback nobody logs in: whoever can connect there is on this machine, and `AccessCheck` keeps pages of other sites
out. Everywhere else a request carries the token of `RESTGPT_SERVER_TOKEN`, or is refused.
"""

import hmac
import json
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, MutableMapping
from typing import Any

from restgpt.tools.http.addresses import PORTS, Origin
from restgpt.tools.http.authority import Authority, address_of, authority_of, web_origin_of
from restgpt.tools.settings import ServerAccess

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]
Header = tuple[bytes, bytes]


async def refuse(scope: Scope, send: Send, status: int, sentence: str, headers: Iterable[Header] = ()) -> None:
    """Answer a request, or the opening of a WebSocket, with a status and a sentence in JSON."""
    prefix = "http"
    if scope["type"] == "websocket":
        if "websocket.http.response" not in (scope.get("extensions") or {}):
            # Before it is accepted, the server answers a closed WebSocket with 403 (ASGI, "Close").
            await send({"type": "websocket.close", "code": 1008, "reason": ""})
            return
        prefix = "websocket.http"
    body = json.dumps({"detail": sentence}).encode()
    told = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *headers]
    await send({"type": f"{prefix}.response.start", "status": status, "headers": told})
    await send({"type": f"{prefix}.response.body", "body": body})


IN_PROCESS = "/noauth"
"""The `root_path` of requests that LangGraph's server sends to itself; no request from outside can set it."""
SHOWN = 200
"""How many characters of a header a refusal shows."""
_SCHEMES = {"http": "http", "https": "https", "ws": "http", "wss": "https"}
_OWN_SITE = ("same-origin", "none")
"""`Sec-Fetch-Site` of the server's own pages, and of what the user typed (Fetch Metadata, section 2.3)."""
_JSON = re.compile(r"application/(?:[a-z0-9!#$&^_.-]+\+)?json")
_LOG = logging.getLogger(__name__)


class AccessCheck:
    """ASGI middleware that answers 403, with one sentence that names the remedy, to whom the server is not for.

    A request passes if its `Host` is the server's: a loopback name with the real port, the address and port that the
    connection ends at, or a host that the user names. Its `Origin`, if it has one, is that of the `Host` or one that
    the user names. Without a named origin, `Sec-Fetch-Site` has to be the server's own, and a body has to be declared
    as JSON, because a page may send other bodies unasked.

    A client writes the port that is published, which is not the server's own in a container. There the connection does
    not end at a loopback address, and loopback names pass with any port.

    `names` are further names of the address that the server listens on. `any_host` is for a server on all addresses
    whose every request needs a token, which no page has.
    """

    def __init__(
        self, app: ASGIApp, access: ServerAccess, *, names: Collection[str] = (), any_host: bool = False
    ) -> None:
        self._app = app
        self._access = access
        self._names = frozenset(name.lower() for name in names)
        self._any_host = any_host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        is_request = scope["type"] in ("http", "websocket") and scope.get("root_path") != IN_PROCESS
        if is_request:
            # A blank after a value is no part of it (RFC 9110, section 5.5), and not every HTTP server takes it off.
            scope = {**scope, "headers": [(name, value.strip(b" \t")) for name, value in scope["headers"]]}
        if not is_request or (refusal := self.refusal(scope)) is None:
            await self._app(scope, receive, send)
            return
        _LOG.warning("Refused a request to %s. %s", ascii(scope["path"][:SHOWN]), refusal)
        await refuse(scope, send, 403, refusal)

    def refusal(self, scope: Scope) -> str | None:
        """Return why a request is refused, with the remedy; None if it may pass."""
        hosts, origins = _values(scope, b"host"), _values(scope, b"origin")
        host = authority_of(hosts[0]) if len(hosts) == 1 else None
        schemes = () if host is None else self._schemes(host, scope)
        if host is None or not schemes:
            return (
                f"The request is for the host {_shown(hosts)}, which is not this server. Use its own address, such as "
                "http://localhost with its port, or name the host in RESTGPT_SERVER_HOSTS and start the server again."
            )
        if origins:
            origin = web_origin_of(origins[0]) if len(origins) == 1 else None
            if origin is None:
                return (
                    f"A page with the origin {_shown(origins)} may not use this server. Serve the page from an HTTP "
                    "address, and name that in RESTGPT_SERVER_ORIGINS."
                )
            if origin in self._access.origins:
                # Studio declares its JSON as text. What such a page sends, the user has let it send.
                return None
            if origin not in {Origin(scheme, host.host, host.port or PORTS[scheme]) for scheme in schemes}:
                return (
                    f"Pages of {_shown(origins)} may not use this server. To let them, name the origin in "
                    "RESTGPT_SERVER_ORIGINS and start the server again."
                )
        if any(site.lower() not in _OWN_SITE for site in _values(scope, b"sec-fetch-site")):
            return (
                "A page of another site led to this request, so it is refused. Type the address into the browser, or "
                "name the origin of the page in RESTGPT_SERVER_ORIGINS and start the server again."
            )
        if _has_body(scope) and not _declares_json(scope):
            return "The body is not declared as JSON. Send it with the header Content-Type: application/json."
        return None

    def _schemes(self, host: Authority, scope: Scope) -> tuple[str, ...]:
        """The schemes of the server's own pages at a host; none if the host is not the server's."""
        if self._any_host or self._access.has_host(host):
            # A proxy in front of the server may take TLS off.
            return tuple(PORTS)
        scheme = _SCHEMES[scope.get("scheme") or "http"]
        return (scheme,) if self._is_real(host, scheme, scope.get("server")) else ()

    def _is_real(self, host: Authority, scheme: str, server: tuple[str, int | None] | None) -> bool:
        """Return whether a host is where the connection ends: the address and port of the socket."""
        address, port = (None, None) if server is None else (address_of(server[0]), server[1])
        is_port = port is None or port == (host.port or PORTS[scheme])
        if host.is_loopback:
            return is_port or address is None or not address.is_loopback
        is_address = address is not None and host.address == address
        return is_port and (is_address or host.host in self._names)


def _values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


def _shown(values: list[str]) -> str:
    """The values of a header for a person: quoted, short, and without anything that a terminal obeys."""
    return " and ".join(ascii(value[:SHOWN]) for value in values[:2]) or "(none)"


def _has_body(scope: Scope) -> bool:
    """Return whether a request has a body (RFC 9112, section 6)."""
    return bool(_values(scope, b"transfer-encoding")) or any(
        length.strip() != "0" for length in _values(scope, b"content-length")
    )


def _declares_json(scope: Scope) -> bool:
    """Return whether the body is declared as JSON (RFC 8259, RFC 6839), which a page may not send without asking."""
    declared = _values(scope, b"content-type")
    return len(declared) == 1 and _JSON.fullmatch(declared[0].partition(";")[0].strip().lower()) is not None


NO_TOKEN = (
    "The request did not come over a loopback address, so it needs a token. Set RESTGPT_SERVER_TOKEN for the server, "
    "start it again, and send the token with each request."
)
WRONG_TOKEN = (
    "The token is missing or wrong. Send RESTGPT_SERVER_TOKEN of the server in the header Authorization: Bearer."
)


class TokenCheck:
    """ASGI middleware that refuses a request from another machine unless it has the token.

    A request is from this machine if its connection ends at a loopback address or a socket file. If a token is set, its
    `Host` has to be a loopback name too, so that a proxy or a tunnel on this machine opens nothing. `open_paths` need
    no token for a GET: the files of the page.

    With a `refusal` requests from this machine need the token too, which a browser sends as a cookie; those without it
    are answered 403 and this sentence.
    """

    def __init__(
        self, app: ASGIApp, access: ServerAccess, *, open_paths: Collection[str] = (), refusal: str = ""
    ) -> None:
        self._app = app
        self._refusal = refusal
        self._token = access.token
        self._open = frozenset(open_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        is_request = scope["type"] in ("http", "websocket") and scope.get("root_path") != IN_PROCESS
        if not is_request or self._is_open(scope) or self._is_local(scope) or self._has_token(scope):
            await self._app(scope, receive, send)
        elif self._token is None or self._refusal:
            await refuse(scope, send, 403, self._refusal or NO_TOKEN)
        else:
            await refuse(scope, send, 401, WRONG_TOKEN, [(b"www-authenticate", b"Bearer")])

    def _is_open(self, scope: Scope) -> bool:
        return scope["type"] == "http" and scope["method"] in ("GET", "HEAD") and scope["path"] in self._open

    def _is_local(self, scope: Scope) -> bool:
        if self._refusal:
            return False
        server = scope.get("server")
        if server is not None and server[1] is not None:
            address = address_of(server[0])
            if address is None or not address.is_loopback:
                return False
        if self._token is None:
            return True
        hosts = [authority_of(value.decode("latin-1")) for key, value in scope["headers"] if key.lower() == b"host"]
        return all(host is not None and host.is_loopback for host in hosts)

    def _has_token(self, scope: Scope) -> bool:
        sent = [value.partition(" ") for value in _values(scope, b"authorization")]
        if self._token is None or len(sent) > 1:
            return False
        given = [token.strip() for scheme, _, token in sent if scheme.lower() == "bearer"]
        if self._refusal and not sent:
            given = _cookies(scope)
        # In constant time, so that the time of an answer tells nothing about the token.
        return any(hmac.compare_digest(token.encode(), self._token.reveal().encode()) for token in given)


def cookie_name(scope: Scope) -> str:
    """Return the name of a server's cookie, with its port: browsers send it to all ports (RFC 6265, section 8.5)."""
    return f"restgpt-{(scope.get('server') or ('', None))[1]}"


def _cookies(scope: Scope) -> list[str]:
    pairs = (pair.strip().partition("=") for value in _values(scope, b"cookie") for pair in value.split(";"))
    return [value for name, _, value in pairs if name == cookie_name(scope)]
