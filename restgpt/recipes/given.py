"""The inputs of a recipe's run: converted from a command line, completed, and checked against the recipe."""

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from restgpt.recipes.recipe import Recipe
from restgpt.specs.problem import TooComplex
from restgpt.specs.reading.text.nesting import is_too_deep
from restgpt.specs.schemas.validation import errors_of
from restgpt.tools.errors import StoppingError
from restgpt.tools.text.quotation import quoted

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

_WORDS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "a list",
    "object": "an object",
}
MOST_SHOWN = 60
"""The maximum number of characters of a value that a message shows."""


class RecipeInputError(StoppingError):
    """The inputs of a recipe's run are not what it takes; the message has a sentence about each."""


def given_inputs(recipe: Recipe, pairs: Sequence[str]) -> dict[str, Any]:
    """Return the inputs of `NAME=VALUE` texts in their types, with defaults; raises `RecipeInputError`.

    A list is written as JSON, or by one text for each item. A text that does not fit its type stays a text, and
    `input_problems` reports it.
    """
    texts: dict[str, list[str]] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            example = next(iter(recipe.properties), "name")
            raise RecipeInputError(f"--input {pair} is invalid. Write NAME=VALUE, such as --input {example}=…")
        texts.setdefault(name.strip(), []).append(value)
    properties = recipe.properties
    found = {name: _value(name, values, properties.get(name, {})) for name, values in texts.items()}
    return completed(recipe, found)


def completed(recipe: Recipe, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given inputs with the defaults of the others."""
    defaults = {name: schema["default"] for name, schema in recipe.properties.items() if "default" in schema}
    return {**defaults, **given}


def input_problems(recipe: Recipe, given: Mapping[str, Any]) -> list[str]:
    """Return a sentence about each input that is unknown, missing or wrong; defaults count as given."""
    properties, inputs = recipe.properties, completed(recipe, given)
    problems = [_unknown(name, recipe) for name in inputs if name not in properties]
    problems += [_missing(name, properties[name]) for name in recipe.required if name not in inputs]
    for name, schema in properties.items():
        if name in inputs and (wrong := _fault(recipe, schema, inputs[name])):
            problems.append(f"The input {name} {wrong}.")
    return problems


def _value(name: str, texts: Sequence[str], schema: Mapping[str, Any]) -> Any:
    types = _types(schema)
    if "array" in types:
        return _list(texts, schema)
    if len(texts) > 1:
        raise RecipeInputError(f"--input {name} is given {len(texts)} times, but it takes one value. Give it once.")
    return _converted(texts[0], types)


def _list(texts: Sequence[str], schema: Mapping[str, Any]) -> Any:
    if len(texts) == 1 and isinstance(found := _decoded(texts[0]), list):
        return found
    items = schema.get("items")
    types = _types(items) if isinstance(items, Mapping) else ()
    return [_converted(text, types) for text in texts]


def _converted(text: str, types: Sequence[str]) -> Any:
    """Return the value of a text in the first type that it fits; a text that fits none stays a text."""
    if "string" in types or not types:
        return text
    if (value := _decoded(text.strip())) is not None:
        return value
    return None if text.strip() == "null" and "null" in types else text


def _decoded(text: str) -> Any:
    """Return the JSON value of a text; None if it is none, or a number that JSON does not have."""
    if is_too_deep(text):
        return None
    try:
        return json.loads(text, parse_constant=_refuse)
    except ValueError:
        return None


def _refuse(name: str) -> None:
    raise ValueError(name)


def _types(schema: Mapping[str, Any]) -> Sequence[str]:
    types = schema.get("type", ())
    return (types,) if isinstance(types, str) else tuple(types)


def _unknown(name: str, recipe: Recipe) -> str:
    known = list(recipe.properties)
    near = get_close_matches(name, known, 1) or [item for item in known if name in item.split("_")]
    listed = f"Its inputs are {', '.join(known)}." if known else "It has no inputs."
    shown = quoted(name, MOST_SHOWN)
    return f"The recipe {recipe.name} has no input {shown}. {f'Did you mean {near[0]}?' if near else listed}"


def _missing(name: str, schema: Mapping[str, Any]) -> str:
    examples = schema.get("examples")
    example = f", such as {_shown(examples[0])}" if isinstance(examples, list) and examples else ""
    return f"The input {name} is missing: {_expected(schema)}{example}."


def _fault(recipe: Recipe, schema: Mapping[str, Any], value: Any) -> str:
    """Return what is wrong with the value of an input, or nothing."""
    from referencing.exceptions import Unresolvable

    definitions = {key: recipe.inputs[key] for key in ("$defs",) if key in recipe.inputs}
    try:
        errors = errors_of(value, {**schema, **definitions}, most=1)
    except (RecursionError, TooComplex):
        return ""
    except Unresolvable as error:
        return (
            f"cannot be checked: its schema refers to {quoted(error.ref, MOST_SHOWN)}, which the recipe does not have"
        )
    return _told(errors[0]) if errors else ""


def _told(error: "ValidationError") -> str:
    place = "".join(f"[{part!r}]" for part in error.absolute_path)
    at = f" at {place}" if place else ""
    wanted: Any = error.validator_value
    if error.validator == "type":
        return f"must be {_expected({'type': wanted})}{at}, not {_shown(error.instance)}"
    if error.validator == "enum":
        return f"must be one of {', '.join(map(_shown, wanted))}{at}, not {_shown(error.instance)}"
    return f"does not fit{at}: {error.message[:200]}"


def _expected(schema: Mapping[str, Any]) -> str:
    return " or ".join(_WORDS.get(name, name) for name in _types(schema)) or "any value"


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return quoted(value, MOST_SHOWN)
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
