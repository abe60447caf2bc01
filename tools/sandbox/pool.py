"""The processes in which generated code runs: Monty, another implementation of Python, a fresh process for each run.

Monty has no files, environment, processes or network, and only the names that it is given (`docs/sandbox.md`).
"""

import atexit
import logging
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import pydantic_monty as monty
from pydantic_monty._binary import find_monty_binary

from restgpt.tools.errors import RestgptError
from restgpt.tools.sandbox.lock import LACKS, launcher
from restgpt.tools.sandbox.result import Limits, Status

MOST_SUSPENSIONS = 1_000_000  # the calls of outside functions in one run; its time ends it long before
MOST_PROCESSES = max(16, 4 * (os.cpu_count() or 1))
"""The maximum number of processes at once; an idle one takes 10 MB."""

SPARE = 2
"""How many processes are started ahead."""

_logger = logging.getLogger(__name__)
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
    """The process of one run: what its code printed, the limit for which it was ended."""

    def __init__(self, limits: Limits) -> None:
        self.printed = bytearray()
        self.ended: Status | None = None
        self.session: Any = None
        self._limits = limits
        self._pid: int | None = None
        self._began = self._rested = 0.0

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
        """Use the session of Monty, whose pool ends it a moment after its time, where Monty looks at no clock."""
        # Monty tells the process between runs only.
        self.session, self._pid = session, session.worker_pid
        try:
            yield self
        finally:
            self.rest()
            self._pid = None

    def work(self) -> None:
        """Begin a time in which the code runs, until `rest`."""
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long the code has run until now."""
        return self._rested + (time.monotonic() - self._began if self._began else 0.0)

    @property
    def is_late(self) -> bool:
        """Whether the run has taken more than its time, though its code ran only between many calls of the host."""
        return self.seconds > self._limits.wall + _GRACE

    def rest(self) -> None:
        """End a time in which the code runs."""
        self._rested, self._began = self.seconds, 0.0


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
    options = {"limits": bounds, "assert_message_annotations": False, "os_policy": policy}
    with _pools.session(**options) as session, Process(limits).running(session) as found:
        yield found


class _Pools:
    """Pools of one process each; a few are started ahead, because the lock takes longer to start than Monty."""

    def __init__(self) -> None:
        self._lock, self._room = threading.Lock(), threading.BoundedSemaphore(MOST_PROCESSES)
        self._spare: list[monty.Monty] = []
        self._binary = ""
        self._folder = Path()
        self._is_over = self._is_lost = False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._before_fork, after_in_parent=lambda: self._lock.release(), after_in_child=self._in_child
            )

    @contextmanager
    def session(self, **options: Any) -> Iterator[Any]:
        """Use a session in a process that ends afterwards; more runs than `MOST_PROCESSES` wait their turn."""
        if self._is_lost:  # the threads of Monty are those of the parent, for which it would wait for ever
            raise SandboxUnavailableError("this process was forked from one that ran code; fork before, or spawn")
        with self._room, ExitStack() as stack:
            yield self._begun(stack, options)

    def _begun(self, stack: ExitStack, options: dict[str, Any]) -> Any:
        with self._lock:
            if not self._binary:
                self._folder = Path(tempfile.mkdtemp(prefix="restgpt-sandbox-"))
                atexit.register(self._close, os.getpid())
                self._binary = _locked_binary(self._folder)
            spare = self._spare.pop() if self._spare else None
        threading.Thread(target=self._refill, daemon=True).start()
        if spare is not None:
            stack.push(spare.__exit__)
            with suppress(monty.MontyError):  # something has ended it while it waited
                return stack.enter_context(spare.checkout(**options))
        return _checked_out(stack, self._binary, **options)

    def _refill(self) -> None:
        with self._lock, suppress(SandboxUnavailableError):
            while len(self._spare) < SPARE and not self._is_over:
                self._spare.append(_opened(self._binary))

    def _close(self, pid: int) -> None:
        """End the processes that wait, at the exit of the process that started them."""
        if os.getpid() == pid:
            with self._lock:
                self._is_over = True
                self._drain()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _drain(self) -> None:
        while self._spare:
            self._spare.pop().__exit__(None, None, None)

    def _before_fork(self) -> None:
        self._lock.acquire()
        self._drain()

    def _in_child(self) -> None:
        self._lock, self._is_lost = threading.Lock(), bool(self._binary)


def _opened(binary: str) -> monty.Monty:
    pool = monty.Monty(
        binary_path=binary, max_processes=1, max_checkouts_per_worker=1, feed_duration_limit_grace=_GRACE
    )
    try:
        return pool.__enter__()
    except (OSError, monty.MontyError) as error:
        raise SandboxUnavailableError(f"the program monty cannot be started: {error}") from error


def _checked_out(stack: ExitStack, binary: str, **options: Any) -> Any:
    pool = _opened(binary)
    stack.push(pool.__exit__)
    return stack.enter_context(pool.checkout(**options))


def _locked_binary(folder: Path) -> str:
    """Return the program to start: the launcher, or, where the system takes no lock, Monty itself.

    A warning says what is open to it then.
    """
    binary = find_monty_binary()
    for lacks, kept in LACKS.items():
        try:
            locked = launcher(binary, folder, lacks)
            with ExitStack() as stack:
                _checked_out(stack, locked).feed_run("1 + 1")
        except (OSError, KeyError, SandboxUnavailableError, monty.MontyError) as error:
            reason = error
            continue
        if lacks:
            _logger.warning("%s is not here: Monty alone keeps generated code from %s", lacks, kept)
        return locked
    _logger.warning("generated code runs in Monty without the lock of the kernel around it: %s", reason)
    return binary


_pools = _Pools()
