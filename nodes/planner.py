"""The planner P: decides on the next sub-task, on its continuation, or on the final answer (paper, section 3.2)."""

import json
from collections.abc import Callable, Sequence
from typing import Any, Literal

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from restgpt.nodes.budget import allows_a_last_question, used_up
from restgpt.nodes.context import Context
from restgpt.nodes.records import Decision, Step, Usage, spent_since
from restgpt.nodes.resources import Resources, Run
from restgpt.nodes.results import bounded_results, results_of
from restgpt.prompts import fenced, render

CONVERSATION_BUDGET = 6000
"""The maximum number of characters of earlier conversation in the prompt; the newest are kept."""


class PlannerReply(BaseModel):
    """The planner's decision."""

    thought: str = Field(
        default="", description="What the results establish and what is missing, in one or two sentences."
    )
    decision: Literal["plan", "continue", "end"] = Field(description="Next sub-task, unfinished sub-task, or the end.")
    text: str = Field(min_length=1, description="The sub-task, what is still to be done, or the final answer.")
    fulfilled: bool = Field(default=True, description="Only with end: whether all asked for was done or found.")


class PlannerState(TypedDict):
    """The state keys that the planner reads."""

    messages: list[AnyMessage]
    instruction: str
    turn: int
    task: int
    plan: str
    steps: list[Step]
    usage: Usage
    baseline: Usage


def make_planner(resources: Resources) -> Callable[..., dict[str, Any]]:
    """Make the planner node."""

    def planner(state: PlannerState, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        run = resources.open(runtime, config)
        steps = [step for step in state["steps"] if step["turn"] == state["turn"]]
        spent = spent_since(state["baseline"], state["usage"])
        over = used_up(run.context, len(steps), spent)
        if over and not allows_a_last_question(run.context, spent):
            return _ended(run, steps, _partial(over, steps), fulfilled=False)
        prompt = _prompt(run, state, steps, over)
        reply = run.ask("planner", prompt, PlannerReply)
        if reply.decision == "end":
            return _ended(run, steps, reply.text, fulfilled=reply.fulfilled)
        if over:
            return _ended(run, steps, _partial(over, steps), fulfilled=False)
        if reply.decision == "continue" and steps:
            return _decided(run, {"kind": "continue", "text": reply.text, "thought": reply.thought})
        decision: Decision = {"kind": "plan", "text": reply.text, "thought": reply.thought}
        return _decided(run, decision, plan=reply.text, task=state["task"] + 1)

    return planner


def _decided(run: Run, decision: Decision, **changed: Any) -> dict[str, Any]:
    return {"decision": decision, "hint": "", "usage": run.usage(), **changed}


def _ended(run: Run, steps: Sequence[Step], answer: str, *, fulfilled: bool) -> dict[str, Any]:
    answer = answer + _held(run, steps)
    return _decided(
        run, {"kind": "end", "text": answer, "fulfilled": fulfilled}, answer=answer, messages=[AIMessage(answer)]
    )


def _prompt(run: Run, state: PlannerState, steps: Sequence[Step], over: str) -> list[BaseMessage]:
    """Return the prompt: the constant rules, then the growing turn, so that the provider can cache the prefix."""
    prompt: list[BaseMessage] = [
        SystemMessage(
            render("planner", apis=fenced("document", run.describe_apis()), examples=run.examples("planner"))
        ),
        HumanMessage(
            render(
                "planner_turn",
                today=run.today(),
                conversation=_conversation(state["messages"]),
                instruction=state["instruction"],
            )
        ),
    ]
    for step, result in zip(steps, bounded_results(steps), strict=True):
        said = {"thought": step.get("thought", ""), "decision": step["kind"], "text": step["said"]}
        prompt += [AIMessage(json.dumps(said, ensure_ascii=False)), HumanMessage(fenced("result", result))]
    if over:
        last = fenced("result", steps[-1]["result"]) if steps else ""
        prompt[-1] = HumanMessage(render("planner_last", result=last, reason=over))
    return prompt


def _conversation(messages: Sequence[AnyMessage]) -> str:
    """Return the conversation before this instruction, bounded; the instruction is the last message."""
    earlier = [f"{message.type}: {message.text}" for message in messages[:-1] if message.type in ("human", "ai")]
    if not earlier:
        return ""
    # The agent's answers quote API responses, so the whole conversation is fenced as data.
    return f"\nEarlier in this conversation:\n{fenced('conversation', chr(10).join(earlier)[-CONVERSATION_BUDGET:])}\n"


def _partial(over: str, steps: Sequence[Step]) -> str:
    found = results_of(steps)
    said = f"The budget for this instruction is used up ({over}), so it could not be finished."
    return f"{said} What was found until then:\n{found}" if found else f"{said} Nothing was found until then."


def _held(run: Run, steps: Sequence[Step]) -> str:
    """Return the list of held requests for the answer of a dry run."""
    if run.context.writes != "dry-run":
        return ""
    held = [request for step in steps for request in step["requests"] if request["status"] == "held"]
    if not held:
        return "\n\nDry run: no request that changes something was needed."
    lines = [f"{number}. {request['note']}" for number, request in enumerate(held, 1)]
    return "\n\nDry run: nothing was changed. These requests would have been sent:\n" + "\n".join(lines)
