"""`restgpt threads`: list the threads, show one in full or one of its waiting requests, or delete some."""

import ast
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from restgpt.commands.terminal import Terminal, UsageError, command, expected_errors

if TYPE_CHECKING:
    from langgraph.types import StateSnapshot

    from restgpt.calling.record import CallRecord, Request
    from restgpt.graph.persistence import Persistence
    from restgpt.threads import SavedStates, ThreadRecord
    from restgpt.tools.settings import Settings
    from restgpt.trace import Line

SHOWN_OF_RECORD = ("thread", "instruction", "sources", "context", "turn", "created", "updated")

SHOWN = 60
"""The number of characters of an instruction that the list shows."""


@command
def threads(
    terminal: Terminal,
    names: Annotated[
        list[str] | None, typer.Argument(help="Show this thread with its steps, requests and cost.", metavar="ID")
    ] = None,
    older_than: Annotated[
        float | None,
        typer.Option(help="Only the threads last used more than this many days ago.", min=0, metavar="DAYS"),
    ] = None,
    delete: Annotated[
        bool, typer.Option("--delete", help="Delete the named threads, or those of --older-than, for good.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also delete threads with a change of unknown outcome.")
    ] = False,
    request: Annotated[
        int | None,
        typer.Option(
            "--request",
            help="Print the request of this number that waits for approval, with its whole body.",
            min=1,
            metavar="N",
            show_default=False,
        ),
    ] = None,
) -> None:
    """List the threads (the last used first), show one, or delete some."""
    from restgpt.graph.persistence import open_persistence
    from restgpt.tools.settings import Settings

    _check(names or (), older_than, delete=delete, more=yes or force)
    if request is not None and (delete or len(names or ()) != 1):
        raise UsageError("--request prints a waiting request of one thread: restgpt threads ID --request N.")
    settings = Settings.from_env()
    with open_persistence(settings) as persistence:
        records = _chosen(persistence, names or (), older_than)
        if delete:
            _delete(terminal, persistence, records, all_or_none=bool(names), yes=yes, force=force)
        elif request is not None:
            _show_request(terminal, persistence, records[0], settings, request)
        elif names:
            _show(terminal, persistence, records[0])
        else:
            _list(terminal, persistence, records)


def _check(names: Sequence[str], older_than: float | None, *, delete: bool, more: bool) -> None:
    """Raise `UsageError` for options that exclude each other."""
    if names and older_than is not None:
        raise UsageError("Name threads or give --older-than, not both.")
    if delete and not names and older_than is None:
        raise UsageError(
            "Give the threads to delete: restgpt threads --delete ID, or restgpt threads --delete --older-than DAYS."
        )
    if more and not delete:
        raise UsageError("--yes and --force are options of a deletion. Add --delete.")
    if len(names) > 1 and not delete:
        raise UsageError("Only one thread can be shown at a time. Give one ID.")


def _chosen(persistence: "Persistence", names: Sequence[str], older_than: float | None) -> "list[ThreadRecord]":
    from restgpt.threads import Threads, is_older

    threads = Threads(persistence.store)
    if names:
        return [threads.get(name) for name in dict.fromkeys(names)]
    now = datetime.now(UTC)
    return [record for record in threads.newest() if older_than is None or is_older(record, older_than, now=now)]


def _list(terminal: Terminal, persistence: "Persistence", records: "list[ThreadRecord]") -> None:
    from restgpt.graph.persistence import undo_thread
    from restgpt.threads import SavedStates, Threads

    states = SavedStates(persistence)
    undos = {undo.thread: _status(persistence, undo) for undo in Threads(persistence.store).newest(undos=True)}
    rows = [(record, _status(persistence, record), undos.get(undo_thread(record.thread))) for record in records]
    terminal.document({"threads": [{**_shown(record, status), "undo_status": undo} for record, status, undo in rows]})
    if not rows:
        terminal.answer("There are no threads.")
    width = max([14, *(len(record.thread) for record in records)])
    for record, status, undo in rows:
        text = " ".join(record.instruction.split())
        text = text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
        text += " (dry run)" if record.context.get("writes") == "dry-run" else ""
        text += f" (undo {WORDS.get(undo, undo)})" if undo else ""
        word, updated = _word(states, record, status), record.updated[:16].replace("T", " ")
        terminal.answer(f"{record.thread:<{width}} {word:<15} {updated}  {text}")


