"""The form in which a document shows an id: a person may say the id in another one, and it is still the same."""

import re
from collections.abc import Iterator
from typing import Any

from restgpt.specs import Operation
from restgpt.specs.docs.shape import Shape
from restgpt.specs.schemas.pattern import is_found

LEVELS = 4
"""How many levels of a body are searched for the schema of an id."""

_QUOTED = re.compile(r"['\"`‘“]([^'\"`’”\s]{3,60})['\"`’”]")
_BEFORE_DIGITS = re.compile(r"\D*")


def sayings(operation: Operation, place: str, name: str, text: str) -> list[str]:
    """Return the texts as one of which a person may have said an id: itself, and it without its documented prefix.

    There are none unless an example, a quoted text in a description, a pattern or the format `uuid` shows the form that
    the id has.
    """
    found: list[str] = []
    for schema in _schemas(operation, place, name):
        pattern = schema.get("pattern")
        is_shown = schema.get("format") == "uuid" or (isinstance(pattern, str) and is_found(pattern, text) is True)
        alike = [item for item in _examples(schema) if _outline(item) == _outline(text)]
        found += [text] if alike or is_shown else []
        prefixes = {match[0] for item in alike if (match := _BEFORE_DIGITS.match(item))}
        found += [text.removeprefix(prefix) for prefix in prefixes if prefix and text.startswith(prefix)]
    return list(dict.fromkeys(found))


def _schemas(operation: Operation, place: str, name: str) -> Iterator[dict[str, Any]]:
    """Yield the schemas of an argument, each with the example and the description of its parameter."""
    for item in operation.parameters:
        if (item.location, item.name) == (place, name):
            texts = f"{item.description} {item.schema.get('description', '')}"
            yield {**Shape(operation.document, item.schema).flat, "description": texts, "x-example": item.example}
    if place == "body" and operation.body is not None:
        yield from _inner(Shape(operation.document, operation.body.preferred.schema, request=True), name, LEVELS)


def _inner(shape: Shape, name: str, levels: int) -> Iterator[dict[str, Any]]:
    fields = shape.fields
    yield from [fields[name].flat] if name in fields else []
    inside = [*fields.values(), *([shape.items] if shape.items is not None else [])] if levels else []
    for inner in inside:
        yield from _inner(inner, name, levels - 1)


def _examples(schema: dict[str, Any]) -> list[str]:
    listed = schema.get("examples")
    given = [schema.get("example"), schema.get("x-example"), *(listed if isinstance(listed, list) else ())]
    return [str(item) for item in given if item is not None] + _QUOTED.findall(str(schema.get("description") or ""))


def _outline(text: str) -> str:
    """A text with one sign for each run of digits, of capital and of small letters."""
    return re.sub(r"[a-z]+", "a", re.sub(r"[A-Z]+", "A", re.sub(r"[0-9]+", "0", text)))
