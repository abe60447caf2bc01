"""The result of a tool, without the protocol: as a text, and as data.

Foreseen errors as texts of a tool, which a model can act on or pass on to a person.
"""

import json
import sqlite3
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langgraph.errors import GraphRecursionError

from restgpt.host.preview import Preview, result_uri
from restgpt.specs import SpecError, UnknownOperationError
from restgpt.tools.errors import ArgumentError, RestgptError, name_and_place
from restgpt.tools.request.arguments import validate
from restgpt.tools.text.exits import sent_before, sentence, text_without_secrets


@dataclass(frozen=True, slots=True)
class Said:
    """The result of a tool: a text, whether it is an error, and facts for programs.

    `seen` is the preview that the text was made of, if it was: it has the result as data, its image, and where it goes
    on.
    """

    text: str
    is_error: bool = False
    seen: Preview | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def link(self) -> str:
        """The URI at which a result goes on that its preview does not show whole; empty without one."""
        seen = self.seen
        return (
            "" if seen is None or seen.is_whole or not seen.handle else result_uri(seen.handle, seen.pointer, seen.page)
        )

    def structured(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result as data; the body is in it only if it is whole and fits the schema, else the text."""
        found = {"status": "done", **(self.seen.structured if self.seen else {}), **self.facts}
        if "body" in found and not validate(found["body"], answer, ""):
            return found
        return {**{name: item for name, item in found.items() if name != "body"}, "text": self.text}


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
