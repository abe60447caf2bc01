"""The guards of a recipe in a run: they compare its calls and their answers with what the recipe relies on."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from restgpt.calling.record import Request, seems_to_read
from restgpt.nodes.dialogue.conversation import is_answered
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.recipe_run import Comparison, RecipeState, comparison_of, of_program, recipe_of
from restgpt.nodes.state.records import Program, RecipeRun
from restgpt.nodes.state.results import result_of
from restgpt.recipes.guards.answers import answer_shifts
from restgpt.recipes.guards.shift import Shift
from restgpt.recipes.recipe import Recipe
from restgpt.recipes.sent import Sent
from restgpt.tools.response.store import UnknownHandleError

MOST_SHIFTS = 5
"""The maximum number of shifts that the reason for a stop names."""


@dataclass(frozen=True, slots=True)
class Guard:
    """The guards of one recipe in one node run."""

    run: Run
    record: RecipeRun
    recipe: Recipe
    comparison: Comparison

    def shifts(self, requests: Iterable[Request]) -> list[Shift]:
        """Return the shifts in the answers so far."""
        sent = [self._call(request) for request in requests if "place" in request]
        return answer_shifts(self.recipe, sent, self.record["inputs"])

    def _call(self, request: Request) -> Sent:
        response = request["response"]
        return Sent(
            function=request["place"].get("function", request["operation"]),
            arguments=request["arguments"],
            is_change=not seems_to_read(request),
            status=int(response.get("status", 0)),
            body=body_of(self.run, response.get("handle")),
        )


def guard_of(run: Run, state: RecipeState, program: Program) -> Guard | None:
    """Return the guards of a program that is made of a recipe; None for a program of a model."""
    record = of_program(state, program)
    if record is None:
        return None
    return Guard(run, record, recipe_of(record), comparison_of(run.catalogue, record))


def body_of(run: Run, handle: str | None) -> Any:
    """Return the body of a response as its JSON value or text; None without one, and of a binary one."""
    try:
        body = run.session.responses.open(handle) if handle else None
    except UnknownHandleError:
        return None
    if body is None or body.is_binary:
        return None
    return body.value if body.is_json else body.text()


def told(shifts: Sequence[Shift]) -> str:
    """Return the shifts as text, a line each."""
    lines = [str(shift) for shift in shifts[:MOST_SHIFTS]]
    hidden = len(shifts) - len(lines)
    more = [f"… and {hidden} more."] if hidden else []
    return "\n".join(["It is not as the recipe expects:", *(f"- {line}" for line in lines), *more])


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
