"""The inputs of a recipe: by rule, the literals of a program that the user said."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from restgpt.calling.origin.evidence import Evidence
from restgpt.recipes.guards.pattern import without_indices
from restgpt.recipes.recording.finished import FinishedCall
from restgpt.specs import Operation
from restgpt.specs.docs.words.keyword import identifier, keywords
from restgpt.specs.effort import within
from restgpt.specs.reading.pointer import format_pointer
from restgpt.tools.request.arguments import follow, properties_of
from restgpt.tools.text.storable import is_storable

MOST_DESCRIPTION = 200
"""The maximum number of characters of a description that an input takes over from the document."""

MOST_STEPS = 200_000
"""How many steps the schemas of one call may take."""

MOST_TOKENS = 200
"""How many words of a longer text are compared with the user's words."""

SMALL = 100
"""Smaller numbers are equal to others by chance."""

_KEPT = ("type", "format", "minimum", "maximum", "pattern")
_TOKEN = re.compile(r"""[^\s:;,=|/()\[\]{}<>"“”„«»`+&]+""")
_LABEL = re.compile(r"([A-Za-z_][\w.\-]*)\s*[:=]\s*[\"'“„(]*$")
_DATE = re.compile(r"([0-9]{4})-[0-9]{2}(?:-[0-9]{2})?")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TYPES = {str: "string", int: "integer", float: "number"}

Scalar = str | int | float


@dataclass(frozen=True, slots=True)
class Input:
    """A value of the program that becomes an input.

    `value` is a tuple for a list. `keyword` limits the replacement to the arguments and fields of this name. `noun` is
    what the operation is about; it makes the name unique. An input that is not required has its value as its default.
    """

    name: str
    value: Scalar | tuple[Scalar, ...]
    schema: Mapping[str, Any]
    keyword: str = ""
    noun: str = ""
    is_required: bool = True

    @property
    def example(self) -> Any:
        """The saved value as JSON."""
        return list(self.value) if isinstance(self.value, tuple) else self.value

    def property(self) -> dict[str, Any]:
        """Return the JSON Schema of the input, with the saved value as its example."""
        default = {} if self.is_required else {"default": self.example}
        return {**self.schema, **default, "examples": [self.example]}


@dataclass(frozen=True, slots=True)
class Argument:
    """A scalar argument, or a list of scalars: its place, its value, and what the document says about it."""

    tokens: tuple[str, ...]
    keyword: str
    value: Any
    schema: Mapping[str, Any]
    description: str = ""

    @property
    def pointer(self) -> str:
        """The JSON pointer of the argument in the grouped arguments."""
        return format_pointer(self.tokens)

    @property
    def is_fixed(self) -> bool:
        """Whether the document fixes the value: by an enumeration, a constant, a default or the type boolean."""
        values = self.value if isinstance(self.value, list) else [self.value]
        return all(isinstance(value, bool) or value is None or value in _fixed(self.schema) for value in values)


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
    known = {(item.location, item.field): item for item in keywords(operation)}
    with within(MOST_STEPS, operation.document.allowance):
        for place, group in arguments.items():
            if place == "body":
                raw = operation.body.preferred.schema if operation.body else None
                root = operation.json_schema(raw, request=True)
                yield from _leaves(("body",), "body", group, root, root, "")
                continue
            for name, value in group.items() if isinstance(group, Mapping) else ():
                item = known.get((place, name))
                root = operation.json_schema(item.parameter.schema, request=True) if item else {}
                described = item.parameter.description if item else ""
                keyword = item.name if item else name
                yield from _leaves((place, name), keyword, value, root, root, described)


def _leaves(
    tokens: tuple[str, ...], keyword: str, value: Any, schema: Any, root: Mapping[str, Any], described: str
) -> Iterator[Argument]:
    node = follow(schema, root)
    node = node if isinstance(node, Mapping) else {}
    if isinstance(value, Mapping):
        fields, more = properties_of(node, root), node.get("additionalProperties")
        for name, inner in value.items():
            yield from _leaves((*tokens, str(name)), str(name), inner, fields.get(name, more), root, "")
    elif isinstance(value, list) and not (value and all(isinstance(item, str | int | float) for item in value)):
        for number, inner in enumerate(value):
            yield from _leaves((*tokens, str(number)), keyword, inner, node.get("items"), root, "")
    elif isinstance(value, str | int | float | list):
        items = follow(node.get("items"), root)
        shown = {**node, "items": items} if isinstance(items, Mapping) else dict(node)
        yield Argument(tokens, keyword, value, shown, described or str(node.get("description") or ""))


def inputs_of(calls: Sequence[FinishedCall], said: str, *, lists: bool = True) -> list[Input]:
    """Return the inputs that the calls suggest, without names that two of them share.

    With `lists`, different values of one argument in several calls become one list: the program may go through it.
    """
    evidence = Evidence(said)
    found: list[tuple[str, Input]] = []
    for call in calls:
        noun = noun_of(call.operation)
        for argument in arguments_in(call.operation, call.given):
            if not argument.is_fixed:
                place = f"{call.sent.function}{without_indices(argument.pointer)}"
                found += ((place, replace(item, noun=noun)) for item in _of_argument(argument, evidence, said))
    return named(_distinct(_listed(found) if lists else [item for _, item in found]))


