"""The type words of function documentation, read as JSON Schema (2020-12).

The documents of OpenFunctions and its leaderboard write `dict`, `float`, `tuple`, `any`, names of Java and JavaScript
classes and Python annotations where JSON Schema has seven words. Each is mapped to its JSON Schema type, and the word
itself is kept under `x-type` where the two differ, so that nothing is lost for strict matching.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from restgpt.specs.problem import Problem
from restgpt.specs.reading.tree import format_pointer

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

_OPTIONAL = re.compile(r"^optional\[(.*)\]$", re.IGNORECASE | re.DOTALL)
_UNION = re.compile(r"^union\[(.*)\]$", re.IGNORECASE | re.DOTALL)
_GENERIC = re.compile(r"^([A-Za-z_.]+)\s*[\[<](.*)[\]>]$", re.DOTALL)
_OF = re.compile(r"^(?:list|array|tuple|set|sequence)s?\s+of\s+(.+)$", re.IGNORECASE)
_LITERAL = re.compile(r"^literal\[(.*)\]$", re.IGNORECASE | re.DOTALL)


def read_type(word: str, depth: int = 0) -> Schema | None:
    """The JSON Schema of a type word such as `float`, `List[int]`, `String[]` or `int or str`; None if unknown."""
    text = re.sub(r",?\s*\boptional\b\s*$", "", word.strip(), flags=re.IGNORECASE).strip()
    plain = text.lower().removeprefix("typing.")
    if plain in ANYTHING:
        return {"x-type": text} if text else {}
    if plain in WORDS:
        return _marked(WORDS[plain], text)
    if plain in FORMATS:
        return {"type": "string", "format": FORMATS[plain], "x-type": text}
    return None if depth > DEPTH else _read_composed(text, depth + 1)


def _marked(json_type: str, word: str) -> Schema:
    return {"type": json_type} if json_type == word else {"type": json_type, "x-type": word}


def _read_composed(text: str, depth: int) -> Schema | None:
    if match := _OPTIONAL.match(text):
        return _any_of([match[1], "null"], depth)
    if match := _UNION.match(text):
        return _any_of(list(split_top(match[1])), depth)
    if match := _LITERAL.match(text):
        return {"enum": [part.strip().strip("'\"") for part in split_top(match[1])]}
    alternatives = [part for part in re.split(r"\s+or\s+|\s*\|\s*", text) if part]
    if len(alternatives) > 1:
        return _any_of(alternatives, depth)
    if text.endswith("[]"):
        return _array_of(text[:-2], text, depth)
    if match := _OF.match(text):
        singular = match[1].strip()
        return _array_of(singular, text, depth) or _array_of(singular.removesuffix("s"), text, depth)
    if match := _GENERIC.match(text):
        return _generic(match[1], match[2], text, depth)
    return None


def _generic(outer: str, inner: str, text: str, depth: int) -> Schema | None:
    schema = read_type(outer, depth)
    if schema is None:
        return None
    if schema.get("type") == "array":
        first = next(split_top(inner), "")
        return _array_of(first, outer, depth) or {**schema}
    return {**schema, "x-type": outer} if schema.get("type") == "object" else {**schema, "x-type": text}


def _array_of(inner: str, word: str, depth: int) -> Schema | None:
    items = read_type(inner, depth)
    return None if items is None else {"type": "array", "items": items, "x-type": word}


def _any_of(parts: list[str], depth: int) -> Schema | None:
    schemas = [read_type(part, depth) for part in parts]
    known = [schema for schema in schemas if schema is not None]
    if len(known) != len(schemas):
        return None
    return known[0] if len(known) == 1 else {"anyOf": known}


def split_top(text: str) -> Iterator[str]:
    """Split at the commas that are outside all brackets."""
    depth, start = 0, 0
    for index, char in enumerate(text):
        depth += (char in "[<({") - (char in "]>)}")
        if char == "," and depth == 0:
            yield text[start:index].strip()
            start = index + 1
    yield text[start:].strip()


def read_schema(raw: object, tokens: tuple[str, ...], problems: list[Problem]) -> Schema:
    """Normalise one documented schema; an unreadable part becomes a problem with its pointer and accepts any value."""
    if isinstance(raw, str):
        return _read_word(raw, tokens, problems)
    if raw is True or raw is None:
        return {}
    if not isinstance(raw, Mapping):
        problems.append(Problem(format_pointer(tokens), f"a schema must be an object, not {type(raw).__name__}"))
        return {}
    if len(tokens) > DEPTH:
        return {}
    schema: Schema = {}
    for key, value in raw.items():
        _read_keyword(str(key), value, tokens, problems, schema)
    if schema.get("type") == "array":
        schema.setdefault("items", {})
    return schema


def _read_word(word: str, tokens: tuple[str, ...], problems: list[Problem]) -> Schema:
    schema = read_type(word)
    if schema is None:
        problems.append(Problem(format_pointer(tokens), f"unknown type {word!r}; any value is accepted"))
        return {"x-type": word}
    return schema


_NESTED = frozenset({"items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else"})
_NESTED_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_NESTED_MAPS = frozenset({"properties", "$defs", "definitions", "patternProperties"})
_KEPT = frozenset(
    {
        *("description", "title", "default", "enum", "const", "format", "pattern", "example", "examples"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"),
        *("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "x-type"),
    }
)


def _read_keyword(key: str, value: object, tokens: tuple[str, ...], problems: list[Problem], schema: Schema) -> None:
    place = (*tokens, key)
    if key == "type":
        schema.update(_read_type_keyword(value, place, problems))
    elif key in _NESTED:
        schema[key] = value if isinstance(value, bool) else read_schema(value, place, problems)
    elif key in _NESTED_LISTS and isinstance(value, list):
        schema[key] = [read_schema(part, (*place, str(index)), problems) for index, part in enumerate(value)]
    elif key in _NESTED_MAPS and isinstance(value, Mapping):
        schema[key] = {str(name): read_schema(part, (*place, str(name)), problems) for name, part in value.items()}
    elif key == "required":
        if isinstance(value, list):
            schema[key] = [str(name) for name in value]
    elif key == "$ref":
        _read_reference(value, place, problems, schema)
    elif key == "enum" and not isinstance(value, list):
        problems.append(Problem(format_pointer(place), "an enum must be a list"))
    elif key in _KEPT:
        schema[key] = value


def _read_reference(value: object, place: tuple[str, ...], problems: list[Problem], schema: Schema) -> None:
    """Keep a reference inside the document; one that leads outside would be fetched when a value is validated."""
    if isinstance(value, str) and value.startswith("#/"):
        schema["$ref"] = value.replace("#/definitions/", "#/$defs/", 1)
    else:
        problems.append(Problem(format_pointer(place), "only references inside the document are followed"))


def _read_type_keyword(value: object, place: tuple[str, ...], problems: list[Problem]) -> Schema:
    if isinstance(value, str):
        return _read_word(value, place, problems)
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        schemas = [_read_word(word, place, problems) for word in value]
        types = [schema["type"] for schema in schemas if "type" in schema]
        return {"type": types} if len(types) == len(schemas) else {}
    problems.append(Problem(format_pointer(place), f"a type must be a word or a list of words, not {value!r}"))
    return {}
