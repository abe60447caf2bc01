"""Stubs: the functions of operations as JSON, in the form that the check of a program reads (`guest/check.py`)."""

from collections.abc import Callable
from itertools import islice
from typing import Any

from restgpt.specs.docs.shape import Shape
from restgpt.specs.docs.words.keyword import BODY, PAGES, body_fields, body_shape, keywords
from restgpt.specs.effect import seems_to_read
from restgpt.specs.effort import within
from restgpt.specs.operation import Operation

FIELDS_MOST = 400
"""The fields of a result with more of them are not listed, so any field may be read."""

TRUTHS_DEPTH = 3
"""How deep an answer is searched for fields that are true or false."""

STEPS_MOST = 15_000
"""How many steps one stub may take; what is not known by then is left out."""


def stub(operation: Operation, name: str, *, reads: Callable[[Operation], bool] = seems_to_read) -> dict[str, Any]:
    """Describe the function of an operation: its keywords, the fields of its body and of its result.

    `reads` tells whether the operation reads, or seems to, so that several pages of it may be asked for.
    """
    pages = [PAGES] if reads(operation) else []
    with within(STEPS_MOST, operation.document.allowance):
        body = body_shape(operation)
        return {
            "name": name,
            "keywords": {item.name: item.required for item in keywords(operation)},
            "others": [*([BODY, *body_fields(body)] if body is not None else []), *pages],
            "needs_body": operation.body is not None and operation.body.required,
            "result": _result(operation),
            "truths": sorted(_truths(operation)),
        }


def _result(operation: Operation) -> list[str] | None:
    """Return the fields of the object that every successful response is; None if others may occur."""
    successes = [status for status in operation.responses if status.startswith("2")] or ["default"]
    media = [response.preferred for status in successes if (response := operation.responses.get(status))]
    contents = [content for content in media if content is not None]
    if not contents or any("json" not in item.media_type.lower() and "*" not in item.media_type for item in contents):
        return None
    shape = Shape(operation.document, contents[0].schema)
    is_closed = shape.kinds == ("object",) and not shape.is_open and not shape.is_base
    if any(item.schema != contents[0].schema for item in contents) or not is_closed:
        return None
    return list(shape.fields) if len(shape.fields) <= FIELDS_MOST else None


def _truths(operation: Operation) -> set[str]:
    """Return the names under which an answer holds true or false, wherever they occur in it."""
    response = operation.response()
    media = response.preferred if response is not None else None
    waiting = [(Shape(operation.document, media.schema), TRUTHS_DEPTH)] if media is not None else []
    truths: set[str] = set()
    others: set[str] = set()
    for shape, depth in waiting:
        inner = shape.items or shape
        for name, field in islice(inner.fields.items(), FIELDS_MOST if depth else 0):
            (truths if field.kinds == ("boolean",) else others).add(name)
            waiting.append((field, depth - 1))
    return truths - others
