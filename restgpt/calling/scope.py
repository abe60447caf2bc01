"""The scope of a permission for further changes: which arguments stay as they are, and what the others may be.

A scope is JSON: for each argument by its pointer either `{"one_of": [values]}`, or `{"from": "user"}`, or
`{"from": "get_trips", "field": "/data/*/id"}`, a number with `"most"`. A call is in it only if it has exactly these
arguments. What may vary is told by origin, never by type: a value is the user's word, or stands in one named field of
the answers of one named operation.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from restgpt.calling.idempotency import key_header
from restgpt.calling.record import Place, Provenance
from restgpt.specs import Operation
from restgpt.specs.reading.tree import format_pointer, parse_pointer, places_in
from restgpt.tools.request.files import is_file_argument
from restgpt.tools.text.quotation import named

Scope: TypeAlias = dict[str, dict[str, Any]]

USER = "user"

_JSON = (str, int, float, type(None), list, tuple, Mapping)

MOST_ARGUMENTS, MOST_VALUES, MOST_LENGTH = 40, 100, 2_000
"""How many arguments a call in a scope has at most, how many values are listed for one, and a text's characters."""

MOST_TIMES, MOST_HOURS = 1_000, 24.0 * 31
TIMES, HOURS = 10, 24.0
"""How often and how long a permission holds at most, and where the person says nothing else."""

WISHES = ("free", "one_of", "most", "from", "times", "hours")


@dataclass(frozen=True, slots=True)
class Recorded:
    """A call of the thread, by its record."""

    operation: Operation
    settled: Mapping[str, Any]
    provenance: Sequence[Provenance]


class Drafted(Protocol):
    """What a scope looks at of a call."""

    @property
    def operation(self) -> Operation:
        """The operation."""

    @property
    def settled(self) -> Mapping[str, Any]:
        """The arguments as they are sent."""

    @property
    def provenance(self) -> Sequence[Provenance]:
        """The origins of the arguments."""


def freedom(call: Drafted) -> Scope:
    """The arguments of a call that a permission may leave open, each with what it may be then.

    Arguments of the path stay fixed or are listed, and all arguments of a DELETE stay as they are.
    """
    values = _values(call) or {}
    if call.operation.method == "DELETE":
        return {}
    origins = {item["pointer"]: item for item in call.provenance}
    found = ((pointer, _open(value, origins.get(pointer), call)) for pointer, value in values.items())
    return {pointer: bound for pointer, bound in found if bound and not pointer.startswith("/path/")}


def compared(call: Drafted, open_ends: Scope, others: Iterable[Drafted]) -> Iterator[dict[str, Any]]:
    """How other calls of the operation differ: values by pointer, and which of them no free argument may have.

    `open_ends` is the freedom of the call. A call with other arguments is left out: no permission given with this one
    covers it.
    """
    values = _values(call) or {}
    for other in others:
        found = _values(other)
        if found is None or found.keys() != values.keys():
            continue
        origins = {item["pointer"]: item for item in other.provenance}
        differs = {pointer: value for pointer, value in found.items() if not _same(value, values[pointer])}
        outside = [
            pointer
            for pointer, value in differs.items()
            if pointer not in open_ends or not _fits(open_ends[pointer], value, origins.get(pointer), other)
        ]
        yield {"differs": differs, "outside": outside}


def scope_of(call: Drafted, wish: Any) -> Scope | str:
    """The scope that a person asks for with a call; a text says why a wish cannot be used.

    A wish is `{"free": [pointers], "one_of": {pointer: values}, "most": {pointer: number}, "from": {pointer: source}}`,
    each of them optional; a source is an operation and a field of its answers, such as `get_trips /data/*/id`.
    """
    if not isinstance(wish, Mapping) or (unknown := [name for name in wish if name not in WISHES]):
        return f"a permission is an object with {', '.join(WISHES)}" + (f", not {unknown[0]}" if wish else "")
    values, open_ends = _values(call) or {}, freedom(call)
    free, listed, most, sources = (wish.get(name) or {} for name in WISHES[:4])
    if not isinstance(free or [], list) or not all(isinstance(item, Mapping) for item in (listed, most, sources)):
        return "`free` is a list of pointers, `one_of`, `most` and `from` are objects by pointer"
    scope: Scope = {pointer: {"one_of": [value]} for pointer, value in values.items()}
    for pointer in free:
        if pointer not in open_ends:
            return f"{pointer!r} has to stay as it is; free may be: {', '.join(open_ends) or 'nothing'}"
        scope[pointer] = open_ends[pointer]
    for pointer, source in sources.items():
        operation, _, place = str(source).partition(" ")
        if "from" not in scope.get(pointer, {}) or not place.startswith("/"):
            return f"`from` is an operation and a field, such as get_trips /data/*/id, for free ones, not {pointer!r}"
        scope[pointer] = {**scope[pointer], "from": operation, "field": place}
    for pointer, several in listed.items():
        if pointer not in values or not isinstance(several, list) or len(several) >= MOST_VALUES:
            return f"`one_of` has a list of values for an argument of the request, not {pointer!r}"
        if call.operation.method == "DELETE":
            return "a DELETE is permitted for one thing only"
        if any(isinstance(item, list | Mapping) for item in several):
            return f"the values of {pointer!r} are neither lists nor objects"
        scope[pointer] = {"one_of": [values[pointer], *(item for item in several if not _same(item, values[pointer]))]}
    for pointer, number in most.items():
        if "most" not in scope.get(pointer, {}) or not _is_number(number) or number < 0:
            return f"`most` is a number, zero or more, for a free argument that is one, not {pointer!r}"
        scope[pointer] = {**scope[pointer], "most": number}
    return scope


