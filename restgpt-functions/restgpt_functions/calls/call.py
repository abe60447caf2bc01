"""A function call before anything is executed: a name and arguments, some of which may be code and not values."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class CallSyntaxError(ValueError):
    """A text attempts a call that cannot be read; the message names the place and the reason."""


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


def to_plain(value: Any) -> Any:
    """A value as JSON has it: tuples as lists, variables as their text, keys as text."""
    if isinstance(value, Variable):
        return value.text
    if isinstance(value, list | tuple):
        return [to_plain(part) for part in value]
    if isinstance(value, dict):
        return {key if isinstance(key, str) else json.dumps(key): to_plain(part) for key, part in value.items()}
    return value
