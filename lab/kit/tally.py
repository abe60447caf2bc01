"""Tallies that lanes of a rig make at the same time, and that are added up."""

from dataclasses import fields
from typing import Any, Self


class Sum:
    """The base of tallies, which are dataclasses: counts and lists add up; of times, the floats, the longest stays."""

    __slots__ = ()

    def __add__(self, other: Self) -> Self:
        names = [item.name for item in fields(self)]  # type: ignore[arg-type]
        return type(self)(*(_added(getattr(self, name), getattr(other, name)) for name in names))


def _added(one: Any, other: Any) -> Any:
    return max(one, other) if isinstance(one, float) else one + other
