"""Provisional."""

from collections.abc import Mapping
from typing import Any

from restgpt.calling.recipes.recipe import Recipe


def input_problems(recipe: Recipe, given: Mapping[str, Any]) -> list[str]:
    from jsonschema import Draft202012Validator

    properties = recipe.inputs.get("properties", {})
    problems = [f"{name}: there is no such input" for name in given if name not in properties]
    for error in Draft202012Validator(dict(recipe.inputs)).iter_errors(dict(given)):
        place = "".join(f"[{part!r}]" if isinstance(part, int) else str(part) for part in error.path)
        problems.append(f"{place}: {error.message}" if place else error.message)
    return problems
