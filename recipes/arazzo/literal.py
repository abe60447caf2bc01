"""Values of JSON as Python literals: all text of a document that a program holds is written here."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from restgpt.tools.sandbox.guest.expression import embedded, is_expression, is_selector

WIDTH = 110
"""The maximum number of characters of a line, where the value can be broken."""


def literal(value: Any) -> str:
    """Return a JSON value as a Python literal. Raises ValueError for any other value."""
    if value is None or isinstance(value, bool | str | int):
        return repr(value)
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise ValueError("a key is no text: write it in quotes")
        return "{" + ", ".join(f"{key!r}: {literal(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(literal, value)) + "]"
    raise ValueError(f"{str(value)[:80]!r} is no value of JSON: write it as a text in quotes")


def is_plain(value: Any) -> bool:
    """Return whether a template is a value without expressions."""
    if isinstance(value, Mapping):
        return not is_selector(value) and all(map(is_plain, value.values()))
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    return not (isinstance(value, str) and (is_expression(value) or embedded(value)))


def laid_out(value: Any, lead: str, indent: int) -> list[str]:
    """Return the lines of a literal behind some text: one line if it fits, else one for each part."""
    line = f"{lead}{literal(value)},"
    if len(line) + indent <= WIDTH or not isinstance(value, dict | list) or not value:
        return [line]
    is_object = isinstance(value, dict)
    pairs: Iterable[tuple[str, Any]] = (
        ((f"{key!r}: ", part) for key, part in value.items())
        if isinstance(value, dict)
        else (("", part) for part in value)
    )
    inner = [f"    {text}" for key, part in pairs for text in laid_out(part, key, indent + 4)]
    return [f"{lead}{'{' if is_object else '['}", *inner, f"{'}' if is_object else ']'},"]


def scalars(value: Any) -> Iterator[Any]:
    """Yield the scalars of a template that are no expressions."""
    if isinstance(value, Mapping):
        for part in value.values():
            yield from scalars(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from scalars(part)
    elif value is not None and not (isinstance(value, str) and (is_expression(value) or embedded(value))):
        yield value
