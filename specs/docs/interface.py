"""The interface of several operations for a prompt: their signatures, and the types that they share, written once.

search_movies(query*: str, page=1) -> MoviePage
  Find movies by title.
MoviePage = {results: [Movie], total_results: int, page: int}
Movie = {id: int, title, release_date: date}
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from restgpt.specs.docs.documentation import TOKEN
from restgpt.specs.docs.field import plain_text, shares
from restgpt.specs.docs.focus import Relevance, focus_of
from restgpt.specs.docs.prose import Sentence, docstring, is_common_rule, says_more, sentences
from restgpt.specs.docs.signature import CONDITIONS, NO_TYPES, Types, signature
from restgpt.specs.docs.value import type_text
from restgpt.specs.effect import seems_to_read
from restgpt.specs.effort import within
from restgpt.specs.operation import Operation
from restgpt.specs.reading.tree import marks
from restgpt.specs.schemas.shape import Shape
from restgpt.specs.search.query import stems

# How many levels of a result, and how many fields of a level, are searched for types.
DEEPEST, FIELDS_MOST = 4, 80
# A type that is worth a name has so many fields, and so many functions use it.
FIELDS_LEAST, USERS_LEAST = 3, 2
# The share of the budget for the types, if there are any.
TYPES_SHARE = 0.5
# The most characters of one type, of one that is sent, and the least for which its fields are shown.
TYPE_MOST, SENT_TYPE_MOST, TYPE_LEAST = 700, 1200, 60
# The share of the budget for sentences that state rules, and the most characters of those of one function.
RULES_SHARE, RULES_MOST = 0.35, 1200
# How many steps the search for types in one result may take.
STEPS_MOST = 15_000
# The fewest tokens of one signature, and the share of the room for those that come first.
SIGNATURE_LEAST, FIRST_SHARE = 30, 0.35
# The most tokens of what has to be sent to the functions that come first, in their order.
ASKED_MOST = (1400, 700, 400)
# How many functions at least have an argument whose description stands once, and the most characters of it.
COMMON_LEAST, COMMON_MOST = 4, 160

# How many functions that send PUT are named.
NAMED_MOST = 12

KEEPING = re.compile(r"\b(?:preserve|retain|unchanged|ignore)|\bkept\b", re.IGNORECASE)
"""Words of a description that says of a PUT what becomes of absent fields."""

CUT = "…"
"""The mark of what is left out of a signature."""

Told = Callable[[Operation], str]


class Learned(NamedTuple):
    """What earlier calls taught of operations, as text, each empty if there is nothing.

    `seen` is the shape of an operation's answers where the document lacks it, `noted` what its server demanded beyond
    the document, and what answers showed of fields of its body.
    """

    seen: Told
    noted: Told


UNKNOWN = Learned(lambda operation: "", lambda operation: "")
"""Nothing is learned of any operation."""

_UNNAMED = re.compile(r"\W+", re.ASCII)


@marks
def interface(
    operations: Sequence[Operation],
    name_of: Callable[[Operation], str],
    *,
    budget: int,
    most: int = 150,
    focus: str = "",
    first: Sequence[Operation] = (),
    learned: Learned = UNKNOWN,
    reads: Callable[[Operation], bool] = seems_to_read,
) -> str:
    """Write operations as typed functions in about `budget` tokens of four characters, `most` for each.

    `focus` are words whose fields come first; the operations in `first` get their room before the others. `reads` tells
    which operations read, or seem to.
    """
    shared = _shared(operations)
    types = _names(shared)
    share = budget * TOKEN // max(1, len(operations))
    # What must be sent to the first ones goes before everything else.
    free = int(budget * TOKEN * (1 - FIRST_SHARE)) if first else budget * TOKEN
    definitions = [
        *_definitions(shared, types, int(free * TYPES_SHARE), share, focus),
        *_conditions(operations),
    ]
    apis = {id(item.api): item.api for item in operations}.values()
    common, everywhere = _common(operations), frozenset[str]().union(*(api.common_arguments for api in apis))
    told = [(name, text) for name, text in sorted(common) if name not in everywhere]
    definitions += [f"In any function, {name}: {plain_text(text, COMMON_MOST)}" for name, text in told]
    definitions += [f"Nearly every function also takes: {', '.join(sorted(everywhere))}."] if everywhere else []
    definitions += [f"In any function: {text}" for api in apis for text in api.common_sentences if is_common_rule(text)]
    definitions += _replacing(operations, name_of)
    ruled = _ruled(operations, int(free * RULES_SHARE))
    room = budget * TOKEN - sum(len(line) + 1 for line in definitions) - sum(ruled.values())

    found = {item.document: Relevance(item.document, focus_of(focus)) for item in operations}
    # Once for each operation, because a store is asked for it, and a cut signature is written twice.
    known_of = {id(operation): (learned.seen(operation), learned.noted(operation)) for operation in operations}

    asked = {id(item): most for item, most in zip(first, ASKED_MOST, strict=False)}

    def written(operation: Operation, tokens: int) -> str:
        known = types.get(id(operation.document), NO_TYPES)
        name, (shape, note) = name_of(operation), known_of[id(operation)]
        relevance = found[operation.document]
        rules = ruled[id(operation)]
        return signature(
            operation,
            name,
            budget=tokens + rules // TOKEN,
            seen=shape,
            noted=note,
            types=known,
            relevance=relevance,
            reads=reads,
            rules=rules,
            asked=max(asked.get(id(operation), 0), share // TOKEN),
            shared=common,
            hidden=everywhere,
        )

    return "\n".join([*_signatures(operations, written, room, most, first), *definitions])


def _common(operations: Sequence[Operation]) -> frozenset[tuple[str, str]]:
    """Return the arguments, by name and description, that many functions have and none describes otherwise."""
    seen = Counter((item.name, item.parameter.description) for one in operations for item in one.keywords)
    texts = Counter(name for name, text in seen if text)
    many = [key for key, count in seen.items() if count >= COMMON_LEAST and texts[key[0]] == 1]
    return frozenset((name, text) for name, text in many if says_more(text, frozenset(stems(name))))


def _own_sentences(operation: Operation) -> Iterator[Sentence]:
    """Yield the sentences of the description of an operation that few others have."""
    common = operation.api.common_sentences
    return (one for one in sentences(docstring(operation.description).text) if one.text not in common)


def _ruled(operations: Sequence[Operation], room: int) -> dict[int, int]:
    """Return the characters that the rules of each operation get, by its identity: all, or an equal share at most."""
    wanted = {
        id(item): min(RULES_MOST, sum(len(one.text) + 2 for one in _own_sentences(item) if one.is_rule))
        for item in operations
    }
    return shares(wanted, room)


def _signatures(
    operations: Sequence[Operation],
    written: Callable[[Operation, int], str],
    room: int,
    most: int,
    first: Sequence[Operation],
) -> list[str]:
    """Write signatures in `room` characters, the `first` ones before others; those that are cut share what is left."""
    known = set(map(id, first))
    lines = [""] * len(operations)
    left = room
    for group, share in ((True, FIRST_SHARE), (False, 1.0)):
        members = [number for number, item in enumerate(operations) if (id(item) in known) is group]
        each = min(most, max(SIGNATURE_LEAST, int(left * share) // TOKEN // max(1, len(members))))
        for number in members:
            lines[number] = written(operations[number], each)
            left -= len(lines[number]) + 1
    cut = [number for number, line in enumerate(lines) if CUT in line and len(line) < most * TOKEN]
    if cut and left >= TOKEN * len(cut):
        for number in cut:
            more = min(most, (len(lines[number]) + left // len(cut)) // TOKEN)
            lines[number] = written(operations[number], more)
    return lines


@dataclass(slots=True)
class _Use:
    """A named schema as it is in answers and in bodies, where anything contains it, and how many functions do."""

    answered: Shape | None = None
    sent: Shape | None = None
    users: int = 0

    @property
    def shape(self) -> Shape:
        """The schema to write: as a body has it, which tells what is required."""
        found = self.sent or self.answered
        assert found is not None
        return found


Shared = dict[tuple[int, str], _Use]
Naming = dict[int, Types]
"""The names of the shared schemas of each document, by its identity."""


def _shared(operations: Sequence[Operation]) -> Shared:
    """Return the named schemas that several functions contain, by document and reference, the most used first.

    One that differs between answers and bodies, because fields are read-only, is shared by answers only.
    """
    found: Shared = {}
    for operation in operations:
        mine: set[tuple[int, str]] = set()
        with within(STEPS_MOST, operation.document.allowance):
            for shape, is_sent in _values(operation):
                for reference, inner in _named(shape, DEEPEST, {}):
                    key = (id(operation.document), reference)
                    use = found.setdefault(key, _Use())
                    if is_sent:
                        use.sent = use.sent or inner
                    else:
                        use.answered = use.answered or inner
                    mine.add(key)
        for key in mine:
            found[key].users += 1
    order = sorted(found, key=lambda key: -found[key].users)
    shared = {key: found[key] for key in order if found[key].users >= USERS_LEAST}
    with within(STEPS_MOST):
        for use in shared.values():
            if (
                use.answered is not None
                and use.sent is not None
                and not _is_same(use.answered, use.sent, DEEPEST, set())
            ):
                use.sent = None
    return shared


def _values(operation: Operation) -> Iterator[tuple[Shape, bool]]:
    """Yield the answer of an operation and its body, and whether it is the body."""
    response = operation.response()
    media = response.preferred if response is not None else None
    if media is not None and "json" in media.media_type.lower():
        yield Shape(operation.document, media.schema), False
    body = operation.sent
    if body is not None:
        yield body, True


def _is_same(one: Shape, other: Shape, depth: int, compared: set[str]) -> bool:
    """Tell whether two values have the same fields, to a depth; the schemas in `compared` are not compared again."""
    while one.items is not None and other.items is not None:
        one, other = one.items, other.items
    if depth == 0 or one.reference in compared:
        return True
    if one.reference:
        compared.add(one.reference)
    return one.fields.keys() == other.fields.keys() and all(
        _is_same(one.fields[name], other.fields[name], depth - 1, compared) for name in islice(one.fields, FIELDS_MOST)
    )


def _named(shape: Shape, depth: int, searched: dict[str, int]) -> Iterator[tuple[str, Shape]]:
    """Yield the objects with a named schema in a value, by reference; `searched` says how deep each was searched."""
    while shape.items is not None and depth > 0:
        shape, depth = shape.items, depth - 1
    reference = shape.reference
    if depth <= searched.get(reference, 0) or "object" not in shape.kinds:
        return
    fields = list(shape.fields.values())
    if reference and len(fields) >= FIELDS_LEAST:
        yield reference, shape
    if reference:
        searched[reference] = depth
    for field in fields[:FIELDS_MOST]:
        yield from _named(field, depth - 1, searched)


def _names(shared: Shared) -> Naming:
    """Return a unique Python name for each shared schema, by document."""
    found: Naming = {}
    taken: set[str] = set()
    for (document, reference), use in shared.items():
        stem = _UNNAMED.sub("_", reference.rstrip("/").rsplit("/", 1)[-1]).strip("_") or "Type"
        stem = f"T{stem}" if stem[0].isdigit() else stem[0].upper() + stem[1:]
        name, number = stem, 2
        while name in taken:
            name, number = f"{stem}{number}", number + 1
        taken.add(name)
        answered, sent = found.get(document, NO_TYPES)
        found[document] = Types({**answered, reference: name}, {**sent, reference: name} if use.sent else sent)
    return found


def _definitions(shared: Shared, names: Naming, room: int, share: int, focus: str) -> list[str]:
    """Write the shared types in `room` characters, the smallest first; what one type leaves goes to the next.

    One that only bodies have takes at most `share` characters for each function that has it.
    """
    lines: dict[tuple[int, str], str] = {}
    for key in sorted(shared, key=lambda key: len(shared[key].shape.fields)):
        document, reference = key
        use, mine = shared[key], names[document]
        name = mine.answered[reference]
        types = mine.sent if use.sent is not None else mine.answered
        most = SENT_TYPE_MOST if use.sent is not None else TYPE_MOST
        most = most if use.answered is not None else min(most, use.users * share)
        each = max(TYPE_LEAST, min(most, room // (len(shared) - len(lines)) - len(name) - 4))
        text = type_text(use.shape, room=each, focus=focus, types=types, request=use.sent is not None)
        lines[key] = f"{name} = {text}"
        room -= len(lines[key]) + 1
    return [lines[key] for key in shared]


def _conditions(operations: Sequence[Operation]) -> list[str]:
    """Write what is said of the arguments for the version of a resource, once for all functions that have them."""
    told = {
        item.name: CONDITIONS[item.field.lower()]
        for operation in operations
        for item in operation.keywords
        if item.location == "header" and item.field.lower() in CONDITIONS
    }
    return [f"In any function: {name} {text}" for name, text in told.items()]


def _replacing(operations: Sequence[Operation], name_of: Callable[[Operation], str]) -> list[str]:
    """Write what a PUT does with the fields that its body lacks, once for all functions that send one."""
    # On the path of a collection, and where its description says what is kept, it is another thing.
    puts = [item for item in operations if item.method == "PUT" and item.body is not None and item.path.endswith("}")]
    names = [name_of(item) for item in puts if not KEEPING.search(item.description)]
    listed = ", ".join(names[:NAMED_MOST]) + (", …" if names[NAMED_MOST:] else "")
    told = "PUT replaces the whole: what its body leaves out is lost, unless the description says otherwise"
    return [f"{told} ({listed})."] if names else []
