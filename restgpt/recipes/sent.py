"""A call of a program for the guards: its arguments and its answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Sent:
    """A call: `arguments` are grouped by place, as the program gave them.

    Before an answer, `status` is 0 and `body` is None. `body` is the parsed JSON of the answer, or its text. `reads`
    maps the patterns of the fields that the program may read in it to the JSON types found there; it is empty in a run.
    """

    function: str
    arguments: Mapping[str, Any]
    is_change: bool = False
    status: int = 0
    body: Any = None
    reads: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