def can_hold(call: Drafted) -> bool:
    """Whether a scope can hold a call: not one with files, with very long texts, or with very many arguments."""
    return _values(call) is not None


def is_in(call: Drafted, scope: Scope) -> bool:
    """Whether a call has exactly the arguments of a scope, each with a value that it may have."""
    return can_hold(call) and not outside(call, scope)


def outside(call: Drafted, scope: Scope) -> list[str]:
    """The pointers of arguments that only a call or a scope has, or whose value or origin the scope does not allow."""
    values, origins = _values(call) or {}, {item["pointer"]: item for item in call.provenance}
    return [
        pointer
        for pointer in {**scope, **values}
        if not (pointer in scope and pointer in values)
        or not _fits(scope[pointer], values[pointer], origins.get(pointer), call)
    ]


def is_within(narrow: Scope, wide: Scope) -> bool:
    """Whether a scope leaves nothing open that another one fixes: a value is narrower than any place it may be from."""
    return narrow.keys() == wide.keys() and all(_bound_within(bound, wide[name]) for name, bound in narrow.items())


def scope_lines(scope: Scope) -> dict[str, str]:
    """A line for each argument of a scope by its pointer, as a person reads it: the free ones first."""
    ordered = sorted(scope.items(), key=lambda item: "from" not in item[1])
    return {pointer: f"{named('.'.join(parse_pointer(pointer)))}{_bound_text(bound)}" for pointer, bound in ordered}


def _bound_text(bound: Mapping[str, Any]) -> str:
    if "one_of" in bound:
        texts = [_value_text(value) for value in bound["one_of"]]
        return f" = {texts[0]}" if len(texts) == 1 else f" = one of {', '.join(texts)}"
    field = ".".join(part for part in parse_pointer(bound.get("field", "")) if part != "*")
    source = f"that you said, or {named(field)} of {named(bound['from'])}" if field else "you said"
    limit = f", from 0 to {bound['most']}" if "most" in bound else ""
    return f": any value {source}{limit}"


def _value_text(value: Any) -> str:
    text = named(value if isinstance(value, str) else json.dumps(value))
    return f'"{text}"' if isinstance(value, str) and not text.startswith('"') else text


def _values(call: Drafted) -> dict[str, Any] | None:
    """The values by pointer, empty lists and objects too, but no idempotency key; None if no scope holds them."""
    own, found = f"/header/{key_header(call.operation)}", {}
    for path, value in places_in(call.settled):
        is_long = isinstance(value, str) and len(value) > MOST_LENGTH
        if is_file_argument(value) or is_long or not isinstance(value, _JSON):
            return None
        if isinstance(value, Mapping | list | tuple) and (value or path == []):
            continue
        pointer = format_pointer(map(str, path))
        if pointer != own and (len(path) > 1 or path == ["body"]):
            found[pointer] = value
    return found if len(found) <= MOST_ARGUMENTS else None


def _open(value: Any, origin: Provenance | None, call: Drafted) -> dict[str, Any]:
    """What an argument may be if it is left open, by the origin of its value; empty if it has to stay as it is."""
    if origin is None or not (isinstance(value, str) or (_is_number(value) and value >= 0)):
        return {}
    limit = {} if isinstance(value, str) else {"most": value}
    if origin["origin"] == "user":
        return {"from": USER, **limit}
    places = _own_places(origin, call)
    if origin["origin"] != "response" or not places:
        return {}
    return {"from": places[0].get("operation", ""), "field": _field(places[0]), **limit}


def _fits(bound: Mapping[str, Any], value: Any, origin: Provenance | None, call: Drafted) -> bool:
    if "one_of" in bound:
        return any(_same(value, item) for item in bound["one_of"])
    is_kind = _is_number(value) and 0 <= value <= bound["most"] if "most" in bound else isinstance(value, str)
    if not is_kind or origin is None:
        return False
    if origin["origin"] == "user":
        return True
    places = _own_places(origin, call) if origin["origin"] == "response" else []
    return any((place.get("operation"), _field(place)) == (bound["from"], bound.get("field")) for place in places)


def _own_places(origin: Provenance, call: Drafted) -> Sequence[Place]:
    """The places of a value in answers of the API that gets it, if no other API answered it too."""
    places = origin.get("places", [])
    is_own = all(place.get("api", call.operation.api.name) == call.operation.api.name for place in places)
    return [place for place in places if "header" not in place and place.get("operation")] if is_own else []


def _field(place: Place) -> str:
    """The pointer of a place in an answer, with `*` for the numbers of items."""
    return re.sub(r"/\d+(?=/|$)", "/*", place["at"])


def _bound_within(narrow: Mapping[str, Any], wide: Mapping[str, Any]) -> bool:
    if "one_of" in narrow:
        return "one_of" not in wide or all(
            any(_same(value, item) for item in wide["one_of"]) for value in narrow["one_of"]
        )
    if "one_of" in wide or ("most" in narrow) is not ("most" in wide):
        return False
    is_same = (narrow["from"], narrow.get("field")) == (wide["from"], wide.get("field"))
    return bool(is_same or narrow["from"] == USER) and bool(narrow.get("most", 0) <= wide.get("most", 0))


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: 1 is neither true nor 1.0."""
    return type(one) is type(other) and bool(one == other)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
