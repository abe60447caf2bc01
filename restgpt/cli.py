"""The command line: registers all commands, and reports every unexpected error in one place."""

import gc
import json
import logging
import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperGroup

from restgpt.commands.ask import ask
from restgpt.commands.documents import api
from restgpt.commands.recipe_book import recipe
from restgpt.commands.resume import resume, undo
from restgpt.commands.serving import STATE, mcp, studio
from restgpt.commands.single_call import call
from restgpt.commands.terminal import Exit, Terminal, UsageError, reported
from restgpt.commands.thread_list import threads
from restgpt.commands.trust import allow, login, memory, read_folder
from restgpt.commands.ui.command import ui
from restgpt.tools.errors import BENCH, FUNCTIONS, SettingsError, extra_command, name_and_place
from restgpt.tools.text.redaction import RedactingFormatter

log = logging.getLogger("restgpt.cli")

COLLECTED_AT = (50_000, 20, 100)
"""The thresholds of the garbage collector: with Python's own, a command spends a fifth of its start on collections."""

ENTRY_POINTS = "restgpt.commands"
"""The group of the entry points by which other distributions bring commands: Typer apps or functions."""

WITHOUT_FOLDER = ("allow", "demo", "world")
"""The commands that use neither `.env` nor `apis.yaml` of the working directory."""

BROUGHT = {**dict.fromkeys(("bench", "demo", "world"), BENCH), "function": FUNCTIONS}
"""The commands that the known distributions bring, each with its distribution."""


class _Commands(TyperGroup):
    """The group of all commands; with `--json`, it prints a usage error as a JSON document too.

    The commands of other distributions are looked up when one is called or when all are listed, not at the start.
    """

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Return the names of all installed commands."""
        return [*super().list_commands(ctx), *sorted(_brought().keys() - self.commands.keys())]

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override]
        """Return a command by its name, or None; fails for one of a known distribution that is not installed."""
        if cmd_name not in self.commands:
            if found := _brought().get(cmd_name):
                self.commands[cmd_name] = _as_command(cmd_name, found.load())
            elif distribution := BROUGHT.get(cmd_name):
                with reported(Terminal(as_json="--json" in ctx.obj)):
                    remedy = extra_command("", distribution)
                    raise UsageError(f"The command {cmd_name} is not installed. Install it: {remedy}")
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command that the user typed."""
        as_json = "--json" in ctx.args
        # What the user typed for the command, which Click takes out of the context before it calls `_options`.
        ctx.obj = tuple(ctx.args)
        try:
            return super().invoke(ctx)
        except Exception as error:
            # Usage errors share no class across the versions of Typer, but all have the method `format_message`.
            if as_json and (message := getattr(error, "format_message", None)):
                typer.echo(json.dumps({"status": "failed", "error": message()}, indent=2))
            raise


def _brought() -> dict[str, EntryPoint]:
    """Return the commands that other distributions bring."""
    return {found.name: found for found in entry_points(group=ENTRY_POINTS)}


def _as_command(name: str, loaded: Any) -> Any:
    """Make a command of what an entry point names, as `app` does of its own."""
    holder = typer.Typer(add_completion=False)
    if isinstance(loaded, typer.Typer):
        holder.add_typer(loaded, name=name)
    else:
        holder.command(name)(loaded)
    return typer.main.get_group(holder).commands[name]


app = typer.Typer(
    name="restgpt",
    cls=_Commands,
    help="An agent for any REST API that has an OpenAPI document.",
    epilog="Exit codes: 0 done, 1 the request could not be fulfilled, 2 usage or configuration, 3 paused for approval, "
    "4 rejected by a person, 130 stopped.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from restgpt import __version__

        typer.echo(f"restgpt {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    ctx: typer.Context,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Write log records to stderr, from level INFO.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Write all log records to stderr, with tracebacks.")] = False,
    env_file: Annotated[
        Path | None,
        typer.Option(help="Read variables from this file, and not from .env in this folder.", metavar="FILE"),
    ] = None,
    apis: Annotated[
        Path | None,
        typer.Option(help="Use the APIs of this file, and not of apis.yaml in this folder.", metavar="FILE"),
    ] = None,
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
    if env_file or apis or (ctx.invoked_subcommand not in WITHOUT_FOLDER and not {"-h", "--help"} & set(ctx.obj)):
        # The server that `restgpt studio` starts reads the recipes and its own state without a check.
        more = (Path("recipes"), STATE) if ctx.invoked_subcommand == "studio" else ()
        read_folder(env_file, apis, *more, as_json="--json" in ctx.obj)
    # Here, because `restgpt --help` has nothing to export, and the settings take half of its time to import.
    from restgpt.tools.tracing.telemetry import export_traces

    export_traces()


app.command()(ask)
app.command()(resume)
app.command()(threads)
app.command()(undo)
app.add_typer(api)
app.add_typer(memory)
app.command()(call)
app.add_typer(recipe)
app.command()(mcp)
app.command()(ui)
app.command()(studio)
app.command()(login)
app.command()(allow)


def main() -> None:
    """Run the command line, and end the process with an exit code of `Exit`."""
    gc.set_threshold(*COLLECTED_AT)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
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
