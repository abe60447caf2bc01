"""Recipes: opens a run whose program comes from a file and not from a model.

The caller's choice of a recipe: the list in the prompt of its first reply, and the check of its reply.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from restgpt.nodes.dialogue.conversation import answered_apis
from restgpt.nodes.programs.program import written
from restgpt.nodes.programs.program_reply import Alternatives, ProgramReply
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.recipe_run import recipe_of, recipe_record, signature
from restgpt.nodes.state.records import Decision, RecipeRun
from restgpt.nodes.state.state import State
from restgpt.prompts import fenced, render
from restgpt.recipes.recipe import Recipe, RecipeInputError
from restgpt.specs.api import slug
from restgpt.specs.reading.json_text import is_too_deep
from restgpt.tools.text.quotation import one_line


def recipe_update(run: Run, state: State, record: RecipeRun) -> dict[str, Any]:
    """Return the update that begins the turn of a recipe in a graph without a planner."""
    decision: Decision = {"kind": "program", "text": state["instruction"], "last": True}
    place = {"plan": state["instruction"], "task": state["task"] + 1, "round": state["round"] + 1}
    return {"decision": decision, **place, **recipe_program(run, state, record)}


def recipe_program(run: Run, state: State, record: RecipeRun) -> dict[str, Any]:
    """Return the update that has the parser run the program of a recipe."""
    recipe = recipe_of(record)
    # Where the user gave the inputs, no writer has seen an answer.
    is_chosen = record.get("is_chosen", False) or record.get("is_passed", False)
    seen = answered_apis(state["steps"], messages=state["messages"]) if is_chosen else ()
    program = written(run, recipe.program, writer="recipe", is_last=True, seen=seen)
    return {
        "api_plan": {"calls": [], "reason": f"The recipe {recipe.name}: {recipe.description}".rstrip(": ")},
        "program": program,
        "recipe": {**record, "turn": state["turn"]},
        "hint": "",
        "usage": run.usage(),
    }


MOST_SHOWN = 10
"""The maximum number of recipes that the caller sees; of more, those with the words of the instruction."""

MOST_LINE = 400
"""The maximum number of characters of a recipe's line."""

_WORD = re.compile(r"[^\W_]{3,}")


class RecipeReply(ProgramReply):
    """The caller's first reply: a recipe, a program, functions that it needs to see, a sub-task, or the answer."""

    decision: Literal["recipe", "program", "functions", "plan", "end"] = Field(  # type: ignore[assignment]
        description="What `text` is."
    )
    text: str = Field(
        min_length=1,
        description="The recipe with its inputs as JSON, the program, names of functions, the first sub-task, or the "
        "answer.",
    )

    @property
    def is_recipe(self) -> bool:
        """Whether it chooses a recipe."""
        return self.decision == "recipe"


def offered_recipes(run: Run, instruction: str) -> list[Recipe]:
    """Return the recipes that the caller sees: those of the run's APIs, the best for the instruction first."""
    apis = {slug(api.name) for api in run.catalogue.apis}
    fitting = [recipe for recipe in run.services.recipes() if {slug(api.name) for api in recipe.apis} <= apis]
    words = _words(instruction)
    fitting.sort(key=lambda recipe: (-len(words & _words(f"{recipe.name} {recipe.description}")), recipe.name))
    return fitting[:MOST_SHOWN]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def offer_of(recipes: Sequence[Recipe]) -> Alternatives:
    """Return the list of recipes for the prompt, and the check of the reply."""

    def check(reply: ProgramReply) -> None:
        if isinstance(reply, RecipeReply) and reply.is_recipe:
            chosen(recipes, reply.text)

    text = render("instruction_recipes", recipes=fenced("recipes", "\n".join(map(line_of, recipes))))
    return Alternatives(text, RecipeReply, check)


def line_of(recipe: Recipe) -> str:
    """Return the line of a recipe: name, inputs with their types, and description."""
    text = one_line(" ".join(f"- {recipe.name}({signature(recipe)}): {recipe.description}".split()))
    return text[:MOST_LINE]


def chosen(recipes: Sequence[Recipe], text: str) -> RecipeRun:
    """Return the record of the recipe that a reply chooses; raises `ValueError` with what is wrong with the reply."""
    try:
        reply: Any = None if is_too_deep(text) else json.loads(text)
    except ValueError:
        reply = None
    if not isinstance(reply, dict) or not isinstance(reply.get("recipe"), str):
        raise ValueError('text: with the decision recipe it is a JSON object like {"recipe": "name", "inputs": {}}.')
    found = next((recipe for recipe in recipes if recipe.name == reply["recipe"]), None)
    if found is None:
        listed = ", ".join(recipe.name for recipe in recipes)
        raise ValueError(f"text: there is no recipe {reply['recipe'][:80]!r}. The recipes are: {listed}.")
    try:
        return recipe_record(found, reply.get("inputs") or {}, heals=True, is_chosen=True)
    except RecipeInputError as error:
        raise ValueError(f"text: {error}") from None
