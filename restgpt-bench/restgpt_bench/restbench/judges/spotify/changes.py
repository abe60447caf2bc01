"""Lists the differences between two states, in lines that a person can read."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any


def changes(before: Any, after: Any, *, place: str = "") -> list[str]:
    """One line per difference between two JSON values; empty if they are equal.

    Records of a list are paired by their `id`; other items of a list are said to be gone, new or in another order.
    """
    if before == after:
        return []
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        names = [*before, *(name for name in after if name not in before)]
        return [line for name in names for line in changes(before.get(name), after.get(name), place=_at(place, name))]
    if isinstance(before, Sequence) and isinstance(after, Sequence) and not isinstance(before, str):
        if _are_records(before) and _are_records(after):
            return _record_changes(before, after, place)
        return _item_changes(before, after, place)
    return [f"{place}: {before!r} became {after!r}"]


def _at(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _are_records(items: Sequence[Any]) -> bool:
    return all(isinstance(item, Mapping) and "id" in item for item in items)


def _record_changes(before: Sequence[Any], after: Sequence[Any], place: str) -> list[str]:
    old, new = ({item["id"]: item for item in items} for items in (before, after))
    lines = [f"{place}: gone is {_title(old[key])}" for key in old if key not in new]
    lines += [f"{place}: new is {_title(new[key])}" for key in new if key not in old]
    for key in old:
        if key in new:
            lines += changes(old[key], new[key], place=f"{place}[{_title(old[key])}]")
    return lines or [f"{place}: in another order"]


def _item_changes(before: Sequence[Any], after: Sequence[Any], place: str) -> list[str]:
    old, new = Counter(map(str, before)), Counter(map(str, after))
    lines = [f"{place}: gone is {item}" for item in (old - new).elements()]
    lines += [f"{place}: new is {item}" for item in (new - old).elements()]
    return lines or [f"{place}: in another order"]


def _title(record: Mapping[str, Any]) -> str:
    return str(record.get("name", record["id"]))
