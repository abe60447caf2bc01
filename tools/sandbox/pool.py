"""The processes in which generated code runs: Monty, another implementation of Python, a fresh process for each run.

Monty has no files, environment, processes or network, and only the names that it is given (`docs/sandbox.md`).
"""

import atexit
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Literal

import pydantic_monty as monty

from restgpt.tools.errors import RestgptError
from restgpt.tools.sandbox.result import Limits, Status

MOST_SUSPENSIONS = 1_000_000  # the calls of outside functions in one run; its time ends it long before
_GRACE = 0.5  # seconds after the time limit before the process is ended
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has only the other one, which ends a process there too
_KINDS = {
    "NotImplementedError": Status.UNSUPPORTED,
    "SyntaxError": Status.SYNTAX_ERROR,
    "ModuleNotFoundError": Status.IMPORT_ERROR,
    "ImportError": Status.IMPORT_ERROR,
    "MemoryError": Status.MEMORY_LIMIT,
    "TimeoutError": Status.TIMEOUT,
}


class SandboxUnavailableError(RestgptError):
    """No generated code can run here; the message has the reason."""


class Process:
    """The process of one run: what its code printed, how many seconds it ran, the limit for which it was ended."""

    def __init__(self, limits: Limits) -> None:
        self.printed = bytearray()
        self.ended: Status | None = None
        self.session: Any = None
        self._limits = limits
        self._pid: int | None = None
        self._timer: threading.Timer | None = None
        self._began = 0.0
        self.seconds = 0.0

    def write(self, stream: Literal["stdout", "stderr"], text: str) -> None:
        """Keep printed text; the first byte beyond the limit ends the process, because Monty ignores an exception."""
        if self.ended or stream != "stdout":
            return
        self.printed += text.encode("utf-8", "replace")
        if len(self.printed) > self._limits.output:
            self.end(Status.OUTPUT_LIMIT)

    def end(self, status: Status) -> None:
        """End the process for a limit."""
        self.ended = self.ended or status
        if self._pid is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self._pid, _KILL)

    def status_of(self, error: Exception) -> Status:
        """Return the status of a run that raised an error of Monty."""
        if self.ended:
            return self.ended
        if isinstance(error, monty.MontyCrashedError):
            return Status.TIMEOUT if error.timed_out else Status.CRASHED
        inner = error.exception() if isinstance(error, monty.MontyError) else error
        return _KINDS.get(type(inner).__name__, Status.RUNTIME_ERROR)

    @contextmanager
    def running(self, session: Any) -> Iterator["Process"]:
        """Use the session of Monty, and end its process a moment after its time, where Monty looks at no clock."""
        # Monty tells the process between runs only.
        self.session, self._pid = session, session.worker_pid
        try:
            yield self
        finally:
            self.rest()
            self._pid = None

    def work(self) -> None:
        """Begin a time in which the code runs, until `rest`."""
        self._timer = threading.Timer(
            min(self._limits.wall + 2 * _GRACE, threading.TIMEOUT_MAX), self.end, [Status.TIMEOUT]
        )
        self._timer.daemon = True
        self._timer.start()
        self._began = time.monotonic()

    def rest(self) -> None:
        """End a time in which the code runs."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self.seconds += time.monotonic() - self._began


@contextmanager
def process(limits: Limits, *, memory: int, clock: Any = None, seed: Any = None) -> Iterator[Process]:
    """Check a fresh process out for one run; `clock` (an aware datetime) and `seed` fix its time and its chance.

    Raises SandboxUnavailableError.
    """
    bounds: Any = {
        "max_feed_duration_secs": limits.wall,
        "max_memory": memory,
        "max_total_sleep_secs": limits.wall,
        "max_suspensions": MOST_SUSPENSIONS,
    }
    policy: Any = {"sleep": "zero"}
    if clock is not None:
        policy |= {"datetime": clock, "random_start": {"seed": seed}}
    checkout = _pool.get().checkout(limits=bounds, assert_message_annotations=False, os_policy=policy)
    with checkout as session, Process(limits).running(session) as found:
        yield found


class _Pool:
    """The pool of this process: opened at the first use, closed at exit."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: monty.Monty | None = None
        self._is_lost = False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)

    def get(self) -> monty.Monty:
        """Return the open pool; each call tries again if it is not open."""
        if self._is_lost:  # the threads of Monty are those of the parent, for which it would wait for ever
            raise SandboxUnavailableError("this process was forked from one that ran code; fork before, or spawn")
        with self._lock:
            if self._open is None:
                pool = monty.Monty(
                    max_processes=max(4, os.cpu_count() or 1),
                    max_checkouts_per_worker=1,
                    feed_duration_limit_grace=_GRACE,
                )
                try:
                    self._open = pool.__enter__()
                except (OSError, monty.MontyError) as error:
                    raise SandboxUnavailableError(f"the program monty cannot be started: {error}") from error
                atexit.register(self._close, os.getpid())
            return self._open

    def _close(self, pid: int) -> None:
        if self._open is not None and os.getpid() == pid:
            self._open.__exit__(None, None, None)

    def _reset(self) -> None:
        self._lock, self._is_lost = threading.Lock(), self._open is not None


_pool = _Pool()
