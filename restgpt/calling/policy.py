"""The rules that say which calls are sent without asking, and which arguments must be the user's own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from restgpt.calling.idempotency import key_header
from restgpt.calling.origin.flow import api_record, entry_id
from restgpt.calling.origin.provenance import foreign
from restgpt.calling.permissions import Permissions
from restgpt.calling.record import FlowRecord, Provenance
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
    """The user's rules for each API, what a person permitted, and how this run treats changes (`writes`)."""

    settings: Settings
    writes: Writes = "ask"
    permissions: Permissions = field(default_factory=Permissions, compare=False)

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
