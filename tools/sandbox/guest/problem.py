"""The problems that the check of a program reports, and the words of their messages.

Standard library only: the host sends this module to the worker.
"""

from __future__ import annotations

import difflib

TYPE_CHECKING = False  # a name for type checkers; the import of `typing` would cost every worker milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

MOST_PROBLEMS, MOST_NAMES, MOST_TEXT = 20, 12, 80  # of a check; of a message: listed names, characters of a value
MOST_COMPARED = 50  # names that difflib compares, those that have most parts of three letters in common


class Problem:
    """A problem; its message is written only if it is among the first of its program and no other has its key."""

    __slots__ = ("column", "key", "line", "text")

    def __init__(self, node: Any, text: str | Callable[[], str], *key: object) -> None:
        self.line: int = getattr(node, "lineno", 0)
        self.column: int = getattr(node, "col_offset", 0)
        self.text, self.key = text, key or (text,)


def rendered(found: list[Problem]) -> list[tuple[int, str]]:
    """Return the first problems with their messages; the same problem is reported once."""
    messages: dict[str, int] = {}
    keys: set[tuple[object, ...]] = set()
    for problem in sorted(found, key=lambda problem: (problem.line, problem.column)):
        if problem.key in keys:
            continue
        keys.add(problem.key)
        messages.setdefault(problem.text if isinstance(problem.text, str) else problem.text(), problem.line)
        if len(messages) >= MOST_PROBLEMS:
            break
    return sorted((line, text) for text, line in messages.items())


def near_names(name: str, names: Iterable[str]) -> list[str]:
    """Return the known name that is most like `name`, and up to two more that are very like it, best first."""
    known = {other[:MOST_TEXT]: other for other in sorted(set(names))}
    if len(known) > MOST_COMPARED:
        parts = [name[start : start + 3] for start in range(min(len(name), MOST_TEXT) - 2)]
        ranked = sorted(known, key=lambda other: -sum(part in other for part in parts))
        known = {other: known[other] for other in ranked[:MOST_COMPARED]}
    near = difflib.get_close_matches(name[:MOST_TEXT], known, 3)
    return [known[other] for other in near[:1] + difflib.get_close_matches(name[:MOST_TEXT], near[1:], 2, 0.75)]


def nearest(name: str, names: Iterable[str]) -> str:
    """Return the end of a message about a wrong name: the known name that is most like it, if one is."""
    near = near_names(name, names)
    return f"; nearest: {short(near[0])!r}" if near else ""


def listed(names: Iterable[str]) -> str:
    """Return the first of the known names for a message."""
    known = [short(name) for name in names]
    return ", ".join(known[:MOST_NAMES]) + (", …" if len(known) > MOST_NAMES else "")


def short(value: object) -> str:
    """Return a value as a text of at most `MOST_TEXT` characters."""
    text = value if isinstance(value, str) else json_text(value)
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"


def json_text(value: Any) -> str:
    """Return a constant as the text that it has in a request."""
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value).lower()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)[:1000] if not isinstance(value, int) or abs(value) < 10**1000 else "a long number"
