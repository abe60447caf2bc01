"""Notes: what a server demands beyond its document, learned where a refused request was repaired.

A note says which argument of the document made the difference between a request that the server refused and the one
that it then took. It is made of names and values that the document lists and of a code of our own, so no text of an
answer is in it. It is kept for each operation under a digest of its part of the document, as permissions are.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple

from langgraph.store.base import BaseStore

from restgpt.calling.permissions import about, key_of
from restgpt.specs import Operation
from restgpt.specs.effort import within
from restgpt.specs.problem import is_success
from restgpt.specs.schemas.shape import Shape
from restgpt.tools.text.storable import storable_value, stored_items

NAMESPACE = ("restgpt", "notes")


TEACHING = frozenset({400, 422, 428})
"""Status codes of a refusal that other arguments may repair (RFC 9110, section 15.5; RFC 6585, section 3)."""

MOST_NOTES, MOST_JOINT = 6, 3
"""How many notes are kept of one operation, and how many arguments of one note."""

FAILURES = 2
"""So many requests in a row that speak against a note delete it."""

STEPS_MOST = 20_000
"""How many steps the search for one argument in the document may take."""

DEEPEST = 4
"""How many levels of a body are compared."""

Kind = Literal["needs", "refuses", "not", "takes"]
Field = tuple[str, ...]


class Answered(NamedTuple):
    """An answered request: its grouped arguments, and the status of the answer. What the answer says does not count.

    `against` are the places of values that do not fit the document.
    """

    arguments: Mapping[str, Any]
    status: int
    against: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class Note:
    """One note. `kind`: the server needs the fields, refuses them, does not take the value of the only one, or takes
    them otherwise than the document says.

    `fields` are places in the grouped arguments, such as `("body", "note")`. `value` is one that the document lists.
    """

    kind: Kind
    fields: tuple[Field, ...]
    status: int
    value: Any = None
    failures: int = 0

    @property
    def text(self) -> str:
        """The note in words of our own, with the document's names."""
        named = " and ".join(f"{'.'.join(rest)} ({group})" for group, *rest in self.fields)
        them = "them" if len(self.fields) > 1 else "it"
        match self.kind:
            case "needs":
                return f"the server refused a call without {named} (status {self.status}), and accepted one with {them}"
            case "refuses":
                return f"the server refused a call with {named} (status {self.status}), and accepted one without {them}"
            case "takes":
                return f"the server accepted a call that is against the document in {named} (status {self.status})"
        return f"the server refused {self.value!r} for {named} (status {self.status}), and accepted another value"

    def is_kept_by(self, arguments: Mapping[str, Any]) -> bool:
        """Return whether a request does as the note says."""
        given = [_at(arguments, place) for place in self.fields]
        if self.kind in ("needs", "takes"):
            return self.kind == "takes" or None not in given
        return all(item is None for item in given) if self.kind == "refuses" else self.value not in given


@dataclass(frozen=True, slots=True)
class Noted:
    """The notes of one operation of an API."""

    key: str
    api: str
    base_url: str
    name: str
    operation: str
    notes: tuple[Note, ...]
    at: float

    def to_json(self) -> dict[str, Any]:
        """Return the notes for documents, as text."""
        kept = ("api", "base_url", "name", "operation", "at")
        return {**{name: getattr(self, name) for name in kept}, "notes": [note.text for note in self.notes]}


