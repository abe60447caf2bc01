"""The arguments of a program's call as JSON, and the digest by which two calls are compared."""

import hashlib
import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

MOST_DEPTH = 60  # the deepest nesting of an argument; a checkpoint keeps a call up to 100 levels
MOST_ARGUMENTS = 500_000  # the most characters of the arguments of one call, as JSON
MOST_KEYWORDS = 500  # the most arguments of one call


def plain_arguments(
    name: str, positional: Sequence[Any], keywords: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a call as JSON values, in their order.

    Dates become ISO text, sets lists, bytes a file, decimals numbers. Raises TypeError for an argument that is no JSON
    value, and for arguments that are too many, too deep or too large.
    """
    try:
        text = json.dumps([list(positional), dict(keywords)], allow_nan=False, default=_as_json)
        found = json.loads(text, object_pairs_hook=_distinct)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise TypeError(f"{name}: an argument is no JSON value: {error}") from None
    if len(text) > MOST_ARGUMENTS:
        raise TypeError(f"{name}: the arguments have {len(text)} characters as JSON, at most {MOST_ARGUMENTS} are sent")
    if len(found[0]) + len(found[1]) > MOST_KEYWORDS:
        raise TypeError(f"{name}: more than {MOST_KEYWORDS} arguments")
    if _is_deeper(found, MOST_DEPTH + 2):
        raise TypeError(f"{name}: an argument is nested more than {MOST_DEPTH} levels deep")
    return found[0], found[1]


def call_text(name: str, positional: Sequence[Any], keywords: Mapping[str, Any]) -> str:
    """Return a call as canonical JSON in ASCII: function, positional arguments, keyword arguments sorted by name.

    Raises TypeError as `plain_arguments` does.
    """
    return plain_text(name, *plain_arguments(name, positional, keywords))


def plain_text(name: str, positional: list[Any], keywords: dict[str, Any]) -> str:
    """Return the canonical JSON of a call whose arguments are plain already."""
    return json.dumps([name, positional, keywords], sort_keys=True, allow_nan=False)


def digest_of(text: str) -> str:
    """Return the SHA-256 of the canonical text of a call, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise TypeError("two keys of an object are one text in JSON, such as 1 and '1'")
    return found


def _is_deeper(value: Any, most: int) -> bool:
    level = [value]
    for _ in range(most):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return any(isinstance(value, dict | list) for value in level)


def _as_json(value: Any) -> Any:
    if isinstance(value, bytes | bytearray):
        return {"@bytes": b64encode(value).decode()}
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, Decimal):
        return _number(value)
    if hasattr(value, "__iter__"):
        return list(value)
    raise TypeError(f"{type(value).__name__} cannot be sent")


def _number(value: Decimal) -> int | float:
    """Return the number that a decimal is. Raises TypeError where a number of JSON would be another one."""
    if value == value.to_integral_value():
        return int(value)
    if Decimal(repr(float(value))) != value:
        raise TypeError(f"{value} has more digits than a number keeps; send it as a text if the API takes one")
    return float(value)
