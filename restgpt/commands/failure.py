"""Error handling of commands: turns an expected error into a message and an exit code, without a traceback."""

import logging
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

import typer

from restgpt.commands.screen.terminal import Terminal

log = logging.getLogger("restgpt.cli")


class Exit(IntEnum):
    """The exit codes of all commands."""

    DONE = 0
    UNFULFILLED = 1
    USAGE = 2
    PAUSED = 3
    REJECTED = 4
    INTERRUPTED = 130


class UsageError(Exception):
    """The user gave invalid arguments or options; the message says what to type instead."""


def refuse_bytes(*given: object) -> None:
    """Raise `UsageError` for a text with undecodable bytes (lone surrogates): models and databases reject it."""
    for text in given:
        if isinstance(text, str) and any("\ud800" <= character <= "\udfff" for character in text):
            raise UsageError(
                f"{text!r} has bytes that are not valid in the encoding of this terminal. Type the text again, or set "
                "LC_ALL=C.UTF-8."
            )


def expected_errors() -> tuple[type[BaseException], ...]:
    """Return the exceptions that `explain` has messages for; a function, because importing their modules is slow."""
    from restgpt.specs import SpecError, UnknownOperationError, UnknownPartError
    from restgpt.tools.errors import RestgptError
    from restgpt.tools.model.errors import ModelError

    return (
        UsageError,
        RestgptError,
        SpecError,
        UnknownOperationError,
        UnknownPartError,
        ModelError,
        sqlite3.Error,
        *_loaded("langgraph.errors", "GraphRecursionError"),
        *_loaded("psycopg", "Error"),
    )


def _loaded(module: str, name: str) -> tuple[type[BaseException], ...]:
    """Return an exception of a module, if it is loaded: otherwise nothing can have raised it."""
    return (getattr(sys.modules[module], name),) if module in sys.modules else ()


def explain(error: BaseException) -> tuple[str, Exit]:
    """Return the message and the exit code of an expected error."""
    from restgpt.specs import SpecError, UnknownOperationError, UnknownPartError
    from restgpt.tools.errors import ArgumentError, HttpFault, MissingCredentialError, RestgptError
    from restgpt.tools.model.errors import ModelError, ModelReplyError, ModelUnavailableError, NoModelError

    if isinstance(error, _loaded("langgraph.errors", "GraphRecursionError")):
        return (
            "The run reached the recursion limit of its graph. Give a smaller instruction, or raise max_steps.",
            Exit.UNFULFILLED,
        )
    if isinstance(error, sqlite3.Error):
        remedy = "Check that its disk has free space, that you may write to it, and that no other program uses it."
        return f"The database file of the threads failed: {error}. {remedy}{_lost(error)}", Exit.USAGE
    if isinstance(error, NoModelError):
        from restgpt.commands.model_server import offer

        return f"{error}{offer()}", Exit.USAGE
    if isinstance(error, ModelReplyError | ModelUnavailableError | HttpFault):
        return _sentence(error), Exit.UNFULFILLED
    if isinstance(error, ArgumentError):
        import json

        example = (
            f"\nValid arguments are, for example: {json.dumps(error.example, ensure_ascii=False)}"
            if error.example
            else ""
        )
        return f"{_sentence(error)}{example}", Exit.USAGE
    if isinstance(error, UnknownOperationError):
        return f"{_sentence(error)} List the operations with `restgpt api show`.", Exit.USAGE
    if isinstance(
        error, UsageError | SpecError | UnknownPartError | ModelError | MissingCredentialError | RestgptError
    ):
        return _sentence(error), Exit.USAGE
    return (
        f"The database of the threads failed ({type(error).__name__}). Check that it runs and can be reached, and that "
        f"no process of RestGPT is stopped while it writes.{_lost(error)}",
        Exit.USAGE,
    )


def _lost(error: BaseException) -> str:
    """Return what was sent before the database failed, and how to go on without repeating it."""
    from restgpt.tools.text.exits import sent_before

    if not (sent := sent_before(error)):
        return ""
    return f" {sent} Check it at the API before you repeat it; `restgpt threads THREAD` shows what is known."


def _sentence(error: BaseException) -> str:
    from restgpt.tools.text.exits import sentence

    return sentence(str(error).strip() or type(error).__name__, error)


@contextmanager
def reported(terminal: Terminal) -> Iterator[None]:
    """Turn an expected error in the block into its message and exit code; log its traceback at level DEBUG."""
    try:
        yield
    except typer.Exit:
        raise
    except expected_errors() as error:
        message, code = explain(error)
        terminal.say(message)
        terminal.document({"status": "failed", "error": message})
        log.debug("The command failed", exc_info=error)
        raise typer.Exit(code) from None
