"""Run a program of a model as far as its next calls: the host's side of `replay.py`.

The worker's reports are untrusted, because the program shares its process: every field is checked, and each call that
a report asks for is drafted and decided on like the call of any model.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

# Python keeps the bytecode of imported modules, and the worker loads `check`, `library` and `replay` from it.
from restgpt.tools.sandbox import check as _check  # noqa: F401
from restgpt.tools.sandbox import library as _library  # noqa: F401
from restgpt.tools.sandbox import replay as _replay  # noqa: F401
from restgpt.tools.sandbox.backend import SandboxBackend
from restgpt.tools.sandbox.code import OFFERED
from restgpt.tools.sandbox.result import Limits, SandboxResult, Status
from restgpt.tools.sandbox.runner import run_python

Given = Literal["answer", "error", "rejected", "held"]
Media = Literal["json", "text", "binary", "empty"]
Kind = Literal["finished", "calls", "stopped", "unknown", "refused", "failed"]

LIMITS = Limits(wall=10.0, cpu=10.0)
"""The limits of one run of a program, from its start to its next calls."""

MOST_NAMES = 2000
"""The maximum number of function names that a check compares a wrong name with."""


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
    of the program, `value` a value that it shows.
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
    stubs: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    entries: Sequence[Entry],
    clock: float,
    seed: str,
    most: int,
    check: Literal["", "names", "fields"] = "fields",
    limits: Limits = LIMITS,
    backend: SandboxBackend | None = None,
) -> ProgramRun:
    """Run a program over the answers so far, up to its end or to its next calls without an answer.

    `stubs` describe the functions that the code mentions, `names` are all function names. `clock` is the time that the
    program sees, in seconds since 1970, `seed` that of its random numbers. More than `most` calls at once are refused.
    `check` is what is checked before the first call; `fields` includes the fields of answers.
    """
    job = {
        "stubs": list(stubs),
        "names": list(names)[:MOST_NAMES],
        "modules": sorted(OFFERED),
        "entries": [_described(entry) for entry in entries],
        "clock": clock,
        "seed": seed,
        "most": most,
        "check": check,
    }
    header = json.dumps(job).encode()
    data = b"".join([b"%010d" % len(header), header, *(entry.body for entry in entries)])
    result = run_python(code, data, media="program", limits=limits, backend=backend)
    try:
        return _read(result)
    except ForgedReportError as error:
        return ProgramRun("failed", result, problem=f"The program ended in a way that cannot be read: {error}.")


def _described(entry: Entry) -> dict[str, Any]:
    return {
        "position": entry.position,
        "key": entry.key,
        "digest": entry.digest,
        "kind": entry.given,
        "status": entry.status,
        "headers": dict(entry.headers),
        "media": entry.media,
        "size": len(entry.body),
        "note": entry.note,
    }


def _read(result: SandboxResult) -> ProgramRun:
    if result.status is not Status.PAUSED:
        taken = _taken(_payload(result)) if result.payload else {}
        if result.ok:
            return ProgramRun("finished", result, taken=taken)
        line = (result.error.line or 0) if result.error else 0
        source = result.error.source_line if result.error else ""
        return ProgramRun(
            "failed", result, taken=taken, problem=result.feedback(has_data=False), line=line, source=source
        )
    report = _payload(result)
    line, source = _line(report), _text(report, "source", 300)
    match result.pause:
        case "calls":
            return ProgramRun("calls", result, calls=_calls(report), taken=_taken(report))
        case "stopped":
            text, value = _text(report, "text", 2000), _text(report, "value", 2000)
            return ProgramRun("stopped", result, taken=_taken(report), line=line, text=text, value=value)
        case "unknown":
            name = _text(report, "function", 200)
            return ProgramRun("unknown", result, line=line, source=source, function=name)
        case "refused":
            return ProgramRun("refused", result, problem=_problems(report))
    return ProgramRun(
        "failed", result, problem=_PROBLEMS[result.pause].format(**_place(report)), line=line, source=source
    )


_PROBLEMS: Mapping[str, str] = {
    "diverged": (
        "Line {line}: {source}\nThe call of {function} has other arguments than when the program ran before, so its "
        "answer cannot be used. A program must do the same in every run: no ids of objects, no addresses, no timing."
    ),
    "caught": (
        "Line {line}: {source}\nThe code in this gather catches the signal that a call waits for its answer. Catch "
        "ApiError or Exception, never BaseException or everything."
    ),
    "many": "Line {line}: {source}\nThe program asks for more requests than the budget leaves: {most}. Choose.",
    "large": "The arguments of the calls are too large together.",
}


def _payload(result: SandboxResult) -> dict[str, Any]:
    try:
        report = json.loads(result.payload)
    except (ValueError, RecursionError):
        raise ForgedReportError("its report is no JSON") from None
    if not isinstance(report, dict):
        raise ForgedReportError("its report is no object")
    return report


def _calls(report: Mapping[str, Any]) -> tuple[WantedCall, ...]:
    listed = report.get("calls")
    if not isinstance(listed, list) or not listed:
        raise ForgedReportError("its report names no calls")
    calls = tuple(_call(item) for item in listed)
    if len({call.position for call in calls}) != len(calls):
        raise ForgedReportError("two calls have one position")
    return calls


def _call(item: Any) -> WantedCall:
    if not isinstance(item, dict):
        raise ForgedReportError("a call is no object")
    arguments = item.get("arguments")
    if not isinstance(arguments, list) or [type(part) for part in arguments] != [list, dict]:
        raise ForgedReportError("a call has no arguments")
    texts = [_text(item, name, 400) for name in ("position", "function", "digest")]
    if not all(texts):
        raise ForgedReportError("a call has no position, function or digest")
    position, function, digest = texts
    positional, keywords = arguments
    return WantedCall(position, _line(item), _text(item, "source", 300), function, tuple(positional), keywords, digest)


def _taken(report: Mapping[str, Any]) -> dict[str, str]:
    found = report.get("taken", {})
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found.values()):
        raise ForgedReportError("its report of earlier answers is no mapping")
    return found


def _problems(report: Mapping[str, Any]) -> str:
    listed = report.get("problems")
    if not isinstance(listed, list) or not all(isinstance(item, list) and len(item) == 2 for item in listed):
        raise ForgedReportError("its report of problems is no list")
    return "\n".join(f"Line {item[0]}: {item[1]}"[:600] for item in listed[:20])


def _text(report: Mapping[str, Any], name: str, most: int) -> str:
    value = report.get(name, "")
    return value[:most] if isinstance(value, str) else ""


def _line(report: Mapping[str, Any]) -> int:
    value = report.get("line", 0)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 100_000 else 0


def _place(report: Mapping[str, Any]) -> dict[str, Any]:
    most = report.get("most")
    return {
        "line": _line(report),
        "source": _text(report, "source", 300),
        "function": _text(report, "function", 200),
        "most": most if isinstance(most, int) else "none",
    }