class Notes:
    """The notes in a store; without a store there are none, and none is kept.

    Two runs that learn at the same moment may lose what one of them saw; the next repair brings it back.
    """

    def __init__(self, store: BaseStore | None = None, *, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock

    def of(self, operation: Operation) -> tuple[Note, ...]:
        """Return the notes of an operation."""
        item = self._store.get(NAMESPACE, key_of(operation)) if self._store is not None else None
        return _read(item.value["notes"]) if item is not None else ()

    def learn(self, operation: Operation, request: Answered, earlier: Iterable[Answered] = ()) -> None:
        """Learn from an answered request, compared with `earlier` ones of the operation that the server had refused.

        The request also counts for or against the notes that there are.
        """
        if self._store is None:
            return
        before = self.of(operation)
        after = [judged for note in before if (judged := _judged(note, request)).failures < FAILURES]
        if is_success(request.status):
            found = [lesson(operation, refused, request) for refused in earlier if refused.status in TEACHING]
            places = (_documented(operation, place) for place in request.against)
            found += [Note("takes", (place[0],), request.status) for place in places if place is not None]
            known = {(note.kind, note.fields, note.value) for note in after}
            new = {(note.kind, note.fields, note.value): note for note in found if note is not None}
            after += [note for key, note in new.items() if key not in known]
        if (kept := tuple(after[-MOST_NOTES:])) != before:
            self._put(operation, kept)

    def listed(self) -> list[Noted]:
        """Return the operations with notes, by API and operation."""
        items = stored_items(self._store, NAMESPACE) if self._store is not None else ()
        found = [Noted(**{**item.value, "key": item.key, "notes": _read(item.value["notes"])}) for item in items]
        return sorted(found, key=lambda item: (item.api, item.base_url, item.operation, item.at))

    def forget(self, noted: Noted) -> None:
        """Delete the notes of one operation."""
        if self._store is not None:
            self._store.delete(NAMESPACE, noted.key)

    def _put(self, operation: Operation, notes: Sequence[Note]) -> None:
        if self._store is None:
            return
        if not notes:
            self._store.delete(NAMESPACE, key_of(operation))
            return
        entry = {**about(operation), "notes": [asdict(note) for note in notes], "at": self._clock()}
        self._store.put(NAMESPACE, key_of(operation), storable_value(entry), index=False)


def lesson(operation: Operation, refused: Answered, taken: Answered) -> Note | None:
    """Return what made the difference between a refused request of an operation and one that was taken.

    None if the requests differ in more than one way, or in anything that the document does not name.
    """
    found = list(_differences(refused.arguments, taken.arguments))
    if not 0 < len(found) <= MOST_JOINT:
        return None
    places: list[Field] = []
    listed: tuple[Any, ...] = ()
    with within(STEPS_MOST, operation.document.allowance):
        for place, _, _ in found:
            known = _documented(operation, place)
            if known is None:
                return None
            places.append(known[0])
            listed = known[1].values
    if all(old is None for _, old, _ in found):
        return Note("needs", tuple(places), refused.status)
    if all(new is None for _, _, new in found):
        return Note("refuses", tuple(places), refused.status)
    _, old, new = found[0]
    return (
        Note("not", tuple(places), refused.status, old) if len(found) == 1 and old in listed and new in listed else None
    )


def _differences(
    before: Mapping[str, Any], after: Mapping[str, Any], at: Field = ()
) -> Iterator[tuple[Field, Any, Any]]:
    """Yield the places at which arguments differ, with both values; None where there is none."""
    for name in {**before, **after}:
        old, new = before.get(name), after.get(name)
        if not at:
            # A group without arguments is left out.
            old, new = old or {}, new or {}
        if isinstance(old, Mapping) and isinstance(new, Mapping) and len(at) < DEEPEST:
            yield from _differences(old, new, (*at, name))
        elif old != new:
            yield (*at, name), old, new


def _documented(operation: Operation, place: Field) -> tuple[Field, Shape] | None:
    """Return a place as the document spells it, with its schema; None if the document does not name it."""
    group, *names = place
    shape: Shape | None = None
    if group == "body":
        shape = operation.sent
    elif names:
        wanted = names.pop(0)
        for item in operation.keywords:
            if item.location == group and _same(group, item.field, wanted):
                shape, place = item.shape, (group, item.field, *names)
    for name in names:
        shape = shape.fields.get(name) if shape is not None else None
    return None if shape is None or len(place) < 2 else (place, shape)


def _same(group: str, name: str, other: str) -> bool:
    return name.lower() == other.lower() if group == "header" else name == other


def _judged(note: Note, request: Answered) -> Note:
    """Return a note with the failures that it has after a request, which may say nothing about it."""
    if not is_success(request.status) and request.status not in TEACHING:
        return note
    if note.kind == "takes" and not {*note.fields}.intersection(request.against):
        return note
    speaks_for = note.is_kept_by(request.arguments) == is_success(request.status)
    return replace(note, failures=0 if speaks_for else note.failures + 1)


def _at(arguments: Mapping[str, Any], place: Field) -> Any:
    found: Any = arguments
    for depth, name in enumerate(place):
        if not isinstance(found, Mapping):
            return None
        if depth == 1 and place[0] == "header":
            found = next((value for key, value in found.items() if _same("header", key, name)), None)
        else:
            found = found.get(name)
    return found


def _read(notes: Iterable[Mapping[str, Any]]) -> tuple[Note, ...]:
    return tuple(Note(**{**note, "fields": tuple(map(tuple, note["fields"]))}) for note in notes)
