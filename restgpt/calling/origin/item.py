"""The item of an answer that holds a value, in the fields by which a person knows it: the trip behind its id."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from restgpt.specs.reading.tree import parse_pointer
from restgpt.specs.search.stemmer import words
from restgpt.tools.text.quotation import named, quoted

TOLD = 4
"""How many fields of an item are told."""

TEXT_MOST = 60
"""How many characters of a text are told; longer ones come after all others."""

TELLING: Sequence[frozenset[str]] = (
    frozenset(words("name title label subject summary headline login username")),
    frozenset(words("date day time start end starts ends departs arrives due from to origin destination email")),
    frozenset(words("price amount total status state number code city description")),
)
"""Words in the names of fields by which a person knows a thing, the best ones first."""

OPAQUE = frozenset(words("id ids uuid guid key keys code number ref reference uri uris"))
"""Words in the names of values that stand for a thing and tell a person nothing of it."""

UNTOLD = frozenset(
    words(
        "id ids uuid guid key keys token url uri href link links hash etag digest self image avatar type kind precision"
    )
)
"""Words in the names of fields that tell a person nothing."""


def item_at(value: Any, pointer: str) -> tuple[str, Mapping[str, Any]] | None:
    """Return the innermost object around the value at a JSON pointer, with its own pointer; None outside of any."""
    found, path = None, ""
    for part in parse_pointer(pointer):
        if isinstance(value, Mapping):
            found, value = (path, value), value.get(part)
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
        path = f"{path}/{part}"
    return found


def is_opaque(*pointers: str) -> bool:
    """Whether the name at the end of one of some JSON pointers is that of an id."""
    names = (next((part for part in reversed(parse_pointer(one)) if not part.isdigit()), "") for one in pointers)
    return any(OPAQUE.intersection(words(name)) for name in names)


def telling(item: Mapping[str, Any], most: int = TOLD) -> str:
    """Return the fields by which a person knows an item, such as `name "Ada", status "open"`; empty without any."""
    ranked = sorted(_fields(item), key=lambda field: field[0])[:most]
    return ", ".join(f"{named(name)} {_text(value)}" for _, name, value in ranked)


def _fields(item: Mapping[str, Any]) -> Iterator[tuple[int, str, Any]]:
    for name, value in item.items():
        parts = frozenset(words(str(name)))
        if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "" or parts & UNTOLD:
            continue
        rank = next((rank for rank, known in enumerate(TELLING) if parts & known), len(TELLING))
        yield rank + (10 if len(str(value)) > TEXT_MOST else 0), str(name), value


def _text(value: Any) -> str:
    return quoted(value, TEXT_MOST) if isinstance(value, str) else str(value)
