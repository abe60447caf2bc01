"""`restgpt ui`: serve the page over the threads of the command line on this machine, until Ctrl-C."""

from importlib.util import find_spec
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


@command
def ui(
    terminal: Silent,
    apis: Apis,
    models: Models = None,
    writes: Writes = None,
    more: MoreSettings = None,
    port: Annotated[
        int,
        typer.Option(
            help="The port on 127.0.0.1; 0 takes a free one.", min=0, max=65535, metavar="PORT", show_default=True
        ),
    ] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Open the page over the threads of this command line: chat, approvals, timeline, wire, undo.

    The APIs and settings are those of new threads; a thread that was begun before keeps its own. Ctrl-C ends the page.
    """
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise UsageError(f"The packages of the page are not installed. Install them: {extra_command('ui')}")
    from restgpt.commands.terminal import say_address_of_dotenv
    from restgpt.nodes.run.services import Context
    from restgpt.server.page_routes import FOLDER, INDEX
    from restgpt.tools.settings import Settings
    from restgpt.tools.settings.settings import checked_settings

    context = settings_of(more, models=models, writes=writes)
    checked_settings(Context, context)
    if not (FOLDER / INDEX).is_file():
        raise UsageError(
            "The page is not built. Run `make page` in the folder of RestGPT's sources, and if it is installed "
            "elsewhere, install it from that folder again."
        )
    settings = Settings.from_env()
    sources = apis()
    # Errors in them are told now, not at the first instruction.
    sources.load(settings)
    say_address_of_dotenv(terminal)
    _serve(terminal, settings, sources, context, port=port, opens=not no_browser)


def _serve(
    terminal: Terminal, settings: "Settings", sources: "Sources", context: dict[str, Any], *, port: int, opens: bool
) -> None:
    import secrets

    from restgpt.commands.serving import listen
    from restgpt.commands.ui.page_runs import Runs
    from restgpt.commands.ui.page_threads import PageThreads
    from restgpt.commands.ui.web import make_app, serve
    from restgpt.graph.persistence import open_persistence
    from restgpt.server.page_routes import HOST, PATH, findable
    from restgpt.tools.settings import Secret

    once, token = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    with open_persistence(settings) as kept, listen(HOST, port) as listening:
        runs = Runs()
        threads = PageThreads(kept, settings, sources=sources, context=context, terminal=terminal, runs=runs)
        app = make_app(threads, runs, kept, once=Secret(once), token=Secret(token))
        # In the fragment, which a browser sends to nobody, so that no log has it.
        taken = listening.getsockname()[1]
        address = f"http://{HOST}:{taken}{PATH}#/once/{once}"
        with findable(settings.home, taken):
            terminal.say(f"The page is at {address}\nThe address works once. Ctrl-C ends the page.")
            serve(app, listening, runs, terminal, opened=address if opens else "")
