"""A sketch of a value: names, types, lengths and a few examples, in a bounded number of tokens.

The sketch describes the body itself, because schemas are often wrong. Lists are sampled at both ends and the shapes of
their items merged; `?` marks names that some items lack. Fields that a query names come first, those that are null or
empty in every item last and by name only. All parts are cut to a bound, so a hostile body can fill
neither a prompt nor the memory.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from restgpt.specs.search.stemmer import STOP_STEMS, stems
from restgpt.tools.text.storable import storable_text

CHARACTERS_PER_TOKEN = 4
SAMPLED = 12
MOST_NAMES = 60
MOST_DEPTH = 12
MOST_NODES = 4000
# An object with at most so many names has them shown where its fields are not.
FEW_NAMES = 6
# From so many fields on that are always null, or always empty, only their names are shown.
MOST_BLANK = 3
# Pairs of example length and depth, from most to least detailed: examples are cut before names.
_DETAILS = ((40, 12), (24, 12), (12, 12), (12, 5), (0, 12), (0, 5), (12, 3), (0, 3), (0, 2))

# `json.dumps` with options makes a new encoder at each call.
_as_json = json.JSONEncoder(ensure_ascii=False).encode
_SCALARS = {type(None): "null", bool: "bool", int: "int", float: "float", str: "str"}


@dataclass(slots=True)
class Observed:
    """The merged description of all values at one place; `tools/response/shape.py` leaves the values out."""

    kinds: dict[str, int] = field(default_factory=dict)
    examples: list[Any] = field(default_factory=list)
    fields: dict[str, "Observed"] = field(default_factory=dict)
    names: int = 0
    items: "Observed | None" = None
    shortest: int = 0
    longest: int = 0
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class _Style:
    """How detailed a sketch is: the length of examples, the names of an object, and whether few names are shown.

    `wanted` are the stems of the query.
    """

    length: int
    names: int
    few: bool
    wanted: frozenset[str]

    def is_wanted(self, name: str) -> bool:
        """Whether the query has a word of a name."""
        return bool(self.wanted) and not self.wanted.isdisjoint(stems(name[:60]))


def sketch(value: Any, budget: int = 400, *, query: str = "") -> str:
    """Sketch a JSON-like value in about `budget` tokens of four characters; fields that `query` names come first."""
    shape = observe(value)
    limit = max(1, budget) * CHARACTERS_PER_TOKEN
    wanted = frozenset(stems(query)) - STOP_STEMS
    text = ""
    for length, depth in _DETAILS:
        for few in (True, False):
            style = _Style(length, MOST_NAMES if length else 30, few, wanted)
            text = storable_text(_render(shape, depth, style))
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
    # Most values are scalars, and the test for `Mapping` takes longer than all other work on them.
    if type(value) in _SCALARS or isinstance(value, str | bytes) or not isinstance(value, Mapping | Sequence):
        _add_scalar(value, shape)
    elif isinstance(value, Mapping):
        shape.kinds["object"] = shape.kinds.get("object", 0) + 1
        shape.names = max(shape.names, len(value))
        for name, item in islice(value.items(), MOST_NAMES):
            inner = shape.fields.get(name)
            if inner is None:
                if len(shape.fields) >= 2 * MOST_NAMES:
                    continue
                inner = shape.fields[name] = Observed()
            _add_value(item, inner, depth - 1, left)
    else:
        before = shape.kinds.get("array", 0)
        shape.shortest = min(shape.shortest, len(value)) if before else len(value)
        shape.longest = max(shape.longest, len(value))
        shape.kinds["array"] = before + 1
        shape.items = shape.items or Observed()
        for item in _sample(value):
            _add_value(item, shape.items, depth - 1, left)


def _add_scalar(value: Any, shape: Observed) -> None:
    kind = _kind(value)
    shape.kinds[kind] = shape.kinds.get(kind, 0) + 1
    if len(shape.examples) < 3 and value is not None and value not in shape.examples:
        shape.examples.append(value[:80] if isinstance(value, str) else value)


def _sample(items: Sequence[Any]) -> list[Any]:
    if len(items) <= SAMPLED:
        return list(items)
    return [*items[: SAMPLED - 3], *items[-3:]]


def _kind(value: Any) -> str:
    if isinstance(value, bytes):
        return f"bytes({len(value)})"
    return _SCALARS.get(type(value), type(value).__name__)


def _render(shape: Observed, depth: int, style: _Style) -> str:
    """Render a shape; `depth` is the number of levels below it."""
    text = " | ".join(kind for kind in shape.kinds if kind not in ("object", "array"))
    if style.length and shape.examples:
        shown = [_shown(example, style.length) for example in shape.examples[: 2 if style.length >= 24 else 1]]
        text += f" = {' or '.join(shown)}"
    parts = [text] if text else []
    if "object" in shape.kinds:
        parts.append(_render_object(shape, depth, style))
    if "array" in shape.kinds:
        parts.append(_render_array(shape, depth, style))
    return " | ".join(parts) or ("…" if shape.is_cut else "nothing")


def _render_object(shape: Observed, depth: int, style: _Style) -> str:
    if not shape.fields:
        return "{}"
    if depth <= 0:
        if style.few and shape.names == len(shape.fields) <= FEW_NAMES:
            return "{" + ", ".join(map(_name, shape.fields)) + "}"
        return f"{{{shape.names} name{'s' if shape.names > 1 else ''}}}"
    if shape.names > MOST_NAMES or _is_dictionary(shape):
        name, inner = next(iter(shape.fields.items()))
        return f"{{{shape.names:,} names such as {_name(name)}: {_render(inner, depth - 1, style)}}}"
    blank = {name: _blank(inner) for name, inner in shape.fields.items()}
    alike = {kind: [name for name, found in blank.items() if found == kind] for kind in ("null", "empty")}
    short = {kind: names for kind, names in alike.items() if len(names) >= MOST_BLANK}
    listed = {name for names in short.values() for name in names}
    ordered = sorted(
        (name for name in shape.fields if name not in listed),
        key=lambda name: (blank[name] == "null", not style.is_wanted(str(name))),
    )
    parts = [
        f"{_name(name)}{_mark(shape, name)}: {_render(shape.fields[name], depth - 1, style)}"
        for name in ordered[: style.names]
    ]
    left = max(0, style.names - len(ordered))
    for kind, names in short.items():
        shown = [f"{_name(name)}{_mark(shape, name)}" for name in names[:left]]
        parts += [f"always {kind}: {', '.join(shown)}"] if shown else []
        left -= len(shown)
    if len(shape.fields) > style.names:
        parts.append(f"… {len(shape.fields) - style.names} more names")
    return "{" + ", ".join(parts) + "}"


def _mark(shape: Observed, name: str) -> str:
    """Return the mark of a name that some of the objects lack."""
    inner = shape.fields[name]
    return "" if sum(inner.kinds.values()) >= shape.kinds.get("object", 0) or inner.is_cut else "?"


def _blank(shape: Observed) -> str:
    """Return `null` or `empty` if that is all that a field ever is, else an empty string."""
    if shape.is_cut or len(shape.kinds) != 1:
        return ""
    [kind] = shape.kinds
    if kind == "null":
        return "null"
    is_text = kind == "str" and not any(shape.examples)
    is_list = kind == "array" and not shape.longest
    is_object = kind == "object" and not shape.names
    return "empty" if is_text or is_list or is_object else ""


def _is_dictionary(shape: Observed) -> bool:
    """Whether the names are keys of a map, not fields: there are many, and all hold objects with the same fields."""
    if len(shape.fields) < 16:
        return False
    kinds = {tuple(inner.fields) for inner in shape.fields.values()}
    return len(kinds) == 1 and kinds != {()}


def _render_array(shape: Observed, depth: int, style: _Style) -> str:
    count = f"{shape.longest:,}" if shape.shortest == shape.longest else f"{shape.shortest:,}-{shape.longest:,}"
    if not shape.longest or shape.items is None:
        return "[]"
    inner = _render(shape.items, depth - 1, style) if depth > 0 else "…"
    return f"[{count} × {inner}]"


def _name(name: Any) -> str:
    text = str(name)
    cut = text if len(text) <= 60 else text[:59] + "…"
    return cut if cut.replace("_", "a").replace("-", "a").isalnum() else _as_json(cut)


def _shown(value: Any, length: int) -> str:
    if isinstance(value, str):
        return _as_json(value if len(value) <= length else value[: length - 1] + "…")
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 200:
        return "a very long number"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text[:40]
