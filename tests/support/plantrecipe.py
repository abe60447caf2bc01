"""A small recipe over the toy API, for tests of recipe files and of their inputs."""

from typing import Any

from restgpt.recipes.recipe import (
    Documented,
    Echo,
    Recipe,
    RecipeApi,
    Saved,
    UsedOperation,
)

PROGRAM = """project = create_project(body={"name": inputs["name"]})
for title in inputs["titles"]:
    create_task(project_id=project["id"], body={"title": title})

print(f"Created {project['name']} — {len(inputs['titles'])} tasks.")
"""

INPUTS = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "examples": ["Roof garden"]},
        "titles": {"type": "array", "items": {"type": "string"}, "examples": [["Buy soil", "Order seeds"]]},
    },
    "required": ["name", "titles"],
}

CREATE_PROJECT = UsedOperation(
    function="create_project",
    api="team-board",
    method="POST",
    path="/projects",
    status=(201,),
    calls=1,
    reads={"/id": ("integer",), "/name": ("string",)},
    named=Echo(field="/name", input="name", relation="equal"),
    documented=Documented(
        parameters={"body/name": ("string",)},
        required=("body/name",),
        media="application/json",
        answer={"/id": ("integer",), "/name": ("string",)},
    ),
)
CREATE_TASK = UsedOperation(
    function="create_task",
    api="team-board",
    method="POST",
    path="/projects/{project_id}/tasks",
    status=(201,),
    documented=Documented(
        parameters={"path/project_id": ("integer",), "body/title": ("string",)},
        required=("path/project_id", "body/title"),
        media="application/json",
    ),
)


def plant_recipe(**changed: Any) -> Recipe:
    """Return a recipe that creates a project with tasks, with other values of some of its fields."""
    values: dict[str, Any] = {
        "name": "plant-beds",
        "description": "Create a project with tasks",
        "saved": Saved(at="2026-01-02T03:04:05+00:00", by="0.1.0", instruction="Add Roof garden:\nbuy soil."),
        "apis": (RecipeApi(name="team-board", version="1.0"),),
        "inputs": INPUTS,
        "program": PROGRAM,
        "operations": (CREATE_PROJECT, CREATE_TASK),
    }
    return Recipe(**{**values, **changed})
