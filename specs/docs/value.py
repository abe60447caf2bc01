"""How prompts write a value: its fields in braces, the most needed ones of all levels first, while they fit.

    {results: [{id: int, title, release_date: date?, … 2 more: overview, poster_path}], total_results: int}

A star marks fields that a body must have; these are never left out. A question mark marks a value that may be None, and
a field of an answer without a type is a text.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heappop, heappush
from itertools import count
from typing import Any

from restgpt.specs.docs.field import (
    ARRAYS_MOST,
    PYTHON,
    VALUES,
    Note,
    default_of,
    is_plain,
    limits,
    note_of,
    type_of,
    values_note,
    written,
)
from restgpt.specs.docs.focus import ALWAYS, PARTLY, VALUED, Relevance, focus_of
from restgpt.specs.effort import within
from restgpt.specs.reading.tree import values_in
from restgpt.specs.schemas.shape import Shape
from restgpt.specs.search.query import words

# How many steps one value may take; the types of what is left by then are not known.
STEPS_MOST = 15_000
# Objects that nest in one another in the text, and in that of a body which was received.
DEEPEST, RECEIVED_DEEPEST = 4, 12
# How many more objects nest where the focus leads, and the characters of the enumerated values of a field and of one
# that the focus touches.
DEEPER, FIELD_VALUES, TOUCHED_VALUES = 2, 30, 120
# The same for a required and an optional field of a body, from generous to few.
SENT_VALUES = ((400, 160), (400, 60), (160, FIELD_VALUES))
ANSWER_VALUES = ((FIELD_VALUES, FIELD_VALUES),)
# How many alternatives of an object a note lists.
VARIANTS_MOST = 8
# How many fields of a result are compared, about.
OFFERED_MOST = 1000
# The share for fields with types if not all fit, of an answer and of a body; the names of others take what is left.
TYPED_SHARE, TYPED_SENT_SHARE = 0.6, 0.85
# The share of the room of a type that is sent for its fields; what decides takes the rest.
SENT_SHARE = 0.7
# How many times the room required fields may take: a body without one of them is refused.
REQUIRED_MOST = 4
# Names of fields that programs need, and of those that they rarely do, besides `ALWAYS`.
USEFUL = frozenset(
    words(
        """
        status state type role job year number count total amount price average score rating email key code uri by due
        start end id ids description text content value size order
        """
    )
)
NAMING = frozenset({"title", "name", "label", "date", "dates", "at", "on"})
NOISE = frozenset(
    words(
        """
        href url urls link links path image images icon avatar logo thumbnail next previous offset limit page pages
        etag node html external available markets
        """
    )
)
# The ranks of fields, the smallest first, how much each level below the first adds (less for a field that the focus
# touches), and each point of its score takes off; such a field inherits a part of the score of its object.
KEY, NAMED, HELPFUL, OBJECTS, PLAIN, RARE = 0, 8, 10, 12, 20, 30
LEVEL, TOUCHED_LEVEL, POINT, INHERITED = 3, 1, 3, 0.5
# The rank of a field that a body must have: before all.
NEEDED_RANK = -50
# An object with an id of its own and so many fields, inside of what a body is about, mostly only refers to a record.
# Its other fields come last, while this part of the room stays free.
REFERS_LEAST, REFERS, REFERS_FREE = 8, 200, 0.6
# What a note on a required field is worth more than one on an optional one.
NEEDED = 10.0
# More lists of objects than these are details; fewer are what was asked for.
LISTS_MOST = 2

Names = Mapping[str, str]
"""The names of schemas by their references."""
UNNAMED: Names = {}


def type_text(
    shape: Shape,
    *,
    room: int,
    focus: str = "",
    types: Names = UNNAMED,
    request: bool = False,
) -> str:
    """Write the fields of a value in about `room` characters, those of the focus first.

    With `request`, the fields that a body must have are starred, each has its limits, and what decides stands behind.
    """
    with within(STEPS_MOST, shape.document.allowance):
        relevance = Relevance(shape.document, focus_of(focus))
        value = Value(shape, relevance, types, request=request, whole=True)
        text = value.text(int(room * SENT_SHARE) if request else room)
        notes = [note for note in value.notes(frozenset()) if note.decides] if request else []
        return "  ".join([text.removesuffix("?"), *written(notes, room - len(text))])


@dataclass(slots=True, eq=False)
class _Entry:
    """One field in the text; `core` is its shape without the arrays around it."""

    name: str
    mark: str
    core: Shape
    arrays: int
    depth: int
    rest: str
    type_name: str = ""
    # How much the field has to do with the focus.
    score: float = 0.0
    shown: "list[_Entry]" = field(default_factory=list)
    more: list[str] = field(default_factory=list)
    # How many of the fields that are left out are named.
    named: int = 0
    cost: int = 0
    path: str = ""
    description: str = ""
    is_needed: bool = False
    # The references of the objects around it, and its own.
    around: frozenset[str] = frozenset()
    deepest: int = DEEPEST

    @property
    def key(self) -> str:
        """The name as it is written: one with a dot, which is no field of a field, as the text that it is."""
        return repr(self.name) if "." in self.name else self.name

    @property
    def is_object(self) -> bool:
        deepest = self.deepest + DEEPER if self.score >= PARTLY else self.deepest
        return not self.type_name and "object" in self.core.kinds and self.core.has_fields and self.depth < deepest

    @property
    def own_ids(self) -> frozenset[str]:
        """The names of the field for its id that an object may have, in lower case."""
        name = self.name.lower()
        return frozenset({"id", f"{name}id", f"{name}_id"})

    @property
    def is_list(self) -> bool:
        """Whether the field is an array of objects."""
        return self.arrays > 0 and (self.is_object or bool(self.type_name))


def argument_type(shape: Shape, relevance: Relevance, most: int) -> str:
    """Write the type of an argument, its fields or its enumerated values in `most` characters."""
    if shape.has_fields:
        return Value(shape, relevance, UNNAMED, request=True).text(most)
    return type_of(shape, most, is_sent=True)


def argument(name: str, kind: str, shape: Shape, *, is_required: bool) -> str:
    """Write an argument with its type, which is `kind`, its default and its limits."""
    if is_required:
        return f"{name}*: {kind}{limits(shape)}"
    default = shape.flat.get("default")
    # The default tells the type of a plain value.
    if is_plain(default) and kind == PYTHON.get(next(iter(shape.kinds), "")):
        return f"{name}={default!r}{limits(shape)}"
    return f"{name}: {kind}{default_of(shape)}{limits(shape)}"


class Value:
    """Writes the fields of one value: the most needed ones of all levels first, while they fit."""

    def __init__(
        self,
        shape: Shape,
        relevance: Relevance,
        types: Names,
        *,
        request: bool,
        whole: bool = False,
        received: Any = None,
        is_typed: bool = False,
        described: Mapping[str, str] = UNNAMED,
    ) -> None:
        """Write a value; with `whole`, also the fields of one whose schema is among `types`.

        Of a body that was `received`, only the names in it are written. With `is_typed`, an answer has all that a body
        has but the limits. `described` holds what is said elsewhere of the outermost fields.
        """
        self._shape = shape
        objects = (item for item in values_in(received) if isinstance(item, dict))
        self._received = None if received is None else frozenset(name for item in objects for name in item)
        self._top = frozenset(received) if isinstance(received, dict) else self._received
        self._is_typed = is_typed or request
        self._described = described
        self._whole = whole
        self._relevance = relevance
        self._types = types
        self._request = request

    def _begin(self) -> None:
        self._root = self._entry("", self._shape)
        if self._whole and not self._root.arrays:
            self._root.type_name = ""
        # The fields in the text and those left out of it, with the object that they belong to.
        self._added: list[tuple[_Entry, _Entry]] = []
        self._left_out: list[tuple[_Entry, _Entry]] = []

    def text(self, room: int) -> str:
        """Write the value in about `room` characters; more, if its required fields need it."""
        left = 0
        for values in SENT_VALUES if self._is_typed else ANSWER_VALUES:
            self._values = values
            self._begin()
            left = self._choose(room)
            if not self._left_out and left >= 0:
                break
        if self._left_out:
            self._take_back(int(room * (1 - (TYPED_SENT_SHARE if self._request else TYPED_SHARE))) - left)
            self._name_left_out(room - len(self._written(self._root)))
        return self._written(self._root, room)

    def notes(self, said: frozenset[str], mark: str = "") -> Iterator[Note]:
        """Yield what the document says of the fields in the text beyond the words `said`; after `text`.

        The names begin with `mark`. Of a body, values that the text has no room for are notes too.
        """
        for entry in (self._root, *(entry for _, entry in self._added)):
            path = f"{mark}{entry.path or ('body' if self._request else '')}"
            worth = entry.score + (NEEDED if entry.mark else 0.0)
            is_wanted = not self._request and not entry.is_object and entry.score >= VALUED
            if note := note_of(path, entry.description, entry.core, said, worth=worth, is_wanted=is_wanted):
                yield note
            if self._request and (variants := _variants(entry.core)):
                yield Note(path, variants, worth + NEEDED, decides=True)
            if self._is_typed and (note := values_note(path, entry.core, self._written(entry), worth)):
                yield note

    def _entry(self, name: str, shape: Shape, mark: str = "", parent: _Entry | None = None) -> _Entry:
        core, arrays = shape, 0
        while core.kinds == ("array",) and core.items is not None and arrays < ARRAYS_MOST:
            core, arrays = core.items, arrays + 1
        rest = f"{'?' if shape.is_nullable else ''}{default_of(shape) + limits(shape) if self._request else ''}"
        named, reference = self._types.get(core.reference, ""), core.reference
        if parent is None:
            around, depth, path = frozenset({reference}), 0, ""
        else:
            # What contains itself is written by its name below itself.
            named = named or (reference.rpartition("/")[2] if reference in parent.around else "")
            around, depth = parent.around | ({reference} if reference else set()), parent.depth + 1
            path = f"{parent.path}.{name}" if parent.path else name
        described = shape.description or (self._described.get(name, "") if depth == 1 else "")
        return _Entry(
            name,
            mark,
            core,
            arrays,
            depth,
            rest,
            named,
            path=path,
            description=described,
            around=around,
            deepest=DEEPEST if self._received is None else RECEIVED_DEEPEST,
        )

    def _choose(self, room: int) -> int:
        """Add fields, the most needed first, collect those that do not fit, and return the room that is left."""
        left = room - len(self._written(self._root))
        waiting: list[tuple[float, int, _Entry, _Entry]] = []
        number = count()
        self._offer(self._root, waiting, number)
        while waiting:
            rank, _, parent, entry = heappop(waiting)
            entry.cost = len(self._written(entry)) + 2
            if rank >= REFERS and entry.cost > left - room * REFERS_FREE:
                parent.more.append(entry.name)
                continue
            if entry.cost > left + (REQUIRED_MOST * room if entry.is_needed else 0):
                self._left_out.append((parent, entry))
                continue
            left -= entry.cost
            parent.shown.append(entry)
            self._added.append((parent, entry))
            self._offer(entry, waiting, number)
        return left

    def _take_back(self, room: int) -> None:
        """Leave out the fields that were added last, until the names of others have this room."""
        taken: list[tuple[_Entry, _Entry]] = []
        needed: list[tuple[_Entry, _Entry]] = []
        while room > 0 and self._added:
            parent, entry = pair = self._added.pop()
            if entry.is_needed:
                needed.append(pair)
                continue
            parent.shown.remove(entry)
            room -= entry.cost
            taken.append(pair)
        self._added += reversed(needed)
        gone = {id(entry) for _, entry in taken}
        self._left_out = [pair for pair in (*reversed(taken), *self._left_out) if id(pair[0]) not in gone]

    def _offer(self, parent: _Entry, waiting: list[tuple[float, int, _Entry, _Entry]], number: Iterator[int]) -> None:
        """Queue the fields of an object by their need, then their level, then their order."""
        if not parent.is_object or next(number) > OFFERED_MOST:
            return
        required = parent.core.required if self._request else frozenset()
        received = self._top if parent is self._root and not parent.arrays else self._received
        inner = [
            self._entry(name, shape, "*" if name in required else "", parent)
            for name, shape in parent.core.fields.items()
            if received is None or name in received
        ]
        lists = sum(1 for entry in inner if entry.is_list)
        refers = self._refers(parent)
        for entry in inner:
            # What must be in an object of the body, or in an item of a list of it, is never left out.
            entry.is_needed = bool(entry.mark) and (parent.depth < 2 or parent.is_needed)
            rank: float = KEY if entry.mark else _rank(entry, lists)
            if own := self._relevance.of_field(entry.name, parent.core.fields[entry.name].schema):
                entry.score = own + INHERITED * parent.score
                rank = min(rank, KEY) - POINT * entry.score + TOUCHED_LEVEL * parent.depth
            else:
                rank += LEVEL * parent.depth
            if entry.is_needed:
                rank = NEEDED_RANK + LEVEL * parent.depth
            elif refers and entry.name.lower() in parent.own_ids:
                rank = KEY
            elif refers and _rank_of_name(entry.name) > NAMED and own < VALUED:
                rank += REFERS
            heappush(waiting, (rank, next(number), parent, entry))

    def _refers(self, entry: _Entry) -> bool:
        """Tell whether an object of the body is a record of its own, inside of the one that the body is about."""
        if not self._request or entry.arrays or entry.depth == 0 or len(entry.core.fields) < REFERS_LEAST:
            return False
        inside = entry.depth > 1 or len(self._root.core.fields) >= REFERS_LEAST
        return inside and not entry.own_ids.isdisjoint(map(str.lower, entry.core.fields))

    def _written(self, entry: _Entry, values: int = 0) -> str:
        values = values or max(self._values[not entry.mark], TOUCHED_VALUES if entry.score >= VALUED else 0)
        kind = "" if entry.is_object else type_of(entry.core, values, is_sent=self._request)
        kind += limits(entry.core) if kind and entry.arrays and self._request else ""
        inner = entry.type_name or kind or self._braces(entry)
        if entry.is_object and not entry.type_name:
            inner = "|".join([inner, *(PYTHON[other] for other in entry.core.kinds if other != "object")])
        text = "[" * entry.arrays + inner + "]" * entry.arrays
        if not entry.name:
            return text + entry.rest
        if text == "str" and not self._is_typed:
            return entry.key + entry.rest
        return f"{entry.key}{entry.mark}: {text}{entry.rest}"

    def _braces(self, entry: _Entry) -> str:
        parts = [self._written(item) for item in entry.shown]
        if entry.named:
            names = ", ".join(entry.more[: entry.named]) + (", …" if entry.named < len(entry.more) else "")
            parts.append(f"… {len(entry.more)} more: {names}")
        elif entry.more or not parts:
            parts.append("…")
        return "{" + ", ".join(parts) + "}"

    def _name_left_out(self, room: int) -> None:
        """Name fields that are left out while their names fit, the most needed first; required ones keep their star."""
        full: set[int] = set()
        for parent, entry in self._left_out:
            parent.more.append(f"{entry.key}{entry.mark}")
            cost = len(entry.name) + 2 + (0 if parent.named else len(" 100 more: …"))
            if cost > room or id(parent) in full or self._refers(parent):
                full.add(id(parent))
                continue
            room -= cost
            parent.named += 1


def _variants(shape: Shape) -> str:
    """Write the alternatives of an object by what each must have, and the field that chooses; empty without several."""
    found = [branch for branch in shape.branches if branch.has_fields]
    if len(found) < 2:
        return ""
    chooser = shape.flat.get("discriminator")
    chooser = chooser if isinstance(chooser, dict) else {}
    mapping = chooser.get("mapping")
    keys = {str(target): str(key) for key, target in mapping.items()} if isinstance(mapping, dict) else {}
    texts = [
        f"{keys.get(branch.reference) or branch.reference.rpartition('/')[2]} "
        f"{{{', '.join(f'{name}*' for name in sorted(branch.required))}}}".strip()
        for branch in found[:VARIANTS_MOST]
    ]
    more = ["…"] if found[VARIANTS_MOST:] else []
    by = f", chosen by {chooser['propertyName']}" if isinstance(chooser.get("propertyName"), str) else ""
    return f"{VALUES}{' | '.join([*texts, *more])}{by}"


def _rank(entry: _Entry, lists: int) -> int:
    """Rank a field by its need: ids, names and lists first, addresses and pages last."""
    if len(entry.core.values) == 1:
        return RARE
    rank = _rank_of_name(entry.name)
    if not (entry.is_object or entry.type_name) or rank == RARE:
        return rank
    if entry.is_list:
        return min(rank, KEY if lists <= LISTS_MOST else HELPFUL)
    return min(rank, OBJECTS)


@lru_cache(maxsize=1 << 14)
def _rank_of_name(name: str) -> int:
    parts = frozenset(words(name))
    if parts & NOISE or name.startswith("_"):
        return RARE
    if name.lower() in ALWAYS or parts <= {"id", "ids"}:
        return KEY
    if parts & NAMING:
        return NAMED
    return HELPFUL if parts & USEFUL else PLAIN
