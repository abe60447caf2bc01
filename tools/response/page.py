"""Pages of a stored body: a JSON pointer (RFC 6901) names a value in it, a page number a part of that value.

A list has pages of items, an object of fields, a string and a text of characters, binary data of bytes as Base64. Each
page is bounded. Where an item does not fit it is shortened with a mark, and its own pointer gives the rest, so that
everything in a body can be read.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from restgpt.specs.reading.tree import format_pointer, parse_pointer
from restgpt.tools.errors import RepairableError
from restgpt.tools.response.content import UNREAD
from restgpt.tools.response.excerpt import excerpt
from restgpt.tools.response.parts import json_value
from restgpt.tools.response.store import Body
from restgpt.tools.text.storable import storable_text

PageKind = Literal["list", "object", "string", "value", "text", "binary", "empty"]

ROOM = 8_000
"""The most characters of the content of a page."""

ITEMS, MOST_ITEMS = 20, 1_000
"""How many items or fields a page has, and how many it can have."""

NAMES, NAMES_ROOM = 20, 600
"""How many names of fields an error lists, and in how many characters."""


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


def read_page(body: Body, pointer: str = "", page: int = 1, *, size: int | None = None, room: int = ROOM) -> Page:
    """Return a page of the value at a JSON pointer, at most `room` characters of it.

    `size` is the number of items or fields of a page, or of characters or bytes. Raises `NoSuchPartError` with the
    names or the number of parts that are there.
    """
    if not body.size:
        return _checked(Page(pointer, page, 1, "empty", ""))
    value = UNREAD if body.is_binary else json_value(body)
    if value is UNREAD:
        if parse_pointer(pointer):
            kind = body.media_type or body.kind
            raise NoSuchPartError(f"The body is {kind} and not read as JSON: read it without a pointer.")
        return _bytes(body, page, size, room) if body.is_binary else _text("text", "", body.text(), page, size, room)
    return _value(_at(value, pointer), format_pointer(parse_pointer(pointer)), page, size, room)


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


def _value(value: Any, pointer: str, page: int, size: int | None, room: int) -> Page:
    if isinstance(value, str):
        return _text("string", pointer, value, page, size, room)
    if isinstance(value, Mapping):
        return _parts(value, "object", pointer, page, size, room)
    if isinstance(value, Sequence):
        return _parts(value, "list", pointer, page, size, room)
    written = excerpt(value, room)
    return _checked(Page(pointer, page, 1, "value", written.text, 0, 1, 1, not written.is_whole, written.is_whole))


def _parts(value: Any, kind: Literal["list", "object"], pointer: str, page: int, size: int | None, room: int) -> Page:
    """Return a page of items or of fields: as JSON if all fit, else a line for each, in which some are shortened."""
    size, total = min(max(1, size or ITEMS), MOST_ITEMS), len(value)
    count = max(1, -(-total // size))
    start = (page - 1) * size
    stop = min(start + size, total)
    place = _checked(Page(pointer, page, count, kind, "", start, stop, total))
    names: list[Any] = list(value)[start:stop] if kind == "object" else list(range(start, stop))
    found = [value[name] for name in names]
    whole = excerpt(dict(zip(names, found, strict=True)) if kind == "object" else found, room, details=())
    if whole.is_whole:
        return replace(place, content=whole.text, is_json=True)
    lines: list[str] = []
    for number, (name, item) in enumerate(zip(names, found, strict=True)):
        head = f"{excerpt(name, 200).text}: "
        each = (room - sum(len(line) + 1 for line in lines)) // (len(names) - number)
        lines.append(f"{head}{excerpt(item, max(24, each - len(head) - 1)).text}")
    return replace(place, content="\n".join(lines)[:room], is_cut=True)


def _text(kind: Literal["string", "text"], pointer: str, text: str, page: int, size: int | None, room: int) -> Page:
    size, total = min(max(1, size or room), room), len(text)
    start = (page - 1) * size
    stop = min(start + size, total)
    place = _checked(Page(pointer, page, max(1, -(-total // size)), kind, "", start, stop, total))
    return replace(place, content=storable_text(text[start:stop]))


def _bytes(body: Body, page: int, size: int | None, room: int) -> Page:
    most = max(3, room // 4 * 3)
    size, total = min(max(1, size or most), most), body.size
    start = (page - 1) * size
    stop = min(start + size, total)
    place = _checked(Page("", page, max(1, -(-total // size)), "binary", "", start, stop, total))
    return replace(place, content=base64.b64encode(body.raw[start:stop]).decode("ascii"))


def _checked(page: Page) -> Page:
    if not 1 <= page.number <= page.count:
        pages = "1 page" if page.count == 1 else f"the pages 1 to {page.count:,}"
        raise NoSuchPartError(f"{page.pointer or 'The body'} has {pages}, no page {page.number}.")
    return page
