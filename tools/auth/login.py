"""Log in to an API in a browser: OAuth2 authorization code with PKCE and a redirect to this machine (RFC 8252)."""

import time
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

from restgpt.specs.api import Api
from restgpt.specs.security import SecurityScheme
from restgpt.tools.auth.oauth import OAuthTokens
from restgpt.tools.errors import LoginError

PATH = "/callback"
_PAGE = b"<!doctype html><title>RestGPT</title><p>You can close this window and go back to the program."


def login_scheme(api: Api, name: str | None = None) -> SecurityScheme:
    """The scheme to log in with: the named one, else the first of OAuth2 or OpenID Connect; raises LoginError."""
    schemes = api.security_schemes
    found = [item for item in schemes.values() if item.type in ("oauth2", "openIdConnect")]
    if name is not None:
        found = [item for item in found if item.key.lower() == name.lower()]
    if not found:
        known = ", ".join(schemes) or "none"
        raise LoginError(f"{api.name} has no such scheme to log in with; its security schemes: {known}")
    return found[0]


def log_in(
    tokens: OAuthTokens,
    api: Api,
    scheme: SecurityScheme,
    *,
    open_browser: Callable[[str], object],
    port: int = 0,
    scopes: Sequence[str] = (),
    seconds: float = 300.0,
) -> None:
    """Send a person to the authorization server and keep the token that comes of it; raises LoginError.

    `open_browser` is given the address; `port` has to be the registered one where the server insists on it.
    """
    with _Callback(("127.0.0.1", port), _Handler) as server:
        redirect = f"http://127.0.0.1:{server.server_port}{PATH}"
        invitation = tokens.invite(api, scheme, redirect, scopes)
        open_browser(invitation.url)
        answer = server.wait(invitation.state, seconds)
    tokens.accept(api, scheme, invitation, answer, scopes)


class _Callback(HTTPServer):
    """Waits on loopback for the browser to come back."""

    answers: list[dict[str, list[str]]]

    def wait(self, state: str, seconds: float) -> str:
        """The code that came with the right state; anything else is ignored until the time is up."""
        self.answers = []
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.timeout = left
            self.handle_request()
            for answer in self.answers:
                if answer.get("state") != [state]:
                    continue
                if answer.get("code"):
                    return answer["code"][0]
                raise LoginError("the authorization server refused; nobody was logged in")
            self.answers.clear()
        raise LoginError("nobody logged in in time; try again")


class _Handler(BaseHTTPRequestHandler):
    """Takes the one request of the browser, and says nothing on the console."""

    timeout = 10

    def do_GET(self) -> None:
        """Note the query of the callback address."""
        parts = urlsplit(self.path)
        is_callback = parts.path == PATH
        self.send_response(200 if is_callback else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(_PAGE) if is_callback else 0))
        self.send_header("Connection", "close")
        self.end_headers()
        if is_callback:
            self.wfile.write(_PAGE)
            if isinstance(self.server, _Callback):
                self.server.answers.append(parse_qs(parts.query))

    def log_message(self, format: str, *args: object) -> None:
        """The address holds the code, so nothing is logged."""
