"""The files of the local page at `/debug`, which `make page` builds; without them, one sentence that says so.

A page of `restgpt ui` also holds the lock of a file in its home, by which another process of the home finds it. The
name of the file has the port, and nothing has the token: the browser that opened the page keeps it.
"""

import gzip
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from restgpt.tools.file_lock import file_lock

HOST = "127.0.0.1"
"""Where `restgpt ui` serves the page."""
PATH = "/debug"
FOLDER = Path(__file__).with_name("page")
"""A link to `page/dist` in the sources, a folder in the wheel."""
INDEX = "index.html"
MEDIA_TYPES = {
    INDEX: "text/html; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""The files of the page, and no others, with their media types."""
OPEN_PATHS = (PATH, *(f"{PATH}/{name}" for name in MEDIA_TYPES if name != INDEX))
"""The paths of the files, which hold nothing of the user's."""
NOT_BUILT = (
    "The page is not built: run `make page` in the folder of RestGPT's sources, and load this address again. LangGraph "
    "Studio and the SDK work without it.\n"
)
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
        if not path.is_file():
            return PlainTextResponse(NOT_BUILT, 503, HEADERS)
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
