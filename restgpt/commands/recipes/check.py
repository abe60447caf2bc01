"""`restgpt recipe run --check`: compare a recipe with the documents, and run its reads, without any change."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import typer

from restgpt.commands.failure import Exit
from restgpt.commands.history.thread import RecipeOfThread
from restgpt.commands.recipes.run import Found, Wanted, agent_of, check_apis, graph_input
from restgpt.commands.recipes.text import proof
from restgpt.commands.screen.terminal import Terminal
from restgpt.recipes.recipe import Recipe, UsedOperation

if TYPE_CHECKING:
    from restgpt.commands.agent import Outcome
    from restgpt.graph.persistence import Persistence
    from restgpt.nodes.run.context import Context
    from restgpt.nodes.state.records import Request
    from restgpt.recipes.guards.shift import Shift
    from restgpt.tools.settings import Settings

THREAD = "check"
"""The thread of the dry run, which is kept in memory only."""

Status = Literal["held", "shifted", "failed", "paused"]


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check: its status, a sentence about it, and the requests of the dry run."""

    status: Status
    reason: str
    requests: "Sequence[Request]" = ()


def check_recipe(terminal: Terminal, wanted: Wanted, found: Found, settings: "Settings") -> None:
    """Print which guards of a recipe hold now, and end the command with exit code 0 if all do."""
    from restgpt.nodes.run.context import Context
    from restgpt.nodes.state.recipe_run import filled
    from restgpt.recipes.given import given_inputs
    from restgpt.tools.run_settings import checked_settings

    # What is not given is as it was in the saved run: the check sends no change.
    given = given_inputs(found.recipe, wanted.inputs)
    inputs = filled(found.recipe, {**found.recipe.examples, **given})
    context = checked_settings(Context, wanted.context)
    check_apis(found.recipe, found.apis, terminal)
    shifts = _document_shifts(found)
    if any(shifts.values()):
        checked = Checked("shifted", "The documents are not as the recipe expects, so nothing was sent.")
    else:
        checked = _dry_run(terminal, found, inputs, context, settings)
    recipe = found.recipe
    terminal.document(
        {
            "recipe": recipe.name,
            "version": recipe.version,
            "proved": recipe.proved,
            "status": checked.status,
            "reason": checked.reason,
            "inputs": dict(inputs),
            "operations": [_operation(item, shifts[item.function], checked.requests) for item in recipe.operations],
        }
    )
    terminal.answer("\n".join(_lines(recipe, shifts, checked)))
    raise typer.Exit(Exit.DONE if checked.status == "held" else Exit.UNFULFILLED)


def _document_shifts(found: Found) -> "dict[str, list[Shift]]":
    """Return by function what is different in the documents."""
    from restgpt.recipes.guards.closure import document_shifts, find_operation
    from restgpt.specs import Catalogue

    catalogue = Catalogue(found.apis)
    used = found.recipe.operations
    return {item.function: document_shifts(item, find_operation(item, catalogue)) for item in used}


def _dry_run(
    terminal: Terminal, found: Found, inputs: Mapping[str, Any], context: "Context", settings: "Settings"
) -> Checked:
    """Run the recipe up to the first answer that only a change could give."""
    run: RecipeOfThread = {"recipe": found.recipe.to_json(), "inputs": inputs, "file": "", "heals": False}
    context = context.model_copy(update={"writes": "dry-run"})
    agent = agent_of(run, found.apis, context=context, settings=settings, persistence=_memory())
    outcome = agent.drive(THREAD, graph_input(run), terminal, decide=lambda pending: None)
    requests = [request for step in outcome.steps for request in step["requests"]]
    return Checked(*_judged(outcome), requests or agent.values(THREAD).get("requests", []))


def _judged(outcome: "Outcome") -> tuple[Status, str]:
    program: Mapping[str, Any] = outcome.program or {}
    if outcome.status == "paused":
        return "paused", "A read needs an approval, so the check ends here. Run the recipe to decide."
    end = program.get("end")
    if end == "report":
        return "held", "The dry run went through to its end."
    if end == "unknown":
        return "held", "The dry run ended at a change: what follows needs its answer, so it was not checked."
    reason = str(program.get("feedback") or outcome.answer)
    return ("shifted" if end == "shifted" else "failed"), reason


def _memory() -> "Persistence":
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.store.memory import InMemoryStore

    from restgpt.graph.persistence import Persistence

    return Persistence(InMemorySaver(), InMemoryStore(), "memory", lambda thread: nullcontext())


def _operation(used: UsedOperation, shifts: "Sequence[Shift]", requests: "Sequence[Request]") -> dict[str, Any]:
    return {
        "function": used.function,
        "api": used.api,
        "method": used.method,
        "path": used.path,
        "shifts": [str(shift) for shift in shifts],
        "answered": sorted(_statuses(used, requests).elements()),
        "not_sent": len([item for item in _of(used, requests) if item["status"] == "held"]),
    }


def _of(used: UsedOperation, requests: "Sequence[Request]") -> "list[Request]":
    return [item for item in requests if item.get("place", {}).get("function", item["operation"]) == used.function]


def _statuses(used: UsedOperation, requests: "Sequence[Request]") -> Counter[int]:
    return Counter(int(item["response"]["status"]) for item in _of(used, requests) if item["response"].get("status"))


def _lines(recipe: Recipe, shifts: "Mapping[str, Sequence[Shift]]", checked: Checked) -> list[str]:
    lines = [f"{recipe.name}, version {recipe.version}, {proof(recipe)}"]
    for used in recipe.operations:
        lines.append(f"  {used.function}: {used.method} {used.path}")
        lines += [f"    document   {shift}" for shift in shifts[used.function]] or [
            "    document   as when it was saved"
        ]
        for status, count in sorted(_statuses(used, checked.requests).items()):
            lines.append(f"    answers    {count} with status {status}")
        if held := len([item for item in _of(used, checked.requests) if item["status"] == "held"]):
            lines.append(f"    not sent   {held}, because a check changes nothing")
    verdict = {"held": "All guards hold.", "paused": "It is not checked to its end.", "failed": "The dry run failed."}
    return [*lines, verdict.get(checked.status, "It is not as the recipe expects."), checked.reason]
