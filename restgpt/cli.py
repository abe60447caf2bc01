"""The command line: registers all commands, and reports every unexpected error in one place."""

import gc
import json
import logging
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from restgpt.commands.api import api
from restgpt.commands.ask import ask
from restgpt.commands.call import call
from restgpt.commands.demo import demo
from restgpt.commands.failure import Exit
from restgpt.commands.history.resume import resume
from restgpt.commands.history.threads import threads
from restgpt.commands.history.undo import undo
from restgpt.commands.login import login
from restgpt.commands.recipes.app import recipe
from restgpt.commands.serving.mcp import mcp
from restgpt.commands.serving.studio import studio
from restgpt.commands.serving.world import world
from restgpt.commands.ui.app import ui
from restgpt.tools.errors import SettingsError, name_and_place
from restgpt.tools.exits import RedactingFormatter

log = logging.getLogger("restgpt.cli")

COLLECTED_AT = (50_000, 20, 100)
"""The thresholds of the garbage collector: with Python's own, a command spends a fifth of its start on collections."""


class _Commands(TyperGroup):
    """The group of all commands; with `--json`, it prints a usage error as a JSON document too."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command that the user typed."""
        as_json = "--json" in ctx.args
        try:
            return super().invoke(ctx)
        except Exception as error:
            # Usage errors share no class across the versions of Typer, but all have the method `format_message`.
            if as_json and (message := getattr(error, "format_message", None)):
                typer.echo(json.dumps({"status": "failed", "error": message()}, indent=2))
            raise


app = typer.Typer(
    name="restgpt",
    cls=_Commands,
    help="An agent for any REST API that has an OpenAPI document.",
    epilog="Exit codes: 0 done, 1 the request could not be fulfilled, 2 usage or configuration, 3 paused for approval.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from restgpt import __version__

        typer.echo(f"restgpt {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Write log records to stderr, from level INFO.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Write all log records to stderr, with tracebacks.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    logger = logging.getLogger("restgpt")
    logger.setLevel(logging.DEBUG if debug else logging.INFO if verbose else logging.WARNING)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(RedactingFormatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    logger.handlers = [handler]
    # If parallel reads fail together, LangGraph's thread pool logs a callback error that is not the cause; hide it.
    logging.getLogger("concurrent.futures").setLevel(logging.CRITICAL)
    # Here, because `restgpt --help` has nothing to export, and the settings take half of its time to import.
    from restgpt.tools.tracing.export import export_traces

    export_traces()


app.command()(ask)
app.command()(resume)
app.command()(threads)
app.command()(undo)
app.add_typer(api)
app.command()(call)
app.add_typer(recipe)
app.command()(mcp)
app.add_typer(world)
app.command()(ui)
app.command()(studio)
app.command()(login)
app.command()(demo)

for name in ("function", "bench"):
    # These commands use packages that an installation may leave out.
    if find_spec(f"restgpt.commands.{name}") is not None:
        command = getattr(import_module(f"restgpt.commands.{name}"), name)
        if isinstance(command, typer.Typer):
            app.add_typer(command)
        else:
            app.command()(command)


def main() -> None:
    """Run the command line, and end the process with an exit code of `Exit`."""
    gc.set_threshold(*COLLECTED_AT)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        _read_dotenv(Path(".env"))
        app()
    except SettingsError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(Exit.USAGE)
    except OSError as error:
        log.debug("The operating system refused a file operation", exc_info=error)
        sys.stderr.write(_refused(error))
        sys.exit(Exit.UNFULFILLED)
    except Exception as error:
        # Commands report all expected errors, so this one is a bug. The traceback is printed with --debug only.
        log.debug("Unexpected error", exc_info=error)
        sys.stderr.write(_bug(error))
        sys.exit(1)


def _read_dotenv(path: Path) -> None:
    """Set the variables of `.env` in the working directory that the environment does not set."""
    if path.is_file():
        from restgpt.tools.settings.dotenv import load_dotenv

        load_dotenv(path)


def _refused(error: OSError) -> str:
    """Return the message about a file that the operating system refused to open, read or write."""
    name = f" {error.filename!r}" if isinstance(error.filename, str) else ""
    return f"The operating system refused to read or write{name}: {error.strerror or type(error).__name__}.\n"


def _bug(error: Exception) -> str:
    """Return the message about an unexpected error, without the error's text, which may hold a secret."""
    return (
        f"restgpt failed with an unexpected error: {name_and_place(error)}. This is a bug in restgpt.\n"
        "Finished steps of a run are saved in its thread: list the threads with restgpt threads. For a traceback, "
        "run restgpt --debug COMMAND.\n"
    )
