"""The recipe of a turn: its record in the state, its inputs, the words of the user in it, and its operations."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast
from weakref import WeakKeyDictionary

from restgpt.calling.decision import Writes
from restgpt.nodes.state.records import Program, RecipeRun, Step
from restgpt.recipes.recipe import Recipe, RecipeInputError, completed, input_problems, recipe_of_json
from restgpt.specs import Catalogue, Operation
from restgpt.specs.reading.tree import places_in
from restgpt.tools.text.storable import storable_text, storable_value

MOST_KNOWN = 64
"""The maximum number of recipes that are kept in memory, with their operations for each catalogue."""

STRICTNESS: Mapping[Writes, int] = {"allow": 0, "ask": 0, "dry-run": 1, "deny": 2}
"""How strict a setting of a recipe file is; a file cannot turn `allow` of the run into `ask`, which is no ban."""


class GivenRecipe(dict[str, Any]):
    """The record of a recipe from the current input, unlike one that an earlier turn left in the state."""


@dataclass(frozen=True, slots=True)
class Functions:
    """The operations of a recipe by their functions, without those that no document has now.

    `changed` are the functions that a document describes otherwise than when the recipe was saved.
    """

    operations: Mapping[str, Operation]
    changed: frozenset[str]


def recipe_record(
    recipe: Recipe,
    inputs: Mapping[str, Any],
    *,
    heals: bool = False,
    is_chosen: bool = False,
    is_passed: bool = False,
) -> RecipeRun:
    """Return the state key `recipe` of a run with these inputs.

    `is_chosen` if the planner chose them, `is_passed` if the caller of a tool did. Raises `RecipeInputError`.
    """
    found = filled(recipe, inputs)
    record: RecipeRun = {"name": recipe.name, "recipe": recipe.to_json(), "inputs": found}
    unsaid = [name for name in found if name not in inputs]
    flags = {"defaults": unsaid, "heals": heals, "is_chosen": is_chosen, "is_passed": is_passed}
    return cast(RecipeRun, {**record, **{name: value for name, value in flags.items() if value}})


def filled(recipe: Recipe, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs with the defaults of those that are missing; raises `RecipeInputError`."""
    if not isinstance(inputs, Mapping):
        raise RecipeInputError(f"The inputs of the recipe {recipe.name} must be an object: {signature(recipe)}.")
    found: dict[str, Any] = storable_value(completed(recipe, inputs))
    if problems := input_problems(recipe, found):
        listed = "\n".join(f"- {problem}" for problem in problems)
        taken = f"It takes {signature(recipe)}. Nothing was sent."
        raise RecipeInputError(f"The inputs of the recipe {recipe.name} do not fit:\n{listed}\n{taken}")
    return {name: found[name] for name in recipe.properties if name in found}


def signature(recipe: Recipe) -> str:
    """Return the names and types of the inputs of a recipe, with a star for those that are required."""
    stars = dict.fromkeys(recipe.required, "*")
    parts = [f"{name}{stars.get(name, '')}: {_type_of(schema)}" for name, schema in recipe.properties.items()]
    return ", ".join(parts) or "no inputs"


