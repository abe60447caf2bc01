"""The question about a change as an elicitation: its text, its form or its page, and the person's answer to it.

The text is the description of the question, which is complete. The form has a choice and a reason. To edit
a request, a person uses the page of `restgpt ui`, or `restgpt resume --edit`. The address of the page has no token: the
protocol forbids an address by which a client could act as its user.
"""

from collections.abc import Mapping
from typing import Any

from mcp import types

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

ON_PAGE = "A change waits for your decision. Approve, edit or reject it on the page of `restgpt ui`."

DECLINED = "The person declined."


def elicitations(
    pending: Pending, capabilities: types.ClientCapabilities | None, page: str
) -> list[types.ElicitRequest]:
    """Return the requests by which a client can be asked, the best one first; `page` is an address, if there is one.

    A declaration of elicitation that is empty means forms.
    """
    declared = None if capabilities is None else capabilities.elicitation
    if declared is None:
        return []
    found = []
    if declared.form is not None or declared.url is None:
        found.append(
            types.ElicitRequest(params=types.ElicitRequestFormParams(message=question(pending), requested_schema=FORM))
        )
    if declared.url is not None and page:
        message = f"{ON_PAGE}\n\n{question(pending)}"
        found.append(types.ElicitRequest(params=types.ElicitRequestURLParams(message=message, url=page)))
    return found


def question(pending: Pending) -> str:
    """Return the text of the question: the description of each call, and what one answer counts for."""
    count = len(pending.actions)
    if count == 1:
        return pending.description
    parts = [
        f"Request {number} of {count}\n\n{action['description']}" for number, action in enumerate(pending.actions, 1)
    ]
    return "\n\n".join([f"One answer counts for all {count} requests.", *parts])


def decision_of(answer: Any) -> Mapping[str, Any] | None:
    """Return the decision in a client's answer; None if it decides nothing, so that the question stays open.

    To decline is to reject. A form that was cancelled, or that has no valid choice, decides nothing.
    """
    if not isinstance(answer, types.ElicitResult):
        return None
    if answer.action == "decline":
        return {"type": "reject", "message": DECLINED}
    content = answer.content or {}
    if answer.action != "accept" or content.get("decision") not in ("approve", "reject"):
        return None
    if content["decision"] == "approve":
        return {"type": "approve"}
    return {"type": "reject", "message": str(content.get("reason") or "")[:MOST_REASON]}
