"""The JSON types of a schema, and values that a document writes in another type than the declared one."""

from collections.abc import Mapping
from typing import Any

from restgpt.specs.reading.text.coercion import coerce

TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
# Names that documents use for types although no version of JSON Schema has them.
NEAR_TYPES = {
    "int": "integer",
    "int32": "integer",
    "int64": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "decimal": "number",
    "bool": "boolean",
    "date": "string",
    "datetime": "string",
    "date-time": "string",
    "uuid": "string",
    "uri": "string",
    "url": "string",
    "str": "string",
    "text": "string",
    "list": "array",
    "map": "object",
    "dict": "object",
}
PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}


def is_true(value: Any) -> bool:
    """Tell whether a boolean keyword is set, as a boolean or as a string."""
    return value is True or value == "true"


def unique_texts(values: Any) -> list[str]:
    """Return the texts of a list, each once; other values are left out."""
    return list(dict.fromkeys(item for item in values if isinstance(item, str))) if isinstance(values, list) else []


def schema_types(node: Any) -> list[str]:
    """Return the JSON types that a schema names, with `int` read as integer and so on; none if any is unknown."""
    if not isinstance(node, dict):
        return []
    declared = node.get("type")
    names = declared if isinstance(declared, list) else [declared]
    kinds = [NEAR_TYPES.get(name.lower(), name.lower()) for name in names if isinstance(name, str)]
    known = [kind for kind in dict.fromkeys(kinds) if kind in TYPES]
    return known if len(known) == len(set(kinds)) else []


def has_type(value: Any, kinds: list[str]) -> bool:
    """Tell whether a value has one of the JSON types; an empty list accepts every value."""
    if not kinds:
        return True
    if isinstance(value, bool):
        return "boolean" in kinds
    if isinstance(value, float) and value.is_integer() and "integer" in kinds:
        return True
    return any(isinstance(value, PYTHON_TYPES[kind]) for kind in kinds)


def fit_values(values: list[Any], kinds: list[str]) -> list[Any]:
    """Return the enumerated values that have the declared type, converted to it if possible."""
    fitting = []
    for value in values:
        if not has_type(value, kinds):
            value = _spell(value, kinds)
        if has_type(value, kinds):
            fitting.append(value)
    return fitting


def _spell(value: Any, kinds: list[str]) -> Any:
    if "string" in kinds and isinstance(value, bool):
        return "true" if value else "false"
    if "string" in kinds and isinstance(value, int | float):
        return str(value)
    for kind in kinds:
        value = coerce(value, kind)
    return value


def only_value(schema: Any) -> Any:
    """Return the one value that a flat schema allows, by `const` or an `enum` of one; None if it allows others."""
    if not isinstance(schema, Mapping):
        return None
    listed = [schema["const"]] if "const" in schema else schema.get("enum")
    return listed[0] if isinstance(listed, list) and len(listed) == 1 else None
