"""Run model-written Python over untrusted data.

Covered: the code reaches no file, environment variable, process, network or memory of the host; the limits of time,
memory and output stop it. `docs/sandbox.md` names the test of each claim, and what is not covered.

Run a program of a model as far as its next calls, over the answers to those before.

The sandbox as a LangChain tool: the model gives the argument `code`; the caller of `python_tool` gives the data.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field

from restgpt.tools.sandbox.code import WAIT, clean_code, program_code
from restgpt.tools.sandbox.monty_session import Rounds, Session
from restgpt.tools.sandbox.result import (
    STANDARD,
    CodeError,
    Entry,
    Given,
    Limits,
    ProgramRun,
    SandboxResult,
    Status,
    WantedCall,
)
from restgpt.tools.tracing.span import tool_span

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool


def run_python(
    code: str, data: object, *, media: Literal["json", "text"] = "json", limits: Limits = STANDARD
) -> SandboxResult:
    """Run model-written `code` with the variable `data` and return its output or its error; raises nothing for errors.

    Bytes and str are the raw body: they are parsed as JSON, and with media "text" `data` is a str. Any other object is
    dumped to JSON first. Thread-safe.
    """
    return traced_run(lambda: _result(clean_code(code), data, media, limits))


def traced_run(run: Callable[[], SandboxResult]) -> SandboxResult:
    """Run code under a span; the span has neither the code nor its output."""
    with tool_span("python", kind="function") as current:
        result = run()
        current.set({"restgpt.sandbox.status": result.status.value})
        if result.status not in (Status.OK, Status.NO_OUTPUT, Status.PAUSED):
            current.fail(result.status.value)
        return result


def refused_code(code: str, limits: Limits) -> SandboxResult | None:
    """Return the error for code that is empty, or too long; None for other code."""
    size = len(code.encode("utf-8", "surrogatepass"))
    if code.strip() and size <= limits.code:
        return None
    reason = f"the code has {size} bytes, and at most {limits.code} are allowed" if code.strip() else "no code"
    return SandboxResult(Status.SYNTAX_ERROR, error=CodeError("SyntaxError", reason))


def _result(code: str, data: object, media: str, limits: Limits) -> SandboxResult:
    if refused := refused_code(code, limits):
        return refused
    try:
        raw = _raw(data)
        if len(raw) > limits.data:
            reason = f"{len(raw)} bytes, and at most {limits.data} are allowed"
            return SandboxResult(Status.INPUT_TOO_LARGE, error=CodeError("ValueError", reason))
        value, is_json = _value(raw, media)
    except RecursionError as error:
        return SandboxResult(Status.INPUT_TOO_DEEP, error=CodeError("RecursionError", str(error)))
    except (TypeError, ValueError) as error:
        return SandboxResult(Status.INPUT_INVALID, error=CodeError(type(error).__name__, str(error)[:300]))
    rounds = Session(code, Given(values={"data": value}, is_json=is_json), limits, size=len(raw)).rounds()
    try:
        next(rounds)
    except StopIteration as end:
        run: ProgramRun = end.value
        return run.result
    raise AssertionError("code over data calls nothing")


def _value(raw: bytes, media: str) -> tuple[Any, bool]:
    """Return the data as the code gets it, or its JSON as text, which takes the host less memory, and True."""
    if media != "json":
        return raw.decode("utf-8", "replace"), False
    text = raw.decode(json.detect_encoding(raw), "surrogatepass").removeprefix("\ufeff")
    has_halves = "\\ud" in text.lower() or re.search("[\ud800-\udfff]", text) is not None
    return (json.loads(text), False) if has_halves else (text, True)


def _raw(data: object) -> bytes:
    if isinstance(data, bytes):
        return data
    if isinstance(data, (bytearray, memoryview)):
        return bytes(data)
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


LIMITS = Limits(wall=10.0)
"""The limits of one run of a program, from its start to its next calls."""

MOST_NAMES = 300
"""The maximum number of function names that a check compares a wrong name with."""

_DIVERGED = (
    "Line {line}: {source}\nThe call of {function} has other arguments than when the program ran before, so its "
    "response cannot be used. A program must do the same in every run."
)


@cache
def sandbox_version() -> str:
    """Return a digest of the sandbox: another version may run the same program otherwise."""
    parts = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    return sha256(b"".join([*parts, version("pydantic-monty").encode()])).hexdigest()[:16]


def run_program(
    code: str,
    *,
    entries: Sequence[Entry],
    clock: float,
    seed: str,
    most: int,
    polls: Collection[str] = (),
    functions: Sequence[str] = (),
    check: Literal["", "names", "fields"] = "",
    stubs: Sequence[Mapping[str, Any]] = (),
    names: Sequence[str] = (),
    inputs: Mapping[str, Any] | None = None,
    is_dry: bool = False,
    limits: Limits = LIMITS,
    live: "Live | None" = None,
) -> ProgramRun:
    """Run a program over the answers so far, up to its end or to its next calls without an answer.

    `functions` are the names of the functions that the code mentions. `clock` is the time that the program sees, in
    seconds since 1970, `seed` that of its random numbers. More than `most` calls at once are refused; those whose
    digest is in `polls` do not count. `check` is what is checked before the first call, against the `stubs` of the
    functions and all function `names`; `fields` includes the fields of answers. `inputs` are JSON values that the
    program has under this name. In a run that `is_dry` changes may have no answer. A program that is `live` goes on in
    its process; its `entries` are the further answers then.
    """
    cleaned = program_code(code)
    if refused := refused_code(cleaned, limits):
        return ProgramRun("failed", refused, problem=refused.feedback(of_program=True))
    values = {} if inputs is None else {"inputs": dict(inputs)}
    once = live is None
    is_dry = is_dry or any(entry.given == "held" for entry in entries)
    given = Given(list(functions), values, check, stubs, list(names)[:MOST_NAMES], is_dry, clock, seed)
    live = live or Live()
    found: list[ProgramRun] = []

    def run() -> SandboxResult:
        size = sum(len(item.body) for item in entries)
        rounds = live.rounds or live.begin(Session(cleaned, given, limits, size=size))
        found.append(live.run(rounds, entries, most, polls))
        return found[0].result

    try:
        traced_run(run)
    finally:
        if once:
            live.close()
    return found[0]


class Live:
    """A program that stays in its process between two runs of `run_program`, until it is closed.

    `rounds` is it, as soon as it has begun. `placed` are the answers to its calls by their numbers, `taken` those of
    earlier programs among them.
    """

    _session: Session

    def __init__(self) -> None:
        self.rounds: Rounds | None = None
        self._calls: list[WantedCall] = []
        self.placed: dict[str, Entry] = {}
        self._free: dict[str, list[Entry]] = {}
        self.taken: dict[str, str] = {}

    def begin(self, session: Session) -> Rounds:
        """Begin the program; it runs in `run`."""
        self._session, self.rounds = session, session.rounds()
        return self.rounds

    def run(self, rounds: Rounds, entries: Sequence[Entry], most: int, polls: Collection[str]) -> ProgramRun:
        """Let the program go on with more answers, up to calls without one."""
        for entry in entries:
            if entry.position:
                self.placed.setdefault(entry.position, entry)
            else:
                self._free.setdefault(entry.digest, []).append(entry)
        try:
            return replace(self._replayed(rounds, most, polls), taken=self.taken)
        except StopIteration as end:
            run: ProgramRun = end.value
            return replace(run, taken=self.taken)

    def _replayed(self, rounds: Rounds, most: int, polls: Collection[str]) -> ProgramRun:
        """Return the calls without an answer. Raises StopIteration with the end of the program."""
        while True:
            self._calls = self._calls or next(rounds)
            answers = {call.position: entry for call in self._calls if (entry := self._find(call)) is not None}
            waits = {call.position for call in self._calls if call.function == WAIT}
            if len(waits) < len(self._calls):
                # Waits end after the calls beside them have answers, so that each run has them in the same order.
                answers = {position: entry for position, entry in answers.items() if position not in waits}
            for call in self._calls:
                if call.position in answers and answers[call.position].digest != call.digest:
                    told = {"line": call.line, "source": call.source, "function": call.function}
                    return _ended("failed", call, problem=_DIVERGED.format(**told))
            missing = [call for call in self._calls if call.position not in answers]
            wanted = [call for call in missing if call.function != WAIT]
            if (asked := sum(call.digest not in polls for call in wanted)) > most:
                return self._session.over_budget(asked, most)
            if wanted or not answers:
                return replace(_ended("calls", missing[0]), calls=tuple(missing))
            if waits and len(waits) == len(self._calls):
                first = min(entry.until for entry in answers.values())
                answers = {position: entry for position, entry in answers.items() if entry.until == first}
            self._calls = rounds.send(answers)

    def _find(self, call: WantedCall) -> Entry | None:
        """Return the answer of a call; without one, take the next free answer of the same call."""
        entry = self.placed.get(call.position)
        if entry is None and self._free.get(call.digest):
            entry = self.placed[call.position] = self._free[call.digest].pop(0)
            self.taken[call.position] = entry.key
        return entry

    def close(self) -> None:
        """End the process."""
        if self.rounds is not None:
            self.rounds.close()


def _ended(kind: Literal["calls", "failed"], call: WantedCall, *, problem: str = "") -> ProgramRun:
    return ProgramRun(kind, SandboxResult(Status.PAUSED), line=call.line, source=call.source, problem=problem)


DESCRIPTION = (
    "Run Python over an API response. The response is in the variable `data` (parsed, if it is JSON). Print the "
    "answer. Only pure standard-library modules can be imported; there are no files, no network and no input."
)


class PythonInput(BaseModel):
    """The argument of the tool `python`."""

    code: str = Field(description="Python source that reads `data` and prints the answer.")


def python_tool(data: object, *, media: Literal["json", "text"] = "json", limits: Limits = STANDARD) -> "BaseTool":
    """Return the tool `python` over `data`; its content is the feedback text and its artifact the SandboxResult."""
    # Programs run without it, on systems too on which it brings more.
    from langchain_core.tools import StructuredTool

    from restgpt.tools.graphs import SHARED

    def run(code: str) -> tuple[str, SandboxResult]:
        result = run_python(code, data, media=media, limits=limits)
        return result.feedback(), result

    async def run_in_thread(code: str) -> tuple[str, SandboxResult]:
        return await SHARED.run(run, code)

    return StructuredTool.from_function(
        func=run,
        coroutine=run_in_thread,
        name="python",
        description=DESCRIPTION,
        args_schema=PythonInput,
        response_format="content_and_artifact",
    )
