"""`restgpt call`: draft, decide and send one call without a model, on the road that the agent's calls go."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from uuid import uuid4

import typer

from restgpt.commands.failure import Exit, UsageError, reported
from restgpt.commands.options import ApiNames, AsJson, BaseUrl, Quiet, Specs
from restgpt.commands.reply import print_body, reply_document, request_text
from restgpt.commands.terminal import Terminal
from restgpt.trace import size_text

if TYPE_CHECKING:
    from restgpt.calling.call import Ask, Decided, Done, Draft, Ready
    from restgpt.calling.session import Session
    from restgpt.commands.sources import Sources
    from restgpt.commands.thread import ThreadRecord, Threads
    from restgpt.specs import Api, Operation
    from restgpt.tools.settings import Settings

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
    again: Annotated[
        bool | None,
        typer.Option(
            "--again/--no-again",
            help="If the same change was cut off before its answer came: send it again, or leave it at that.",
            show_default=False,
        ),
    ] = None,
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
    """Build, check and send one request; the body of the answer goes to stdout. `restgpt undo` reverses a change."""
    terminal = Terminal(as_json=as_json, quiet=quiet)
    with reported(terminal):
        from restgpt.commands.sources import Sources, find_operation
        from restgpt.tools.settings import Settings

        settings = Settings.from_env()
        sources = Sources.given(names, specs, base_url).or_all(settings)
        apis = sources.load(settings)
        found = find_operation(operation, apis)
        given = _arguments(arguments)
        if output is not None:
            _check_output(output)
        wish = _Wish(writes="dry-run" if dry_run else writes, is_dry=dry_run, approve=approve, again=again)
        with _opened(found, given, apis, sources, settings, wish) as road:
            road.roots = (Path.cwd(), *(files or ()))
            _finish(terminal, road, road.drafted(), wish, output)


@dataclass(frozen=True, slots=True)
class _Wish:
    """What the options say of sending: `again` decides about an earlier try of unknown outcome."""

    writes: Writes
    is_dry: bool
    approve: bool
    again: bool | None


@dataclass(frozen=True, slots=True)
class _Unknown:
    """An earlier try of the same change whose answer never came: its call's id, its journal entry, how many tries."""

    id: str
    entry: str
    tries: int


@dataclass(slots=True)
class _Road:
    """What one call goes along. A change has a thread of its own, named after the operation and its arguments.

    So the same command finds its own earlier try, and `restgpt undo THREAD` its change.
    """

    operation: "Operation"
    arguments: Mapping[str, Any]
    session: "Session"
    id: str = "call"
    unknown: _Unknown | None = None
    record: "ThreadRecord | None" = None
    threads: "Threads | None" = None
    roots: tuple[Path, ...] = ()

    def drafted(self) -> "Draft":
        """The draft of the call; raises `ArgumentError`."""
        from restgpt.calling.call import Problems
        from restgpt.calling.draft import draft
        from restgpt.tools.request.files import FilePolicy

        drafted = draft(
            self.operation,
            self.arguments,
            id=self.id,
            name=self.session.catalogue.name_of(self.operation),
            # Everything on a command line is the user's own word.
            is_own=True,
            description="It was typed on the command line.",
            files=FilePolicy(roots=self.roots),
        )
        if isinstance(drafted, Problems):
            raise drafted.error
        return drafted

    def sent(self, ready: "Ready") -> "Decided | Done":
        """Send the call; its thread is listed from then on, however this ends."""
        from restgpt.calling.execution import carry_out
        from restgpt.tools.errors import RestgptError

        if self.threads is None or self.record is None:
            return carry_out(self.session, ready)
        shown = self.session.shown(ready.draft.request)
        record = replace(self.record, instruction=f"call {shown['method']} {shown['url']}")
        self.threads.mark(record, "running")
        try:
            done = carry_out(self.session, ready)
        except RestgptError:
            self.threads.mark(record, "failed")
            raise
        self.threads.mark(record, _standing(done))
        return done

    def renewed(self, draft: "Draft") -> "Draft":
        """The call to send although an earlier try may have been carried out: that one again, if it is still the same.

        A file that it sends may have changed since; then it is another call, with an idempotency key of its own.
        """
        from restgpt.calling.journal import entry_id

        if self.unknown is None or self.record is None or entry_id(draft.id, draft.fingerprint) == self.unknown.entry:
            return draft
        self.leave(self.unknown)
        self.unknown, self.id = None, _new_id(self.record.thread)
        return self.drafted()

    def leave(self, unknown: _Unknown) -> None:
        """Note that the user does not want an earlier try repeated; whether it was carried out stays unknown."""
        self.session.journal.note(unknown.entry, left=True)


