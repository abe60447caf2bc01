"""`restgpt ui`: serve the page over the threads of the command line on this machine, until Ctrl-C."""

from contextlib import suppress
from importlib.util import find_spec
from socket import socket
from threading import Event, Thread
from typing import TYPE_CHECKING, Annotated, Any

import typer

from restgpt.commands.terminal import (
    Apis,
    Models,
    MoreSettings,
    Silent,
    Terminal,
    UsageError,
    Writes,
    command,
    settings_of,
)
from restgpt.tools.errors import extra_command

if TYPE_CHECKING:
    from restgpt.sources import Sources
    from restgpt.tools.settings import Settings

PORT, PORTS = 8780, 20
"""The port of the page, and how many from there on are tried."""


@command
def ui(
    terminal: Silent,
    apis: Apis,
    models: Models = None,
    writes: Writes = None,
    more: MoreSettings = None,
    port: Annotated[
        int | None,
        typer.Option(
            help=f"The port on 127.0.0.1: without it {PORT}, or the next free one; 0 takes any.",
            min=0,
            max=65535,
            metavar="PORT",
        ),
    ] = None,
    opens: Annotated[bool, typer.Option("--open", help="Open the browser.")] = False,
) -> None:
    """Open the page over the threads of this command line: chat, approvals, timeline, wire, undo.

    The APIs and settings are those of new threads; a thread that was begun before keeps its own. Ctrl-C ends the page.
    """
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise UsageError(f"The packages of the page are not installed. Install them: {extra_command('ui')}")
    from restgpt.commands.terminal import say_address_of_dotenv
    from restgpt.nodes.run.services import Context
    from restgpt.tools.settings import Settings
    from restgpt.tools.settings.settings import checked_settings

    context = settings_of(more, models=models, writes=writes)
    checked_settings(Context, context)
    settings = Settings.from_env()
    sources = apis()
    # Errors in them are told now, not at the first instruction.
    sources.load(settings)
    say_address_of_dotenv(terminal)
    _serve(terminal, settings, sources, context, port=port, opens=opens)


def _serve(
    terminal: Terminal,
    settings: "Settings",
    sources: "Sources",
    context: dict[str, Any],
    *,
    port: int | None,
    opens: bool,
) -> None:
    import secrets

    from restgpt.commands.ui.page_runs import Runs
    from restgpt.commands.ui.page_threads import PageThreads
    from restgpt.commands.ui.web import make_app, serve
    from restgpt.graph.persistence import open_persistence
    from restgpt.server.page_routes import HOST, PATH, findable
    from restgpt.tools.settings import Secret

    token, once = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    with open_persistence(settings) as kept, listen_near(HOST, port) as listening:
        runs = Runs()
        threads = PageThreads(kept, settings, sources=sources, context=context, terminal=terminal, runs=runs)
        over = Event()
        Thread(target=threads.resume_due, args=(over,), daemon=True).start()
        app = make_app(threads, runs, kept, token=Secret(token), once=Secret(once))
        # The token is in the fragment, which a browser sends to nobody, so that no log has it.
        taken = listening.getsockname()[1]
        address = f"http://{HOST}:{taken}{PATH}#/token/"
        with findable(settings.home, taken):
            terminal.say(f"The page is at {address}{token}\nThe address works until Ctrl-C ends the page.")
            # Other users can list the arguments of a browser, so its address works once.
            try:
                serve(app, listening, runs, terminal, opened=f"{address}{once}" if opens else "")
            finally:
                over.set()


def listen_near(host: str, port: int | None, first: int = PORT) -> socket:
    """Return a socket that listens on a port, or without one on the first that is free from `first` on, or any."""
    from restgpt.commands.serving import listen

    for tried in range(first, first + PORTS) if port is None else ():
        with suppress(UsageError):
            return listen(host, tried)
    return listen(host, port or 0)
