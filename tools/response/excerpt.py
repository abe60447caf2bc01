"""Excerpts of a JSON value: JSON text in a bounded number of characters, with a mark wherever something is left out.

    {"id": 7, "notes": "It was a dark and"… 4,310 more characters, "tags": ["a", "b", … 98 more items]}

An excerpt that leaves nothing out is JSON. The work is bounded by the characters, not by the size of the value.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from restgpt.tools.text.storable import storable_text

DEEPEST = 60
"""How many levels of an excerpt nest at most."""

LONGEST_NAME = 200
"""The most characters of the name of a field."""

# Characters of a string, items of a list or an object, and levels, from generous to few.
_DETAILS = (
    (1_000, 100, 12),
    (300, 40, 8),
    (200, 20, 6),
    (80, 12, 5),
    (80, 6, 4),
    (40, 4, 3),
    (40, 12, 1),
    (24, 3, 2),
    (16, 3, 1),
    (16, 0, 0),
)

_as_json = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The text of an excerpt; it `is_whole`, and JSON, if nothing was left out."""

    text: str
    is_whole: bool


class _FullError(Exception):
    """The text is longer than its room."""


class _Writer:
    """Writes one value in a room, at one level of detail."""

    def __init__(self, room: int, text: int, items: int, depth: int) -> None:
        self._left = room
        self._text, self._items, self._depth = text, items, depth
        self._parts: list[str] = []
        self.is_whole = True

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def write(self, value: Any, depth: int = 0) -> None:
        """Write a value; raises `_FullError` as soon as it does not fit."""
        if isinstance(value, str):
            self._string(value)
        elif isinstance(value, Mapping):
            self._container("{}", list(islice(value, self._items)), len(value), depth, value)
        elif isinstance(value, Sequence) and not isinstance(value, bytes):
            self._container("[]", value[: self._items], len(value), depth, None)
        else:
            self._put(_as_json(value))

    def _container(self, marks: str, shown: Sequence[Any], total: int, depth: int, fields: Any) -> None:
        noun = "items" if fields is None else "fields"
        self._put(marks[0])
        if total and depth >= self._depth:
            self.is_whole = False
            self._put(f"… {total:,} {noun}")
            shown, total = (), 0
        for number, part in enumerate(shown):
            self._put(", " if number else "")
            if fields is not None:
                self._name(part)
            self.write(part if fields is None else fields[part], depth + 1)
        if len(shown) < total:
            self.is_whole = False
            self._put(f"{', ' if shown else ''}… {total - len(shown):,} more {noun}")
        self._put(marks[1])

    def _name(self, name: Any) -> None:
        text = str(name)
        if len(text) > LONGEST_NAME:
            self.is_whole = False
            text = f"{text[:LONGEST_NAME]}…"
        self._put(f"{_as_json(text)}: ")

    def _string(self, text: str) -> None:
        if len(text) <= self._text:
            self._put(_as_json(text))
            return
        self.is_whole = False
        self._put(f"{_as_json(text[: self._text])}… {len(text) - self._text:,} more characters")

    def _put(self, text: str) -> None:
        self._left -= len(text)
        if self._left < 0:
            raise _FullError
        self._parts.append(text)


def excerpt(value: Any, room: int, *, details: Sequence[tuple[int, int, int]] = _DETAILS) -> Excerpt:
    """Write a JSON value in at most `room` characters: whole if it fits, else with the first `details` that fit."""
    for text, items, depth in ((max(0, room), max(0, room), DEEPEST), *details):
        writer = _Writer(room, text, items, depth)
        try:
            writer.write(value)
        except _FullError:
            continue
        return Excerpt(storable_text(writer.text), writer.is_whole)
    return Excerpt("…"[: max(0, room)], is_whole=False)
