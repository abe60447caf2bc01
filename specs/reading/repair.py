"""Booleans and numbers that a document spells as strings, read as what they are.

Some published documents, one of the two of RestBench among them, have no boolean and no number at all:
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
STRINGLY = re.compile(rb'"(\w[\w-]*)"\s*:\s*$')
INTEGER = re.compile(r"[+-]?\d+\Z")
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\Z")
HITS = 2000


def is_stringly(data: bytes) -> bool:
    """Tell whether the JSON text of a document spells a boolean keyword of OpenAPI as a string."""
    for literal in (b'"true"', b'"false"'):
        start = data.find(literal)
        for _ in range(HITS):
            if start < 0:
                break
            found = STRINGLY.search(data, max(0, start - 60), start)
            if found and found.group(1).decode() in BOOLEAN_KEYS:
                return True
            start = data.find(literal, start + 1)
    return False


def has_spelled_boolean(data: bytes) -> bool:
    """Tell whether a slice of JSON holds a boolean that is spelled as a string, the cheap sign that it needs repair."""
    return b'"true"' in data or b'"false"' in data


def repair(node: Any) -> Any:
    """Return `node` with stringly typed keywords replaced in place, examples and property names left alone."""
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, list):
            stack.extend(current)
        elif isinstance(current, dict):
            _repair_keywords(current)
            stack.extend(value for key, value in current.items() if key not in DATA_KEYS)
    return node


def _repair_keywords(node: dict[str, Any]) -> None:
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
    """Read a string as the JSON type `kind` where it spells one; anything else comes back unchanged."""
    if not isinstance(value, str):
        return value
    if kind == "boolean" and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if kind in ("integer", "number") and INTEGER.match(value):
        return int(value)
    if kind == "number" and NUMBER.match(value):
        return float(value)
    return value
