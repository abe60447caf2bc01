"""Recipes of the toy world, as a saved run would have left them."""

from collections.abc import Mapping
from typing import Any

from restgpt.recipes.guards.closure import used_operation
from restgpt.recipes.recipe import Recipe
from restgpt.recipes.sent import Sent
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

LISTED = Sent(
    "list_projects",
    {},
    status=200,
    body={"items": [{"id": 1, "name": "Winter timetable"}]},
    reads={"/items": ("array",), "/items/*/id": ("integer",), "/items/*/name": ("string",)},
)
CREATED = Sent(
    "create_task",
    {"path": {"project_id": 1}, "body": {"title": "Count the chairs"}},
    is_change=True,
    status=201,
    body={"id": 125, "title": "Count the chairs"},
    reads={"/title": ("string",)},
)


def recipe(api: Api, program: str = ADD, sent: tuple[Sent, ...] = (LISTED, CREATED), **changed: Any) -> Recipe:
    """Return a recipe over the functions of one API, that adds a task to a project unless the program is another."""
    given = {
        "recipe": "restgpt/recipe/1",
        "name": "add-task",
        "description": "Adds a task to a project.",
        "saved": {"at": "2024-05-01T00:00:00Z"},
        "apis": [{"name": api.name}],
        "inputs": INPUTS,
        "program": program,
        **changed,
    }
    if "operations" not in given:
        given["operations"] = [operation_of(api, item) for item in sent]
    return Recipe.model_validate(given)


def operation_of(api: Api, sent: Sent) -> Mapping[str, Any]:
    """Return what a recipe keeps of the operation of a call."""
    operation = next(item for item in api.operations if item.name == sent.function)
    return used_operation(sent.function, operation, [sent], api=api.name).model_dump()
