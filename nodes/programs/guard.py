"""The guards of a recipe in a run: they compare its calls and their answers with what the recipe relies on."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from restgpt.calling.call import seems_to_read
from restgpt.nodes.dialogue.conversation import is_answered
from restgpt.nodes.run.resources import Run
from restgpt.nodes.state.recipe_run import Comparison, RecipeState, comparison_of, of_program, recipe_of
from restgpt.nodes.state.records import Program, RecipeRun, Request
from restgpt.nodes.state.results import result_of
from restgpt.recipes.guards.answers import answer_shifts, unread_shifts
from restgpt.recipes.guards.links import link_shifts, unfound_shifts
from restgpt.recipes.guards.shift import Shift
from restgpt.recipes.recipe import Recipe
from restgpt.recipes.sent import Sent
from restgpt.tools.response.store import UnknownHandleError
from restgpt.tools.sandbox.program import ProgramRun

MOST_SHIFTS = 5
"""The maximum number of shifts that the reason for a stop names."""

CUT_TRACE = Shift("the program", "reads of answers that can all be compared", "more fields than the trace holds")


@dataclass(frozen=True, slots=True)
class Guard:
    """The guards of one recipe in one node run."""

    run: Run
    record: RecipeRun
    recipe: Recipe
    comparison: Comparison

    def of_answers(self, requests: Iterable[Request], found: ProgramRun) -> list[Shift]:
        """Return the shifts in the answers so far; a trace that was cut cannot be compared."""
        if found.is_cut and found.kind in ("calls", "finished"):
            return [CUT_TRACE]
        sent = self._sent(requests, found)
        unfound = unfound_shifts(self.recipe, sent, self.record["inputs"]) if found.kind == "finished" else []
        return [*answer_shifts(self.recipe, sent), *unfound]

    def of_links(self, wanted: Iterable[Request], requests: Iterable[Request], found: ProgramRun) -> list[Shift]:
        """Return the shifts in the arguments of the calls that the program makes next."""
        asked, sent = [self._call(request, {}) for request in wanted], self._sent(requests, found)
        unread = unread_shifts(self.recipe, sent) if any(call.is_change for call in asked) else []
        return [*unread, *link_shifts(self.recipe, asked, sent, self.record["inputs"])]

    def _sent(self, requests: Iterable[Request], found: ProgramRun) -> list[Sent]:
        return [self._call(request, found.reads) for request in requests if "place" in request]

    def _call(self, request: Request, reads: Mapping[str, Mapping[str, tuple[str, ...]]]) -> Sent:
        """Return the call of a request with the names that path parameters have in the recipe."""
        sent = sent_of(self.run, request, reads)
        former = {now: before for before, now in self.comparison.renamed.get(sent.function, {}).items()}
        if not former or "path" not in sent.arguments:
            return sent
        path = {former.get(name, name): value for name, value in sent.arguments["path"].items()}
        return replace(sent, arguments={**sent.arguments, "path": path})


def guard_of(run: Run, state: RecipeState, program: Program) -> Guard | None:
    """Return the guards of a program that is made of a recipe; None for a program of a model."""
    record = of_program(state, program)
    if record is None:
        return None
    return Guard(run, record, recipe_of(record), comparison_of(run.catalogue, record))


def sent_of(run: Run, request: Request, reads: Mapping[str, Mapping[str, tuple[str, ...]]]) -> Sent:
    """Return the call of a request for the guards; `reads` are the fields that the program read, by position."""
    place, response = request["place"], request["response"]
    return Sent(
        function=place.get("function", request["operation"]),
        arguments=request["arguments"],
        position=place["position"],
        line=place["line"],
        is_change=not seems_to_read(request),
        status=int(response.get("status", 0)),
        body=_body(run, response.get("handle")),
        reads=reads.get(place["position"], {}),
    )


def _body(run: Run, handle: str | None) -> Any:
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
