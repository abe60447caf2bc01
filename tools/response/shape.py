"""The shape of a JSON value: names and types without any value, to be kept and shown in prompts.

A shape is JSON: the name of a scalar type (`SCALARS`), "unknown", `{"items": SHAPE}` for a list,
`{"fields": {NAME: SHAPE}, "optional": [NAME]}` for an object, `{"map": SHAPE}` for an object whose names are data, or a
list of alternatives. Names are foreign text and may hold values: an object whose names look like ids, addresses, dates
or tokens is a map, so is one whose names vary, and a map keeps no name. A single ordinary word as a key cannot be told
from a field: the shape of `{"alice": 1}` has a field `alice`.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

from restgpt.tools.response.sketch import Observed, observe, write

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
    seen = observe(value, depth=MOST_DEPTH, nodes=MOST_NODES)
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
    """The shape of a description, with as many levels as `MOST_NODES` allows."""
    depths = range(MOST_DEPTH + 1, -1, -1)
    return next(shape for depth in depths if _size(shape := _shape(seen, depth)) <= MOST_NODES)


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
