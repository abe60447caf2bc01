"""The arguments of a host's own tools, checked before anything is begun: a sentence for the model about each problem.

The definitions are short, since every client's model reads them. So what their schemas leave out is said here: a text
that is required is not blank, texts and lists are bounded, and numbers begin at one. Clients write some types in
another way, so what is converted without loss is taken: null for nothing, a number or an object as text.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from unicodedata import category

from restgpt.host.definitions import CHANGE, READ, Definition
from restgpt.tools.errors import RepairableError
from restgpt.tools.request.arguments import coerce, without_nulls

LONG = frozenset({"code", "instruction"})
"""The names of the texts that may have `MOST_LONG` characters; all others have at most `MOST_CHARACTERS`."""

MOST_LONG, MOST_CHARACTERS = 65_536, 4_096

MOST_ITEMS = 100
"""The most items of a list."""

_WANTED = {"string": "a text", "integer": "a whole number from 1", "object": "an object", "array": "a list of texts"}
_LAYOUT = frozenset("\t\n\r\f")


class ToolArgumentError(RepairableError):
    """The arguments are not those that the tool takes; the message has a clause about each."""

    def __init__(self, name: str, problems: Sequence[str]) -> None:
        super().__init__(f"The arguments of the tool {name} do not fit: {'; '.join(problems)}. Nothing was sent.")


def in_types(schema: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments in the types of a schema, without loss; nulls that it does not allow are left out."""
    return dict(coerce(without_nulls(dict(given), schema), schema, schema))


def taken_arguments(definition: Definition, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments in the types of a tool's schema; raises `ToolArgumentError` for wrong ones."""
    schema = definition.input_schema
    given = in_types(schema, given)
    required = schema.get("required", ())
    problems = [
        f"{name} is missing: {_WANTED[part['type']]} is wanted"
        for name, part in schema["properties"].items()
        if name in required and name not in given
    ]
    if definition.name not in (READ, CHANGE):
        # Of a call, what is beside `arguments` may be the operation's own.
        problems += [
            f"{name} is unknown: it takes {', '.join(schema['properties'])}"
            for name in given
            if name not in schema["properties"]
        ]
    for name, part in schema["properties"].items():
        if name in given:
            problems += _problems(name, part, given[name], is_required=name in required)
    if problems:
        raise ToolArgumentError(definition.name, problems[:5])
    return given


def _problems(name: str, schema: Mapping[str, Any], value: Any, *, is_required: bool) -> Iterator[str]:
    wanted = _WANTED[schema["type"]]
    match schema["type"], value:
        case "string", str():
            yield from _of_text(name, value, is_required=is_required)
        case "integer", int() | float() if not isinstance(value, bool) and value == value // 1:
            if value < 1:
                yield f"{name} must be {wanted}, not below"
            elif value > schema.get("maximum", value):
                yield f"{name} must be at most {schema['maximum']}"
        case "object", Mapping():
            pass
        case "array", list() if len(value) > MOST_ITEMS:
            yield f"{name} has {len(value):,} items, and at most {MOST_ITEMS} are taken"
        case "array", []:
            yield f"{name} is empty: {wanted} is wanted"
        case "array", list():
            for number, item in enumerate(value):
                yield from _problems(f"{name}[{number}]", schema["items"], item, is_required=True)
        case _:
            yield f"{name} must be {wanted}, not {_kind(value)}"


def _of_text(name: str, text: str, *, is_required: bool) -> Iterator[str]:
    most = MOST_LONG if name in LONG else MOST_CHARACTERS
    if len(text) > most:
        yield f"{name} has {len(text):,} characters, and at most {most:,} are taken"
    elif not text.strip() and (is_required or text):
        yield f"{name} is empty: a text is wanted"
    else:
        bad = (at for at, sign in enumerate(text, 1) if category(sign) in ("Cc", "Cs") and sign not in _LAYOUT)
        if at := next(bad, 0):
            yield f"{name} must be a text without control characters, and character {at} is U+{ord(text[at - 1]):04X}"


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number" if isinstance(value, int) else "a number with a fraction"
        case str():
            return "a text"
        case Mapping():
            return "an object"
        case _:
            return "a list"
