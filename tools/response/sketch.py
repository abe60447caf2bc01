"""A sketch of a body: names, types, lengths and a few examples, in a bounded number of tokens.

The sketch describes the body itself, because schemas are often wrong. Lists are sampled at both ends and the shapes of
their items merged; `?` marks names that some items lack. Fields that a query names, or that have such a field in them,
come first, those that are null or empty in every item last and, if there are several, by name only. All parts are cut
to a bound, so a hostile body can fill neither a prompt nor the memory.

The shape of a JSON value: names and types without any value, to be kept and shown in prompts.

A shape is JSON: the name of a scalar type (`SCALARS`), "unknown", `{"items": SHAPE}` for a list,
`{"fields": {NAME: SHAPE}, "optional": [NAME]}` for an object, `{"map": SHAPE}` for an object whose names are data, or a
list of alternatives. Names are foreign text and may hold values: an object whose names look like ids, addresses, dates
or tokens is a map, so is one whose names vary, and a map keeps no name. A single ordinary word as a key cannot be told
from a field: the shape of `{"alice": 1}` has a field `alice`.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any

from restgpt.specs.docs.documentation import TOKEN
from restgpt.specs.search.query import STOP_STEMS, stems
from restgpt.tools.response.content import Body
from restgpt.tools.text.storable import storable_text

BUDGET = 400
"""The tokens of a sketch."""

SAMPLED = 12
MOST_NAMES, FEWER_NAMES = 60, 30
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
    """The merged description of all values at one place; `tools/response/sketch.py` leaves the values out.

    `count` is the number of values, `kinds` counts them by type. With `is_map` the names are unknown, and one field
    describes all values.
    """

    count: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    examples: list[Any] = field(default_factory=list)
    fields: dict[str, "Observed"] = field(default_factory=dict)
    names: int = 0
    items: "Observed | None" = None
    shortest: int = 0
    longest: int = 0
    is_cut: bool = False
    is_map: bool = False

    def lacks(self, name: str) -> bool:
        """Whether some of the objects lack a field."""
        inner = self.fields[name]
        return not inner.is_cut and inner.count < self.kinds["object"]

    @property
    def blank(self) -> str:
        """The text `null` or `empty` if that is all that the values ever are, else an empty string."""
        if self.is_cut or len(self.kinds) != 1:
            return ""
        [kind] = self.kinds
        items = self.items or Observed()
        is_list = kind == "array" and not items.kinds and not items.is_cut
        is_empty = is_list or (kind == "str" and self.examples == [""]) or (kind == "object" and not self.fields)
        return "null" if kind == "null" else "empty" if is_empty else ""


def sketch_body(body: Body, budget: int = BUDGET) -> str:
    """Sketch a body in about `budget` tokens: the shape of JSON, the size of binary data, the start of a text."""
    match body.kind:
        case "empty":
            return "no body"
        case "binary":
            return f"{body.media_type or 'binary'}, {body.size:,} bytes"
        case "json":
            return sketch(body.value, budget)
        case "json-lines":
            return f"JSON Lines: {sketch(body.value, budget)}"
    head = head_of_text(body.kind, body.raw)
    start = body.raw[: budget * TOKEN].decode("utf-8", "ignore")
    more = "…" if body.size > budget * TOKEN else ""
    return storable_text(f"{head}{start}{more}"[: budget * TOKEN])


def head_of_text(kind: str, data: bytes) -> str:
    """Return the line above a text: its kind and the number of its lines."""
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    return f"{'table' if kind == 'csv' else kind}, {lines:,} line{'' if lines == 1 else 's'}:\n"


def sketch(value: Any, budget: int = BUDGET, *, query: str = "") -> str:
    """Sketch a JSON-like value in about `budget` tokens of four characters; fields that `query` names come first."""
    return write(observe(value), budget, query=query)


def write(shape: Observed, budget: int, *, query: str = "") -> str:
    """Write a description in about `budget` tokens: `{items: [3 × {id: int = 1 or 2, note?: str | null}]}`."""
    limit = max(1, budget) * TOKEN
    _sort(shape, frozenset(stems(query)) - STOP_STEMS)
    text = ""
    for length, depth in _DETAILS:
        text = storable_text(_render(shape, depth, length))
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
    shape.count += 1
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


def _sort(shape: Observed, wanted: frozenset[str]) -> bool:
    """Sort the fields: those with a wanted word in the name or below first, blank ones last; whether one has a word."""
    ranks = {}
    for name, inner in shape.fields.items():
        is_below = _sort(inner, wanted)
        is_wanted = bool(wanted) and not wanted.isdisjoint(stems(str(name)[:60]))
        ranks[name] = (bool(inner.blank), not (is_below or is_wanted))
    shape.fields = {name: shape.fields[name] for name in sorted(ranks, key=lambda name: ranks[name])}
    is_in_items = shape.items is not None and _sort(shape.items, wanted)
    return is_in_items or not all(is_other for _, is_other in ranks.values())


def _render(shape: Observed, depth: int, length: int) -> str:
    """Render a shape; `depth` is the number of levels below it, `length` that of examples."""
    text = " | ".join(kind for kind in shape.kinds if kind not in ("object", "array"))
    if length and shape.examples:
        shown = [_shown(example, length) for example in shape.examples[: 2 if length >= 24 else 1]]
        text += f" = {' or '.join(shown)}"
    parts = [text] if text else []
    if "object" in shape.kinds:
        parts.append(_render_object(shape, depth, length))
    if "array" in shape.kinds:
        parts.append(_render_array(shape, depth, length))
    return " | ".join(parts) or ("…" if shape.is_cut else "nothing")


def _render_object(shape: Observed, depth: int, length: int) -> str:
    if not shape.fields:
        return "{}"
    first, inner = next(iter(shape.fields.items()))
    if shape.is_map:
        return f"{{(any name): {_render(inner, depth - 1, length) if depth > 0 else '…'}}}"
    if depth <= 0:
        if shape.names == len(shape.fields) <= FEW_NAMES:
            return "{" + ", ".join(map(_name, shape.fields)) + "}"
        return f"{{{shape.names} name{'s' if shape.names > 1 else ''}}}"
    if shape.names > MOST_NAMES or _is_dictionary(shape):
        return f"{{{shape.names:,} names such as {_name(first)}: {_render(inner, depth - 1, length)}}}"
    names = list(shape.fields)[: MOST_NAMES if length else FEWER_NAMES]
    marked = {name: f"{_name(name)}{'?' if shape.lacks(name) else ''}" for name in names}
    alike = {kind: [name for name in names if shape.fields[name].blank == kind] for kind in ("null", "empty")}
    listed = {kind: found for kind, found in alike.items() if len(found) >= MOST_BLANK}
    others = [name for name in names if not any(name in found for found in listed.values())]
    parts = [f"{marked[name]}: {_render(shape.fields[name], depth - 1, length)}" for name in others]
    parts += [f"always {kind}: {', '.join(marked[name] for name in found)}" for kind, found in listed.items()]
    if len(shape.fields) > len(names):
        parts.append(f"… {len(shape.fields) - len(names)} more names")
    return "{" + ", ".join(parts) + "}"


def _is_dictionary(shape: Observed) -> bool:
    """Whether the names are keys of a map, not fields: there are many, and all hold objects with the same fields."""
    if len(shape.fields) < 16:
        return False
    kinds = {frozenset(inner.fields) for inner in shape.fields.values()}
    return len(kinds) == 1 and kinds != {frozenset()}


def _render_array(shape: Observed, depth: int, length: int) -> str:
    items = shape.items
    if items is None or not (items.kinds or items.is_cut):
        return "[]"
    count = f"{shape.longest:,}" if shape.shortest == shape.longest else f"{shape.shortest:,}-{shape.longest:,}"
    inner = _render(items, depth - 1, length) if depth > 0 else "…"
    return f"[{f'{count} × ' if shape.longest else ''}{inner}]"


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


Shape = str | dict[str, Any] | list[Any]

SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "null", "unknown": "any"}
"""The scalar types, each with the name that a prompt shows; "unknown" is the type of values that were not seen."""

SHAPE_DEPTH = 5
MOST_FIELDS = 60
SHAPE_NODES = 2_000
LONGEST_NAME = 40

MOST_ALIKE_OBJECTS = 7
"""How many fields an object of nothing but objects may have; one with more is a map."""
MOST_ALIKE = 30
"""How many fields an object of nothing but values of one type may have; one with more is a map."""
MOST_OPTIONAL = 20
"""How many fields may be optional where nearly all are; names that vary that much are data."""
ALWAYS = 100
"""How many values a shape counts for when it is joined with others."""
MOST_DIGITS = 5
"""How many digits a name may have: `iso_3166_1` is a name, `d2024_05_01` is data."""

_KINDS = {shown: name for name, shown in SCALARS.items()}
_NAME = re.compile(r"[A-Za-z0-9_.$@-]+")
_ANNOTATION = re.compile(r"@odata\.[A-Za-z]+$")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_SEPARATOR = re.compile(r"[_.$@-]+")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_KEY_NAMES = frozenset({"id", "key", "name", "slug", "code", "login", "email", "username", "user", "symbol", "uuid"})


def shape_of(value: Any) -> Shape:
    """Return the shape of a JSON value; long lists are sampled at both ends."""
    seen = observe(value, depth=SHAPE_DEPTH, nodes=SHAPE_NODES)
    _find_maps(seen)
    return _bounded(seen)


def merged(a: Shape, b: Shape) -> Shape:
    """Return one shape that describes the values of both."""
    return _bounded(_joined([_observed(a), _observed(b)]))


def text_of(shape: Shape, budget: int, *, focus: str = "") -> str:
    """Write a shape as a type in about `budget` tokens of four characters: `{items: [{id: int, note?: str | null}]}`.

    `?` marks fields that some objects lack. Fields that `focus` names come first, those that were null in every answer
    last.
    """
    return write(_observed(shape), budget, query=focus)


def _bounded(seen: Observed) -> Shape:
    """The shape of a description, with as many levels as `SHAPE_NODES` allows."""
    depths = range(SHAPE_DEPTH + 1, -1, -1)
    return next(shape for depth in depths if _size(shape := _shape(seen, depth)) <= SHAPE_NODES)


def _size(shape: Any) -> int:
    if isinstance(shape, dict):
        return 1 + sum(map(_size, shape.get("fields", shape).values()))
    return 1 + sum(map(_size, shape)) if isinstance(shape, list) else 1


def _shape(seen: Observed, depth: int) -> Shape:
    """Each scalar type once, one list, one object or map, and null; "unknown" for what is below `depth` levels."""
    scalars = {_KINDS.get(kind, "null") for kind in seen.kinds if kind not in ("object", "array")} - {"unknown"}
    if "number" in scalars:
        scalars.discard("integer")
    found: list[Shape] = [*sorted(scalars - {"null"})]
    if depth and "array" in seen.kinds:
        found.append({"items": _shape(seen.items or Observed(), depth - 1)})
    if depth and "object" in seen.kinds:
        found.append(_shape_of_object(seen, depth - 1))
    found += ["null"] if "null" in scalars else []
    return found[0] if len(found) == 1 else (found or "unknown")


def _shape_of_object(seen: Observed, depth: int) -> Shape:
    fields, total = seen.fields, seen.kinds["object"]
    most = max((inner.count for inner in fields.values() if not inner.is_cut), default=total)
    optional = [name for name in fields if seen.lacks(name)]
    is_varied = len(fields) > 1 and total > 1 and most * 2 <= total
    if seen.is_map or is_varied or (len(optional) > MOST_OPTIONAL and len(optional) * 4 > len(fields) * 3):
        return {"map": _shape(_joined(fields.values()), depth)}
    kept = {name: _shape(inner, depth) for name, inner in islice(fields.items(), MOST_FIELDS)}
    return {"fields": kept, "optional": [name for name in optional if name in kept]}


def _joined(parts: Iterable[Observed]) -> Observed:
    """One description of the values of several."""
    parts = list(parts)
    kinds = dict.fromkeys(kind for part in parts for kind in part.kinds)
    names = dict.fromkeys(name for part in parts for name in part.fields)
    items = [part.items for part in parts if part.items is not None]
    return Observed(
        count=sum(part.count for part in parts),
        kinds={kind: sum(part.kinds.get(kind, 0) for part in parts) for kind in kinds},
        fields={name: _joined(part.fields[name] for part in parts if name in part.fields) for name in names},
        items=_joined(items) if items else None,
        is_cut=any(part.is_cut for part in parts),
        is_map=any(part.is_map for part in parts),
    )


def _observed(shape: Shape, *, count: int = ALWAYS) -> Observed:
    """A description of `ALWAYS` values of a shape, of which one lacks each optional field; of an empty object, of one.

    So joined objects without a common field vary, and an empty object is no reason that they do.
    """
    seen = Observed(count=count)
    for part in shape if isinstance(shape, list) else [shape]:
        if isinstance(part, str):
            seen.kinds[SCALARS[part]] = ALWAYS
        elif "items" in part:
            seen.kinds["array"], seen.items = ALWAYS, _observed(part["items"])
        elif "map" in part:
            seen.kinds["object"], seen.is_map, seen.fields = ALWAYS, True, {"": _observed(part["map"])}
        else:
            seen.kinds["object"], seen.names = ALWAYS if part["fields"] else 1, len(part["fields"])
            for name, inner in part["fields"].items():
                seen.fields[name] = _observed(inner, count=ALWAYS - (name in part["optional"]))
    return seen


def _find_maps(seen: Observed) -> None:
    """Mark the objects whose names are data."""
    seen.is_map = _is_keyed_by_data(seen.fields)
    for inner in (*seen.fields.values(), *([seen.items] if seen.items else [])):
        _find_maps(inner)


def _is_keyed_by_data(fields: Mapping[str, Observed]) -> bool:
    """Whether the names of an object are data: by their spelling or their number."""
    if any(_is_data(name) or _names_itself(name, inner) for name, inner in fields.items()):
        return True
    kinds = {_KINDS.get(kind, kind) for inner in fields.values() for kind in inner.kinds} - {"null"}
    return len(kinds) == 1 and len(fields) > (MOST_ALIKE_OBJECTS if kinds == {"object"} else MOST_ALIKE)


def _names_itself(name: str, inner: Observed) -> bool:
    """Whether the object under a name holds that name as its own key, as in `{"ada": {"login": "ada"}}`."""
    return any(name in map(str, field.examples) for key, field in inner.fields.items() if key.lower() in _KEY_NAMES)


def _is_data(name: str) -> bool:
    """Whether a name is spelled like a value: an id, an address, a date, a token, a sentence."""
    # Names above that length are not cached, so that a hostile answer cannot fill the memory with them.
    return len(name) > LONGEST_NAME or _is_spelled_like_data(name)


@lru_cache(maxsize=4096)
def _is_spelled_like_data(name: str) -> bool:
    """Whether a short name is spelled like a value; cached, because the answers of an API repeat their names."""
    if not _NAME.fullmatch(name):
        return True
    bare = _ANNOTATION.sub("", name).lstrip("_.$@-")
    if "@" in bare or bare[:1].isdigit() or _YEAR.search(bare):
        return True
    return sum(char.isdigit() for char in bare) > MOST_DIGITS or any(map(_is_random, _SEPARATOR.split(bare)))


def _is_random(word: str) -> bool:
    """Whether a word looks generated: long, with digits among letters of one case, or changing case all the time."""
    has_digit = any(char.isdigit() for char in word)
    if len(word) >= 16 and has_digit and (word.isupper() or word.islower()):
        return True
    return len(word) >= 12 and len(word) < 2.8 * len(_HUMP.findall(word))
