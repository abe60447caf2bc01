"""The effect of an operation: whether its requests read or change something.

The method decides (RFC 9110, section 9.2.1), unless the document marks the operation with `x-restgpt-effect`: `change`
holds for any method, and `read` makes a POST the proposal `read`. A proposal is the word of somebody else: nothing may
be sent unasked because of it.
"""

from dataclasses import dataclass
from typing import Literal
from weakref import WeakKeyDictionary

from restgpt.specs.operation import Operation

EXTENSION = "x-restgpt-effect"
"""An operation of a document may say `change`, which holds also for a GET, or `read`, which is only a proposal."""

# Prompts ask for the effects of all operations again and again, and a document does not change while it is loaded.
_EFFECTS: "WeakKeyDictionary[Operation, Effect]" = WeakKeyDictionary()

Kind = Literal["read", "change"]
Origin = Literal["method", "document", "proposed", "confirmed", "settings"]


@dataclass(frozen=True, slots=True)
class Effect:
    """Whether a request reads or changes something, who decided that, and the reason in plain words.

    `proposed` is what a document says of a POST, `confirmed` what a person confirmed of it, `settings` is `apis.yaml`.
    """

    kind: Kind
    origin: Origin
    reason: str

    @property
    def is_read(self) -> bool:
        """Whether the request certainly only reads, so that it is sent like a GET."""
        return self.kind == "read" and self.origin != "proposed"

    @property
    def is_proposed(self) -> bool:
        """Whether the request seems only to read, but nobody has confirmed it."""
        return self.kind == "read" and self.origin == "proposed"


def effect_of(operation: Operation) -> Effect:
    """Return the effect of an operation by its method and its document."""
    if operation.acts_as != operation.method:
        reason = f"it is a {operation.method} that names {operation.acts_as} as its method"
        return Effect("change", "method", reason)
    known = _EFFECTS.get(operation)
    if known is None:
        # The effect of every operation may be asked for, and none is to be or to stay decoded for that.
        known = _EFFECTS[operation] = _derived(operation if operation.is_decoded else operation.fresh())
    return known


def seems_to_read(operation: Operation) -> bool:
    """Return whether an operation reads by its method and its document; proposals count."""
    return effect_of(operation).kind == "read"


def _derived(operation: Operation) -> Effect:
    mark = _mark(operation)
    if mark == "change":
        return Effect("change", "document", f"the document marks it with {EXTENSION}: change")
    if operation.is_safe:
        return Effect("read", "method", f"{operation.method} only reads (RFC 9110, section 9.2.1)")
    if operation.method == "POST" and mark == "read":
        return Effect("read", "proposed", f"it is a POST, but the document marks it with {EXTENSION}: read")
    return Effect("change", "method", f"{operation.method} may change something (RFC 9110, section 9.2.1)")


def _mark(operation: Operation) -> str:
    """Return the effect that the document marks the operation with, in lower case; empty if there is no such mark."""
    if not operation.may_contain(EXTENSION):
        return ""
    value = operation.extensions.get(EXTENSION)
    return value.strip().lower() if isinstance(value, str) else ""
