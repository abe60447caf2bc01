"""The provenance of each argument: the user said it, the document fixes it, an API answered it, or a model wrote it.

Arguments of a program's calls may be computed: nobody said them either. A value that an API answered is data of
strangers. A rule in `apis.yaml` can ask that chosen arguments come from the user, so that nothing planted in an answer
decides whom money goes to or what is deleted.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from itertools import chain, islice
from typing import Any

from restgpt.calling.origin.evidence import Evidence, text_of
from restgpt.calling.record import Place, Provenance
from restgpt.specs import Operation
from restgpt.specs.effort import within
from restgpt.specs.reading.tree import format_pointer, parse_pointer, places_in
from restgpt.tools.request.arguments import follow, is_open, properties_of
from restgpt.tools.request.files import CONTENT_KEYS, FILE_KEYS
from restgpt.tools.text.quotation import named
from restgpt.tools.text.storable import storable_value

_SCALARS = (str, int, float)
_FIELD_NAME = re.compile(r"[\w$.:-]+")
_READ = re.compile(
    r"""\[\s*["']([^"'\]]+)["']\s*\]|\.get\(\s*["']([^"']+)["']|\bfield\(\s*[^,]+((?:,\s*["'][^"']+["'])+)"""
)
"""A field that an expression reads: by its key, by `get`, or by the names given to `field`."""

_ONLY_READ = re.compile(r"""\s*\w+(?:\[\s*(?:\d+|"[^"]+"|'[^']+')\s*\]|\.get\(\s*["'][^"']+["']\s*\))+\s*""")
"""An expression that does nothing but read a field."""

_QUOTED = re.compile(r"[\"']([^\"']+)[\"']")
_ESCAPED_QUOTE = re.compile(r"\\(['\"])")

MOST_STEPS = 200_000
"""How many steps the schemas may take that tell the keys of maps from fields."""

MOST_TRACED = 100
"""How many arguments of one call are traced."""

MOST_SEARCHED = 1_000_000
"""How many values of one stored response are searched, lists and objects included."""

MOST_PLACES = 5
"""How many places are named of one argument."""

SHORTEST = 3
"""How many characters a value has at least to be told where it comes from: a shorter one stands in many answers.

One that a program takes out of a field as it is may be shorter.
"""

MOST_COMPUTED = 20_000
"""How many characters of all computed texts of one call are searched for parts."""

MOST_COMPARED = 100_000
"""How many response values are compared with the computed texts of one call."""

MOST_STATEMENT = 50
"""How many lines of a program are read of the statement that makes a call."""


def trace(
    operation: Operation,
    arguments: Mapping[str, Any],
    *,
    said: str,
    responses: Iterable[tuple[str, Any]] = (),
    code: str | None = None,
    line: int = 0,
) -> list[Provenance]:
    """The provenance of every scalar argument, in their order, at most `MOST_TRACED` of them.

    The arguments are settled ones, as they are sent; so are those of `foreign`.
    `said` is what the user said, `responses` gives kept responses by handle as JSON values or text, the newest first;
    none is taken if no argument needs one. The user goes before the document, and the document before responses. `code`
    is the text of the program that makes the call in `line`: what it does not contain either, it computed. An answer
    counts for an argument only if it holds the value in a field that the statement of the call reads for it, or that is
    named like the argument where no program makes the call: equal values of other fields say nothing.
    """
    fixed: dict[tuple[str, ...], Sequence[Any]] = {
        (item.location, item.name): documented(item.schema) for item in operation.parameters
    }
    evidence = Evidence(said)
    found: dict[str, Provenance] = {}
    open_ends: dict[str, Any] = {}
    named_too: dict[str, Any] = {}
    for pointer, value in islice(traced_values(arguments), MOST_TRACED):
        if evidence.says(value):
            is_said = all(map(evidence.says, _keys(operation, pointer)))
            found[pointer] = {"pointer": pointer, "origin": "user" if is_said else "model"}
            if pointer.startswith("/path/"):
                # A number that the user happened to say may stand for a thing that only an answer names.
                named_too[pointer] = value
        elif value in fixed.get(parse_pointer(pointer), ()):
            found[pointer] = {"pointer": pointer, "origin": "document"}
        else:
            found[pointer] = {"pointer": pointer, "origin": "model"}
            open_ends[pointer] = value
    computed = {} if code is None else _computed(open_ends, code)
    statement = None if code is None else _statement(code, line)
    wanted = {**open_ends, **named_too}
    sought = [_Sought(pointer, value, computed.get(pointer, ""), statement) for pointer, value in wanted.items()]
    _search(responses, [item for item in sought if item.fields])
    for item in sought:
        if item.pointer in named_too:
            found[item.pointer] |= {"places": list(item.places.values())} if item.places else {}
        elif item.places:
            found[item.pointer] |= {"origin": "response", "places": list(item.places.values())}
        elif item.pointer in computed:
            found[item.pointer] |= {"origin": "program", "places": item.parts()}
    return list(found.values())


def _keys(operation: Operation, pointer: str) -> Iterator[str]:
    """The names on the way to a value that are data, such as the keys of a map, and no fields of the document."""
    place, *parts = parse_pointer(pointer)
    if place == "body":
        schemas = [media.schema for media in operation.body.content.values()] if operation.body else []
    else:
        name, *parts = parts or [""]
        schemas = [item.schema for item in operation.parameters if (item.location, item.name) == (place, name)]
    if not parts or parts[-1] in FILE_KEYS or all(part.isdigit() for part in parts):
        return
    with within(MOST_STEPS, operation.document.allowance):
        roots = [operation.json_schema(schema, request=True) for schema in schemas]
        if len(roots) == 1:
            yield from _keys_below(roots[0], parts)


def _keys_below(root: Mapping[str, Any], parts: Sequence[str]) -> Iterator[str]:
    node: Any = root
    for part in parts:
        node = follow(node, root)
        node = node if isinstance(node, Mapping) else {}
        known, more = properties_of(node, root), node.get("additionalProperties")
        if part in known:
            node = known[part]
        elif part.isdigit():
            node = node.get("items")
        else:
            if is_open(node, root) or not _FIELD_NAME.fullmatch(part):
                yield part
            node = more


def _computed(values: Mapping[str, Any], code: str) -> dict[str, str]:
    """The values that no literal of the code holds, as text where parts of it may come from responses.

    The code is compared as text, because only the sandbox may parse it: a name or a comment counts as a literal.
    """
    evidence = literals(code)
    found = {}
    for pointer, value in values.items():
        text = text_of(value)
        if text and not (is_literal(value, evidence) or is_literal(text.strip(), evidence)):
            found[pointer] = text if isinstance(value, str) else ""
    return found


def literals(code: str) -> Evidence:
    """The text of a program, to look for its literals."""
    return Evidence(code, _ESCAPED_QUOTE.sub(r"\1", code))


def is_literal(value: Any, code: Evidence) -> bool:
    """Whether a program holds exactly a value, as it is or as a literal spells it."""
    text = text_of(value)
    return any(map(code.has_word, {text, json.dumps(text)[1:-1], repr(text)[1:-1], str(value)}))


def with_operations(
    provenance: Sequence[Provenance], operations: Mapping[str, str], apis: Mapping[str, str]
) -> list[Provenance]:
    """The provenance with the names of the operations that answered, and of the APIs where there are several.

    Both by the handles of the answers. Several places of one operation become one.
    """
    return [
        {**item, "places": _by_operation(item["places"], operations, apis)} if "places" in item else item
        for item in provenance
    ]


def _by_operation(places: Sequence[Place], operations: Mapping[str, str], apis: Mapping[str, str]) -> list[Place]:
    found: dict[tuple[str, str], Place] = {}
    for place in places:
        handle, named = place["handle"], place.copy()
        if operation := operations.get(handle):
            named["operation"] = operation
        if api := apis.get(handle):
            named["api"] = api
        found.setdefault((operation or handle, _field(place)), named)
    return list(found.values())[:MOST_PLACES]


def owned(arguments: Mapping[str, Any]) -> list[Provenance]:
    """The provenance of arguments that a person typed."""
    return [{"pointer": pointer, "origin": "user"} for pointer, _ in _given_values(arguments)]


def unchanged(
    provenance: Sequence[Provenance], before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[Provenance]:
    """The provenance of the arguments of a call that another call, such as for its next page, has too."""
    old, new = dict(_given_values(before)), dict(_given_values(after))
    shared = {pointer for pointer, value in new.items() if pointer in old and old[pointer] == value}
    return [item for item in provenance if item["pointer"] in shared]


def is_traceable(arguments: Mapping[str, Any]) -> bool:
    """Whether every argument can be named after keeping: names with control characters and the depths of values go."""
    before, after = (
        sorted(pointer for pointer, _ in _scalars(form)) for form in (arguments, storable_value(arguments))
    )
    return before == after


def traced_values(arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The scalar arguments, but not the media types that a request states in its headers."""
    for pointer, value in _scalars(arguments):
        if pointer.casefold() not in ("/header/accept", "/header/content-type"):
            yield pointer, value


def _given_values(arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The traced arguments, and those that are null or empty: these clear a field, and nobody says them."""
    empty = (
        (_pointer(path), node)
        for path, node in places_in(arguments)
        if len(path) > 1 and not (node or _is_scalar(node))
    )
    return chain(traced_values(arguments), empty)


def documented(schema: Any) -> Sequence[Any]:
    """The values that a schema fixes: those of its `enum`, its default and its constant, which may be None."""
    if not isinstance(schema, Mapping):
        return ()
    values = schema.get("enum")
    return [*(values if isinstance(values, list) else ()), schema.get("default"), schema.get("const")]


@dataclass(slots=True)
class _Sought:
    """An argument whose value is sought in the answers: in the `fields` that may have given it.

    `places` has the newest place of the very value in each answer, `contained` the places of values that the computed
    `text` of the argument contains.
    """

    pointer: str
    value: InitVar[Any]
    text: str
    statement: InitVar[str | None]
    wanted: str = field(init=False)
    fields: frozenset[str] = field(init=False)
    places: dict[str, Place] = field(default_factory=dict, init=False)
    contained: dict[str, Place] = field(default_factory=dict, init=False)

    def __post_init__(self, value: Any, statement: str | None) -> None:
        self.wanted = text_of(value)
        name = next(filter(_is_name, reversed(parse_pointer(self.pointer))), "")
        expression = None if statement is None else _expression(statement, name)
        is_telling = len(self.wanted) >= SHORTEST or (expression and _ONLY_READ.fullmatch(expression))
        self.fields = frozenset(_fields(name, expression) if is_telling and not isinstance(value, bool) else ())

    def parts(self) -> list[Place]:
        """The places of the longest values in the text; values that stand inside of a longer one are left out."""
        chosen: list[str] = []
        for value in sorted(self.contained, key=len, reverse=True):
            if not any(value in longer for longer in chosen):
                chosen.append(value)
        return [self.contained[value] for value in chosen[:MOST_PLACES]]


def _fields(name: str, expression: str | None) -> Iterable[str]:
    """The fields that may have given an argument: those that its expression in the statement of the call reads.

    Without a program, those with the name of the argument: an id may be `id` in the thing that it is of.
    """
    if expression is None:
        return (name, "id") if name.lower().endswith("id") else (name,)
    read = [text for groups in _READ.findall(expression) for text in groups if text]
    return [item.rpartition(".")[2] for text in read for item in (_QUOTED.findall(text) or [text])]


def _is_name(part: str) -> bool:
    return not part.isdigit()


def _statement(code: str, line: int) -> str:
    """The lines of a program from one on, until all brackets are closed; empty for a call without a line."""
    taken, depth = [], 0
    for text in code.splitlines()[line - 1 : line - 1 + MOST_STATEMENT] if line else ():
        taken.append(text)
        depth += sum(map(text.count, "([{")) - sum(map(text.count, ")]}"))
        if depth <= 0:
            break
    return "\n".join(taken)


def _expression(statement: str, name: str) -> str:
    """The expression of a keyword argument or of a key in a statement; the whole statement if it has neither."""
    begun = re.search(rf"\b{re.escape(name)}\s*=(?!=)|[\"']{re.escape(name)}[\"']\s*:", statement) if name else None
    if begun is None:
        return statement
    depth = 0
    for at, letter in enumerate(statement[begun.end() :], begun.end()):
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0 or (depth == 0 and letter == ","):
            return statement[begun.end() : at]
    return statement[begun.end() :]


def _search(responses: Iterable[tuple[str, Any]], sought: Sequence[_Sought]) -> None:
    """Look for the values in the responses, in one pass; a response that is text has no fields."""
    fields = frozenset(name for item in sought for name in item.fields)
    exact = _by_text(sought)
    computed = [item for item in sought if item.text and item.text == item.wanted][:MOST_TRACED]
    left = MOST_COMPARED
    for handle, response in responses if sought else ():
        for path, value in islice(places_in(response), MOST_SEARCHED) if not isinstance(response, str) else ():
            name = _last_name(path)
            if name not in fields or not _is_scalar(value):
                continue
            text = text_of(value)
            for item in exact.get(text, ()):
                if name in item.fields and handle not in item.places:
                    item.places[handle] = {"handle": handle, "at": _pointer(path)}
            for item in computed if isinstance(value, str) and len(text) >= SHORTEST else ():
                left -= 1
                if (
                    left > 0
                    and name in item.fields
                    and text not in item.contained
                    and text in item.text[:MOST_COMPUTED]
                ):
                    item.contained[text] = {"handle": handle, "at": _pointer(path)}


def _by_text(sought: Sequence[_Sought]) -> dict[str, list[_Sought]]:
    found: dict[str, list[_Sought]] = {}
    for item in sought:
        found.setdefault(item.wanted, []).append(item)
    return found


def _last_name(path: Sequence[Any]) -> str:
    return next((part for part in reversed(path) if isinstance(part, str)), "")


def _scalars(value: Any) -> Iterator[tuple[str, Any]]:
    """Every scalar in a JSON value with its JSON pointer (RFC 6901)."""
    return ((_pointer(path), node) for path, node in places_in(value) if _is_scalar(node))


def _is_scalar(node: Any) -> bool:
    return isinstance(node, _SCALARS) or not (node is None or isinstance(node, Mapping | list | tuple))


def _pointer(path: Sequence[Any]) -> str:
    return format_pointer(map(str, path))


def foreign(
    arguments: Mapping[str, Any], provenance: Sequence[Provenance], patterns: Sequence[str]
) -> list[Provenance]:
    """The arguments that match one of the patterns, but that did not come from the user.

    A pattern is a place and a name with `*` for anything, such as `path.*`, `body.recipient` or `*.amount`. It covers
    everything below an argument, so `body.recipients` covers each of them, and what is null, empty or text at a place
    above it, such as a whole body in one string, which may hold anything.
    """
    if not patterns:
        return []
    known = {item["pointer"]: item for item in provenance}
    found: list[Provenance] = []
    for pointer, value in _given_values(arguments):
        item = known.get(pointer) or {"pointer": pointer, "origin": "model"}
        is_whole = isinstance(value, str) or not _is_scalar(value)
        if item["origin"] != "user" and _fits(pointer, patterns, is_text=is_whole):
            found.append(item)
    return found


def _fits(pointer: str, patterns: Sequence[str], *, is_text: bool) -> bool:
    parts = parse_pointer(pointer)
    if is_text and parts[-1] in CONTENT_KEYS:
        # The content of a file is text at the place of the file.
        return _fits(pointer.rpartition("/")[0], patterns, is_text=True)
    names = [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
    bare = [".".join(part for part in name.split(".") if not part.isdigit()) for name in names]
    if any(_is_like(name, pattern) for pattern in patterns for name in {*names, *bare}):
        return True
    forms = (parts, [part for part in parts if not part.isdigit()])
    return is_text and any(_is_above(form, pattern) for pattern in patterns for form in forms)


def _is_like(name: str, pattern: str) -> bool:
    """Whether a name fits a pattern, in which `*` alone is special; names of headers ignore case (RFC 9110)."""
    if name.startswith("header."):
        name, pattern = name.lower(), pattern.lower()
    return re.fullmatch(".*".join(map(re.escape, re.split(r"\*+", pattern))), name, re.DOTALL) is not None


def _is_above(parts: Sequence[str], pattern: str) -> bool:
    """Whether a pattern names something below this place, as `body.recipient` and `*.amount` do for a whole `body`."""
    above = pattern.split(".")[: len(parts)]
    if pattern.count(".") < len(parts) or (len(parts) > 1 and set(above) == {"*"}):
        return False
    return all(_is_like(part, wanted) for part, wanted in zip(parts, above, strict=True))


def described(items: Iterable[Provenance], line: int = 0) -> list[str]:
    """The arguments of each origin, a line each as a person reads it; names that the program did not choose are quoted.

    `line` is that of the program which makes the call, or 0.
    """
    told: dict[str, list[str]] = {}
    for item in items:
        told.setdefault(_origin(item, line), []).append(named(".".join(parse_pointer(item["pointer"]))))
    return [f"{', '.join(names)}: {origin}" for origin, names in told.items()]


def _origin(item: Provenance, line: int) -> str:
    places = _places_text(item.get("places", ()))
    origin = {
        "user": "you said it",
        "document": "the API's spec fixes it",
        "model": "the model wrote it",
        "response": places,
        "program": f"computed by the program{f' in line {line}' if line else ''}{f' from {places}' if places else ''}",
    }
    return origin[item["origin"]]


def _places_text(places: Sequence[Place]) -> str:
    """The fields and headers of the answers that hold a value, and the operations that gave these."""
    told: dict[str, list[str]] = {}
    for place in places:
        header = place.get("header")
        name = f"header {named(header)} of" if header else f"{named(_field(place))} in"
        told.setdefault(name, []).append(_answerer(place))
    return "; ".join(f"{name} a response of {', also of '.join(answerers)}" for name, answerers in told.items())


def _field(place: Place) -> str:
    return next(filter(_is_name, reversed(parse_pointer(place["at"]))), "")


def _answerer(place: Place) -> str:
    names = [named(name) for name in (place.get("operation"), place.get("api")) if name]
    return f"{names[0]} ({names[1]})" if len(names) > 1 else "".join(names) or "the API"