def _of_argument(argument: Argument, evidence: Evidence, said: str) -> Iterator[Input]:
    """Yield the inputs that an argument suggests: its value, its items, or runs of the user's words in its text."""
    value = argument.value
    name = _name(argument.keyword)
    if isinstance(value, list):
        if all(evidence.says(item) for item in value):
            yield Input(name, tuple(value), _schema(argument, value))
            return
        values = value
    elif evidence.says(value):
        yield _whole(argument, name, value, said)
        return
    else:
        values = [value]
    for text in values:
        if isinstance(text, str):
            yield from _runs(text, name, evidence, said)


def _whole(argument: Argument, name: str, value: Scalar, said: str) -> Input:
    """Return the input of an argument whose value the user said."""
    schema = _schema(argument, value)
    if isinstance(value, str):
        is_common = not is_entity(value, said) and len(value.split()) == 1
        return Input(name, value, schema, argument.keyword if is_common else "", is_required=not is_common)
    return Input(name, value, schema, argument.keyword)


def is_entity(text: str, said: str) -> bool:
    """Return whether a text looks like a name: a capital, a digit, a letter beyond ASCII, or quoted by the user."""
    if any(char.isupper() or char.isdigit() or (char.isalpha() and not char.isascii()) for char in text):
        return True
    return re.search(rf"[\"'“”„«»‘’‚`]{re.escape(text)}[\"'“”«»‘’`]", said, re.IGNORECASE) is not None


def _runs(text: str, name: str, evidence: Evidence, said: str) -> Iterator[Input]:
    """Yield the longest runs of words in a text that the user said and that look like names."""
    if (date := _DATE.fullmatch(text)) is not None:
        if evidence.says(date[1]):
            yield Input("year", date[1], {"type": "string", "pattern": "^[0-9]{4}$"})
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
            yield Input(_name(label[1]) if label else name, run, {"type": "string"})
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


def _schema(argument: Argument, value: Any) -> dict[str, Any]:
    """Return the schema of an argument as far as an input needs it, with the type of the value that was given."""
    described = " ".join(argument.description.split())
    head = {"description": described} if 0 < len(described) <= MOST_DESCRIPTION else {}
    if isinstance(value, list):
        items = argument.schema.get("items")
        return {"type": "array", "items": _cut(items if isinstance(items, Mapping) else {}, value[0]), **head}
    return {**_cut(argument.schema, value), **head}


def _cut(schema: Mapping[str, Any], value: Scalar) -> dict[str, Any]:
    kind = _TYPES[type(value)]
    documented = schema.get("type")
    types = documented if isinstance(documented, list) else [documented]
    if kind == "integer" and "number" in types and "integer" not in types:
        kind = "number"
    if kind not in types:
        return {"type": kind}
    # A bound of more than 64 bits, such as the largest value of an unsigned one, bounds nothing that a recipe can hold.
    kept = {key: schema[key] for key in _KEPT if key in schema and is_storable(schema[key])}
    return {**kept, "type": kind}


def _listed(found: Sequence[tuple[str, Input]]) -> list[Input]:
    """Join the different values of one argument in several calls to one list."""
    groups: dict[tuple[str, str], list[Input]] = {}
    for place, item in found:
        groups.setdefault((place, item.name), []).append(item)
    inputs = []
    for items in groups.values():
        values = tuple(dict.fromkeys(item.value for item in items))
        first = items[0]
        single = tuple(value for value in values if not isinstance(value, tuple))
        if len(values) < 2 or len(single) < len(values):
            inputs += items
            continue
        schema = {key: value for key, value in first.schema.items() if key != "description"}
        listed: dict[str, Any] = {"type": "array", "items": schema}
        inputs.append(replace(first, name=_plural(first.name), value=single, schema=listed, keyword=""))
    return inputs


def _distinct(found: Iterable[Input]) -> list[Input]:
    """Return each value once; a number, which is replaced at its argument only, once for each argument."""
    known: dict[tuple[str, Any, str], Input] = {}
    for item in found:
        known.setdefault((type(item.value).__name__, item.value, item.keyword), item)
    return list(known.values())


def named(inputs: Sequence[Input]) -> list[Input]:
    """Give inputs that share a name the noun of their operation, and where that does not help, a number."""
    with_nouns = [replace(item, name=_with_noun(item)) if _count(inputs, item.name) > 1 else item for item in inputs]
    taken: set[str] = set()
    found = []
    for item in with_nouns:
        name, number = item.name, 2
        while name in taken:
            name, number = f"{item.name}{number}", number + 1
        taken.add(name)
        found.append(replace(item, name=name))
    return found


def _count(inputs: Iterable[Input], name: str) -> int:
    return sum(item.name == name for item in inputs)


def _with_noun(item: Input) -> str:
    return item.name if not item.noun or item.noun in item.name.split("_") else f"{item.noun}_{item.name}"


def noun_of(operation: Operation) -> str:
    """Return what an operation is about: the last fixed part of its path, in the singular."""
    parts = [part for part in operation.path.split("/") if part and not part.startswith("{")]
    return _singular(_name(parts[-1])) if parts else ""


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _plural(word: str) -> str:
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return word if word.endswith("s") else f"{word}s"


def _name(text: str) -> str:
    """Return a name of the API as a name of an input: words in lower case with underscores."""
    return re.sub(r"_+", "_", identifier(_CAMEL.sub("_", text))).strip("_").lower() or "value"
