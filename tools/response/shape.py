"""The shape of a JSON value: names and types without any value, to be kept and shown in prompts.

A shape is JSON: the name of a scalar type (`SCALARS`), "unknown", `{"items": SHAPE}` for a list,
`{"fields": {NAME: SHAPE}, "optional": [NAME]}` for an object, `{"map": SHAPE}` for an object whose names are data, or a
list of alternatives. Names are foreign text and may hold values: an object whose names look like ids, addresses, dates
or tokens is a map, so is one whose names vary, and a map keeps no name. A single ordinary word as a key cannot be told
from a field: the shape of `{"alice": 1}` has a field `alice`.
"""

import json
import re
from collections.abc import Callable, Iterable
from functools import lru_cache, reduce
from typing import Any

from restgpt.specs.search.stemmer import STOP_STEMS, stems
from restgpt.tools.response.sketch import CHARACTERS_PER_TOKEN, MOST_BLANK, Observed, observe

Shape = str | dict[str, Any] | list[Any]

SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "null", "unknown": "any"}
"""The scalar types, each with the name that a prompt shows; "unknown" is the type of values that were not seen."""

MOST_DEPTH = 5
MOST_FIELDS = 60
MOST_NODES = 2_000
LONGEST_NAME = 40

MOST_ALIKE_OBJECTS = 7
"""How many fields an object of nothing but objects may have; one with more is a map."""
MOST_ALIKE = 30
"""How many fields an object of nothing but values of one type may have; one with more is a map."""
MOST_OPTIONAL = 20
"""How many fields may be optional where nearly all are; names that vary that much are data."""
MOST_DIGITS = 5
"""How many digits a name may have: `iso_3166_1` is a name, `d2024_05_01` is data."""

# How many levels and fields of an object are shown, from most to least detailed: levels are cut before names.
_DETAILS = ((6, 60), (4, 60), (3, 60), (3, 30), (2, 60), (2, 30), (1, 60), (1, 30), (1, 12), (1, 5), (0, 0))
_KINDS = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
_NAME = re.compile(r"[A-Za-z0-9_.$@-]+")
_ANNOTATION = re.compile(r"@odata\.[A-Za-z]+$")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_SEPARATOR = re.compile(r"[_.$@-]+")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_KEY_NAMES = frozenset({"id", "key", "name", "slug", "code", "login", "email", "username", "user", "symbol", "uuid"})


def shape_of(value: Any) -> Shape:
    """Return the shape of a JSON value; long lists are sampled at both ends."""
    return _bounded(_converted(observe(value, depth=MOST_DEPTH, nodes=MOST_NODES)))


def _converted(seen: Observed) -> Shape:
    found: list[Shape] = [_KINDS.get(kind, "null") for kind in seen.kinds if kind not in ("object", "array")]
    if "array" in seen.kinds:
        found.append({"items": _converted(seen.items) if seen.items else "unknown"})
    if "object" in seen.kinds:
        found.append(_converted_object(seen))
    return _united(found)


def _converted_object(seen: Observed) -> Shape:
    fields = {name: _converted(inner) for name, inner in seen.fields.items()}
    if _is_keyed_by_data(seen):
        return {"map": _united(fields.values())}
    kept = list(fields)[:MOST_FIELDS]
    total = seen.kinds.get("object", 0)
    return {
        "fields": {name: fields[name] for name in kept},
        "optional": [name for name in kept if not _is_always_there(seen.fields[name], total)],
    }


def _is_always_there(field: Observed, total: int) -> bool:
    return field.is_cut or sum(field.kinds.values()) >= total


def _is_keyed_by_data(seen: Observed) -> bool:
    """Whether the names of an object are data: by their spelling, their number, or because they vary by item."""
    fields = seen.fields
    if any(_is_data(name) or _names_itself(name, inner) for name, inner in fields.items()):
        return True
    kinds = {_KINDS.get(kind, kind) for inner in fields.values() for kind in inner.kinds} - {"null"}
    if len(kinds) == 1 and len(fields) > (MOST_ALIKE_OBJECTS if kinds == {"object"} else MOST_ALIKE):
        return True
    total = seen.kinds.get("object", 0)
    most = max((sum(inner.kinds.values()) for inner in fields.values() if not inner.is_cut), default=total)
    return len(fields) > 1 and total > 1 and most * 2 <= total


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


def _names_itself(name: str, inner: Observed) -> bool:
    """Whether the object under a name holds that name as its own key, as in `{"ada": {"login": "ada"}}`."""
    return any(name in map(str, field.examples) for key, field in inner.fields.items() if key.lower() in _KEY_NAMES)


def merged(a: Shape, b: Shape) -> Shape:
    """Return one shape that describes the values of both."""
    return _bounded(_united([a, b]))


def _united(shapes: Iterable[Shape]) -> Shape:
    """Unite alternatives: one list, one object or map, and each scalar type once."""
    parts = [part for shape in shapes for part in (shape if isinstance(shape, list) else [shape])]
    first = parts[0] if parts else "unknown"
    if isinstance(first, str) and all(part == first for part in parts):
        # Most fields have the same scalar type in every object.
        return first
    scalars = {part for part in parts if isinstance(part, str)} - {"unknown"}
    if "number" in scalars:
        scalars.discard("integer")
    found: list[Shape] = [*sorted(scalars - {"null"})]
    lists = [part for part in parts if isinstance(part, dict) and "items" in part]
    if lists:
        found.append({"items": _united(part["items"] for part in lists)})
    objects = [part for part in parts if isinstance(part, dict) and "items" not in part]
    if objects:
        found.append(reduce(_united_objects, objects))
    found += ["null"] if "null" in scalars else []
    return found[0] if len(found) == 1 else (found or "unknown")


