"""The Linux backend: a new, locked CPython process (a worker) for each run.

A worker is neither a fork of the host nor reused: the memory of the host contains secrets, and a process that has run
generated code is no longer trusted. It is a clone of the nursery, an interpreter that has loaded its modules and has
read no code and no data; where the system makes no such clone, it is an interpreter of its own. `worker.py` documents
the lock. A worker may keep its program waiting for the answer to a call, and go on with it and no other; its timers
still end it.
"""

import math
import os
import platform
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from restgpt.tools.sandbox.backend import SandboxUnavailableError
from restgpt.tools.sandbox.code import RUNNERS, given_modules, missing_module, modules_for, needs_zones
from restgpt.tools.sandbox.process import Child, Nursery, Worker, command, interpreter
from restgpt.tools.sandbox.record import GRACE, Run, framed
from restgpt.tools.sandbox.result import Limits, Media, SandboxResult, Status
from restgpt.tools.sandbox.seccomp import lock_program

_REPEATS = 2  # of a run that failed to import a module which `modules_for` did not find

# The self-test of a backend: every attempt in it must fail, else the backend is not used.
_PROBE = """
import os, ctypes
libc = ctypes.CDLL(None, use_errno=True)
reached = []
for name, attempt in {
    "a file": lambda: os.open("/", os.O_RDONLY),
    "a new file": lambda: os.open("probe", os.O_WRONLY | os.O_CREAT),
    "another process": lambda: os.kill(1, 0),
    "a new process": lambda: os.fork() or os._exit(0),
    "a pipe": os.pipe,
}.items():
    try:
        attempt()
        reached.append(name)
    except PermissionError:
        pass
for name, call in {"a unix socket": (1, 1, 0), "an internet socket": (2, 1, 0), "a datagram socket": (2, 2, 0)}.items():
    if libc.socket(*call) != -1:
        reached.append(name)
print(", ".join(reached) or "locked")
"""


