"""A thread without a model, such as a call of an MCP client: finished after a kill, decided, and reported.

`restgpt call`: draft, check, approve and send one call without a model, by the same code as the agent's calls.
"""

import base64
import json
import sys
from collections.abc import Callable, Mapping
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from restgpt.commands.completion import argument_names, operation_names
from restgpt.commands.curl import curl_line
from restgpt.commands.documents import operation_document
from restgpt.commands.pairs import given_arguments
from restgpt.commands.review import Verdict
from restgpt.commands.terminal import (
    Apis,
    Exit,
    MoreSettings,
    Terminal,
    Traced,
    UsageError,
    Writes,
    command,
    settings_of,
)
from restgpt.outcome import Called, Pending
from restgpt.tools.text.quotation import JsonText, visible_json
from restgpt.trace import size_text

if TYPE_CHECKING:
    from restgpt.calling.call import Call
    from restgpt.client import Client
    from restgpt.graph.persistence import Persistence
    from restgpt.nodes.run.services import Services
    from restgpt.threads import ThreadRecord
    from restgpt.tools.response.content import Body
    from restgpt.tools.settings import Settings

DECODED_MOST = 1_000_000
"""How many characters of JSON are decoded, to be printed with indentation; a longer text is printed as it is."""

REDIRECTED = (
    "The API redirects this request, which is not followed. Correct the path in the document, or give the right "
    "address with --base-url."
)


def resources_of(record: "ThreadRecord", settings: "Settings", persistence: "Persistence") -> "Services":
    """Return the APIs and settings of a thread; raises `UsageError`, `SpecError`."""
    from restgpt.nodes.run.services import Context, Services
    from restgpt.tools.settings.settings import checked_settings

    if record.sources.is_empty:
        raise UsageError(
            f"The specs of the APIs of thread {record.thread} were given as texts, so they cannot be loaded here. "
            "Go on with it in the program that began it."
        )
    context = checked_settings(Context, record.context)
    return Services(record.sources.load(settings), defaults=context, settings=settings, store=persistence.store)


def client_of(record: "ThreadRecord", settings: "Settings", persistence: "Persistence") -> "Client":
    """Return a client over the APIs of a thread, for its calls without a model; raises as `resources_of`."""
    from restgpt.client import Client

    return Client(services=resources_of(record, settings, persistence), **persistence.saved)


def decided(client: "Client", standing: Any, answers: Callable[[Pending], dict[str, Any] | None]) -> Any:
    """Decide question after question by `answers`, until none is left or it returns None; return what stands then."""
    while isinstance(standing, Pending) and (given := answers(standing)) is not None:
        standing = client.resume(standing.thread, given)
    return standing


def answering(client: "Client", terminal: Terminal, verdict: Verdict | None) -> Callable[[Pending], Any]:
    """Return what answers questions: options the first one only, not a later one, such as about a changed target."""
    from restgpt.commands.agent_run import decide_here

    verdicts, find = iter([verdict] if verdict else []), client.operation

    def answers(pending: Pending) -> dict[str, Any] | None:
        given = next(verdicts, None)
        return given.answers([pending], find) if given else decide_here(terminal, [pending], find)

    return answers


def resume(
    terminal: Terminal, record: "ThreadRecord", settings: "Settings", persistence: "Persistence", verdict: Verdict
) -> NoReturn:
    """Finish a thread that this process has locked and that a client without a model began, decide what waits, and end.

    Raises `UsageError` if nothing can be resumed.
    """
    client, thread = client_of(record, settings, persistence), record.thread
    is_decided = verdict.is_given
    # An answer comes first: going on with the thread would send what it may reject.
    standing = client.question(thread) if is_decided else client.outcome(thread)
    if is_decided and not isinstance(standing, Pending):
        raise UsageError(f"No request waits for a decision in thread {thread}.")
    report(terminal, decided(client, standing, answering(client, terminal, verdict if is_decided else None)))


def report(
    terminal: Terminal, standing: Any, *, request: Mapping[str, Any] | None = None, output: Path | None = None
) -> NoReturn:
    """Print the state of a thread or of a call without one, and end the command.

    `request` is the request as it is shown, and `output` the file for the body of the response.
    """
    from restgpt.commands.agent_run import waiting_text

    about: dict[str, Any] = {"thread": standing.thread} if standing.thread else {}
    about |= {"request": request} if request else {}
    if isinstance(standing, Pending):
        pending = {"pending": [standing.to_dict()], "outcome_unknown": not standing.allows("edit")}
        terminal.document({**about, "status": "paused", **pending})
        terminal.say(waiting_text(standing.thread, [standing], is_seen=terminal.is_interactive))
        raise typer.Exit(Exit.PAUSED)
    if isinstance(standing, Called):
        _report_call(terminal, standing, about, output)
    terminal.document({**about, "status": standing.end, "answer": standing.text})
    terminal.answer(standing.text)
    raise typer.Exit(Exit.DONE if standing.ok else Exit.UNFULFILLED)


