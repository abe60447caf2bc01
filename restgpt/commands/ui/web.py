"""The web server of `restgpt ui`: the part of the Agent Protocol that the page uses, and the door before it.

The first Ctrl-C stops runs and server, the second ends the process at once.
"""

import os
import signal
import webbrowser
from collections.abc import AsyncIterator, Callable, Mapping
from socket import socket
from threading import Thread
from types import FrameType
from typing import Annotated, Any, TypeVar

import uvicorn
from pydantic import BaseModel, Field, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from restgpt.calling.permissions import Permissions
from restgpt.commands.terminal import Exit, Terminal, UsageError, expected_errors, explain, refuse_bytes
from restgpt.commands.ui.page_runs import Run, Runs, text_of
from restgpt.commands.ui.page_threads import AGENT, MOST_LISTED, PageThreads
from restgpt.graph.persistence import Persistence, ThreadBusyError, undo_thread
from restgpt.server.access import AccessCheck, TokenCheck
from restgpt.server.app import exchange_route, recipe_routes, schema_routes, undo_routes
from restgpt.server.page_routes import OPEN_PATHS, page_routes, wire_routes
from restgpt.specs.reading.json_text import is_too_deep
from restgpt.tools.errors import OutdatedDecisionError
from restgpt.tools.settings import Secret, ServerAccess
from restgpt.tools.settings.settings import problems_of
from restgpt.tools.text.storable import storable_value

RECIPES = ("restgpt", "page", "recipes")
"""The namespace of the store that the page may use."""
MOST_RECIPES = 100
REFUSED = "Open the whole address that `restgpt ui` printed in this browser, or start the command again for a new one."
CONFLICTS = (ThreadBusyError, OutdatedDecisionError)

GRACE_S = 1
"""How long a stopping server waits for its connections, in seconds."""

Limit = Annotated[int, Field(ge=0, le=10_000)]


class Body(BaseModel):
    """The body of a request of which nothing is read; fields that a route does not know are left alone."""


class About(Body):
    """What a thread is of."""

    graph_id: str = AGENT
    name: str = ""


class Search(Body):
    """Which threads to list."""

    metadata: About | None = None
    status: str | None = None
    limit: Limit = MOST_LISTED


class Make(Body):
    """A thread to make."""

    metadata: About | None = None
    thread_id: str | None = None


class Edit(Body):
    """Values of a state, as if a node had written them after a checkpoint."""

    values: dict[str, Any]
    as_node: str | None = None
    checkpoint_id: str | None = None


class Checkpoint(Body):
    """Where a history begins."""

    configurable: dict[str, Any] = Field(default_factory=dict)


class History(Body):
    """Which states of a thread to list."""

    limit: Limit = 10
    before: Checkpoint | None = None


class Resume(Body):
    """The answers to the questions of a thread, by the ids of its interrupts."""

    resume: Any = None


class Wish(Body):
    """Settings of a run that a person chose where they asked."""

    model: str = ""
    writes: str = ""
    apis: tuple[str, ...] = ()


class Begin(Body):
    """A run to begin: a new turn, answers, or nothing but to go on."""

    input: dict[str, Any] | None = None
    command: Resume | None = None
    checkpoint_id: str | None = None
    context: Wish | None = None


class Item(Body):
    """An item for the store."""

    namespace: tuple[str, ...]
    key: str
    value: dict[str, Any]


Given = TypeVar("Given", bound=Body)


def make_app(threads: PageThreads, runs: Runs, kept: Persistence, *, token: Secret, once: Secret) -> ASGIApp:
    """Return the app: to this machine only, and to who has the token, which `once` gives a browser once."""
    access = ServerAccess(token=token)
    inside = Starlette(
        routes=[
            *schema_routes(threads.lookup),
            *wire_routes(threads.services, threads.values, kept.store),
            *undo_routes(threads.services, threads.values, kept.store, undo_thread),
            *recipe_routes(threads.services, threads.values, kept.store),
            *page_routes(),
            *protocol_routes(threads, runs),
            *recipe_store_routes(kept),
            *permission_routes(Permissions(kept.store)),
        ]
    )
    guarded = TokenCheck(inside, access, open_paths=OPEN_PATHS, refusal=REFUSED)
    outside = Starlette(routes=[exchange_route(token, once, refusal=REFUSED), Mount("/", guarded)])
    return AccessCheck(outside, access)


