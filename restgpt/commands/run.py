"""One run of a thread by a command: kept before it starts, told when it ends, resumable however it ends."""

import os
import shlex
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import current_thread, main_thread
from typing import Any

import typer

from restgpt.commands.agent import Agent, Outcome
from restgpt.commands.failure import Exit, explain, foreseen, log
from restgpt.commands.review import Pending, ask_person, pending_text
from restgpt.commands.terminal import Terminal
from restgpt.commands.thread import ThreadRecord, Threads
from restgpt.trace import usage_text

CODES = {"done": Exit.DONE, "paused": Exit.PAUSED, "failed": Exit.UNFULFILLED}


def run_thread(agent: Agent, record: ThreadRecord, given: Any, *, threads: Threads, terminal: Terminal) -> None:
    """Drive a thread that this process holds, and end the command with its exit code."""
    record = threads.mark(record, "running")
    terminal.note(f"thread {record.thread}")
    try:
        with _told_of_interrupts(terminal, record.thread):
            outcome = agent.drive(record.thread, given, terminal, decide=lambda pending: decide_here(terminal, pending))
    except KeyboardInterrupt:
        threads.mark(record, "stopped")
        terminal.say(f"Stopped. Go on with: {resume_line(record.thread)}")
        raise typer.Exit(Exit.INTERRUPTED) from None
    except foreseen() as error:
        # Where the database is what failed, it may refuse this as well: the thread is then listed as killed.
        with suppress(*foreseen()):
            threads.mark(record, "failed")
        message, code = explain(error)
        terminal.say(f"{message}\nThe thread is kept. To go on from where it stopped: {resume_line(record.thread)}")
        terminal.document(agent.outcome(record.thread, error=message).to_dict())
        log.debug("The run failed", exc_info=error)
        raise typer.Exit(code) from None
    threads.mark(record, outcome.status)
    report(outcome, terminal)


@contextmanager
def _told_of_interrupts(terminal: Terminal, thread: str) -> Iterator[None]:
    """Answer Ctrl-C at once: the first ends the run after the node under way, the second ends the process.

    Either is safe at any moment, since checkpoints and the write journal are on disk.
    """
    if current_thread() is not main_thread():
        yield
        return
    seen: list[int] = []

    def interrupted(number: int, frame: object) -> None:
        if seen:
            terminal.console.show_cursor()
            terminal.say(f"\nEnded. Go on with: {resume_line(thread)}")
            os._exit(Exit.INTERRUPTED)
        seen.append(number)
        terminal.say("\nStopping when the model call or request under way is done; Ctrl-C again ends it at once.")
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def decide_here(terminal: Terminal, pending: Sequence[Pending]) -> dict[str, Any] | None:
    """Ask the person at the terminal; None where there is none."""
    return ask_person(terminal, pending) if terminal.is_interactive else None


def report(outcome: Outcome, terminal: Terminal) -> None:
    """Print how a run stands, and end the command with the exit code that says so."""
    terminal.note(usage_text(outcome.usage))
    terminal.document(outcome.to_dict())
    if outcome.status == "paused":
        terminal.say(waiting_text(outcome.thread, outcome.pending))
    else:
        terminal.answer(outcome.answer)
    raise typer.Exit(CODES[outcome.status])


def waiting_text(thread: str, pending: Sequence[Pending]) -> str:
    """What a thread waits for, and what to type to decide."""
    return f"\nPaused for approval:\n{pending_text(pending)}\n\n{how_to_decide(thread)}"


def resume_line(thread: str) -> str:
    """What to type to go on."""
    return f"restgpt resume {shlex.quote(thread)}"


def how_to_decide(thread: str) -> str:
    """What to type to decide."""
    line = resume_line(thread)
    return (
        f"To decide:  {line} --approve\n"
        f'            {line} --reject "why"\n'
        f"            {line} --edit '{{\"body\": {{…}}}}'"
    )
