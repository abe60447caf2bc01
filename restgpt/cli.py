"""The command line: all commands, and the one place where an error that nobody foresaw ends."""

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
from restgpt.commands.login import login
from restgpt.commands.resume import resume
from restgpt.commands.threads import threads
from restgpt.commands.undo import undo
from restgpt.commands.world import world
from restgpt.tools.errors import SettingsError

log = logging.getLogger("restgpt.cli")


class _Commands(TyperGroup):
    """All commands; one that was mistyped fails with a document too, where one was asked for."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command that was typed."""
        as_json = "--json" in ctx.args
        try:
            return super().invoke(ctx)
        except Exception as error:
            # The parser's errors have no common class in all versions of Typer, but this method.
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
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Write the log to stderr.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Write the log in full to stderr, with tracebacks.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    logger = logging.getLogger("restgpt")
    logger.setLevel(logging.DEBUG if debug else logging.INFO if verbose else logging.WARNING)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    logger.handlers = [handler]
    # Parallel reads that fail together leave the pool of LangGraph a callback too many; the failure itself is told.
    logging.getLogger("concurrent.futures").setLevel(logging.CRITICAL)


app.command()(ask)
app.command()(resume)
app.command()(threads)
app.command()(undo)
app.add_typer(api)
app.command()(call)
app.add_typer(world)
app.command()(login)
app.command()(demo)

for room in ("function", "bench"):
    # These commands belong to rooms that an installation may leave out.
    if find_spec(f"restgpt.commands.{room}") is not None:
        command = getattr(import_module(f"restgpt.commands.{room}"), room)
        if isinstance(command, typer.Typer):
            app.add_typer(command)
        else:
            app.command()(command)


def main() -> None:
    """Run the command line; the exit code says how it went."""
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
        log.debug("The system refused", exc_info=error)
        sys.stderr.write(f"The system refused to read or write: {error.strerror or type(error).__name__}.\n")
        sys.exit(Exit.UNFULFILLED)
    except Exception as error:
        # The entry point: whatever arrives here is a bug, told without a traceback unless one is wanted.
        log.debug("Unforeseen", exc_info=error)
        sys.stderr.write(_bug(error))
        sys.exit(1)


def _read_dotenv(path: Path) -> None:
    """Let `.env` in the working directory give what the environment does not."""
    if path.is_file():
        from restgpt.tools.settings import load_dotenv

        load_dotenv(path)


def _bug(error: Exception) -> str:
    """What is said of an error that nobody foresaw; its text is left out, since it can hold anything."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    place = f" at {Path(last.tb_frame.f_code.co_filename).name}:{last.tb_lineno}" if last is not None else ""
    return (
        f"restgpt met an error that it does not foresee: {type(error).__name__}{place}. This is a bug.\n"
        "What a run has done so far is kept in its thread (restgpt threads). For the whole traceback, run the command "
        "again with --debug right after restgpt.\n"
    )