def protocol_routes(threads: PageThreads, runs: Runs) -> list[Route]:
    """Return the routes about threads and runs; paths, bodies and answers are those of LangGraph's server."""

    def search(path: Mapping[str, str], body: Search) -> Any:
        return threads.search((body.metadata or About()).graph_id, body.limit, is_waiting=body.status == "interrupted")

    def make(path: Mapping[str, str], body: Make) -> Any:
        about = body.metadata or About()
        return threads.make(about.graph_id, about.name, body.thread_id)

    def delete(path: Mapping[str, str], body: Body) -> Any:
        threads.delete(path["thread"])

    def rename(path: Mapping[str, str], body: Make) -> Any:
        return threads.rename(path["thread"], (body.metadata or About()).name)

    def edit(path: Mapping[str, str], body: Edit) -> Any:
        return threads.edit(path["thread"], body.values, node=body.as_node, checkpoint=body.checkpoint_id or "")

    def history(path: Mapping[str, str], body: History) -> Any:
        before = (body.before or Checkpoint()).configurable.get("checkpoint_id", "")
        return threads.history(path["thread"], limit=body.limit, before=str(before))

    def begin(path: Mapping[str, str], body: Begin) -> Any:
        answers, checkpoint = (body.command or Resume()).resume, body.checkpoint_id or ""
        wish = (body.context or Wish()).model_dump()
        work = threads.begin(path["thread"], body.input or {}, answers=answers, checkpoint=checkpoint, wish=wish)
        return runs.start(path["thread"], work).to_json()

    def cancel(path: Mapping[str, str], body: Body) -> Any:
        run = runs.get(path["thread"], path["run"])
        run.cancellation.cancel()
        run.ended.wait()

    async def join(request: Request) -> Response:
        try:
            run = runs.get(request.path_params["thread"], request.path_params["run"])
        except UsageError as error:
            return _refused(error)
        after = request.headers.get("last-event-id", "-1")
        told = _server_sent(run, int(after) if after.isdecimal() else -1)
        return StreamingResponse(told, media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    # The undo of the thread `garden` is the thread `garden/undo`.
    thread = "/threads/{thread:path}"
    return [
        _route("/threads/search", search, "POST", Search),
        _route("/threads", make, "POST", Make),
        _route(f"{thread}/state", lambda path, body: threads.state(path["thread"])),
        _route(f"{thread}/state", edit, "POST", Edit),
        _route(f"{thread}/history", history, "POST", History),
        _route(f"{thread}/runs", lambda path, body: [run.to_json() for run in runs.of(path["thread"])]),
        _route(f"{thread}/runs", begin, "POST", Begin),
        _route(f"{thread}/runs/{{run}}", lambda path, body: runs.get(path["thread"], path["run"]).to_json()),
        _route(f"{thread}/runs/{{run}}/cancel", cancel, "POST"),
        Route(f"{thread}/runs/{{run}}/stream", join),
        _route(thread, lambda path, body: threads.get(path["thread"])),
        _route(thread, delete, "DELETE"),
        _route(thread, rename, "PATCH", Make),
        _route("/settings", lambda path, body: threads.choices()),
        _route("/assistants/{graph}/graph", lambda path, body: threads.picture(path["graph"])),
    ]


def recipe_store_routes(kept: Persistence) -> list[Route]:
    """Return the routes by which the page keeps its recipes in the store, and nothing else."""

    def search(path: Mapping[str, str], body: Body) -> Any:
        return {
            "items": [{"key": item.key, "value": item.value} for item in kept.store.search(RECIPES, limit=MOST_RECIPES)]
        }

    def put(path: Mapping[str, str], body: Item) -> Any:
        if body.namespace != RECIPES:
            raise UsageError("Only the recipes of the page can be written.")
        refuse_bytes(body.key)
        kept.store.put(RECIPES, body.key, storable_value(body.value), index=False)

    return [_route("/store/items/search", search, "POST"), _route("/store/items", put, "PUT", Item)]


def permission_routes(permissions: Permissions) -> list[Route]:
    """Return the routes by which the page lists what a person permitted, and takes it back."""

    def listed(path: Mapping[str, str], body: Body) -> Any:
        return [{"key": item.key, "text": str(item)} for item in permissions.listed()]

    def revoke(path: Mapping[str, str], body: Body) -> Any:
        for item in permissions.listed():
            if item.key == path["key"]:
                permissions.revoke(item)

    return [_route("/permissions", listed), _route("/permissions/{key}", revoke, "DELETE")]


def _route(
    path: str,
    answer: Callable[[Mapping[str, str], Given], Any],
    method: str = "GET",
    form: type[Given] = Body,  # type: ignore[assignment]
) -> Route:
    """Return a route that answers in a thread, with JSON, and with a sentence where a command would print one."""

    async def serve(request: Request) -> Response:
        raw = await request.body()
        try:
            if is_too_deep(raw):
                raise UsageError("The body is no JSON object.")
            body = form.model_validate_json(raw or b"{}")
            found = await run_in_threadpool(answer, request.path_params, body)
        except ValidationError as error:
            return _refused(UsageError(_fault(error)))
        except expected_errors() as error:
            return _refused(error)
        return Response(text_of(found), media_type="application/json", headers={"Cache-Control": "no-store"})

    return Route(path, serve, methods=[method])


def _fault(error: ValidationError) -> str:
    """Say where a body is wrong, without the value."""
    has_place = bool(error.errors()[0]["loc"])
    return f"The body is wrong at {problems_of(error)}." if has_place else "The body is no JSON object."


def _refused(error: BaseException) -> Response:
    status = 409 if isinstance(error, CONFLICTS) else 422
    return Response(text_of({"detail": explain(error)[0]}), status, media_type="application/json")


async def _server_sent(run: Run, after: int) -> AsyncIterator[str]:
    """Write the events of a run as a stream of server-sent events (HTML standard, section 9.2)."""
    async for number, event, data in run.follow(after):
        yield f"id: {number}\nevent: {event}\ndata: {data}\n\n"


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, runs: Runs, terminal: Terminal, opened: str) -> None:
        super().__init__(config)
        self._runs = runs
        self._terminal = terminal
        self._opened = opened

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Accept connections, and then open the page."""
        await super().startup(sockets)
        if self._opened:
            # In a thread of its own, because it may wait for the browser to end.
            Thread(target=webbrowser.open, args=(self._opened,), daemon=True).start()

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Stop the runs, whose streams end with them, and then the server."""
        await run_in_threadpool(self._runs.stop)
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle Ctrl-C; both are safe at any time, because checkpoints and the write journal are on disk."""
        if self.should_exit and sig == signal.SIGINT:
            self._terminal.say("\nEnded.")
            os._exit(Exit.INTERRUPTED)
        # Before it is told, so that no run that hears of it goes on to its next step.
        if self._runs.cancel():
            self._terminal.say("\nStopping after the running model call or request. Press Ctrl-C again to end at once.")
        # Not as uvicorn does it, which raises the signal again in the end.
        self.should_exit = True


def serve(app: ASGIApp, listening: socket, runs: Runs, terminal: Terminal, *, opened: str) -> None:
    """Serve an app on a socket until SIGINT or SIGTERM; `opened` is the address that a browser opens, if any."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=GRACE_S,
        server_header=False,
        lifespan="off",
    )
    _Server(config, runs, terminal, opened).run(sockets=[listening])