def _type_of(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return "any"
    if "enum" in schema:
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    kind = schema.get("type", "any")
    if kind == "array":
        return f"[{_type_of(schema.get('items', {}))}]"
    return " | ".join(map(str, kind)) if isinstance(kind, list) else str(kind)


def begun(record: RecipeRun, turn: int) -> RecipeRun:
    """Return the record of a recipe that a turn begins; raises `RecipeFaultError` and `RecipeInputError`."""
    recipe, given = recipe_of(record), record["inputs"]
    inputs, known = filled(recipe, given), record.get("defaults", ())
    unsaid = [name for name in inputs if name in known or name not in given]
    return {**record, "inputs": inputs, "defaults": unsaid, "turn": turn}


def current(state: Mapping[str, Any]) -> RecipeRun | None:
    """Return the recipe of the current turn; None if the turn has none."""
    record: RecipeRun | None = state.get("recipe")
    return record if record and record.get("turn") == state.get("turn") else None


def of_program(state: Mapping[str, Any], program: Program | None) -> RecipeRun | None:
    """Return the recipe that a program is made of; None for a program of a model."""
    return current(state) if program is not None and program["writer"] == "recipe" else None


def is_of_recipe(step: Step) -> bool:
    """Return whether a recipe carried a round out."""
    program = step.get("program")
    return program is not None and program["writer"] == "recipe"


def recipe_of(record: RecipeRun) -> Recipe:
    """Return the recipe of a record; raises `RecipeFaultError`."""
    return _read(json.dumps(record["recipe"], sort_keys=True))


@lru_cache(maxsize=MOST_KNOWN)
def _read(text: str) -> Recipe:
    return recipe_of_json(json.loads(text))


def instruction_of(record: RecipeRun) -> str:
    """Return the instruction of a turn that runs a recipe: its name, and the inputs that the user gave.

    An instruction counts as the user's words, so it has nothing that only the file says.
    """
    given = ", ".join(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in _given(record).items())
    return storable_text(f"Run the recipe {recipe_of(record).name}{f' with {given}' if given else ''}.")


def said_by(record: RecipeRun | None) -> list[str]:
    """Return the user's words in the inputs of a recipe, one value each.

    What a model or a tool's caller gave is not his, nor is what the file has: defaults, constants, the description.
    """
    return [] if record is None else [str(value) for value in _scalars(_given(record))]


def kept_by(record: RecipeRun | None) -> list[str]:
    """Return the values that no model of this run invented, though nobody said them in it, one value each.

    They are the constants of the recipe, its defaults, and the inputs that the caller of a tool gave.
    """
    if record is None:
        return []
    inputs = record["inputs"] if record.get("is_passed") else _defaults(record)
    return [str(value) for value in _scalars([*recipe_of(record).constants, inputs])]


def unsaid_by(record: RecipeRun) -> dict[str, Any]:
    """Return the inputs that are not the user's words; like literals of the program, they stand before it runs."""
    given = _given(record)
    return {name: value for name, value in record["inputs"].items() if name not in given}


def _given(record: RecipeRun) -> dict[str, Any]:
    """Return the inputs that the user gave."""
    if record.get("is_chosen") or record.get("is_passed"):
        return {}
    defaults = record.get("defaults", ())
    return {name: value for name, value in record["inputs"].items() if name not in defaults}


def _defaults(record: RecipeRun) -> dict[str, Any]:
    return {name: record["inputs"][name] for name in record.get("defaults", ()) if name in record["inputs"]}


def _scalars(value: Any) -> list[Any]:
    return [leaf for _, leaf in places_in(value) if isinstance(leaf, str | int | float) and not isinstance(leaf, bool)]


def stricter(writes: Writes, state: Mapping[str, Any]) -> Writes:
    """Return the setting `writes` of a turn: that of the run, or that of its recipe if this bans more."""
    record = current(state)
    if record is None:
        return writes
    own = recipe_of(record).writes
    return own if STRICTNESS[own] > STRICTNESS[writes] else writes


def has_reader(state: Mapping[str, Any]) -> bool:
    """Return whether a model may read the answers of a turn; False for a recipe that no model can heal."""
    record = current(state)
    return record is None or bool(record.get("heals"))


_FUNCTIONS: WeakKeyDictionary[Catalogue, dict[str, Functions]] = WeakKeyDictionary()


def functions_in(catalogue: Catalogue, record: RecipeRun) -> Functions:
    """Return the operations of a recipe in the documents of a run, looked up once for each catalogue."""
    known, text = _FUNCTIONS.setdefault(catalogue, {}), json.dumps(record["recipe"], sort_keys=True)
    if text not in known:
        if len(known) >= MOST_KNOWN:
            known.clear()
        known[text] = _looked_up(catalogue, _read(text))
    return known[text]


def _looked_up(catalogue: Catalogue, recipe: Recipe) -> Functions:
    wanted = {(used.api, used.method.upper(), used.path): used for used in recipe.operations}
    places = ((item, wanted.get((item.api.name, item.method.upper(), item.path))) for item in catalogue)
    found = [(used, operation) for operation, used in places if used is not None]
    changed = frozenset(used.function for used, operation in found if used.key != operation.digest)
    return Functions({used.function: operation for used, operation in found}, changed)
