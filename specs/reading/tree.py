"""JSON as a tree: the values inside of a value, found without recursion, and pointers to them (RFC 6901).

Coercion: booleans and numbers that a document spells as strings become booleans and numbers.

Some published documents, among them one of RestBench, spell every boolean and number as a string:
`"required": "false"`, `"maximum": "50"`. Read literally, every parameter would be required.

Characters in descriptions that show nothing or reorder what is shown: a model would read what no person sees.

They are control characters but white space, marks of direction, characters without width, and tags (Unicode Technical
Standard 51). A joiner between two letters or emoji beyond ASCII stays, because it changes their form.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any, ParamSpec
from urllib.parse import unquote

# Most values are scalars, for which `isinstance` with an abstract class takes ten times as long.
_SCALARS = (str, int, float, type(None))
_ARRAYS = (list, tuple)


def values_in(tree: Any) -> Iterator[Any]:
    """Yield a JSON value and all values inside of it; an object or array comes before what it holds."""
    waiting = [tree]
    while waiting:
        value = waiting.pop()
        yield value
        if isinstance(value, _SCALARS):
            continue
        if isinstance(value, _ARRAYS):
            waiting.extend(value)
        elif isinstance(value, Mapping):
            waiting.extend(value.values())


def places_in(tree: Any) -> Iterator[tuple[list[str | int], Any]]:
    """Yield a JSON value and all values inside of it in their order, each behind the keys and indexes that lead to it.

    The path is one list that changes from step to step, because most paths are never needed.
    """
    path: list[Any] = []
    yield path, tree
    # Iterators, because a list of all children would be as large as the value again.
    waiting = [_children(tree)]
    while waiting:
        for key, value in waiting[-1]:
            path.append(key)
            yield path, value
            if not isinstance(value, _SCALARS):
                waiting.append(_children(value))
                break
            path.pop()
        else:
            waiting.pop()
            if path:
                path.pop()


def _children(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        return iter(value.items())
    return enumerate(value) if isinstance(value, _ARRAYS) else iter(())


def parse_pointer(pointer: str) -> tuple[str, ...]:
    """Split a plain JSON pointer into its unescaped tokens; the leading slash may be missing."""
    if pointer in ("", "/"):
        return ()
    tokens = pointer.removeprefix("/").split("/")
    return tuple([token.replace("~1", "/").replace("~0", "~") for token in tokens] if "~" in pointer else tokens)


def parse_fragment(fragment: str) -> tuple[str, ...]:
    """Split the percent-encoded fragment of a `$ref` into tokens (RFC 6901 section 6)."""
    return parse_pointer(unquote(fragment))


def format_pointer(tokens: Iterable[str]) -> str:
    """Write tokens as a plain JSON pointer."""
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in tokens)


BOOLEAN_KEYS = frozenset(
    {
        "allowEmptyValue",
        "allowReserved",
        "deprecated",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "explode",
        "nullable",
        "readOnly",
        "required",
        "uniqueItems",
        "writeOnly",
        "x-nullable",
        "additionalProperties",
    }
)
NUMBER_KEYS = frozenset(
    {
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
    }
)
DATA_KEYS = frozenset({"example", "examples", "x-example", "x-examples"})
KEY = re.compile(rb'"(\w[\w-]*)"\s*:\s*$')
# Python raises ValueError for a text of several thousand digits.
LONGEST_NUMBER = 1000
INTEGER = re.compile(r"[+-]?\d+\Z")
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\Z")
HITS = 2000


def has_string_booleans(data: bytes) -> bool:
    """Tell whether the JSON text of a document spells a boolean keyword of OpenAPI as a string."""
    for literal in (b'"true"', b'"false"'):
        start = data.find(literal)
        for _ in range(HITS):
            if start < 0:
                break
            found = KEY.search(data, max(0, start - 60), start)
            if found and found.group(1).decode() in BOOLEAN_KEYS:
                return True
            start = data.find(literal, start + 1)
    return False


def has_string_boolean(data: bytes) -> bool:
    """Tell whether a slice of JSON has the text "true" or "false", a cheap sign that it needs coercion."""
    return b'"true"' in data or b'"false"' in data


def coerce_keywords(node: Any) -> Any:
    """Return `node` with the values of boolean and number keywords coerced in place, examples left as they are."""
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, list):
            stack.extend(current)
        elif isinstance(current, dict):
            _coerce_keywords(current)
            stack.extend(value for key, value in current.items() if key not in DATA_KEYS)
    return node


def _coerce_keywords(node: dict[str, Any]) -> None:
    kind = node.get("type")
    for key, value in node.items():
        if key == "enum" and isinstance(value, list):
            node[key] = [coerce(item, kind) for item in value]
        elif not isinstance(value, str):
            continue
        elif key in BOOLEAN_KEYS:
            node[key] = coerce(value, "boolean")
        elif key in NUMBER_KEYS:
            node[key] = coerce(value, "number")
        elif key in ("default", "example"):
            node[key] = coerce(value, kind)


def coerce(value: Any, kind: Any) -> Any:
    """Return the value of JSON type `kind` that a string spells; return any other value unchanged."""
    if not isinstance(value, str):
        return value
    if kind == "boolean" and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if kind in ("integer", "number") and len(value) <= LONGEST_NUMBER and INTEGER.match(value):
        return int(value)
    if kind == "number" and NUMBER.match(value):
        return float(value)
    return value


TEXTS = ("description", "summary", "title")
"""The keys of texts for readers; all other values are names, or are sent or compared as they are.

Where a model or another client reads those, the characters are marked.
"""

P = ParamSpec("P")

_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
    "|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"
)
# The same in JSON, as UTF-8 or as escapes; some more characters do not matter.
_IN_JSON = re.compile(
    rb"[\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf|\xf3\xa0"
    rb"|\\[bf]|\\u(?:00[0189]|007[fF]|061[cC]|20[026]|[fF][eE][fF][fF]|[dD][bB]40)"
)


def without_hidden(text: str) -> str:
    """Return a text without the characters that nobody sees."""
    return _HIDDEN.sub("", text)


def is_hidden(text: Any) -> bool:
    """Whether a value is a text with such characters."""
    return isinstance(text, str) and _HIDDEN.search(text) is not None


def marked(text: str) -> str:
    """Return a text with such characters as the escapes of JSON, which Python reads alike."""
    return _HIDDEN.sub(lambda match: json.dumps(match[0])[1:-1], text)


def marks(write: Callable[P, str]) -> Callable[P, str]:
    """Mark such characters in what a function writes of a document."""
    return wraps(write)(lambda *args, **kwargs: marked(write(*args, **kwargs)))


def take_out_hidden(node: Any, raw: bytes) -> None:
    """Take those characters out of all descriptions and summaries of a value, whose JSON text is `raw`."""
    if not _IN_JSON.search(raw):
        return
    for value in values_in(node):
        if isinstance(value, dict):
            for key in TEXTS:
                if isinstance(value.get(key), str):
                    value[key] = without_hidden(value[key])
