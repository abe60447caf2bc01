"""Provisional."""

from collections.abc import Sequence

from restgpt.calling.recipes.recipe import Recipe
from restgpt.calling.recipes.sent import Sent
from restgpt.calling.recipes.shift import Shift


def answer_shifts(recipe: Recipe, sent: Sequence[Sent]) -> list[Shift]:
    shifts = []
    for call in sent:
        used = recipe.used(call.function)
        if call.status and used and used.status and call.status not in used.status:
            shifts.append(Shift(f"{call.function}: status", str(used.status), str(call.status)))
        shifts += [Shift(f"{call.function}: {at}", "present", "missing") for at, kinds in call.reads.items() if "missing" in kinds]
    return shifts
