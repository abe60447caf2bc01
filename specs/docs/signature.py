"""Signatures: operations as typed Python functions for prompts, in a few lines within a token budget.

    search_movies(query*: str, year: int, page=1) -> {results: [{id: int, title, release_date: date}], total: int}
      Find movies by title. year: Year of the first release.

A star marks required arguments and fields, a question mark a value that may be None. A field of the result without a
type is a text. Of a long result the fields that programs need come first, the names of the others after an ellipsis.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from heapq import heappop, heappush
from itertools import count, islice
from typing import Any, NamedTuple

from restgpt.specs.docs.documentation import TOKEN
from restgpt.specs.docs.notation import DEFAULT_MOST
from restgpt.specs.docs.overview.summary import first_sentence
from restgpt.specs.docs.shape import Shape
from restgpt.specs.docs.words.families import fold
from restgpt.specs.docs.words.focus import ALWAYS, PARTLY, VALUED, Relevance, focus_of
from restgpt.specs.docs.words.keyword import BODY, PAGES, Keyword, body_shape, keywords
from restgpt.specs.docs.words.plain_text import plain_text
from restgpt.specs.docs.words.sentences import beyond, chosen, says_more, sentences
from restgpt.specs.effect import seems_to_read
from restgpt.specs.effort import within
from restgpt.specs.operation import Operation
from restgpt.specs.search.stemmer import STOP_STEMS, stems, words

PYTHON = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "array": "list", "object": "dict"}
FORMATS = {
    "date": "date",
    "date-time": "datetime",
    "time": "time",
    "uuid": "uuid",
    "binary": "bytes",
    "byte": "base64",
}
# How many steps one signature may take; the types of what is left by then are not known.
STEPS_MOST = 15_000
# Objects that nest in one another, and arrays before an object, in the text.
DEEPEST, ARRAYS_MOST = 4, 3
# How many more objects nest where the focus leads, and the characters of the enumerated values of a field and of one
# that the focus touches.
DEEPER, FIELD_VALUES, TOUCHED_VALUES = 2, 30, 120
# How many fields of a result are compared, about, and how many fields of each are looked at for a list or a page.
OFFERED_MOST, REACHED_MOST = 1000, 60
# The share of the room for the arguments, for the body, and for a result that leaves some to descriptions.
ARGUMENTS_SHARE, BODY_SHARE, RESULT_SHARE = 0.65, 0.8, 0.75
# The share for fields with types if not all fit; the names of others take what is left.
TYPED_SHARE = 0.6
# From this room on, in characters, some is left to descriptions.
ROOMY = 320
RESULT_LEAST = 60
# Words in the names of arguments and fields that lead from page to page, and how deep the list of a page may be.
PAGING = frozenset({"page", "offset", "limit", "cursor", "next", "skip", "start", "marker", "token"})
LIST_DEPTH = 2
# Words in the names of arguments that only a list in pages has.
TURNING = frozenset({"page", "offset", "cursor"})
# Words in the name of a page's size.
SIZES = frozenset({"limit", "size", "per"})
# How many changes on the same path, or below it, are searched for the values of a filter.
SIBLINGS_MOST = 3
# What is said of an argument for the version of a resource, by its header in lower case.
CONDITIONS = {
    "if-match": "is not sent by itself; where a change must meet the version that was read, pass "
    "headers(answer)['etag'] of that answer.",
    "if-unmodified-since": "is not sent by itself.",
}
# Words of a state, and last parts of a path, with which a change ends something that stays there to be read.
ENDED = frozenset(stems("cancel cancelled withdraw withdrawn close void revoke retire"))
STATES = frozenset({"status", "state"})
# A larger maximum of a number says nothing.
LARGEST_BOUND = 100_000
# The names of arguments may take this many times the room: an argument that is not shown is never given.
NAMES_MOST = 3
# The part of the room that sentences which state a rule may take.
RULES_PART = 2
# Characters of the summary, of a parameter's description, and of one that states a rule; names before a shared one.
SUMMARY_MOST, SUMMARY_LEAST, NOTE_MOST, RULE_NOTE, NAMED_MOST = 120, 40, 80, 160, 3
# Characters of what a server demanded beyond the document.
NOTED_MOST = 400
# Characters for the enumerated values of a required and of an optional argument, from generous to few.
VALUES_MOST = ((400, 400), (120, 60), (120, 30), (30, 12))
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
# The rank of the size of a page in the body for a list: before all.
SIZE = -100
# More lists of objects than these are details; fewer are what was asked for.
LISTS_MOST = 2

_NULL = re.compile(r"\b([A-Za-z_]\w*)\??: null(?![\w |])", re.ASCII)
_ALWAYS_NULL = re.compile(r"always null: ([\w?]+(?:, [\w?]+)*)(?=[},])", re.ASCII)

Names = Mapping[str, str]
"""The names of schemas by their references."""
UNNAMED: Names = {}


class Types(NamedTuple):
    """The names of schemas that are written elsewhere: those that answers contain, and those that bodies contain."""

    answered: Names = UNNAMED
    sent: Names = UNNAMED


NO_TYPES = Types()


def signature(
    operation: Operation,
    name: str,
    *,
    budget: int,
    focus: str = "",
    seen: str = "",
    noted: str = "",
    types: Types = NO_TYPES,
    relevance: Relevance | None = None,
    reads: Callable[[Operation], bool] = seems_to_read,
    rules: int | None = None,
) -> str:
    """Write an operation as a typed function in about `budget` tokens of four characters.

    The sentences that state a rule come first; they take at most `rules` characters, if None half of the budget.

    A long result keeps the fields that match the words of `focus`. `seen`, the shape of earlier answers as text, is
    appended, and so is `noted`, what the server demanded beyond its document. `types` names the schemas
    that are written elsewhere. `relevance` is that of the focus, if several signatures share it. `reads` tells whether
    the operation reads, or seems to, so that a list of it has pages.
    """
    room = budget * TOKEN
    shown = f"\n  seen: {plain_text(seen, room // 2)}" if seen else ""
    found = relevance or Relevance(operation.document, focus_of(focus))
    with within(STEPS_MOST, operation.document.allowance):
        writer = _Writer(operation, name, found, types, is_read=reads(operation))
        shown = writer.with_types(shown) + (f"\n  Note: {plain_text(noted, NOTED_MOST)}." if noted else "")
        text = writer.text(room - len(shown), room // RULES_PART if rules is None else rules)
    return text + shown


def type_text(shape: Shape, *, room: int, focus: str = "", types: Names = UNNAMED, request: bool = False) -> str:
    """Write the fields of a value in about `room` characters, those of the focus first.

    With `request`, the fields that a body must have are starred.
    """
    with within(STEPS_MOST, shape.document.allowance):
        relevance = Relevance(shape.document, focus_of(focus))
        return _Tree(shape, relevance, types, request=request, whole=True).text(room)


class _Writer:
    """Writes one signature: each part takes its room, and what a part leaves goes to the next ones."""

    def __init__(self, operation: Operation, name: str, relevance: Relevance, types: Types, *, is_read: bool) -> None:
        self._operation = operation
        self._is_read = is_read
        self._name = name
        self._relevance = relevance
        self._types = types
        self._keywords = keywords(operation)
        self._families = fold(self._keywords, self._type_of)
        self._listed = [item for item in self._keywords if item.name not in self._families.folded]

    def _type_of(self, item: Keyword) -> str:
        return _type(Shape(self._operation.document, item.parameter.schema, request=True), FIELD_VALUES)

    def text(self, room: int, rules: int) -> str:
        summary = self._summary(max(SUMMARY_LEAST, min(SUMMARY_MOST, room // 4)))
        prose = beyond(self._operation.description, summary)
        ruled = " ".join(chosen(prose, 0, rules))
        families = "".join(f"\n  {line}" for line in self._families.lines)
        left = room - len(self._name) - len("() -> \n  ") - len(summary) - len(ruled) - len(families)
        arguments = self._arguments(int(left * ARGUMENTS_SHARE), NAMES_MOST * room)
        left -= len(arguments)
        body = self._body(int(left * BODY_SHARE))
        inside = ", ".join(part for part in (arguments, body, self._pages) if part)
        left -= len(body) + 2
        result = self._result(max(RESULT_LEAST, int(left * RESULT_SHARE) if room >= ROOMY else left))
        left -= len(result)
        left -= len(self._kept) + 1 if self._kept else 0
        told = " ".join(chosen(prose, len(ruled) + left, rules))
        left -= len(told) - len(ruled)
        line = " ".join(
            part for part in (self._news(summary), told, self._kept, *self._notes(left, f"{summary} {told}")) if part
        )
        return f"{self._name}({inside}) -> {result}" + (f"\n  {line}" if line else "") + families

    def _news(self, summary: str) -> str:
        """Return the summary; empty if all its words are in the name of the function."""
        return "" if frozenset(stems(summary)) <= STOP_STEMS.union(stems(self._name)) else summary

    def _summary(self, most: int) -> str:
        text = self._operation.summary or first_sentence(self._operation.description)
        old = "Deprecated. " if self._operation.deprecated else ""
        line = plain_text(text, most - len(old))
        return f"{old}{line}" + ("." if line and line[-1].isalnum() else "")

    def _arguments(self, room: int, most: int) -> str:
        """Write the arguments with fewer enumerated values until they fit in `room`.

        If they never do, required ones and as many others as fit have their types, and the rest is named; beyond
        `most` characters some are left out.
        """
        texts: list[str] = []
        for needed, other in VALUES_MOST:
            texts = [self._argument(item, needed if item.required else other) for item in self._listed]
            if len(", ".join(texts)) <= room:
                return ", ".join(texts)
        texts = self._typed_first(texts, room)
        return ", ".join(texts) if len(", ".join(texts)) <= most else self._some(texts, most)

    def _by_worth(self) -> list[int]:
        """Order the listed arguments: required ones, then those of the focus, then as the document has them."""
        return sorted(
            range(len(self._listed)), key=lambda n: (not self._listed[n].required, -self._score(self._listed[n]))
        )

    def _typed_first(self, texts: Sequence[str], room: int) -> list[str]:
        """Write arguments by name, and those of the most worth with their types while these fit."""
        written = [text if item.required else item.name for item, text in zip(self._listed, texts, strict=True)]
        left = room - len(", ".join(written))
        for number in self._by_worth():
            left -= len(texts[number]) - len(written[number])
            if left < 0:
                break
            written[number] = texts[number]
        return written

    def _some(self, texts: list[str], room: int) -> str:
        """Keep the required arguments, those of the focus, and as many others as fit."""
        kept: set[int] = set()
        left = room - len(", … 100 more")
        for number in self._by_worth():
            left -= len(texts[number]) + 2
            if left >= 0 or self._listed[number].required:
                kept.add(number)
        return ", ".join([*(texts[number] for number in sorted(kept)), f"… {len(texts) - len(kept)} more"])

    def _score(self, item: Keyword) -> float:
        schema = item.parameter.schema
        described = {"description": item.parameter.description or schema.get("description")}
        return self._relevance.of_field(item.field, {**schema, **described})

    def _argument(self, item: Keyword, values: int) -> str:
        shape = Shape(self._operation.document, item.parameter.schema, request=True)
        has_fields = shape.has_fields
        tree = _Tree(shape, self._relevance, UNNAMED, request=True) if has_fields else None
        kind = tree.text(values) if tree else _type(shape, values)
        if kind in ("str", "[str]") and item.location == "query" and (known := self._values.get(item.field)):
            listed = "|".join(map(repr, known))
            if len(listed) <= values:
                kind = f"[{listed}]" if kind == "[str]" else listed
        default = shape.flat.get("default")
        if item.required:
            return f"{item.name}*: {kind}"
        # The default tells the type of a plain value.
        if _is_plain(default) and kind == PYTHON.get(next(iter(shape.kinds), "")):
            return f"{item.name}={default!r}{_most(shape)}"
        return f"{item.name}: {kind}{_default(shape)}{_most(shape)}"

    @cached_property
    def _values(self) -> Mapping[str, tuple[Any, ...]]:
        """The enumerated texts of the fields by name, which hold for a filter of the same name, too."""
        found = {name: (shape.items or shape).values for name, shape in self._fields.items()}
        return {
            name: values
            for name, values in found.items()
            if len(values) > 1 and all(isinstance(value, str) for value in values)
        }

    @cached_property
    def _fields(self) -> Mapping[str, Shape]:
        """The fields of the answer and of the bodies of changes by name; one with values before one without."""
        found: dict[str, Shape] = {}
        for shape in (*self._answered(), *self._changed()):
            for name, inner in islice(shape.fields.items(), REACHED_MOST):
                if name not in found or not (found[name].items or found[name]).values:
                    found[name] = inner
        return found

    def with_types(self, seen: str) -> str:
        """Write the types, if the document has them, of fields that were always null in a learned shape."""

        def typed(name: str, before: str) -> str:
            kind = _type(self._fields[name], FIELD_VALUES) if name in self._fields else "any"
            return before if kind == "any" else f"{before} (else {kind})"

        def listed(match: re.Match[str]) -> str:
            names = match[1].split(", ")
            return f"always null: {', '.join(typed(name.rstrip('?'), name) for name in names)}"

        seen = _ALWAYS_NULL.sub(listed, seen)
        return _NULL.sub(lambda match: typed(match[1], match[0]), seen)

    def _answered(self) -> Iterator[Shape]:
        """Yield the objects of the answer: itself or its items, and the items of its lists."""
        response = self._operation.response()
        media = response.preferred if response is not None else None
        if media is None:
            return
        shape = Shape(self._operation.document, media.schema)
        shape = shape.items or shape
        yield shape
        for inner in islice(shape.fields.values(), REACHED_MOST):
            if inner.items is not None:
                yield inner.items

    def _changed(self) -> Iterator[Shape]:
        """Yield the bodies of changes on the path of a read, or of an item below it."""
        path = self._operation.path.rstrip("/")
        if not self._is_read:
            return
        below = (
            item
            for item in self._operation.api.near_path(path)
            if item.method in ("POST", "PUT", "PATCH") and (item.path == path or item.path.startswith(f"{path}/{{"))
        )
        for item in islice(below, SIBLINGS_MOST):
            shape = body_shape(item)
            if shape is not None:
                yield shape

    def _body(self, room: int) -> str:
        shape = body_shape(self._operation)
        if shape is None or self._operation.body is None:
            return ""
        if not self._operation.body.required and shape.kinds == ("object",) and not shape.fields and not shape.is_open:
            # Some documents give every operation a body without fields.
            return ""
        star = "*" if self._operation.body.required else ""
        head = f"{BODY}{star}: "
        tree = _Tree(shape, self._relevance, self._types.sent, request=True, sized=bool(self._pages))
        return head + tree.text(max(RESULT_LEAST, room - len(head)))

    @cached_property
    def _pages(self) -> str:
        """Write the argument for the number of pages, if the operation reads a list in pages."""
        response = self._operation.response() if self._is_read else None
        media = response.preferred if response is not None else None
        if media is None:
            return ""
        shape = Shape(self._operation.document, media.schema)
        body = body_shape(self._operation)
        names = [*(item.name for item in self._keywords), *(body.fields if body is not None else ())]
        asked = not PAGING.isdisjoint(word for name in names for word in words(name))
        turned = any(not TURNING.isdisjoint(words(item.name)) for item in self._keywords)
        if turned and not shape.has_fields and set(shape.kinds) <= {"object"}:
            # The document does not describe the answer, but only lists have pages.
            return f"{PAGES}=1"
        # A list of that name holds what comes next, and no address of a page.
        told = any(name in PAGING and inner.items is None for name, inner in islice(shape.fields.items(), REACHED_MOST))
        return f"{PAGES}=1" if (asked or told) and _has_list(shape) else ""

    @cached_property
    def _kept(self) -> str:
        """Name the change beside a removal that ends the same thing and leaves it to be read; empty without one."""
        own = self._operation
        if own.method != "DELETE" or not own.path.endswith("}"):
            return ""
        before = self._name.removesuffix(own.name)
        for item in own.api.near_path(own.path):
            parent, _, last = item.path.rpartition("/")
            if item.method == "POST" and parent == own.path and ENDED.issuperset(stems(last) or [last]):
                return f"Removes it; {before}{item.name} only ends it."
            if item.method in ("PATCH", "PUT") and item.path == own.path and (shape := body_shape(item)) is not None:
                for name, inner in islice(shape.fields.items(), REACHED_MOST):
                    ended = [value for value in inner.values if ENDED.intersection(stems(str(value)))]
                    if ended and name.lower() in STATES:
                        return f"Removes it; {before}{item.name} with {name}={ended[0]!r} only ends it."
        return ""

    def _result(self, room: int) -> str:
        response = self._operation.response()
        if response is None:
            return "any"
        media = response.preferred
        if media is None:
            return "None"
        kind = media.media_type.lower()
        if "json" not in kind and "*" not in kind:
            return "str" if kind.startswith("text/") or "xml" in kind else "bytes"
        shape = Shape(self._operation.document, media.schema)
        return _Tree(shape, self._relevance, self._types.answered, request=False).text(room)

    def _notes(self, room: int, known: str) -> Iterator[str]:
        """Write the descriptions of parameters while they fit: rules first, then those of the focus."""
        said = frozenset(stems(known))
        notes: dict[str, list[str]] = {}
        rules: dict[str, bool] = {}
        for item in sorted(self._keywords, key=lambda item: (-self._score(item), item.location == "path")):
            schema = Shape(self._operation.document, item.parameter.schema)
            found = sentences(item.parameter.description or schema.description)
            ruled = [sentence.text for sentence in found if sentence.is_rule]
            text = plain_text(
                " ".join(ruled or [sentence.text for sentence in found]), RULE_NOTE if ruled else NOTE_MOST
            )
            if says_more(text, said | frozenset(stems(item.name))):
                notes.setdefault(text, []).append(item.name)
                rules[text] = rules.get(text, False) or bool(ruled)
        for text in sorted(notes, key=lambda text: not rules[text]):
            names = notes[text]
            listed = ", ".join(names[:NAMED_MOST]) + (", …" if len(names) > NAMED_MOST else "")
            note = f"{listed}: {text if text[-1] in '.…' else text + '.'}"
            if len(note) < room:
                room -= len(note) + 1
                yield note


@dataclass(slots=True)
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

    @property
    def is_object(self) -> bool:
        deepest = DEEPEST + DEEPER if self.score >= PARTLY else DEEPEST
        return not self.type_name and "object" in self.core.kinds and self.core.has_fields and self.depth < deepest

    @property
    def is_list(self) -> bool:
        """Whether the field is an array of objects."""
        return self.arrays > 0 and (self.is_object or bool(self.type_name))


class _Tree:
    """Writes the fields of one value: the most needed ones of all levels first, while they fit."""

    def __init__(
        self,
        shape: Shape,
        relevance: Relevance,
        types: Names,
        *,
        request: bool,
        whole: bool = False,
        sized: bool = False,
    ) -> None:
        """Write a value; with `whole`, also the fields of one whose schema is among `types`.

        With `sized`, it is the body for a list in pages, whose size comes first.
        """
        self._relevance = relevance
        self._types = types
        self._request = request
        self._sized = sized
        self._root = self._entry("", shape, 0, "")
        if whole:
            self._root.type_name = ""
        # The fields in the text and those left out of it, with the object that they belong to.
        self._added: list[tuple[_Entry, _Entry]] = []
        self._left_out: list[tuple[_Entry, _Entry]] = []

    def text(self, room: int) -> str:
        """Write the value in about `room` characters."""
        left = self._choose(room)
        if self._left_out:
            self._take_back(int(room * (1 - TYPED_SHARE)) - left)
            self._name_left_out(room - len(self._written(self._root)))
        return self._written(self._root, room)

    def _entry(self, name: str, shape: Shape, depth: int, mark: str) -> _Entry:
        core, arrays = shape, 0
        while core.kinds == ("array",) and core.items is not None and arrays < ARRAYS_MOST:
            core, arrays = core.items, arrays + 1
        rest = f"{'?' if shape.is_nullable else ''}{_default(shape) + _most(shape) if self._request else ''}"
        return _Entry(name, mark, core, arrays, depth, rest, self._types.get(core.reference, ""))

    def _choose(self, room: int) -> int:
        """Add fields, the most needed first, collect those that do not fit, and return the room that is left."""
        left = room - len(self._written(self._root))
        waiting: list[tuple[float, int, _Entry, _Entry]] = []
        number = count()
        self._offer(self._root, waiting, number)
        while waiting:
            _, _, parent, entry = heappop(waiting)
            entry.cost = len(self._written(entry)) + 2
            if entry.cost > left:
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
        while room > 0 and self._added:
            parent, entry = self._added.pop()
            parent.shown.pop()
            room -= entry.cost
            taken.append((parent, entry))
        gone = {id(entry) for _, entry in taken}
        self._left_out = [pair for pair in (*reversed(taken), *self._left_out) if id(pair[0]) not in gone]

    def _offer(self, parent: _Entry, waiting: list[tuple[float, int, _Entry, _Entry]], number: Iterator[int]) -> None:
        """Queue the fields of an object by their need, then their level, then their order."""
        if not parent.is_object or next(number) > OFFERED_MOST:
            return
        required = parent.core.required if self._request else frozenset()
        inner = [
            self._entry(name, shape, parent.depth + 1, "*" if name in required else "")
            for name, shape in parent.core.fields.items()
        ]
        lists = sum(1 for entry in inner if entry.is_list)
        for entry in inner:
            rank: float = KEY if entry.mark else _rank(entry, lists)
            if own := self._relevance.of_field(entry.name, parent.core.fields[entry.name].schema):
                entry.score = own + INHERITED * parent.score
                rank = min(rank, KEY) - POINT * entry.score + TOUCHED_LEVEL * parent.depth
            else:
                rank += LEVEL * parent.depth
            if self._sized and _is_size(entry):
                rank = SIZE
            heappush(waiting, (rank, next(number), parent, entry))

    def _written(self, entry: _Entry, values: int = 0) -> str:
        values = values or (TOUCHED_VALUES if entry.score >= VALUED else FIELD_VALUES)
        inner = entry.type_name or (self._braces(entry) if entry.is_object else _type(entry.core, values))
        text = "[" * entry.arrays + inner + "]" * entry.arrays
        if not entry.name:
            return text + entry.rest
        if text == "str" and not self._request:
            return entry.name + entry.rest
        return f"{entry.name}{entry.mark}: {text}{entry.rest}"

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
            parent.more.append(f"{entry.name}{entry.mark}")
            cost = len(entry.name) + 2 + (0 if parent.named else len(" 100 more: …"))
            if cost > room or id(parent) in full:
                full.add(id(parent))
                continue
            room -= cost
            parent.named += 1


def _has_list(shape: Shape, depth: int = LIST_DEPTH) -> bool:
    """Tell whether a value is a list, or an object with a list in it."""
    if shape.items is not None:
        return True
    inner = islice(shape.fields.values(), REACHED_MOST) if depth > 0 and "object" in shape.kinds else ()
    return any(_has_list(field, depth - 1) for field in inner)


def _is_size(entry: _Entry) -> bool:
    """Tell whether a field of a body is the size of a page, which has the list come in fewer requests."""
    return entry.depth == 1 and "integer" in entry.core.kinds and not SIZES.isdisjoint(words(entry.name))


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


def _type(shape: Shape, most: int) -> str:
    """Write the type of a value in Python's words, enumerated values while they fit in `most` characters."""
    if shape.values:
        texts = [repr(value) for value in shape.values]
        if len("|".join(texts)) <= most or len(texts) == 1:
            return "|".join(texts)[:most]
    if not shape.kinds:
        return "any"
    if shape.kinds == ("array",):
        return f"[{_type(shape.items, most) if shape.items is not None else 'any'}]"
    if shape.kinds == ("object",) and not shape.fields and shape.mapped is not None:
        kind = "{…}" if shape.mapped.has_fields else _type(shape.mapped, most)
        return "{str: " + kind + "}"
    if shape.kinds == ("string",):
        return FORMATS.get(str(shape.flat.get("format")), "str")
    return "|".join(PYTHON[kind] for kind in shape.kinds)


def _most(shape: Shape) -> str:
    """Write the largest value of a number, such as the largest size of a page."""
    most = shape.flat.get("maximum")
    return f" ≤{most}" if isinstance(most, int) and not isinstance(most, bool) and most <= LARGEST_BOUND else ""


def _default(shape: Shape) -> str:
    value = shape.flat.get("default")
    return f" = {value!r}" if _is_plain(value) else ""


def _is_plain(value: Any) -> bool:
    """Tell whether a default is worth its room: a short scalar that is not empty."""
    return value not in (None, "") and not isinstance(value, dict | list) and len(str(value)) <= DEFAULT_MOST
