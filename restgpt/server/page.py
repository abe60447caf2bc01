"""The files of the local page at `/debug`, which `make page` builds; without them, one sentence that says so."""

import gzip
import hashlib
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

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
