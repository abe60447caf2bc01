"""Prompts and state updates of methods without planner and selector."""

from collections.abc import Sequence
from typing import Any, NotRequired

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from typing_extensions import TypedDict

from restgpt.nodes.dialogue.conversation import answer_message
from restgpt.nodes.dialogue.selection import Selection, check, list_operations, plan_message
from restgpt.nodes.run.context import used_up
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.records import ApiPlan, RecipeRun, Step, Usage, spent_since
from restgpt.nodes.state.results import bounded_results
from restgpt.prompts import fenced, render


class MethodState(TypedDict):
    """The state keys that such a method reads."""

    instruction: str
    turn: int
    turn_id: str
    task: int
    round: int
    plan: str
    api_plan: ApiPlan
    hint: str
    steps: list[Step]
    usage: Usage
    baseline: Usage
    road: NotRequired[str]
    recipe: NotRequired[RecipeRun | None]


def trial_steps(state: MethodState) -> list[Step]:
    """Return the steps of this turn's current trial; most methods have only one trial."""
    return [step for step in state["steps"] if step["turn"] == state["turn"] and step["task"] == state["task"]]


def exhausted(run: Run, state: MethodState) -> str:
    """Return the budgets that are used up, in words; empty if there is budget left."""
    steps = [step for step in state["steps"] if step["turn"] == state["turn"]]
    return used_up(run.context, len(steps), spent_since(state["baseline"], state["usage"]))


def turn_prompt(run: Run, state: MethodState, rules: str, *, reflections: str = "") -> list[BaseMessage]:
    """Return the prompt: the rules with the operations, the instruction, then each API plan with its result."""
    prompt: list[BaseMessage] = [
        SystemMessage(render(rules, operations=fenced("document", list_operations(run, state["instruction"]).text))),
        HumanMessage(
            render("method_turn", today=run.today(), reflections=reflections, instruction=state["instruction"])
        ),
    ]
    steps = trial_steps(state)
    for step, result in zip(steps, bounded_results(steps), strict=True):
        prompt += [plan_message(step["api_plan"]), HumanMessage(fenced("result", result))]
    if state["hint"]:
        prompt += [plan_message(state["api_plan"]), HumanMessage(render("selector_refused", reason=state["hint"]))]
    return prompt


def planned(run: Run, state: MethodState, api_plan: ApiPlan) -> dict[str, Any]:
    """Return the state update for a new API plan."""
    return {
        "api_plan": api_plan,
        "round": state["round"] + 1,
        "decision": {"kind": "plan", "text": api_plan["reason"]},
        "usage": run.usage(),
    }


def ended(run: Run, state: MethodState, answer: str, *, fulfilled: bool = True) -> dict[str, Any]:
    """Return the state update for a final answer; prompts of these methods show no earlier messages."""
    return {
        "decision": {"kind": "end", "text": answer, "fulfilled": fulfilled},
        "api_plan": {"calls": [], "reason": ""},
        "answer": answer,
        "messages": [answer_message(state["steps"], (), answer)],
        "usage": run.usage(),
    }


def check_calls_or_answer(run: Run, reply: Selection) -> None:
    """Raise `ValueError` for invalid calls, and for a reply with neither calls nor an answer."""
    check(run, reply)
    if not reply.calls and not reply.answer.strip():
        raise ValueError("answer: it is needed when there is no call.")


def found(steps: Sequence[Step], reason: str) -> str:
    """Return the answer for a used-up budget, with the results until then."""
    results = "\n".join(step["result"] for step in steps)
    return f"The budget for this instruction is used up ({reason}). What was found until then:\n{results or 'nothing'}"
