"""Run a program of a model as far as its next calls, over the answers to those before."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, Literal

from restgpt.tools.sandbox.code import program_code
from restgpt.tools.sandbox.result import Limits, SandboxResult, Status
from restgpt.tools.sandbox.run import Entry, Given, ProgramRun, WantedCall
from restgpt.tools.sandbox.runner import refused_code, traced_run
from restgpt.tools.sandbox.session import Session

__all__ = ["LIMITS", "Entry", "ProgramRun", "WantedCall", "run_program"]

LIMITS = Limits(wall=10.0)
"""The limits of one run of a program, from its start to its next calls."""

MOST_NAMES = 300
"""The maximum number of function names that a check compares a wrong name with."""

_DIVERGED = (
    "Line {line}: {source}\nThe call of {function} has other arguments than when the program ran before, so its answer "
    "cannot be used. A program must do the same in every run."
)


def run_program(
    code: str,
    *,
    entries: Sequence[Entry],
    clock: float,
    seed: str,
    most: int,
    functions: Sequence[str] = (),
    check: Literal["", "names", "fields"] = "",
    stubs: Sequence[Mapping[str, Any]] = (),
    names: Sequence[str] = (),
    inputs: Mapping[str, Any] | None = None,
    limits: Limits = LIMITS,
) -> ProgramRun:
    """Run a program over the answers so far, up to its end or to its next calls without an answer.

    `functions` are the names of the functions that the code mentions. `clock` is the time that the program sees, in
    seconds since 1970, `seed` that of its random numbers. More than `most` calls at once are refused. `check` is what
    is checked before the first call, against the `stubs` of the functions and all function `names`; `fields` includes
    the fields of answers. `inputs` are JSON values that the program has under this name.
    """
    cleaned = program_code(code)
    if refused := refused_code(cleaned, limits):
        return ProgramRun("failed", refused, problem=refused.feedback(of_program=True))
    values = {} if inputs is None else {"inputs": dict(inputs)}
    is_dry = any(entry.given == "held" for entry in entries)
    given = Given(list(functions), values, check, stubs, list(names)[:MOST_NAMES], is_dry, clock, seed)
    # Calls that have answers count for nothing.
    session = Session(cleaned, given, limits, most=most + len(entries), size=sum(len(item.body) for item in entries))
    found: list[ProgramRun] = []

    def run() -> SandboxResult:
        found.append(_replayed(session, _Log(entries), most))
        return found[0].result

    traced_run(run)
    return found[0]


def _replayed(session: Session, log: "_Log", most: int) -> ProgramRun:
    with closing(session.rounds()) as rounds:
        try:
            calls = next(rounds)
            while True:
                answers = {call.position: entry for call in calls if (entry := log.find(call)) is not None}
                for call in calls:
                    if call.position in answers and answers[call.position].digest != call.digest:
                        told = {"line": call.line, "source": call.source, "function": call.function}
                        return _ended("failed", call, problem=_DIVERGED.format(**told))
                if missing := [call for call in calls if call.position not in answers]:
                    if len(missing) > most:
                        return replace(session.over_budget(most), taken=log.taken)
                    return replace(_ended("calls", missing[0]), calls=tuple(missing), taken=log.taken)
                calls = rounds.send(answers)
        except StopIteration as end:
            run: ProgramRun = end.value
            return replace(run, taken=log.taken)


def _ended(kind: Literal["calls", "failed"], call: WantedCall, *, problem: str = "") -> ProgramRun:
    return ProgramRun(kind, SandboxResult(Status.PAUSED), line=call.line, source=call.source, problem=problem)


class _Log:
    """The answers so far: by position, and those of earlier programs by the digest of their calls, in order."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._placed = {entry.position: entry for entry in entries if entry.position}
        self._free: dict[str, list[Entry]] = {}
        for entry in entries:
            if not entry.position:
                self._free.setdefault(entry.digest, []).append(entry)
        self.taken: dict[str, str] = {}

    def find(self, call: WantedCall) -> Entry | None:
        """Return the answer of a call; without one, take the next free answer of the same call."""
        entry = self._placed.get(call.position)
        if entry is None and self._free.get(call.digest):
            entry = self._free[call.digest].pop(0)
            self.taken[call.position] = entry.key
            self._placed[call.position] = entry
        return entry
