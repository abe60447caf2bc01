"""Approval: the pause before a request that changes something.

The payload is that of LangChain's human-in-the-loop middleware, so that every client of it can show and answer it.
What a person is asked about is in the state before the pause: the answer is for that, whatever the policy says by then.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from typing_extensions import TypedDict

from restgpt.calling.idempotency import key_header, with_key
from restgpt.calling.origin import Provenance
from restgpt.calling.policy import Verdict, unmet, verdict
from restgpt.calling.provenance import described as origin_of
from restgpt.calling.provenance import trace
from restgpt.calling.undo import outlook
from restgpt.nodes.context import Context
from restgpt.nodes.records import Request
from restgpt.nodes.resources import Resources, Run
from restgpt.nodes.target import described, look, target_of
from restgpt.specs import Operation
from restgpt.specs.docs.summary import summary_line
from restgpt.tools.errors import ArgumentError
from restgpt.tools.request.build import PreparedRequest, build_request
from restgpt.tools.response.sketch import storable_value

DECISIONS = ["approve", "edit", "reject", "respond"]
UNSURE_DECISIONS = ["approve", "reject"]
UNREADABLE = "unreadable"

ORIGINS_SHOWN = 20
"""Of how many arguments a person is told where they come from."""


class ApprovalState(TypedDict):
    """What approval reads."""

    round: int
    requests: list[Request]


def make_approval(resources: Resources) -> Callable[..., dict[str, Any]]:
    """The approval node over `resources`."""

    def approval(state: ApprovalState, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        run = resources.open(runtime, config)
        asked = [request for request in state["requests"] if request["status"] == "asked"]
        if not asked:
            planned = [request for request in state["requests"] if request["status"] == "planned"]
            return {"requests": [_decided(run, request) for request in planned], "usage": run.usage()}
        answered = _ask(run, asked)
        waiting = [request for request in state["requests"] if request["status"] == "approved"]
        barred = [kept for request in waiting if (kept := _barred(run, request))]
        return {"requests": [*answered, *barred, *_given_up(waiting, answered)], "usage": run.usage()}

    return approval


def _given_up(waiting: Sequence[Request], answered: Sequence[Request]) -> list[Request]:
    """The changes that wait behind one whose outcome stays unknown: they are not sent."""
    if not any(request["status"] == "failed" for request in answered):
        return []
    note = "Not sent, because it is not known whether the change before it was carried out."
    return [{**request, "status": "rejected", "note": note} for request in waiting if not request["safe"]]


def _prepared(run: Run, request: Request) -> PreparedRequest:
    return build_request(run.catalogue.operation(request["operation"]), request["arguments"])


def _decided(run: Run, request: Request) -> Request:
    """What the policy alone decides, and whether a person is asked."""
    if barred := _barred(run, request):
        return barred
    is_allowed = _verdict(run, request) == "allow" and not request.get("unsure")
    return {**request, "status": "approved" if is_allowed else "asked", "note": ""}


def _barred(run: Run, request: Request) -> Request | None:
    """The request as the policy keeps it back, whatever a person said; None where it may go out."""
    operation = run.catalogue.operation(request["operation"])
    said = _verdict(run, request)
    if said == "deny":
        return {**request, "status": "rejected", "note": _denied(run, request)}
    settings = run.resources.settings
    if foreign := unmet(operation, request["arguments"], request.get("provenance", ()), settings=settings):
        return {**request, "status": "rejected", "note": _not_the_users(foreign)}
    if said == "hold" and not (request.get("unsure") or request.get("sends")):
        return {**request, "status": "held", "note": summary(run.shown(_prepared(run, request)))}
    return None


def _verdict(run: Run, request: Request) -> Verdict:
    operation = run.catalogue.operation(request["operation"])
    return verdict(operation, writes=run.context.writes, settings=run.resources.settings)


def _denied(run: Run, request: Request) -> str:
    if run.context.writes == "deny" and not request["safe"]:
        return "The policy of this run allows no changes (writes: deny)."
    return "A rule of the user, or the API's document, does not allow this request."


def _not_the_users(foreign: Sequence[Provenance]) -> str:
    names = ", ".join(item["pointer"] for item in foreign[:ORIGINS_SHOWN])
    names += f" and {len(foreign) - ORIGINS_SHOWN} more" if len(foreign) > ORIGINS_SHOWN else ""
    return f"The policy wants these values from the user, who did not say them: {names}. Ask for them in the answer."


def _ask(run: Run, requests: Sequence[Request]) -> list[Request]:
    """Pause until a person has decided on each; what cannot be used stays asked, with the reason in its note."""
    allowed = {request["operation"]: DECISIONS for request in requests}
    allowed |= {request["operation"]: UNSURE_DECISIONS for request in requests if request.get("unsure")}
    payload = {
        "action_requests": [_action(run, request) for request in requests],
        "review_configs": [{"action_name": name, "allowed_decisions": kinds} for name, kinds in allowed.items()],
    }
    decisions = _decisions(interrupt(payload), len(requests))
    answered = [_outcome(run, request, said) for request, said in zip(requests, decisions, strict=True)]
    return [(request["status"] == "approved" and _barred(run, request)) or request for request in answered]


def _action(run: Run, request: Request) -> dict[str, Any]:
    operation = run.catalogue.operation(request["operation"])
    shown = storable_value(run.shown(_prepared(run, request)))
    earlier = look(run, operation, request["arguments"])
    target = target_of(operation, request["arguments"], earlier)
    undo = outlook(operation, request["arguments"], earlier)
    lines = [
        *([f"That decision cannot be used: {request['note']}"] if request["note"] else []),
        *(_unsure_lines(operation) if request.get("unsure") else []),
        summary(shown),
        _on_one_line(f"What it does: {operation.summary or operation.description or summary_line(operation)}"),
        *map(_on_one_line, described(target)),
        *([] if operation.is_safe else [undo]),
        _on_one_line(f"Why: {request['description']}"),
        *map(_on_one_line, _origins(request)),
    ]
    return {
        "name": request["operation"],
        "args": request["arguments"],
        "description": "\n".join(lines),
        "request": shown,
        "target": target,
        "undo": undo,
        "provenance": list(request.get("provenance", ())),
    }


def _on_one_line(text: str) -> str:
    """Words of models, documents and APIs, which could pass for lines of this program's own."""
    return " ".join(text.split())


