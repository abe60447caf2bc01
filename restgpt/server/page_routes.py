"""The files of the local page at `/debug`, which `make page` builds.

A page of `restgpt ui` also holds the lock of a file in its home, by which another process of the home finds it. The
name of the file has the port, and nothing has the token: the browser that opened the page keeps it.

What went over the wire in a thread, for the page: each request and answer with secrets hidden, bodies in pieces.

The requests of changes are those of the journal. Others are built again from their arguments, which the state keeps.
"""

import gzip
import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, cast
from urllib.parse import quote

from langgraph.store.base import BaseStore
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from restgpt.calling.call import sent_arguments
from restgpt.calling.journal import Journal, entry_id
from restgpt.calling.record import CallRecord
from restgpt.nodes.run.services import Services
from restgpt.specs import SpecError, UnknownOperationError
from restgpt.tools.errors import RestgptError
from restgpt.tools.file_lock import file_lock
from restgpt.tools.request.body import essence, kind_of
from restgpt.tools.request.prepared_request import PreparedRequest, settle
from restgpt.tools.response.content import Body, Kind
from restgpt.tools.response.page import Page, read_page
from restgpt.tools.response.store import BodyCache, ResponseStore
from restgpt.tools.text.redaction import Redactor

HOST = "127.0.0.1"
"""Where `restgpt ui` serves the page."""
PATH = "/debug"
FOLDER = Path(__file__).with_name("page")
INDEX = "index.html"
MEDIA_TYPES = {
    INDEX: "text/html; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "licenses.txt": "text/plain; charset=utf-8",
}
"""The files of the page, and no others, with their media types."""
OPEN_PATHS = (PATH, *(f"{PATH}/{name}" for name in MEDIA_TYPES if name != INDEX))
"""The paths of the files, which hold nothing of the user's."""
LOOKED_AT_S = 5.0
"""How long a page waits for a process that looks at its lock, in seconds."""
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
"""The content security policy: nothing of another origin, no script and no style in the document, no HTML from text."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
    "Vary": "Accept-Encoding",
}


@contextmanager
def findable(home: Path, port: int) -> Iterator[None]:
    """Let other processes of a home find the page that is served on a port, as long as the block runs."""
    folder = home / "locks"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # No other process can serve on the port: one that looks whether the lock is held may have it for a moment.
    with file_lock(folder / f"page-{port}.lock", BlockingIOError(port), seconds=LOOKED_AT_S, is_kept=False):
        yield


def page_of(home: Path, thread: str) -> str:
    """Return the address of a thread in a page that is served in a home; empty without one."""
    for path in (home / "locks").glob("page-*.lock"):
        try:
            with file_lock(path, BlockingIOError(), is_kept=False):
                # The process of this page was killed.
                continue
        except BlockingIOError:
            port = path.stem.removeprefix("page-")
            if not (port.isascii() and port.isdecimal()):
                continue
            return f"http://{HOST}:{port}{PATH}#/thread/{quote(thread, safe='')}"
    return ""


class _File(NamedTuple):
    content: bytes
    compressed: bytes
    etag: str


def page_routes(folder: Path = FOLDER) -> list[Route]:
    """Return the routes of the page, whose files are in `folder`."""

    # Not a coroutine, because it reads files: Starlette runs it in a thread.
    def serve(request: Request) -> Response:
        name = request.path_params.get("name", INDEX)
        if name not in MEDIA_TYPES:
            return PlainTextResponse("The page has no such file.\n", 404, HEADERS)
        path = folder / name
        file = _read(path, path.stat().st_mtime_ns)
        headers = {**HEADERS, "ETag": file.etag, "Content-Type": MEDIA_TYPES[name]}
        if request.headers.get("if-none-match") == file.etag:
            return Response(status_code=304, headers=headers)
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(file.content, headers=headers)
        return Response(file.compressed, headers={**headers, "Content-Encoding": "gzip"})

    return [Route(PATH, serve, include_in_schema=False), Route(f"{PATH}/{{name}}", serve, include_in_schema=False)]


@lru_cache(maxsize=2 * len(MEDIA_TYPES))
def _read(path: Path, modified: int) -> _File:
    """Read a file; `modified` has it read again after a new build."""
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    return _File(content, gzip.compress(content, mtime=0), f'"{digest[:32]}"')


Values = Callable[[str], Mapping[str, Any]]

WIRE_PATH = "/debug/wire"
BODY_PATH = f"{WIRE_PATH}/body"
SHOWN = ("id", "operation", "safe", "status", "note", "description", "pages", "place", "api")
"""The keys of a call that are shown as they are, with secrets hidden."""


class UnreadableThreadError(RestgptError):
    """There is no such thread, or its state cannot be read."""


class UnknownCallError(RestgptError):
    """The thread has no such call, or the call has no such body."""


def wire_routes(services: Callable[[str], Services], values_of: Values, store: BaseStore) -> list[Route]:
    """Return the routes `GET /debug/wire?thread=ID`, and `GET /debug/wire/body` for a piece of a body.

    `services` gives those of a thread, `values_of` its state; it raises `UnreadableThreadError`.
    """
    # Who reads one piece of a body reads the next.
    hidden = BodyCache()

    def answer(thread: str, handle: str) -> Body:
        key = f"{thread} {handle}"
        body = hidden.get(key)
        if body is None:
            body = _hidden(ResponseStore(store).open(handle), services(thread))
            hidden.put(key, body)
        return body

    # No coroutines, because they read the database: Starlette runs them in threads.
    def serve(request: Request) -> Response:
        thread = request.query_params.get("thread", "")
        try:
            values = values_of(thread)
            changes = {entry["id"]: entry for entry in Journal(store, thread).entries()}
            calls = _shown_calls(values, changes, services(thread))
            # Looks at the targets of changes count, too, and so does what was tried again.
            sent = (values.get("usage") or {}).get("requests", 0)
        except (RestgptError, SpecError) as error:
            return JSONResponse({"detail": str(error)}, 404)
        return JSONResponse({"calls": calls, "requests": sent}, headers={"Cache-Control": "no-store"})

    def serve_body(request: Request) -> Response:
        given = request.query_params
        thread = given.get("thread", "")
        try:
            call = _call(values_of(thread), given.get("call", ""))
            is_request = given.get("side") == "request"
            body = _request_body(call, services(thread)) if is_request else answer(thread, _handle(call))
            page = _piece(body, given.get("pointer", ""), given.get("page", "1"))
        except (RestgptError, SpecError, UnknownOperationError) as error:
            return JSONResponse({"detail": str(error)}, 404)
        return JSONResponse(_shown_page(page), headers={"Cache-Control": "no-store"})

    return [
        Route(WIRE_PATH, serve, include_in_schema=False),
        Route(BODY_PATH, serve_body, include_in_schema=False),
    ]


def _calls(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the newest record of each call of a thread, with turn and task, in the order of planning."""
    found: dict[str, dict[str, Any]] = {}
    for step in values.get("steps") or ():
        found |= {record["id"]: {**record, "turn": step["turn"], "task": step["task"]} for record in step["requests"]}
    for record in values.get("requests") or ():
        place = found.get(record["id"], values)
        found[record["id"]] = {**record, "turn": place.get("turn"), "task": place.get("task")}
    return list(found.values())


