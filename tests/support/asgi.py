"""Requests to an app in this process, over no socket."""

import asyncio
from typing import Any

from httpx2 import ASGITransport, AsyncClient, Response

HERE = "http://127.0.0.1:2024"


def requested(app: Any, method: str, path: str, *, at: str = HERE, root: str = "", **given: Any) -> Response:
    """The answer of an app to one request on a connection that ends at an address and a port."""

    async def run() -> Response:
        async with AsyncClient(transport=ASGITransport(app, root_path=root), base_url=at) as client:
            return await client.request(method, path, **given)

    return asyncio.run(run())
