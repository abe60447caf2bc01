"""A shift: a difference between a run and what its recipe relies on."""

from collections.abc import Iterable
from dataclasses import dataclass

from restgpt.recipes.recipe import UsedOperation
from restgpt.tools.text.quotation import one_line, quoted

MOST_PLACE, MOST_VALUE = 120, 60
"""The maximum number of characters of a path or a field, and of a value, in a sentence."""

_TYPES = {
    **{"string": "a string", "integer": "an integer", "number": "a number", "boolean": "a boolean"},
    **{"null": "null", "array": "an array", "object": "an object", "missing": "nothing"},
}


@dataclass(frozen=True, slots=True)
class Shift:
    """A difference: its place, what the recipe expected there, and what was found, each in a few words."""

    where: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.where}: expected {self.expected}, found {self.found}."


def place_of(used: UsedOperation, part: str = "", name: str = "") -> str:
    """Name an operation of a recipe, and a part of it, such as its field `/results/*/id`."""
    place = f"{used.method} {short(used.path)} ({used.function})"
    return place + (f", {part} {short(name)}".rstrip() if part else "")


def short(text: str) -> str:
    """Return a foreign name for a sentence: on one line, with visible characters only, and of bounded length."""
    start = text if len(text) <= MOST_PLACE else text[: MOST_PLACE - 1] + "…"
    return one_line(start).replace("\n", "\\n")


def types_text(types: Iterable[str]) -> str:
    """Write JSON types for a sentence: `an integer or null`."""
    return " or ".join(_TYPES.get(kind, kind) for kind in dict.fromkeys(types)) or "a value of any type"


def value_text(value: str) -> str:
    """Quote a foreign value for a sentence, on one line and of bounded length."""
    return quoted(value, MOST_VALUE)