def _shown_calls(
    values: Mapping[str, Any], changes: Mapping[str, Mapping[str, Any]], services: Services
) -> list[dict[str, Any]]:
    # It reads the documents, whose secrets the redactor knows only then.
    services.catalogue(())
    redactor = services.redactor()
    return [
        _shown_call(call, changes.get(entry_id(call["id"], call["fingerprint"])), services, redactor)
        for call in _calls(values)
    ]


def _shown_call(
    call: Mapping[str, Any], change: Mapping[str, Any] | None, services: Services, redactor: Redactor
) -> dict[str, Any]:
    shown = {name: redactor.json(call[name], by_name=name != "api") for name in SHOWN if name in call}
    response = call.get("response") or {}
    return {
        **shown,
        "turn": call["turn"],
        "task": call["task"],
        "arguments": redactor.json(call["arguments"], by_name=True),
        "provenance": call.get("provenance", []),
        "request": change["request"] if change else _built(call, services, redactor),
        "isNoted": change is not None,
        "response": redactor.json(response) | {"headers": redactor.headers(response.get("headers") or {})},
    }


def _built(call: Mapping[str, Any], services: Services, redactor: Redactor) -> dict[str, Any] | None:
    try:
        return _prepared(call, services).shown(redactor)
    except (RestgptError, SpecError, UnknownOperationError):
        # The document or the arguments are such that there is no request.
        return None


def _prepared(call: Mapping[str, Any], services: Services) -> PreparedRequest:
    operation = services.catalogue(()).operation(call["operation"])
    return settle(operation, sent_arguments(cast(CallRecord, call)), insisted=call.get("insisted", ())).request


def _call(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = next((call for call in _calls(values) if call["id"] == name), None)
    if found is None:
        raise UnknownCallError("The thread has no such call.")
    return found


def _handle(call: Mapping[str, Any]) -> str:
    handle = (call.get("response") or {}).get("handle")
    if not handle:
        raise UnknownCallError("The call has no response.")
    return str(handle)


def _request_body(call: Mapping[str, Any], services: Services) -> Body:
    prepared = _prepared(call, services)
    if prepared.body is None:
        raise UnknownCallError("The request has no body.")
    declared = next((value for name, value in prepared.headers.items() if name.lower() == "content-type"), "")
    kind: Kind = "json" if kind_of(declared) == "json" else "text"
    try:
        prepared.body.decode()
    except UnicodeDecodeError:
        kind = "binary"
    return _hidden(Body(prepared.body, essence(declared), kind), services)


def _hidden(body: Body, services: Services) -> Body:
    """The body with secrets hidden: all of it, because a secret may lie across two pieces."""
    services.catalogue(())
    return Body(services.redactor().data(body.raw), body.media_type, body.kind)


def _piece(body: Body, pointer: str, page: str) -> Page:
    number = int(page) if page.isdecimal() and page.isascii() and len(page) < 10 else 1
    return read_page(body, pointer, number)


def _shown_page(page: Page) -> dict[str, Any]:
    return {
        "pointer": page.pointer,
        "page": page.number,
        "pages": page.count,
        "kind": page.kind,
        "content": page.content,
        "start": page.start,
        "stop": page.stop,
        "total": page.total,
        "isCut": page.is_cut,
    }
