"""The target of a change: the thing that it would change, as it is before.

The document says where to look: the GET on the very path that the change goes to, with the same query. A target is
looked at once before a person is asked, and again right before the change is sent.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal

from typing_extensions import TypedDict

from restgpt.calling.idempotency import HEADERS
from restgpt.calling.record import TargetRecord
from restgpt.specs import Operation
from restgpt.tools.text.quotation import named
from restgpt.tools.text.storable import storable_value

CHANGING = frozenset({"PUT", "PATCH", "DELETE"})

SHOWN = 2000
"""How many characters of the present state a question shows."""

KEPT = 200_000
"""The largest state in characters that the journal keeps for an undo."""

COMPARED = 20_000
"""The largest state in characters that a question keeps, and so compares field by field; larger ones by their hash."""

LARGE = "(too large to show)"

VALUE_SHOWN = 300
"""How many characters of a value before or after a change a question shows."""

CHANGES_SHOWN = 40
"""How many changed fields a question lists."""


class TargetState(TypedDict):
    """The state of a target before a change: as read, known to be absent, or not known. The journal keeps this."""

    known: Literal["present", "absent", "unread"]
    value: Any


UNREAD: TargetState = {"known": "unread", "value": None}


class FieldChange(TypedDict):
    """One field with its value before and after; an empty name stands for the whole."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Target:
    """The result of a look at the target of a change.

    `reader` is the fingerprint of the request that looked, empty if there was none. `digest` is that of the state and
    `size` its length as JSON. `value` is empty for a state longer than `KEPT`; the JSON form, which checkpoints hold,
    leaves it out where it is longer than `COMPARED`. `restless` are fields that changed between two looks although
    nobody asked for it, such as a counter of views: they make no further question. `is_exact` is false for a state that
    lost something in keeping, which must not be restored.
    """

    known: Literal["present", "absent", "unread"] = "unread"
    value: Any = None
    reader: str = ""
    digest: str = ""
    restless: frozenset[str] = field(default=frozenset())
    size: int = 0
    is_exact: bool = True

    @classmethod
    def of(cls, earlier: TargetState, *, reader: str = "") -> "Target":
        """The target as a look found it."""
        if earlier["known"] != "present":
            return cls(earlier["known"], reader=reader)
        text = json.dumps(earlier["value"], sort_keys=True)
        is_kept = len(text) <= KEPT
        value, digest = earlier["value"] if is_kept else None, sha256(text.encode()).hexdigest()
        return cls("present", value, reader, digest, size=len(text), is_exact=is_kept)

    @property
    def is_known(self) -> bool:
        """Whether the look told the state of the target, absence included."""
        return self.known != "unread"

    @property
    def earlier(self) -> TargetState:
        """The state for an undo; unread where it is too long to be kept, or lost something in keeping."""
        return {"known": self.known, "value": self.value} if self.is_exact else UNREAD

    @property
    def is_large(self) -> bool:
        """Whether the state is too long to be compared field by field."""
        return self.size > COMPARED

    def to_json(self) -> TargetRecord:
        """The JSON form."""
        value = None if self.is_large else storable_value(self.value)
        return {
            "known": self.known,
            "value": value,
            "reader": self.reader,
            "digest": self.digest,
            "restless": sorted(self.restless),
            "size": self.size,
            "exact": self.is_exact and value == self.value,
        }

    @classmethod
    def from_json(cls, data: TargetRecord) -> "Target":
        """Read what `to_json` gave."""
        return cls(
            data["known"],
            data["value"],
            data["reader"],
            data["digest"],
            restless=frozenset(data["restless"]),
            size=data["size"],
            is_exact=data["exact"],
        )

    def differences(self, now: "Target") -> list[FieldChange]:
        """The differences of a later look at the same target, field by field if both states are objects."""
        if (self.known, self.digest) == (now.known, now.digest):
            return []
        are_objects = isinstance(self.value, Mapping) and isinstance(now.value, Mapping)
        if self.is_large or now.is_large or not are_objects:
            return [{"field": "", "before": _whole(self), "after": _whole(now)}]
        before, after = storable_value(self.value), storable_value(now.value)
        names = [*before, *(name for name in after if name not in before)]
        found: list[FieldChange] = [
            {"field": name, "before": before.get(name), "after": after.get(name)}
            for name in names
            if _spelled(before, name) != _spelled(after, name)
        ]
        # What differs only in what keeping takes out differs all the same.
        return found or [{"field": "", "before": before, "after": after}]

    def changed(self, now: "Target", *, written: frozenset[str] = frozenset()) -> list[FieldChange]:
        """The differences that need another question: all but restless fields that the call does not write."""
        is_both_large = self.is_large and now.is_large
        return [
            change
            for change in self.differences(now)
            if change["field"] not in self.restless
            or (not change["field"] and not is_both_large)
            or _is_written(change, written)
        ]


