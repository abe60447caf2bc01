"""The type words of function documentation, read as JSON Schema (2020-12).

The documents of OpenFunctions and its leaderboard write `dict`, `float`, `tuple`, `any`, names of Java and JavaScript
classes and Python annotations where JSON Schema has seven words. Each is mapped to its JSON Schema type, and the word
itself is kept under `x-type` where the two differ, so that nothing is lost for strict matching. What cannot be read
accepts any value.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Schema = dict[str, Any]

WORDS: dict[str, str] = {
    **dict.fromkeys(("string", "str", "text", "char", "character", "regex", "uuid", "email"), "string"),
    **dict.fromkeys(("integer", "int", "long", "short", "byte", "bigint", "int32", "int64", "biginteger"), "integer"),
    **dict.fromkeys(("number", "float", "double", "decimal", "numeric", "real", "float32", "float64"), "number"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    **dict.fromkeys(("array", "list", "arraylist", "tuple", "set", "sequence", "queue", "stack", "iterable"), "array"),
    **dict.fromkeys(("object", "dict", "dictionary", "hashmap", "hashtable", "map", "mapping", "json"), "object"),
    **dict.fromkeys(("null", "none", "nonetype", "void"), "null"),
}
FORMATS = {
    "date": "date",
    "datetime": "date-time",
    "date-time": "date-time",
    "time": "time",
    "url": "uri",
    "uri": "uri",
}
ANYTHING = frozenset({"any", "mixed", "value", "unknown", ""})
DEPTH = 32

_OPTIONAL = re.compile(r",?\s*\boptional\b\s*$", re.IGNORECASE)
_GENERIC = re.compile(r"^([A-Za-z_.]+)\s*[\[<](.*)[\]>]$", re.DOTALL)
_OF = re.compile(r"^(?:list|array|tuple|set|sequence)s?\s+of\s+(.+)$", re.IGNORECASE)


def read_type(word: str, depth: int = 0) -> Schema | None:
    """The JSON Schema of a type word such as `float`, `List[int]`, `String[]` or `int or str`; None if unknown."""
    text = _OPTIONAL.sub("", word.strip()).strip()
    plain = text.lower().removeprefix("typing.")
    if plain in ANYTHING:
        return {"x-type": text} if text else {}
    if plain in WORDS:
        return {"type": plain} if WORDS[plain] == text else {"type": WORDS[plain], "x-type": text}
    if plain in FORMATS:
        return {"type": "string", "format": FORMATS[plain], "x-type": text}
    return None if depth > DEPTH else _read_composed(text, depth + 1)


def _read_composed(text: str, depth: int) -> Schema | None:
    generic = _GENERIC.match(text)
    outer = generic[1].lower().removeprefix("typing.") if generic else ""
    if generic and outer in ("optional", "union"):
        return _any_of([*split_top(generic[2]), *(["null"] if outer == "optional" else [])], depth)
    alternatives = [part for part in re.split(r"\s+or\s+|\s*\|\s*", text) if part]
    if len(alternatives) > 1:
        return _any_of(alternatives, depth)
    if text.endswith("[]"):
        return _array_of(text[:-2], text, depth)
    if match := _OF.match(text):
        singular = match[1].strip()
        return _array_of(singular, text, depth) or _array_of(singular.removesuffix("s"), text, depth)
    schema = read_type(generic[1], depth) if generic else None
    if generic and schema and schema.get("type") == "array":
        return _array_of(next(split_top(generic[2])), generic[1], depth) or schema
    return schema and {**schema, "x-type": generic[1] if generic and schema.get("type") == "object" else text}


def _array_of(inner: str, word: str, depth: int) -> Schema | None:
    items = read_type(inner, depth)
    return None if items is None else {"type": "array", "items": items, "x-type": word}


def _any_of(parts: Iterable[str], depth: int) -> Schema | None:
    schemas = [read_type(part, depth) for part in parts]
    if None in schemas:
        return None
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def split_top(text: str) -> Iterator[str]:
    """Split at the commas that are outside all brackets."""
    depth, start = 0, 0
    for index, char in enumerate(text):
        depth += (char in "[<({") - (char in "]>)}")
        if char == "," and depth == 0:
            yield text[start:index].strip()
            start = index + 1
    yield text[start:].strip()


_NESTED = frozenset({"items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else"})
_NESTED_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_NESTED_MAPS = frozenset({"properties", "$defs", "definitions", "patternProperties"})
_LISTS = frozenset({"enum", "required"})
_KEPT = frozenset(
    {
        *("description", "title", "default", "const", "format", "pattern", "example", "examples"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"),
        *("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "x-type"),
    }
)


def read_schema(raw: object, depth: int = 0) -> Schema:
    """One documented schema as JSON Schema."""
    if isinstance(raw, str):
        found = read_type(raw)
        return {"x-type": raw} if found is None else found
    if not isinstance(raw, Mapping) or depth > DEPTH:
        return {}
    schema: Schema = {}
    for key, value in raw.items():
        schema |= _read_keyword(str(key), value, depth + 1)
    return {**schema, "items": schema.get("items", {})} if schema.get("type") == "array" else schema


def _read_keyword(key: str, value: object, depth: int) -> Schema:
    if key == "type":
        return _read_type_keyword(value)
    if key == "$ref":
        # A reference that leads outside of the document would be fetched when a value is validated.
        is_inside = isinstance(value, str) and value.startswith("#/")
        return {key: str(value).replace("#/definitions/", "#/$defs/", 1)} if is_inside else {}
    if key in _NESTED:
        return {key: value if isinstance(value, bool) else read_schema(value, depth)}
    if key in _NESTED_LISTS and isinstance(value, list):
        return {key: [read_schema(part, depth) for part in value]}
    if key in _NESTED_MAPS and isinstance(value, Mapping):
        return {key: {str(name): read_schema(part, depth) for name, part in value.items()}}
    return {key: value} if key in _KEPT or (key in _LISTS and isinstance(value, list)) else {}


def _read_type_keyword(value: object) -> Schema:
    if isinstance(value, str):
        return read_schema(value)
    words = value if isinstance(value, list) else []
    types = [read_schema(word).get("type") for word in words]
    return {"type": types} if types and all(isinstance(found, str) for found in types) else {}
