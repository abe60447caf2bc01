"""The notice of a run that nobody watches: to a command, or to a URL, when it pauses, fails, or answers otherwise."""

import hashlib
import hmac
import json
import os
import shlex
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer

from restgpt.commands.agent_run import Outcome, resume_line
from restgpt.commands.terminal import Terminal

KEY = "RESTGPT_NOTIFY_KEY"
"""The variable with the key that signs a notice to a URL, in the header `X-RestGPT-Signature` (HMAC-SHA256)."""

LONGEST_S = 30
"""How long a command or a server may take for a notice, in seconds."""


def notifying(
    target: str, settle: Callable[[Outcome], Outcome], terminal: Terminal, home: Path, *, changes: bool
) -> Callable[[Outcome], Outcome]:
    """Return what also sends a notice of the outcome, with `changes` also of an answer; a wait for time is none.

    A notice that cannot be sent is told on stderr and changes nothing else.
    """

    def notify(outcome: Outcome) -> Outcome:
        outcome = settle(outcome)
        event = {"done": "changed" if changes else "", "paused": "paused" if outcome.pending else ""}
        if kind := event.get(outcome.status, "failed"):
            try:
                _send(target, {**_notice(kind, outcome), "page": _page(home, outcome.thread)})
            except (OSError, subprocess.SubprocessError, ValueError) as error:
                terminal.say(f"The notice could not be sent: {type(error).__name__}.")
        return outcome

    return notify


def logging_to(
    file: Path, name: str, settle: Callable[[Outcome], Outcome], terminal: Terminal, *, changes: bool
) -> Callable[[Outcome], Outcome]:
    """Return what also adds a line about the outcome to a file; with `changes` it says whether the answer is another.

    `settle` then ends the command where it is the same.
    """

    def note(outcome: Outcome) -> Outcome:
        usage, answer = outcome.usage, " answer=changed" if changes and outcome.status == "done" else ""
        try:
            return settle(outcome)
        except typer.Exit:
            answer = " answer=same"
            raise
        finally:
            about = f"recipe={name} thread={outcome.thread} status={outcome.status}{answer}"
            write_line(file, f"{about} requests={usage['requests']} seconds={usage['seconds']:.1f}", terminal)

    return note


def write_line(file: Path | None, line: str, terminal: Terminal) -> None:
    """Add a line to a file, if there is one, with the time before it; a file that takes none is told on stderr."""
    if file is None:
        return
    try:
        with file.open("a", encoding="utf-8") as log:
            log.write(f"{datetime.now(UTC).isoformat(timespec='seconds')} {line}\n")
    except OSError as error:
        terminal.say(f"The line for {file} could not be written: {error.strerror}.")


def _notice(event: str, outcome: Outcome) -> dict[str, Any]:
    """Return a notice as JSON: a question as a person sees it, without secrets, and the command that answers it."""
    actions = [action for pause in outcome.pending for action in pause.actions]
    return {
        "event": event,
        "thread": outcome.thread,
        "recipe": (outcome.recipe or {}).get("name", ""),
        "answer": outcome.answer,
        "error": outcome.error,
        "questions": [str(action["description"]) for action in actions],
        "expires": min((str(action["expires"]) for action in actions if "expires" in action), default=""),
        "command": resume_line(outcome.thread),
    }


def _page(home: Path, thread: str) -> str:
    """Return the address of a thread on the page of this home, if that is installed and runs."""
    try:
        from restgpt.server.page_routes import page_of
    except ImportError:
        return ""
    return page_of(home, thread)


def _send(target: str, notice: dict[str, Any]) -> None:
    """Post a notice to a URL, or give it to a command on its stdin."""
    data = json.dumps(notice).encode()
    if not target.startswith(("http://", "https://")):
        subprocess.run(shlex.split(target), input=data, check=True, timeout=LONGEST_S)
        return
    import requests

    headers = {"Content-Type": "application/json"}
    if key := os.environ.get(KEY):
        headers["X-RestGPT-Signature"] = f"sha256={hmac.new(key.encode(), data, hashlib.sha256).hexdigest()}"
    requests.post(target, data=data, headers=headers, timeout=LONGEST_S, allow_redirects=False).raise_for_status()
