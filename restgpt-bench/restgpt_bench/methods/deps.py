"""DEPS: describe, explain, plan and select; plans all remaining calls again after each failure (paper, appendix B)."""

from collections.abc import Callable
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from pydantic import Field

from restgpt.nodes.run.run import Run
from restgpt.nodes.run.services import Context, Services
from restgpt.nodes.selector import Selection, api_plan_of
from restgpt.nodes.state.records import ApiPlan
from restgpt.nodes.state.state import State
from restgpt_bench.methods.turns import (
    check_calls_or_answer,
    ended,
    exhausted,
    found,
    planned,
    trial_steps,
    turn_prompt,
)

MAX_PLANS = 10
"""The paper's maximum number of steps for this method (section 5.1)."""


class DepsReply(Selection):
    """A description, an explanation and the plan of everything that is still to be done."""

    description: str = Field(description="What has been done and found so far.")
    explanation: str = Field(default="", description="Why the last plan failed and what must change.")


def make_deps(services: Services) -> Callable[..., dict[str, Any]]:
    """Make the node that describes, explains and plans the remaining calls, or ends."""

    def deps(state: State, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        run = Run.open(services, runtime, config)
        steps = trial_steps(state)
        over = exhausted(run, state) or (f"{MAX_PLANS} plans" if len(steps) >= MAX_PLANS else "")
        if over:
            return ended(run, state, found(steps, over), fulfilled=False)
        prompt = turn_prompt(run, state, "deps")
        reply = run.models.ask("planner", prompt, DepsReply, check=lambda reply: check_calls_or_answer(run, reply))
        if not reply.calls:
            return ended(run, state, reply.answer)
        return planned(run, state, _explained(api_plan_of(run, reply), reply))

    return deps


def _explained(api_plan: ApiPlan, reply: DepsReply) -> ApiPlan:
    words = [reply.description, reply.explanation, reply.thought]
    return {"calls": api_plan["calls"], "reason": " ".join(word for word in words if word)}
