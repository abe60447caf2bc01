"""What a run says whose recipe stopped: why, what was changed until then, and what to do."""

import json
from collections.abc import Iterable, Sequence

from restgpt.calling.record import Request, seems_to_read
from restgpt.nodes.dialogue.conversation import is_answered
from restgpt.nodes.state.recipe_run import recipe_of
from restgpt.nodes.state.records import RecipeRun
from restgpt.nodes.state.results import result_of


def changes_of(requests: Iterable[Request]) -> list[Request]:
    """Return the changes that were sent, whatever came of them."""
    return [request for request in requests if not seems_to_read(request) and is_answered(request)]


def stop_text(record: RecipeRun, reason: str, requests: Sequence[Request], *, thread: str, may_heal: bool) -> str:
    """Return the answer of a run whose recipe stopped: why, what was changed until then, and what to do."""
    name, changes = record["name"], changes_of(requests)
    if not changes:
        lines = [f"The recipe {name} stopped before it changed anything. {reason}", "Nothing was changed."]
        if may_heal:
            lines.append(
                f"To let the agent go on from here, run it again with --heal (`restgpt recipe run {name} --heal …`). "
                "Or correct the file of the recipe."
            )
        return "\n".join(lines)
    return "\n".join(
        [
            f"The recipe {name} stopped after it had sent changes. {reason}",
            "Sent until then:",
            result_of(changes),
            f"`restgpt undo {thread}` takes back what can be taken back.",
        ]
    )


def to_planner(record: RecipeRun, reason: str) -> str:
    """Return the result of a recipe that stopped, for the planner, who sees the program too."""
    inputs = json.dumps(record["inputs"], ensure_ascii=False)
    described = " ".join(recipe_of(record).description.split())
    does = f" ({described})" if described else ""
    return f"This program is the recipe {record['name']}{does}. It ran with inputs = {inputs} and stopped. {reason}"
