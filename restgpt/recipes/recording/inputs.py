"""The inputs of a recipe: by rule, the literals of a program that the user said."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from restgpt.calling.origin.evidence import Evidence, text_of
from restgpt.specs import Operation
from restgpt.specs.effort import within
from restgpt.specs.keyword import identifier
from restgpt.tools.request.arguments import follow, properties_of

MOST_STEPS = 200_000
"""How many steps the schemas of one call may take."""

MOST_TOKENS = 200
"""How many words of a longer text are compared with the user's words."""

_TOKEN = re.compile(r"""[^\s:;,=|/()\[\]{}<>"“”„«»`+&]+""")
_LABEL = re.compile(r"([A-Za-z_][\w.\-]*)\s*[:=]\s*[\"'“„(]*$")
_DATE = re.compile(r"([0-9]{4})-[0-9]{2}(?:-[0-9]{2})?")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TYPES = {str: "string", int: "integer", float: "number"}

Scalar = str | int | float


@dataclass(frozen=True, slots=True)
class Input:
    """A value of the program that becomes an input.

    `value` is a tuple for a list. `keyword` limits the replacement to the literals at places of this name. An input
    that is not required has its value as its default.
    """

    name: str
    value: Scalar | tuple[Scalar, ...]
    keyword: str = ""
    is_required: bool = True

    @property
    def values(self) -> tuple[Scalar, ...]:
        """The items of a list, or the one value."""
        return self.value if isinstance(self.value, tuple) else (self.value,)

    @property
    def example(self) -> Any:
        """The saved value as JSON."""
        return list(self.value) if isinstance(self.value, tuple) else self.value

    def property(self) -> dict[str, Any]:
        """Return the JSON Schema of the input, with the saved value as its example."""
        plain = {"type": _TYPES[type(self.values[0])]}
        schema = {"type": "array", "items": plain} if isinstance(self.value, tuple) else plain
        default = {} if self.is_required else {"default": self.example}
        return {**schema, **default, "examples": [self.example]}


@dataclass(frozen=True, slots=True)
class Argument:
    """A scalar argument, or a list of scalars: its name, its value, and its schema in the document."""

    keyword: str
    value: Any
    schema: Mapping[str, Any]

    @property
    def values(self) -> list[Any]:
        """The items of a list, or the one value."""
        return self.value if isinstance(self.value, list) else [self.value]

    @property
    def is_fixed(self) -> bool:
        """Whether the document fixes the value: by an enumeration, a constant, a default or the type boolean."""
        return all(isinstance(value, bool) or value in _fixed(self.schema) for value in self.values)


def _fixed(schema: Mapping[str, Any]) -> list[Any]:
    items = schema.get("items")
    inner = _fixed(items) if isinstance(items, Mapping) else []
    values = schema.get("enum")
    listed = values if isinstance(values, list) else []
    default = schema.get("default")
    defaults = default if isinstance(default, list) else [default]
    alternatives = [item for key in ("anyOf", "oneOf", "allOf") for item in schema.get(key) or ()]
    found = [value for item in alternatives if isinstance(item, Mapping) for value in _fixed(item)]
    return [*listed, *(item for item in (*defaults, schema.get("const")) if item is not None), *inner, *found]


def arguments_in(operation: Operation, arguments: Mapping[str, Any]) -> Iterator[Argument]:
    """Yield the scalar arguments of a call, and each list of scalars as one argument."""
    known = {(item.location, item.field): item for item in operation.keywords}
    with within(MOST_STEPS, operation.document.allowance):
        for place, group in arguments.items():
            if place == "body":
                raw = operation.body.preferred.schema if operation.body else None
                root = operation.json_schema(raw, request=True)
                yield from _leaves("body", group, root, root)
                continue
            for name, value in group.items() if isinstance(group, Mapping) else ():
                item = known.get((place, name))
                root = operation.json_schema(item.parameter.schema, request=True) if item else {}
                yield from _leaves(item.name if item else name, value, root, root)


