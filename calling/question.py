"""The question about a call: the exact redacted request, its target, how to undo it, the origin of its values."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from restgpt.calling.allowance import is_by_choices
from restgpt.calling.call import Ask, Decided, Done, Draft, Held
from restgpt.calling.confirmations import key_of
from restgpt.calling.decision import ONLY_READS, confirms, decide, needs_person
from restgpt.calling.idempotency import key_header
from restgpt.calling.provenance import described
from restgpt.calling.record import AskedFlow
from restgpt.calling.remedy import outlook
from restgpt.calling.session import Session
from restgpt.calling.target import FieldChange, changes_text, shown_target, target_lines
from restgpt.specs import Operation
from restgpt.specs.docs.summary import summary_line
from restgpt.tools.storable import storable_value

T = TypeVar("T")

DESCRIPTION_SHOWN = 600
"""How many characters of a description a question shows, if the person may confirm that the operation only reads."""

ORIGINS_SHOWN = 20
"""How many arguments a question lists with their origin."""


def present(session: Session, decided: T, *, changed: Sequence[FieldChange] | None = None) -> T:
    """Fill in what a person sees of a question or of a held call; anything else is left as it is.

    The target of a change is looked at for its question, unless it is known already. `changed` is what changed in the
    target after a person had approved; empty if it could not be read again.
    """
    if isinstance(decided, Held):
        return replace(decided, summary=request_summary(session.shown(decided.draft.request)))
    if not isinstance(decided, Ask):
        return decided
    if decided.action:
        lines = str(decided.action["description"]).split("\n")
        told = [*_unusable_lines(decided.note), *lines[lines[0].startswith(UNUSABLE) :]]
        return replace(decided, action={**decided.action, "description": "\n".join(told)})
    draft, target = decided.draft, decided.target
    flow = _asked_flow(session, draft)
    # A look would send the very values that the question is about.
    if not target.is_known and changed is None and not flow:
        target = session.look(draft.operation, draft.settled)
    shown = storable_value(session.shown(draft.request))
    there = shown_target(draft.operation, draft.settled, target)
    offered = {} if draft.confirm or decided.unsure else _offered(session, draft.operation)
    undo = outlook(draft.operation, draft.settled, target.earlier)
    lines = [
        *_unusable_lines(decided.note),
        *(_unsure_lines(draft.operation) if decided.unsure else []),
        *([] if changed is None else [on_one_line(_changed_line(changed))]),
        request_summary(shown),
        *_pages_lines(draft.pages),
        *map(on_one_line, _flow_lines(flow)),
        on_one_line(f"What it does: {_purpose(draft.operation)}"),
        *(_description_lines(draft.operation) if offered else []),
        *map(on_one_line, target_lines(there)),
        *_effect_lines(draft, undo),
        on_one_line(f"Why: {session.redacted(draft.description)}"),
        *map(on_one_line, _origin_lines(draft)),
    ]
    action: dict[str, Any] = {
        "name": draft.name,
        "args": dict(draft.arguments),
        "description": "\n".join(lines),
        "request": shown,
        "target": there,
        "undo": undo,
        "provenance": list(draft.provenance),
        **offered,
        **({"flow": flow} if flow else {}),
        **({"further_pages": draft.pages - 1} if draft.pages > 1 else {}),
    }
    return replace(decided, action=action, target=target)


def answered(session: Session, ask: Ask, answer: Mapping[str, Any]) -> Decided | Done:
    """Decide a question by a person's answer, and present the result; a read that the person confirms is kept first."""
    if confirms(ask, answer, session.rules):
        session.rules.confirmations.remember(ask.draft.operation, ask.action["effect"]["reason"])
    return present(session, decide(ask, session.rules, answer))


def _asked_flow(session: Session, draft: Draft) -> AskedFlow | None:
    """The values of other APIs that a question is about; None if there are none, or a person allowed them before."""
    crossing = session.rules.crossing(draft.operation, draft.flow)
    if draft.flow is None or not crossing:
        return None
    return {
        "sources": crossing,
        "to": draft.operation.api.name,
        "is_only": not needs_person(draft, session.rules),
        "by_choices": is_by_choices(draft.flow, crossing),
    }


def _flow_lines(flow: AskedFlow | None) -> list[str]:
    if flow is None:
        return []
    names, to = ", ".join(flow["sources"].values()), flow["to"]
    told = f"Values of {names} may go to {to} with this request."
    if flow["by_choices"]:
        told = f"Many values were chosen for {to} since {names} answered; the choices may tell {to} that answer."
    return [f"{told} An approval allows {names} → {to} until this instruction is done."]


def _offered(session: Session, operation: Operation) -> dict[str, Any]:
    """The key `effect` of a question: the person may confirm a read, and with which decision; else nothing."""
    if not session.rules.can_confirm(operation):
        return {}
    reason = session.rules.effect(operation).reason
    confirm = {"type": "approve", ONLY_READS: True}
    return {"effect": {"kind": "read", "reason": reason, "key": key_of(operation), "confirm": confirm}}


def _effect_lines(draft: Draft, undo: str) -> list[str]:
    """The way back from a change; for a proposed read, its reason comes first."""
    if draft.effect.is_read:
        return []
    if not draft.effect.is_proposed:
        return [undo]
    return [f"It seems only to read: {draft.effect.reason}.", f"If it changes something all the same: {undo}"]


def _pages_lines(pages: int) -> list[str]:
    return [f"and up to {pages - 1} further pages of the list, a request each"] if pages > 1 else []


UNUSABLE = "That decision cannot be used: "


def _unusable_lines(note: str) -> list[str]:
    return [on_one_line(f"{UNUSABLE}{note}")] if note else []


def on_one_line(text: str) -> str:
    """Words of models, documents and APIs on one line, so that they cannot pass for lines of this program's own."""
    return " ".join(text.split())


def request_summary(shown: dict[str, Any]) -> str:
    """A redacted request in a line or two: method, URL, body."""
    body = shown.get("body")
    line = f"{shown['method']} {shown['url']}"
    if body in (None, ""):
        return line
    return f"{line}\n{body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)}"


def _purpose(operation: Operation) -> str:
    return operation.summary or operation.description or summary_line(operation)


def _description_lines(operation: Operation) -> list[str]:
    """The document's description, for a person who may confirm: it may mention a change that the summary leaves out."""
    told = on_one_line(operation.description)
    if not told or told == on_one_line(_purpose(operation)):
        return []
    cut = f"{told[:DESCRIPTION_SHOWN]} … (of {len(told)} characters)" if len(told) > DESCRIPTION_SHOWN else told
    return [f"Its description: {cut}"]


def _changed_line(changed: Sequence[FieldChange]) -> str:
    if not changed:
        return "The target of this request could not be read again right before sending, so it was not sent."
    return f"The target has changed since this request was approved, so it was not sent: {changes_text(changed)}"


def _unsure_lines(operation: Operation) -> list[str]:
    lines = [
        "This request was being sent when the run was interrupted. It may or may not have been carried out.",
        "Approve: send it again. Reject: do not send it.",
    ]
    if key_header(operation):
        lines.append("It carries the same idempotency key as before, by which the API can tell that it is the same.")
    return lines


def _origin_lines(draft: Draft) -> list[str]:
    """The origin of each value that the user did not say, a line each."""
    told = [item for item in draft.provenance if item["origin"] in ("response", "model", "program")]
    lines = [f"- {described(item)}" for item in told[:ORIGINS_SHOWN]]
    more = [f"- and {len(told) - ORIGINS_SHOWN} more"] if len(told) > ORIGINS_SHOWN else []
    return ["Where values come from:", *lines, *more] if lines else []
