"""One run of a thread by a command: records the thread first, reports the outcome, and can be resumed after any end."""

import os
import shlex
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import current_thread, main_thread
from typing import Any

import typer

from restgpt.commands.agent import Agent, Outcome
from restgpt.commands.failure import Exit, expected_errors, explain, log
from restgpt.commands.model_server import say_address_of_dotenv
from restgpt.commands.screen.review import ask_person, confirmation, pending_text
from restgpt.commands.screen.terminal import Terminal
from restgpt.outcome import Pending
from restgpt.threads import ThreadRecord, Threads
from restgpt.tools.http.cancellation import Cancellation, CancelledRunError, cancellable
from restgpt.trace import usage_text

CODES = {"done": Exit.DONE, "paused": Exit.PAUSED, "failed": Exit.UNFULFILLED}


def run_thread(
    agent: Agent,
    record: ThreadRecord,
    given: Any,
    *,
    threads: Threads,
    terminal: Terminal,
    settle: Callable[[Outcome], Outcome] | None = None,
) -> None:
    """Run a thread that this process has locked, and end the command with the exit code of the outcome.

    `settle` acts on the outcome of the run before it is reported.
    """
    settled = settle or _unchanged
    if record.recipe is None or record.recipe["heals"]:
        say_address_of_dotenv(terminal)
    record = threads.mark(record, "running")
    terminal.note(f"thread {record.thread}")
    try:
        with _handling_signals(terminal, record.thread):
            outcome = agent.drive(record.thread, given, terminal, decide=lambda pending: decide_here(terminal, pending))
    except (KeyboardInterrupt, CancelledRunError):
        threads.mark(record, "stopped")
        terminal.say(f"Stopped. Resume with: {resume_line(record.thread)}")
        raise typer.Exit(Exit.INTERRUPTED) from None
    except expected_errors() as error:
        # If the database failed, this write may fail too; `restgpt threads` then lists the thread as killed.
        with suppress(*expected_errors()):
            threads.mark(record, "failed")
        message, code = explain(error)
        terminal.say(f"{message}\nThe thread is saved. To resume it: {resume_line(record.thread)}")
        terminal.document(settled(agent.outcome(record.thread, error=message)).to_dict())
        log.debug("The run failed", exc_info=error)
        raise typer.Exit(code) from None
    threads.mark(record, outcome.status)
    report(settled(outcome), terminal)


def _unchanged(outcome: Outcome) -> Outcome:
    return outcome


@contextmanager
def _handling_signals(terminal: Terminal, thread: str) -> Iterator[None]:
    """Handle Ctrl-C and SIGTERM: the first stops the run after the running request, the second ends the process.

    Both are safe at any time, because checkpoints and the write journal are on disk.
    """
    if current_thread() is not main_thread():
        yield
        return
    run = Cancellation()

    def interrupted(number: int, frame: object) -> None:
        if run.is_cancelled:
            terminal.console.show_cursor()
            terminal.say(f"\nEnded. Resume with: {resume_line(thread)}")
            os._exit(Exit.INTERRUPTED)
        run.cancel()
        terminal.say("\nStopping after the running model call or request. Press Ctrl-C again to end at once.")
        if not run.is_sending:
            raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupted) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with cancellable(run):
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def decide_here(terminal: Terminal, pending: Sequence[Pending]) -> dict[str, Any] | None:
    """Ask the person at the terminal; returns None if stdin or stderr is not a terminal."""
    return ask_person(terminal, pending) if terminal.is_interactive else None


def report(outcome: Outcome, terminal: Terminal) -> None:
    """Print the outcome of a run, and end the command with its exit code."""
    terminal.note(usage_text(outcome.usage))
    terminal.document(outcome.to_dict())
    if outcome.status == "paused":
        terminal.say(waiting_text(outcome.thread, outcome.pending))
    else:
        terminal.answer(outcome.answer)
    raise typer.Exit(CODES[outcome.status])


def waiting_text(thread: str, pending: Sequence[Pending]) -> str:
    """Return the descriptions of the waiting requests, and the commands that decide."""
    is_offered = any(confirmation(action) for pause in pending for action in pause.actions)
    return f"\nPaused for approval:\n{pending_text(pending)}\n\n{how_to_decide(thread, is_offered=is_offered)}"


def resume_line(thread: str) -> str:
    """Return the command that resumes a thread."""
    return f"restgpt resume {shlex.quote(thread)}"


def how_to_decide(thread: str, *, is_offered: bool = False) -> str:
    """Return the commands that approve, reject or edit the waiting requests, or confirm reads if that is offered."""
    line = resume_line(thread)
    reads = f"            {line} --approve --only-reads   (and confirm the requests that seem only to read)\n"
    return (
        f"To decide:  {line} --approve\n{reads if is_offered else ''}"
        f'            {line} --reject "why"\n'
        f"            {line} --edit '{{\"body\": {{…}}}}'"
    )
