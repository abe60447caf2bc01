"""The web server of `restgpt ui`: the first Ctrl-C stops runs and server, the second ends the process at once."""

import os
import signal
import webbrowser
from socket import socket
from threading import Thread
from types import FrameType

import uvicorn
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp

from restgpt.commands.failure import Exit
from restgpt.commands.screen.terminal import Terminal
from restgpt.commands.ui.runs import Runs

GRACE_S = 1
"""How long a stopping server waits for its connections, in seconds."""


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
