"""The principal of a request: whose handles are valid. It stays the same when the server is started again.

Over stdio it is whoever owns the folder `RESTGPT_HOME`: its secret id is in a file that only the owner can read. Over
HTTP it is the subject of the bearer token; without tokens, everybody who reaches the loopback address is one principal.

Streamable HTTP: the application of a server behind the check of access, and the bearer tokens.

On any other address than loopback every request needs a bearer token, which no page in a browser has.
"""

import hmac
import ipaddress
import os
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route
from starlette.types import ASGIApp

from restgpt.server.access import AccessCheck
from restgpt.tools.errors import SettingsError
from restgpt.tools.settings import Secret, ServerAccess

FILE = "owner"

LOOPBACK = "loopback"

TOKEN = "token "
"""The beginning of the principal of a client with a bearer token."""

LEAST_TOKEN = 16
"""The fewest characters of a bearer token."""


def process_owner(home: Path) -> str:
    """Return the principal of stdio; makes its file at the first use. Raises `OSError` if it cannot be written."""
    path = home / FILE
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f"{FILE}.{secrets.token_hex(8)}")
    if not path.exists():
        fresh.touch(mode=0o600)
        fresh.write_text(secrets.token_hex(16), encoding="ascii")
        try:
            # A link fails if another process has made the file meanwhile; its id counts then.
            os.link(fresh, path)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return f"owner {path.read_text(encoding='ascii').strip()}"


class Tokens:
    """The bearer tokens of a server by subject, compared in constant time."""

    def __init__(self, tokens: Mapping[str, Secret]) -> None:
        for subject, token in tokens.items():
            if len(token.reveal()) < LEAST_TOKEN:
                raise SettingsError(
                    f"The token of {subject} in RESTGPT_MCP_TOKEN has fewer than {LEAST_TOKEN} characters. Make one "
                    "with: python -c 'import secrets; print(secrets.token_urlsafe(32))'"
                )
        self._tokens = dict(tokens)

    def __bool__(self) -> bool:
        return bool(self._tokens)

    def subject(self, token: str) -> str | None:
        """Return the subject of a token; None for an unknown one. Every token is compared, whichever fits."""
        given = token.encode("utf-8", "surrogatepass")
        found = [name for name, known in self._tokens.items() if hmac.compare_digest(known.reveal().encode(), given)]
        return found[0] if found else None


PATH = "/mcp"

ALL_ADDRESSES = ("0.0.0.0", "::")

EXPOSED = ("Mcp-Session-Id", "WWW-Authenticate")
"""Headers of answers that a client in a page reads."""

SCOPES: list[str] = []

MOST_SESSIONS = 1_000
"""The most sessions at once, of some 40 kB each; a client that opens one more gets 503."""

IDLE_S = 30 * 60.0
"""After how long without a request or an open stream a session ends, in seconds; its client begins a new one."""


def make_app(server: Server[Any], host: str, tokens: Tokens, access: ServerAccess, *, idle: float = IDLE_S) -> ASGIApp:
    """Return the application that serves a server at `/mcp`, on `host`, to those that `AccessCheck` lets pass.

    A session ends after `idle` seconds without a request. Raises `SettingsError` for another address than loopback
    without tokens.
    """
    if not _is_loopback(host) and not tokens:
        raise SettingsError(
            f"Everybody who reaches {host} could use your APIs. Set RESTGPT_MCP_TOKEN to a token that clients have to "
            "send, or leave out --host to serve this machine only."
        )
    # The SDK compares the beginnings of hosts and origins only, so its check is off.
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    manager = StreamableHTTPSessionManager(
        server, security_settings=unchecked, session_idle_timeout=idle, max_sessions=MOST_SESSIONS
    )
    app: Any = StreamableHTTPASGIApp(manager)
    # Outside of the tokens, because a browser asks with a preflight that has none.
    pages = [str(origin) for origin in access.origins]
    middleware = [
        Middleware(
            CORSMiddleware, allow_origins=pages, allow_methods=["*"], allow_headers=["*"], expose_headers=EXPOSED
        )
    ]
    if tokens:
        app = RequireAuthMiddleware(app, SCOPES)
        middleware.append(Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(_Verifier(tokens))))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield

    routes = [Route(PATH, endpoint=app), Route(f"{PATH}/{{tags}}", endpoint=app)]
    served = Starlette(routes=routes, middleware=middleware, lifespan=lifespan)
    return AccessCheck(served, access, names=(host,), any_host=host in ALL_ADDRESSES)


def principal_of(context: ServerRequestContext[Any, Any]) -> str:
    """Return the principal of a request: the subject of its token; without tokens, whoever reaches loopback."""
    user = None if context.request is None else context.request.scope.get("user")
    return f"{TOKEN}{user.access_token.subject}" if isinstance(user, AuthenticatedUser) else LOOPBACK


def fixed(principal: str) -> Callable[[ServerRequestContext[Any, Any]], str]:
    """Return the principal of a transport with one client, as a function of a request."""
    return lambda context: principal


def _is_loopback(host: str) -> bool:
    """Return whether a host is this machine's loopback address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Verifier:
    """Checks bearer tokens for the SDK."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def verify_token(self, token: str) -> AccessToken | None:
        subject = self._tokens.subject(token)
        # The token itself goes no further, so no log can have it.
        return None if subject is None else AccessToken(token="", client_id=subject, scopes=SCOPES, subject=subject)
