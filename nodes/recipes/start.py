"""Recipes: opens a run whose program comes from a file and not from a model."""

from typing import Any

from restgpt.nodes.dialogue.conversation import answered_apis
from restgpt.nodes.programs.program import written
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.recipe_run import recipe_of
from restgpt.nodes.state.records import Decision, RecipeRun
from restgpt.nodes.state.state import State


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
