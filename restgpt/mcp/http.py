"""Streamable HTTP: the application of a server, the check of hosts and origins, and the bearer tokens.

A page in a browser can send requests to a loopback address by a name of its own (DNS rebinding), so the headers Host
and Origin have to name this server. On any other address every request needs a bearer token, which no page has.
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
from starlette.routing import Route

from restgpt.mcp.principal import LOOPBACK, Tokens
from restgpt.tools.errors import SettingsError

PATH = "/mcp"
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
SCOPES: list[str] = []


def make_app(server: Server[Any], host: str, tokens: Tokens) -> Starlette:
    """Return the application that serves a server at `/mcp`, on `host`.

    Raises `SettingsError` for another address than loopback without tokens.
    """
    if not _is_loopback(host) and not tokens:
        raise SettingsError(
            f"Everybody who reaches {host} could use your APIs. Set RESTGPT_MCP_TOKEN to a token that clients have to "
            "send, or leave out --host to serve this machine only."
        )
    manager = StreamableHTTPSessionManager(server, security_settings=_security(host))
    app: Any = StreamableHTTPASGIApp(manager)
    middleware = []
    if tokens:
        app = RequireAuthMiddleware(app, SCOPES)
        middleware = [Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(_Verifier(tokens)))]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield

    routes = [Route(PATH, endpoint=app), Route(f"{PATH}/{{tags}}", endpoint=app)]
    return Starlette(routes=routes, middleware=middleware, lifespan=lifespan)


def principal_of(context: ServerRequestContext[Any, Any]) -> str:
    """Return the principal of a request: the subject of its token; without tokens, whoever reaches loopback."""
    user = None if context.request is None else context.request.scope.get("user")
    return f"token {user.access_token.subject}" if isinstance(user, AuthenticatedUser) else LOOPBACK


def fixed(principal: str) -> Callable[[ServerRequestContext[Any, Any]], str]:
    """Return the principal of a transport with one client, as a function of a request."""
    return lambda context: principal


def _is_loopback(host: str) -> bool:
    """Return whether a host is this machine's loopback address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _security(host: str) -> TransportSecuritySettings:
    """Return the hosts and origins of requests that are served; tokens guard a server on all addresses."""
    if host in ("0.0.0.0", "::"):
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    own = f"[{host}]" if ":" in host else host
    names = sorted({own, *LOOPBACK_NAMES})
    return TransportSecuritySettings(
        allowed_hosts=[*names, *(f"{name}:*" for name in names)],
        allowed_origins=[
            f"{scheme}://{name}{port}" for scheme in ("http", "https") for name in names for port in ("", ":*")
        ],
    )


class _Verifier:
    """Checks bearer tokens for the SDK."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def verify_token(self, token: str) -> AccessToken | None:
        subject = self._tokens.subject(token)
        # The token itself goes no further, so no log can have it.
        return None if subject is None else AccessToken(token="", client_id=subject, scopes=SCOPES, subject=subject)
