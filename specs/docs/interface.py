"""The interface of several operations for a prompt: their signatures, and the types that they share, written once.

search_movies(query*: str, page=1) -> MoviePage
  Find movies by title.
MoviePage = {results: [Movie], total_results: int, page: int}
Movie = {id: int, title, release_date: date}
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from restgpt.specs.docs.documentation import TOKEN
from restgpt.specs.docs.shape import Shape
from restgpt.specs.docs.signature import signature, type_text
from restgpt.specs.docs.words.focus import Relevance, focus_of
from restgpt.specs.docs.words.sentences import sentences
from restgpt.specs.effect import seems_to_read
from restgpt.specs.effort import within
from restgpt.specs.operation import Operation

# How many levels of a result, and how many fields of a level, are searched for types.
DEEPEST, FIELDS_MOST = 4, 80
# A type that is worth a name has so many fields, and so many functions use it.
FIELDS_LEAST, USERS_LEAST = 3, 2
# The share of the budget for the types, if there are any.
TYPES_SHARE = 0.5
# The most characters of one type, and the least for which its fields are shown.
TYPE_MOST, TYPE_LEAST = 700, 60
# The share of the budget for sentences that state rules, and the most characters of those of one function.
RULES_SHARE, RULES_MOST = 0.35, 1200
# How many steps the search for types in one result may take.
STEPS_MOST = 15_000
# The fewest tokens of one signature.
SIGNATURE_LEAST = 30

CUT = "…"
"""The mark of what is left out of a signature."""

Told = Callable[[Operation], str]


class Learned(NamedTuple):
    """What earlier calls taught of operations, as text, each empty if there is nothing.

    `seen` is the shape of an operation's answers where the document lacks it, `noted` what its server demanded beyond
    the document.
    """

    seen: Told
    noted: Told


UNKNOWN = Learned(lambda operation: "", lambda operation: "")
"""Nothing is learned of any operation."""

_UNNAMED = re.compile(r"\W+", re.ASCII)


def interface(
    operations: Sequence[Operation],
    name_of: Callable[[Operation], str],
    *,
    budget: int,
    most: int = 150,
    focus: str = "",
    learned: Learned = UNKNOWN,
    reads: Callable[[Operation], bool] = seems_to_read,
) -> str:
    """Write operations as typed functions in about `budget` tokens of four characters, `most` for each.

    `focus` are words whose fields come first; `reads` tells which operations read, or seem to.
    """
    shared = _shared(operations)
    types = _names(shared)
    definitions = _definitions(shared, types, int(budget * TOKEN * TYPES_SHARE), focus)
    ruled = _ruled(operations, int(budget * TOKEN * RULES_SHARE))
    room = budget * TOKEN - sum(len(line) + 1 for line in definitions) - sum(ruled.values())

    found = {item.document: Relevance(item.document, focus_of(focus)) for item in operations}
    # Once for each operation, because a store is asked for it, and a cut signature is written twice.
    known_of = {id(operation): (learned.seen(operation), learned.noted(operation)) for operation in operations}

    def written(operation: Operation, tokens: int) -> str:
        known = types.get(id(operation.document), {})
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
        )

    return "\n".join([*_signatures(operations, written, room, most), *definitions])


def _ruled(operations: Sequence[Operation], room: int) -> dict[int, int]:
    """Return the characters that the rules of each operation get, by its identity: all, or an equal share at most."""
    wanted = {
        id(item): min(RULES_MOST, sum(len(one.text) + 2 for one in sentences(item.description) if one.is_rule))
        for item in operations
    }
    granted: dict[int, int] = {}
    for number, key in enumerate(sorted(wanted, key=wanted.__getitem__)):
        granted[key] = min(wanted[key], room // (len(wanted) - number))
        room -= granted[key]
    return granted


def _signatures(
    operations: Sequence[Operation], written: Callable[[Operation, int], str], room: int, most: int
) -> list[str]:
    """Write signatures in `room` characters; those that are cut share what the others leave."""
    each = min(most, max(SIGNATURE_LEAST, room // TOKEN // max(1, len(operations))))
    lines = [written(operation, each) for operation in operations]
    cut = [number for number, line in enumerate(lines) if CUT in line]
    left = (room - sum(len(line) + 1 for line in lines)) // TOKEN
    if cut and left >= len(cut):
        more = min(most, each + left // len(cut))
        for number in cut:
            lines[number] = written(operations[number], more)
    return lines


Shared = dict[tuple[int, str], Shape]
Names = dict[int, dict[str, str]]


def _shared(operations: Sequence[Operation]) -> Shared:
    """Return the named schemas that several results contain, by document and reference, the most used first."""
    users: Counter[tuple[int, str]] = Counter()
    found: Shared = {}
    for operation in operations:
        response = operation.response()
        media = response.preferred if response is not None else None
        if media is None or "json" not in media.media_type.lower():
            continue
        with within(STEPS_MOST, operation.document.allowance):
            mine = dict(_named(Shape(operation.document, media.schema), DEEPEST, {}))
        users.update((id(operation.document), reference) for reference in mine)
        found.update({(id(operation.document), reference): shape for reference, shape in mine.items()})
    return {key: found[key] for key, count in users.most_common() if count >= USERS_LEAST}


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


def _names(shared: Shared) -> Names:
    """Return a unique Python name for each shared schema, by document."""
    names: Names = {}
    taken: set[str] = set()
    for document, reference in shared:
        stem = _UNNAMED.sub("_", reference.rstrip("/").rsplit("/", 1)[-1]).strip("_") or "Type"
        stem = f"T{stem}" if stem[0].isdigit() else stem[0].upper() + stem[1:]
        name, number = stem, 2
        while name in taken:
            name, number = f"{stem}{number}", number + 1
        taken.add(name)
        names.setdefault(document, {})[reference] = name
    return names


def _definitions(shared: Shared, types: Names, room: int, focus: str) -> list[str]:
    """Write the shared types in `room` characters, the smallest first; what one type leaves goes to the next."""
    lines: dict[tuple[int, str], str] = {}
    for key in sorted(shared, key=lambda key: len(shared[key].fields)):
        document, reference = key
        name = types[document][reference]
        each = max(TYPE_LEAST, min(TYPE_MOST, room // (len(shared) - len(lines)) - len(name) - 4))
        text = type_text(shared[key], room=each, focus=focus, types=types[document])
        lines[key] = f"{name} = {text.removesuffix('?')}"
        room -= len(lines[key]) + 1
    return [lines[key] for key in shared]
