"""`restgpt call`: draft, check, approve and send one call without a model, by the same code as the agent's calls."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from restgpt.commands.failure import Exit, UsageError, reported
from restgpt.commands.options import ApiNames, AsJson, BaseUrl, MoreSettings, Quiet, Specs, Writes, settings_of
from restgpt.commands.screen.review import Decision, confirmation, json_arguments
from restgpt.commands.screen.terminal import Terminal
from restgpt.tools.text.quotation import JsonText, visible_json
from restgpt.trace import size_text

if TYPE_CHECKING:
    from restgpt.calling.call import Call
    from restgpt.calls import SingleCall
    from restgpt.tools.response.reply import Reply

DECODED_MOST = 1_000_000
"""How many characters of JSON are decoded, to be printed with indentation; a longer text is printed as it is."""

REDIRECTED = (
    "The API redirects this request, which is not followed. Correct the path in the document, or give the right "
    "address with --base-url."
)


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
    again: Annotated[
        bool | None,
        typer.Option(
            "--again/--no-again",
            help="If an earlier try of the same change was interrupted before its response: send it again, or not.",
            show_default=False,
        ),
    ] = None,
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "--files",
            help="Another folder whose files may be sent, besides the working directory. May be repeated.",
            metavar="FOLDER",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", help="Write the response body to a file, unchanged.", metavar="PATH")
    ] = None,
    more: MoreSettings = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Build, check and send one request, and print the response body. `restgpt undo` reverses a change."""
    terminal = Terminal(as_json=as_json, quiet=quiet)
    with reported(terminal):
        from restgpt.calls import SingleCall
        from restgpt.sources import Sources, find_operation
        from restgpt.tools.errors import ArgumentError
        from restgpt.tools.request.arguments import deep_arguments
        from restgpt.tools.settings import Settings

        settings = Settings.from_env()
        sources = Sources.given(names, specs, base_url).or_all(settings)
        apis = sources.load(settings)
        found = find_operation(operation, apis)
        given = _arguments(arguments)
        # Before the id of the thread, which is a hash of the arguments.
        if deep := deep_arguments(given):
            raise ArgumentError(deep, operation=found.name)
        if output is not None:
            _check_output(output)
        options = _Options(dry_run, approve, again, only_reads)
        opened: Any = {"roots": (Path.cwd(), *(files or ())), "writes": "dry-run" if dry_run else writes or "ask"}
        if more:
            opened |= _settings(settings_of(more, writes="dry-run" if dry_run else writes))
        with SingleCall.open(found, given, apis, sources, settings, **opened) as single:
            _finish(terminal, single, options, output)


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """Return what a call needs of the settings of a run; raises `SettingsError`."""
    from restgpt.nodes.run.context import Context
    from restgpt.tools.settings.run_settings import checked_settings

    context = checked_settings(Context, given)
    return {"writes": context.writes, "keep_earlier": context.undo}


@dataclass(frozen=True, slots=True)
class _Options:
    """The options about sending; `again` decides whether to repeat an earlier attempt of unknown outcome."""

    is_dry: bool
    approve: bool
    again: bool | None
    only_reads: bool


def _finish(terminal: Terminal, single: "SingleCall", options: _Options, output: Path | None) -> None:
    """Decide, send and report, until the call is over; raises `typer.Exit` unless it succeeded."""
    # An option answers the first question only, not a later one, such as about a changed target.
    unused = iter([options])

    def answer(ask: "Call") -> tuple["Call", Decision | None]:
        # The question says whether a person may confirm a read.
        asked = single.present(ask) if ask.effect.is_proposed else ask
        given = next(unused, None)
        decision = _chosen(asked, given) if given else None
        if decision is None and terminal.is_interactive:
            asked = single.present(asked)
            decision = _answered(terminal, asked)
        if decision is not None and decision["type"] == "approve" and asked.unsure:
            asked = single.renewed(asked)
        return asked, decision

    drafted = single.draft()
    tries = single.unknown["tries"] if single.unknown else 0
    done = drafted.over("held") if options.is_dry else single.make(single.session(), drafted, answer, unsure=tries)
    shown = single.view(done)
    if done.stage == "asked":
        _wait(terminal, done, shown)
    if done.stage == "held":
        terminal.document({"status": "held", "request": shown})
        terminal.answer(_request_text(shown))
    elif done.stage == "rejected":
        _refuse(terminal, shown, done.note)
    else:
        _print_reply(terminal, single, done, shown, output)


def _chosen(ask: "Call", options: _Options) -> Decision | None:
    """Return the decision of an option; None if no option decides."""
    if options.only_reads and not ask.unsure and (confirmed := confirmation(ask.question)):
        return confirmed
    said = options.again if ask.unsure else (options.approve or None)
    return None if said is None else {"type": "approve" if said else "reject"}


def _answered(terminal: Terminal, ask: "Call") -> Decision | None:
    """Return the decision of the person at the terminal; None if the person leaves it open."""
    terminal.say(str(ask.question["description"]))
    if not ask.unsure:
        confirmed = confirmation(ask.question)
        more = ", or o: it only reads, do not ask again" if confirmed else ""
        typed = terminal.ask(f"Send it? [y/N{more}] ").lower()
        return {"type": "approve"} if typed in ("y", "yes") else confirmed if typed == "o" else None
    typed = terminal.ask("Send it again? [y/n, or empty to decide later] ").lower()
    kind = {"y": "approve", "yes": "approve", "n": "reject", "no": "reject"}.get(typed)
    return {"type": kind} if kind else None


