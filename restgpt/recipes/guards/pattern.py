"""Patterns: JSON pointers with `*` for any index of an array and any key of a map, and the places where they match."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from restgpt.specs.reading.tree import parse_pointer, places_in

MOST_PLACES = 200_000
"""The maximum number of values that a search for one pattern, or for the scalars of one value, looks at."""

ANY = "*"
"""The part of a pattern that stands for any index or key."""

Path = tuple[str | int, ...]

_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}


def places(body: Any, pattern: str) -> Iterator[tuple[Path, Any]]:
    """Yield the paths and values in a JSON value that match a pattern, in the order of the value."""
    parts = parse_pointer(pattern)
    waiting: list[Iterator[tuple[Path, Any]]] = [iter([((), body)])]
    left = MOST_PLACES
    while waiting and left > 0:
        path, value = next(waiting[-1], (None, None))
        if path is None:
            waiting.pop()
            continue
        left -= 1
        if len(path) == len(parts):
            yield path, value
            continue
        part = parts[len(path)]
        if isinstance(value, Mapping) and part in value:
            waiting.append(iter([((*path, part), value[part])]))
        elif part == ANY:
            waiting.append(_children(path, value))


def scalars(value: Any) -> Iterator[tuple[Path, Any]]:
    """Yield the path and value of every scalar in a JSON value, in its order; null is left out."""
    for path, item in islice(places_in(value), MOST_PLACES):
        if item is not None and not isinstance(item, Mapping | list | tuple):
            yield tuple(path), item


def _children(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    """Yield what is directly in an object or an array; nothing for a scalar."""
    if isinstance(value, Mapping):
        yield from (((*path, str(key)), item) for key, item in value.items())
    elif isinstance(value, list):
        yield from (((*path, number), item) for number, item in enumerate(value))


def type_of(value: Any) -> str:
    """Return the JSON type of a value."""
    return _TYPES.get(type(value), "null")
