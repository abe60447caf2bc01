"""What a function call is, before anything is executed: a name and arguments, some of which may be mere names."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class CallSyntaxError(ValueError):
    """A text attempts a call that cannot be read; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A value that is code and not a literal: a bare identifier or an expression, as source text, never evaluated."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Call:
    """A call by name; `positional` holds the values that no documentation could give a name."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    positional: tuple[Any, ...] = ()
