"""The planner P: decides on the next sub-task, on its continuation, or on the final answer (paper, section 3.2)."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from restgpt.nodes.dialogue.answer import doubt, ended, is_fulfilled
from restgpt.nodes.dialogue.knowledge import apis_text
from restgpt.nodes.express import ExpressState, ask_express, is_open, program_update
from restgpt.nodes.programs.repetition import remarks, repeated
from restgpt.nodes.recipes.choice import RecipeExpressReply, chosen, offer_of, offered_recipes
from restgpt.nodes.recipes.start import recipe_update
from restgpt.nodes.run.budget import allows_a_last_question, used_up
from restgpt.nodes.run.context import Context
from restgpt.nodes.run.resources import Resources, Run
from restgpt.nodes.state.recipe_run import current
from restgpt.nodes.state.records import Decision, Step, seconds_spent, spent_since, tokens_spent
from restgpt.nodes.state.results import bounded_results, decision_message, results_of
from restgpt.prompts import fenced, render
from restgpt.tools.model.errors import UsedUpError

CONVERSATION_BUDGET = 6000
"""The maximum number of characters of earlier conversation in the prompt; the newest are kept."""


class PlannerReply(BaseModel):
    """The planner's decision."""

    thought: str = Field(
        default="", description="What the results establish and what is missing, in one or two sentences."
    )
    decision: Literal["plan", "continue", "end"] = Field(description="Next sub-task, unfinished sub-task, or the end.")
    text: str = Field(min_length=1, description="The sub-task, what is still to be done, or the final answer.")
    fulfilled: bool | None = Field(default=None, description="Only with end: whether all asked for was done or found.")

    @property
    def is_last(self) -> bool:
        """Whether the result of the sub-task is the answer."""
        return False


class ProgramPlannerReply(PlannerReply):
    """The planner's decision where programs carry out the sub-tasks."""

    last: bool = Field(default=False, description="Not with end: whether the result of this sub-task is the answer.")

    @property
    def is_last(self) -> bool:
        """Whether the result of the sub-task is the answer."""
        return self.last


class PlannerState(ExpressState):
    """The state keys that the planner reads."""


def make_planner(resources: Resources) -> Callable[..., dict[str, Any]]:
    """Make the planner node."""

    def planner(state: PlannerState, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        run = resources.open(runtime, config, spent=seconds_spent(state), tokens=tokens_spent(state), state=state)
        steps = [step for step in state["steps"] if step["turn"] == state["turn"]]
        if (record := current(state)) and not steps:
            return recipe_update(run, state, record)
        spent = spent_since(state["baseline"], state["usage"])
        stuck = repeated(steps)
        over = used_up(run.context, len(steps), spent) or stuck
        if over and not allows_a_last_question(run.context, spent):
            return ended(run, state, steps, _partial(over, steps), fulfilled=False)
        try:
            with run.answer:
                return _decision(run, state, steps, over, is_stuck=bool(stuck))
        except UsedUpError as error:
            return ended(run, state, steps, _partial(error.budget, steps), fulfilled=False)

    return planner


def _decision(run: Run, state: PlannerState, steps: Sequence[Step], over: str, *, is_stuck: bool) -> dict[str, Any]:
    """Return the update of the planner's decision; `over` is the budget that is used up, so that it has to end."""
    if not over and is_open(run, state, steps):
        return _express(run, state, steps)
    schema = ProgramPlannerReply if run.context.execution == "program" else PlannerReply
    check = None if over else doubt(run, state, steps)
    reply = run.models.ask("planner", _prompt(run, state, steps, over), schema, check=check, callbacks=[run.answer])
    if reply.decision == "end":
        return ended(run, state, steps, reply.text, fulfilled=is_fulfilled(state, steps, reply) and not is_stuck)
    if over:
        return ended(run, state, steps, _partial(over, steps), fulfilled=False)
    if reply.decision == "continue" and steps:
        kind: Decision = {"kind": "continue", "text": reply.text, "thought": reply.thought, "last": reply.is_last}
        return _decided(run, kind)
    return _planned(run, state, reply.text, reply.thought, is_last=reply.is_last)


def _express(run: Run, state: PlannerState, steps: Sequence[Step]) -> dict[str, Any]:
    """Return the update of the planner's decision with the functions in view."""
    recipes = [] if steps else offered_recipes(run, state["instruction"])
    reply = ask_express(run, state, steps, _turn(run, state), offer_of(recipes) if recipes else None)
    if isinstance(reply, RecipeExpressReply) and reply.decision == "recipe":
        return recipe_update(run, state, chosen(recipes, reply.text))
    if reply.decision == "end":
        return ended(run, state, steps, reply.text, fulfilled=is_fulfilled(state, steps, reply))
    if reply.decision == "program":
        return program_update(run, state, steps, reply)
    return _planned(run, state, reply.text, reply.thought)


def _planned(run: Run, state: PlannerState, text: str, thought: str, *, is_last: bool = False) -> dict[str, Any]:
    decision: Decision = {"kind": "plan", "text": text, "thought": thought, "last": is_last}
    return _decided(run, decision, plan=text, task=state["task"] + 1)


def _turn(run: Run, state: PlannerState) -> HumanMessage:
    """Return the message with the instruction."""
    return HumanMessage(
        render(
            "planner_turn",
            today=run.today(),
            conversation=_conversation(state["messages"]),
            instruction=state["instruction"],
        )
    )


def _decided(run: Run, decision: Decision, **changed: Any) -> dict[str, Any]:
    return {"decision": decision, "hint": "", "usage": run.usage(), **changed}


def _prompt(run: Run, state: PlannerState, steps: Sequence[Step], over: str) -> list[BaseMessage]:
    """Return the prompt: the constant rules, then the growing turn, so that the provider can cache the prefix."""
    prompt: list[BaseMessage] = [
        SystemMessage(
            render(
                "planner",
                apis=apis_text(run),
                last=f"\n{render('planner_program')}" if run.context.execution == "program" else "",
                examples=run.examples("planner"),
            )
        ),
        _turn(run, state),
    ]
    for step, result, remark in zip(steps, bounded_results(steps), remarks(steps), strict=True):
        prompt += [decision_message(step), HumanMessage(f"{fenced('result', result)}{remark}")]
    if over:
        last = fenced("result", steps[-1]["result"]) if steps else ""
        prompt[-1] = HumanMessage(render("planner_last", result=last, reason=over))
    return prompt


def _conversation(messages: Sequence[AnyMessage]) -> str:
    """Return the conversation before this instruction, bounded; the instruction is the last message."""
    said = (message for message in messages[:-1] if message.type in ("human", "ai") and str(message.text))
    earlier = [f"{message.type}: {message.text}" for message in said]
    if not earlier:
        return ""
    # The agent's answers quote API responses, so the whole conversation is fenced as data.
    return f"\nEarlier in this conversation:\n{fenced('conversation', chr(10).join(earlier)[-CONVERSATION_BUDGET:])}\n"


def _partial(over: str, steps: Sequence[Step]) -> str:
    found = results_of(steps)
    said = f"The budget for this instruction is used up ({over}), so it could not be finished."
    return f"{said} What was found until then:\n{found}" if found else f"{said} Nothing was found until then."