def _standing(done: "Decided | Done") -> Literal["done", "failed", "paused"]:
    succeeded: bool | None = getattr(done, "succeeded", None)
    return "paused" if succeeded is None else "done" if succeeded else "failed"


@contextmanager
def _opened(
    operation: "Operation",
    arguments: Mapping[str, Any],
    apis: "list[Api]",
    sources: "Sources",
    settings: "Settings",
    wish: _Wish,
) -> Iterator[_Road]:
    """The road of a call: in memory for a read, with the journal of its thread, held by this process, for a change."""
    from restgpt.calling.journal import Journal
    from restgpt.calling.policy import Rules
    from restgpt.calling.session import Session
    from restgpt.specs import Catalogue
    from restgpt.tools.http.client import HttpClient
    from restgpt.tools.response.memory_store import BoundedMemory
    from restgpt.tools.response.store import ResponseStore

    rules = Rules(settings, wish.writes)
    thread = _thread_of(operation, arguments)

    def session(store: Any) -> Session:
        http = HttpClient(settings=settings)
        return Session(Catalogue(apis), http, ResponseStore(store), Journal(store, thread), rules)

    if operation.is_safe or rules.verdict(operation) in ("deny", "hold"):
        yield _Road(operation, arguments, session(BoundedMemory()))
        return
    from restgpt.commands.thread import ThreadRecord, Threads
    from restgpt.graph.persistence import open_persistence

    with open_persistence(settings) as persistence, persistence.lock(thread):
        opened = session(persistence.store)
        id, unknown = _place(opened.journal, thread)
        record = ThreadRecord(thread, "", sources, turn=0)
        yield _Road(operation, arguments, opened, id, unknown, record, Threads(persistence.store))


def _thread_of(operation: "Operation", arguments: Mapping[str, Any]) -> str:
    parts = [operation.api.name, operation.name, operation.base_url, arguments]
    return f"call-{sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]}"


def _place(journal: Any, thread: str) -> tuple[str, _Unknown | None]:
    """The id of the next call of a thread, or of the one that was cut off, which is to be decided first."""
    for entry in journal.entries():
        if entry.get("outcome") is None and not entry.get("left"):
            call = entry["id"].rpartition("-")[0]
            return call, _Unknown(call, entry["id"], entry.get("tries") or 1)
    return _new_id(thread), None


def _new_id(thread: str) -> str:
    """An id that no other call has, on any machine: the idempotency key is made from it."""
    return f"{thread}.{uuid4().hex}"


def _finish(terminal: Terminal, road: _Road, draft: "Draft", wish: _Wish, output: Path | None) -> None:
    """Decide, send and tell, until the call is over; ends the command with its exit code."""
    from restgpt.calling.call import Ask, Done, Held, Ready
    from restgpt.calling.decision import decide
    from restgpt.calling.question import present

    shown = road.session.shown(draft.request)
    decided: Decided | Done = Held(draft) if wish.is_dry else decide(draft, road.session.rules)
    if road.unknown and isinstance(decided, Ready | Ask):
        decided = Ask(draft, unsure=road.unknown.tries)
    while isinstance(decided, Ready | Ask):
        if isinstance(decided, Ready):
            decided = road.sent(decided)
            continue
        answer = _chosen(decided, wish)
        if answer is None and terminal.is_interactive:
            decided = present(road.session, decided)
            answer = _answered(terminal, decided)
        if answer is None:
            _wait(terminal, decided, shown)
        if answer == "approve" and decided.unsure and (draft := road.renewed(decided.draft)) is not decided.draft:
            decided, shown = Ask(draft), road.session.shown(draft.request)
        decided = decide(decided, road.session.rules, {"type": answer})
        # An option answers one question; what is asked after it, such as about a changed target, is another.
        wish = replace(wish, approve=False, again=None)
    if isinstance(decided, Held):
        terminal.document({"status": "held", "request": shown})
        terminal.answer(request_text(shown))
    elif isinstance(decided, Done):
        _tell(terminal, road, decided, shown, output)
    else:
        _refuse(terminal, shown, decided.reason)


