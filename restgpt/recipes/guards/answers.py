"""Compares the answers of a recipe's run with those of the saved run: statuses, fields and their types.

Only what the program read counts. A program may read fewer fields than in the saved run, because it may branch.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from restgpt.recipes.guards.closure import READ_TYPES, overlap
from restgpt.recipes.guards.pattern import ANY, last_name, places, type_of
from restgpt.recipes.guards.shift import Shift, place_of, types_text
from restgpt.recipes.recipe import Link, Recipe, UsedOperation
from restgpt.recipes.sent import Sent
from restgpt.specs.reading.pointer import format_pointer, parse_pointer

_TAKEN = frozenset({"only", "first", "last", "named"})


def answer_shifts(recipe: Recipe, sent: Sequence[Sent]) -> list[Shift]:
    """Compare the answers so far with those of the saved run, and return the differences that matter."""
    found: list[Shift] = []
    for used in recipe.operations:
        calls = [call for call in sent if call.function == used.function and call.status]
        found += [shift for call in calls for shift in _status_shifts(used, call)]
        good = [call for call in calls if _is_known_class(used, call.status)]
        found += [shift for call in good for shift in _body_shifts(used, call)]
        found += _field_shifts(used, good)
        found += _empty_shifts(recipe, used, good)
    return list(dict.fromkeys(found))


def unread_shifts(recipe: Recipe, sent: Sequence[Sent]) -> list[Shift]:
    """Compare also the fields that the saved run read and this run has not read yet: after a change it is too late."""
    reads = {used.function: used.reads for used in recipe.operations}
    return answer_shifts(recipe, [_foreseen(call, reads.get(call.function, {})) for call in sent])


def _foreseen(call: Sent, saved: Mapping[str, Sequence[str]]) -> Sent:
    """Return the call as if the program had read all fields that the saved run always found in such an answer."""
    sure = (pattern for pattern, types in saved.items() if not {"missing", "null"}.intersection(types))
    unread = [pattern for pattern in sure if pattern not in call.reads]
    found = {pattern: types for pattern in unread if (types := _types_at(call.body, pattern))}
    return replace(call, reads={**call.reads, **found})


def _types_at(body: Any, pattern: str) -> tuple[str, ...]:
    """Return the JSON types at a pattern; `missing` if only the objects are there that should have the field."""
    if types := {type_of(value) for _, value in places(body, pattern)}:
        return tuple(sorted(types))
    *above, name = parse_pointer(pattern) or [ANY]
    holders = () if name == ANY else places(body, format_pointer(above))
    return ("missing",) if any(isinstance(holder, Mapping) for _, holder in holders) else ()


def _is_known_class(used: UsedOperation, status: int) -> bool:
    return not used.status or status // 100 in {code // 100 for code in used.status}


def _status_shifts(used: UsedOperation, call: Sent) -> Iterator[Shift]:
    if not _is_known_class(used, call.status):
        expected = " or ".join(map(str, used.status))
        yield Shift(place_of(used, "status"), f"{expected}, as when the recipe was saved", str(call.status))


def _body_shifts(used: UsedOperation, call: Sent) -> Iterator[Shift]:
    """Compare the body as a whole: an object, an array, or no JSON at all."""
    expected = _root_types(used)
    if not expected:
        return
    place, wanted = place_of(used, "the answer"), f"{types_text(expected)} in JSON, as when the recipe was saved"
    if not isinstance(call.body, Mapping | list):
        yield Shift(place, wanted, "no body" if call.body in (None, "") else "other content")
    elif isinstance(call.body, Mapping):
        if "object" not in expected:
            yield Shift(place, wanted, types_text(["object"]))
    elif "array" not in expected and not (_read_arrays(used.reads) and _read_arrays(call.reads)):
        # A program that finds the list in any envelope finds it without one too.
        yield Shift(place, wanted, types_text(["array"]))


def _root_types(used: UsedOperation) -> tuple[str, ...]:
    """Return the types of the whole answers of the saved run, as far as its reads show: objects, arrays or both."""
    below = {parse_pointer(pattern)[0] for pattern in used.reads if pattern}
    seen = used.reads.get("", ())
    if not below:
        return seen if set(seen) <= {"object", "array"} else ()
    if seen:
        return seen if set(seen) <= {"object", "array"} else ()
    # `*` may be any key of a map too.
    return ("object",) if ANY not in below else ("array", "object")


def _field_shifts(used: UsedOperation, calls: Sequence[Sent]) -> Iterator[Shift]:
    """Compare the types of each field over all answers of an operation, because any of them may lack a field."""
    now: dict[str, set[str]] = {}
    for call in calls:
        for pattern, types in call.reads.items():
            now.setdefault(pattern, set()).update(types)
    names = {last_name(pattern) for pattern, types in used.reads.items() if "missing" not in types}
    for pattern, found_types in now.items():
        if found_types == {"missing"} and pattern not in used.reads and ANY in pattern and last_name(pattern) in names:
            yield Shift(place_of(used, "field", pattern), "the field, as when the recipe was saved", "nothing")
        saved: set[str] = set(used.reads.get(pattern, ())) if pattern else set()
        # A saved run that found nothing there, or only null, does not show which other types are allowed.
        if saved and not saved <= {"missing", "null"} and (strange := _strange(used, pattern, saved, found_types)):
            expected = types_text(kind for kind in READ_TYPES if kind in saved)
            found = types_text(kind for kind in READ_TYPES if kind in strange)
            yield Shift(place_of(used, "field", pattern or "/"), f"{expected}, as when the recipe was saved", found)


def _strange(used: UsedOperation, pattern: str, saved: set[str], now: set[str]) -> set[str]:
    """Return the types that are new at a place; nothing and null count where they are in all places."""
    if now <= {"missing", "null"}:
        return {kind for kind in now - saved if not (kind == "null" and _may_be(used, pattern, "null"))}
    new = {kind for kind in now - saved - {"missing", "null"} if not overlap([kind], saved)}
    documented = used.documented.answer.get(pattern, ())
    # What the document allows is no surprise, if it was right about the saved run.
    is_right = all(overlap([kind], documented) for kind in saved - {"missing", "null"})
    return {kind for kind in new if not (documented and is_right and overlap([kind], documented))}


def _may_be(used: UsedOperation, pattern: str, kind: str) -> bool:
    return kind in used.documented.answer.get(pattern, ())


def _empty_shifts(recipe: Recipe, used: UsedOperation, calls: Sequence[Sent]) -> Iterator[Shift]:
    """Find arrays without items, of which the saved run took or read items."""
    for array in sorted(_taken_arrays(recipe.links, used.function)):
        if any(_is_empty(call.body, array) for call in calls):
            yield _empty(used, array)
    read = _read_arrays(used.reads)
    if not read or len(calls) < _saved_calls(recipe, used.function):
        return
    held = [(call, array) for call in calls for array in read if _has_place(call.body, array)]
    if held and all(_is_empty(call.body, array) for call, array in held):
        yield from (_empty(used, array) for array in read if any(one == array for _, one in held))


def _empty(used: UsedOperation, array: str) -> Shift:
    return Shift(place_of(used, "array", array or "/"), "items, as when the recipe was saved", "none")


def _saved_calls(recipe: Recipe, function: str) -> int:
    """Return how often the saved run called a function: one empty list among several is no shift yet."""
    return sum(call.function == function for call in recipe.calls)


def _taken_arrays(links: Iterable[Link], function: str) -> set[str]:
    """Return the outermost arrays from which links of a function take one item."""
    taken = (link.take for link in links if link.answer_of == function and link.choice in _TAKEN)
    return {_outermost(pattern) for pattern in taken if ANY in parse_pointer(pattern)}


def _read_arrays(reads: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the outermost arrays of which the program read items."""
    return sorted({_outermost(pattern) for pattern in reads if ANY in parse_pointer(pattern)})


def _outermost(pattern: str) -> str:
    parts = parse_pointer(pattern)
    return format_pointer(parts[: parts.index(ANY)])


def _has_place(body: Any, array: str) -> bool:
    return any(isinstance(value, list | Mapping) for _, value in places(body, array))


def _is_empty(body: Any, array: str) -> bool:
    found = [value for _, value in places(body, array)]
    return bool(found) and all(isinstance(value, list | Mapping) and not value for value in found)
