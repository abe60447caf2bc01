"""API plans as models write them: the reply, its check against the operations at hand, the record it becomes."""

import json
from collections.abc import Sequence

from langchain_core.messages import AIMessage
from pydantic import BaseModel, Field

from restgpt.nodes.records import ApiPlan
from restgpt.nodes.resources import Run
from restgpt.specs import Operation, UnknownOperationError

MAX_CALLS = 12
"""How many calls one API plan may hold."""


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
    """Refuse, with `ValueError`, operations that do not exist and needs that do not come before."""
    for number, call in enumerate(selection.calls, 1):
        try:
            run.catalogue.operation(call.operation)
        except UnknownOperationError as error:
            raise ValueError(f"calls.{number}.operation: {error}") from None
        if any(not 1 <= needed < number for needed in call.needs):
            raise ValueError(f"calls.{number}.needs: it can name only calls before it, counting from 1.")


def api_plan_of(run: Run, selection: Selection) -> ApiPlan:
    """The record of a checked selection, with the catalogue's own names."""
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


def said(api_plan: ApiPlan) -> AIMessage:
    """An API plan as the model's own earlier words."""
    return AIMessage(json.dumps({"thought": api_plan["reason"], "calls": api_plan["calls"]}, ensure_ascii=False))


def operation_lines(run: Run, wanted: str) -> str:
    """The operations for a prompt, under the name of their API if there are several.

    All of them while they fit the budget, else the best for `wanted`, and the API with the best one first.
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