def _status(persistence: "Persistence", record: "ThreadRecord") -> str:
    """Return the status of a thread: `killed` if its record is `running`, but no process has locked it."""
    if record.status == "running" and not persistence.is_busy(record.thread):
        return "killed"
    return record.status


WORDS = {"paused": "waiting", "killed": "stopped"}
"""How statuses are called where persons read them, on the page too."""


def _word(states: "SavedStates", record: "ThreadRecord", status: str) -> str:
    """Return the word for a status: of a failed run, whether it came to its end, of one that waits, until when."""
    from restgpt.nodes.state.records import waits_until

    # The state may be of another version.
    with suppress(*expected_errors()):
        if status == "failed":
            return "failed" if states.newest(record).tasks else "not fulfilled"
        if status == "paused" and not (state := states.newest(record)).interrupts:
            until = waits_until(state.values.get("program"), time.time())
            return f"until {datetime.fromtimestamp(until).astimezone():%H:%M %Z}" if until else "due"
    return WORDS.get(status, status)


def _reason(error: str, status: str) -> str:
    """Return the text of an error, of which a checkpoint has the `repr`; of an unexpected one, its class only."""
    name, _, text = error.partition("(")
    with suppress(ValueError, SyntaxError):
        return str(ast.literal_eval(text.removesuffix(")"))) if status in ("failed", "paused") else name
    return name


def _show(terminal: Terminal, persistence: "Persistence", record: "ThreadRecord") -> None:
    from restgpt.nodes.state.records import no_usage, shown_program
    from restgpt.outcome import Pending
    from restgpt.threads import SavedStates
    from restgpt.trace import Line

    snapshot, *undos = _snapshots(persistence, record)
    steps = snapshot.values.get("steps", [])
    program = snapshot.values.get("program")
    usage = snapshot.values.get("usage")
    answer = snapshot.values.get("answer", "")
    status = _status(persistence, record)
    pending = [interrupt.value for interrupt in snapshot.interrupts]
    # Without an open question those that can be decided are of approvals that were not used.
    unused = [] if pending else [action["name"] for pause in Pending.all_of(snapshot) for action in pause.actions]
    undo = [request for state in undos for request in state.values.get("requests", ())]
    terminal.document(
        {
            **_shown(record, status),
            "answer": answer,
            "steps": steps,
            "program": shown_program(program),
            "usage": usage or no_usage(),
            "undo": undo,
            "pending": pending,
            "approved": unused,
        }
    )
    if not terminal.as_json:
        unfinished = _unfinished(snapshot.values, is_shown=bool(snapshot.interrupts))
        calls = snapshot.values.get("requests", ()) if record.kind == "call" else ()
        unfinished += [*_request_lines(calls), *(Line("undo", line.text) for line in _request_lines(undo))]
        unfinished += [Line("failed", _reason(str(task.error), status)) for task in snapshot.tasks if task.error]
        said = [str(item.content) for item in snapshot.values.get("messages", ()) if item.type == "human"]
        word = _word(SavedStates(persistence), record, status)
        _print_thread(terminal, record, word, steps, usage, answer, unfinished, said=said[: record.turn - 1])
        is_over = snapshot.values.get("turn", 0) >= record.turn and not snapshot.tasks
        # A single call is repeated with its `restgpt call` command, which the record does not contain; what a person
        # rejected, or the agent gave up, has nothing left to run.
        if (record.turn or snapshot.values) and not (is_over and status == "failed"):
            _print_remedy(terminal, record, status, snapshot.interrupts, unused)


