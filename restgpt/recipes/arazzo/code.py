"""Code of a program that can be broken into lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

WIDTH = 110
"""The maximum number of characters of a line, where the code can be broken."""


@dataclass(frozen=True, slots=True)
class Block:
    """Parts with commas between them, each behind a text such as the key of a member, in brackets."""

    opening: str
    parts: Sequence[tuple[str, "Code"]]
    closing: str

    def __str__(self) -> str:
        return f"{self.opening}{', '.join(f'{lead}{part}' for lead, part in self.parts)}{self.closing}"


Code: TypeAlias = str | Block


def members(found: dict[str, Code], opening: str = "{", closing: str = "}") -> Block:
    """Return an object whose values are code."""
    return Block(opening, [(f"{key!r}: ", part) for key, part in found.items()], closing)


def listed(found: Sequence[Code]) -> Block:
    """Return an array whose items are code."""
    return Block("[", [("", part) for part in found], "]")


def laid_out(code: Code, lead: str = "", end: str = "", indent: int = 0) -> list[str]:
    """Return the lines of code behind some text: one line if it fits, else one for each part."""
    line = f"{lead}{code}{end}"
    if isinstance(code, str) or not code.parts or len(line) + indent <= WIDTH:
        return [line]
    inner = [f"    {text}" for before, part in code.parts for text in laid_out(part, before, ",", indent + 4)]
    return [f"{lead}{code.opening}", *inner, f"{code.closing}{end}"]
