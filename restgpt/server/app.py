"""The app that `langgraph.json` names under `http.app`: LangGraph's server puts its own routes into it.

Whatever is added, the check of access stays in front of it: of LangGraph's routes, of answers to unknown paths and to
preflights. Middleware in `user_middleware` would not be enough, because a server may
put its own before it, or apply it to some of the routes only (`middleware_order`).
"""

import json
import os
from urllib.parse import unquote
from uuid import UUID, uuid5

from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from restgpt.server.access import IN_PROCESS, AccessCheck
from restgpt.server.refusal import Receive, Scope, Send, refuse
from restgpt.server.token import TokenCheck
from restgpt.tools.network.authority import web_origin_of
from restgpt.tools.settings import ServerAccess

NAMESPACE = UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")
"""The namespace in which LangGraph's server makes the ids of its assistants from the names of graphs (RFC 9562)."""

REFUSED = (
    "The assistants that the server makes are the same for all clients, so no client changes or deletes them. Make an "
    "assistant of your own with POST /assistants, or give `context` with a run."
)


CLOSED = (
    "The store of this server holds what RestGPT keeps for all its clients: permissions, the journal of changes, and "
    "the answers of APIs. So no client reads or writes it."
)


class OwnCheck:
    """ASGI middleware that answers 403 to a change of an assistant of the server, and to any use of its store.

    The server makes these assistants itself, one a graph: every client runs them, so none changes them. A client with
    other settings makes an assistant of its own (`POST /assistants`). The store is closed as a whole, because a prefix
    of a namespace is a pattern in some databases.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        is_outside = scope["type"] == "http" and scope.get("root_path") != IN_PROCESS
        parts = [unquote(part) for part in scope.get("path", "").split("/") if part]
        if is_outside and parts[:1] == ["store"]:
            await refuse(scope, send, 403, CLOSED)
        elif is_outside and _changed(scope["method"], parts) in _of_server():
            await refuse(scope, send, 403, REFUSED)
        else:
            await self._app(scope, receive, send)


def _changed(method: str, parts: list[str]) -> UUID | None:
    """Return the assistant that a request changes, by its id in any spelling; None for any other request."""
    is_change = method in ("PATCH", "DELETE") or (method == "POST" and parts[2:] == ["latest"])
    if not is_change or parts[:1] != ["assistants"] or len(parts) < 2:
        return None
    try:
        return UUID(parts[1])
    except ValueError:
        return uuid5(NAMESPACE, parts[1].lower())


def _of_server() -> set[UUID]:
    """Return the ids of the server's assistants: its environment has the graphs of `langgraph.json`."""
    return {uuid5(NAMESPACE, name) for name in json.loads(os.environ.get("LANGSERVE_GRAPHS") or "{}")}


STUDIO = "https://smith.langchain.com"
"""The origin of LangGraph Studio."""
EXPOSED = ("Content-Location", "Location", "X-Pagination-Total", "X-Pagination-Next")
"""Headers of answers that the SDK reads in a page."""


class GuardedApp(Starlette):
    """A Starlette app that only this machine, Studio, and the hosts and origins that the user names may talk to.

    Requests that do not come over loopback need the token of the server as well. The first request raises
    `SettingsError` for settings that cannot be read.
    """

    def build_middleware_stack(self) -> ASGIApp:
        """Put the check of access before everything else that the app does."""
        studio = web_origin_of(STUDIO)
        assert studio is not None
        access = ServerAccess.from_env().with_origin(studio)
        guarded = OwnCheck(super().build_middleware_stack())
        answered = CORSMiddleware(
            # Inside of this, because a browser asks with a preflight that has no token.
            TokenCheck(guarded, access),
            allow_origins=[str(origin) for origin in access.origins],
            allow_methods=["*"],
            allow_headers=["*"],
            allow_private_network=True,
            expose_headers=EXPOSED,
        )
        return AccessCheck(answered, access)


app = GuardedApp()
