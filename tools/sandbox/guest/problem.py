"""The problems that the check of a program reports, and the words of their messages.

Standard library only: the host sends this module to the worker.
"""

from __future__ import annotations

import difflib

TYPE_CHECKING = False  # a name for type checkers; the import of `typing` would cost every worker milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

MOST_PROBLEMS, MOST_NAMES, MOST_TEXT = 20, 12, 80  # of a check; of a message: listed names, characters of a name


class Problem:
    """A problem at a node; `name` is a wrong name, of which the message gives the most similar `known` ones."""

    __slots__ = ("known", "name", "place", "rest", "text")

    def __init__(self, node: Any, text: str, name: str = "", known: Sequence[str] = (), rest: str = "") -> None:
        self.place: tuple[int, int] = (node.lineno, node.col_offset)
        self.text, self.name, self.known, self.rest = text, name, known, rest

    def message(self) -> str:
        """Return the sentence for the model."""
        return self.text + nearest(self.name, self.known) + self.rest


def rendered(found: Iterable[Problem]) -> list[tuple[int, str]]:
    """Return the lines and messages of the first problems; the same problem is reported once."""
    first: dict[str, Problem] = {}
    for problem in sorted(found, key=lambda problem: problem.place):
        first.setdefault(problem.text, problem)
    return [(problem.place[0], problem.message()) for problem in list(first.values())[:MOST_PROBLEMS]]


def nearest(name: str, names: Iterable[str]) -> str:
    """Return the end of a message about a wrong name: the known name that is most like it, and others very like it."""
    known = {other[:MOST_TEXT]: other for other in names}
    near = difflib.get_close_matches(name[:MOST_TEXT], known, 3)
    near = near[:1] + difflib.get_close_matches(name[:MOST_TEXT], near[1:], 2, 0.75)
    return f"; nearest: {listed(known[other] for other in near)}" if near else ""


def listed(names: Iterable[str]) -> str:
    """Return the first of the known names for a message."""
    known = [short(name) for name in names]
    return ", ".join(known[:MOST_NAMES]) + (", …" if len(known) > MOST_NAMES else "")


def short(name: str) -> str:
    """Return the first `MOST_TEXT` characters of a name."""
    return name if len(name) <= MOST_TEXT else name[: MOST_TEXT - 1] + "…"