def _report_call(terminal: Terminal, called: Called, about: dict[str, Any], output: Path | None) -> NoReturn:

    if called.state != "sent":
        why = {} if called.state == "held" else {"error" if called.state == "failed" else "reason": called.note}
        terminal.document({**about, "status": called.state, **why})
        if called.state == "held":
            terminal.answer(_request_text(about["request"]) if "request" in about else called.note)
            raise typer.Exit(Exit.DONE)
        terminal.say(_unsent(called))
        raise typer.Exit(Exit.UNFULFILLED if called.rejection is None else Exit.REJECTED)
    response, body = called.record["response"], called.body
    value = None if body is None else _shown_body(body, is_cut=response["truncated"])
    line = called.request or {"method": called.operation, "url": ""}
    terminal.note(
        f"{line['method']} {line['url']} → {called.status_code}, {response['elapsed_ms']} ms, "
        f"{size_text(response['size'])}"
    )
    for notice in (*called.notices, *filter(None, [called.note])):
        terminal.say(notice)
    if output is not None:
        if called.status_code == 202 and (body is None or not body.size):
            raise UsageError(
                "The API answered 202: the result is not made yet, and nothing was written. Call again later."
            )
        _write(output, b"" if body is None else body.raw)
    shown = {name: response[name] for name in ("status", "headers", "media_type", "size", "truncated", "elapsed_ms")}
    shown |= {"outcome_unknown": called.record.get("outcome_unknown", False), "body": value}
    terminal.document({**about, "status": "done" if called.ok else "failed", "response": shown})
    if output is None and not terminal.as_json:
        _print_body(terminal, body, value)
    if called.thread and called.record.get("can_undo"):
        terminal.note(f"Undo it with: restgpt undo {called.thread}")
    if 300 <= (called.status_code or 0) < 400 and not called.ok and called.status_code != 304:
        terminal.say(REDIRECTED)
    raise typer.Exit(Exit.DONE if called.ok else Exit.UNFULFILLED)


def _unsent(called: Called) -> str:
    """Return what became of a call to which no response came."""
    if called.rejection is not None:
        return f"Rejected. Nothing was sent. {called.rejection}".strip()
    return f"{'No response came' if called.state == 'failed' else 'Nothing was sent'}: {called.note}"


def _write(path: Path, body: bytes) -> None:
    try:
        path.write_bytes(body)
    except OSError as error:
        raise UsageError(f"--output {path} cannot be written: {error.strerror}. Give another file.") from None


def _print_body(terminal: Terminal, body: "Body | None", value: Any) -> None:
    """Print a text body; write a binary body to stdout unless stdout is a terminal."""
    if body is None or value is None:
        return
    if not body.is_binary:
        terminal.answer(value if isinstance(value, str) else visible_json(value))
    elif sys.stdout.isatty():
        terminal.say(f"The body is {body.media_type or 'binary'}. Save it with --output PATH.")
    else:
        sys.stdout.buffer.write(body.raw)


def _shown_body(body: "Body", *, is_cut: bool) -> Any:
    """Return a body as a JSON value: decoded JSON, text, or Base64 as `{"@bytes": …}`; None if it is empty."""
    if body.is_binary:
        return {"@bytes": base64.b64encode(body.raw).decode("ascii")}
    return _strict_json(body.text()) if body.is_json and not is_cut else body.text() or None


def _strict_json(text: str) -> Any:
    """Decode JSON, but for a large text, which is checked only.

    Returns the text itself if it is not JSON, too deep, or has numbers that JSON cannot write (NaN).
    """
    import msgspec

    from restgpt.specs.reading.json_text import is_too_deep

    if is_too_deep(text):
        return text
    try:
        if len(text) > DECODED_MOST:
            msgspec.json.decode(text, type=msgspec.Raw)
            return JsonText(text)
        value = json.loads(text)
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return text
    return value


