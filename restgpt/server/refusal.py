"""The answer to a refused request, over HTTP or a WebSocket: a status, and one sentence that names the remedy."""

import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]
Header = tuple[bytes, bytes]


async def refuse(scope: Scope, send: Send, status: int, sentence: str, headers: Iterable[Header] = ()) -> None:
    """Answer a request, or the opening of a WebSocket, with a status and a sentence in JSON."""
    prefix = "http"
    if scope["type"] == "websocket":
        if "websocket.http.response" not in (scope.get("extensions") or {}):
            # Before it is accepted, the server answers a closed WebSocket with 403 (ASGI, "Close").
            await send({"type": "websocket.close", "code": 1008, "reason": ""})
            return
        prefix = "websocket.http"
    body = json.dumps({"detail": sentence}).encode()
    told = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *headers]
    await send({"type": f"{prefix}.response.start", "status": status, "headers": told})
    await send({"type": f"{prefix}.response.body", "body": body})
