"""Recipes of the toy world, as a saved run would have left them."""

from collections.abc import Mapping
from typing import Any

from restgpt.recipes.recipe import Recipe
from restgpt.specs import Api

ADD = """\
found = [project for project in rows(list_projects()) if project["name"] == inputs["project"]]
if not found:
    stop(f"There is no project {inputs['project']}.")
made = create_task(project_id=found[0]["id"], body={"title": inputs["title"]})
print(f"Added {made['title']} to {found[0]['name']}.")
"""
"""A program with one read and one change."""

INPUTS = {
    "type": "object",
    "properties": {
        "project": {"type": "string", "examples": ["Winter timetable"]},
        "title": {"type": "string", "default": "Buy soil", "examples": ["Count the chairs"]},
    },
    "required": ["project"],
}

LISTED, CREATED = "list_projects", "create_task"
"""The functions that `ADD` calls."""


def recipe(api: Api, program: str = ADD, functions: tuple[str, ...] = (LISTED, CREATED), **changed: Any) -> Recipe:
    """Return a recipe over the functions of one API, that adds a task to a project unless the program is another."""
    given = {
        "recipe": "restgpt/recipe/2",
        "name": "add-task",
        "description": "Adds a task to a project.",
        "saved": {"at": "2024-05-01T00:00:00Z"},
        "apis": [{"name": api.name}],
        "inputs": INPUTS,
        "program": program,
        **changed,
    }
    if "operations" not in given:
        given["operations"] = [operation_of(api, item) for item in functions]
    return Recipe.model_validate(given)


def operation_of(api: Api, function: str) -> Mapping[str, Any]:
    """Return what a recipe keeps of the operation of a function."""
    operation = next(item for item in api.operations if item.name == function)
    place = {"method": operation.method, "path": operation.path}
    return {"function": function, "api": api.name, **place, "key": operation.digest}
