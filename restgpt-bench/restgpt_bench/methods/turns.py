"""Prompts and state updates of methods without planner and selector."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from restgpt.nodes.dialogue.conversation import answer_message
from restgpt.nodes.run.run import Run
from restgpt.nodes.run.services import used_up
from restgpt.nodes.selector import Selection, check, list_operations, plan_message
from restgpt.nodes.state.records import ApiPlan, Step, spent_since
from restgpt.nodes.state.results import bounded_results
from restgpt.nodes.state.state import State
from restgpt.prompts import fenced, render


def trial_steps(state: State) -> list[Step]:
    """Return the steps of this turn's current trial; most methods have only one trial."""
    return [step for step in state["steps"] if step["turn"] == state["turn"] and step["task"] == state["task"]]


def exhausted(run: Run, state: State) -> str:
    """Return the budgets that are used up, in words; empty if there is budget left."""
    steps = [step for step in state["steps"] if step["turn"] == state["turn"]]
    return used_up(run.context, len(steps), spent_since(state["baseline"], state["usage"]))


def turn_prompt(run: Run, state: State, rules: str, *, reflections: str = "") -> list[BaseMessage]:
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


def planned(run: Run, state: State, api_plan: ApiPlan) -> dict[str, Any]:
    """Return the state update for a new API plan."""
    return {
        "api_plan": api_plan,
        "round": state["round"] + 1,
        "decision": {"kind": "plan", "text": api_plan["reason"]},
        "usage": run.usage(),
    }


def ended(run: Run, state: State, answer: str, *, fulfilled: bool = True) -> dict[str, Any]:
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
