"""The planner P: decides on the next sub-task, on its continuation, or on the final answer (paper, section 3.2).

what caller or parser propose ────────────────────────────────────────→ decided by rule, as proposed
a recipe, or an instruction that had too few programs to be given up ─→ decided by rule: a program for all of it
else ─────────────────────────────────────────────────────────────────→ decided by the model, or the end of a budget
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field, model_validator

from restgpt.nodes.dialogue.answer import Form, doubt, ended, found_text, is_fulfilled, proposed_end, used_up_text
from restgpt.nodes.dialogue.conversation import topic, turn_message
from restgpt.nodes.dialogue.knowledge import apis_text
from restgpt.nodes.programs.ending import MAX_PROGRAMS
from restgpt.nodes.programs.program_reply import changes, is_same, remarks, repeated
from restgpt.nodes.run.run import Run
from restgpt.nodes.run.services import allows_a_last_question, used_up
from restgpt.nodes.state.recipe_run import current
from restgpt.nodes.state.records import Decision, Proposal, Step, spent_since
from restgpt.nodes.state.results import bounded_results, decision_message, of_turn
from restgpt.nodes.state.state import State
from restgpt.prompts import fenced, render
from restgpt.tools.model.model_errors import ModelReplyError, UsedUpError
from restgpt.tools.model.reply import written_calls


class PlannerReply(BaseModel):
    """The planner's decision."""

    thought: str = Field(
        default="", description="What the results establish and what is missing, in one or two sentences."
    )
    decision: Literal["plan", "continue", "end"] = Field(description="Next sub-task, unfinished sub-task, or the end.")
    text: str = Field(min_length=1, description="The sub-task, what is still to be done, or the final answer.")
    fulfilled: bool | None = Field(default=None, description="Only with end: whether all asked for was done or found.")

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        calls = written_calls(given)
        return {"decision": "plan", "text": ". ".join(map(str, calls))} if calls else given

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


def make_planner(agent: str = "", form: Form | None = None) -> Callable[[Run, State], dict[str, Any]]:
    """Make the planner; the answers name the `agent` and the message that they answer, and may have a `form`."""

    def planner(run: Run, state: State) -> dict[str, Any]:
        run.agent = agent
        update = plan(run, state)
        if form is not None and update["decision"]["kind"] == "end":
            value = form.value(run, state["instruction"], of_turn(state), update["answer"])
            update |= {"structured_response": value, "usage": run.usage()}
        return update

    return planner


def plan(run: Run, state: State) -> dict[str, Any]:
    """Decide what comes next: a sub-task, a program for the whole instruction, or the end with the answer."""
    steps = of_turn(state)
    if proposal := state.get("proposal"):
        return _accepted(run, state, steps, proposal)
    spent = spent_since(state["baseline"], state["usage"])
    stuck = repeated(steps)
    over = used_up(run.context, len(steps), spent) or stuck
    if not over and _suits_a_program(run, state, steps):
        return _whole(run, state, steps)
    if over and not allows_a_last_question(run.context, spent):
        return ended(run, state, steps, used_up_text(over, steps), fulfilled=False)
    try:
        with run.answer:
            return _decision(run, state, steps, over, is_stuck=bool(stuck))
    except UsedUpError as error:
        return ended(run, state, steps, used_up_text(error.budget, steps), fulfilled=False)
    except ModelReplyError as error:
        return ended(run, state, steps, found_text(str(error), steps), fulfilled=False)


def _suits_a_program(run: Run, state: State, steps: Sequence[Step]) -> bool:
    """Return whether a program carries out the whole instruction: a recipe's, or one with few and only such before."""
    if current(state) and not steps:
        return True
    # A program that no other one could correct has the greatest number at once.
    program = state.get("program")
    number = max(len(steps), program["number"] if program and steps else 0)
    return run.writes_programs and number < MAX_PROGRAMS and all(step["kind"] == "program" for step in steps)


def _whole(run: Run, state: State, steps: Sequence[Step]) -> dict[str, Any]:
    """Decide by rule: the sub-task is the whole instruction, which a program carries out."""
    decision: Decision = {"kind": "program", "text": state["instruction"], "last": True}
    return _decided(run, decision, plan=state["instruction"], task=state["task"] if steps else state["task"] + 1)


def _accepted(run: Run, state: State, steps: Sequence[Step], proposal: Proposal) -> dict[str, Any]:
    """Decide by rule what caller or parser propose: the answer, or a first sub-task in place of a program."""
    if proposal["kind"] == "end":
        return proposed_end(run, state, steps, proposal)
    is_new = any(step["task"] == state["task"] for step in steps)
    return _planned(run, state, proposal["text"], proposal.get("thought", ""), task=state["task"] + is_new)


def _decision(run: Run, state: State, steps: Sequence[Step], over: str, *, is_stuck: bool) -> dict[str, Any]:
    """Return the update of the model's decision; `over` is the budget that is used up, so that it has to end."""
    check = None if over else _check(run, state, steps)
    schema: type[PlannerReply] = ProgramPlannerReply if run.writes_programs else PlannerReply
    prompt = _prompt(run, state, steps, over)
    reply = run.models.ask("planner", prompt, schema, check=check, callbacks=[run.answer])
    if reply.decision == "end":
        return ended(run, state, steps, reply.text, fulfilled=is_fulfilled(state, steps, reply) and not is_stuck)
    if over:
        return ended(run, state, steps, used_up_text(over, steps), fulfilled=False)
    if reply.decision == "continue" and steps:
        kind: Decision = {"kind": "continue", "text": reply.text, "thought": reply.thought, "last": reply.is_last}
        return _decided(run, kind)
    return _planned(run, state, reply.text, reply.thought, task=state["task"] + 1, is_last=reply.is_last)


def _check(run: Run, state: State, steps: Sequence[Step]) -> Callable[[PlannerReply], None]:
    """Return the check of a decision: a doubt about its answer, and no going on with a change that was made."""
    doubted, last = doubt(state, steps), steps[-1] if steps else None

    def check(reply: PlannerReply) -> None:
        if doubted is not None:
            doubted(reply)
        if reply.decision == "continue" and last and changes(last) and is_same(reply.text, last["said"]):
            raise ValueError("text: that was done, as the last result shows. Say only what is still missing, or end.")

    return check


def _planned(run: Run, state: State, text: str, thought: str, *, task: int, is_last: bool = False) -> dict[str, Any]:
    decision: Decision = {"kind": "plan", "text": text, "thought": thought, "last": is_last}
    return _decided(run, decision, plan=text, task=task)


def _decided(run: Run, decision: Decision, **changed: Any) -> dict[str, Any]:
    return {"decision": decision, "hint": "", "proposal": None, "usage": run.usage(), **changed}


def _prompt(run: Run, state: State, steps: Sequence[Step], over: str) -> list[BaseMessage]:
    """Return the prompt: the constant rules, then the growing turn, so that the provider can cache the prefix."""
    prompt: list[BaseMessage] = [
        SystemMessage(
            render(
                "planner",
                run.context.planner_prompt,
                apis=apis_text(run, topic(state)),
                last=f"\n{render('planner_program')}" if run.writes_programs else "",
                examples=run.examples("planner"),
            )
        ),
        turn_message(run, state["messages"], state["instruction"]),
    ]
    for step, result, remark in zip(steps, bounded_results(steps), remarks(steps), strict=True):
        prompt += [decision_message(step), HumanMessage(f"{fenced('result', result)}{remark}")]
    if over:
        last = fenced("result", steps[-1]["result"]) if steps else ""
        prompt[-1] = HumanMessage(render("planner_last", result=last, reason=over))
    return prompt
