"""What can be wrong with an API document: problems that are listed, and errors that stop."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One broken place of a document, by JSON pointer; the rest of the document works without it."""

    pointer: str
    message: str

    def __str__(self) -> str:
        return f"{self.pointer or '/'}: {self.message}"


class SpecError(ValueError):
    """The document cannot be read at all, or says too little to make a request; the message names the remedy."""


class BrokenReference(LookupError):
    """A `$ref` that leads nowhere, in a circle, or to a place that is not allowed."""


class UnknownOperationError(LookupError):
    """No operation has this key; the message names the nearest ones."""

    def __init__(self, key: str, near: Sequence[str] = ()) -> None:
        self.key = key
        self.near = tuple(near)
        hint = f"; near: {', '.join(self.near)}" if self.near else ""
        super().__init__(f"no operation is called {key!r}{hint}")
