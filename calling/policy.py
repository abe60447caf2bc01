"""The rules that say which calls are sent without asking, and which arguments must be the user's own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from restgpt.calling.idempotency import key_header
from restgpt.calling.provenance import foreign
from restgpt.calling.record import Provenance
from restgpt.specs import Operation
from restgpt.tools.settings import Decision, Settings

Verdict = Literal["allow", "ask", "deny", "hold"]
Writes = Literal["ask", "allow", "deny", "dry-run"]

EXTENSION = "x-restgpt-policy"
"""An operation of a document may ask for care: `ask` or `deny`. It cannot loosen what the user configured."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The user's rules for each API, and what this run does with changes (`writes`)."""

    settings: Settings
    writes: Writes = "ask"

    def verdict(self, operation: Operation) -> Verdict:
        """Whether a request of `operation` is sent at once, shown to a person first, refused, or only shown.

        The user's rules for the API go first, then the document's own request for care, then `writes`: safe methods
        (RFC 9110, section 9.2.1) are sent, others are asked for, allowed, denied, or held in a dry run. No rule lets a
        change through a run that denies or holds changes.
        """
        entry = self.settings.entry(operation.api.name)
        rule = (entry.decide(operation) if entry else None) or _wish(operation)
        if rule == "deny":
            return "deny"
        if not operation.is_safe and self.writes in ("deny", "dry-run"):
            return "deny" if self.writes == "deny" else "hold"
        if rule is not None:
            return rule
        return "allow" if operation.is_safe or self.writes == "allow" else "ask"

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
        entry = self.settings.entry(operation.api.name)
        return entry.from_user(operation) if entry else ()


def _wish(operation: Operation) -> Decision | None:
    wish = operation.extensions.get(EXTENSION)
    return wish if wish in ("ask", "deny") else None
