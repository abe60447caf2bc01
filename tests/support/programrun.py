"""A host for programs in tests: runs a program again and again, and answers its calls from Python functions."""

import contextlib
import io
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from restgpt.tools.sandbox.result import Entry, Limits, ProgramRun, WantedCall
from restgpt.tools.sandbox.runner import run_program

CLOCK = 1_700_000_000.0
PATIENT = Limits(wall=30.0)


class Failure(Exception):
    """The answer to a call is an error with this status and body."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__()
        self.status, self.body = status, body


def entry(call: WantedCall, value: Any, *, key: str = "", position: str | None = None) -> Entry:
    """Return the entry of a call that was answered with a JSON value, or that failed."""
    status, body = (value.status, value.body) if isinstance(value, Failure) else (200, value)
    return Entry(
        call.position if position is None else position,
        key or f"key-{call.position}",
        call.digest,
        "error" if isinstance(value, Failure) else "answer",
        status,
        {"x-position": call.position},
        "empty" if body is None else "json",
        b"" if body is None else json.dumps(body).encode(),
    )


def in_cpython(code: str) -> str:
    """Return what a program without calls prints in CPython."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {"__name__": "__main__"})
    return printed.getvalue()


def once(code: str, *entries: Entry, functions: Sequence[str] = ("get", "put"), **options: Any) -> ProgramRun:
    """Run a program once over the entries."""
    given: dict[str, Any] = {"clock": CLOCK, "seed": "a seed", "most": 100, "limits": PATIENT, **options}
    return run_program(code, functions=functions, entries=entries, **given)


@dataclass
class Host:
    """Runs a program to its end; `order` chooses which of the waiting calls are answered before the next run."""

    answers: Mapping[str, Callable[..., Any]]
    order: random.Random | None = None
    log: list[tuple[str, str, Any]] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)
    runs: int = 0

    def play(self, code: str, **options: Any) -> ProgramRun:
        """Run the program until it ends; the log has every call that was made, with its position."""
        entries: dict[str, Entry] = {}
        while True:
            self.runs += 1
            run = once(code, *entries.values(), functions=list(self.answers), **options)
            if run.kind != "calls":
                return run
            self.batches.append(len(run.calls))
            for call in self._chosen(run.calls):
                entries[call.position] = entry(call, self._answer(call))

    def _chosen(self, calls: Sequence[WantedCall]) -> Sequence[WantedCall]:
        if self.order is None:
            return calls
        return self.order.sample(calls, self.order.randint(1, len(calls)))

    def _answer(self, call: WantedCall) -> Any:
        self.log.append((call.position, call.function, [*call.positional, dict(call.keywords)]))
        try:
            return self.answers[call.function](*call.positional, **call.keywords)
        except Failure as failure:
            return failure
