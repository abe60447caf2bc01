"""Reflexion: a trial, a judgement, a verbal reflection, and another trial (paper, appendix B)."""

from collections.abc import Callable
from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from restgpt.nodes.run.run import Run
from restgpt.nodes.run.services import Context, Services
from restgpt.nodes.state.state import State
from restgpt.prompts import fenced, render
from restgpt_bench.methods.turns import exhausted, trial_steps

MAX_TRIALS = 2
"""The paper's maximum number of trials for this method (section 5.1)."""


class Judgement(BaseModel):
    """Whether a trial succeeded, and what to learn from it."""

    success: bool = Field(description="Whether the results show that the instruction was fulfilled.")
    reflection: str = Field(default="", description="What went wrong and what to do differently.")


def make_judge(services: Services) -> Callable[..., dict[str, Any]]:
    """Make the node that judges a trial; the next trial sees only the reflection on the last one."""

    def judge(state: State, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        run = Run.open(services, runtime, config)
        if state["task"] + 1 >= MAX_TRIALS or exhausted(run, state):
            return {"decision": {**state["decision"], "kind": "end"}, "usage": run.usage()}
        results = "\n".join(step["result"] for step in trial_steps(state))
        shown = (
            f"Instruction: {state['instruction']}\n\nCalls and results:\n{fenced('result', results)}\n\n"
            f"Answer given: {state['answer']}"
        )
        said = run.models.ask("planner", [SystemMessage(render("reflexion_judge")), HumanMessage(shown)], Judgement)
        if said.success:
            return {"decision": {**state["decision"], "kind": "end"}, "usage": run.usage()}
        return {
            "decision": {"kind": "continue", "text": said.reflection},
            "task": state["task"] + 1,
            "plan": f"\nWhat you learned from an earlier trial:\n{said.reflection}\n",
            "hint": "",
            "usage": run.usage(),
        }

    return judge