def _request_text(shown: Mapping[str, Any]) -> str:
    """Format a redacted request: the request line, the headers, the body."""
    lines = [f"{shown['method']} {shown['url']}"]
    lines += [f"{name}: {value}" for name, value in (shown.get("headers") or {}).items()]
    body = shown.get("body")
    if body not in (None, ""):
        lines += ["", body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, indent=2)]
    return "\n".join(lines)


@command
def call(
    terminal: Traced,
    apis: Apis,
    operation: Annotated[
        str,
        typer.Argument(
            help="Name, operationId or `METHOD /path` of the operation. Without it, the operations are listed.",
            metavar="[OPERATION]",
            autocompletion=operation_names,
        ),
    ] = "",
    pairs: Annotated[
        list[str] | None,
        typer.Argument(
            help="Arguments: name=text, name:=JSON, Header:text, name@FILE; the document knows their places, and "
            "query.name=text names one.",
            metavar="[NAME=VALUE]...",
            autocompletion=argument_names,
        ),
    ] = None,
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
    curl: Annotated[
        bool,
        typer.Option("--curl", help="Print the request as curl, with credentials as variables; do not send it."),
    ] = False,
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
    wait: Annotated[
        bool, typer.Option("--wait", help="If that begins a job, ask for its state until it is over, and print that.")
    ] = False,
    more: MoreSettings = None,
) -> None:
    """Build, check and send one request, and print the response body. `restgpt undo` reverses a change."""
    from restgpt.client import Client
    from restgpt.nodes.run.services import Context, Services
    from restgpt.tools.request.files import FilePolicy
    from restgpt.tools.request.view import view
    from restgpt.tools.settings import Settings
    from restgpt.tools.settings.settings import checked_settings

    settings = Settings.from_env()
    context = checked_settings(Context, settings_of(more, writes=writes))
    services = Services(apis().or_all(settings).load(settings), defaults=context, settings=settings)
    client = Client(services=services)
    if not operation:
        terminal.document({"operations": list(map(operation_document, client.catalogue))})
        terminal.answer("\n".join(map(client.catalogue.line, client.catalogue)))
        return
    policy = FilePolicy(roots=(Path.cwd(), *(files or ())))
    made = client.draft(operation, given_arguments(client.operation(operation), pairs, arguments), files=policy)
    if curl:
        line = curl_line(made, services.http.credentials, client.session().redactor(made.operation.api))
        terminal.document({"curl": line})
        terminal.answer(line)
        return
    if output is not None:
        _check_output(output)
    shown = view(made.request, client.session().redactor(made.operation.api))
    # A plain read leaves nothing in the database, and what a person permitted does not matter to it.
    done = Called(made.over("held").to_json()) if dry_run else client.read(made) if made.effect.is_read else None
    verdict = Verdict(approve=True, only_reads=only_reads) if approve or only_reads else None
    standing = done or _kept(terminal, services, made, verdict)
    if wait and isinstance(standing, Called):
        standing = client.wait(standing, say=terminal.note)
    report(terminal, standing, request=shown, output=output)


def _kept(terminal: Terminal, services: "Services", made: "Call", verdict: Verdict | None) -> "Called | Pending":
    """Make a call that may need a person, in the database: the thread of a change has an id of what it sends.

    So the same command finds an earlier try whose outcome is unknown, and asks about it; `verdict` does not.
    """
    from restgpt.client import Client
    from restgpt.graph.persistence import open_persistence

    with open_persistence(services.settings) as persistence:
        services.store = persistence.store
        client = Client(services=services, **persistence.saved)
        if done := client.read(made):
            return done
        base = f"call-{client.identity(made.operation, made.arguments)[:12]}"
        names = chain([base], (f"{base}-{number}" for number in count(2)))
        # A thread whose call was made keeps that alone, so that it can be undone alone.
        thread = next(name for name in names if not (known := client.threads.find(name)) or known.status != "done")
        with persistence.lock(thread):
            if known and known.status == "paused":
                terminal.say(f"The same call waits in thread {thread} already. It is asked about once, not made twice.")
            standing: Any = client.carry_out(made, thread=thread)
            verdict = verdict if isinstance(standing, Pending) and standing.allows("edit") else None
            found: Called | Pending = decided(client, standing, answering(client, terminal, verdict))
            return found


def _check_output(path: Path) -> None:
    """Raise `UsageError` if the output file cannot be written, before a change is sent and its response lost."""
    if path.is_dir() or not path.parent.is_dir():
        raise UsageError(
            f"--output {path} cannot be written: it is a folder, or its folder does not exist. Give another file."
        )
