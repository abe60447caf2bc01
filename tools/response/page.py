"""The parts of a stored body that a reader sees: pages of any value in it, and a preview, which is its first part.

A JSON pointer (RFC 6901) names a value, a page number a part of it. A list has pages of items, an object of fields, a
string and a text of characters, binary data of bytes as Base64. Each page is bounded. What does not fit is an excerpt
with a mark wherever something is left out, and its own pointer gives the rest, so that everything can be read:

    {"id": 7, "notes": "It was a dark and"… 4,310 more characters, "tags": ["a", "b", … 98 more items]}

A preview has the shape of the body with counts, and the first items of its list, whole:

    Shape: {results: [200,000 × {id: int, name: str}], total: int = 200000}
    /results/0: {"id": 1, "name": "first"}

Beside the parsing of the body, the work is bounded by the characters, not by the size of the body.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

from restgpt.specs.docs.documentation import TOKEN
from restgpt.specs.reading.tree import format_pointer, parse_pointer
from restgpt.tools.errors import RepairableError
from restgpt.tools.response.content import UNREAD, Body
from restgpt.tools.response.sketch import head_of_text, sketch, sketch_body
from restgpt.tools.text.storable import storable_text

_Many = Sequence[Any] | Mapping[str, Any]
PageKind = Literal["list", "object", "string", "value", "text", "binary", "empty"]

ROOM = 8_000
"""The most characters of the content of a page."""

ITEMS, MOST_ITEMS = 20, 1_000
"""How many items or fields a page has, and how many it can have."""

NAMES, NAMES_ROOM = 20, 600
"""How many names of fields an error lists, and in how many characters."""

BUDGET = 1_000
"""The tokens of a preview."""

SHAPE_SHARE = 0.35
"""The part of the room of a preview for the shape."""

LIST_DEPTH, LIST_FIELDS = 3, 60
"""How deep in objects, and among how many fields of each, the list of a body is looked for."""

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


class NoSuchPartError(RepairableError):
    """The body has no value at the pointer, or the value has no such page."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a value: its `content`, and its place.

    `start` and `stop` are the places of the first part and after the last one among `total` parts, which are items,
    fields, characters or bytes. `content` is JSON if `is_json`; for binary data it is Base64. `is_cut` says that some
    item of the page is shortened.
    """

    pointer: str
    number: int
    count: int
    kind: PageKind
    content: str
    start: int = 0
    stop: int = 0
    total: int = 0
    is_cut: bool = False
    is_json: bool = False

    @property
    def next(self) -> int | None:
        """The number of the next page; None after the last one."""
        return self.number + 1 if self.number < self.count else None

    @property
    def previous(self) -> int | None:
        """The number of the page before; None before the first one."""
        return self.number - 1 if self.number > 1 else None


@dataclass(frozen=True, slots=True)
class BodyPreview:
    """The text of a preview; `is_whole` if it is the whole body.

    `left_out` counts what is not shown. `pointer` and `page` are the place where reading goes on.
    """

    text: str
    is_whole: bool = False
    left_out: str = ""
    pointer: str = ""
    page: int = 1


def read_page(body: Body, pointer: str = "", page: int = 1, *, size: int | None = None, room: int = ROOM) -> Page:
    """Return a page of the value at a JSON pointer, at most `room` characters of it.

    `size` is the number of items or fields of a page, or of characters or bytes. Raises `NoSuchPartError` with the
    names or the number of parts that are there.
    """
    if not body.size:
        return _place("empty", pointer, page, 1, 0)
    value = body.json_value
    kind: PageKind = "string"
    if value is not UNREAD:
        value, pointer = _at(value, pointer), format_pointer(parse_pointer(pointer))
    elif parse_pointer(pointer):
        raise NoSuchPartError(f"The body is {body.media_type or body.kind}, not JSON: read it without a pointer.")
    elif body.is_binary:
        most = max(3, room // 4 * 3)
        place = _place("binary", "", page, min(size or most, most), body.size)
        return replace(place, content=base64.b64encode(body.raw[place.start : place.stop]).decode("ascii"))
    else:
        value, pointer, kind = body.text(), "", "text"
    if isinstance(value, str):
        place = _place(kind, pointer, page, min(size or room, room), len(value))
        return replace(place, content=storable_text(value[place.start : place.stop]))
    if isinstance(value, Mapping | Sequence):
        kind = "object" if isinstance(value, Mapping) else "list"
        return _with_parts(_place(kind, pointer, page, min(size or ITEMS, MOST_ITEMS), len(value)), value, room)
    written = excerpt(value, room)
    place = _place("value", pointer, page, 1, 1)
    return replace(place, content=written.text, is_cut=not written.is_whole, is_json=written.is_whole)


def _place(kind: PageKind, pointer: str, page: int, size: int, total: int) -> Page:
    """A page without content; raises `NoSuchPartError` if `total` parts, `size` on each page, have no such page."""
    size = max(1, size)
    count = max(1, -(-total // size))
    if not 1 <= page <= count:
        pages = "1 page" if count == 1 else f"the pages 1 to {count:,}"
        raise NoSuchPartError(f"{pointer or 'The body'} has {pages}, no page {page}.")
    return Page(pointer, page, count, kind, "", (page - 1) * size, min(page * size, total), total)


def _with_parts(place: Page, value: Any, room: int) -> Page:
    """A page with its items or fields: as JSON if all fit, else a line for each, in which some are shortened."""
    names = list(value)[place.start : place.stop] if place.kind == "object" else range(place.start, place.stop)
    parts = {name: value[name] for name in names}
    whole = excerpt(parts if place.kind == "object" else list(parts.values()), room, details=())
    if whole.is_whole:
        return replace(place, content=whole.text, is_json=True)
    lines: list[str] = []
    for number, (name, item) in enumerate(parts.items()):
        head = f"{excerpt(name, 200).text}: "
        each = (room - sum(len(line) + 1 for line in lines)) // (len(parts) - number)
        lines.append(f"{head}{excerpt(item, max(24, each - len(head) - 1)).text}")
    return replace(place, content="\n".join(lines)[:room], is_cut=True)


def _at(value: Any, pointer: str) -> Any:
    """Return the value at a pointer."""
    tokens = parse_pointer(pointer)
    for number, token in enumerate(tokens):
        here = format_pointer(tokens[:number]) or "the body"
        if isinstance(value, Mapping):
            if token not in value:
                raise NoSuchPartError(f"{here} has no field {token[:80]!r}. {_names(value)}")
            value = value[token]
        elif isinstance(value, Sequence) and not isinstance(value, str):
            if not (token.isdecimal() and token.isascii() and len(token) < 12 and int(token) < len(value)):
                raise NoSuchPartError(f"{here} is a list of {len(value):,} items, counted from 0: no {token[:80]!r}.")
            value = value[int(token)]
        else:
            raise NoSuchPartError(f"{here} is no object and no list, so that it has no part {token[:80]!r}.")
    return value


def _names(value: Mapping[str, Any]) -> str:
    found = excerpt(list(value)[:NAMES], NAMES_ROOM).text[1:-1]
    more = len(value) - NAMES
    return f"It has {found}{f' and {more:,} more' if more > 0 else ''}." if value else "It has no fields."


def preview_body(body: Body, *, budget: int = BUDGET) -> BodyPreview:
    """Preview a body in at most `budget` tokens of four characters."""
    if not body.size:
        return BodyPreview("no body", is_whole=True)
    if body.is_binary:
        text = sketch_body(body)
        return BodyPreview(text[: budget * TOKEN], left_out=f"all {body.size:,} bytes")
    value = body.json_value
    if value is UNREAD:
        return preview_text(body.text(), budget=budget, head=head_of_text(body.kind, body.raw))
    whole = excerpt(value, budget * TOKEN, details=())
    return BodyPreview(whole.text, is_whole=True) if whole.is_whole else _preview_value(value, budget * TOKEN)


def preview_text(text: str, *, budget: int = BUDGET, head: str = "") -> BodyPreview:
    """Preview a text, such as the report of a program, in at most `budget` tokens; `head` is above one that is cut."""
    room = budget * TOKEN
    if len(text) <= room:
        return BodyPreview(storable_text(text), is_whole=True)
    shown = storable_text(f"{head}{text}"[:room])
    return BodyPreview(shown, left_out=f"{len(text) - len(shown) + len(head):,} of {len(text):,} characters")


def _preview_value(value: Any, room: int) -> BodyPreview:
    """The preview of a value that does not fit: its shape, and the first items of its list or an excerpt."""
    shape = f"Shape: {sketch(value, int(room * SHAPE_SHARE) // TOKEN)}"
    path, items = list_of(value)
    pointer, room_left = format_pointer(path), room - len(shape) - 1
    shown = _first_items(items, pointer, room_left)
    left_out = [f"{len(items) - len(shown):,} of {len(items):,} items of the list"] if items else []
    left_out += [] if shown else ["the parts marked with …"]
    return BodyPreview(
        "\n".join([shape, *(shown or [excerpt(value, room_left).text])])[:room],
        left_out=", and ".join(left_out),
        pointer=pointer,
        # The page that has the first item which is not shown.
        page=min(len(shown), max(len(items) - 1, 0)) // ITEMS + 1,
    )


def _first_items(items: _Many, pointer: str, room: int) -> list[str]:
    """The first items, a line for each, as long as they fit whole."""
    lines: list[str] = []
    for name, item in items.items() if isinstance(items, Mapping) else enumerate(items):
        head = f"{pointer}{format_pointer([str(name)])}: "
        found = excerpt(item, room - len(head) - 1, details=())
        if not found.is_whole:
            break
        lines.append(f"{head}{found.text}")
        room -= len(lines[-1]) + 1
    return lines


def list_of(value: Any) -> tuple[tuple[str, ...], _Many]:
    """The path of the longest list near the top of a value, and the list; an empty one if there is none.

    An object with more than `LIST_FIELDS` names counts as a list: its names are keys.
    """
    best: tuple[tuple[str, ...], _Many] = ((), ())
    waiting: list[tuple[tuple[str, ...], Any]] = [((), value)]
    for path, node in waiting:
        if isinstance(node, Mapping) and len(node) <= LIST_FIELDS:
            waiting += [((*path, str(name)), node[name]) for name in node if len(path) < LIST_DEPTH]
        elif isinstance(node, Mapping | Sequence) and not isinstance(node, str) and len(node) > len(best[1]):
            best = (path, node)
    return best


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
