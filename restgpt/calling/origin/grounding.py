"""The check for invented ids: an id must come from the instruction or from a result (paper, Table 9).

The results of a call are texts, those of a program are the answers themselves. All sources answer `has_id` alike.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Protocol

from restgpt.calling.origin.evidence import Evidence, text_of
from restgpt.specs import Operation
from restgpt.specs.docs.shape import Shape
from restgpt.specs.reading.text.nesting import is_too_deep
from restgpt.specs.reading.tree import values_in
from restgpt.specs.schemas.pattern import is_found

LEVELS = 4
"""How many levels of a body are searched for the schema of an id."""

_QUOTED = re.compile(r"['\"`‘“]([^'\"`’”\s]{3,60})['\"`’”]")
_BEFORE_DIGITS = re.compile(r"\D*")


def sayings(operation: Operation, place: str, name: str, text: str) -> list[str]:
    """Return the texts as one of which a person may have said an id: itself, and it without its documented prefix.

    There are none unless an example, a quoted text in a description, a pattern or the format `uuid` shows the form that
    the id has.
    """
    found: list[str] = []
    for schema in _schemas(operation, place, name):
        pattern = schema.get("pattern")
        is_shown = schema.get("format") == "uuid" or (isinstance(pattern, str) and is_found(pattern, text) is True)
        alike = [item for item in _examples(schema) if _outline(item) == _outline(text)]
        found += [text] if alike or is_shown else []
        prefixes = {match[0] for item in alike if (match := _BEFORE_DIGITS.match(item))}
        found += [text.removeprefix(prefix) for prefix in prefixes if prefix and text.startswith(prefix)]
    return list(dict.fromkeys(found))


def _schemas(operation: Operation, place: str, name: str) -> Iterator[dict[str, Any]]:
    """Yield the schemas of an argument, each with the example and the description of its parameter."""
    for item in operation.parameters:
        if (item.location, item.name) == (place, name):
            texts = f"{item.description} {item.schema.get('description', '')}"
            yield {**Shape(operation.document, item.schema).flat, "description": texts, "x-example": item.example}
    if place == "body" and operation.body is not None:
        yield from _inner(Shape(operation.document, operation.body.preferred.schema, request=True), name, LEVELS)


def _inner(shape: Shape, name: str, levels: int) -> Iterator[dict[str, Any]]:
    fields = shape.fields
    yield from [fields[name].flat] if name in fields else []
    inside = [*fields.values(), *([shape.items] if shape.items is not None else [])] if levels else []
    for inner in inside:
        yield from _inner(inner, name, levels - 1)


def _examples(schema: dict[str, Any]) -> list[str]:
    listed = schema.get("examples")
    given = [schema.get("example"), schema.get("x-example"), *(listed if isinstance(listed, list) else ())]
    return [str(item) for item in given if item is not None] + _QUOTED.findall(str(schema.get("description") or ""))


def _outline(text: str) -> str:
    """A text with one sign for each run of digits, of capital and of small letters."""
    return re.sub(r"[a-z]+", "a", re.sub(r"[A-Z]+", "A", re.sub(r"[0-9]+", "0", text)))


_ID_NAME = re.compile(r"(^|[_\-.])(id|ids|uuid|guid|uri|uris|sha)$|[a-z](Id|Ids|ID|IDs|Uri|Uris|Uuid)$")
_LIST = re.compile(r"[,\s]+")
_ENTRY = re.compile(r"\s*[,;|]\s*")
_JOINED = re.compile(r"[,;|:/]")
# The start of a URI, with its host, or of a path; times and dates have none.
_PLACE = re.compile(r"[A-Za-z][\w+.\-]*:(?://[^/?#]*)?|/|(?=[A-Za-z_][\w.\-]*/)")
_URI = re.compile(r"[:/?&=#]+")
_WORD = re.compile(r"[\w\-]+")

LONGEST_ID = 2_000
"""How many characters a text has at most to be taken for an id, a URI or a list of ids."""

SHORTEST_WORD = 4
"""How many characters an id has at least to be looked for in the sentences of an answer, beside a digit."""


class IdSource(Protocol):
    """A source of ids."""

    def has_id(self, value: Any) -> bool:
        """Whether the source contains an id: alone, as each id of a list, or as the last part of a URI."""

    def form(self, text: str) -> str:
        """Another form in which the source contains an id, or an empty text."""


class IdSources:
    """Several sources as one, so that the ids of one list may come from different ones."""

    def __init__(self, *sources: IdSource) -> None:
        self._sources = sources

    def has_id(self, value: Any) -> bool:
        """Whether one of the sources contains an id, or each id of a list is in one of them."""
        if any(source.has_id(value) for source in self._sources):
            return True
        parts = _parts(text_of(value), _LIST)
        return len(parts) > 1 and all(self.has_id(part) for part in parts)

    def form(self, text: str) -> str:
        """Another form in which one of the sources contains an id, or an empty text."""
        return next(filter(None, (source.form(text) for source in self._sources)), "")


class Answers:
    """The ids in the answers of an API, as parsed JSON or text; collected at the first question, once.

    An id is a scalar or a name of an object, a part of a URI or of a path, or each part of a list in one text. In a
    sentence only longer words with a digit count, because any small number stands in some sentence; in an answer that
    is text, such as CSV, every word counts.
    """

    def __init__(self, answers: Iterable[Any]) -> None:
        self._answers = answers
        self._known: dict[str, bool] = {}

    @cached_property
    def _bodies(self) -> tuple[Any, ...]:
        return tuple(self._answers)

    @cached_property
    def _texts(self) -> dict[str, None]:
        """Every scalar and every name as text, each once."""
        return dict.fromkeys(_scalar_texts(self._bodies))

    @cached_property
    def _joined(self) -> frozenset[str]:
        found = {word for body in self._bodies if isinstance(body, str) for word in _WORD.findall(body)}
        for text in self._texts:
            if len(text) <= LONGEST_ID and _JOINED.search(text):
                found.update(_joined_ids(text))
        return frozenset(found)

    def has_id(self, value: Any) -> bool:
        """Whether the answers contain an id: alone, as each id of a list, or as the last part of a URI."""
        text = text_of(value)
        if text not in self._known:
            self._known[text] = self._has(text)
        return self._known[text]

    def form(self, text: str) -> str:
        """No other form, because an API writes its ids as it takes them."""
        return ""

    def _has(self, text: str) -> bool:
        if text in self._texts or text in self._joined:
            return bool(text)
        parts = _parts(text, _LIST)
        if len(parts) > 1:
            return all(self.has_id(part) for part in parts)
        ends = _parts(text, _URI)
        return (len(ends) > 1 and self.has_id(ends[-1])) or self._is_told(text)

    def _is_told(self, text: str) -> bool:
        """Whether an id is a whole word of a sentence in an answer."""
        if len(text) < SHORTEST_WORD or not any(map(str.isdigit, text)) or not _WORD.fullmatch(text):
            return False
        return any(text in told and Evidence(told).has_word(text) for told in self._texts)


def _scalar_texts(answers: Iterable[Any]) -> Iterator[str]:
    for node in values_in(list(answers)):
        if isinstance(node, Mapping):
            yield from map(str, node)
        elif node is not None and not isinstance(node, list | tuple | bool | bytes):
            yield text_of(node)
            if isinstance(node, float) and node.is_integer():
                yield str(int(node))


def _joined_ids(text: str) -> Iterator[str]:
    """The ids of a list in one text, and the parts of every URI and path in it; commas in a sentence make no list."""
    items = _ENTRY.split(text)
    if len(items) > 1 and not any(re.search(r"\s", item) for item in items):
        yield from items
    for word in _parts(text, _LIST):
        if place := _PLACE.match(word):
            yield from _parts(word[place.end() :], _URI)


def _parts(text: str, separator: re.Pattern[str]) -> list[str]:
    return [part for part in separator.split(text) if part]


def ungrounded(operation: Operation, arguments: Mapping[str, Any], evidence: IdSource) -> list[str]:
    """The id-like arguments that neither the evidence contains nor the document fixes, as `place.name = value`.

    One that the evidence contains in another form counts as said where the document shows the form that it has.
    """
    fixed = {(parameter.location, parameter.name): parameter.schema for parameter in operation.parameters}
    found = []
    for place, name, value in ids_in(arguments):
        schema = fixed.get((place, name), {})
        documented = [*schema.get("enum", ()), schema.get("default")] if isinstance(schema, Mapping) else []
        if value in documented or evidence.has_id(value):
            continue
        if not any(map(evidence.form, sayings(operation, place, name, text_of(value)))):
            found.append(f"{place}.{name} = {json.dumps(value, ensure_ascii=False)}")
    return found


def ids_in(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Every scalar argument with an id-like name, at any depth; a body may be given as JSON text."""
    for place, group in arguments.items():
        for name, value in _named(_read(group) if place == "body" else group):
            if _ID_NAME.search(name):
                yield place, name, value


def _read(body: Any) -> Any:
    if not isinstance(body, str):
        return body
    try:
        return body if is_too_deep(body) else json.loads(body)
    except ValueError:
        return body


def _named(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _named(inner, str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from _named(inner, name)
    elif isinstance(value, str | int) and not isinstance(value, bool):
        yield name, value
