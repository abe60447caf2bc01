"""A recipe: a saved program as a file. This module holds its form; `book.py` reads and writes the files.

A file may be edited by hand, so every field is checked when it is read, and no field can widen what a run may do.

The inputs of a recipe's run: converted from a command line, completed, and checked against the recipe.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import PydanticCustomError

from restgpt.calling.decision import Writes
from restgpt.specs.problem import TooComplex
from restgpt.specs.reading.json_text import is_too_deep
from restgpt.specs.reading.tree import values_in
from restgpt.specs.schemas.validation import errors_of
from restgpt.tools.errors import StoppingError
from restgpt.tools.text.quotation import one_line, quoted
from restgpt.tools.text.storable import is_storable

FORMAT = "restgpt/recipe/2"
"""The first line of a recipe file: the form that this version reads and writes."""

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
"""The form of a recipe's name, which is also the name of its file, its tool and its graph."""

MOST_PROGRAM = 64_000
"""The maximum number of characters of a program."""

MOST_NAME = 100
"""The maximum number of characters of the name of an input."""


class _Part(BaseModel):
    """A part of a recipe file: unknown keys are errors, and nothing is changed after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class RecipeApi(_Part):
    """An API of a recipe: `name` is that of its entry in `apis.yaml` or of its document; `version` is shown only."""

    name: str
    title: str = ""
    version: str = ""


class UsedOperation(_Part):
    """An operation that the program calls: the name of its function, where it is, and its key when it was saved.

    The key is the digest of the operation's own part of the document. It says nothing of where document and server are,
    so that a file can be used in another folder, and for another server.
    """

    function: str
    api: str
    method: str
    path: str
    key: str


class Saved(_Part):
    """When a recipe was saved, by which version of the program, and what the user had asked for."""

    at: str
    by: str = ""
    instruction: str = ""


class Recipe(_Part):
    """A finished run as a file.

    `inputs` is a JSON Schema of an object; the saved values are the examples of its properties. `program` reads them as
    `inputs["name"]`. `writes` is the policy of the saved run: it can make a run stricter, never looser. `constants`
    are values of arguments that the user had said and that are no inputs.
    """

    format: str = Field(default=FORMAT, alias="recipe")
    name: Annotated[str, Field(pattern=f"^{NAME.pattern}$")]
    description: str = ""
    saved: Saved
    apis: tuple[RecipeApi, ...]
    writes: Writes = "ask"
    inputs: Mapping[str, Any] = Field(default_factory=lambda: {"type": "object", "properties": {}})
    program: Annotated[str, Field(min_length=1, max_length=MOST_PROGRAM)]
    operations: tuple[UsedOperation, ...]
    constants: tuple[Any, ...] = ()

    @field_validator("format")
    @classmethod
    def _is_of_this_version(cls, form: str) -> str:
        if form != FORMAT:
            raise ValueError(
                f"it is {quoted(form, 60)}, and this version reads {FORMAT} only. Save the recipe anew from a run, "
                "with `restgpt recipe save THREAD NAME`"
            )
        return form

    @field_validator("inputs", "constants")
    @classmethod
    def _can_be_stored(cls, held: Any) -> Any:
        if not all(map(is_storable, values_in(held))):
            raise ValueError("a number has more than 64 bits. Leave it out, or write it as a text in quotes")
        return held

    @field_validator("inputs")
    @classmethod
    def _is_schema_of_an_object(cls, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        from jsonschema import Draft202012Validator
        from jsonschema.exceptions import best_match

        if error := best_match(Draft202012Validator(Draft202012Validator.META_SCHEMA).iter_errors(schema)):
            raise _fault(error.absolute_path, f"it is no JSON Schema: {error.message[:200]}")
        properties = schema.get("properties", {})
        if schema.get("type") != "object":
            raise _fault((), "it is not a JSON Schema of an object")
        for name, item in properties.items():
            # Lists of recipes, prompts and terminals show a name on one line.
            if not name.isprintable() or not 0 < len(name) <= MOST_NAME:
                raise _fault(("properties", name), f"a name has 1 to {MOST_NAME} characters on one line")
            if not isinstance(item, Mapping):
                raise _fault(("properties", name), "it has to be a mapping, such as {type: string}")
        if lost := [name for name in schema.get("required", ()) if name not in properties]:
            raise _fault(("required",), f"{quoted(lost[0], 60)} is not among the properties")
        return schema

    @property
    def properties(self) -> Mapping[str, Mapping[str, Any]]:
        """The schema of each input, by its name."""
        found: Mapping[str, Mapping[str, Any]] = self.inputs.get("properties", {})
        return found

    @property
    def required(self) -> Sequence[str]:
        """The names of the inputs that every run needs."""
        found: Sequence[str] = self.inputs.get("required", ())
        return found

    @property
    def examples(self) -> dict[str, Any]:
        """The inputs of the saved run."""
        return {name: schema["examples"][0] for name, schema in self.properties.items() if schema.get("examples")}

    def to_json(self) -> dict[str, Any]:
        """Return the recipe as plain JSON, without fields that have their default."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True) | {"recipe": FORMAT}


def _fault(place: Iterable[str | int], what: str) -> PydanticCustomError:
    """Return the error about a place in the inputs."""
    return PydanticCustomError("inputs", "{what}", {"place": [*place], "what": what})


class RecipeFaultError(StoppingError):
    """The recipe of a run does not have the form of a recipe."""


def recipe_of_json(value: Mapping[str, Any]) -> Recipe:
    """Return the recipe of a kept run, which a client or a former version may have written; raises `RecipeFaultError`.

    JSON is read as JSON, so that a list stands for a tuple.
    """
    try:
        return Recipe.model_validate_json(json.dumps(value))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = one_line(str(value.get("name", ""))[:64])
        place = ".".join(map(str, (*first["loc"], *first.get("ctx", {}).get("place", ()))))
        what = first["msg"].removeprefix("Value error, ")
        told = one_line(" ".join(f"{place}: {what}".split()))
        raise RecipeFaultError(f"The recipe {name} cannot be run: {told}. Nothing more was sent.") from None


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
