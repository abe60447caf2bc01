"""Signatures: operations as typed Python functions for prompts, in a few lines within a token budget.

    search_movies(query*: str, year: int, page=1) -> {results: [{id: int, title, release_date: date}], total: int}
      Find movies by title. year: Year of the first release.

A star marks required arguments and fields, a question mark a value that may be None. A field of the result without a
type is a text. Of a long result the fields that programs need come first, the names of the others after an ellipsis.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from restgpt.specs.docs.documentation import TOKEN
from restgpt.specs.docs.field import MEASURED, Note, note_of, plain_text, type_of, values_note, written
from restgpt.specs.docs.focus import Relevance, focus_of, fold
from restgpt.specs.docs.map import first_sentence
from restgpt.specs.docs.prose import beyond, chosen, docstring
from restgpt.specs.docs.value import FIELD_VALUES, NEEDED, UNNAMED, Names, Value, argument, argument_type
from restgpt.specs.effect import seems_to_read
from restgpt.specs.effort import within
from restgpt.specs.operation import BODY, PAGES, Keyword, Operation
from restgpt.specs.schemas.shape import Shape
from restgpt.specs.search.query import STOP_STEMS, stems, words

# How many steps one signature may take; the types of what is left by then are not known.
STEPS_MOST = 15_000
# How many fields of an answer are looked at for a list or a page.
REACHED_MOST = 60
# The share of the room for the arguments, for the body, and for a result that leaves some to descriptions.
ARGUMENTS_SHARE, BODY_SHARE, RESULT_SHARE = 0.65, 0.8, 0.75
# The most characters of the notes on units in the answer.
ANSWERED_MOST = 240
# The share of what is left after arguments and body for notes that decide a right call.
DECIDING_SHARE = 0.6
# From this room on, in characters, some is left to descriptions.
ROOMY = 320
RESULT_LEAST = 60
# Words in the names of arguments and fields that lead from page to page, and how deep the list of a page may be.
PAGING = frozenset({"page", "offset", "limit", "cursor", "next", "skip", "start", "marker", "token"})
LIST_DEPTH = 2
# Words in the names of arguments that only a list in pages has.
TURNING = frozenset({"page", "offset", "cursor"})
# What is said of an argument for the version of a resource, by its header in lower case.
CONDITIONS = {
    "if-match": "is not sent by itself; where a change must meet the version that was read, pass "
    "headers(response)['etag'] of that response.",
    "if-unmodified-since": "is not sent by itself.",
}
# Words of a state, and last parts of a path, with which a change ends something that stays there to be read.
ENDED = frozenset(stems("cancel cancelled withdraw withdrawn close void revoke retire"))
STATES = frozenset({"status", "state"})
# The names of arguments may take this many times the room: an argument that is not shown is never given.
NAMES_MOST = 3
# The part of the room that sentences which state a rule may take.
RULES_PART = 2
# Characters of the summary.
SUMMARY_MOST, SUMMARY_LEAST = 120, 40
# Characters of what a server demanded beyond the document.
NOTED_MOST = 400
# Characters for the enumerated values of a required and of an optional argument, from generous to few.
VALUES_MOST = ((400, 400), (120, 60), (120, 30), (30, 12))


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
    asked: int | None = None,
    shared: frozenset[tuple[str, str]] = frozenset(),
    hidden: frozenset[str] = frozenset(),
) -> str:
    """Write an operation as a typed function in about `budget` tokens of four characters.

    The sentences that state a rule come first; they take at most `rules` characters, if None half of the budget. What
    has to be sent may take `asked` tokens, if that is more. `shared` are arguments, by name and description, whose
    description stands elsewhere; those among `hidden` are not shown.

    A long result keeps the fields that match the words of `focus`. `seen`, the shape of earlier answers as text, is
    appended, and so is `noted`, what the server demanded beyond its document. `types` names the schemas
    that are written elsewhere. `relevance` is that of the focus, if several signatures share it. `reads` tells whether
    the operation reads, or seems to, so that a list of it has pages.
    """
    room = budget * TOKEN
    shown = f"\n  seen: {plain_text(seen, room // 2)}" if seen else ""
    found = relevance or Relevance(operation.document, focus_of(focus))
    with within(STEPS_MOST, operation.document.allowance):
        writer = _Writer(operation, name, found, types, is_read=reads(operation), shared=shared, hidden=hidden)
        shown += f"\n  Note: {plain_text(noted, NOTED_MOST)}." if noted else ""
        room -= len(shown)
        ruled = room // RULES_PART if rules is None else rules
        text = writer.text(room, ruled, max(room, (asked or 0) * TOKEN))
    return text + shown


class _Writer:
    """Writes one signature: each part takes its room, and what a part leaves goes to the next ones."""

    def __init__(
        self,
        operation: Operation,
        name: str,
        relevance: Relevance,
        types: Types,
        *,
        is_read: bool,
        shared: frozenset[tuple[str, str]],
        hidden: frozenset[str],
    ) -> None:
        self._operation = operation
        self._described = docstring(operation.description)
        self._shared = shared
        self._is_read = is_read
        self._name = name
        self._relevance = relevance
        self._types = types
        self._keywords = [item for item in operation.keywords if item.name not in hidden]
        self._families = fold(self._keywords, self._type_of)
        self._listed = [item for item in self._keywords if item.name not in self._families.folded and not item.settled]

    def _type_of(self, item: Keyword) -> str:
        return type_of(item.shape, FIELD_VALUES)

    def text(self, room: int, rules: int, asked: int) -> str:
        """Write the function in about `room` characters; the sentences that state a rule take `rules` at most.

        What a caller has to send, and what decides how, may take `asked` characters.
        """
        summary = self._summary(max(SUMMARY_LEAST, min(SUMMARY_MOST, room // 4)))
        prose = beyond(self._described.text, summary, self._operation.api.common_sentences)
        ruled = " ".join(chosen(prose, 0, rules))
        families = "".join(f"\n  {line}" for line in self._families.lines)
        head = len(self._name) + len("() -> \n  ") + len(summary) + len(ruled) + len(families)
        arguments = self._arguments(int((asked - head) * ARGUMENTS_SHARE), NAMES_MOST * room)
        body, sent = self._body(int((asked - head - len(arguments)) * BODY_SHARE))
        inside = ", ".join(part for part in (arguments, body, self._pages) if part)
        used = head + len(arguments) + len(body) + 2 + (len(self._kept) + 1 if self._kept else 0)
        said = frozenset(stems(f"{summary} {ruled}"))
        notes = [*self._notes(said, arguments), *(sent.notes(said) if sent is not None else ())]
        deciding = list(written([note for note in notes if note.decides], int((asked - used) * DECIDING_SHARE)))
        used += sum(len(line) + 1 for line in deciding)
        left = room - used
        result, answered = self._result(max(RESULT_LEAST, int(left * RESULT_SHARE) if room >= ROOMY else left))
        left -= len(result)
        told = " ".join(chosen(prose, len(ruled) + max(0, left), rules))
        left -= len(told) - len(ruled)
        said |= frozenset(stems(told))
        others = [note for note in notes if not note.decides]
        units: list[str] = []
        if answered is not None:
            found = [note for note in answered.notes(said, mark="->") if note.decides or note.worth > 0]
            measured = [note for note in found if note.worth >= MEASURED]
            units = list(written(measured, min(ANSWERED_MOST, max(left, asked - room + left))))
            left -= sum(len(line) + 1 for line in units)
            others += [note for note in found if note not in measured]
        parts = (self._news(summary), told, self._kept, *deciding, *units, *written(others, left))
        line = " ".join(part for part in parts if part)
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
            range(len(self._listed)),
            key=lambda n: (not self._listed[n].required, -self._relevance.of_keyword(self._listed[n])),
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

    def _argument(self, item: Keyword, values: int) -> str:
        shape = item.shape
        return argument(item.name, argument_type(shape, self._relevance, values), shape, is_required=item.required)

    def _body(self, room: int) -> tuple[str, Value | None]:
        shape = self._operation.sent
        if shape is None or self._operation.body is None:
            return "", None
        if not self._operation.body.required and shape.kinds == ("object",) and not shape.fields and not shape.is_open:
            # Some documents give every operation a body without fields.
            return "", None
        star = "*" if self._operation.body.required else ""
        head = f"{BODY}{star}: "
        value = Value(
            shape,
            self._relevance,
            self._types.sent,
            request=True,
            whole=True,
            described=self._described.arguments,
        )
        return head + value.text(max(RESULT_LEAST, room - len(head))), value

    @cached_property
    def _pages(self) -> str:
        """Write the argument for the number of pages, if the operation reads a list in pages."""
        shape = self._operation.received if self._is_read else None
        if shape is None:
            return ""
        body = self._operation.sent
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
            if item.method in ("PATCH", "PUT") and item.path == own.path and (shape := item.sent) is not None:
                for name, inner in islice(shape.fields.items(), REACHED_MOST):
                    ended = [value for value in inner.values if ENDED.intersection(stems(str(value)))]
                    if ended and name.lower() in STATES:
                        return f"Removes it; {before}{item.name} with {name}={ended[0]!r} only ends it."
        return ""

    def _result(self, room: int) -> tuple[str, Value | None]:
        response = self._operation.response()
        if response is None:
            return "any", None
        media = response.preferred
        if media is None:
            return "None", None
        kind = media.media_type.lower()
        if "json" not in kind and "*" not in kind:
            return "str" if kind.startswith("text/") or "xml" in kind else "bytes", None
        shape = Shape(self._operation.document, media.schema)
        value = Value(shape, self._relevance, self._types.answered, request=False)
        return value.text(room), value

    def _notes(self, said: frozenset[str], text: str) -> Iterator[Note]:
        """Yield what the document says of the arguments beyond the words `said`, and values that `text` lacks."""
        for item in self._keywords:
            if (item.name, item.parameter.description) in self._shared:
                continue
            shape = item.shape
            worth = self._relevance.of_keyword(item) + (NEEDED if item.required and item.location != "path" else 0.0)
            described = shape.description or self._described.arguments.get(item.field, "")
            if note := note_of(item.name, described, shape, said, worth=worth):
                yield note
            if note := values_note(item.name, shape, text, worth):
                yield note


def _has_list(shape: Shape, depth: int = LIST_DEPTH) -> bool:
    """Tell whether a value is a list, or an object with a list in it."""
    if shape.items is not None:
        return True
    inner = islice(shape.fields.values(), REACHED_MOST) if depth > 0 and "object" in shape.kinds else ()
    return any(_has_list(field, depth - 1) for field in inner)