def _united_objects(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    if "map" in a or "map" in b:
        return {"map": _united([*_values(a), *_values(b)])}
    ours, theirs = a["fields"], b["fields"]
    common = ours.keys() & theirs.keys()
    if ours and theirs and not common:
        return {"map": _united([*_values(a), *_values(b)])}
    fields = {name: _united(side[name] for side in (ours, theirs) if name in side) for name in {**ours, **theirs}}
    lacking = {*a["optional"], *b["optional"]} | (fields.keys() - common)
    if len(lacking) > MOST_OPTIONAL and len(lacking) * 4 > len(fields) * 3:
        return {"map": _united(fields.values())}
    kept = list(fields)[:MOST_FIELDS]
    return {"fields": {name: fields[name] for name in kept}, "optional": [name for name in kept if name in lacking]}


def _values(shape: dict[str, Any]) -> list[Shape]:
    return [shape["map"]] if "map" in shape else list(shape["fields"].values())


def _bounded(shape: Shape) -> Shape:
    """Cut the deepest levels of a shape with too many nodes."""
    depth = MOST_DEPTH + 1
    while depth and _size(shape) > MOST_NODES:
        depth -= 1
        shape = _cut(shape, depth)
    return shape


def _size(shape: Shape) -> int:
    return 1 + sum(map(_size, _parts(shape)))


def _parts(shape: Shape) -> list[Shape]:
    if isinstance(shape, dict):
        return [shape["items"]] if "items" in shape else _values(shape)
    return shape if isinstance(shape, list) else []


def _cut(shape: Shape, depth: int) -> Shape:
    if isinstance(shape, str):
        return shape
    if isinstance(shape, list):
        return _united(_cut(part, depth) for part in shape)
    return _mapped(shape, lambda inner: _cut(inner, depth - 1)) if depth else "unknown"


def _mapped(shape: dict[str, Any], change: Callable[[Shape], Shape]) -> dict[str, Any]:
    if "fields" in shape:
        return {**shape, "fields": {name: change(inner) for name, inner in shape["fields"].items()}}
    return {key: change(inner) for key, inner in shape.items()}


def text_of(shape: Shape, budget: int, *, focus: str = "") -> str:
    """Write a shape as a type in about `budget` tokens of four characters: `{items: [{id: int, note?: str | null}]}`.

    `?` marks fields that some objects lack, `…` what was left out for the budget. Fields that `focus` names come first,
    those that were null in every answer last.
    """
    limit = max(1, budget) * CHARACTERS_PER_TOKEN
    shape = _ordered(shape, frozenset(stems(focus)) - STOP_STEMS)
    text = ""
    for depth, names in _DETAILS:
        text = _written(shape, depth, names)
        if len(text) <= limit:
            return text
    return text[: limit - 1] + "…"


def _ordered(shape: Shape, wanted: frozenset[str]) -> Shape:
    """Sort the fields of a shape: those with wanted words, or with such fields in them, first, and null ones last."""
    if isinstance(shape, str):
        return shape
    if isinstance(shape, list):
        return [_ordered(part, wanted) for part in shape]
    if "fields" not in shape:
        return _mapped(shape, lambda inner: _ordered(inner, wanted))
    inner = {name: _ordered(field, wanted) for name, field in shape["fields"].items()}
    ranks = {name: (field == "null", not _has_words(name, field, wanted)) for name, field in inner.items()}
    return {**shape, "fields": {name: inner[name] for name in sorted(inner, key=lambda name: ranks[name])}}


def _has_words(name: str, shape: Shape, wanted: frozenset[str]) -> bool:
    """Whether a name, or the name of a field below it, has a wanted word."""
    if not wanted or not wanted.isdisjoint(stems(name)):
        return bool(wanted)
    names = shape["fields"].items() if isinstance(shape, dict) and "fields" in shape else ()
    return any(_has_words(inner, field, wanted) for inner, field in names) or any(
        _has_words("", part, wanted) for part in ([] if names else _parts(shape))
    )


def _written(shape: Shape, depth: int, names: int) -> str:
    if isinstance(shape, str):
        return SCALARS[shape]
    if isinstance(shape, list):
        return " | ".join(_written(part, depth, names) for part in shape)
    if "items" in shape:
        return f"[{_written(shape['items'], depth, names)}]"
    if not depth:
        return "{…}"
    if "map" in shape:
        return f"{{(any name): {_written(shape['map'], depth - 1, names)}}}"
    optional = set(shape["optional"])
    listed = list(shape["fields"].items())[:names]
    marked = {name: f"{_spelled(name)}{'?' if name in optional else ''}" for name, _ in listed}
    null = [name for name, inner in listed if inner == "null"]
    null = null if len(null) >= MOST_BLANK else []
    parts = [f"{marked[name]}: {_written(inner, depth - 1, names)}" for name, inner in listed if name not in null]
    parts += [f"always null: {', '.join(marked[name] for name in null)}"] if null else []
    return f"{{{', '.join([*parts, *(['…'] if len(shape['fields']) > names else [])])}}}"


def _spelled(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name)
