"""Storable text and values: cleaned of all that a store, a checkpointer or an encoding refuses.

PostgreSQL refuses NUL in JSON, UTF-8 has no halves of surrogate pairs, serialisers have no integers beyond 64 bits, and
JSON has neither infinity nor NaN.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

MOST_DEPTH = 100
"""Serialisers of stores and checkpoints refuse deeper values."""

LONGEST_DECIMAL_BITS = 14_000
"""Python refuses to write longer integers in decimal."""

_REFUSED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def storable_text(text: str) -> str:
    """Replace control characters and halves of surrogate pairs by U+FFFD."""
    return _REFUSED.sub("\ufffd", text)


def storable_value(value: Any, depth: int = 0) -> Any:
    """Make a JSON value storable: clean its texts and names, write integers beyond 64 bits as text, bound its depth.

    Infinity, NaN and anything that JSON has no type for become text too; a list or an object that is too deep becomes
    an ellipsis.
    """
    if isinstance(value, str):
        return storable_text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else _digits(value)
    if isinstance(value, float) and math.isfinite(value):
        return value
    if depth < MOST_DEPTH and isinstance(value, Mapping):
        return {storable_text(str(name)): storable_value(item, depth + 1) for name, item in value.items()}
    if depth < MOST_DEPTH and isinstance(value, list | tuple):
        return [storable_value(item, depth + 1) for item in value]
    return "…" if isinstance(value, Mapping | list | tuple) else storable_text(str(value))


def _digits(value: int) -> str:
    """Write an integer in decimal, or in hexadecimal if it is too long for that."""
    return str(value) if value.bit_length() <= LONGEST_DECIMAL_BITS else hex(value)
