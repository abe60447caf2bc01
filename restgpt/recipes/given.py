"""The inputs of a recipe's run: converted from a command line, completed, and checked against the recipe."""

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from restgpt.recipes.recipe import Recipe
from restgpt.specs.problem import TooComplex
from restgpt.specs.reading.text.nesting import is_too_deep
from restgpt.specs.schemas.validation import errors_of
from restgpt.tools.errors import StoppingError
from restgpt.tools.text.quotation import quoted

_WORDS = {"string": "a text", "integer": "a whole number", "number": "a number", "array": "a list"}

MOST_FAULTS = 10
"""The maximum number of wrong values that a message tells."""

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
    known = {name: value for name, value in inputs.items() if name in properties}
    # What is missing was told already, in words that name an example.
    return problems + _faults(known, {**recipe.inputs, "required": []})


def _faults(inputs: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    """Return a sentence about each value that does not fit its schema."""
    from referencing.exceptions import Unresolvable

    try:
        errors = errors_of(inputs, schema, most=MOST_FAULTS)
    except (RecursionError, TooComplex):
        return []
    except Unresolvable as error:
        return [
            f"The inputs cannot be checked: their schema refers to {quoted(error.ref, MOST_SHOWN)}, which is not there."
        ]
    places = (".".join(map(str, error.absolute_path)) for error in errors)
    return [f"The input {place} is wrong: {error.message[:200]}." for place, error in zip(places, errors, strict=True)]


def _value(name: str, texts: Sequence[str], schema: Mapping[str, Any]) -> Any:
    types, items = _types(schema), schema.get("items")
    if "array" in types:
        is_json = len(texts) == 1 and isinstance(_decoded(texts[0]), list)
        kinds = _types(items) if isinstance(items, Mapping) else ()
        return _decoded(texts[0]) if is_json else [_converted(text, kinds) for text in texts]
    if len(texts) > 1:
        raise RecipeInputError(f"--input {name} is given {len(texts)} times, but it takes one value. Give it once.")
    return _converted(texts[0], types)


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
    wanted = " or ".join(_WORDS.get(kind, kind) for kind in _types(schema)) or "any value"
    example = json.dumps(schema["examples"][0], ensure_ascii=False)[:MOST_SHOWN] if schema.get("examples") else ""
    return f"The input {name} is missing: {wanted}{f', such as {example}' if example else ''}."
