"""The API selector S: chooses operations for the sub-task (paper, section 3.2, equations 1 and 2).

For a program that carries out the whole instruction it chooses the functions by search, without a model.
"""

from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from restgpt.nodes.dialogue.answer import given_up
from restgpt.nodes.dialogue.functions import look, select, selection
from restgpt.nodes.dialogue.look import MAX_LOOKS, looked, whole_map
from restgpt.nodes.dialogue.selection import (
    Listing,
    LookingSelection,
    Selection,
    api_plan_of,
    check,
    list_operations,
    plan_message,
)
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.recipe_run import current, functions_in, is_of_recipe
from restgpt.nodes.state.records import ApiPlan
from restgpt.nodes.state.results import RESULT_BUDGET, attempts, background, shortened
from restgpt.nodes.state.rounds import is_asked, of_turn, step_of
from restgpt.nodes.state.state import State
from restgpt.prompts import fenced, render
from restgpt.tools.model.errors import ModelReplyError, UsedUpError


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
