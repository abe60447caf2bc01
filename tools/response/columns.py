"""A value in little room: all items of its list, a line for each, with as many of their plain fields as fit.

Long texts and addresses are shown only where the reader asks for their field: long texts are what a stranger may have
written to a model.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from restgpt.specs.search.stemmer import STOP_STEMS, stems
from restgpt.tools.response.page import list_of

LONGEST, LONG = 300, 60
"""The most characters of a text that is asked for, and of any other."""

MOST_NAMED = 10
"""How many items of a list inside an item are named."""

FIRST = frozenset(stems("id name title status state date"))
"""The words of the fields that come first, after those that the reader asks for."""


def columns(value: Any, room: int, *, focus: str = "") -> str:
    """Write a value of JSON in about `room` characters; the fields that words of `focus` name come first."""
    path, found = list_of(value)
    items = [item for item in found if isinstance(item, Mapping)] if isinstance(found, Sequence) else []
    wanted = set(stems(focus)) - STOP_STEMS
    if not items:
        return _fitting([value], wanted, room) if isinstance(value, Mapping) else _cut(value, room)
    beside = {name: part for name, part in value.items() if name not in path} if isinstance(value, Mapping) else {}
    head = json.dumps(_plain(beside, wanted), ensure_ascii=False) if beside else ""
    lines = _fitting(items, wanted, room - len(head))
    return "\n".join(filter(None, [head, f"{'.'.join(path) or 'items'} ({len(found)}):", lines]))


def _fitting(items: Sequence[Mapping[str, Any]], wanted: set[str], room: int) -> str:
    """Write a line for each item, with as many fields as fit, and else as many items as fit with their first fields."""
    plain = [_plain(item, wanted) for item in items]
    for count in range(max(map(len, plain)), 1, -1):
        text = "\n".join(_lines(plain, wanted, count))
        if len(text) <= room:
            return text
    shown: list[str] = []
    for line in _lines(plain, wanted, 2):
        if len(line) + 1 > room:
            return "\n".join([*shown, f"… and {len(plain) - len(shown)} more"])
        shown.append(line)
        room -= len(line) + 1
    return "\n".join(shown)


def _rank(name: str, wanted: set[str]) -> int:
    own = set(stems(name))
    return 0 if own & wanted else 1 if own & FIRST else 2


def _lines(items: Sequence[Mapping[str, Any]], wanted: set[str], count: int) -> Iterable[str]:
    for number, item in enumerate(items, 1):
        kept = set(sorted(item, key=lambda name: _rank(name, wanted))[:count])
        line = json.dumps({name: value for name, value in item.items() if name in kept}, ensure_ascii=False)
        yield f"{number}. {line}" if len(items) > 1 else line


def _plain(item: Mapping[str, Any], wanted: set[str]) -> dict[str, Any]:
    """Return the plain fields of an object; of an object or a list in it, the names and ids."""
    found: dict[str, Any] = {}
    for name, value in item.items():
        is_wanted = bool(set(stems(name)) & wanted)
        if isinstance(value, str) and (len(value) > LONG or "/" in value) and not is_wanted:
            continue
        short = _short(value)
        # What an earlier field says already, such as a title in its own language, takes room from others.
        if short not in ([], {}, None, "") and not (isinstance(short, str) and short in found.values()):
            found[name] = short
    return found


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return _cut(value, LONGEST)
    if isinstance(value, Mapping):
        return {name: part for name, part in value.items() if name in ("id", "name", "title")}
    if isinstance(value, list):
        named = [item.get("name") or item.get("title") if isinstance(item, Mapping) else item for item in value]
        return [_short(part) for part in named if isinstance(part, str | int | float)][:MOST_NAMED]
    return value


def _cut(value: Any, room: int) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= room else f"{text[:room]}…"
