"""The limit on nesting: levels of a slice below it are removed, so that recursion over schemas ends."""

import contextlib
from typing import Any

import msgspec

# How many levels of a slice are read: many more than any published document has, few enough to walk by recursion.
DEEPEST = 100
_ANY = msgspec.json.Decoder()


def cut_deep_levels(node: Any, raw: "bytes | msgspec.Raw") -> None:
    """Empty the objects and lists at the deepest level that is read; `raw` is the JSON text of `node`."""
    if _may_be_deep(raw):
        for part in _deepest(node):
            part.clear()


def depth_fault(raw: "bytes | msgspec.Raw") -> str:
    """Return a message if a slice nests deeper than the limit, else an empty string."""
    if _may_be_deep(raw):
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
            try:
                is_deep = any(_deepest(_ANY.decode(raw)))
            except RecursionError:
                is_deep = True
            if is_deep:
                return f"it nests more than {DEEPEST} levels deep; deeper levels are left out"
    return ""


def _may_be_deep(raw: "bytes | msgspec.Raw") -> bool:
    data = bytes(raw)
    return data.count(b"{") + data.count(b"[") > DEEPEST


def _deepest(tree: Any) -> "list[dict[str, Any] | list[Any]]":
    """Return the objects and lists on the deepest level that is read."""
    level = [tree]
    for _ in range(DEEPEST):
        children = (node.values() if isinstance(node, dict) else node for node in level)
        level = [child for inner in children for child in inner if isinstance(child, (dict, list))]
        if not level:
            break
    return level
