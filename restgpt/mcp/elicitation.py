"""The question about a change as an elicitation: its text, its form, and the person's answer to it.

The text is the description of the question, which is complete. The form has a choice and a reason. To edit
a request, a person uses `restgpt resume --edit`.
"""

from collections.abc import Mapping
from typing import Any

from mcp.types import ClientCapabilities, ElicitRequest, ElicitRequestFormParams, ElicitResult

from restgpt.outcome import Pending

KEY = "approval"
"""The key of the elicitation among the input requests of a result."""

MOST_REASON = 1_000
"""The most characters that are kept of a reason."""

FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "decision": {
            "type": "string",
            "enum": ["approve", "reject"],
            "title": "Decision",
            "description": "approve: send exactly what is shown. reject: do not send it.",
        },
        "reason": {
            "type": "string",
            "title": "Reason",
            "description": "Why it is rejected. May be left out.",
            "default": "",
        },
    },
    "required": ["decision"],
}

DECLINED = "The person declined."


def is_asked_by_form(capabilities: ClientCapabilities | None) -> bool:
    """Return whether a client declared that it can put a form to its user; an empty declaration means forms."""
    declared = None if capabilities is None else capabilities.elicitation
    return declared is not None and (declared.form is not None or declared.url is None)


def question(pending: Pending) -> str:
    """Return the text of the question: the description of each call, and what one answer counts for."""
    count = len(pending.actions)
    if count == 1:
        return pending.description
    parts = [
        f"Request {number} of {count}\n\n{action['description']}" for number, action in enumerate(pending.actions, 1)
    ]
    return "\n\n".join([f"One answer counts for all {count} requests.", *parts])


def elicitation(pending: Pending) -> ElicitRequest:
    """Return the question as a request to a client."""
    return ElicitRequest(params=ElicitRequestFormParams(message=question(pending), requested_schema=FORM))


def decision_of(answer: Any) -> Mapping[str, Any] | None:
    """Return the decision in a client's answer; None if it decides nothing, so that the question stays open.

    To decline is to reject. A form that was cancelled, or that has no valid choice, decides nothing.
    """
    if not isinstance(answer, ElicitResult):
        return None
    if answer.action == "decline":
        return {"type": "reject", "message": DECLINED}
    content = answer.content or {}
    if answer.action != "accept" or content.get("decision") not in ("approve", "reject"):
        return None
    if content["decision"] == "approve":
        return {"type": "approve"}
    return {"type": "reject", "message": str(content.get("reason") or "")[:MOST_REASON]}
