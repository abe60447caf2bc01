"""Effort: the number of steps that reading and validating the schemas of one untrusted document may take.

Schemas that refer to one another twice at each level are a short document and an endless walk. The functions that begin
a walk limit it with `within`, and those that walk count their steps with `spend`. An inner limit never exceeds what is
left of an outer one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from restgpt.specs.problem import TooComplex


@dataclass(slots=True)
class Effort:
    """The steps that are left of a limit; fewer than none once the limit was reached."""

    left: int

    @property
    def is_spent(self) -> bool:
        """Whether more steps were asked for than the limit allows, so that something was left out."""
        return self.left < 0


_CURRENT: ContextVar[Effort | None] = ContextVar("effort", default=None)


@contextmanager
def within(steps: int) -> Iterator[Effort]:
    """Limit the steps of a block of code, or of each call of a function that this decorates."""
    outer = _CURRENT.get()
    granted = steps if outer is None else min(steps, outer.left)
    effort = Effort(granted)
    token = _CURRENT.set(effort)
    try:
        yield effort
    finally:
        _CURRENT.reset(token)
        if outer is not None:
            outer.left -= granted - effort.left


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
