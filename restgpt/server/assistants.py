"""The assistants that a LangGraph server makes itself, one a graph: every client runs them, so none changes them.

A client with other settings makes an assistant of its own (`POST /assistants`).
"""

import json
import os
from urllib.parse import unquote
from uuid import UUID, uuid5

from restgpt.server.access import IN_PROCESS
from restgpt.server.refusal import ASGIApp, Receive, Scope, Send, refuse

NAMESPACE = UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")
"""The namespace in which LangGraph's server makes the ids of its assistants from the names of graphs (RFC 9562)."""

REFUSED = (
    "The assistants that the server makes are the same for all clients, so no client changes or deletes them. Make an "
    "assistant of your own with POST /assistants, or give `context` with a run."
)


class AssistantCheck:
    """ASGI middleware that answers 403 to a change of an assistant of the server."""

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
