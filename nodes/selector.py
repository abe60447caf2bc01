"""The API selector S: chooses operations for the sub-task (paper, section 3.2, equations 1 and 2)."""

from collections.abc import Callable
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from restgpt.nodes.context import Context
from restgpt.nodes.records import ApiPlan, Step
from restgpt.nodes.resources import Resources, Run
from restgpt.nodes.results import RESULT_BUDGET, attempts, background, shortened
from restgpt.nodes.rounds import RoundState, step_of
from restgpt.nodes.selection import Selection, api_plan_of, check, operation_lines, plan_message
from restgpt.prompts import fenced, render
from restgpt.tools.model.errors import ModelReplyError


class SelectorState(RoundState):
    """The state keys that the selector reads."""

    instruction: str
    hint: str
    steps: list[Step]


def make_selector(resources: Resources) -> Callable[..., dict[str, Any]]:
    """Make the selector node."""

    def selector(state: SelectorState, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        run = resources.open(runtime, config)
        round_number = state["round"] + 1
        try:
            reply = run.ask("selector", _prompt(run, state), Selection, check=lambda reply: check(run, reply))
        except ModelReplyError as error:
            return _no_call(run, state, round_number, f"No operation was chosen. {error}")
        api_plan = api_plan_of(run, reply)
        if not api_plan["calls"]:
            return _no_call(run, state, round_number, reply.answer.strip() or "No operation serves this sub-task.")
        return {"api_plan": api_plan, "round": round_number, "program": None, "usage": run.usage()}

    return selector


def _no_call(run: Run, state: SelectorState, round_number: int, result: str) -> dict[str, Any]:
    api_plan: ApiPlan = {"calls": [], "reason": result}
    closed: SelectorState = {**state, "round": round_number, "api_plan": api_plan}
    step = step_of(closed, requests=[], result=result)
    return {"api_plan": api_plan, "round": round_number, "steps": [step], "usage": run.usage()}


def _prompt(run: Run, state: SelectorState) -> list[BaseMessage]:
    """Return the prompt: the sub-task, then each attempt, its result and the planner's next text (equation 2)."""
    tried = attempts(state["steps"], task=state["task"], turn=state["turn"])
    prompt: list[BaseMessage] = [
        SystemMessage(
            render(
                "selector", operations=fenced("document", _operations(run, state)), examples=run.examples("selector")
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


def _operations(run: Run, state: SelectorState) -> str:
    tried = attempts(state["steps"], task=state["task"], turn=state["turn"])
    return operation_lines(run, " ".join([state["plan"], *([state["decision"]["text"]] if tried else [])]))
