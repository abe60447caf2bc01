"""API plans in a model's reply: the reply's schema, its check against the catalogue, and its record in the state."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from langchain_core.messages import AIMessage
from pydantic import BaseModel, Field, model_validator

from restgpt.nodes.dialogue.look import whole_map
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.records import ApiPlan
from restgpt.specs import Operation, UnknownOperationError
from restgpt.tools.model.reply import written_calls

MAX_CALLS = 12
"""The maximum number of calls in one API plan."""

NOTHING_FITS = (
    "No operation has words of the sub-task. This is the map of all paths; an operation is named by its method and "
    "path, such as GET /users/{id}."
)
"""The heading of the map in the place of the operations' lines."""


class SelectedCall(BaseModel):
    """One call of the API plan."""

    operation: str = Field(description="The operation's name, exactly as listed.")
    purpose: str = Field(description="What the call is for: values to use, what to read from the response.")
    needs: list[int] = Field(default_factory=list, description="Numbers of earlier calls whose results it needs.")


class Selection(BaseModel):
    """Calls in order, or the answer that needs none."""

    thought: str = Field(default="", description="Why these calls, in one or two sentences.")
    calls: list[SelectedCall] = Field(description="The calls in order; empty if none is needed.", max_length=MAX_CALLS)
    answer: str = Field(default="", description="Only without calls.")

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        calls = written_calls(given)
        return {"calls": [{"operation": call.name, "purpose": str(call)} for call in calls]} if calls else given

    @model_validator(mode="after")
    def _drop_impossible_needs(self) -> Self:
        for number, call in enumerate(self.calls, 1):
            call.needs = [needed for needed in call.needs if 1 <= needed < number]
        return self


class LookingSelection(Selection):
    """Calls, the answer, or a look, where the prompt does not list all operations."""

    look: str = Field(default="", description="Only without calls: words to search by, or a part of the map.")
    known: bool = Field(default=False, description="Whether `answer` is what the background already says.")

    @property
    def is_known(self) -> bool:
        """Whether the reply answers from the background, so that no operation is needed."""
        return self.known and bool(self.answer.strip())


@dataclass(frozen=True, slots=True)
class Listing:
    """The operations as a prompt lists them, how many others there are, and whether it lists a map instead."""

    text: str
    hidden: int
    is_map: bool = False


def check(run: Run, selection: Selection) -> None:
    """Raise `ValueError` for unknown operations."""
    for number, call in enumerate(selection.calls, 1):
        try:
            run.catalogue.operation(call.operation)
        except UnknownOperationError as error:
            raise ValueError(f"calls.{number}.operation: {error}") from None


def api_plan_of(run: Run, selection: Selection) -> ApiPlan:
    """Return the API plan of a checked selection, with the catalogue's operation names."""
    return {
        "calls": [
            {
                "operation": run.catalogue.name_of(run.catalogue.operation(call.operation)),
                "purpose": call.purpose,
                "needs": sorted(set(call.needs)),
            }
            for call in selection.calls
        ],
        "reason": selection.thought,
    }


def plan_message(api_plan: ApiPlan) -> AIMessage:
    """Return an API plan as an assistant message of the model."""
    return AIMessage(json.dumps({"thought": api_plan["reason"], "calls": api_plan["calls"]}, ensure_ascii=False))


def list_operations(run: Run, wanted: str) -> Listing:
    """List the operations for a prompt, grouped by API if there are several.

    Lists all operations if they fit the budget; otherwise the best matches for `wanted`, with the best match's API
    first, or the map of all paths if nothing matches.
    """
    offered = run.catalogue.offer(wanted, run.context.operations_budget)
    hidden = len(run.catalogue) - len(offered)
    if not offered and hidden:
        return Listing(f"{NOTHING_FITS}\n{whole_map(run)}", hidden, is_map=True)
    if len(run.catalogue.apis) == 1:
        return Listing(_lines(run, offered), hidden)
    groups: dict[int, list[Operation]] = {}
    for operation in offered:
        groups.setdefault(id(operation.api), []).append(operation)
    texts = (f"{group[0].api.title or group[0].api.name}:\n{_lines(run, group)}" for group in groups.values())
    return Listing("\n\n".join(texts), hidden)


def without(run: Run, listing: Listing, operations: Iterable[Operation]) -> Listing:
    """Return a list without some operations."""
    gone = {f"- {run.catalogue.line(operation)}" for operation in operations}
    return replace(listing, text="\n".join(line for line in listing.text.split("\n") if line not in gone))


def _lines(run: Run, operations: Sequence[Operation]) -> str:
    return "\n".join(f"- {run.catalogue.line(operation)}" for operation in operations)