def _shown(record: "ThreadRecord", status: str) -> dict[str, Any]:
    """Return a record as JSON, with the name and inputs of its recipe but not its content."""
    from restgpt.commands.saved_recipe import shown_run

    values = {name: value for name, value in asdict(record).items() if name in SHOWN_OF_RECORD}
    recipe = {"recipe": shown_run(record.recipe)} if record.recipe is not None else {}
    return {**values, "is_relayed": record.is_relayed, "status": status, **recipe}


def _unfinished(values: dict[str, Any], *, is_shown: bool) -> "list[Line]":
    """Return the lines of a program that has not ended: its code, unless the pause shows it, and its requests."""
    from restgpt.trace import Line

    program = values.get("program")
    if program is None or program["status"] != "running":
        return []
    requests = [request for request in values["requests"] if request["round"] == values["round"]]
    code = [] if is_shown else [Line("program", program["code"])]
    return [*code, *_request_lines(requests)]


def _request_lines(requests: "Sequence[Request]") -> "list[Line]":
    from restgpt.nodes.run.events import call_events
    from restgpt.trace import lines_of

    return [line for request in requests for event in call_events(request) for line in lines_of(event)]


def _print_thread(
    terminal: Terminal,
    record: "ThreadRecord",
    status: str,
    steps: list[Any],
    usage: Any,
    answer: str,
    unfinished: "Sequence[Line]" = (),
    *,
    said: Sequence[str] = (),
) -> None:
    """Print a thread; `said` are the instructions before that of its record."""
    from restgpt.nodes.run.events import events_of_step
    from restgpt.trace import lines_of, usage_text

    sources = ", ".join([*record.sources.names, *record.sources.specs])
    lines = [
        f"thread       {record.thread} ({status})",
        *(f"earlier      {' '.join(text.split())[:SHOWN]}" for text in said),
        f"instruction  {record.instruction}",
        f"apis         {sources}",
        *([f"recipe       {record.recipe['recipe']['name']}"] if record.recipe else []),
    ]
    events = (event for step in steps for event in events_of_step(step))
    told = [line for event in events for line in lines_of(event)]
    lines += [f"{line.label:<12} {line.text}".replace("\n", f"\n{'':<13}") for line in [*told, *unfinished]]
    lines += [f"cost         {usage_text(usage)}"] if usage else []
    terminal.answer("\n".join(lines))
    if answer and not any(line.text.startswith(answer) for line in told):
        terminal.answer(f"\n{answer}")


def _print_remedy(
    terminal: Terminal, record: "ThreadRecord", status: str, interrupts: Sequence[Any], unused: Sequence[str]
) -> None:
    """Print the waiting requests, or the operations whose approval is unused, and the command that goes on."""
    from restgpt.commands.agent_run import resume_line, waiting_text
    from restgpt.outcome import Pending
    from restgpt.tools.text.quotation import named

    if status not in ("paused", "killed", "failed", "stopped"):
        return
    if interrupts:
        terminal.say(waiting_text(record.thread, [Pending.of(interrupt) for interrupt in interrupts]))
    else:
        line = resume_line(record.thread)
        terminal.say(f"\nResume with: {line}")
        if unused:
            names = ", ".join(map(named, unused))
            terminal.say(f'Approved, and not sent yet: {names}. To take that back: {line} --reject "why"')


