"""How a command fails: one clear message, the right exit code, never a traceback."""

import logging
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

import typer

from restgpt.commands.terminal import Terminal

log = logging.getLogger("restgpt.cli")


class Exit(IntEnum):
    """The exit codes of all commands."""

    DONE = 0
    UNFULFILLED = 1
    USAGE = 2
    PAUSED = 3
    INTERRUPTED = 130


class UsageError(Exception):
    """What was typed cannot be meant; the message says what to type instead."""


def refuse_bytes(*given: object) -> None:
    """Refuse texts with bytes that are no characters, which no model and no database takes; raises `UsageError`."""
    for text in given:
        if isinstance(text, str) and any("\ud800" <= character <= "\udfff" for character in text):
            raise UsageError(
                f"{text!r} holds bytes that are no text in the encoding of this terminal. Type it anew, or set "
                "LC_ALL=C.UTF-8."
            )


def foreseen() -> tuple[type[BaseException], ...]:
    """The errors that a command explains, gathered only when something failed, because their modules load slowly."""
    from langgraph.errors import GraphRecursionError

    from restgpt.specs import SpecError, UnknownOperationError
    from restgpt.tools.errors import RestgptError
    from restgpt.tools.model.errors import ModelError

    database = sys.modules.get("psycopg")
    lost = () if database is None else (database.Error,)
    return (
        UsageError,
        RestgptError,
        SpecError,
        UnknownOperationError,
        ModelError,
        GraphRecursionError,
        sqlite3.Error,
        *lost,
    )


def explain(error: BaseException) -> tuple[str, Exit]:
    """The message and the exit code of a foreseen error."""
    from langgraph.errors import GraphRecursionError

    from restgpt.specs import SpecError, UnknownOperationError
    from restgpt.tools.errors import ArgumentError, HttpFault, MissingCredentialError, RestgptError
    from restgpt.tools.model.errors import ModelError, ModelReplyError, ModelUnavailableError, NoModelError

    if isinstance(error, GraphRecursionError):
        return "The run took more steps than one run may take.", Exit.UNFULFILLED
    if isinstance(error, sqlite3.Error):
        remedy = "Check that its disk has room, that you may write to it, and that nothing else does."
        return f"The file that keeps the threads cannot be used: {error}. {remedy}", Exit.USAGE
    if isinstance(error, NoModelError):
        from restgpt.commands.local_model import offer

        return f"{error}{offer()}", Exit.USAGE
    if isinstance(error, ModelReplyError | ModelUnavailableError | HttpFault):
        return _sentence(error), Exit.UNFULFILLED
    if isinstance(error, ArgumentError):
        import json

        example = f"\nThis would fit: {json.dumps(error.example, ensure_ascii=False)}" if error.example else ""
        return f"{_sentence(error)}{example}", Exit.USAGE
    if isinstance(error, UnknownOperationError):
        return f"{_sentence(error)} All are listed by `restgpt api show`.", Exit.USAGE
    if isinstance(error, UsageError | SpecError | ModelError | MissingCredentialError | RestgptError):
        return _sentence(error), Exit.USAGE
    return f"The database that keeps the threads cannot be used ({type(error).__name__}).", Exit.USAGE


def _sentence(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    if text.partition(" ")[0].isalpha():
        text = text[0].upper() + text[1:]
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


@contextmanager
def reported(terminal: Terminal) -> Iterator[None]:
    """Turn a foreseen error inside into its message and exit code; its traceback goes to the log at level DEBUG."""
    try:
        yield
    except typer.Exit:
        raise
    except foreseen() as error:
        message, code = explain(error)
        terminal.say(message)
        terminal.document({"status": "failed", "error": message})
        log.debug("The command failed", exc_info=error)
        raise typer.Exit(code) from None
