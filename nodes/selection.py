"""API plans in a model's reply: the reply's schema, its check against the catalogue, and its record in the state."""

import json
from collections.abc import Sequence

from langchain_core.messages import AIMessage
from pydantic import BaseModel, Field

from restgpt.nodes.records import ApiPlan
from restgpt.nodes.resources import Run
from restgpt.specs import Operation, UnknownOperationError

MAX_CALLS = 12
"""The maximum number of calls in one API plan."""


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


def check(run: Run, selection: Selection) -> None:
    """Raise `ValueError` for unknown operations, and for needs that are not earlier calls."""
    for number, call in enumerate(selection.calls, 1):
        try:
            run.catalogue.operation(call.operation)
        except UnknownOperationError as error:
            raise ValueError(f"calls.{number}.operation: {error}") from None
        if any(not 1 <= needed < number for needed in call.needs):
            raise ValueError(f"calls.{number}.needs: it can name only calls before it, counting from 1.")


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


def operation_lines(run: Run, wanted: str) -> str:
    """List the operations for a prompt, grouped by API if there are several.

    Lists all operations if they fit the budget; otherwise the best matches for `wanted`, with the best match's API
    first.
    """
    offered = run.catalogue.offer(wanted, run.context.operations_budget)
    if len(run.catalogue.apis) == 1:
        return _lines(run, offered)
    groups: dict[int, list[Operation]] = {}
    for operation in offered:
        groups.setdefault(id(operation.api), []).append(operation)
    return "\n\n".join(f"{group[0].api.title or group[0].api.name}:\n{_lines(run, group)}" for group in groups.values())


def _lines(run: Run, operations: Sequence[Operation]) -> str:
    return "\n".join(f"- {run.catalogue.line(operation)}" for operation in operations)
