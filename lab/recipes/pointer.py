"""Patterns of places in JSON: pointers in which `*` means each item of an array."""

from collections.abc import Iterator
from typing import Any


def split(pattern: str) -> tuple[str, ...]:
    """Return the names of a pattern."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pattern.split("/")[1:])


def joined(*names: str) -> str:
    """Return the pattern of some names."""
    return "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in names)


def fields(value: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield the pattern of each field of the objects in a value, once, with a value of the field."""
    seen: set[str] = set()
    for pattern, item in _fields(value, above):
        if pattern not in seen:
            seen.add(pattern)
            yield pattern, item


def _fields(value: Any, above: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield joined(*above, name), item
            yield from _fields(item, (*above, name))
    elif isinstance(value, list):
        for item in value:
            yield from _fields(item, (*above, "*"))


def holders(value: Any, pattern: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each object that has the field of a pattern, with the field's name."""
    *above, name = split(pattern)
    for holder in _reached(value, above):
        if isinstance(holder, dict) and name in holder:
            yield holder, name


def _reached(value: Any, names: list[str]) -> Iterator[Any]:
    if not names:
        yield value
    elif names[0] == "*":
        for item in value if isinstance(value, list) else []:
            yield from _reached(item, names[1:])
    elif isinstance(value, dict) and names[0] in value:
        yield from _reached(value[names[0]], names[1:])
