"""A finished run for saving: one program, the calls that it made, and the words of the user."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from restgpt.calling.policy import Writes
from restgpt.specs import Operation
from restgpt.tools.errors import StoppingError
from restgpt.tools.sandbox.program import Entry


class NotSavableError(StoppingError):
    """A run cannot become a recipe; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class FinishedCall:
    """A call of a finished run, with its arguments as the program gave them; `entry` is what the program got."""

    function: str
    arguments: Mapping[str, Any]
    is_change: bool
    operation: Operation
    entry: Entry


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A finished run of one program.

    `calls` are in the order of the program. `said` are the words of the user, `instruction` is the last of them.
    `seen` are the answers that the writer of the
    program had seen, `notes` other texts that it knew, such as notes about the API. `others` are the operations of the
    functions that the program names and did not call, such as those that it calls after an error.
    """

    code: str
    clock: float
    seed: str
    calls: tuple[FinishedCall, ...]
    said: str
    instruction: str
    seen: tuple[Any, ...] = ()
    notes: str = ""
    writes: Writes = "ask"
    others: Mapping[str, Operation] = field(default_factory=dict)
