"""The exchange of a token that is in the printed address of a page for the token of its server, which works once.

The address may stay in the history of a browser or in a list of processes, so what is in it is of no use afterwards.
"""

import hmac
import json
from threading import Lock

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from restgpt.tools.settings import Secret

PATH = "/debug/token"
BYTES_MOST = 300
"""The most bytes of a request; a longer one is not read as JSON, so that nobody can nest it deeply."""


def exchange_route(once: Secret, token: Secret, *, refusal: str) -> Route:
    """Return the route `POST /debug/token`, which answers the first request with `once` by the token."""
    left = [once.reveal().encode()]
    lock = Lock()

    async def serve(request: Request) -> Response:
        raw = await request.body()
        try:
            body = json.loads(raw) if len(raw) <= BYTES_MOST else None
        except ValueError:
            body = None
        given = str(body.get("once", "")) if isinstance(body, dict) else ""
        with lock:
            # In constant time, so that the time of an answer tells nothing about it.
            is_right = bool(left) and hmac.compare_digest(given.encode(errors="replace"), left[0])
            if is_right:
                left.clear()
        if not is_right:
            return JSONResponse({"detail": refusal}, 403)
        return JSONResponse({"token": token.reveal()}, headers={"Cache-Control": "no-store"})

    return Route(PATH, serve, methods=["POST"], include_in_schema=False)
