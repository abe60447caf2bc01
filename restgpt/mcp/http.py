"""Streamable HTTP: the application of a server behind the check of access, and the bearer tokens.

On any other address than loopback every request needs a bearer token, which no page in a browser has.
"""

import ipaddress
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
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

from restgpt.mcp.principal import LOOPBACK, TOKEN, Tokens
from restgpt.server.access import AccessCheck
from restgpt.tools.errors import SettingsError
from restgpt.tools.settings import ServerAccess

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