def _leaves(keyword: str, value: Any, schema: Any, root: Mapping[str, Any]) -> Iterator[Argument]:
    node = follow(schema, root)
    node = node if isinstance(node, Mapping) else {}
    if isinstance(value, Mapping):
        fields, more = properties_of(node, root), node.get("additionalProperties")
        for name, inner in value.items():
            yield from _leaves(str(name), inner, fields.get(name, more), root)
    elif isinstance(value, list) and not (value and all(isinstance(item, str | int | float) for item in value)):
        for inner in value:
            yield from _leaves(keyword, inner, node.get("items"), root)
    elif isinstance(value, str | int | float | list):
        items = follow(node.get("items"), root)
        yield Argument(keyword, value, {**node, "items": items} if isinstance(items, Mapping) else dict(node))


def inputs_of(literals: Iterable[tuple[str, Any]], said: str, fixed: Collection[str]) -> list[Input]:
    """Return the inputs among the literals of a program, by the names of their places: the values that the user said.

    `fixed` are the texts of values that the documents fix. A list is an input if the user said all of its items.
    """
    evidence = Evidence(said)
    found: dict[tuple[str, str], Input] = {}
    inside: set[str] = set()
    for place, value in literals:
        key = json.dumps(value)
        if not place or key in inside or text_of(value) in fixed:
            continue
        for item in _of_literal(_name(place), place, value, evidence, said):
            inside |= {json.dumps(inner) for inner in item.value} if isinstance(item.value, tuple) else set()
            found.setdefault((json.dumps(item.value), item.keyword), item)
    return _distinct(list(found.values()))


def _of_literal(name: str, place: str, value: Any, evidence: Evidence, said: str) -> Iterator[Input]:
    """Yield the inputs that a literal suggests: its value, or runs of the user's words in its text."""
    if isinstance(value, list):
        if all(evidence.says(item) for item in value):
            yield Input(name, tuple(value))
    elif not isinstance(value, str):
        if evidence.says(value):
            yield Input(name, value, place)
    elif evidence.says(value):
        is_common = not is_entity(value, said) and len(value.split()) == 1
        yield Input(name, value, place if is_common else "", is_required=not is_common)
    else:
        yield from _runs(value, name, evidence, said)


def is_entity(text: str, said: str) -> bool:
    """Return whether a text looks like a name: a capital, a digit, a letter beyond ASCII, or quoted by the user."""
    if any(char.isupper() or char.isdigit() or (char.isalpha() and not char.isascii()) for char in text):
        return True
    return re.search(rf"[\"'“”„«»‘’‚`]{re.escape(text)}[\"'“”«»‘’`]", said, re.IGNORECASE) is not None


def _runs(text: str, name: str, evidence: Evidence, said: str) -> Iterator[Input]:
    """Yield the longest runs of words in a text that the user said and that look like names."""
    if (date := _DATE.fullmatch(text)) is not None:
        if evidence.says(date[1]):
            yield Input("year", date[1])
        return
    tokens = list(_TOKEN.finditer(text))[:MOST_TOKENS]
    at = 0
    while at < len(tokens):
        end = _end_of_run(text, tokens, at, evidence)
        if end == at:
            at += 1
            continue
        start = tokens[at].start()
        run = text[start : tokens[end - 1].end()]
        if is_entity(run, said):
            label = _LABEL.search(text[:start])
            yield Input(_name(label[1]) if label else name, run)
        at = end


def _end_of_run(text: str, tokens: Sequence[re.Match[str]], at: int, evidence: Evidence) -> int:
    """Return the end of the longest run of words from a place on that the user said; the place itself if none."""
    end = at
    for last in range(at, len(tokens)):
        if last > at and text[tokens[last - 1].end() : tokens[last].start()] != " ":
            break
        if evidence.says(text[tokens[at].start() : tokens[last].end()]):
            end = last + 1
    return end


def _distinct(inputs: Sequence[Input]) -> list[Input]:
    """Give inputs that share a name a number."""
    taken: set[str] = set()
    found = []
    for item in inputs:
        name, number = item.name, 2
        while name in taken:
            name, number = f"{item.name}{number}", number + 1
        taken.add(name)
        found.append(replace(item, name=name))
    return found


def _name(text: str) -> str:
    """Return a name of the API as a name of an input: words in lower case with underscores."""
    return re.sub(r"_+", "_", identifier(_CAMEL.sub("_", text))).strip("_").lower() or "value"
