"""Coercion: booleans and numbers that a document spells as strings become booleans and numbers.

Some published documents, among them one of RestBench, spell every boolean and number as a string:
`"required": "false"`, `"maximum": "50"`. Read literally, every parameter would be required.
"""

import re
from typing import Any

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
