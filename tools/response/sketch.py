"""A sketch of a value: names, types, lengths and a few examples, in a bounded number of tokens.

The sketch describes the body itself, because schemas are often wrong. Lists are sampled at both ends and the shapes of
their items merged; `?` marks names that some items lack. All parts are cut to a bound, so a hostile body can fill
neither a prompt nor the memory.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from restgpt.tools.storable import storable_text

CHARACTERS_PER_TOKEN = 4
SAMPLED = 12
MOST_NAMES = 60
MOST_DEPTH = 12
MOST_NODES = 4000
# Pairs of example length and depth, from most to least detailed: examples are cut before names.
_DETAILS = ((40, 12), (24, 12), (12, 12), (12, 5), (0, 12), (0, 5), (12, 3), (0, 3), (0, 2))


@dataclass(slots=True)
class Observed:
    """The merged description of all values at one place; `tools/response/shape.py` leaves the values out."""

    kinds: Counter[str] = field(default_factory=Counter)
    examples: list[Any] = field(default_factory=list)
    fields: dict[str, "Observed"] = field(default_factory=dict)
    names: int = 0
    items: "Observed | None" = None
    shortest: int = 0
    longest: int = 0
    is_cut: bool = False


def sketch(value: Any, budget: int = 400) -> str:
    """Sketch a JSON-like value in about `budget` tokens of four characters."""
    shape = observe(value)
    limit = max(1, budget) * CHARACTERS_PER_TOKEN
    text = ""
    for length, depth in _DETAILS:
        text = storable_text(_render(shape, length, depth, MOST_NAMES if length else 30))
        if len(text) <= limit:
            return text
    return text[: max(1, limit - 1)] + "…"


def observe(value: Any, *, depth: int = MOST_DEPTH, nodes: int = MOST_NODES) -> Observed:
    """Merge the shapes of a value's parts, at most `depth` levels below it and `nodes` values in all."""
    shape = Observed()
    _add_value(value, shape, depth, [nodes])
    return shape


def _add_value(value: Any, shape: Observed, depth: int, left: list[int]) -> None:
    """Add a value to the shape of its place; `left` holds the number of values that may still be visited."""
    left[0] -= 1
    if left[0] < 0 or depth < 0:
        shape.is_cut = True
        return
    if isinstance(value, Mapping):
        shape.kinds["object"] += 1
        shape.names = max(shape.names, len(value))
        for name, item in islice(value.items(), MOST_NAMES):
            inner = shape.fields.get(name)
            if inner is None:
                if len(shape.fields) >= 2 * MOST_NAMES:
                    continue
                inner = shape.fields[name] = Observed()
            _add_value(item, inner, depth - 1, left)
    elif isinstance(value, list | tuple):
        shape.shortest = len(value) if not shape.kinds["array"] else min(shape.shortest, len(value))
        shape.longest = max(shape.longest, len(value))
        shape.kinds["array"] += 1
        shape.items = shape.items or Observed()
        for item in _sample(value):
            _add_value(item, shape.items, depth - 1, left)
    else:
        shape.kinds[_kind(value)] += 1
        if len(shape.examples) < 3 and value is not None and value not in shape.examples:
            shape.examples.append(value[:80] if isinstance(value, str) else value)


def _sample(items: list[Any] | tuple[Any, ...]) -> list[Any]:
    if len(items) <= SAMPLED:
        return list(items)
    return [*items[: SAMPLED - 3], *items[-3:]]


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, bytes):
        return f"bytes({len(value)})"
    return {int: "int", float: "float", str: "str"}.get(type(value), type(value).__name__)


def _render(shape: Observed, length: int, depth: int, names: int) -> str:
    """Render a shape; `length` is the number of characters of each example, 0 for no examples."""
    text = " | ".join(kind for kind in shape.kinds if kind not in ("object", "array"))
    if length and shape.examples:
        shown = [_shown(example, length) for example in shape.examples[: 2 if length >= 24 else 1]]
        text += f" = {' or '.join(shown)}"
    parts = [text] if text else []
    if shape.kinds["object"]:
        parts.append(_render_object(shape, length, depth, names))
    if shape.kinds["array"]:
        parts.append(_render_array(shape, length, depth, names))
    return " | ".join(parts) or ("…" if shape.is_cut else "nothing")


def _render_object(shape: Observed, length: int, depth: int, names: int) -> str:
    if not shape.fields:
        return "{}"
    if depth <= 0:
        return f"{{{shape.names} name{'s' if shape.names > 1 else ''}}}"
    if shape.names > MOST_NAMES or _is_dictionary(shape):
        name, inner = next(iter(shape.fields.items()))
        return f"{{{shape.names:,} names such as {_name(name)}: {_render(inner, length, depth - 1, names)}}}"
    total = shape.kinds["object"]
    parts = []
    for name, inner in islice(shape.fields.items(), names):
        mark = "" if sum(inner.kinds.values()) >= total or inner.is_cut else "?"
        parts.append(f"{_name(name)}{mark}: {_render(inner, length, depth - 1, names)}")
    if len(shape.fields) > names:
        parts.append(f"… {len(shape.fields) - names} more names")
    return "{" + ", ".join(parts) + "}"


def _is_dictionary(shape: Observed) -> bool:
    """Whether the names are keys of a map, not fields: there are many, and all hold objects with the same fields."""
    if len(shape.fields) < 16:
        return False
    kinds = {tuple(inner.fields) for inner in shape.fields.values()}
    return len(kinds) == 1 and kinds != {()}


def _render_array(shape: Observed, length: int, depth: int, names: int) -> str:
    count = f"{shape.longest:,}" if shape.shortest == shape.longest else f"{shape.shortest:,}-{shape.longest:,}"
    if not shape.longest or shape.items is None:
        return "[]"
    inner = _render(shape.items, length, depth - 1, names) if depth > 0 else "…"
    return f"[{count} × {inner}]"


def _name(name: Any) -> str:
    text = str(name)
    cut = text if len(text) <= 60 else text[:59] + "…"
    return cut if cut.replace("_", "a").replace("-", "a").isalnum() else json.dumps(cut, ensure_ascii=False)


def _shown(value: Any, length: int) -> str:
    if isinstance(value, str):
        return json.dumps(value if len(value) <= length else value[: length - 1] + "…", ensure_ascii=False)
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 200:
        return "a very long number"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text[:40]
