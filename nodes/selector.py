"""API plans in a model's reply: the reply's schema, its check against the catalogue, and its record in the state.

The API selector S: chooses operations for the sub-task (paper, section 3.2, equations 1 and 2).

For a program that carries out the whole instruction it chooses the functions by search, without a model.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field, model_validator

from restgpt.nodes.dialogue.answer import given_up
from restgpt.nodes.dialogue.functions import look, select, selection
from restgpt.nodes.dialogue.knowledge import MAX_LOOKS, looked, whole_map
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.recipe_run import current, functions_in, is_of_recipe
from restgpt.nodes.state.records import ApiPlan
from restgpt.nodes.state.results import RESULT_BUDGET, attempts, background, is_asked, of_turn, shortened, step_of
from restgpt.nodes.state.state import State
from restgpt.prompts import fenced, render
from restgpt.specs import Operation, UnknownOperationError
from restgpt.tools.model.model_errors import ModelReplyError, UsedUpError
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


def select_operations(run: Run, state: State) -> dict[str, Any]:
    """Choose the operations of the sub-task: an API plan, or functions by search for a program."""
    if state["decision"]["kind"] == "program":
        return _by_search(run, state)
    round_number = state["round"] + 1
    try:
        api_plan = _plan(run, state)
    except UsedUpError as error:
        return _no_call(run, state, round_number, f"No operation was chosen. {error}")
    except ModelReplyError as error:
        remark = f"No operation was chosen. {error}"
        return {**_no_call(run, state, round_number, remark), "proposal": given_up(remark, of_turn(state))}
    if not api_plan["calls"]:
        return _no_call(run, state, round_number, api_plan["reason"])
    chosen = {"api_plan": api_plan, "selection": None, "round": round_number}
    return {**chosen, "program": None, "usage": run.usage()}


def _plan(run: Run, state: State) -> ApiPlan:
    """Ask for the API plan; without calls, its reason is the answer that needs none. Raises `ModelError`."""
    reply = _selection(run, state)
    api_plan, answer = api_plan_of(run, reply), reply.answer.strip() or "No operation serves this sub-task."
    return api_plan if api_plan["calls"] else {**api_plan, "reason": answer}


def _by_search(run: Run, state: State) -> dict[str, Any]:
    """Choose the functions for a program without a model, or find those that the caller asked for besides.

    A choice stands for the whole turn, also if a person edited it, unless a document has lost an operation of it or a
    recipe stopped that called nothing else.
    """
    chosen, steps = state.get("selection"), of_turn(state)
    if chosen and not all(map(run.catalogue.knows, (*chosen["operations"], *chosen["others"]))):
        chosen = None
    if chosen and is_asked(chosen):
        found = look(run, chosen, state["instruction"])
        return {"selection": {**chosen, "looks": [*chosen["looks"][:-1], found]}, "usage": run.usage()}
    record = current(state)
    if record and not steps:
        operations = functions_in(run.catalogue, record).operations.values()
        chosen = selection(run, operations, reason=f"The recipe {record['name']} calls them.")
    elif chosen is None or (steps and is_of_recipe(steps[-1])):
        chosen = select(run, state["instruction"])
    api_plan: ApiPlan = {"calls": [], "reason": chosen["reason"]}
    update = {"api_plan": api_plan, "round": state["round"] + 1, "usage": run.usage()}
    chosen = {**chosen, "looks": []}
    return update if chosen == state.get("selection") else {**update, "selection": chosen}


def _selection(run: Run, state: State) -> Selection:
    """Ask for the selection; where the prompt does not list all operations, the selector may look for others.

    It must look once before it may say that no operation serves.
    """
    listing = _operations(run, state)
    prompt = _prompt(run, state, listing)
    if not listing.hidden:
        return run.models.ask("selector", prompt, Selection, check=lambda reply: check(run, reply))
    has_looked = listing.is_map
    for left in range(MAX_LOOKS, -1, -1):
        reply = run.models.ask("selector", prompt, LookingSelection, check=_looking_check(run, left))
        wanted = reply.look.strip()
        if reply.calls or (not wanted and (has_looked or reply.is_known)):
            break
        found = looked(run, wanted) if wanted else whole_map(run)
        answer = render("selector_looked", found=fenced("document", found), left=str(left - 1))
        prompt += [AIMessage(reply.model_dump_json()), HumanMessage(answer)]
        has_looked = True
    return reply


def _looking_check(run: Run, left: int) -> Callable[[LookingSelection], None]:
    """Return the check of a reply after which the selector may look `left` more times."""

    def check_reply(reply: LookingSelection) -> None:
        check(run, reply)
        if not left and reply.look.strip() and not reply.calls:
            raise ValueError("look: nothing more can be shown. Choose calls, or say in `answer` what is missing.")

    return check_reply


def _no_call(run: Run, state: State, round_number: int, result: str) -> dict[str, Any]:
    api_plan: ApiPlan = {"calls": [], "reason": result}
    closed: State = {**state, "round": round_number, "api_plan": api_plan}
    step = step_of(closed, requests=[], result=result)
    return {
        "api_plan": api_plan,
        "selection": None,
        "hint": "",
        "round": round_number,
        "steps": [step],
        "usage": run.usage(),
    }


def _prompt(run: Run, state: State, listing: Listing) -> list[BaseMessage]:
    """Return the prompt: the sub-task, then each attempt, its result and the planner's next text (equation 2)."""
    tried = attempts(state["steps"], task=state["task"], turn=state["turn"])
    prompt: list[BaseMessage] = [
        SystemMessage(
            render(
                "selector",
                run.context.selector_prompt,
                operations=fenced("document", listing.text),
                look=f"\n{render('selector_look', hidden=str(listing.hidden))}" if listing.hidden else "",
                examples=run.examples("selector"),
            )
        ),
        HumanMessage(
            render(
                "selector_task",
                today=run.today(),
                background=background(state["steps"], before_task=state["task"], turn=state["turn"]),
                instruction=state["instruction"],
                plan=state["plan"],
            )
        ),
    ]
    words = [step["said"] for step in tried[1:]] + [state["decision"]["text"]]
    for step, said_next in zip(tried, words, strict=True) if tried else ():
        result = fenced("result", shortened(step["result"], RESULT_BUDGET))
        prompt += [
            plan_message(step["api_plan"]),
            HumanMessage(render("selector_again", result=result, said=said_next)),
        ]
    if state["hint"]:
        prompt += [plan_message(state["api_plan"]), HumanMessage(render("selector_refused", reason=state["hint"]))]
    return prompt


def _operations(run: Run, state: State) -> Listing:
    tried = attempts(state["steps"], task=state["task"], turn=state["turn"])
    return list_operations(run, " ".join([state["plan"], *([state["decision"]["text"]] if tried else [])]))
