"""Run model-written Python over untrusted data.

Covered: the code reaches no file, environment variable, process, network or memory of the host; the limits of time,
memory and output stop it. `docs/sandbox.md` names the test of each claim, and what is not covered.
"""

import json
import re
from collections.abc import Callable
from typing import Any, Literal

from restgpt.tools.sandbox.code import clean_code
from restgpt.tools.sandbox.result import STANDARD, CodeError, Limits, SandboxResult, Status
from restgpt.tools.sandbox.run import Given, ProgramRun
from restgpt.tools.sandbox.session import Session
from restgpt.tools.tracing.span import tool_span

__all__ = ["STANDARD", "Limits", "SandboxResult", "Status", "run_python"]


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
