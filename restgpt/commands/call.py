"""`restgpt call`: build, and send, one request without a model."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from restgpt.commands.failure import Exit, UsageError, reported
from restgpt.commands.options import ApiNames, AsJson, BaseUrl, Quiet, Specs
from restgpt.commands.terminal import Terminal
from restgpt.trace import size_text

if TYPE_CHECKING:
    from restgpt.specs import Operation
    from restgpt.tools.http.client import HttpClient, Reply
    from restgpt.tools.request.build import PreparedRequest

Writes = Literal["ask", "allow", "deny", "dry-run"]


def call(
    operation: Annotated[str, typer.Argument(help="Name, operationId or `METHOD /path`.", metavar="OPERATION")],
    names: ApiNames = None,
    specs: Specs = None,
    base_url: BaseUrl = None,
    arguments: Annotated[
        str,
        typer.Option(
            "--args",
            help='Arguments by place, as JSON: {"path": {…}, "query": {…}, "header": {…}, "cookie": {…}, "body": …}. '
            'A file is {"@file": "PATH"}. `-` reads them from standard input, `@PATH` from a file.',
            metavar="JSON",
        ),
    ] = "{}",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the request; send nothing.")] = False,
    writes: Annotated[Writes, typer.Option(help="What happens to a request that changes something.")] = "ask",
    approve: Annotated[bool, typer.Option("--approve", help="Send it although it has to be approved.")] = False,
    files: Annotated[
        list[Path] | None,
        typer.Option("--files", help="Folder whose files may be sent, besides this one.", metavar="FOLDER"),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", help="Write the body to a file, byte by byte.", metavar="PATH")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Build, check and send one request; the body of the answer goes to stdout."""
    terminal = Terminal(as_json=as_json, quiet=quiet)
    with reported(terminal):
        from restgpt.calling.policy import verdict
        from restgpt.commands.sources import Sources, find_operation
        from restgpt.tools.http.client import HttpClient
        from restgpt.tools.request.build import build_request
        from restgpt.tools.request.files import FilePolicy
        from restgpt.tools.settings import Settings

        settings = Settings.from_env()
        found = find_operation(operation, Sources.given(names, specs, base_url).or_all(settings).load(settings))
        given = _arguments(arguments)
        request = build_request(found, given, files=FilePolicy(roots=(Path.cwd(), *(files or ()))))
        if output is not None:
            _check_output(output)
        client = HttpClient(settings=settings)
        shown = request.shown(client.redactor(found.api))
        said = "hold" if dry_run else verdict(found, writes=writes, settings=settings)
        if said == "allow" or (said == "ask" and (approve or _is_approved(terminal, shown))):
            _exchange(terminal, client, request, found, shown, output)
        else:
            _not_sent(terminal, shown, said)


def _arguments(text: str) -> dict[str, Any]:
    if text == "-":
        text = sys.stdin.read()
    elif text.startswith("@"):
        text = _read(Path(text[1:]))
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(f'--args is not JSON ({error}). Write it like \'{{"path": {{"id": 1}}}}\'.') from None
    if not isinstance(value, dict):
        raise UsageError('--args is an object of places: {"path": {…}, "query": {…}, "body": …}.')
    return value


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"--args names the file {path}, which cannot be read: {why}.") from None


def _is_approved(terminal: Terminal, shown: dict[str, Any]) -> bool:
    if not terminal.is_interactive:
        return False
    terminal.say(request_text(shown))
    return terminal.ask("Send it? [y/N] ").lower() in ("y", "yes")


def _not_sent(terminal: Terminal, shown: dict[str, Any], verdict: str) -> None:
    """Say why nothing was sent: exit 0 for a dry run, 1 for a refusal, 3 if a person has yet to approve."""
    terminal.document({"status": {"hold": "held", "deny": "rejected"}.get(verdict, "paused"), "request": shown})
    terminal.answer(request_text(shown))
    if verdict == "hold":
        return
    if verdict == "deny":
        terminal.say("Not sent: --writes, apis.yaml or the document forbids it.")
        raise typer.Exit(Exit.UNFULFILLED)
    terminal.say("Not sent: it has to be approved. Send it with --approve.")
    raise typer.Exit(Exit.PAUSED)


def _exchange(
    terminal: Terminal,
    client: "HttpClient",
    request: "PreparedRequest",
    operation: "Operation",
    shown: dict[str, Any],
    output: Path | None,
) -> None:
    reply = client.send(request, operation)
    terminal.note(
        f"{shown['method']} {shown['url']} → {reply.status} {reply.reason}, {reply.elapsed_ms} ms, "
        f"{size_text(len(reply.body))}" + (" (cut)" if reply.truncated else "")
    )
    if output is not None:
        _write(output, reply.body)
    status = "done" if reply.status < 400 else "failed"
    terminal.document({"status": status, "request": shown, "response": _reply_document(reply)})
    if output is None and not terminal.as_json:
        _print_body(terminal, reply)
    if reply.status >= 400:
        raise typer.Exit(Exit.UNFULFILLED)


def _check_output(path: Path) -> None:
    """Refuse a file that cannot be written, before a change is sent whose answer would be lost."""
    if path.is_dir() or not path.parent.is_dir():
        raise UsageError(f"--output {path} cannot be written: it is a folder, or is in a folder that does not exist.")


def _write(path: Path, body: bytes) -> None:
    try:
        path.write_bytes(body)
    except OSError as error:
        raise UsageError(f"--output {path} cannot be written: {error.strerror}") from None


def _print_body(terminal: Terminal, reply: "Reply") -> None:
    """Print text for people; bytes as they are only where a program reads them."""
    value = _body(reply)
    if isinstance(value, str):
        terminal.answer(value)
    elif isinstance(value, dict) and "@bytes" in value:
        if sys.stdout.isatty():
            terminal.say(f"The body is {reply.media_type or 'binary'}; keep it with --output PATH.")
        else:
            sys.stdout.buffer.write(reply.body)
    elif value is not None:
        terminal.answer(json.dumps(value, ensure_ascii=False, indent=2))


def _reply_document(reply: "Reply") -> dict[str, Any]:
    return {
        "status": reply.status,
        "reason": reply.reason,
        "headers": dict(reply.headers),
        "media_type": reply.media_type,
        "size": len(reply.body),
        "truncated": reply.truncated,
        "elapsed_ms": reply.elapsed_ms,
        "attempts": reply.attempts,
        "body": _body(reply),
    }


def _body(reply: "Reply") -> Any:
    """The body as JSON: its value, its text, or its Base64 as `{"@bytes": …}`."""
    if not reply.body:
        return None
    try:
        text = reply.body.decode()
    except UnicodeDecodeError:
        import base64

        return {"@bytes": base64.b64encode(reply.body).decode("ascii")}
    if "json" in reply.media_type:
        return _strict_json(text)
    return text


def _strict_json(text: str) -> Any:
    """The value of JSON text; the text itself where it is not JSON, or holds numbers that JSON cannot write."""
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)
    except ValueError:
        return text
    return value


def request_text(shown: dict[str, Any]) -> str:
    """A redacted request as people read one: the line, the headers, the body."""
    lines = [f"{shown['method']} {shown['url']}"]
    lines += [f"{name}: {value}" for name, value in (shown.get("headers") or {}).items()]
    body = shown.get("body")
    if body not in (None, ""):
        lines += ["", body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, indent=2)]
    return "\n".join(lines)
