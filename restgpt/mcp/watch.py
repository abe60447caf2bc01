"""The watch over one request: its client hears that it goes on, and it ends when the client is gone."""

from typing import Any

import anyio
import anyio.from_thread
from mcp.server.context import ServerRequestContext

from restgpt.tools.http.cancellation import Cancellation

Context = ServerRequestContext[Any, Any]

BEAT_S = 1.0
"""How often a client that asked for progress hears that its request goes on, in seconds."""

LOOK_S = 0.5
"""How often it is looked whether the client of a request is still there, in seconds."""


async def cancel_without_client(context: Context, cancellation: Cancellation) -> None:
    """Cancel the work of a request over HTTP once its client is gone: nobody reads the result."""
    request = context.request
    while request is not None and not cancellation.is_cancelled:
        await anyio.sleep(LOOK_S)
        if await request.is_disconnected():
            cancellation.cancel()


class RequestWatch:
    """Reports to the client that a request goes on, if it asked for progress, until the client takes no answer.

    It reports each step of a run, and each second of whatever takes longer: a client gives up what it hears nothing of.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._reports = 0
        self._last = "working"
        self.is_over = False
        self.cancellation = Cancellation()

    def step(self, name: str) -> None:
        """Report one more step; called in the thread of the run."""
        self._last = name
        if not self.cancellation.is_cancelled:
            anyio.from_thread.run(self._report)

    async def beat(self) -> None:
        """Report every second; ends with its group."""
        while not self.cancellation.is_cancelled:
            await anyio.sleep(BEAT_S)
            await self._report()

    async def _report(self) -> None:
        self._reports += 1
        await self._context.session.report_progress(float(self._reports), message=self._last)
