"""The end of a turn: the answer, the list of held requests of a dry run, and the doubt about one without calls.

The form of an answer: a typed value beside the text, for a host that gives a schema as `create_agent` takes it.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import BaseModel, TypeAdapter, create_model

from restgpt.calling.record import Request, is_done
from restgpt.nodes.dialogue.conversation import answer_message, told_apis
from restgpt.nodes.run.run import Run
from restgpt.nodes.state.records import Decision, Proposal, Step
from restgpt.nodes.state.results import bounded_results, told_results
from restgpt.nodes.state.state import State
from restgpt.prompts import fenced, render
from restgpt.tools.model.model_errors import ModelReplyError, UsedUpError
from restgpt.tools.model.reply import json_in


def rests_on_nothing(state: State, steps: Sequence[Step]) -> bool:
    """Return whether no call was made in this turn and none was answered in an earlier one."""
    return not (told_apis(state["messages"]) or any(step["requests"] for step in steps))


def is_fulfilled(state: State, steps: Sequence[Step], reply: Any) -> bool:
    """Return whether a reply ends a fulfilled turn: as it says, or if it says nothing, if a call succeeded."""
    made = [request for step in steps for request in step["requests"]]
    if reply.fulfilled is None:
        return is_any_done(made)
    return reply.fulfilled and may_be_fulfilled(state, made)


def is_any_done(requests: Iterable[Request]) -> bool:
    """Return whether a call succeeded, or would have been sent but for a dry run."""
    return any(is_done(request) or request["status"] == "held" for request in requests)


def may_be_fulfilled(state: State, requests: Sequence[Request]) -> bool:
    """Return whether a turn with these `requests` can have carried out its instruction.

    It cannot if it made calls, none of them succeeded, and no earlier answer of the thread may hold what is asked for.
    """
    return not requests or is_any_done(requests) or bool(told_apis(state["messages"]))


def doubt(state: State, steps: Sequence[Step]) -> Callable[[Any], None] | None:
    """Return a check that asks once about an end of a thread without calls that does not say it is unfulfilled.

    It is for `ask`: it raises `ValueError`. None if results of this or an earlier turn may hold the answer.
    """
    if not rests_on_nothing(state, steps):
        return None
    doubted: list[Any] = []

    def check(reply: Any) -> None:
        if reply.decision == "end" and reply.fulfilled is not False and not doubted:
            doubted.append(reply)
            raise ValueError(
                "It ends the turn, but nothing was called. Decide to call functions if the "
                "answer depends on what the API holds, or something is to be changed. End again with the same answer "
                "if nothing has to be called; if it cannot be done, end with `fulfilled` false."
            )

    return check


def ended(
    run: Run, state: State, steps: Sequence[Step], answer: str, *, fulfilled: bool, remark: str = ""
) -> dict[str, Any]:
    """Return the update that ends the turn with an answer; `remark` follows the list of held requests.

    `steps` are those of the turn, of which `state` may lack the last one.
    """
    text = f"{answer}{_held(run, steps)}{remark}".strip()
    decision: Decision = {"kind": "end", "text": text, "fulfilled": fulfilled}
    by = (run.agent, state.get("asked", ""))
    message = run.answer.finished(answer_message([*state["steps"], *steps], state["messages"], text, by))
    ended = {"decision": decision, "answer": text, "messages": [message]}
    return {**ended, "hint": "", "proposal": None, "usage": run.usage()}


def proposed_end(run: Run, state: State, steps: Sequence[Step], proposal: Proposal) -> dict[str, Any]:
    """Return the update that ends the turn with the answer that caller or parser propose."""
    if shown := proposal.get("shown"):
        run.answer.resume(shown[0], proposal["text"][: shown[1]])
    fulfilled, remark = proposal.get("fulfilled", False), proposal.get("remark", "")
    return ended(run, state, steps, proposal["text"], fulfilled=fulfilled, remark=remark)


def used_up_text(budget: str, steps: Sequence[Step]) -> str:
    """Return the answer of a turn whose `budget` is used up: what was found until then."""
    return found_text(f"The budget for this instruction is used up ({budget}), so it could not be finished.", steps)


def given_up(reason: str, steps: Sequence[Step]) -> Proposal:
    """Return the proposal to end the turn for a reason, with what was found until then."""
    return {"kind": "end", "text": found_text(reason, steps), "fulfilled": False}


def found_text(reason: str, steps: Sequence[Step]) -> str:
    """Return the answer of a turn that ends for a reason: what was found until then."""
    found = told_results(steps)
    return f"{reason} What was found until then:\n{found}" if found else f"{reason} Nothing was found until then."


def _held(run: Run, steps: Sequence[Step]) -> str:
    """Return the list of held requests for the answer of a dry run."""
    if run.context.writes != "dry-run":
        return ""
    held = [request for step in steps for request in step["requests"] if request["status"] == "held"]
    if not held:
        return "\n\nDry run: no request that changes something was needed."
    lines = [f"{number}. {request['note']}" for number, request in enumerate(held, 1)]
    return "\n\nDry run: nothing was changed. These requests would have been sent:\n" + "\n".join(lines)


MOST_SCHEMA = 4000
"""The most characters of a form's JSON Schema in the prompts of the roles; they do not see a longer one."""


class Form:
    """The type of the answer: a pydantic model, a dataclass or a `TypedDict`; raises `TypeError` for anything else."""

    def __init__(self, kind: type[Any]) -> None:
        if not isinstance(kind, type):
            raise TypeError(
                f"response_format is a pydantic model, a dataclass or a TypedDict, not {type(kind).__name__}."
            )
        self._adapter: TypeAdapter[Any] = TypeAdapter(kind)
        is_model = issubclass(kind, BaseModel)
        self._reply: type[BaseModel] = kind if is_model else create_model(kind.__name__, value=(kind, ...))
        self._is_model = is_model

    @property
    def rule(self) -> str:
        """What the roles are told of the form, so that a report has it already."""
        schema = json.dumps(self._adapter.json_schema(), ensure_ascii=False, separators=(",", ":"))
        return render("form", schema=schema).strip() if len(schema) <= MOST_SCHEMA else ""

    def value(self, run: Run, instruction: str, steps: Sequence[Step], answer: str) -> Any:
        """Return the answer in its form: as it is, or as the planner's model puts it; None if it cannot."""
        text = answer.strip()
        if text.startswith("{") and text.endswith("}"):
            try:
                return self._adapter.validate_python(json_in(text))
            except ValueError:
                # No JSON, or of another form.
                pass
        results = fenced("result", "\n".join(bounded_results(steps)))
        task = render("formed_task", instruction=instruction, answer=answer, results=results)
        try:
            reply: Any = run.models.ask("planner", [SystemMessage(render("formed")), HumanMessage(task)], self._reply)
        except (ModelReplyError, UsedUpError):
            return None
        return reply if self._is_model else reply.value
