"""The end of a turn: the answer to the user, and the list of held requests of a dry run."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AnyMessage
from typing_extensions import TypedDict

from restgpt.nodes.conversation import answer_message
from restgpt.nodes.records import Decision, Step
from restgpt.nodes.resources import Run


class Told(TypedDict):
    """The state keys that may have told something of an answer."""

    messages: list[AnyMessage]
    steps: list[Step]


def ended(
    run: Run, state: Told, steps: Sequence[Step], answer: str, *, fulfilled: bool, remark: str = ""
) -> dict[str, Any]:
    """Return the update that ends the turn with an answer; `remark` follows the list of held requests.

    `steps` are those of the turn, of which `state` may lack the last one.
    """
    text = f"{answer}{_held(run, steps)}{remark}".strip()
    decision: Decision = {"kind": "end", "text": text, "fulfilled": fulfilled}
    message = run.answer.finished(answer_message(run.catalogue, [*state["steps"], *steps], state["messages"], text))
    return {"decision": decision, "hint": "", "usage": run.usage(), "answer": text, "messages": [message]}


def _held(run: Run, steps: Sequence[Step]) -> str:
    """Return the list of held requests for the answer of a dry run."""
    if run.context.writes != "dry-run":
        return ""
    held = [request for step in steps for request in step["requests"] if request["status"] == "held"]
    if not held:
        return "\n\nDry run: no request that changes something was needed."
    lines = [f"{number}. {request['note']}" for number, request in enumerate(held, 1)]
    return "\n\nDry run: nothing was changed. These requests would have been sent:\n" + "\n".join(lines)
