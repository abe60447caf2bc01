"""The limits of a sandbox run, its statuses, and its result as text for the model."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

# ANSI sequences (ECMA-48) first, then every control character but tab and newline.
_UNPRINTABLE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Status(StrEnum):
    """The outcome of a run; the model can repair all but the last two. `PAUSED` is only the outcome of programs."""

    OK = "ok"
    NO_OUTPUT = "no_output"
    SYNTAX_ERROR = "syntax_error"
    RUNTIME_ERROR = "runtime_error"
    IMPORT_ERROR = "import_error"
    UNSUPPORTED = "unsupported"
    TIMEOUT = "timeout"
    MEMORY_LIMIT = "memory_limit"
    OUTPUT_LIMIT = "output_limit"
    INPUT_INVALID = "input_invalid"
    INPUT_TOO_LARGE = "input_too_large"
    INPUT_TOO_DEEP = "input_too_deep"
    CRASHED = "crashed"
    PAUSED = "paused"
    SANDBOX_UNAVAILABLE = "sandbox_unavailable"
    INTERNAL_ERROR = "internal_error"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one run.

    `wall` is the number of seconds that the code may run, without its waits for answers. `memory` (None: by the size of
    the data), `output`, `data` and `code` are bytes; `shown` is the number of characters of output in a result.
    """

    wall: float = 5.0
    memory: int | None = None
    output: int = 64 << 10
    shown: int = 8 << 10
    data: int = 64 << 20
    code: int = 64 << 10

    def memory_for(self, size: int) -> int:
        """Return the bytes that code over `size` bytes may take; parsed JSON takes four to five times its text."""
        return self.memory or max(256 << 20, 8 * size)


STANDARD = Limits()


@dataclass(frozen=True, slots=True)
class CodeError:
    """The exception that ended the code: type, message, line number from 1 (None: unknown), text of that line."""

    type: str
    message: str
    line: int | None = None
    source_line: str = ""


@dataclass(frozen=True, slots=True)
class SandboxResult:
    """The result of one run; `output` is printable and bounded, but as untrusted as the data.

    `shape` describes the object that an error is about. `truncated` means that `output` is only a part of the printed
    text.
    """

    status: Status
    output: str = ""
    error: CodeError | None = None
    truncated: bool = False
    elapsed_ms: float = 0.0
    shape: str = ""

    @property
    def ok(self) -> bool:
        """Whether the code ran to its end and printed something."""
        return self.status is Status.OK

    def feedback(self, *, of_program: bool = False) -> str:
        """Return the text for the model: the output of a successful run, else the error, its place and a hint.

        The hints for a program do not mention `data`, which it does not have.
        """
        if self.ok:
            return self.output
        parts = [_headline(self.status, self.error)]
        if self.error and self.error.source_line:
            parts.append(f"    {self.error.source_line}")
        if self.output.strip():
            parts.append(f"Output before that:\n{self.output.rstrip()}")
        hint = _hint(self, of_program=of_program)
        if hint:
            parts.append(f"Hint: {hint}")
        return "\n".join(parts)


def printable(text: str) -> str:
    """Return `text` without terminal sequences and control characters; lone surrogates are escaped."""
    plain = _UNPRINTABLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return plain.encode("utf-8", "backslashreplace").decode("utf-8")


def shorten(text: str, limit: int) -> tuple[str, bool]:
    """Return `text` cut to about `limit` characters (two thirds head, one third tail) and whether it was cut."""
    if len(text) <= limit:
        return text, False
    tail = limit // 3
    note = f"\n[... {len(text) - limit} characters left out ...]\n"
    return text[: limit - tail] + note + text[len(text) - tail :], True


