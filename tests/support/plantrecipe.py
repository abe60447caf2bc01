"""A small recipe over the toy API, for tests of recipe files and of their inputs."""

from pathlib import Path
from typing import Any

from restgpt.recipes.recipe import Recipe, RecipeApi, Saved, UsedOperation
from restgpt.specs import load_api

TOY = load_api(Path(__file__).parents[2] / "specs" / "openapi" / "toy.yaml")

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


def used(function: str, method: str, path: str) -> UsedOperation:
    """Return what a recipe keeps of an operation of the toy API."""
    known = TOY.lookup(function)
    key = known.digest if known else "of an operation that is gone"
    return UsedOperation(function=function, api="team-board", method=method, path=path, key=key)


CREATE_PROJECT = used("create_project", "POST", "/projects")
CREATE_TASK = used("create_task", "POST", "/projects/{project_id}/tasks")


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


LIST = used("list_projects", "GET", "/projects")
COUNT = """found = [item for item in rows(list_projects()) if inputs["word"] in item["name"]]
print(f"{len(found)} projects have {inputs['word']} in their names.")
"""
WORD = {"type": "object", "properties": {"word": {"type": "string", "examples": ["a"]}}, "required": ["word"]}


def word_recipe(**changed: Any) -> Recipe:
    """Return a recipe with one input, a word, that counts projects; its fields may have other values."""
    values: dict[str, Any] = {"program": COUNT, "operations": (LIST,), "apis": ({"name": "team-board"},)}
    return plant_recipe(**{"inputs": WORD, **values, **changed})


def beds(**changed: Any) -> Recipe:
    """Return the recipe that plants beds, for any version of the API; its fields may have other values."""
    return plant_recipe(**{"apis": ({"name": "team-board"},), **changed})
