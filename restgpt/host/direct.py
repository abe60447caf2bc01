"""Direct tools: one for each operation of a group, with arguments by place, as detailed as the budget allows.

Each tool begins with its name alone. Then, as long as the tokens last, all get method and path, then the names of their
arguments, then the limits of these in words (`page 1..500=1` has the default 1, `kind new|old` two values), then the
schemas of the document, and at last its descriptions. `describe_operation` gives what is left out.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from restgpt.host.definitions import (
    BUDGET,
    ENVELOPE,
    RESERVED,
    WORD_END,
    Definition,
    answer_schema,
    describing_definition,
    document_schema,
    reading_definition,
    size_of,
    waiting_definitions,
)
from restgpt.host.operations import Effects
from restgpt.specs import Catalogue, Operation
from restgpt.specs.docs.documentation import TOKEN
from restgpt.specs.docs.map import summary_line
from restgpt.specs.docs.plain_text import plain_text
from restgpt.specs.effect import effect_of
from restgpt.specs.effort import within
from restgpt.specs.reading.coercion import is_hidden, marked
from restgpt.specs.reading.index import ILLEGAL, UniqueNames
from restgpt.specs.schemas.shape import Shape
from restgpt.tools.errors import SettingsError

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
