"""The exchange of the token in the address of a page for a cookie, which scripts and pages of other sites cannot use.

The JSON schema of an operation's arguments by place, from which the page makes the form of an edit.

The form only helps to write: whether an edit fits is decided where it is sent, as for every other client.

The newest run of a thread as a recipe, for the page: it is made and returned, and written nowhere.

What an undo of a thread would do, for the page: each change, and the request that would reverse it.

The app that `langgraph.json` names under `http.app`: LangGraph's server puts its own routes into it.

Whatever is added, the check of access stays in front of it: of LangGraph's routes, of answers to unknown paths and to
preflights. Middleware in `user_middleware` would not be enough, because a server may
put its own before it, or apply it to some of the routes only (`middleware_order`).
"""

import hmac
import json
import os
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any
from urllib.parse import unquote
from uuid import UUID, uuid5

from langgraph.store.base import BaseStore
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from restgpt.calling.journal import Journal
from restgpt.calling.undo import reversals
from restgpt.nodes.run.services import Services
from restgpt.nodes.saved_run import save_run
from restgpt.recipes.book import recipe_text
from restgpt.recipes.recipe import NAME
from restgpt.server.access import IN_PROCESS, AccessCheck, Receive, Scope, Send, TokenCheck, cookie_name, refuse
from restgpt.server.page_routes import Values
from restgpt.specs import Operation, SpecError, UnknownOperationError
from restgpt.specs.docs.function_arguments import arguments_schema
from restgpt.tools.errors import RestgptError
from restgpt.tools.http.authority import web_origin_of
from restgpt.tools.settings import Secret, ServerAccess

TOKEN_PATH = "/debug/token"
BYTES_MOST = 300
"""The most bytes of a request; a longer one is not read as JSON, so that nobody can nest it deeply."""


def exchange_route(token: Secret, once: Secret, *, refusal: str) -> Route:
    """Return the route `POST /debug/token`, which sets the cookie for the token, and for `once` the first time."""
    valid = [token.reveal().encode(), once.reveal().encode()]
    lock = Lock()

    async def serve(request: Request) -> Response:
        raw = await request.body()
        try:
            body = json.loads(raw) if len(raw) <= BYTES_MOST else None
        except ValueError:
            body = None
        given = str(body.get("token", "")) if isinstance(body, dict) else ""
        with lock:
            # In constant time, so that the time of an answer tells nothing about it.
            found = [item for item in valid if hmac.compare_digest(given.encode(errors="replace"), item)]
            if found and found[0] != valid[0]:
                valid.remove(found[0])
        if not found:
            return JSONResponse({"detail": refusal}, 403)
        answer = Response(status_code=204, headers={"Cache-Control": "no-store"})
        answer.set_cookie(cookie_name(request.scope), token.reveal(), httponly=True, samesite="strict")
        return answer

    return Route(TOKEN_PATH, serve, methods=["POST"], include_in_schema=False)


SCHEMA_PATH = "/debug/schema"


def schema_routes(lookup: Callable[[str], Operation | None]) -> list[Route]:
    """Return the route `GET /debug/schema?operation=NAME`; `lookup` finds one."""

    # Not a coroutine, because it may read a document: Starlette runs it in a thread.
    def serve(request: Request) -> Response:
        name = request.query_params.get("operation", "")
        try:
            operation = lookup(name)
            if operation is None:
                return JSONResponse({"detail": "No configured API has this operation."}, 404)
            return JSONResponse(arguments_schema(operation), headers={"Cache-Control": "no-store"})
        except (RestgptError, SpecError) as error:
            return JSONResponse({"detail": str(error)}, 404)

    return [Route(SCHEMA_PATH, serve, include_in_schema=False)]


RECIPE_PATH = "/debug/recipe"
WRONG_NAME = "Use 1 to 64 lower-case letters, digits and hyphens for the name of a recipe."


def recipe_routes(services: Callable[[str], Services], values_of: Values, store: BaseStore) -> list[Route]:
    """Return the route `GET /debug/recipe?thread=ID&name=NAME`."""

    def serve(request: Request) -> Response:
        thread, name = request.query_params.get("thread", ""), request.query_params.get("name", "")
        if not NAME.fullmatch(name):
            return JSONResponse({"detail": WRONG_NAME}, 400)
        try:
            made = _made(values_of(thread), services(thread), name, store, thread)
        except (RestgptError, SpecError, UnknownOperationError) as error:
            return JSONResponse({"detail": str(error)}, 404)
        return JSONResponse(made, headers={"Cache-Control": "no-store"})

    return [Route(RECIPE_PATH, serve, include_in_schema=False)]


def _made(values: Mapping[str, Any], services: Services, name: str, bodies: BaseStore, thread: str) -> dict[str, Any]:
    recipe = save_run(values, services, name=name, store=bodies, thread=thread)
    return {"recipe": recipe.to_json(), "text": recipe_text(recipe), "examples": recipe.examples}


UNDO_PATH = "/debug/undo"


def undo_routes(
    services: Callable[[str], Services], values_of: Values, store: BaseStore, undone_in: Callable[[str], str]
) -> list[Route]:
    """Return the route `GET /debug/undo?thread=ID`; the changes of a thread are undone in the thread `undone_in`."""

    def serve(request: Request) -> Response:
        thread = request.query_params.get("thread", "")
        try:
            values_of(thread)
            changes = _preview(Journal(store, thread), services(thread))
        except (RestgptError, SpecError) as error:
            return JSONResponse({"detail": str(error)}, 404)
        shown = {"thread": undone_in(thread), "changes": changes}
        return JSONResponse(shown, headers={"Cache-Control": "no-store"})

    return [Route(UNDO_PATH, serve, include_in_schema=False)]


def _preview(journal: Journal, services: Services) -> list[dict[str, Any]]:
    """Return the changes that were made and not undone, newest first, with their reversals or why there is none."""
    catalogue = services.catalogue(())
    redactor = services.redactor()
    return [
        {
            "change": found.shown,
            "reversal": None if found.draft is None else found.draft.request.shown(redactor),
            "caution": "" if found.draft is None else found.draft.description,
            "reason": found.reason,
        }
        for found in reversals(journal, catalogue)
    ]


NAMESPACE = UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")
"""The namespace in which LangGraph's server makes the ids of its assistants from the names of graphs (RFC 9562)."""

REFUSED = (
    "The assistants that the server makes are the same for all clients, so no client changes or deletes them. Make an "
    "assistant of your own with POST /assistants, or give `context` with a run."
)


CLOSED = (
    "The store of this server holds what RestGPT keeps for all its clients: permissions, the journal of changes, and "
    "the responses of APIs. So no client reads or writes it."
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
