"""The backend for other systems than Linux: Monty, another implementation of Python; on Linux `restgpt[sandbox-monty]`.

Code that Monty does not support has the status `unsupported` and is not run by another backend. A program is rewritten
before it runs (`dialect.py`), and the host answers its calls (`monty_program.py`).
"""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Literal

from restgpt.tools.extras import extra_command
from restgpt.tools.sandbox.backend import SandboxUnavailableError
from restgpt.tools.sandbox.guest.rewriting import UnsafeError
from restgpt.tools.sandbox.monty_program import Left, MontyProgram, rewrite
from restgpt.tools.sandbox.result import CodeError, Ending, Limits, Media, SandboxResult, Status, printable, result_of

_MOST_SUSPENSIONS = 1_000_000  # the calls of outside functions that one program makes; its time ends it long before
_LEAST_MEMORY = 256 << 20  # bytes of a run over small data
_GRACE = 0.5  # seconds after the time limit before the pool kills a worker
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has only the other one, which ends a process there too
_DATA = ("json", "text")
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
                f"the Monty backend is not installed: {extra_command('sandbox-monty')}"
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
        output = _Output(limits.output)
        try:
            end = rewrite(code, data) if media == "rewriting" else self._run(code, data, media, limits, output)
        except Left as left:
            end = left.end
        except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError, UnsafeError) as error:
            line = (error.lineno or 0) if isinstance(error, SyntaxError) else 0
            source = code.split("\n")[line - 1].strip()[:300] if line else ""
            reason = getattr(error, "msg", "") or str(error) or "the code is too complex"
            end = Ending(Status.SYNTAX_ERROR, error=CodeError(type(error).__name__, reason, line or None, source))
        if media in _DATA and end.pause == "refused":  # code over data has a status for it
            line, sentence = json.loads(end.payload)["problems"][0]
            end = Ending(Status.UNSUPPORTED, error=CodeError("NotImplementedError", sentence, line))
        told = end.error and replace(end.error, message=printable(end.error.message)[:2048])
        return result_of(end._replace(error=told), bytes(output.printed), limits, time.monotonic() - started)

    def _run(self, code: str, data: bytes, media: Media, limits: Limits, output: "_Output") -> Ending:
        """Run a program, or code over data. Raises Left, and what `ast.parse` raises."""
        if media in _DATA:
            job: dict[str, Any] = {"functions": (), "entries": (), "most": 0, "check": "", "inputs": None}
            try:
                job["data"] = json.loads(data) if media == "json" else data.decode("utf-8", "replace")
            except RecursionError:
                return Ending(Status.INPUT_TOO_DEEP)
            except ValueError as error:
                return Ending(Status.INPUT_INVALID, error=CodeError(type(error).__name__, str(error)))
            size = len(data)
        else:
            size = 10 + int(data[:10])
            job = json.loads(data[10:size])
        program = MontyProgram(code, job, memoryview(data)[size:], self._monty)
        try:
            with self._session(limits, len(data), output, os_policy=program.policy) as session:
                try:
                    return program.run(session, output, time.monotonic() + limits.wall + _GRACE)
                except self._monty.MontyRuntimeError as raised:
                    status = _status(raised, output)
                    is_over = output.ended or status is Status.TIMEOUT
                    return Ending(status) if is_over else program.failed(session, raised, status)
        except self._monty.MontyError as raised:
            return Ending(_status(raised, output))

    @contextmanager
    def _session(self, limits: Limits, size: int, output: "_Output", **options: Any) -> Iterator[Any]:
        """Check a worker out, whose process ends with its time even where Monty does not look at the clock."""
        bounds: Any = {
            "max_feed_duration_secs": limits.wall,
            # Less than elsewhere, because the host holds what Monty sends too.
            "max_memory": limits.memory or max(_LEAST_MEMORY, limits.memory_for(size) - _LEAST_MEMORY),
            "max_total_sleep_secs": limits.wall,
            "max_suspensions": _MOST_SUSPENSIONS,
        }
        with self._pool.checkout(limits=bounds, assert_message_annotations=False, **options) as session:
            # Monty tells the process between runs only.
            output.process = session.worker_pid
            wall = limits.wall if limits.total is None else min(limits.wall, limits.total)
            timer = threading.Timer(min(wall + 2 * _GRACE, threading.TIMEOUT_MAX), output.end, [Status.TIMEOUT])
            timer.daemon = True
            timer.start()
            try:
                yield session
            finally:
                timer.cancel()

    def close(self) -> None:
        """End the worker processes."""
        self._pool.__exit__(None, None, None)


class _Output:
    """Collects the printed text up to `cap` bytes, and ends the worker `process` at the first print beyond them.

    Monty ignores an exception of a callback. No other run uses the worker. `ended` is the limit for which it was ended.
    """

    def __init__(self, cap: int) -> None:
        self.printed = bytearray()
        self.ended: Status | None = None
        self.process: int | None = None
        self._cap = cap

    def __call__(self, stream: Literal["stdout", "stderr"], text: str) -> None:
        if self.ended or stream != "stdout":
            return
        self.printed += text.encode("utf-8", "replace")
        if len(self.printed) > self._cap:
            self.end(Status.OUTPUT_LIMIT)

    def end(self, status: Status) -> None:
        """End the worker for a limit."""
        self.ended = self.ended or status
        if self.process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self.process, _KILL)


def _status(raised: Any, output: _Output) -> Status:
    """Return the status of a run that raised an error of Monty."""
    if output.ended:
        return output.ended
    if hasattr(raised, "timed_out"):
        return Status.TIMEOUT if raised.timed_out else Status.CRASHED
    return _KINDS.get(type(raised.exception()).__name__, Status.RUNTIME_ERROR)
