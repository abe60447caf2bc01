"""The limits of a sandbox run, its statuses, and its result as text for the model.

What a program is given, the calls that it asks for, their answers, and how a run of it ended.

Halves of surrogate pairs, which JSON may have and Monty's texts cannot: each has a private character there.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

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
    Status.PAUSED: "The program waits for responses, or was ended before it finished.",
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


Kind = Literal["finished", "calls", "stopped", "unknown", "refused", "budget", "failed"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A call that was carried out, as a program sees it.

    `position` is empty for a call of an earlier program, which a call with the same `digest` may take. `key` names the
    entry. `status` is 0 without an answer; `note` says why a call failed or was not sent. `pause` is how many seconds
    the server asks to wait before it is asked again. A wait was `slept` until the time `until`, when the program's
    clock shows `clock`.
    """

    position: str
    key: str
    digest: str
    given: Literal["answer", "error", "rejected", "held", "slept"]
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    media: Literal["json", "text", "binary", "empty"] = "empty"
    body: bytes = b""
    note: str = ""
    pause: float = 0.0
    until: float = 0.0
    clock: float = 0.0


@dataclass(frozen=True, slots=True)
class WantedCall:
    """A call without an answer: its number in the program, its place in the code, the function and its arguments.

    A wait (`WAIT`) takes `seconds`; they are no part of its digest, because a server may have asked for them.
    """

    position: str
    line: int
    source: str
    function: str
    positional: tuple[Any, ...]
    keywords: Mapping[str, Any]
    digest: str
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """One run of a program, to its end or to `calls` that have no answer.

    `taken` maps positions to the keys of entries of earlier programs that answered them; the next run gets these
    entries at these positions. `problem` is what the model can repair, `line` the place of the end, `text` a sentence
    of the program, `value` a value that it shows, `left` what it says it left undone, `claims` those of the
    required arguments that its code leaves out. The output of a program that finished without printing anything is the
    value of its last expression; the status of its result remains `NO_OUTPUT`.
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
    claims: tuple[str, ...] = ()


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


_SHIFT = 0x10F800 - 0xD800
"""From a half of a pair to its private character: there are as many of both."""

_HALF = re.compile("[\ud800-\udfff]")
_PRIVATE = re.compile("[\U0010f800-\U0010ffff]")
_ESCAPED = re.compile(r"\\U0010(f[89a-f][0-9a-f]{2})|\\udb(f[ef])\\u(d[c-f][0-9a-f]{2})")
"""How Python and JSON write a private character where they escape it."""


class Halves:
    """Hides halves of pairs from one program, and shows them again in what it sends and prints.

    A program whose answers have such private characters themselves gets an error in the place of a half.
    """

    def __init__(self) -> None:
        self._has_halves = self._has_private = False

    def text(self, entry: Entry) -> str | None:
        """Return the JSON of an answer that the program's process can read itself, which takes a third of the time."""
        self._has_private = self._has_private or b"\xf4\x8f" in entry.body
        text = entry.body.decode("utf-8", "replace") if entry.media == "json" else "\\ud"
        return None if "\\ud" in text.lower() else text

    def parsed(self, entry: Entry) -> Any:
        """Return the body of an answer as a value. Raises ValueError if the program could not tell what it has."""
        if entry.media == "empty":
            return None
        if entry.media == "binary":
            return entry.body
        self._has_private = self._has_private or b"\xf4\x8f" in entry.body or b"\\udbf" in entry.body.lower()
        text = entry.body.decode("utf-8", "replace")
        if entry.media != "json":
            return text
        try:
            value = json.loads(text)
        except ValueError:
            return text  # the body was cut, or the API calls something JSON that is not
        return self.hidden(value) if "\\ud" in text.lower() else value

    def hidden(self, value: Any) -> Any:
        """Return a value with private characters in the place of halves. Raises ValueError."""
        found = _replaced(value, _HALF, _SHIFT)
        self._has_halves = self._has_halves or found != value
        if self._has_halves and self._has_private:
            raise ValueError("a text has half of a surrogate pair beside private characters, and cannot be read")
        return found

    def shown(self, value: Any) -> Any:
        """Return a value with its halves."""
        return _replaced(value, _PRIVATE, -_SHIFT) if self._has_halves else value

    def shown_text(self, printed: bytes) -> bytes:
        """Return printed text with its halves escaped."""
        if not self._has_halves:
            return printed
        text = _ESCAPED.sub(_private, printed.decode("utf-8", "replace"))
        return str(self.shown(text)).encode("utf-8", "backslashreplace")


def _replaced(value: Any, pattern: re.Pattern[str], shift: int) -> Any:
    shifted: Callable[[re.Match[str]], str] = lambda match: chr(ord(match[0]) + shift)  # noqa: E731
    if isinstance(value, str):
        return pattern.sub(shifted, value)
    if isinstance(value, list):
        return [_replaced(item, pattern, shift) for item in value]
    if isinstance(value, dict):
        return {_replaced(name, pattern, shift): _replaced(item, pattern, shift) for name, item in value.items()}
    return value


def _private(escaped: re.Match[str]) -> str:
    if escaped[1]:
        return chr(0x100000 + int(escaped[1], 16))
    return chr(0x10000 + ((int(f"db{escaped[2]}", 16) - 0xD800) << 10) + int(escaped[3], 16) - 0xDC00)
