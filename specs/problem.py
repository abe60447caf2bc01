"""Problems of an API document, which are listed, and errors, which are raised.

HTTP status codes (RFC 9110, section 15).
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One broken place of a document, by JSON pointer; the rest of the document works without it."""

    pointer: str
    message: str

    def __str__(self) -> str:
        return f"{self.pointer or '/'}: {self.message}"


def cut_problems(pointer: str, count: int, most: int, things: str) -> list[Problem]:
    """List the problem of a place with `count` things of which the first `most` are read; none if all of them are."""
    return [Problem(pointer, f"of {count:,} {things}, {most:,} are read")] if count > most else []


class SpecError(ValueError):
    """The document cannot be read, or lacks the data to make a request; the message names the remedy."""


class BrokenReference(LookupError):
    """A `$ref` names no node, leads in a circle, or leads to a place that is not allowed."""


class TooComplex(BrokenReference):
    """A schema takes more steps to read or to validate than the limit of `effort.py` allows."""


class UnknownOperationError(LookupError):
    """No operation has this key; the message names similar ones."""

    def __init__(self, key: str, near: Sequence[str] = ()) -> None:
        self.key = key
        self.near = tuple(near)
        hint = f"; near: {', '.join(self.near)}" if self.near else ""
        super().__init__(f"no operation is called {key!r}{hint}")


class BarredOperationError(UnknownOperationError):
    """A rule of `include` or `exclude` bars the operation; the message names the rule."""

    def __init__(self, key: str, rule: str) -> None:
        super().__init__(key)
        self.args = (f"{key} may not be used here: the rule `{rule}` bars it, and nothing was sent",)


class AmbiguousOperationError(UnknownOperationError):
    """Several APIs have an operation of this name; the message gives the names that tell them apart."""

    def __init__(self, key: str, names: Sequence[str]) -> None:
        super().__init__(key)
        self.args = (f"several APIs have {key}: say {' or '.join(names)}",)


class UnknownPartError(LookupError):
    """The map of an API has no such part; the message names similar ones."""

    def __init__(self, part: str, near: Sequence[str] = ()) -> None:
        self.part = part
        self.near = tuple(near)
        hint = f"; near: {', '.join(self.near)}" if self.near else ""
        super().__init__(f"the map has no part {part!r}{hint}; the whole map is /")


def is_success(status: int) -> bool:
    """Whether a status is a 2xx (section 15.3), or 303 See Other: a change is done then, and a read is followed.

    Any other redirect has done nothing yet (RFC 9110, section 15.4).
    """
    return 200 <= status < 300 or status == 303
