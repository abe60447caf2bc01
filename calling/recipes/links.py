"""Provisional."""

from collections.abc import Mapping, Sequence
from typing import Any

from restgpt.calling.recipes.recipe import Recipe
from restgpt.calling.recipes.sent import Sent
from restgpt.calling.recipes.shift import Shift


def link_shifts(recipe: Recipe, wanted: Sequence[Sent], sent: Sequence[Sent], inputs: Mapping[str, Any]) -> list[Shift]:
    return []
