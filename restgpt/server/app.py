"""The app that `langgraph.json` names under `http.app`: LangGraph's server puts its own routes into it.

Whatever is added, the check of access stays in front of it: of LangGraph's routes, of routes of our own beside them, of
answers to unknown paths and to preflights. Middleware in `user_middleware` would not be enough, because a server may
put its own before it, or apply it to some of the routes only (`middleware_order`).
"""

import json
import os
from functools import cache
from urllib.parse import unquote
from uuid import UUID, uuid5

from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from restgpt.nodes.run.services import Services
from restgpt.server.access import IN_PROCESS, AccessCheck
from restgpt.server.operation_schema import schema_routes
from restgpt.server.page import OPEN_PATHS, page_routes
from restgpt.server.recipe import recipe_routes
from restgpt.server.refusal import Receive, Scope, Send, refuse
from restgpt.server.token import TokenCheck
from restgpt.server.undo import undo_routes
from restgpt.server.wire import wire_routes
from restgpt.tools.network.authority import web_origin_of
from restgpt.tools.settings import ServerAccess

NAMESPACE = UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")
"""The namespace in which LangGraph's server makes the ids of its assistants from the names of graphs (RFC 9562)."""

REFUSED = (
    "The assistants that the server makes are the same for all clients, so no client changes or deletes them. Make an "
    "assistant of your own with POST /assistants, or give `context` with a run."
)


class AssistantCheck:
    """ASGI middleware that answers 403 to a change of an assistant of the server.

    The server makes these itself, one a graph: every client runs them, so none changes them. A client with other
    settings makes an assistant of its own (`POST /assistants`).
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        is_outside = scope["type"] == "http" and scope.get("root_path") != IN_PROCESS
        if is_outside and _changed(scope["method"], scope["path"]) in _of_server():
            await refuse(scope, send, 403, REFUSED)
        else:
            await self._app(scope, receive, send)


def _changed(method: str, path: str) -> str:
    """Return the assistant that a request changes; empty for any other request."""
    parts = [unquote(part) for part in path.split("/") if part]
    is_change = method in ("PATCH", "DELETE") or (method == "POST" and parts[2:] == ["latest"])
    return parts[1].lower() if is_change and parts[:1] == ["assistants"] and len(parts) > 1 else ""


def _of_server() -> set[str]:
    """Return the ids and names of the server's assistants: its environment has the graphs of `langgraph.json`."""
    graphs = json.loads(os.environ.get("LANGSERVE_GRAPHS") or "{}")
    return {name.lower() for name in graphs} | {str(uuid5(NAMESPACE, name)) for name in graphs}


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
        guarded = AssistantCheck(super().build_middleware_stack())
        answered = CORSMiddleware(
            # Inside of this, because a browser asks with a preflight that has no token.
            TokenCheck(guarded, access, open_paths=OPEN_PATHS),
            allow_origins=[str(origin) for origin in access.origins],
            allow_methods=["*"],
            allow_headers=["*"],
            allow_private_network=True,
            expose_headers=EXPOSED,
        )
        return AccessCheck(answered, access)


# One for all routes, so that each document is read once; made when a route first needs it.
_opened = cache(Services)


def _resources(thread: str) -> Services:
    return _opened()


app = GuardedApp(
    routes=[
        *schema_routes(),
        *wire_routes(_resources),
        *undo_routes(_resources),
        *recipe_routes(_resources),
        *page_routes(),
    ]
)
