"""What a program is given, the calls that it asks for, their answers, and how a run of it ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from restgpt.tools.sandbox.result import SandboxResult

Kind = Literal["finished", "calls", "stopped", "unknown", "refused", "budget", "failed"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A call that was carried out, as a program sees it.

    `position` is empty for a call of an earlier program, which a call with the same `digest` may take. `key` names the
    entry. `status` is 0 without an answer; `note` says why a call failed or was not sent.
    """

    position: str
    key: str
    digest: str
    given: Literal["answer", "error", "rejected", "held"]
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    media: Literal["json", "text", "binary", "empty"] = "empty"
    body: bytes = b""
    note: str = ""


@dataclass(frozen=True, slots=True)
class WantedCall:
    """A call without an answer: its number in the program, its place in the code, the function and its arguments."""

    position: str
    line: int
    source: str
    function: str
    positional: tuple[Any, ...]
    keywords: Mapping[str, Any]
    digest: str


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """One run of a program, to its end or to `calls` that have no answer.

    `taken` maps positions to the keys of entries of earlier programs that answered them; the next run gets these
    entries at these positions. `problem` is what the model can repair, `line` the place of the end, `text` a sentence
    of the program, `value` a value that it shows, `left` what it says it left undone. The output of a program that
    finished without printing anything is the value of its last expression; the status of its result remains
    `NO_OUTPUT`.
    """

    kind: Kind
    result: SandboxResult
    calls: tuple[WantedCall, ...] = ()
    taken: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    line: int = 0
    source: str = ""
    function: str = ""
    text: str = ""
    value: str = ""
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Given:
    """What a program is given: the names of functions, values by their names, and what it is checked against.

    `check` says what is checked before the program begins, against the `stubs` of the functions and the `names` of all
    functions; `fields` includes the fields of answers. With `is_dry`, changes are not sent. With `is_json`, `data`
    is the text of the value that the code gets.
    """

    functions: Sequence[str] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    check: Literal["", "names", "fields"] = ""
    stubs: Sequence[Mapping[str, Any]] = ()
    names: Sequence[str] = ()
    is_dry: bool = False
    clock: float | None = None
    seed: str = ""
    is_json: bool = False
