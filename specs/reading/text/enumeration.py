"""The limit on enumerated values: longer lists are left out, so that no value is compared with a million others."""

import contextlib
from typing import Any

import msgspec

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
    longest, waiting = 0, [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            values = node.get("enum")
            longest = max(longest, len(values) if isinstance(values, list) else 0)
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    return longest
