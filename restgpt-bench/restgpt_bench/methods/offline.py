"""Offline planning: one API plan in advance; the model sees results only for the answer (paper, appendix B)."""

from collections.abc import Callable
from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from restgpt.nodes.run.run import Run
from restgpt.nodes.run.services import Context, Services
from restgpt.nodes.selector import Selection, api_plan_of, check
from restgpt.nodes.state.records import ApiPlan
from restgpt.nodes.state.state import State
from restgpt.prompts import fenced, render
from restgpt_bench.methods.turns import ended, planned, trial_steps, turn_prompt


def make_offline(services: Services) -> Callable[..., dict[str, Any]]:
    """Make the node that plans all calls at once."""

    def offline(state: State, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        run = Run.open(services, runtime, config)
        prompt = turn_prompt(run, state, "offline")
        reply = run.models.ask("planner", prompt, Selection, check=lambda reply: check(run, reply))
        if not reply.calls:
            return ended(run, state, reply.answer.strip() or "No call can help.")
        return planned(run, state, in_order(api_plan_of(run, reply)))

    return offline


def in_order(api_plan: ApiPlan) -> ApiPlan:
    """Return the same calls, each dependent on the one before, because the model cannot react to a failed call."""
    calls = [{**call, "needs": [number] if number else []} for number, call in enumerate(api_plan["calls"])]
    return {"calls": calls, "reason": api_plan["reason"]}  # type: ignore[typeddict-item]


def make_answer(services: Services) -> Callable[..., dict[str, Any]]:
    """Make the node that writes the answer from the results."""

    def answer(state: State, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        run = Run.open(services, runtime, config)
        results = "\n".join([*(step["result"] for step in trial_steps(state)), state["hint"]])
        asked = f"Instruction: {state['instruction']}\n\nResults:\n{fenced('result', results)}"
        text = run.models.read("planner", [SystemMessage(render("offline_answer")), HumanMessage(asked)])
        return ended(run, state, text)

    return answer
