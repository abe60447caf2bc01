"""Log in to an API in a browser: OAuth2 authorization code with PKCE and a redirect to this machine (RFC 8252)."""

import time
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any
from urllib.parse import parse_qs

from restgpt.specs.api import Api
from restgpt.specs.security import SecurityScheme
from restgpt.tools.auth.oauth import OAuthTokens, own_servers
from restgpt.tools.errors import LoginError

PATH = "/callback"
POLL_S = 0.05
"""How often the end of the wait for the redirect is looked for, in seconds."""
_PAGE = b"<!doctype html><title>RestGPT</title><p>You can close this window and go back to the program."


def login_scheme(api: Api, name: str | None = None) -> SecurityScheme:
    """The scheme to log in with: the named one, else the first OAuth2 or OpenID Connect scheme; raises LoginError."""
    schemes = api.security_schemes
    found = [item for item in schemes.values() if item.type in ("oauth2", "openIdConnect")]
    if name is not None:
        found = [item for item in found if item.key.lower() == name.lower()]
    if not found:
        known = ", ".join(schemes) or "none"
        raise LoginError(
            f"{api.name} has no such OAuth2 or OpenID Connect scheme to log in with; its security schemes: {known}"
        )
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
    confirm: Callable[[str], bool] = lambda question: False,
) -> None:
    """Send the user to the authorization server and keep the token from it; raises LoginError.

    `open_browser` is called with the URL. Some servers require `port` to be part of the registered redirect URI.
    `confirm` asks the user whether to log in at servers that only the document names.
    """
    with _Callback(("127.0.0.1", port), _Handler) as server:
        redirect = f"http://127.0.0.1:{server.server_port}{PATH}"
        authorization = tokens.start_login(api, scheme, redirect, scopes)
        _check_servers(api, authorization.strangers, confirm)
        open_browser(authorization.url)
        code = server.wait(authorization.state, seconds)
    tokens.finish_login(api, scheme, authorization, code)


def _check_servers(api: Api, strangers: Sequence[str], confirm: Callable[[str], bool]) -> None:
    """Ask the user about the servers of a login that are not the API's; raises LoginError unless the user agrees."""
    if not strangers:
        return
    servers = " and ".join(strangers)
    if not confirm(f"Log in at {servers}? The spec of {api.name} names it; the API is at {own_servers(api)}."):
        raise LoginError(
            f"you did not agree to log in to {api.name} at {servers}; agree at the terminal or with --yes, or name the "
            "server under auth_servers in apis.yaml"
        )


class _Callback(ThreadingHTTPServer):
    """Receives the redirect of the browser on a loopback port; each connection has a thread, so none delays another."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.answers: SimpleQueue[dict[str, list[str]]] = SimpleQueue()

    def handle_error(self, *given: Any) -> None:
        """Ignore a connection that breaks."""

    def wait(self, state: str, seconds: float) -> str:
        """The authorization code from a redirect with the right `state`; other requests are ignored.

        Raises LoginError if the server refuses or the time is up.
        """
        end = time.monotonic() + seconds
        Thread(target=self.serve_forever, args=(POLL_S,), daemon=True).start()
        try:
            answer: dict[str, list[str]] = {}
            while answer.get("state") != [state]:
                answer = self.answers.get(timeout=max(0.0, end - time.monotonic()))
        except Empty:
            raise LoginError("the login was not finished in time; try again") from None
        finally:
            self.shutdown()
        if answer.get("code"):
            return answer["code"][0]
        raise LoginError("the authorization server refused the login; try again, and allow the access")


class _Handler(BaseHTTPRequestHandler):
    """Handles the redirect of the browser, without log output."""

    timeout = 10

    def do_GET(self) -> None:
        """Record the query of a request to the callback path."""
        path, _, query = self.path.partition("?")
        is_callback = path == PATH
        self.send_response(200 if is_callback else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(_PAGE) if is_callback else 0))
        self.send_header("Connection", "close")
        self.end_headers()
        if is_callback:
            self.wfile.write(_PAGE)
            if isinstance(self.server, _Callback):
                self.server.answers.put(parse_qs(query))

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the URL holds the authorization code."""
