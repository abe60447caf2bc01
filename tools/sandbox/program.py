"""Run a program of a model as far as its next calls: the host's side of `replay.py`.

The worker's reports are untrusted, because the program shares its process. Every field is checked or computed anew:
the source line is that of the code, the digest is that of the arguments, an earlier answer can be taken only if it was
offered. Each call that a report asks for is drafted and decided on like the call of any model.
"""

import json
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NoReturn

from restgpt.tools.sandbox.backend import SandboxBackend
from restgpt.tools.sandbox.code import OFFERED, program_code
from restgpt.tools.sandbox.guest.digest import call_text, digest_of
from restgpt.tools.sandbox.guest.replay import MOST_POSITION, SHOWN, SOURCE
from restgpt.tools.sandbox.result import CodeError, Limits, SandboxResult, Status, printable
from restgpt.tools.sandbox.result import Media as SandboxMedia
from restgpt.tools.sandbox.runner import run_python, traced_run
from restgpt.tools.sandbox.waiting import WaitingProgram, WaitingPrograms

Given = Literal["answer", "error", "rejected", "held"]
Media = Literal["json", "text", "binary", "empty"]
Kind = Literal["finished", "calls", "stopped", "unknown", "refused", "failed"]

LIMITS = Limits(wall=10.0, cpu=10.0)
"""The limits of one run of a program, from its start to its next calls."""

USABLE = frozenset({Status.OK, Status.NO_OUTPUT, Status.PAUSED, Status.RUNTIME_ERROR})
"""The statuses with which a program that went on has a result; after others, such as a limit, it runs again."""

MOST_NAMES = 300
"""The maximum number of function names that a check compares a wrong name with."""

MOST_HEADERS = 20_000
"""The maximum number of characters of the response headers that one answer is given with."""

_POSITION = re.compile(r"\d{1,9}(\.\d{1,9}\.\d{1,9})*", re.ASCII)
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class Entry:
    """A call that was carried out, as a program sees it.

    `position` is empty for a call of an earlier program, which a call with the same `digest` may take. `key` names the
    entry. `status` is 0 without an answer; `note` says why a call failed or was not sent.
    """

    position: str
    key: str
    digest: str
    given: Given
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    media: Media = "empty"
    body: bytes = b""
    note: str = ""


