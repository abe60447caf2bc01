"""Operations in words: a ranked list for a query, and the documentation of a few with their functions and examples.

Direct tools: one for each operation of a group, with arguments by place, as detailed as the budget allows.

Each tool begins with its name alone. Then, as long as the tokens last, all get method and path, then the names of their
arguments, then the limits of these in words (`page 1..500=1` has the default 1, `kind new|old` two values), then the
schemas of the document, and at last its descriptions. `describe_operation` gives what is left out.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any

from restgpt.host.definitions import (
    BUDGET,
    ENVELOPE,
    RESERVED,
    WORD_END,
    Definition,
    describing_definition,
    reading_definition,
    size_of,
    waiting_definitions,
)
from restgpt.host.document_schema import answer_schema, document_schema
from restgpt.prompts import fenced
from restgpt.specs import Api, Catalogue, Operation
from restgpt.specs.docs.documentation import TOKEN, documentation
from restgpt.specs.docs.example import NoExample, minimal_arguments
from restgpt.specs.docs.field import plain_text
from restgpt.specs.docs.interface import UNKNOWN, Learned, interface
from restgpt.specs.docs.map import summary_line
from restgpt.specs.effect import Effect, effect_of
from restgpt.specs.effort import within
from restgpt.specs.reading.index import ILLEGAL, UniqueNames
from restgpt.specs.reading.tree import is_hidden, marked, marks
from restgpt.specs.schemas.shape import Shape
from restgpt.tools.errors import SettingsError

FOUND, MOST_FOUND = 10, 50
"""How many operations a list has, and how many it can have."""

LINE = 200
"""The most characters of one line of the list."""

FOUND_BUDGET = 1_300
"""The tokens of a list, of functions and lines."""

FUNCTIONS, FUNCTION = 850, 220
"""The tokens for the functions of the best operations, and for each of them."""

MOST_FUNCTIONS = 6
"""How many operations are shown as functions."""

DESCRIBED_BUDGET, MOST_DESCRIBED = 1_800, 8
"""The tokens of a description, and how many operations one can have."""

SIGNATURE_SHARE = 0.3
"""The part of the tokens of an operation for its function."""

EXAMPLE = 400
"""The most characters of an example; a longer one is left out."""


Effects = Callable[[Operation], Effect]
"""The effect of an operation: by its document, or by the rules of the user (`Rules.effect`)."""


def found_text(catalogue: Catalogue, query: str, limit: int = FOUND, *, learned: Learned = UNKNOWN) -> str:
    """Return the operations that fit a query best, fenced as data; for a path, that part of the map.

    The best ones are typed functions, the others have a line each. The text says how many operations there are and how
    to narrow the search, in at most `FOUND_BUDGET` tokens.
    """
    limit = min(max(1, limit), MOST_FOUND)
    count = f"{len(catalogue):,} operation{'' if len(catalogue) == 1 else 's'}"
    part = catalogue.map.find(query.strip()) if query.strip().startswith("/") else None
    if part is not None:
        shown = fenced("document", part.text(FOUND_BUDGET - 100))
        return f"There are {count}, {len(part):,} of them below this path.\n{shown}"
    found = catalogue.search(query, limit)
    if not found:
        paths = catalogue.map.open().text(FOUND_BUDGET - 100)
        return f"None of the {count} has words of the query. These are their paths:\n{fenced('document', paths)}"
    fits, functions = _functions(catalogue, found[:MOST_FUNCTIONS], learned)
    lines: list[str] = []
    room = (FOUND_BUDGET - 120) * TOKEN - len(functions)
    for operation in found[fits:]:
        line = _line(catalogue, operation)
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    fitting = fits + len(lines)
    rest = len(catalogue) - fitting
    head = f"There are {count}. These fit best:" if rest else f"There are {count}:"
    text = "\n".join([functions, *(["", "Others that fit:", *lines] if lines else [])])
    more = "\nFor others, name the resource and what to do with it, or give a part of a path, such as /users."
    return f"{head}\n{fenced('document', text)}{more if rest else ''}"


def _functions(catalogue: Catalogue, operations: Sequence[Operation], learned: Learned) -> tuple[int, str]:
    """Return how many of the operations fit in `FUNCTIONS` tokens as functions, and these; one is cut if need be."""
    write = partial(interface, name_of=catalogue.function_name, budget=FUNCTIONS, most=FUNCTION, learned=learned)
    text = "\n".join(
        f"{_label(catalogue, api)}{write(own)}"
        for api in catalogue.apis
        if (own := [operation for operation in operations if operation.api is api])
    )
    if len(text) > FUNCTIONS * TOKEN and len(operations) > 1:
        fitting = len(operations) * FUNCTIONS * TOKEN // len(text)
        return _functions(catalogue, operations[: max(1, fitting)], learned)
    return len(operations), text[: FUNCTIONS * TOKEN]


def _label(catalogue: Catalogue, api: Api) -> str:
    """Return the line above the functions of an API, if there are several APIs."""
    return f"[{api.name}]\n" if len(catalogue.apis) > 1 else ""


def _line(catalogue: Catalogue, operation: Operation) -> str:
    """Return the line of an operation, with its API if there are several."""
    label = f"[{operation.api.name}] " if len(catalogue.apis) > 1 else ""
    line = f"{label}{catalogue.line(operation)}"
    return line if len(line) <= LINE else f"{line[: LINE - 1]}…"


def described_text(
    catalogue: Catalogue,
    names: Sequence[str],
    *,
    budget: int = DESCRIBED_BUDGET,
    effects: Effects = effect_of,
    learned: Learned = UNKNOWN,
) -> str:
    """Return the documentation of up to `MOST_DESCRIBED` operations in `budget` tokens, fenced as data.

    Raises `UnknownOperationError` with near names.
    """
    operations = [catalogue.operation(name) for name in dict.fromkeys(names)]
    shown = operations[:MOST_DESCRIBED]
    text = fenced("document", description(catalogue, shown, budget=budget - 40, effects=effects, learned=learned))
    left = len(operations) - len(shown)
    return f"{text}\n{left} more were asked for; ask for at most {MOST_DESCRIBED} at once." if left else text


def description(
    catalogue: Catalogue,
    operations: Sequence[Operation],
    *,
    budget: int = DESCRIBED_BUDGET,
    effects: Effects = effect_of,
    learned: Learned = UNKNOWN,
) -> str:
    """Describe operations in `budget` tokens: effect, function in a program, example and places of the arguments."""
    each = max(1, budget // max(1, len(operations)))
    return "\n\n".join(_described(catalogue, operation, each, effects(operation), learned) for operation in operations)


def _described(catalogue: Catalogue, operation: Operation, budget: int, effect: Effect, learned: Learned) -> str:
    name, function = catalogue.name_of(operation), catalogue.function_name(operation)
    room = int(budget * SIGNATURE_SHARE)
    signature = interface(
        [operation], lambda _: function, budget=room, most=room, reads=lambda _: effect.kind == "read", learned=learned
    )
    lines = [f"# {name}  ({_told(effect)})", f"In a program: {signature}"]
    if example := _example(operation):
        lines.append(f"Smallest arguments: {example}")
    text = "\n".join(lines)
    left = budget - len(text) // TOKEN - 2
    whole = f"{text}\n{documentation(operation, budget=left)}" if left > 0 else text
    return whole[: budget * TOKEN]


def _told(effect: Effect) -> str:
    if effect.is_read:
        return "reads"
    return (
        "seems to read; a person is asked first" if effect.is_proposed else "changes something; a person is asked first"
    )


@marks
def _example(operation: Operation) -> str:
    """Return minimal arguments, grouped by place, as JSON; empty if there are none, or only long ones."""
    try:
        arguments: dict[str, Any] = minimal_arguments(operation)
    except NoExample:
        return ""
    text = json.dumps(arguments, ensure_ascii=False, default=str)
    return text if len(text) <= EXAMPLE else ""


MOST = 40
"""How many direct tools a host gets; several clients take no more."""

NAME, SHORT_NAME, DIGEST = 40, 24, 6
"""The most characters of a name, and of one where not all tools fit otherwise, and those of the digest of a cut one."""

SUMMARY, NOTE = 100, 80
"""The most characters of a summary, and of the description of an argument."""

ARGUMENTS, VALUES = 120, 8
"""The most characters of the names of arguments, and enumerated values in words."""

LIMITED = 2 * ARGUMENTS
"""The most characters of the names of arguments with their limits."""

_WORD = re.compile(r"[\w.:/+-]{1,32}", re.ASCII)
"""A value that is written in words: one that nobody takes for anything else."""

STEPS_MOST = 15_000
"""How many steps the schemas of one operation may take."""

PLAIN: dict[str, Any] = {"type": "object"}

_Level = Callable[[Operation], tuple[str, dict[str, Any]]]


class TooManyToolsError(SettingsError):
    """More operations than a host gets as direct tools."""

    def __init__(self, count: int) -> None:
        super().__init__(
            f"{count:,} operations are too many for direct tools, of which a host gets at most {MOST}. Choose a group "
            "of them by tag, or leave --direct out: then a few tools serve all operations."
        )


def direct_definitions(
    catalogue: Catalogue, operations: Sequence[Operation], *, budget: int = BUDGET, effects: Effects = effect_of
) -> list[Definition]:
    """Return a tool for each operation in their order, then those that serve all, in at most `budget` tokens.

    `effects` are the rules by which a tool says that it only reads. Raises `TooManyToolsError` for more than `MOST`
    operations.
    """
    if len(operations) > MOST:
        raise TooManyToolsError(len(operations))
    serving = [describing_definition(beyond=""), reading_definition(), *waiting_definitions()]
    room = budget * TOKEN - ENVELOPE - sum(map(size_of, serving))
    for longest in (NAME, SHORT_NAME):
        names = _names(catalogue, operations, longest)
        found = [
            Definition(
                name,
                *_bare(operation),
                read_only=effects(operation).is_read,
                # RFC 9110, section 9.2.2; a POST may add only, but no document says so.
                idempotent=operation.method in ("PUT", "DELETE"),
                title=plain_text(operation.summary, SUMMARY),
                answer=answer_schema(operation),
            )
            for name, operation in zip(names, operations, strict=True)
        ]
        if sum(map(size_of, found)) <= room:
            break
    left = room - sum(map(size_of, found))
    for level in (_placed, _listed, _limited, _nested, _whole):
        left = _detailed(found, operations, level, left)
    return [*found, *serving]


def _names(catalogue: Catalogue, operations: Sequence[Operation], longest: int) -> list[str]:
    """Return unique names of letters, digits, underscores and hyphens, with at most `longest` characters."""
    names = UniqueNames(RESERVED, longest=longest)
    stems = (ILLEGAL.sub("_", catalogue.function_name(operation)).strip("_") or "call" for operation in operations)
    return [names.claim(stem if len(stem) <= longest else _cut(stem, longest)) for stem in stems]


def _cut(name: str, longest: int) -> str:
    """Cut a name after a word, and add a digest of the whole name, so that no other operation gets the same."""
    room = longest - DIGEST - 1
    ends = [match.start() for match in WORD_END.finditer(name[: room + 1])]
    return f"{name[: ends[-1] if ends else room]}_{sha256(name.encode()).hexdigest()[:DIGEST]}"


def _detailed(found: list[Definition], operations: Sequence[Operation], level: _Level, left: int) -> int:
    """Write tools at the next level while the room lasts, those first that grow least; return the room left."""
    grown = [_at(level, item, operation) for item, operation in zip(found, operations, strict=True)]
    costs = [size_of(new) - size_of(old) for new, old in zip(grown, found, strict=True)]
    for number in sorted(range(len(found)), key=costs.__getitem__):
        if costs[number] <= left:
            left -= costs[number]
            found[number] = grown[number]
    return left


def _at(level: _Level, item: Definition, operation: Operation) -> Definition:
    description, schema = level(operation)
    return replace(item, description=description, input_schema=schema)


def _bare(operation: Operation) -> tuple[str, dict[str, Any]]:
    return "", PLAIN


def _placed(operation: Operation) -> tuple[str, dict[str, Any]]:
    return marked(f"{operation.method} {operation.path}")[:SUMMARY], PLAIN


def _listed(operation: Operation) -> tuple[str, dict[str, Any]]:
    """Method and path, and the other arguments by their names in a function; a star marks required ones."""
    return _in_words(operation, {}, ARGUMENTS)


def _limited(operation: Operation) -> tuple[str, dict[str, Any]]:
    """The same, with limits."""
    with within(STEPS_MOST, operation.document.allowance):
        return _in_words(operation, {item.name: _limits(item.shape) for item in operation.keywords}, LIMITED)


def _in_words(operation: Operation, limits: Mapping[str, str], most: int) -> tuple[str, dict[str, Any]]:
    path, names = operation.path, []
    for item in operation.keywords:
        limit = limits.get(item.name, "")
        if item.location == "path":
            path = path.replace(f"{{{item.field}}}", f"{{{item.field}{limit}}}")
        elif not is_hidden(item.field):
            names.append(f"{item.name}{'*' if item.required else ''}{limit}")
    if operation.body is not None:
        names.append(f"body{'*' if operation.body.required else ''}")
    listed = ", ".join(names)
    cut = listed if len(listed) <= most else f"{listed[:most].rpartition(', ')[0]}, …"
    return f"{marked(f'{operation.method} {path}')[:SUMMARY]}{'; ' if cut else ''}{cut}", PLAIN


def _limits(shape: Shape) -> str:
    """Return the limits of an argument in words, with a blank before; empty without any, and for unusual values."""
    flat, inner = shape.flat, shape.items if shape.items is not None else shape
    values = [str(value) for value in inner.values]
    found = f" {'|'.join(values)}" if 1 < len(values) <= VALUES and all(map(_WORD.fullmatch, values)) else ""
    for low, high, unit in (("minimum", "maximum", ""), ("minLength", "maxLength", "length ")):
        if bounds := [str(flat.get(key, "")) for key in (low, high)] if {low, high} & flat.keys() else []:
            found += f" {unit}{'..'.join(bounds)}"
    fixed = flat.get("default", inner.values[0] if len(values) == 1 else None)
    default = json.dumps(fixed).strip('"') if isinstance(fixed, str | int | float) else ""
    return f"{found}={default}" if _WORD.fullmatch(default) else found


def _nested(operation: Operation) -> tuple[str, dict[str, Any]]:
    return _of_document(operation, 0)


def _whole(operation: Operation) -> tuple[str, dict[str, Any]]:
    return _of_document(operation, NOTE)


def _of_document(operation: Operation, notes: int) -> tuple[str, dict[str, Any]]:
    """Return the schema of the document, or its limits in words if it is too complex; `notes` bounds its texts."""
    schema = document_schema(operation, notes)
    return _limited(operation) if schema is None else (summary_line(operation)[: 2 * SUMMARY], schema)
