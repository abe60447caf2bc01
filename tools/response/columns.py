"""A value in little room: all items of its list, a line for each, with as many of their plain fields as fit."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from restgpt.specs.search.stemmer import STOP_STEMS, stems
from restgpt.tools.response.page import list_of

LONGEST, SHORTEST = 300, 60
"""The most characters of a text: of the only object, and of an item of a list."""

NAMES = frozenset({"id", "name", "titl", "status", "stat", "date"})
"""The stems of the fields that come first, after those that the reader asks for."""


def columns(value: Any, room: int, *, focus: str = "") -> str:
    """Write a value of JSON in about `room` characters; the fields that words of `focus` name come first."""
    path, found = list_of(value)
    items = [item for item in found if isinstance(item, Mapping)] if isinstance(found, Sequence) else []
    wanted = set(stems(focus)) - STOP_STEMS
    if not items:
        return _fitting([value], wanted, room, LONGEST) if isinstance(value, Mapping) else _text(value, room)
    beside = value if isinstance(value, Mapping) else {}
    head = json.dumps(_plain(beside, SHORTEST), ensure_ascii=False) if beside else ""
    place = ".".join(path) or "items"
    lines = _fitting(items, wanted, room - len(head), SHORTEST)
    return "\n".join(filter(None, [head, f"{place} ({len(found)}):", lines]))


def _fitting(items: Sequence[Mapping[str, Any]], wanted: set[str], room: int, longest: int) -> str:
    """Write a line for each item, with as many fields as fit, and else as many items as fit with their first fields."""
    plain = [_plain(item, longest) for item in items]
    names = dict.fromkeys(name for item in plain for name in item)
    ranked = sorted(names, key=lambda name: _rank(name, wanted))
    for count in range(len(ranked), 1, -1):
        text = "\n".join(_lines(plain, set(ranked[:count])))
        if len(text) <= room:
            return text
    shown: list[str] = []
    for line in _lines(plain, set(ranked[:2])):
        if len(line) + 1 > room:
            return "\n".join([*shown, f"… and {len(plain) - len(shown)} more"])
        shown.append(line)
        room -= len(line) + 1
    return "\n".join(shown)


def _rank(name: str, wanted: set[str]) -> int:
    own = set(stems(name))
    return 0 if own & wanted else 1 if own & NAMES else 2


def _lines(items: Iterable[Mapping[str, Any]], names: set[str]) -> Iterable[str]:
    return (
        json.dumps({name: value for name, value in item.items() if name in names}, ensure_ascii=False) for item in items
    )


def _plain(item: Mapping[str, Any], longest: int) -> dict[str, Any]:
    """Return the plain fields of an object, and of a list of objects their names."""
    found = {name: _short(value, longest) for name, value in item.items()}
    return {name: value for name, value in found.items() if value not in ([], {}, None, "")}


def _short(value: Any, longest: int) -> Any:
    if isinstance(value, str):
        return _text(value, longest)
    if isinstance(value, Mapping):
        return {name: part for name, part in value.items() if name in ("id", "name", "title")}
    if isinstance(value, list):
        named = [item.get("name") or item.get("title") if isinstance(item, Mapping) else item for item in value]
        return [part for part in named if isinstance(part, str | int | float)][:10]
    return value


def _text(value: Any, room: int) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= room else f"{text[:room]}…"
