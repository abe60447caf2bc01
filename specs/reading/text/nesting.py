"""The limit on nesting of JSON: deeper levels of a document are removed, so that recursion over schemas ends."""

import re
from typing import Any

import msgspec

MAX_DEPTH = 100
"""How many levels of JSON are read: more than any published document or API has, few enough to walk by recursion."""

_STRUCTURE = b'[]{}"'
_AS_LIST = bytes.maketrans(b"{}", b"[]")
_OTHERS = bytes(set(range(256)) - set(_STRUCTURE))
_TEXT = re.compile(rb'"[^"]*"?')


def is_too_deep(data: "bytes | str | msgspec.Raw") -> bool:
    """Return whether JSON nests more than MAX_DEPTH levels deep, without recursion, in time linear in its size.

    For what is no JSON the answer means nothing.
    """
    text = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)
    if text.count(b"{") + text.count(b"[") <= MAX_DEPTH:
        return False
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    structure = text.translate(_AS_LIST, _OTHERS)
    brackets = structure.replace(b'""', b"")
    if b'"' in brackets:
        # Some text holds brackets, so the texts are found one by one, which is ten times slower.
        brackets = _TEXT.sub(b"", structure)
    for _ in range(MAX_DEPTH):
        rest = brackets.replace(b"[]", b"")
        if len(rest) == len(brackets):
            break
        brackets = rest
    # Whatever closes nothing is no level of its own.
    return b"[" in brackets


def cut_deep_levels(node: Any, raw: "bytes | msgspec.Raw") -> None:
    """Empty the objects and lists at the deepest level that is read; `raw` is the JSON text of `node`."""
    if is_too_deep(raw):
        for part in _deepest(node):
            part.clear()


def depth_fault(raw: "bytes | msgspec.Raw") -> str:
    """Return a message if a slice nests deeper than the limit, else an empty string."""
    return f"it nests more than {MAX_DEPTH} levels deep; deeper levels are left out" if is_too_deep(raw) else ""


def _deepest(tree: Any) -> "list[dict[str, Any] | list[Any]]":
    """Return the objects and lists on the deepest level that is read."""
    level = [tree]
    for _ in range(MAX_DEPTH):
        children = (node.values() if isinstance(node, dict) else node for node in level)
        level = [child for inner in children for child in inner if isinstance(child, (dict, list))]
        if not level:
            break
    return level
