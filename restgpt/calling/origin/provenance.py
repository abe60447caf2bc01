"""The provenance of each argument: the user said it, the document fixes it, an API answered it, or a model wrote it.

Arguments of a program's calls may be computed: nobody said them either. A value that an API answered is data of
strangers. A rule in `apis.yaml` can ask that chosen arguments come from the user, so that nothing planted in an answer
decides whom money goes to or what is deleted.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from restgpt.calling.record import Place, Provenance
from restgpt.specs import Operation
from restgpt.specs.effort import within
from restgpt.specs.reading.pointer import format_pointer, parse_pointer
from restgpt.specs.reading.tree import places_in
from restgpt.tools.evidence import Evidence, text_of
from restgpt.tools.quotation import named
from restgpt.tools.request.arguments import follow, is_open, properties_of
from restgpt.tools.request.files import CONTENT_KEYS, FILE_KEYS
from restgpt.tools.storable import storable_value

_SCALARS = (str, int, float)
_FIELD_NAME = re.compile(r"[\w$.:-]+")
_ESCAPED_QUOTE = re.compile(r"\\(['\"])")

MOST_STEPS = 200_000
"""How many steps the schemas may take that tell the keys of maps from fields."""

MOST_TRACED = 100
"""How many arguments of one call are traced."""

MOST_SEARCHED = 1_000_000
"""How many values of one stored response are searched, lists and objects included."""

MOST_PARTS = 5
"""How many response values are named that a computed text contains."""

SHORTEST_PART = 3
"""How many characters a response value has at least to be named as a part of a computed text."""

MOST_COMPUTED = 20_000
"""How many characters of all computed texts of one call are searched for parts."""

MOST_COMPARED = 100_000
"""How many response values are compared with the computed texts of one call."""

MOST_KEPT = 1_000
"""How many response values that the computed texts of one call contain are kept, to choose the longest."""


def trace(
    operation: Operation,
    arguments: Mapping[str, Any],
    *,
    said: str,
    responses: Iterable[tuple[str, Any]] = (),
    code: str | None = None,
) -> list[Provenance]:
    """The provenance of every scalar argument, in their order, at most `MOST_TRACED` of them.

    The arguments are settled ones, as they are sent; so are those of `foreign`.
    `said` is what the user said, `responses` gives kept responses by handle as JSON values or text, the newest first;
    they are only taken as far as needed. The user goes before the document and the document before responses. `code` is
    the text of the program that makes the call: what it does not contain either, it computed.
    """
    fixed: dict[tuple[str, ...], Sequence[Any]] = {
        (item.location, item.name): documented(item.schema) for item in operation.parameters
    }
    evidence = Evidence(said)
    found: dict[str, Provenance] = {}
    open_ends: dict[str, Any] = {}
    for pointer, value in islice(_traced(arguments), MOST_TRACED):
        if evidence.says(value):
            is_said = all(map(evidence.says, _keys(operation, pointer)))
            found[pointer] = {"pointer": pointer, "origin": "user" if is_said else "model"}
        elif value in fixed.get(parse_pointer(pointer), ()):
            found[pointer] = {"pointer": pointer, "origin": "document"}
        else:
            found[pointer] = {"pointer": pointer, "origin": "model"}
            open_ends[pointer] = value
    computed = {} if code is None else _computed(open_ends, code)
    places, parts = _search(responses, {text_of(value) for value in open_ends.values()}, computed.values())
    for pointer, value in open_ends.items():
        if (where := places.get(text_of(value))) is not None:
            found[pointer] = {"pointer": pointer, "origin": "response", "handle": where["handle"], "at": where["at"]}
        elif pointer in computed:
            found[pointer] = {"pointer": pointer, "origin": "program", "parts": parts.of(computed[pointer])}
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


def with_apis(provenance: Sequence[Provenance], names: Mapping[str, str]) -> list[Provenance]:
    """The provenance with the names of the APIs that answered; `names` maps the handles of their responses to them."""
    found: list[Provenance] = []
    for item in provenance:
        named: Provenance = {**item}
        if (name := names.get(item.get("handle", ""))) is not None:
            named["api"] = name
        if "parts" in item:
            named["parts"] = [_with_api(part, names) for part in item["parts"]]
        found.append(named)
    return found


def _with_api(place: Place, names: Mapping[str, str]) -> Place:
    name = names.get(place["handle"])
    return place if name is None else {**place, "api": name}


def owned(arguments: Mapping[str, Any]) -> list[Provenance]:
    """The provenance of arguments that a person typed."""
    return [{"pointer": pointer, "origin": "user"} for pointer, _ in _traced(arguments)]


def unchanged(
    provenance: Sequence[Provenance], before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[Provenance]:
    """The provenance of the arguments of a call that another call, such as for its next page, has too."""
    old, new = dict(_traced(before)), dict(_traced(after))
    shared = {pointer for pointer, value in new.items() if pointer in old and old[pointer] == value}
    return [item for item in provenance if item["pointer"] in shared]


def is_traceable(arguments: Mapping[str, Any]) -> bool:
    """Whether every argument can be named after keeping: names with control characters and the depths of values go."""
    before, after = (
        sorted(pointer for pointer, _ in _scalars(form)) for form in (arguments, storable_value(arguments))
    )
    return before == after


def _traced(arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The scalar arguments, but not the media types that a request states in its headers."""
    for pointer, value in _scalars(arguments):
        if pointer.casefold() not in ("/header/accept", "/header/content-type"):
            yield pointer, value


