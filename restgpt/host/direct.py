"""Direct tools: one for each operation of a group, with arguments by place, as detailed as the budget allows.

Each tool begins with its name alone. Then, as long as the tokens last, all get method and path, then the names of their
arguments, then the limits of these in words (`page 1..500=1` has the default 1, `kind new|old` two values), then
schemas with types and limits, then descriptions, and at last the schemas of the document, whole: with nested fields and
alternatives. `describe_operation` gives what is left out.
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
    describing_definition,
    reading_definition,
    size_of,
    waiting_definitions,
)
from restgpt.host.document_schema import answer_schema, document_schema
from restgpt.host.operations import Effects
from restgpt.specs import Catalogue, Operation
from restgpt.specs.docs.documentation import TOKEN
from restgpt.specs.docs.overview.summary import summary_line
from restgpt.specs.docs.shape import Shape
from restgpt.specs.docs.words.keyword import GROUPS, body_shape, keywords
from restgpt.specs.docs.words.plain_text import plain_text
from restgpt.specs.effect import effect_of
from restgpt.specs.effort import within
from restgpt.specs.parameter import RESERVED_HEADERS, Parameter
from restgpt.specs.reading.index import ILLEGAL
from restgpt.specs.reading.text.hidden import is_hidden, marked
from restgpt.specs.reading.unique_names import UniqueNames
from restgpt.tools.errors import SettingsError

MOST = 40
"""How many direct tools a host gets; several clients take no more."""

NAME, SHORT_NAME, DIGEST = 40, 24, 6
"""The most characters of a name, and of one where not all tools fit otherwise, and those of the digest of a cut one."""

SUMMARY, NOTE = 100, 80
"""The most characters of a summary, and of the description of an argument."""

ARGUMENTS, FIELDS, VALUES = 120, 40, 8
"""The most characters of the names of arguments, fields of a body, and enumerated values."""

LIMITED = 2 * ARGUMENTS
"""The most characters of the names of arguments with their limits."""

LIMITS = ("minimum", "maximum", "minLength", "maxLength", "default")
"""The keywords of a value's limits in a schema."""

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
    for level in (_placed, _listed, _limited, _typed, _described, _nested, _whole):
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
        shapes = {item.name: Shape(operation.document, item.schema, request=True) for item in _parameters(operation)}
        return _in_words(operation, {name: _limits(shape) for name, shape in shapes.items()}, LIMITED)


def _in_words(operation: Operation, limits: Mapping[str, str], most: int) -> tuple[str, dict[str, Any]]:
    path, names = operation.path, []
    for item in keywords(operation):
        limit = limits.get(item.parameter.name, "")
        if item.location == "path":
            path = path.replace(f"{{{item.parameter.name}}}", f"{{{item.parameter.name}{limit}}}")
        elif not is_hidden(item.parameter.name):
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


def _typed(operation: Operation) -> tuple[str, dict[str, Any]]:
    return summary_line(operation)[: 2 * SUMMARY], _schema(operation, notes=0)


def _described(operation: Operation) -> tuple[str, dict[str, Any]]:
    return summary_line(operation)[: 2 * SUMMARY], _schema(operation, notes=NOTE)


def _nested(operation: Operation) -> tuple[str, dict[str, Any]]:
    return summary_line(operation)[: 2 * SUMMARY], _of_document(operation, 0)


def _whole(operation: Operation) -> tuple[str, dict[str, Any]]:
    return summary_line(operation)[: 2 * SUMMARY], _of_document(operation, NOTE)


def _of_document(operation: Operation, fields: int) -> dict[str, Any]:
    """Return the schema of the document, or the short one if it is too complex; `fields` bounds texts about fields."""
    schema = document_schema(operation, fields)
    if schema is None:
        return _schema(operation, notes=NOTE)
    for item in _parameters(operation):
        if note := plain_text(item.description, NOTE):
            schema["properties"][GROUPS[item.location]]["properties"][item.name]["description"] = note
    return schema


def _parameters(operation: Operation) -> list[Parameter]:
    """Return the parameters that a caller gives."""
    return [
        item
        for item in operation.parameters
        if item.location in GROUPS
        and not item.repeats_sign_in
        and not is_hidden(item.name)
        and not (item.location == "header" and item.name.lower() in RESERVED_HEADERS)
    ]


def _schema(operation: Operation, *, notes: int) -> dict[str, Any]:
    """Return the JSON schema of the arguments by place: types, limits, enumerated values, required ones."""
    with within(STEPS_MOST, operation.document.allowance):
        places: dict[str, Any] = {}
        needed: list[str] = []
        for item in _parameters(operation):
            place = places.setdefault(GROUPS[item.location], {"type": "object", "properties": {}})
            shape = Shape(operation.document, item.schema, request=True)
            place["properties"][item.name] = _leaf(shape, plain_text(item.description, notes) if notes else "")
            if item.required:
                place.setdefault("required", []).append(item.name)
        needed += [place for place, found in places.items() if "required" in found]
        body = body_shape(operation)
        if body is not None and operation.body is not None:
            places["body"] = _body(body)
            needed += ["body"] if operation.body.required else []
    return {"type": "object", "properties": places, **({"required": needed} if needed else {})}


def _leaf(shape: Shape, note: str = "") -> dict[str, Any]:
    kinds = list(shape.kinds)
    found: dict[str, Any] = {"type": kinds[0]} if len(kinds) == 1 else {}
    # A client would send the mark of a character instead of the character; `describe_operation` gives the others.
    if 0 < len(shape.values) <= VALUES and not any(map(is_hidden, shape.values)):
        found["enum"] = list(shape.values)
    if shape.items is not None and kinds == ["array"] and len(shape.items.kinds) == 1:
        found["items"] = {"type": shape.items.kinds[0]}
    found |= {key: shape.flat[key] for key in LIMITS if isinstance(shape.flat.get(key), str | int | float)}
    return {**found, "description": note} if note else found


def _body(shape: Shape) -> dict[str, Any]:
    found = _leaf(shape)
    fields = [name for name in shape.fields if not is_hidden(name)][:FIELDS]
    if fields:
        found["properties"] = {name: _leaf(shape.fields[name]) for name in fields}
    if required := [name for name in fields if name in shape.required]:
        found["required"] = required
    return found
