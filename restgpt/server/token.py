"""The bearer token that requests from other machines need: compared in front of every route, for HTTP and WebSockets.

On loopback nobody logs in: whoever can connect there is on this machine, and `AccessCheck` keeps pages of other sites
out. Everywhere else a request carries the token of `RESTGPT_SERVER_TOKEN`, or is refused.
"""

import hmac
from collections.abc import Collection

from restgpt.server.access import IN_PROCESS
from restgpt.server.refusal import ASGIApp, Receive, Scope, Send, refuse
from restgpt.tools.network.authority import address_of, authority_of
from restgpt.tools.settings import ServerAccess

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
    no token for a GET: the files of the page, in which the user types it.

    With a `refusal` requests from this machine need the token too; those without it are answered 403 and this sentence.
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
        sent = [value for key, value in scope["headers"] if key.lower() == b"authorization"]
        if self._token is None or len(sent) != 1:
            return False
        scheme, _, token = sent[0].partition(b" ")
        # In constant time, so that the time of an answer tells nothing about the token.
        return scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._token.reveal().encode())