def result_of(
    status: Status,
    printed: bytes,
    limits: Limits,
    *,
    error: CodeError | None = None,
    shape: str = "",
    seconds: float = 0.0,
) -> SandboxResult:
    """Return the result of a run with the printed bytes cleaned and bounded; OK without output becomes NO_OUTPUT."""
    text = printable(printed[: limits.output].decode("utf-8", "replace"))
    output, cut = shorten(text, limits.shown)
    if status is Status.OK and not text.strip():
        status = Status.NO_OUTPUT
    is_cut = cut or len(printed) > limits.output
    return SandboxResult(status, output, error, is_cut, round(seconds * 1000, 3), shape)


_HEADLINES: Mapping[Status, str] = {
    Status.NO_OUTPUT: "The code ran but printed nothing.",
    Status.TIMEOUT: "The code took too long and was stopped.",
    Status.MEMORY_LIMIT: "The code used too much memory and was stopped.",
    Status.OUTPUT_LIMIT: "The code printed too much and was stopped.",
    Status.INPUT_INVALID: "The response could not be read as JSON.",
    Status.INPUT_TOO_LARGE: "The response is too large for the sandbox.",
    Status.INPUT_TOO_DEEP: "The response is nested too deeply to be read as JSON.",
    Status.CRASHED: "The code ended its process before it finished.",
    Status.PAUSED: "The program waits for answers, or was ended before it finished.",
    Status.UNSUPPORTED: "The code uses something that this Python does not have.",
    Status.SANDBOX_UNAVAILABLE: "Code cannot be run on this machine.",
    Status.INTERNAL_ERROR: "The sandbox failed.",
}

_HINTS: Mapping[Status, str] = {
    Status.NO_OUTPUT: "print the answer to standard output; an expression alone on the last line shows nothing.",
    Status.SYNTAX_ERROR: "send only Python source, no prose and no Markdown.",
    Status.IMPORT_ERROR: (
        "only common modules of the standard library can be imported, such as json, re, datetime, collections, math, "
        "statistics, itertools, csv, html, urllib.parse."
    ),
    Status.TIMEOUT: "go over the data once, without waiting and without scans inside scans.",
    Status.MEMORY_LIMIT: "keep only what the answer needs instead of large copies.",
    Status.OUTPUT_LIMIT: "print only the fields that were asked for.",
    Status.CRASHED: "use plain Python: no os._exit, no ctypes, no unbounded recursion.",
    Status.UNSUPPORTED: "write it with plain loops, dicts and functions.",
}

_ERROR_HINTS: Mapping[str, str] = {
    "PermissionError": "files, processes and the network are closed here; the response is already in `data`.",
    "EOFError": "there is no standard input; the response is already in `data`.",
    "NameError": "import what you use; the response is in `data`.",
}

_PROGRAM_HINTS: Mapping[str, str] = {
    "PermissionError": "files, processes and the network are closed here; call the functions of the API.",
    "EOFError": "there is no standard input; end with stop(text) to ask for something.",
}


def _headline(status: Status, error: CodeError | None) -> str:
    fixed = _HEADLINES.get(status)
    if status is Status.SANDBOX_UNAVAILABLE and fixed:
        return fixed  # the reason is for the log: it may name paths of the host
    if error is None:
        return fixed or f"The code failed ({status})."
    detail = f"{error.type}: {error.message}" if error.message else error.type
    place = f" on line {error.line}" if error.line else ""
    return f"{fixed} ({detail}{place})" if fixed else f"The code failed{place}: {detail}"


_FORMATTED = "between the braces of an f-string write no backslash, and the other quotes than around the text."


def _hint(result: SandboxResult, *, of_program: bool) -> str:
    if result.status is Status.SYNTAX_ERROR and result.error and result.error.message.startswith("f-string"):
        return _FORMATTED
    if result.status is not Status.RUNTIME_ERROR or result.error is None:
        return _HINTS.get(result.status, "")
    shape = result.shape if of_program or not result.shape else f"`data` is {result.shape}"
    return (_PROGRAM_HINTS if of_program else _ERROR_HINTS).get(result.error.type) or (shape and f"{shape}.")
