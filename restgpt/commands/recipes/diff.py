"""`restgpt recipe diff`: the differences between two recipes, or two versions of one."""

import json
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from typing import Any

from restgpt.commands.failure import UsageError
from restgpt.recipes.book import RecipeBook
from restgpt.recipes.recipe import Recipe

MOST_SHOWN = 100
"""The number of characters of a value that a line shows."""

_NOT_COMPARED = ("recipe", "name", "version", "program")


def compared(book: RecipeBook, name: str, first: str | None, second: str | None) -> tuple[Recipe, Recipe]:
    """Return the two recipes that the arguments name; raises `UsageError` if there is only one version."""
    if first is None:
        versions = book.versions(name)
        if len(versions) < 2:
            raise UsageError(
                f"The recipe {name} has only version {versions[0]}. Name another: restgpt recipe diff {name} OTHER"
            )
        return book.load(name, versions[-2]), book.load(name, versions[-1])
    one, other = _version(first), _version(second)
    if one is None:
        if second is not None:
            raise UsageError(f"{first!r} is no version. Give two versions of {name}, or one other recipe.")
        return book.load(name), book.load(first)
    if second is not None and other is None:
        raise UsageError(f"{second!r} is no version. Give a number, such as 2.")
    return book.load(name, one), book.load(name, other)


def _version(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) < 10 else None


def diff_document(one: Recipe, other: Recipe) -> dict[str, Any]:
    """Return the differences as JSON."""
    return {
        "from": {"name": one.name, "version": one.version},
        "to": {"name": other.name, "version": other.version},
        "program": _program(one, other),
        "fields": [{"field": place, "from": before, "to": after} for place, before, after in _fields(one, other)],
    }


def diff_text(one: Recipe, other: Recipe) -> str:
    """Return the differences as text."""
    fields = [_field_line(*change) for change in _fields(one, other)]
    lines = [*_program(one, other), *fields]
    return "\n".join(lines) or f"{_named(one)} and {_named(other)} do not differ."


def _named(recipe: Recipe) -> str:
    return f"{recipe.name} {recipe.version}"


def _program(one: Recipe, other: Recipe) -> list[str]:
    lines = unified_diff(one.program.splitlines(), other.program.splitlines(), _named(one), _named(other), lineterm="")
    return list(lines)


_ABSENT = object()


def _fields(one: Recipe, other: Recipe) -> Iterator[tuple[str, Any, Any]]:
    """Yield each other field that differs, with both values; a value that is not there is null."""
    before, after = dict(_leaves(_comparable(one), "")), dict(_leaves(_comparable(other), ""))
    for place in {**before, **after}:
        old, new = before.get(place, _ABSENT), after.get(place, _ABSENT)
        if old is _ABSENT or new is _ABSENT or json.dumps(old) != json.dumps(new):
            yield place, None if old is _ABSENT else old, None if new is _ABSENT else new


def _comparable(recipe: Recipe) -> dict[str, Any]:
    """Return the parts of a recipe as JSON, its operations by their functions, so that an insertion moves none."""
    values = {key: value for key, value in recipe.to_json().items() if key not in _NOT_COMPARED}
    operations = {item["function"]: item for item in values["operations"]}
    return {**values, "operations": operations, "apis": {item["name"]: item for item in values["apis"]}}


def _leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, part in value.items():
            yield from _leaves(part, f"{place}.{key}" if place else key)
    elif isinstance(value, list) and any(isinstance(part, dict | list) for part in value):
        for number, part in enumerate(value, 1):
            yield from _leaves(part, f"{place}[{number}]")
    else:
        yield place, value


def _field_line(place: str, before: Any, after: Any) -> str:
    return f"{place}: {_shown(before)} → {_shown(after)}"


def _shown(value: Any) -> str:
    text = "-" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
