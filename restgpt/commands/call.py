"""`restgpt call`: draft, check, approve and send one call without a model, by the same code as the agent's calls."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from restgpt.commands.failure import UsageError, reported
from restgpt.commands.options import ApiNames, AsJson, BaseUrl, MoreSettings, Quiet, Specs, Writes, settings_of
from restgpt.commands.screen.review import Verdict, json_arguments
from restgpt.commands.screen.terminal import Terminal
from restgpt.outcome import Pending

if TYPE_CHECKING:
    from restgpt.calling.call import Call
    from restgpt.nodes.run.services import Services
    from restgpt.outcome import Called


def call(
    operation: Annotated[
        str, typer.Argument(help="Name, operationId or `METHOD /path` of the operation.", metavar="OPERATION")
    ],
    names: ApiNames = None,
    specs: Specs = None,
    base_url: BaseUrl = None,
    arguments: Annotated[
        str,
        typer.Option(
            "--args",
            help='Arguments by place, as JSON: {"path": {…}, "query": {…}, "header": {…}, "cookie": {…}, "body": …}. '
            "They may also be named as those of the operation's function. "
            'A file is {"@file": "PATH"}. `-` reads the JSON from stdin, `@PATH` from a file.',
            metavar="JSON",
        ),
    ] = "{}",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the request; do not send it.")] = False,
    writes: Writes = None,
    approve: Annotated[bool, typer.Option("--approve", help="Approve the request, if it needs approval.")] = False,
    only_reads: Annotated[
        bool,
        typer.Option(
            "--only-reads",
            help="Approve a request that seems only to read, and do not ask about its operation again.",
        ),
    ] = False,
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "--files",
            help="Another folder whose files may be sent, besides the working directory. May be repeated.",
            metavar="FOLDER",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", help="Write the response body to a file, text as UTF-8.", metavar="PATH")
    ] = None,
    more: MoreSettings = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Build, check and send one request, and print the response body. `restgpt undo` reverses a change."""
    terminal = Terminal(as_json=as_json, quiet=quiet)
    with reported(terminal):
        from restgpt.client import Client
        from restgpt.commands.history.client_thread import report
        from restgpt.nodes.run.context import Context
        from restgpt.nodes.run.services import Services
        from restgpt.outcome import Called
        from restgpt.sources import Sources
        from restgpt.tools.request.files import FilePolicy
        from restgpt.tools.request.view import view
        from restgpt.tools.settings import Settings
        from restgpt.tools.settings.run_settings import checked_settings

        settings = Settings.from_env()
        context = checked_settings(Context, settings_of(more, writes=writes))
        services: Services = Services(
            Sources.given(names, specs, base_url).or_all(settings).load(settings), defaults=context, settings=settings
        )
        client = Client(services=services)
        policy = FilePolicy(roots=(Path.cwd(), *(files or ())))
        made = client.draft(operation, arguments_of(arguments), files=policy)
        if output is not None:
            _check_output(output)
        shown = view(made.request, client.session().redactor(made.operation.api))
        # A plain read leaves nothing in the database, and what a person permitted does not matter to it.
        done = Called(made.over("held").to_json()) if dry_run else client.read(made) if made.effect.is_read else None
        verdict = Verdict(approve=True, only_reads=only_reads) if approve or only_reads else None
        report(terminal, done or _kept(terminal, services, made, verdict), request=shown, output=output)


def _kept(terminal: Terminal, services: "Services", made: "Call", verdict: Verdict | None) -> "Called | Pending":
    """Make a call that may need a person, in the database: the thread of a change has an id of what it sends.

    So the same command finds an earlier try whose outcome is unknown, and asks about it; `verdict` does not.
    """
    from restgpt.client import Client
    from restgpt.commands.history.client_thread import answering, decided
    from restgpt.graph.persistence import open_persistence

    with open_persistence(services.settings) as persistence:
        services.store = persistence.store
        client = Client(services=services, **persistence.saved)
        if done := client.read(made):
            return done
        thread = f"call-{client.identity(made.operation, made.arguments)[:12]}"
        with persistence.lock(thread):
            standing: Any = client.carry_out(made, thread=thread)
            can_edit = isinstance(standing, Pending) and standing.allows("edit")
            found: Called | Pending = decided(client, standing, answering(terminal, verdict if can_edit else None))
            return found


def arguments_of(text: str, option: str = "--args") -> dict[str, Any]:
    """Read a JSON object of an option, or of the file or stdin that it names; raises `UsageError`."""
    if text == "-":
        text = sys.stdin.read()
    elif text.startswith("@"):
        text = _read(Path(text[1:]))
    value = json_arguments(text, f"{option} is")
    if not isinstance(value, dict):
        raise UsageError(f'{option} is not a JSON object, such as {{"path": {{…}}, "query": {{…}}, "body": …}}.')
    return value


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(
            f"The file {path} of --args cannot be read: {why}. Give a UTF-8 text file that you may read."
        ) from None


def _check_output(path: Path) -> None:
    """Raise `UsageError` if the output file cannot be written, before a change is sent and its response lost."""
    if path.is_dir() or not path.parent.is_dir():
        raise UsageError(
            f"--output {path} cannot be written: it is a folder, or its folder does not exist. Give another file."
        )
