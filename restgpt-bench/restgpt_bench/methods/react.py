"""ReAct: thought, call and observation in one model, without planner and selector (paper, appendix B)."""

from collections.abc import Callable
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from restgpt.nodes.run.run import Run
from restgpt.nodes.run.services import Context, Services
from restgpt.nodes.selector import Selection, api_plan_of
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


def make_react(services: Services) -> Callable[..., dict[str, Any]]:
    """Make the node that chooses the next call, one at a time, or ends."""

    def react(state: State, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        run = Run.open(services, runtime, config)
        if over := exhausted(run, state):
            return ended(run, state, found(trial_steps(state), over), fulfilled=False)
        prompt = turn_prompt(run, state, "react", reflections=state["plan"])
        reply = run.models.ask("planner", prompt, Selection, check=lambda reply: _check(run, reply))
        if not reply.calls:
            return ended(run, state, reply.answer)
        return planned(run, state, api_plan_of(run, reply))

    return react


def _check(run: Run, reply: Selection) -> None:
    check_calls_or_answer(run, reply)
    if len(reply.calls) > 1:
        raise ValueError("calls: one call at a time.")
