"""Faults of Arazzo documents: what is wrong or not supported, with its JSON pointer and the remedy."""

from collections.abc import Sequence
from dataclasses import dataclass

from restgpt.tools.errors import StoppingError

SHOWN = 10
"""The maximum number of faults that one error lists."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: the JSON pointer of its place, empty for the whole document, and a sentence with the remedy."""

    place: str
    text: str

    def __str__(self) -> str:
        return f"at {self.place or '/'}: {self.text}"


class ArazzoError(StoppingError):
    """An Arazzo document cannot be read or run, or a recipe cannot be exported."""

    def __init__(self, message: str, faults: Sequence[Fault] = ()) -> None:
        self.faults = tuple(faults)
        lines = [f"- {fault}" for fault in self.faults[:SHOWN]]
        if len(self.faults) > SHOWN:
            lines.append(f"- and {len(self.faults) - SHOWN} more")
        super().__init__("\n".join([message, *lines]))


def unsupported(what: str, remedy: str) -> str:
    """Return the sentence about a part of Arazzo that this program does not run."""
    return f"not supported: {what}. {remedy}"
