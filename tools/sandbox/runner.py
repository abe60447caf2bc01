"""Run model-written Python over untrusted data.

There is one secure backend per platform: on Linux a locked CPython process per run (`sandbox/cpython.py`), elsewhere
Monty (`sandbox/monty.py`); `RESTGPT_SANDBOX` names another. A run never falls back to a second backend, because hostile
code could provoke the fallback and so choose the weakest one.

Covered: the code reaches no file, environment variable, process, network, host memory or inherited descriptor; the
limits of time, memory and output stop it; no process or file of a run remains. Not covered: flaws of the kernel, side
channels of the processor, and the correctness of the output. `docs/sandbox.md` names the test of each claim.
"""

import atexit
import importlib
import json
import os
import threading
from collections.abc import Callable
from typing import TypeVar

from restgpt.tools.sandbox.backend import SandboxBackend, SandboxUnavailableError, sandbox_from_env
from restgpt.tools.sandbox.code import clean_code, program_code
from restgpt.tools.sandbox.result import STANDARD, CodeError, Limits, Media, SandboxResult, Status
from restgpt.tools.tracing.span import tool_span

__all__ = [
    "STANDARD",
    "CodeError",
    "Limits",
    "Media",
    "SandboxBackend",
    "SandboxResult",
    "SandboxUnavailableError",
    "Status",
    "open_backend",
    "run_python",
]

Result = TypeVar("Result", SandboxResult, SandboxResult | None)

# Modules are imported when needed: the extras may not be installed, and each platform needs one backend.
_BACKENDS = {
    "cpython": ("restgpt.tools.sandbox.cpython", "CPythonBackend"),
    "monty": ("restgpt.tools.sandbox.monty", "MontyBackend"),
}


def run_python(
    code: str,
    data: object,
    *,
    media: Media = "json",
    limits: Limits = STANDARD,
    may_wait: bool = False,
    backend: SandboxBackend | None = None,
) -> SandboxResult:
    """Run model-written `code` with the variable `data` and return its output or its error; raises nothing for errors.

    Bytes and str are the raw body: JSON is parsed in the sandbox, and with media "text" `data` is a str. Any other
    object is dumped to JSON first. With `may_wait`, a program may wait in its process for an answer; the caller then
    continues or ends the process of the result. Thread-safe; the default `backend` is that of the platform.
    """
    return traced_run(lambda: _result(code, data, media, limits, may_wait, backend))


def traced_run(run: Callable[[], Result]) -> Result:
    """Run code, or continue a program in its process, under a span; the span has neither the code nor its output."""
    with tool_span("python", kind="function") as current:
        result = run()
        if result is not None:
            current.set({"restgpt.sandbox.status": result.status.value})
            if result.status not in (Status.OK, Status.NO_OUTPUT, Status.PAUSED):
                current.fail(result.status.value)
        return result


def _result(
    code: str, data: object, media: Media, limits: Limits, may_wait: bool, backend: SandboxBackend | None
) -> SandboxResult:
    size = len(code.encode("utf-8", "surrogatepass"))
    clean = clean_code if media in ("json", "text") else program_code
    source = clean(code) if size <= limits.code else ""
    if not source.strip():
        reason = (
            f"the code has {size} bytes, and at most {limits.code} are allowed" if size > limits.code else "no code"
        )
        return SandboxResult(Status.SYNTAX_ERROR, error=CodeError("SyntaxError", reason))
    try:
        raw = _raw(data)
    except (TypeError, ValueError, RecursionError) as error:
        return SandboxResult(Status.INPUT_INVALID, error=CodeError(type(error).__name__, str(error)[:300]))
    if len(raw) > limits.data:
        reason = f"{len(raw)} bytes, and at most {limits.data} are allowed"
        return SandboxResult(Status.INPUT_TOO_LARGE, error=CodeError("ValueError", reason))
    try:
        chosen = backend or _default.get()
        if media not in ("json", "text") and not chosen.runs_programs:
            reason = f"the sandbox {chosen.name} runs no programs"
            return SandboxResult(Status.UNSUPPORTED, error=CodeError("NotImplementedError", reason))
        return chosen.run(source, raw, media=media, limits=limits, may_wait=may_wait)
    except SandboxUnavailableError as error:
        return SandboxResult(Status.SANDBOX_UNAVAILABLE, error=CodeError("SandboxUnavailableError", str(error)))


def open_backend(name: str = "auto") -> SandboxBackend:
    """Return a backend by name ("cpython", "monty"), or with "auto" the first that works here.

    Raises SandboxUnavailableError if the named backend, or with "auto" every backend, is not secure here.
    """
    reasons = []
    for candidate in _BACKENDS if name == "auto" else (name,):
        module, kind = _BACKENDS[candidate]
        try:
            backend: SandboxBackend = getattr(importlib.import_module(module), kind)()
        except SandboxUnavailableError as error:
            reasons.append(f"{candidate}: {error}")
        else:
            return backend
    raise SandboxUnavailableError("; ".join(reasons))


def _raw(data: object) -> bytes:
    if isinstance(data, bytes):
        return data
    if isinstance(data, (bytearray, memoryview)):
        return bytes(data)
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


class _Default:
    """The default backends of this process: opened at the first use, closed at exit, reopened in a forked child."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._backends: dict[str, SandboxBackend] = {}
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)

    def get(self) -> SandboxBackend:
        """Return the backend of the setting; each call tries again if it is not open.

        Raises SandboxUnavailableError and SettingsError.
        """
        name = sandbox_from_env()
        with self._lock:
            if name not in self._backends:
                self._backends[name] = open_backend(name)
                atexit.register(self._backends[name].close)
            return self._backends[name]

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._backends = {}


_default = _Default()


def runs_programs() -> bool:
    """Return whether the default sandbox runs programs, and not only code that reads one response."""
    try:
        return _default.get().runs_programs
    except SandboxUnavailableError:
        return False