def _unsure_lines(operation: Operation) -> list[str]:
    lines = [
        "This request was being sent when the run was interrupted. It may or may not have been carried out.",
        "Approve: send it again. Reject: do not send it.",
    ]
    if key_header(operation):
        lines.append("It carries the same idempotency key as before, by which the API can tell that it is the same.")
    return lines


def _origins(request: Request) -> list[str]:
    """Where values come from that the user did not say, a line each."""
    told = [item for item in request.get("provenance", ()) if item["origin"] in ("response", "model")]
    lines = [f"- {origin_of(item)}" for item in told[:ORIGINS_SHOWN]]
    more = [f"- and {len(told) - ORIGINS_SHOWN} more"] if len(told) > ORIGINS_SHOWN else []
    return ["Where values come from:", *lines, *more] if lines else []


def summary(shown: dict[str, Any]) -> str:
    """A redacted request in a line or two: method, URL, body."""
    body = shown.get("body")
    line = f"{shown['method']} {shown['url']}"
    if body in (None, ""):
        return line
    return f"{line}\n{body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)}"


def _decisions(answer: Any, wanted: int) -> list[dict[str, Any]]:
    """The decisions in a resume value; an unreadable value is no decision, and is asked for again.

    Accepted are the middleware's `{"decisions": […]}`, one decision for all, and the plain words approve and reject.
    """
    if isinstance(answer, str):
        answer = {"type": answer}
    if isinstance(answer, dict) and "type" in answer:
        answer = {"decisions": [answer] * wanted}
    decisions = answer.get("decisions") if isinstance(answer, dict) else answer
    if not isinstance(decisions, list) or len(decisions) != wanted:
        return [{"type": UNREADABLE}] * wanted
    return [decision if isinstance(decision, dict) else {"type": UNREADABLE} for decision in decisions]


def _outcome(run: Run, request: Request, decision: dict[str, Any]) -> Request:
    """The request as decided; it stays asked, with the reason, if the decision cannot be used."""
    kind, message = decision.get("type"), str(decision.get("message") or "")
    if kind == UNREADABLE:
        good = '{"decisions": [{"type": "approve"}]}'
        return {**request, "note": f"the answer could not be read; a good one is {good}, one for each"}
    if request.get("unsure"):
        return _settled(request, kind)
    if kind == "approve":
        return {**request, "status": "approved", "note": ""}
    if kind == "reject":
        return {**request, "status": "rejected", "note": f"The user rejected it. {message}".strip()}
    if kind == "respond":
        return {**request, "status": "rejected", "note": f"The user answered instead: {message}"}
    if kind == "edit":
        return _edited(run, request, decision.get("edited_action"))
    return {**request, "note": f"unknown decision {kind!r}; it is one of {', '.join(DECISIONS)}"}


def _settled(request: Request, kind: Any) -> Request:
    """What becomes of a change whose outcome is unknown: one more try, or none. The answer is good for one try only."""
    if kind not in UNSURE_DECISIONS:
        reason = f"it is one of {', '.join(UNSURE_DECISIONS)}, since this very request may have been sent"
        return {**request, "note": reason}
    tries = request.get("unsure", 0)
    settled: Request = {**request, "unsure": 0}
    if kind == "approve":
        return {**settled, "status": "approved", "note": "", "sends": tries + 1}
    note = "It was being sent when the run was interrupted; whether it was carried out is not known."
    return {**settled, "status": "failed", "note": note}


def _edited(run: Run, request: Request, action: Any) -> Request:
    action = action if isinstance(action, dict) else {}
    given = action.get("args")
    if not isinstance(given, dict):
        reason = 'an edit has the arguments by place: {"edited_action": {"name": …, "args": {"body": …}}}'
        return {**request, "note": reason}
    if action.get("name", request["operation"]) != request["operation"]:
        return {**request, "note": "an edit changes the arguments, not the operation; reject it instead"}
    operation = run.catalogue.operation(request["operation"])
    given = storable_value(given)
    said = json.dumps(given, ensure_ascii=False)
    try:
        # With an idempotency key of its own: in a fork of its thread, the request as it was may have been sent.
        edited: Request = {**request, "arguments": with_key(operation, given, f"{request['id']} {said}")}
        prepared = _prepared(run, edited)
    except ArgumentError as error:
        return {**request, "note": str(error)}
    changes: dict[str, Any] = {"fingerprint": prepared.fingerprint, "note": "Edited by the user."}
    changes["provenance"] = trace(operation, given, said=said)
    return cast(Request, {**edited, "status": "approved", **changes})