class CPythonBackend:
    """Runs code in locked one-shot workers, at most `workers` at once. Thread-safe.

    Raises SandboxUnavailableError if the platform, the kernel or the interpreter cannot lock a worker.
    """

    name = "cpython"
    runs_programs = True

    def __init__(
        self,
        *,
        workers: int | None = None,
        python: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        program = lock_program(platform.machine()) if sys.platform == "linux" else None
        if program is None:
            raise SandboxUnavailableError(
                f"the locked interpreter does not support {sys.platform} on {platform.machine()}"
            )
        self._command = command(python or interpreter(), program)
        self._is_own_version = python is None
        self._clock = clock
        self._workers = workers or max(4, 2 * (os.cpu_count() or 1))
        self._closed = False
        self._kept: set[Worker] = set()
        self._nursery: Nursery | None = None
        self._can_clone = True
        # Reentrant, because the garbage collector may end programs that wait while its thread holds the lock.
        self._lock = threading.RLock()
        self._slots = threading.BoundedSemaphore(self._workers)
        forked = weakref.WeakMethod(self._after_fork)
        os.register_at_fork(after_in_child=lambda: (forked() or _nothing)())
        self._test()

    def run(self, code: str, data: bytes, *, media: Media, limits: Limits, may_wait: bool = False) -> SandboxResult:
        """Run `code` over `data` in a fresh worker. Raises SandboxUnavailableError if no worker can be locked.

        With `may_wait`, the result may have the process of a program that waits.
        """
        # Some functions of the standard library import further modules when they are called; `modules_for` cannot find
        # these. A run has no side effects, so it is repeated with the missing module loaded before the lock.
        modules = modules_for(code, media)
        end = self._end_of(limits)
        left = limits
        for _ in range(_REPEATS + 1):
            result, ran = self._once(code, data, media=media, limits=left, modules=modules, end=end, may_wait=may_wait)
            missing = missing_module(result.error.message) if result.error else ""
            if result.status is not Status.IMPORT_ERROR or not missing or missing in modules:
                break
            # The code chooses the names that it fails to import, so all repeats together have the time of one run.
            left = replace(left, wall=left.wall - ran, cpu=left.cpu - ran)
            if min(left.wall, left.cpu) <= 0:
                return replace(result, status=Status.TIMEOUT, error=None)
            modules += (missing,)
        return result

    def _once(
        self,
        code: str,
        data: bytes,
        *,
        media: Media,
        limits: Limits,
        modules: tuple[str, ...],
        end: float,
        may_wait: bool,
    ) -> tuple[SandboxResult, float]:
        """Run the code in one worker by the moment `end`; return the result and the seconds that the code ran."""
        source = code.encode("utf-8", "surrogatepass")
        header: dict[str, object] = {
            "code": len(source),
            "data": len(data),
            "media": media,
            "runner": RUNNERS.get(media, ""),
            "modules": modules,
            "zones": needs_zones(code),
            "wall": limits.wall,
            "cpu": limits.cpu,
            "memory": limits.memory_for(len(data)),
        }
        given = given_modules(code, media, compiled=self._is_own_version)
        header["given"], header["compiled"] = {name: len(text) for name, text in given.items()}, self._is_own_version
        request = [b"".join([framed(header), *given.values(), source]), data]
        if not self._take_slot(end):
            return SandboxResult(Status.TIMEOUT), 0.0
        try:
            started = self._clock()
            worker, run = self._serve(request, limits, end, may_wait)
            elapsed = self._clock() - started
        finally:
            self._slots.release()
        result = run.result(elapsed)
        if run.waits:
            result = replace(result, process=_WaitingWorker(self, worker, run, limits.memory_for(len(data))))
        return result, min(elapsed, self._clock() - run.locked_at)

    def go_on(self, waiting: "_WaitingWorker", data: bytes, limits: Limits) -> SandboxResult | None:
        """Send answers to the worker in which a program waits; None if the worker has been ended or no slot is free."""
        end = self._end_of(limits)
        if not self._take_slot(end):
            return None
        try:
            started = self._clock()
            with self._lock:
                if waiting.worker not in self._kept:
                    return None
                self._kept.remove(waiting.worker)
            waiting.run.continue_by(limits, end)
            self._follow(waiting.worker, waiting.run, [b"%010d" % len(data), data])
            elapsed = self._clock() - started
        finally:
            self._slots.release()
        result = waiting.run.result(elapsed)
        return replace(result, process=waiting) if waiting.run.waits else result

    def drop(self, waiting: "_WaitingWorker") -> None:
        """End the worker in which a program waits, unless the program goes on in it or it has been ended."""
        with self._lock:
            is_own = waiting.worker in self._kept
            self._kept.discard(waiting.worker)
        if is_own:
            waiting.worker.end()

    def close(self) -> None:
        """End the nursery and the workers in which programs wait; the others end with their runs.

        The backend cannot be used afterwards.
        """
        with self._lock:
            self._closed = True
            waiting, self._kept = self._kept, set()
            nursery, self._nursery = self._nursery, None
        for worker in waiting:
            worker.end()
        if nursery is not None:
            nursery.close()

    def _after_fork(self) -> None:
        # In a forked child all workers belong to the parent, and locks may be held by threads that do not exist.
        for worker in self._kept:
            worker.disown()
        if self._nursery is not None:
            self._nursery.disown()
        self._kept, self._nursery = set(), None
        self._lock = threading.RLock()
        self._slots = threading.BoundedSemaphore(self._workers)

    def _end_of(self, limits: Limits) -> float:
        """Return the moment by which a run that begins now must have ended, its wait for a slot included."""
        return self._clock() + (math.inf if limits.total is None else limits.total)

    def _take_slot(self, end: float) -> bool:
        """Wait until a worker may run, and return whether that was before the moment `end`."""
        return self._slots.acquire(timeout=min(max(0.0, end - self._clock()), threading.TIMEOUT_MAX))

    def _serve(self, request: list[bytes], limits: Limits, end: float, may_wait: bool) -> tuple[Worker, Run]:
        worker, run = self._start(), Run(limits, self._clock, end, may_wait=may_wait)
        self._follow(worker, run, request)
        if run.locked or run.was_late:
            return worker, run
        raise SandboxUnavailableError(run.refusal or f"the interpreter did not start ({run.last_error_line()})")

    def _follow(self, worker: Worker, run: Run, request: list[bytes]) -> None:
        """Send a request to a worker and read until the worker ends or its program waits."""
        try:
            run.feed(worker, request)
            run.follow(worker)
            if run.killed is None and not run.waits and not worker.ended_within(GRACE):
                run.killed = Status.CRASHED  # it closed its pipes but did not end
        finally:
            has_waited = run.waits
            run.waits = has_waited and self._keep(worker)
            if not run.waits:
                returncode = worker.end()
                # A program that waits has told its calls, so its end by the host is no failure.
                run.returncode = 0 if has_waited else returncode

    def _keep(self, worker: Worker) -> bool:
        """Keep a worker in which a program waits and return True; False if the backend was closed."""
        with self._lock:
            if not self._closed:
                self._kept.add(worker)
            return not self._closed

    def _start(self) -> Worker:
        if self._closed:
            raise SandboxUnavailableError("the sandbox is closed; open a new one")
        return Worker.start(self._command, self._clone)

    def _clone(self, descriptors: Sequence[int]) -> Child | None:
        """Return a clone of the nursery, or of a new one if it has ended; None where the system makes no clones."""
        # The second try is for a nursery that was ended from outside.
        for _ in range(2 if self._can_clone else 0):
            with self._lock:
                if self._closed:
                    return None
                nursery = self._nursery = self._nursery or Nursery(self._command)
            if (child := nursery.clone(descriptors)) is not None:
                return child
            with self._lock:
                self._nursery = None if self._nursery is nursery else self._nursery
            nursery.close()
        self._can_clone = False
        return None

    def _test(self) -> None:
        try:
            result = self.run(_PROBE, b"null", media="json", limits=Limits(wall=20.0, cpu=20.0))
        except SandboxUnavailableError:
            self.close()
            raise
        if result.output.strip() != "locked":
            self.close()
            raise SandboxUnavailableError(f"the self-test of the lock failed: {result.feedback()}")


def _nothing() -> None:
    """Do nothing, for a backend that no longer exists when the process forks."""


@dataclass(frozen=True, slots=True)
class _WaitingWorker:
    """A worker in which a program waits, the run of its program so far, and its limit of memory in bytes."""

    backend: CPythonBackend
    worker: Worker
    run: Run
    memory: int

    def go_on(self, data: bytes, *, limits: Limits) -> SandboxResult | None:
        """Send the answers in `data` to the worker; None if they exceed its limits or it has been ended."""
        size = self.run.fed + len(data)
        if size > limits.data or limits.memory_for(size) > self.memory:
            self.end()
            return None
        return self.backend.go_on(self, data, limits)

    def end(self) -> None:
        """End the worker."""
        self.backend.drop(self)
