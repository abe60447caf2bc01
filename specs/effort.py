"""Effort: the number of steps that reading and validating the schemas of one untrusted document may take.

Schemas that refer to one another twice at each level are a short document and an endless walk. The functions that begin
a walk limit it with `within`, and those that walk count their steps with `spend`. An inner limit never exceeds what is
left of an outer one. Every `PATIENCE` limits that a document reaches halve its further limits, because a run reads its
schemas many times; published documents with large schemas reach some too.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from restgpt.specs.problem import TooComplex

PATIENCE, HALVINGS_MOST = 32, 3


@dataclass(slots=True)
class Allowance:
    """The state of a document: how often it reached a limit, and the steps left for passes over all operations."""

    reached: int = 0
    left: int = 4_000_000

    @property
    def halvings(self) -> int:
        """How often the limits are halved by now."""
        return min(HALVINGS_MOST, self.reached // PATIENCE)


@dataclass(slots=True)
class Effort:
    """The steps that were granted, and those that are left; fewer than none once the limit was reached."""

    granted: int
    left: int
    allowance: Allowance | None = None

    @property
    def is_spent(self) -> bool:
        """Whether more steps were asked for than the limit allows, so that something was left out."""
        return self.left < 0


_CURRENT: ContextVar[Effort | None] = ContextVar("effort", default=None)


@contextmanager
def within(steps: int, allowance: Allowance | None = None) -> Iterator[Effort]:
    """Limit the steps of a block of code that reads a document, whose allowance an inner limit need not name."""
    outer = _CURRENT.get()
    if allowance is None and outer is not None:
        allowance = outer.allowance
    granted = steps if allowance is None else steps >> allowance.halvings
    granted = granted if outer is None else min(granted, outer.left)
    effort = Effort(granted, granted, allowance)
    token = _CURRENT.set(effort)
    try:
        yield effort
    finally:
        _CURRENT.reset(token)
        if outer is not None:
            outer.left -= granted - effort.left
        if effort.is_spent and allowance is not None:
            allowance.reached += 1


def spend(steps: int = 1) -> None:
    """Count steps; raises TooComplex if the limit has been reached, always from then on."""
    effort = _CURRENT.get()
    if effort is not None:
        effort.left -= steps
        if effort.left < 0:
            raise TooComplex("the schema is too complex to be read to its end")


def can_spend(steps: int = 1) -> bool:
    """Count steps; return whether the limit has not been reached."""
    try:
        spend(steps)
    except TooComplex:
        return False
    return True
