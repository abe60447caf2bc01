"""The schema of a recipe's inputs: checked wherever a recipe comes from, because a file or a client may have any."""

from collections.abc import Mapping
from typing import Any, get_args

from restgpt.recipes.recipe import JsonType
from restgpt.tools.text.quotation import quoted

MOST_NAME = 100
"""The maximum number of characters of the name of an input."""

Place = tuple[str | int, ...]

_PLAIN = {"type", "description", "examples", "default", "items"}


def schema_fault(schema: Mapping[str, Any]) -> tuple[Place, str] | None:
    """Return the place of the first fault in the inputs and what is wrong there; None if they can be used."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    if wrong := [name for name, item in properties.items() if not isinstance(item, Mapping)]:
        return ("inputs", "properties", wrong[0]), "must be a mapping, such as {type: string}"
    # Lists of recipes, prompts and terminals show a name on one line.
    if odd := [name for name in properties if not name.isprintable() or not 0 < len(name) <= MOST_NAME]:
        return ("inputs", "properties", odd[0]), f"must have a name of 1 to {MOST_NAME} characters on one line"
    # The import and the whole check take milliseconds, which the inputs of a saved run do not need.
    if not all(map(_is_plain, properties.values())):
        from jsonschema import Draft202012Validator
        from jsonschema.exceptions import best_match

        check = Draft202012Validator(Draft202012Validator.META_SCHEMA)
        if error := best_match(check.iter_errors(schema)):
            return ("inputs", *error.absolute_path), f"is no JSON Schema: {error.message[:200]}"
    if not isinstance(required := schema.get("required", []), list):
        return ("inputs", "required"), "must be a list of inputs"
    if wrong := [name for name in required if not isinstance(name, str) or name not in properties]:
        return ("inputs", "required"), f"names {quoted(str(wrong[0]), 60)}, which is not among the properties"
    return None


def _is_plain(schema: Any) -> bool:
    """Return whether a schema has only keywords that any saved input has, each with a valid value."""
    return (
        isinstance(schema, Mapping)
        and schema.keys() <= _PLAIN
        and isinstance(schema.get("type", "string"), str)
        and schema.get("type", "string") in get_args(JsonType)
        and isinstance(schema.get("description", ""), str)
        and isinstance(schema.get("examples", []), list)
        and ("items" not in schema or _is_plain(schema["items"]))
    )
