"""A preview of a stored body in a bounded number of characters: its shape with counts, and its first items whole.

    Shape: {results: [200,000 × {id: int, name: str}], total: int = 200000}
    Besides the list: {"results": … 200,000 items, "total": 200000}
    /results/0: {"id": 1, "name": "first"}
    /results/1: {"id": 2, "name": "second"}

A body that fits is the preview as it is. What is left out is counted, so that a reader knows what it has not seen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from restgpt.specs.reading.tree import format_pointer
from restgpt.tools.request.body import kind_of
from restgpt.tools.response.content import UNREAD, Content
from restgpt.tools.response.excerpt import excerpt
from restgpt.tools.response.page import ITEMS
from restgpt.tools.response.parts import json_value
from restgpt.tools.response.sketch import CHARACTERS_PER_TOKEN, sketch
from restgpt.tools.response.store import Body, describe
from restgpt.tools.text.storable import storable_text

BUDGET = 1_000
"""The tokens of a preview."""

SHAPE_SHARE, BESIDE_SHARE = 0.35, 0.15
"""The parts of the room for the shape, and for the fields beside the list."""

LIST_DEPTH, LIST_FIELDS = 3, 60
"""How deep in objects, and among how many fields of each, the list of a body is looked for."""


_Many = Sequence[Any] | Mapping[str, Any]


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


def preview_body(body: Body, *, budget: int = BUDGET) -> BodyPreview:
    """Preview a body in at most `budget` tokens of four characters."""
    room = budget * CHARACTERS_PER_TOKEN
    if not body.size:
        return BodyPreview("no body", is_whole=True)
    if body.is_binary:
        content = Content("binary", body.raw)
        return BodyPreview(describe(content, body.media_type)[:room], left_out=f"all {body.size:,} bytes")
    value = json_value(body)
    return _of_text(body, room) if value is UNREAD else _of_value(value, room)


def preview_text(text: str, *, budget: int = BUDGET) -> BodyPreview:
    """Preview a text, such as the report of a program, in at most `budget` tokens of four characters."""
    return _cut(text, len(text), budget * CHARACTERS_PER_TOKEN)


def _cut(text: str, total: int, room: int, head: str = "") -> BodyPreview:
    if total <= room:
        return BodyPreview(storable_text(text), is_whole=True)
    shown = storable_text(f"{head}{text}"[:room])
    left = total - (len(shown) - len(head))
    return BodyPreview(shown, left_out=f"{left:,} of {total:,} characters")


def _of_text(body: Body, room: int) -> BodyPreview:
    text = body.text()
    lines = text.count("\n") + (not text.endswith("\n"))
    head = f"table of {lines:,} lines\n" if body.kind == "csv" else f"{body.kind}, {lines:,} lines\n"
    if body.kind in ("json", "json-lines") or kind_of(body.media_type) == "json":
        head = "JSON with too many parts to count, read as text:\n"
    return _cut(text, len(text), room, head)


def _of_value(value: Any, room: int) -> BodyPreview:
    whole = excerpt(value, room, details=())
    if whole.is_whole:
        return BodyPreview(whole.text, is_whole=True)
    shape = f"Shape: {sketch(value, int(room * SHAPE_SHARE) // CHARACTERS_PER_TOKEN)}"
    path, items = _list_of(value)
    pointer = format_pointer(path)
    if not items:
        shown = excerpt(value, room - len(shape) - 1).text
        return BodyPreview(f"{shape}\n{shown}"[:room], left_out="the parts marked with …", pointer=pointer)
    beside = _beside(value, path, int(room * BESIDE_SHARE))
    lines = [shape, *([f"Besides the list: {beside}"] if beside else [])]
    left = room - sum(len(line) + 1 for line in lines)
    shown_items, is_cut = _first_items(items, pointer, left)
    count = len(shown_items) - is_cut
    rest = f"{len(items) - count:,} of {len(items):,} items of the list"
    # The page that has the first item which is not shown whole.
    return BodyPreview(
        "\n".join([*lines, *shown_items])[:room],
        left_out=f"{rest}, and the parts marked with …" if is_cut else rest,
        pointer=pointer,
        page=min(count, len(items) - 1) // ITEMS + 1,
    )


def _first_items(items: _Many, pointer: str, room: int) -> tuple[list[str], bool]:
    """Return lines of the first items, whole ones as long as they fit; a first item that does not fit is cut."""
    lines: list[str] = []
    named = items.items() if isinstance(items, Mapping) else enumerate(items)
    for name, item in named:
        head = f"{pointer}{format_pointer([str(name)])}: "
        left = max(0, room - len(head) - 1)
        found = excerpt(item, left, details=())
        if not found.is_whole:
            return (lines, False) if lines else ([f"{head}{excerpt(item, left).text}"], True)
        lines.append(f"{head}{found.text}")
        room -= len(lines[-1]) + 1
    return lines, False


def _list_of(value: Any) -> tuple[tuple[str, ...], _Many]:
    """Return the path of the longest list near the top of a value, and the list; an empty one if there is none.

    An object with more than `LIST_FIELDS` names counts as a list: its names are keys.
    """
    best: tuple[tuple[str, ...], _Many] = ((), ())
    waiting: list[tuple[tuple[str, ...], Any]] = [((), value)]
    for path, node in waiting:
        is_object = isinstance(node, Mapping)
        if is_object and len(path) < LIST_DEPTH and len(node) <= LIST_FIELDS:
            waiting += [((*path, str(name)), node[name]) for name in node]
        elif _is_many(node) and len(node) > len(best[1]):
            best = (path, node)
    return best


def _is_many(node: Any) -> bool:
    if isinstance(node, Mapping):
        return len(node) > LIST_FIELDS
    return isinstance(node, Sequence) and not isinstance(node, str | bytes)


def _beside(value: Any, path: Sequence[str], room: int) -> str:
    """Return the value without its list, in `room` characters; empty if there is nothing else."""
    rest = _without(value, path)
    return excerpt(rest, room).text if rest else ""


def _without(value: Any, path: Sequence[str]) -> Any:
    """Return an object without the list at a path, and without what holds nothing else."""
    if not path:
        return None
    rest = {name: item for name, item in value.items() if name != path[0]}
    inner = _without(value[path[0]], path[1:])
    return {**rest, path[0]: inner} if inner else rest
