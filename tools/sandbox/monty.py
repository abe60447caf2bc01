"""The backend for other systems than Linux: Monty, another implementation of Python; on Linux `restgpt[sandbox-monty]`.

Code that Monty does not support has the status `unsupported` and is not run by another backend. A program is rewritten
before it runs (`dialect.py`), and the host answers its calls (`monty_program.py`).
"""

import json
import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal

from restgpt.tools.sandbox.backend import SandboxUnavailableError
from restgpt.tools.sandbox.monty_program import End, Left, MontyProgram, rewrite
from restgpt.tools.sandbox.result import CodeError, Limits, Media, SandboxResult, Status, printable, result_of

_MOST_SUSPENSIONS = 1_000_000  # the calls of outside functions that one program makes; its time ends it long before
_GRACE = 0.5  # seconds after the time limit before the pool kills a worker
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has only the other one, which ends a process there too
_LOAD: Mapping[Media, str] = {"json": "import json as _json\ndata = _json.loads(raw)", "text": "data = raw"}
_KINDS: Mapping[str, Status] = {
    "NotImplementedError": Status.UNSUPPORTED,
    "SyntaxError": Status.SYNTAX_ERROR,
    "ModuleNotFoundError": Status.IMPORT_ERROR,
    "ImportError": Status.IMPORT_ERROR,
    "MemoryError": Status.MEMORY_LIMIT,
    "TimeoutError": Status.TIMEOUT,
}


class MontyBackend:
    """Runs code in Monty worker processes, a fresh one per run. Thread-safe.

    Raises SandboxUnavailableError if the extra is not installed or its program does not start.
    """

    name = "monty"
    runs_programs = True

    def __init__(self, *, workers: int | None = None) -> None:
        try:
            import pydantic_monty
        except ImportError as error:
            raise SandboxUnavailableError(
                "the Monty backend is not installed; install restgpt[sandbox-monty]"
            ) from error
        self._monty = pydantic_monty
        pool = pydantic_monty.Monty(
            max_processes=workers or max(4, os.cpu_count() or 1),
            max_checkouts_per_worker=1,
            feed_duration_limit_grace=_GRACE,
        )
        try:
            self._pool = pool.__enter__()
        except (OSError, pydantic_monty.MontyError) as error:
            raise SandboxUnavailableError(f"the monty program cannot be started: {error}") from error

    def run(self, code: str, data: bytes, *, media: Media, limits: Limits, may_wait: bool = False) -> SandboxResult:
        """Run `code` over `data` in a fresh Monty worker; a program never waits in it."""
        started = time.monotonic()
        if media not in ("json", "text"):
            output = _Output(limits.output)
            end = rewrite(code, data) if media == "rewriting" else self._run_program(code, data, limits, output)
            elapsed = (time.monotonic() - started) * 1000
            error = end.error and _bounded(end.error)
            options: dict[str, Any] = {"error": error, "pause": end.pause, "payload": end.payload}
            return result_of(end.status, bytes(output.printed), limits, elapsed_ms=elapsed, **options)
        output = _Output(limits.output)
        raised: Exception | None = None
        loading = True
        try:
            with self._pool.checkout(limits=_limits(limits, len(data)), assert_message_annotations=False) as session:
                # Monty tells the process between runs only.
                output.process = session.worker_pid
                session.feed_run(_LOAD[media], inputs={"raw": _text(data, media)}, print_callback=output)
                loading = False
                session.feed_run(code, print_callback=output)
        except self._monty.MontyError as error:
            raised = error
        status, problem = _ending(raised, loading=loading, overflowed=output.overflowed)
        elapsed = (time.monotonic() - started) * 1000
        return result_of(status, bytes(output.printed), limits, error=problem, elapsed_ms=elapsed)

    def _run_program(self, code: str, data: bytes, limits: Limits, output: "_Output") -> End:
        try:
            program = MontyProgram(code, data)
        except Left as left:
            return left.end
        except SyntaxError as error:
            line = error.lineno or 0
            source = code.split("\n")[line - 1].strip() if line else ""
            return End(Status.SYNTAX_ERROR, error=CodeError(type(error).__name__, error.msg, line or None, source))
        except (ValueError, OverflowError, RecursionError, MemoryError) as error:
            reason = str(error) or "the code is too complex"
            return End(Status.SYNTAX_ERROR, error=CodeError(type(error).__name__, reason))
        wall = limits.wall if limits.total is None else min(limits.wall, limits.total)
        options = {"limits": {**_limits(limits, len(data)), "max_suspensions": _MOST_SUSPENSIONS}}
        try:
            with self._pool.checkout(assert_message_annotations=False, os_policy=program.policy, **options) as session:
                output.process = session.worker_pid
                return program.run(session, self._monty, output, time.monotonic() + wall + _GRACE)
        except Left as left:
            return left.end
        except TimeoutError:
            return End(Status.TIMEOUT)
        except self._monty.MontyError as raised:
            status, _ = _ending(raised, loading=False, overflowed=output.overflowed)
            if status in (Status.OUTPUT_LIMIT, Status.TIMEOUT, Status.CRASHED) or not hasattr(raised, "traceback"):
                return End(status)
            if isinstance(raised.exception(), SystemExit) and not str(raised.exception()):
                status = Status.OK
            try:
                return program.ended(status, error=None if status is Status.OK else program.error_of(raised))
            except Left as left:
                return left.end

    def close(self) -> None:
        """End the worker processes."""
        self._pool.__exit__(None, None, None)


class _Output:
    """Collects the printed text up to `cap` bytes, and kills the worker `process` at the first print beyond them.

    Monty ignores an exception of a callback. No other run uses the worker.
    """

    def __init__(self, cap: int) -> None:
        self.printed = bytearray()
        self.overflowed = False
        self.process: int | None = None
        self._cap = cap

    def __call__(self, stream: Literal["stdout", "stderr"], text: str) -> None:
        if self.overflowed or stream != "stdout":
            return
        self.printed += text.encode("utf-8", "replace")
        if len(self.printed) > self._cap:
            self.overflowed = True
            if self.process is not None:
                with suppress(ProcessLookupError):
                    os.kill(self.process, _KILL)


def _bounded(error: CodeError) -> CodeError:
    return CodeError(error.type[:200], printable(error.message)[:2048], error.line, printable(error.source_line)[:300])


def _limits(limits: Limits, size: int) -> Any:
    return {
        "max_feed_duration_secs": limits.wall,
        "max_memory": limits.memory_for(size),
        "max_total_sleep_secs": limits.wall,
        "max_suspensions": 50,
    }


def _text(data: bytes, media: Media) -> str:
    encoding = json.detect_encoding(data) if media == "json" else "utf-8"
    return data.decode(encoding, "replace")


def _ending(raised: Any, *, loading: bool, overflowed: bool) -> tuple[Status, CodeError | None]:
    if overflowed:
        return Status.OUTPUT_LIMIT, None
    if raised is None:
        return Status.OK, None
    inner = raised.exception()
    kind, message = type(inner).__name__, printable(str(inner))[:2048]
    if hasattr(raised, "timed_out"):
        return (Status.TIMEOUT if raised.timed_out else Status.CRASHED), None
    status = _KINDS.get(kind, Status.RUNTIME_ERROR)
    if loading and status is Status.RUNTIME_ERROR:
        status = Status.INPUT_TOO_DEEP if "recursion limit" in message else Status.INPUT_INVALID
    frames = [] if loading else raised.traceback()
    line, source = (frames[-1].line, printable(frames[-1].source_line or "").strip()[:300]) if frames else (None, "")
    return status, CodeError(kind, message, line, source)
