"""A call of a program for the guards: its arguments, its answer, and the fields that the program read of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Sent:
    """A call: `arguments` are grouped by place, as the program gave them.

    Before an answer, `status` is 0 and `body` is None. `body` is the parsed JSON of the answer, or its text. `reads`
    maps the patterns that the program read in it to the JSON types found there, `missing` among them for a name that
    an object does not have. `position` is the place of the call in the structure of the program.
    """

    function: str
    arguments: Mapping[str, Any]
    position: str = ""
    line: int = 0
    is_change: bool = False
    status: int = 0
    body: Any = None
    reads: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
