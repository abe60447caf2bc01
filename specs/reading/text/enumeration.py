"""The limit on enumerated values: longer lists are left out, so that no value is compared with a million others."""

import contextlib
from typing import Any

import msgspec

from restgpt.specs.reading.tree import values_in

ENUM_MOST = 10_000
"""The maximum number of values of one `enum`."""

_ANY = msgspec.json.Decoder()


def enum_fault(raw: "bytes | msgspec.Raw") -> str:
    """Return a message if a slice has an `enum` with more values than the limit, else an empty string."""
    data = bytes(raw)
    # Each value but the last has a comma behind it.
    if b'"enum"' in data and data.count(b",") >= ENUM_MOST:
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            longest = _longest_enum(_ANY.decode(data))
            if longest > ENUM_MOST:
                return f"an enum of {longest:,} values is left out: values are compared with at most {ENUM_MOST:,}"
    return ""


def _longest_enum(tree: Any) -> int:
    listed = (node.get("enum") for node in values_in(tree) if isinstance(node, dict))
    return max((len(values) for values in listed if isinstance(values, list)), default=0)