@dataclass(frozen=True, slots=True)
class WantedCall:
    """A call without an answer: its position, its place in the code, the function and its arguments."""

    position: str
    line: int
    source: str
    function: str
    positional: tuple[Any, ...]
    keywords: Mapping[str, Any]
    digest: str


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """One run of a program.

    `taken` maps positions to the keys of entries of earlier programs that answered them; the next run gets these
    entries at these positions. `problem` is what the model can repair, `line` the place of the end, `text` a sentence
    of the program, `value` a value that it shows. The output of a program that finished without printing anything is
    the value of its last expression; the status of its result remains `NO_OUTPUT`.
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


class ForgedReportError(ValueError):
    """A report does not have the form that the driver writes, so the program has written it."""


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
    waiting: WaitingPrograms | None = None,
    backend: SandboxBackend | None = None,
) -> ProgramRun:
    """Run a program over the answers so far, up to its end or to its next calls without an answer.

    `functions` are the names of the functions that the code mentions. `clock` is the time that the program sees, in
    seconds since 1970, `seed` that of its random numbers. More than `most` calls at once are refused. `check` is what
    is checked before the first call, against the `stubs` of the functions and all function `names`; `fields` includes
    the fields of answers. `inputs` are JSON values that the program has under this name. If the program is among those
    `waiting`, it goes on with the answers that it does not have yet; if it waits at its next call, it is kept there.
    """
    cleaned = program_code(code)
    job: dict[str, Any] = {
        "functions": list(functions),
        "clock": clock,
        "seed": seed,
        "most": most,
        "check": check,
        "inputs": None if inputs is None else dict(inputs),
        "may_wait": waiting is not None,
    }
    key, result = "", None
    if waiting is not None:
        key = json.dumps([cleaned, *(job[name] for name in ("functions", "clock", "seed", "inputs"))])
        result = _gone_on(waiting, key, entries, most, limits)
    if result is None:
        if check:
            job |= {"stubs": list(stubs), "names": list(names)[:MOST_NAMES], "modules": sorted(OFFERED)}
        data = _data(job, entries)
        if len(data) > limits.data:
            return _too_large(len(data), limits)
        media: SandboxMedia = "program" if check else "replay"
        may_wait = waiting is not None
        result = run_python(cleaned, data, media=media, limits=limits, may_wait=may_wait, backend=backend)
    report = _Report(cleaned, frozenset(functions), entries, most)
    process = result.process
    try:
        run = report.read(result)
        if process is not None and waiting is not None and run.kind == "calls":
            waiting.keep(key, WaitingProgram(process, frozenset(_marks(entries, run.taken))))
            process = None
    except ForgedReportError as error:
        run = ProgramRun("failed", result, problem=f"The program ended in a way that cannot be read: {error}.")
    finally:
        if process is not None:
            process.end()
    return run


def _gone_on(
    waiting: WaitingPrograms, key: str, entries: Sequence[Entry], most: int, limits: Limits
) -> SandboxResult | None:
    """Return the result of a program that waited and went on; None if it has to run again from its start."""
    program = waiting.take(key)
    if program is None:
        return None
    marks = _marks(entries)
    new = [entry for entry, mark in zip(entries, marks, strict=True) if mark not in program.given]
    result = None
    if new and all(entry.position for entry in new) and program.given.issubset(marks):
        data = _data({"most": most}, new)
        result = traced_run(lambda: program.process.go_on(data, limits=limits))
    if result is None or not (result.status in USABLE or _is_spent(limits, result)):
        program.process.end()
        return None
    return result


def _is_spent(limits: Limits, result: SandboxResult) -> bool:
    """Return whether a result took all the time there is for everything, so that nothing can run again."""
    return limits.total is not None and result.elapsed_ms >= limits.total * 1000


def _marks(entries: Sequence[Entry], taken: Mapping[str, str] | None = None) -> list[int]:
    """Return the hash of each entry; one that was `taken` has the position that it gets in the next run."""
    positions = {key: position for position, key in (taken or {}).items()}
    return [_mark(entry, positions.get(entry.key, entry.position)) for entry in entries]


def _mark(entry: Entry, position: str) -> int:
    seen = (entry.given, entry.status, entry.media, entry.body, entry.note, *entry.headers.items())
    return hash((position, entry.key, entry.digest, *seen))


def _data(job: Mapping[str, Any], entries: Sequence[Entry]) -> bytes:
    """Return a job with its answers as the worker reads it: the length of the JSON, the JSON, the bodies."""
    header = json.dumps({**job, "entries": [_described(entry) for entry in entries]}).encode()
    return b"".join([b"%010d" % len(header), header, *(entry.body for entry in entries)])


def _described(entry: Entry) -> dict[str, Any]:
    return {
        "position": entry.position,
        "key": entry.key,
        "digest": entry.digest,
        "kind": entry.given,
        "status": entry.status,
        "headers": _bounded(entry.headers),
        "media": entry.media,
        "size": len(entry.body),
        "note": entry.note,
    }


def _bounded(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of an answer as far as they fit into `MOST_HEADERS`."""
    found: dict[str, str] = {}
    left = MOST_HEADERS
    for name, value in headers.items():
        left -= len(name) + len(value)
        if left < 0:
            break
        found[name] = value
    return found


def _too_large(size: int, limits: Limits) -> ProgramRun:
    reason = (
        f"The answers of the program's calls have {size / 1e6:.0f} MB together, and a program can hold at most "
        f"{limits.data / 1e6:.0f} MB. Ask for less: filters, fewer fields, fewer pages, fewer calls."
    )
    error = CodeError("ValueError", reason)
    return ProgramRun("failed", SandboxResult(Status.INPUT_TOO_LARGE, error=error), problem=reason)


_PROBLEMS: Mapping[str, str] = {
    "diverged": (
        "The call of {function} has other arguments than when the program ran before, so its answer cannot be used. A "
        "program must do the same in every run: no ids of objects, no addresses, and no branch of gather that uses "
        "what another branch sets."
    ),
    "caught": (
        "Code here catches the signal that a call waits for its answer. Catch ApiError or Exception, never "
        "BaseException or everything, and call no function in __del__ or in a callback."
    ),
    "many": (
        "The program asks for more requests at once than the budget of this instruction leaves: {most}. Make fewer "
        "calls, or report what is known and say what is missing."
    ),
    "large": "The arguments of the calls that wait here are too large together. Make fewer of these calls at once.",
}


def _forged(reason: str) -> NoReturn:
    raise ForgedReportError(reason)