def _spelled(state: Mapping[str, Any], name: str) -> str:
    """A field as JSON, in which `true` is not 1 and null is not nothing."""
    return json.dumps(state[name], sort_keys=True) if name in state else ""


def _is_written(change: FieldChange, written: frozenset[str]) -> bool:
    """Whether a request that writes these fields writes this one, or one in it: some APIs wrap what they answer."""
    inside = [value for value in (change["before"], change["after"]) if isinstance(value, Mapping)]
    return change["field"] in written or any(written & value.keys() for value in inside)


NO_TARGET = Target()


def _whole(target: Target) -> Any:
    if target.known == "absent":
        return "(nothing there)"
    return LARGE if target.is_large else target.value


class ShownTarget(TypedDict):
    """A target as a person is shown it: `present` is cut text where it is long."""

    present: Any
    changes: list[FieldChange]


def shown_target(operation: Operation, arguments: Mapping[str, Any], target: Target) -> ShownTarget | None:
    """The target of a change as a question shows it; None if nothing was there, or if it could not be read."""
    if target.known != "present":
        return None
    body = arguments.get("body")
    changes = _would_change(target.value, body) if operation.method != "DELETE" and isinstance(body, Mapping) else []
    text = json.dumps(target.value, ensure_ascii=False) if target.is_exact else LARGE
    present = target.value if target.is_exact and len(text) <= SHOWN else f"{text[:SHOWN]}…"
    return {"present": storable_value(present), "changes": storable_value(changes)}


def _would_change(present: Any, body: Mapping[str, Any]) -> list[FieldChange]:
    """The fields of which the answer tells another value; it may wrap the thing, and cannot tell write-only fields."""
    known = [present, *present.values()] if isinstance(present, Mapping) else []
    thing = next((item for item in known if isinstance(item, Mapping) and item.keys() & body.keys()), {})
    return [
        {"field": str(name), "before": thing[name], "after": value}
        for name, value in body.items()
        if name in thing and thing[name] != value
    ]


def changes_text(changes: Sequence[FieldChange]) -> str:
    """Changed fields, a line each, with their values in JSON."""
    lines = [
        f"{named(change['field']) if change['field'] else 'the whole'}: "
        f"{_short(change['before'])} → {_short(change['after'])}"
        for change in changes[:CHANGES_SHOWN]
    ]
    more = len(changes) - CHANGES_SHOWN
    return "\n".join([*lines, *([f"and {more:,} more"] if more > 0 else [])])


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= VALUE_SHOWN else f"{text[:VALUE_SHOWN]}… (of {len(text):,} characters)"


def reader_of(operation: Operation) -> Operation | None:
    """The operation that reads what `operation` changes, if the document has one."""
    return operation.api.lookup(f"GET {operation.path}") if operation.method in CHANGING else None


def reader_arguments(operation: Operation, reader: Operation, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments of the GET for the target of a change; None if the GET lacks a query parameter of the change.

    Such a value may choose the target, as in `/settings?user=bob`: without it the reader would show another one.
    """
    query, header = shared(arguments, "query", reader), shared(arguments, "header", reader)
    if len(query) < len(given(arguments, "query")):
        return None
    header = {name: value for name, value in header.items() if name.lower() not in HEADERS}
    return {"path": arguments.get("path") or {}, "query": query, "header": header}


def given(arguments: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The arguments in one place, such as `query`, without nulls."""
    group = arguments.get(place)
    return {name: value for name, value in group.items() if value is not None} if isinstance(group, Mapping) else {}


def shared(arguments: Mapping[str, Any], place: str, other: Operation) -> dict[str, Any]:
    """The arguments in one place that another operation declares there too."""
    fold = str.lower if place == "header" else str
    declared = {fold(item.name) for item in other.parameters if item.location == place}
    return {name: value for name, value in given(arguments, place).items() if fold(str(name)) in declared}
