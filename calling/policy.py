"""What may be done without asking: one verdict per operation, and which arguments must be the user's own."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from restgpt.calling.idempotency import key_header
from restgpt.calling.origin import Provenance
from restgpt.calling.provenance import foreign
from restgpt.specs import Operation
from restgpt.tools.settings import Decision, Settings

Verdict = Literal["allow", "ask", "deny", "hold"]

EXTENSION = "x-restgpt-policy"
"""An operation of a document may ask for care: `ask` or `deny`. It cannot loosen what the user configured."""


def verdict(operation: Operation, *, writes: str, settings: Settings) -> Verdict:
    """Whether a request of `operation` is sent at once, shown to a person first, refused, or only shown.

    The user's rules for the API go first, then the document's own request for care, then `writes`: safe methods
    (RFC 9110, section 9.2.1) are sent, others are asked for, allowed, denied, or held in a dry run. No rule lets a
    change through a run that denies or holds changes.
    """
    entry = settings.entry(operation.api.name)
    rule = (entry.decide(operation) if entry else None) or _wish(operation)
    if rule == "deny":
        return "deny"
    if not operation.is_safe and writes in ("deny", "dry-run"):
        return "deny" if writes == "deny" else "hold"
    if rule is not None:
        return rule
    return "allow" if operation.is_safe or writes == "allow" else "ask"


def unmet(
    operation: Operation, arguments: Mapping[str, Any], provenance: Sequence[Provenance], *, settings: Settings
) -> list[Provenance]:
    """The arguments that have to come from the user, as `from_user` in apis.yaml says, and are not known to.

    The idempotency key is the program's own.
    """
    entry = settings.entry(operation.api.name)
    patterns = entry.from_user(operation) if entry else ()
    own = f"/header/{key_header(operation)}"
    return [item for item in foreign(operation, arguments, provenance, patterns) if item["pointer"] != own]


def is_restricted(operation: Operation, *, settings: Settings) -> bool:
    """Whether some argument of the operation has to come from the user."""
    entry = settings.entry(operation.api.name)
    return bool(entry and entry.from_user(operation))


def _wish(operation: Operation) -> Decision | None:
    wish = operation.extensions.get(EXTENSION)
    return wish if wish in ("ask", "deny") else None