class _Report:
    """Reads the report of one run, with what the host knows: the code, the functions, the offered answers."""

    def __init__(self, code: str, functions: Collection[str], entries: Sequence[Entry], most: int) -> None:
        self._lines = code.split("\n")
        self._functions = functions
        self._free = frozenset(entry.key for entry in entries if not entry.position)
        self._answered = frozenset(entry.position for entry in entries if entry.position)
        self._most = most

    def read(self, result: SandboxResult) -> ProgramRun:
        """Return the run. Raises ForgedReportError."""
        report = _payload(result) if result.payload else {}
        return self._ended(result, report, self._taken(report))

    def _ended(self, result: SandboxResult, report: Mapping[str, Any], taken: Mapping[str, str]) -> ProgramRun:
        if result.status is not Status.PAUSED:
            if result.ok:
                return ProgramRun("finished", result, taken=taken)
            if result.status is Status.NO_OUTPUT and (value := _text(report, "value")):
                return ProgramRun("finished", replace(result, output=value), taken=taken)
            line = (result.error.line or 0) if result.error else 0
            source = self._source(line)
            return ProgramRun(
                "failed", result, taken=taken, problem=result.feedback(of_program=True), line=line, source=source
            )
        line = self._line(report)
        run = ProgramRun("failed", result, taken=taken, line=line, source=self._source(line))
        match result.pause:
            case "calls":
                return self._with_calls(run, report)
            case "stopped":
                return replace(run, kind="stopped", text=_text(report, "text"), value=_text(report, "value"))
            case "unknown":
                return replace(run, kind="unknown", function=self._function(report))
            case "refused":
                return replace(run, kind="refused", problem=_problems(report))
        name = self._function(report) if result.pause == "diverged" else ""
        return self._with_problem(run, _PROBLEMS[result.pause].format(function=name, most=self._most))

    def _with_calls(self, run: ProgramRun, report: Mapping[str, Any]) -> ProgramRun:
        listed = report.get("calls")
        if not isinstance(listed, list) or not listed:
            _forged("its report names no calls")
        if len(listed) > self._most:
            return self._with_problem(run, _PROBLEMS["many"].format(most=self._most))
        calls = tuple(self._call(item) for item in listed)
        positions = {call.position for call in calls}
        if len(positions) < len(calls):
            _forged("two calls have one position")
        if positions & self._answered or positions & run.taken.keys():
            _forged("a call at an answered position is asked for again")
        return replace(run, kind="calls", calls=calls)

    def _with_problem(self, run: ProgramRun, problem: str) -> ProgramRun:
        place = f"Line {run.line}: {run.source}\n" if run.line else ""
        return replace(run, problem=f"{place}{problem}")

    def _call(self, item: Any) -> WantedCall:
        if not isinstance(item, dict):
            _forged("a call is no object")
        arguments = item.get("arguments")
        if not isinstance(arguments, list) or [type(part) for part in arguments] != [list, dict]:
            _forged("a call has no arguments")
        positional, keywords = arguments
        function, position, line = self._function(item), _position(item.get("position")), self._line(item)
        try:
            digest = digest_of(call_text(function, positional, keywords))
        except TypeError as error:
            _forged(str(error))
        return WantedCall(position, line, self._source(line), function, tuple(positional), keywords, digest)

    def _taken(self, report: Mapping[str, Any]) -> dict[str, str]:
        """Return which offered answers of earlier programs were taken, each at most once."""
        found = report.get("taken", {})
        if not isinstance(found, dict) or not all(isinstance(key, str) for key in found.values()):
            _forged("its report of earlier answers is no mapping")
        keys = list(found.values())
        if len(set(keys)) < len(keys) or not self._free.issuperset(keys):
            _forged("it took an answer that was not offered, or took one twice")
        if any(_position(position) in self._answered for position in found):
            _forged("it took an answer at an answered position")
        return found

    def _function(self, report: Mapping[str, Any]) -> str:
        name = report.get("function")
        return name if isinstance(name, str) and name in self._functions else _forged("it names an unknown function")

    def _line(self, report: Mapping[str, Any]) -> int:
        value = report.get("line", 0)
        is_line = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= len(self._lines)
        return value if is_line else 0

    def _source(self, line: int) -> str:
        """Return a line of the code for people: without characters that are invisible or change the order of others."""
        text = self._lines[line - 1].strip()[:SOURCE] if 0 < line <= len(self._lines) else ""
        return "".join(ascii(mark)[1:-1] if unicodedata.category(mark) in _HIDDEN else mark for mark in text)


def _payload(result: SandboxResult) -> dict[str, Any]:
    try:
        report = json.loads(result.payload)
    except (ValueError, RecursionError):
        raise ForgedReportError("its report is no JSON") from None
    if not isinstance(report, dict):
        raise ForgedReportError("its report is no object")
    return report


def _position(value: Any) -> str:
    if isinstance(value, str) and len(value) <= MOST_POSITION and _POSITION.fullmatch(value):
        return value
    return _forged("it names a position that no call can have")


def _problems(report: Mapping[str, Any]) -> str:
    listed = report.get("problems")
    if not isinstance(listed, list) or not all(isinstance(item, list) and len(item) == 2 for item in listed):
        raise ForgedReportError("its report of problems is no list")
    return "\n".join(printable(f"Line {item[0]}: {item[1]}"[:600]) for item in listed[:20])


def _text(report: Mapping[str, Any], name: str) -> str:
    value = report.get(name, "")
    return printable(value[:SHOWN]) if isinstance(value, str) else ""