def _wait(terminal: Terminal, ask: "Call", shown: dict[str, Any]) -> NoReturn:
    """Print the request that waits for a decision and how to decide, and exit with code `PAUSED`."""
    terminal.document({"status": "paused", "request": shown, "outcome_unknown": bool(ask.unsure)})
    terminal.answer(_request_text(shown))
    if ask.unsure:
        terminal.say(
            "The request was not sent: an earlier command was interrupted while it sent the same change. The change "
            "may or may not have been made. Check this at the API, then repeat the request with --again, or drop it "
            "with --no-again."
        )
    else:
        reads = ", or with --only-reads if it only reads" if confirmation(ask.question) else ""
        terminal.say(f"The request was not sent, because it needs approval. Approve it with --approve{reads}.")
    raise typer.Exit(Exit.PAUSED)


def _refuse(terminal: Terminal, shown: dict[str, Any], reason: str) -> None:
    terminal.document({"status": "rejected", "request": shown, "reason": reason})
    terminal.answer(_request_text(shown))
    terminal.say(f"The request was not sent: {reason}")
    raise typer.Exit(Exit.UNFULFILLED)


def _print_reply(
    terminal: Terminal, single: "SingleCall", done: "Call", shown: dict[str, Any], output: Path | None
) -> None:
    """Print the response; exit with 1 for an error status or if there is no response."""
    thread = {"thread": single.record.thread} if single.record else {}
    reply = done.reply
    if reply is None:
        if single.unknown and done.stage == "failed":
            single.leave()
        terminal.document({"status": "failed", "request": shown, "error": done.note, **thread})
        terminal.say(done.note)
        raise typer.Exit(Exit.UNFULFILLED)
    terminal.note(
        f"{shown['method']} {shown['url']} → {reply.status} {reply.reason}, {reply.elapsed_ms} ms, "
        f"{size_text(len(reply.body))}" + (" (cut)" if reply.truncated else "")
    )
    if output is not None:
        _write(output, reply.body)
    status = "done" if done.succeeded else "failed"
    terminal.document({"status": status, "request": shown, "response": _reply_document(reply), **thread})
    if done.outcome_unknown:
        terminal.say(done.response["notices"][0])
    if output is None and not terminal.as_json:
        _print_body(terminal, reply)
    if single.record and done.succeeded and done.effect.kind == "change":
        terminal.note(f"Undo it with: restgpt undo {single.record.thread}")
    if not done.succeeded:
        if 300 <= reply.status < 400:
            terminal.say(REDIRECTED)
        raise typer.Exit(Exit.UNFULFILLED)


def _arguments(text: str) -> dict[str, Any]:
    if text == "-":
        text = sys.stdin.read()
    elif text.startswith("@"):
        text = _read(Path(text[1:]))
    value = json_arguments(text, "--args is")
    if not isinstance(value, dict):
        raise UsageError('--args is not a JSON object. Write an object such as {"path": {…}, "query": {…}, "body": …}.')
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


def _write(path: Path, body: bytes) -> None:
    try:
        path.write_bytes(body)
    except OSError as error:
        raise UsageError(f"--output {path} cannot be written: {error.strerror}. Give another file.") from None


def _print_body(terminal: Terminal, reply: "Reply") -> None:
    """Print a text body; write a binary body to stdout unless stdout is a terminal."""
    value = _body(reply)
    if isinstance(value, str):
        terminal.answer(value)
    elif isinstance(value, dict) and "@bytes" in value:
        if sys.stdout.isatty():
            terminal.say(f"The body is {reply.media_type or 'binary'}. Save it with --output PATH.")
        else:
            sys.stdout.buffer.write(reply.body)
    elif value is not None:
        terminal.answer(visible_json(value))


def _reply_document(reply: "Reply") -> dict[str, Any]:
    """Return the reply as a JSON document: status, headers, body."""
    return {
        "status": reply.status,
        "reason": reply.reason,
        "headers": dict(reply.headers),
        "media_type": reply.media_type,
        "size": len(reply.body),
        "truncated": reply.truncated,
        "elapsed_ms": reply.elapsed_ms,
        "attempts": reply.attempts,
        "outcome_unknown": reply.outcome_unknown,
        "body": _body(reply),
    }


def _body(reply: "Reply") -> Any:
    """Return the body as a JSON value: decoded JSON, text, or Base64 as `{"@bytes": …}`."""
    if not reply.body:
        return None
    try:
        text = reply.body.decode()
    except UnicodeDecodeError:
        import base64

        return {"@bytes": base64.b64encode(reply.body).decode("ascii")}
    if "json" in reply.media_type:
        return text if reply.truncated else _strict_json(text)
    return text


def _strict_json(text: str) -> Any:
    """Decode JSON, but for a large text, which is checked only.

    Returns the text itself if it is not JSON, too deep, or has numbers that JSON cannot write (NaN).
    """
    from restgpt.specs.reading.text.nesting import is_too_deep

    if is_too_deep(text):
        return text
    if len(text) > DECODED_MOST:
        import msgspec

        try:
            msgspec.json.decode(text, type=msgspec.Raw)
        except (msgspec.DecodeError, RecursionError):
            return text
        return JsonText(text)
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)
    except ValueError:
        return text
    return value


def _request_text(shown: dict[str, Any]) -> str:
    """Format a redacted request: the request line, the headers, the body."""
    lines = [f"{shown['method']} {shown['url']}"]
    lines += [f"{name}: {value}" for name, value in (shown.get("headers") or {}).items()]
    body = shown.get("body")
    if body not in (None, ""):
        lines += ["", body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, indent=2)]
    return "\n".join(lines)
