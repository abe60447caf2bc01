"""The rules that say which calls are sent without asking, and which arguments must be the user's own.

The decision on a call: by the rules alone, or by a person's answer to exactly this question, under the rules.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

from restgpt.calling.call import Call, Problems, edited
from restgpt.calling.idempotency import key_header
from restgpt.calling.origin.flow import api_record, entry_id
from restgpt.calling.origin.provenance import foreign
from restgpt.calling.permissions import Permission, Permissions, key_of
from restgpt.calling.record import UNDO, FlowRecord, Provenance, has_expired
from restgpt.calling.scope import can_hold, is_in
from restgpt.calling.target import reader_arguments, reader_of
from restgpt.specs import Operation
from restgpt.specs.effect import Effect, effect_of
from restgpt.tools.settings import Settings
from restgpt.tools.settings.entry import FAILURES, MODEL, Decision

Verdict = Literal["allow", "ask", "deny", "hold"]
Writes = Literal["ask", "allow", "deny", "dry-run"]

EXTENSION = "x-restgpt-policy"
"""An operation of a document may ask for care: `ask` or `deny`. It cannot loosen what the user configured."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The user's rules for each API, what a person permitted, and how this run treats changes (`writes`).

    After `hours` a question that nobody answered counts as rejected, if they are not 0. Seam: `now`, in seconds since
    1970.
    """

    settings: Settings
    writes: Writes = "ask"
    permissions: Permissions = field(default_factory=Permissions, compare=False)
    hours: float = 0
    now: Callable[[], float] = field(default=time.time, compare=False)

    def expiry(self) -> str:
        """The time (ISO 8601) after which a question that is asked now counts as rejected; empty without one."""
        moment = datetime.fromtimestamp(self.now() + self.hours * 3600, UTC)
        return moment.isoformat(timespec="seconds") if self.hours else ""

    def is_late(self, ask: Call) -> bool:
        """Whether an answer to a question comes after its expiry."""
        return has_expired(ask.question, self.now())

    def effect(self, operation: Operation) -> Effect:
        """The effect of an operation at this moment: by `apis.yaml`, else by its document.

        If the document only makes it a proposal, a confirmation of a person makes it certain.
        """
        found = self._told(operation)
        if found.is_proposed and self.permissions.reads(operation):
            return Effect("read", "confirmed", f"a person confirmed that it only reads; {found.reason}")
        return found

    def reads(self, operation: Operation) -> bool:
        """Whether an operation reads or seems to: for order, pages and prompts, never for sending a request unasked."""
        return self._told(operation).kind == "read"

    def _told(self, operation: Operation) -> Effect:
        for entry in self.settings.rules(operation.api) if operation.acts_as == operation.method else ():
            if kind := entry.effect(operation):
                return Effect(kind, "settings", f"a rule of apis.yaml says {kind}")
        return effect_of(operation)

    def can_confirm(self, operation: Operation) -> bool:
        """Whether a person may confirm an operation as a read, so that it is not asked about again.

        The operation has to seem to read, and no rule of the user and no wish of the document may ask about it.
        """
        return self.effect(operation).is_proposed and not self.is_ruled(operation)

    def is_ruled(self, operation: Operation) -> bool:
        """Whether a rule of the user or a wish of the document decides on an operation: it has the last word."""
        return self._rule(operation) is not None

    def verdict(self, operation: Operation) -> Verdict:
        """Whether a request of `operation` is sent at once, shown to a person first, refused, or only shown.

        The user's rules for the API go first, then the document's own request for care, then `writes`: requests that
        certainly only read are sent, others are asked for, allowed, denied, or held in a dry run. No rule lets a change
        through a run that denies or holds changes.
        """
        rule, is_read = self._rule(operation), self.effect(operation).is_read
        if rule == "deny":
            return "deny"
        if not is_read and self.writes in ("deny", "dry-run"):
            return "deny" if self.writes == "deny" else "hold"
        if rule is not None:
            return rule
        return "allow" if is_read or self.writes == "allow" else "ask"

    def _rule(self, operation: Operation) -> Decision | None:
        """The decision of the rules; where a request names another method, those for its own only tighten it."""
        named = self._rule_of(operation)
        if operation.acts_as == operation.method:
            return named
        both = {named, self._rule_of(operation.acting_as(operation.method))}
        return "deny" if "deny" in both else "ask" if "ask" in both else named

    def _rule_of(self, operation: Operation) -> Decision | None:
        decisions = [entry.decide(operation) for entry in self.settings.rules(operation.api)]
        if operation.api.entry is not None:
            return decisions[0] or _wish(operation)
        strict = {*decisions, _wish(operation)}
        return "deny" if "deny" in strict else "ask" if "ask" in strict else None

    def reason(self, operation: Operation) -> str:
        """Why a rule of the user denies an operation; empty if none does, or it does not say."""
        found = [entry.rule(operation) for entry in self.settings.rules(operation.api)]
        return next((rule.reason for rule in found if rule is not None and rule.decision == "deny" and rule.reason), "")

    def failure(self, operation: Operation, values: Sequence[Any]) -> dict[str, Any]:
        """What answers with a status of success say of a failure, and whether the user said that they say so."""
        entry = self.settings.entry(operation.api)
        own = (entry.failures,) if entry is not None and entry.failures else ()
        text = next((text for rule in own or FAILURES for value in values if (text := rule.told_by(value))), "")
        return {"failure": text, "is_error": bool(own)} if text else {}

    def crossing(self, operation: Operation, flow: FlowRecord | None) -> dict[str, str]:
        """The other APIs whose values a call may send only after a person was asked, by id with their names."""
        if flow is None:
            return {}
        entry = self.settings.entry(operation.api)
        sources = entry.sources if entry else ()
        allowed = {entry_id(name) for name in sources if name != MODEL}
        api = api_record(operation.api)["id"]
        names = {**flow["carried"], **({} if MODEL in sources else flow["worded"])}
        return {
            source: name
            for source, name in names.items()
            if source not in allowed and not self.permissions.flow(flow["run"], source, api)
        }

    def crossing_refused(self, operation: Operation, flow: FlowRecord | None) -> list[str]:
        """The names of other APIs whose values a person refused to send to the API of an operation in this run."""
        if flow is None:
            return []
        api, crossing = api_record(operation.api)["id"], self.crossing(operation, flow)
        return [name for source, name in crossing.items() if self.permissions.flow(flow["run"], source, api) is False]

    def unmet(
        self, operation: Operation, arguments: Mapping[str, Any], provenance: Sequence[Provenance]
    ) -> list[Provenance]:
        """The arguments that a `from_user` rule reserves for the user, but that did not come from the user.

        The idempotency key does not count, since the program makes it.
        """
        own = f"/header/{key_header(operation)}"
        found = foreign(arguments, provenance, self._reserved(operation))
        return [item for item in found if item["pointer"] != own]

    def restricts(self, operation: Operation) -> bool:
        """Whether a rule reserves some argument of the operation for the user."""
        return bool(self._reserved(operation))

    def _reserved(self, operation: Operation) -> tuple[str, ...]:
        return tuple(name for entry in self.settings.rules(operation.api) for name in entry.from_user(operation))


def _wish(operation: Operation) -> Decision | None:
    wish = operation.extensions.get(EXTENSION)
    return wish if wish in ("ask", "deny") else None


NAMED = 20
"""How many arguments a refusal names."""

ONLY_READS = "only_reads"
"""The key of an approval that confirms a read. Only an answer at a pause has it: no prompt and no model can set it."""

REJECTED, ANSWERED = "The user rejected it.", "The user answered instead:"
"""How the note of a call begins that a person rejected, or answered with words; a reason follows, or the words."""

NOT_OFFERED = (
    "this request cannot be confirmed as a read. Approve it without only_reads, or add a rule under `effects` in "
    "apis.yaml"
)

OUTDATED = "the API's spec has changed since the question. Read the question again; it is shown anew"

NOT_KNOWN = "It was being sent when the run was interrupted; whether it was carried out is not known."


def decide(call: Call, rules: Rules, answer: Mapping[str, Any] | None = None) -> Call:
    """Decide whether a call is sent, shown to a person, held or refused.

    A draft is decided by the rules alone. A question is decided by a person's `answer`, one decision of LangChain's
    human-in-the-loop middleware; an answer that cannot be used, or none, leaves it asked with the reason as its note.
    A call that is ready is looked at once more. The rules of this moment always hold: what they bar is not sent,
    whatever a person said. A change of unknown outcome that a person or the rules do not want to be sent again has
    failed.
    """
    call = _renewed(call, rules)
    if call.stage == "approved":
        barred = _barred(call, rules)
        return _left(barred) if barred and call.sends > 1 else barred or call
    if call.stage == "planned":
        return _barred(call, rules) or _decided(call, rules)
    found = _answered(call, answer or {}, rules)
    return decide(found, rules) if found.stage == "approved" else found


def needs_person(draft: Call, rules: Rules) -> bool:
    """Whether a person decides on a call even if it sends nothing of another API."""
    return rules.verdict(draft.operation) != "allow" or draft.confirm or bool(draft.doubt or draft.unknown)


def can_permit(call: Call, rules: Rules) -> bool:
    """Whether a permission may let a call go out unasked, or be given with it, whatever its arguments are.

    None may for an undo, for a change of unknown outcome or one that seems to be repeated, for an operation that a
    rule or the document decides on, whose arguments must be the user's or whose request names another method, nor for
    what may send values of other APIs.
    """
    operation = call.operation
    doubts = call.unsure or call.confirm or call.doubt or call.unknown or call.flow or call.answered
    is_change = not call.effect.is_read and not call.effect.is_proposed and operation.acts_as == operation.method
    is_ruled = rules.is_ruled(operation) or rules.restricts(operation)
    return is_change and not doubts and not is_ruled and UNDO not in call.id and can_hold(call)


def permissions_for(call: Call, rules: Rules) -> list[Permission]:
    """The permissions of a person under which a call may go out unasked."""
    return rules.permissions.covering(call.operation, partial(is_in, call)) if can_permit(call, rules) else []


def _decided(draft: Call, rules: Rules) -> Call:
    """Decide on a call that no rule bars: values of other APIs go out only where settings or a person allow it."""
    if names := rules.crossing_refused(draft.operation, draft.flow):
        return draft.over("rejected", _not_between(names, draft.operation.api.name))
    if rules.crossing(draft.operation, draft.flow):
        return draft.asked()
    return draft.asked() if needs_person(draft, rules) else draft.approved(as_read=draft.effect.is_read)


def _renewed(call: Call, rules: Rules) -> Call:
    """The call with the effect of its operation as it is known at this moment.

    A call that was ready because it only reads, and of which that is not certain any more, is a draft again: nobody
    has approved it. So is one whose permission has been taken back, has ended, or does not cover it any more.
    """
    call = replace(call, effect=rules.effect(call.operation))
    if call.stage != "approved":
        return call
    is_open = call.permission and call.permission not in [item.key for item in permissions_for(call, rules)]
    return call.planned() if is_open or (call.as_read and not call.effect.is_read) else call


def confirms(ask: Call, answer: Mapping[str, Any], rules: Rules) -> bool:
    """Whether a person's answer confirms that an operation only reads.

    The question must have offered that for the operation as it is now, with the reason that holds at this moment too.
    """
    if answer.get("type") != "approve" or answer.get(ONLY_READS) is not True or "effect" not in ask.question:
        return False
    effect, offered = rules.effect(ask.operation), ask.question["effect"]
    return effect.kind == "read" and effect.reason.endswith(offered["reason"]) and not _is_outdated(ask)


def _is_outdated(ask: Call) -> bool:
    """Whether the operation in the document now differs from the one that the question offered to confirm."""
    offered = ask.question.get("effect")
    return offered is not None and offered.get("key") != key_of(ask.operation)


def _answered(ask: Call, answer: Mapping[str, Any], rules: Rules) -> Call:
    kind, message = answer.get("type"), str(answer.get("message") or "")
    if kind not in ask.allowed:
        return replace(ask, note=_unusable(ask, kind))
    if answer.get(ONLY_READS) and _is_outdated(ask):
        return replace(ask, question={}, note=OUTDATED)
    if answer.get(ONLY_READS) and not confirms(ask, answer, rules):
        return replace(ask, note=NOT_OFFERED)
    match kind:
        case "approve":
            return replace(ask.approved(sends=ask.unsure + 1), agreed=True)
        case "reject" if ask.unsure:
            return ask.over("failed", NOT_KNOWN)
        case "reject" if flow_answer(ask, answer) is False:
            reason = _not_between(ask.question["flow"]["sources"].values(), ask.question["flow"]["to"])
            return ask.over("rejected", f"{reason} {message}".strip())
        case "reject":
            return ask.over("rejected", f"{REJECTED} {message}".strip())
        case "respond":
            return ask.over("rejected", f"{ANSWERED} {message}")
    return _edited(ask, answer.get("edited_action"))


def flow_answer(ask: Call, answer: Mapping[str, Any]) -> bool | None:
    """Whether a person's answer lets the values of the other APIs that the question names go over from now on.

    An approval does, a rejection of a question about nothing else refuses it, and None leaves it open.
    """
    match answer.get("type"):
        case "approve":
            return True
        case "reject":
            return None if ask.unsure or not ask.question.get("flow", {}).get("is_only") else False
    return None


def _not_between(names: Iterable[str], to: str) -> str:
    return (
        f"The user did not allow values of {', '.join(names)} to be sent to {to} in this run. Do without this request, "
        f"or use only what the user said and what {to} itself answered."
    )


def _unusable(ask: Call, kind: Any) -> str:
    if kind is None:
        return 'the answer could not be read; a good one is {"decisions": [{"type": "approve"}]}, one for each'
    names = ", ".join(ask.allowed)
    if ask.unsure:
        return f"it is one of {names}, since this very request may have been sent"
    return f"unknown decision {kind!r}; it is one of {names}"


def _edited(ask: Call, action: Any) -> Call:
    action = action if isinstance(action, Mapping) else {}
    given = action.get("args")
    if not isinstance(given, Mapping):
        reason = 'an edit has the arguments by place: {"edited_action": {"name": …, "args": {"body": …}}}'
        return replace(ask, note=reason)
    if action.get("name", ask.name) != ask.name:
        return replace(ask, note="an edit changes the arguments, not the operation; reject it instead")
    made = edited(ask.planned(), given)
    if isinstance(made, Problems):
        return replace(ask, note=str(made))
    if ask.target.is_known and (reader := reader_of(ask.operation)):
        before, now = (reader_arguments(call.operation, reader, call.settled) for call in (ask, made))
        if now != before:
            return made.asked()  # the person saw another target than the one that it would change now
    return replace(made, target=ask.target).approved(note=EDITED)


EDITED = "Edited by the user."


def _left(barred: Call) -> Call:
    """A change of unknown outcome that the rules do not let be sent again."""
    reason = barred.note if barred.stage == "rejected" else "This run only shows changes (writes: dry-run)."
    return barred.over("failed", f"{NOT_KNOWN} It was not sent again: {reason}")


def _barred(draft: Call, rules: Rules) -> Call | None:
    """The draft as the rules keep it back, whatever a person says; None where it may go out."""
    verdict = rules.verdict(draft.operation)
    if verdict == "deny":
        return draft.over("rejected", _denied(draft, rules))
    if foreign := rules.unmet(draft.operation, draft.settled, draft.provenance):
        return draft.over("rejected", _not_the_users(foreign))
    return draft.over("held") if verdict == "hold" else None


def _denied(draft: Call, rules: Rules) -> str:
    if rules.writes == "deny" and rules.can_confirm(draft.operation):
        return (
            "The policy of this run allows no changes (writes: deny). This request seems only to read "
            f"({draft.effect.reason}), but nobody has confirmed it. The user can confirm it by approving it as a read "
            f"in a run with `writes: ask`, or by a rule {{effect: read, id: {draft.operation.name}}} under `effects` "
            "in apis.yaml."
        )
    if rules.writes == "deny" and not draft.effect.is_read:
        return "The policy of this run allows no changes (writes: deny)."
    if reason := rules.reason(draft.operation):
        return f"A rule does not allow this request: {reason}"
    return f"A rule under `policy` in apis.yaml, or the API's spec, does not allow {draft.name}."


def _not_the_users(foreign: Sequence[Provenance]) -> str:
    names = ", ".join(item["pointer"] for item in foreign[:NAMED])
    names += f" and {len(foreign) - NAMED} more" if len(foreign) > NAMED else ""
    return f"The policy wants these values from the user, who did not say them: {names}. Ask for them in the answer."
