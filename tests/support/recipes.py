"""Recipes of the toy world, as the tests of running use them."""

from typing import Any

from restgpt.calling.recipes.recipe import Recipe

SAVED = {"at": "2024-05-01T00:00:00Z"}

ADD = """\
found = [project for project in rows(list_projects()) if project["name"] == inputs["project"]]
if not found:
    stop(f"There is no project {inputs['project']}.")
made = create_task(project_id=found[0]["id"], body={"title": inputs["title"]})
print(f"Added {made['title']} to {found[0]['name']}.")
"""

LIST = {"function": "list_projects", "api": "toy", "method": "GET", "path": "/projects", "status": [200]}
CREATE = {
    "function": "create_task",
    "api": "toy",
    "method": "POST",
    "path": "/projects/{project_id}/tasks",
    "status": [201],
}


def recipe(api: str, program: str = ADD, **changed: Any) -> Recipe:
    """Return a recipe that adds a task to a project that is found by its name."""
    given = {
        "recipe": "restgpt/recipe/1",
        "name": "add-task",
        "description": "Adds a task to a project.",
        "saved": SAVED,
        "apis": [{"name": api}],
        "inputs": {
            "type": "object",
            "properties": {"project": {"type": "string"}, "title": {"type": "string"}},
            "required": ["project", "title"],
        },
        "program": program,
        "operations": [{**LIST, "api": api}, {**CREATE, "api": api}],
        **changed,
    }
    return Recipe.model_validate(given)
