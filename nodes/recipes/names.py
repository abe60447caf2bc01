"""Names that a model proposes for the inputs of a saved recipe, and a description; it proposes nothing else."""

import json
from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from restgpt.nodes.run.context import Context
from restgpt.nodes.run.resources import Resources
from restgpt.prompts import fenced, render
from restgpt.recipes.recipe import Recipe
from restgpt.recipes.recording.naming import name_problem, renamed
from restgpt.tools.model.structured import ask


class InputName(BaseModel):
    """A better name for an input."""

    input: str = Field(description="The name of the input now.")
    name: str = Field(description="The name that it should have.")


class RecipeNames(BaseModel):
    """The proposals for a recipe."""

    names: list[InputName] = Field(default_factory=list, description="The inputs that need a better name.")
    description: str = Field(description="One sentence about what the recipe does, with inputs in braces.")


def with_proposed_names(recipe: Recipe, resources: Resources, context: Context) -> Recipe:
    """Return the recipe with the names and the description of the planner's model; raises `ModelError`."""

    def check(reply: RecipeNames) -> None:
        if problem := name_problem(recipe, _names(reply), reply.description):
            raise ValueError(problem)

    model = resources.model("planner", context)
    reply = ask(model, _prompt(recipe), RecipeNames, method=context.structured_output, check=check).value
    return renamed(recipe, _names(reply), reply.description)


def _names(reply: RecipeNames) -> dict[str, str]:
    return {item.input: item.name for item in reply.names}


def _prompt(recipe: Recipe) -> list[Any]:
    inputs = "\n".join(f"{name}: {json.dumps(item, ensure_ascii=False)}" for name, item in recipe.properties.items())
    task = f"Instruction: {recipe.saved.instruction}\n\n{fenced('program', recipe.program)}"
    return [
        SystemMessage(
            render("recipe_names", inputs=fenced("inputs", inputs or "none"), description=recipe.description)
        ),
        HumanMessage(task),
    ]