def documented(schema: Any) -> Sequence[Any]:
    """The values that a schema fixes: those of its `enum`, its default and its constant, which may be None."""
    if not isinstance(schema, Mapping):
        return ()
    values = schema.get("enum")
    return [*(values if isinstance(values, list) else ()), schema.get("default"), schema.get("const")]


@dataclass(slots=True)
class _Parts:
    """The response values that computed texts contain, each with the first place where it was found."""

    texts: str
    starts: set[str]
    left: int = MOST_COMPARED
    found: dict[str, Place] = field(default_factory=dict)

    @classmethod
    def sought_in(cls, computed: Iterable[str]) -> "_Parts":
        """Prepare the search in some computed texts."""
        texts = "\n".join(dict.fromkeys(computed))[:MOST_COMPUTED]
        starts = {texts[at : at + SHORTEST_PART] for at in range(len(texts) - SHORTEST_PART + 1)}
        return cls(texts, starts)

    def add(self, value: str, handle: str, path: Sequence[Any]) -> None:
        """Keep a response value if a computed text contains it; most values already fail by their first letters."""
        if value[:SHORTEST_PART] not in self.starts or value in self.found:
            return
        if self.left <= 0 or len(self.found) >= MOST_KEPT:
            return
        self.left -= 1
        if value in self.texts:
            self.found[value] = {"handle": handle, "at": _pointer(path)}

    def of(self, text: str) -> list[Place]:
        """The places of the longest values in a text; values that stand inside of a longer one are left out."""
        chosen: list[str] = []
        for value in sorted(self.found, key=len, reverse=True):
            if value in text and not any(value in longer for longer in chosen):
                chosen.append(value)
        return [self.found[value] for value in chosen[:MOST_PARTS]]


def _search(
    responses: Iterable[tuple[str, Any]], wanted: set[str], computed: Iterable[str]
) -> tuple[Mapping[str, Place], _Parts]:
    """The place of each wanted value in the responses, and the values that computed texts contain, in one pass.

    A response that is text has no pointers and gives no parts.
    """
    found: dict[str, Place] = {}
    parts = _Parts.sought_in(computed)
    for handle, response in responses if wanted else ():
        if isinstance(response, str):
            found.update({text: _place(handle) for text in wanted - found.keys() if text and text in response})
        else:
            for path, value in islice(places_in(response), MOST_SEARCHED):
                if not _is_scalar(value):
                    continue
                if (text := text_of(value)) in wanted and text not in found:
                    found[text] = _place(handle, _pointer(path))
                if parts.starts and isinstance(value, str):
                    parts.add(value, handle, path)
        if len(found) == len(wanted):
            break
    return found, parts


def _place(handle: str, pointer: str = "") -> Place:
    return {"handle": handle, "at": pointer}


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
    everything below an argument, so `body.recipients` covers each of them, and text at a place above it, such as a
    whole body in one string, which may hold anything.
    """
    if not patterns:
        return []
    known = {item["pointer"]: item for item in provenance}
    found: list[Provenance] = []
    for pointer, value in _traced(arguments):
        item = known.get(pointer) or {"pointer": pointer, "origin": "model"}
        if item["origin"] != "user" and _fits(pointer, patterns, is_text=isinstance(value, str)):
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


def described(item: Provenance) -> str:
    """One argument and its origin, as a person reads it; names that the program did not choose are quoted."""
    name = named(".".join(parse_pointer(item["pointer"])))
    origin = {
        "user": "you said it",
        "document": "the API's document fixes it",
        "model": "the model wrote it",
        "response": f"an answer of {_answerer(item)} held it at {_point(item)}",
        "program": f"the program computed it{_parts_text(item.get('parts', ()))}",
    }
    return f"{name}: {origin[item['origin']]}"


def _answerer(item: Place | Provenance) -> str:
    """The API that gave an answer; records of older versions do not name it."""
    return named(item["api"]) if item.get("api") else "the API"


def _point(item: Place | Provenance) -> str:
    return named(item["at"]) if item.get("at") else "some place in its text"


def _parts_text(parts: Sequence[Place]) -> str:
    """The places of the values that a computed text contains, by the API that answered."""
    places: dict[str, list[str]] = {}
    for part in parts:
        places.setdefault(_answerer(part), []).append(_point(part))
    told = [f"{', '.join(points)} of answers of {api}" for api, points in places.items()]
    return f" (from {'; '.join(told)})" if told else ""
