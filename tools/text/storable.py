"""What a store takes and gives: text and values without all that a store, a checkpointer or an encoding rejects.

PostgreSQL rejects NUL in JSON, UTF-8 cannot encode lone surrogates, some serialisers have no integers beyond 64 bits,
and JSON has neither infinity nor NaN.
"""

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from restgpt.specs.reading.json_text import MAX_DEPTH

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore, SearchItem

LONGEST_DECIMAL_BITS = 14_000
"""The most bits of an integer that is written in decimal; Python raises ValueError for much longer ones."""

PAGE = 500
"""How many items are read from a store at once."""

_REJECTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def storable_text(text: str) -> str:
    """Replace control characters and lone surrogates by U+FFFD."""
    return _REJECTED.sub("\ufffd", text)


def storable_value(value: Any, depth: int = 0) -> Any:
    """Make a JSON value storable: clean its texts and names, convert integers beyond 64 bits to text, bound its depth.

    Infinity, NaN and objects of other types become text too; a list or an object that is too deep becomes an ellipsis.
    """
    if isinstance(value, str):
        return storable_text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if is_storable(value) else _digits(value)
    if isinstance(value, float) and math.isfinite(value):
        return value
    if depth < MAX_DEPTH and isinstance(value, Mapping):
        return {storable_text(str(name)): storable_value(item, depth + 1) for name, item in value.items()}
    if depth < MAX_DEPTH and isinstance(value, list | tuple):
        return [storable_value(item, depth + 1) for item in value]
    return "…" if isinstance(value, Mapping | list | tuple) else storable_text(str(value))


def is_storable(value: Any) -> bool:
    """Return whether a scalar is no integer of more than 64 bits, which no store takes as it is."""
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def _digits(value: int) -> str:
    """Write an integer in decimal, or in hexadecimal if it is too long for that."""
    return str(value) if value.bit_length() <= LONGEST_DECIMAL_BITS else hex(value)


def stored_items(
    store: "BaseStore", namespace: tuple[str, ...], *, filter: dict[str, Any] | None = None
) -> "list[SearchItem]":
    """Return all items of a namespace of a store, which gives them page by page."""
    items: list[SearchItem] = []
    while page := store.search(namespace, filter=filter, limit=PAGE, offset=len(items)):
        items += page
        if len(page) < PAGE:
            break
    return items


def delete_items(store: "BaseStore", namespace: tuple[str, ...]) -> int:
    """Delete all items of a namespace of a store, and return how many there were."""
    items = stored_items(store, namespace)
    for item in items:
        store.delete(item.namespace, item.key)
    return len(items)
