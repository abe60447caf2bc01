"""Foreseen errors as texts of a tool, which a model can act on or pass on to a person."""

import json
import sqlite3
import sys

from langgraph.errors import GraphRecursionError

from restgpt.specs import SpecError, UnknownOperationError
from restgpt.tools.errors import ArgumentError, RestgptError, name_and_place
from restgpt.tools.text.exits import sent_before, sentence, text_without_secrets

MOST_CHARACTERS = 4_000
"""The most characters of an error's text, which may repeat an argument."""


def foreseen() -> tuple[type[BaseException], ...]:
    """Return the errors that `explained` has a text for; those of PostgreSQL's driver only if it is in use."""
    driver = sys.modules.get("psycopg")
    lost = () if driver is None else (driver.Error,)
    return (RestgptError, SpecError, UnknownOperationError, GraphRecursionError, sqlite3.Error, *lost)


def explained(error: BaseException) -> str:
    """Return what happened and what to do; never the text of a driver's error, which may name a password."""
    if isinstance(error, UnknownOperationError):
        return f"{_sentence(error)} Search operations with `find_operations`."
    if isinstance(error, ArgumentError):
        example = f" Valid arguments are, for example: {json.dumps(error.example, ensure_ascii=False)}"
        return f"{_sentence(error)} Nothing was sent.{example if error.example else ''}"
    if isinstance(error, GraphRecursionError):
        return "The run reached the recursion limit of its graph. Give a smaller instruction."
    if isinstance(error, RestgptError | SpecError):
        return _sentence(error)
    sent = sent_before(error)
    return (
        f"The database of the threads failed ({type(error).__name__}). Check that it can be reached and has space. "
        f"Call `pending` without a handle to see the state of your calls.{f' {sent}' if sent else ''}"
    )


def unforeseen(error: BaseException) -> str:
    """Return the text about an error that nobody foresaw, with its type and place; its own text stays here."""
    return (
        f"restgpt failed with an unforeseen error, {name_and_place(error)}: a bug in restgpt. Call `pending` without a "
        "handle to see the state of your calls."
    )


def _sentence(error: BaseException) -> str:
    text = text_without_secrets(str(error)).strip() or type(error).__name__
    if len(text) > MOST_CHARACTERS:
        text = f"{text[:MOST_CHARACTERS]}…"
    return sentence(text, error)