def _chosen(ask: "Ask", wish: _Wish) -> Literal["approve", "reject"] | None:
    """The decision by option; None if there is none."""
    said = wish.again if ask.unsure else (wish.approve or None)
    return None if said is None else "approve" if said else "reject"


def _answered(terminal: Terminal, ask: "Ask") -> Literal["approve", "reject"] | None:
    """The decision of the person at the terminal; None if they leave it open."""
    terminal.say(str(ask.action["description"]))
    if not ask.unsure:
        return "approve" if terminal.ask("Send it? [y/N] ").lower() in ("y", "yes") else None
    typed = terminal.ask("Send it again? [y/n, or empty to decide later] ").lower()
    return {"y": "approve", "yes": "approve", "n": "reject", "no": "reject"}.get(typed)  # type: ignore[return-value]


def _wait(terminal: Terminal, ask: "Ask", shown: dict[str, Any]) -> None:
    """Say what has to be decided, and end with the exit code for it."""
    terminal.document({"status": "paused", "request": shown, "outcome_unknown": bool(ask.unsure)})
    terminal.answer(request_text(shown))
    if ask.unsure:
        terminal.say(
            "Not sent: the same change was being sent when an earlier command was cut off, and may or may not have "
            "been carried out. Look first, then send it again with --again, or leave it at that with --no-again."
        )
    else:
        terminal.say("Not sent: it has to be approved. Send it with --approve.")
    raise typer.Exit(Exit.PAUSED)


def _refuse(terminal: Terminal, shown: dict[str, Any], reason: str) -> None:
    terminal.document({"status": "rejected", "request": shown, "reason": reason})
    terminal.answer(request_text(shown))
    terminal.say(f"Not sent: {reason}")
    raise typer.Exit(Exit.UNFULFILLED)


def _tell(terminal: Terminal, road: _Road, done: "Done", shown: dict[str, Any], output: Path | None) -> None:
    """Print what came of the call; exit 1 for an error status, or if no answer came."""
    thread = {"thread": road.record.thread} if road.record else {}
    reply = done.reply
    if reply is None:
        if road.unknown and done.status == "failed":
            road.leave(road.unknown)
        terminal.document({"status": "failed", "request": shown, "error": done.note, **thread})
        terminal.say(done.note)
        raise typer.Exit(Exit.UNFULFILLED)
    terminal.note(
        f"{shown['method']} {shown['url']} → {reply.status} {reply.reason}, {reply.elapsed_ms} ms, "
        f"{size_text(len(reply.body))}" + (" (cut)" if reply.truncated else "")
    )
    if output is not None:
        _write(output, reply.body)
    status = "done" if reply.status < 400 else "failed"
    terminal.document({"status": status, "request": shown, "response": reply_document(reply), **thread})
    if output is None and not terminal.as_json:
        print_body(terminal, reply)
    if road.record and done.succeeded:
        terminal.note(f"Undo it with: restgpt undo {road.record.thread}")
    if reply.status >= 400:
        raise typer.Exit(Exit.UNFULFILLED)


def _arguments(text: str) -> dict[str, Any]:
    if text == "-":
        text = sys.stdin.read()
    elif text.startswith("@"):
        text = _read(Path(text[1:]))
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
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


def _check_output(path: Path) -> None:
    """Refuse a file that cannot be written, before a change is sent whose answer would be lost."""
    if path.is_dir() or not path.parent.is_dir():
        raise UsageError(f"--output {path} cannot be written: it is a folder, or is in a folder that does not exist.")


def _write(path: Path, body: bytes) -> None:
    try:
        path.write_bytes(body)
    except OSError as error:
        raise UsageError(f"--output {path} cannot be written: {error.strerror}") from None