def _show_request(
    terminal: Terminal, persistence: "Persistence", record: "ThreadRecord", settings: "Settings", number: int
) -> None:
    """Print the waiting request of this number, counted in the order of the questions.

    Only secrets that are configured are hidden, so the APIs of the thread are loaded. Raises `UsageError` if there is
    no such request, and `OutdatedCallError` if the document has changed since.
    """
    from restgpt.calling.call import read_call
    from restgpt.nodes.run.services import Services
    from restgpt.tools.request.view import view_sections, whole_view

    apis = record.sources.load(settings)
    services: Services = Services(apis, settings=settings)
    waiting = _waiting(persistence, record)
    if not waiting:
        raise UsageError(f"No request waits for approval in thread {record.thread}.")
    if number > len(waiting):
        raise UsageError(f"Thread {record.thread} has {len(waiting)} waiting: give --request 1 to {len(waiting)}.")
    draft = read_call(waiting[number - 1], services.catalogue(()))
    redactor = services.http.redactor(*apis, about=draft.operation.api)
    terminal.document({"thread": record.thread, "number": number, **whole_view(draft.request, redactor)})
    terminal.answer("\n\n".join(view_sections(draft.request, redactor, whole=True)))


def _snapshots(persistence: "Persistence", record: "ThreadRecord") -> "list[StateSnapshot]":
    """The newest state of a thread, and that of its undo if there is one."""
    from restgpt.graph.persistence import undo_thread
    from restgpt.threads import SavedStates, Threads

    states, undo = SavedStates(persistence), Threads(persistence.store).find(undo_thread(record.thread))
    return [states.newest(found) for found in (record, undo) if found]


def _waiting(persistence: "Persistence", record: "ThreadRecord") -> "list[CallRecord]":
    """The calls that the pause of a thread asks about; of its undo, if the thread itself does not wait."""
    for snapshot in _snapshots(persistence, record):
        actions = [action for pause in snapshot.interrupts for action in pause.value.get("action_requests", ())]
        if actions:
            return list(_asked(actions, snapshot.values["requests"]))
    return []


def _asked(actions: Sequence[Mapping[str, Any]], records: "Sequence[CallRecord]") -> "Iterator[CallRecord]":
    """The call of each action, in their order; a call whose document has changed waits without an action."""
    left = iter([record for record in records if record["status"] == "asked"])
    for action in actions:
        yield next(record for record in left if _is_of(record, action))


def _is_of(record: "CallRecord", action: Mapping[str, Any]) -> bool:
    return (record["operation"], record["arguments"]) == (action["name"], action["args"])


def _delete(
    terminal: Terminal,
    persistence: "Persistence",
    records: "Sequence[ThreadRecord]",
    *,
    all_or_none: bool,
    yes: bool,
    force: bool,
) -> None:
    """Ask the user, then delete threads.

    A thread that a process uses is never deleted; one with a change of unknown outcome only with `force`. If there is
    such a thread, `all_or_none` raises `UsageError`; otherwise the other threads are deleted.
    """
    from restgpt.threads import delete, undeletable

    left = undeletable(persistence, records, force=force)
    if left and all_or_none:
        raise UsageError("\n".join(["Nothing was deleted.", *left.values()]))
    free = [record for record in records if record.thread not in left]
    if free and not yes and not _is_wanted(terminal, free):
        terminal.answer("Nothing was deleted.")
        return
    left |= delete(persistence, free)
    gone = [record.thread for record in free if record.thread not in left]
    shrunk = not gone or persistence.shrink()
    terminal.document({"deleted": gone, "left": [{"thread": name, "reason": why} for name, why in left.items()]})
    terminal.answer("\n".join([_counted("Deleted", len(gone)), *left.values()]))
    if not shrunk:
        terminal.say("The database file was not made smaller, because another process uses it or the disk is full.")


def _is_wanted(terminal: Terminal, records: "Sequence[ThreadRecord]") -> bool:
    if not terminal.is_interactive:
        raise UsageError(f"{_counted('This would delete', len(records))} To skip the question, add --yes.")
    for record in records:
        terminal.say(
            f"{record.thread}  {record.updated[:16].replace('T', ' ')}  {' '.join(record.instruction.split())}"
        )
    return terminal.ask(f"{_counted('Delete', len(records))[:-1]} for good? [y/N] ").lower() in ("y", "yes")


def _counted(verb: str, number: int) -> str:
    return f"{verb} {number} {'thread' if number == 1 else 'threads'}."
