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
import selectors
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from restgpt.tools.sandbox.backend import SandboxUnavailableError
from restgpt.tools.sandbox.code import CORE, RUNNERS, given_modules, missing_module, modules_for, needs_zones
from restgpt.tools.sandbox.nursery import Child, Nursery
from restgpt.tools.sandbox.record import LOCKED, Ending, ending_of, framed, is_waiting, refusal_of
from restgpt.tools.sandbox.result import Limits, Media, SandboxResult, Status, printable, result_of
from restgpt.tools.sandbox.seccomp import lock_program

_LOCK_MODULES = ("ctypes", "resource", "signal")  # the worker needs them to lock itself
_REPEATS = 2  # of a run that failed to import a module which `modules_for` did not find
START = 20.0  # seconds for the start of an interpreter on a busy machine; the limits of a run count from its lock
GRACE = 0.5  # seconds after the time limit before the host kills a worker that the kernel timer did not end
_WORKER = Path(__file__).with_name("worker.py")
_STATUS_BYTES = 1 << 20
_CHUNK = 1 << 20
# The same order of sets in every run of a program.
_ENVIRONMENT = {"PYTHONHASHSEED": "0"}
_F_SETPIPE_SZ = 1031

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
        self._command = _command(python or _interpreter(), program)
        self._is_own_version = python is None
        self._clock = clock
        self._workers = workers or max(4, 2 * (os.cpu_count() or 1))
        self._closed = False
        self._kept: set[_Worker] = set()
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

    def _serve(self, request: list[bytes], limits: Limits, end: float, may_wait: bool) -> "tuple[_Worker, _Run]":
        worker, run = self._start(), _Run(limits, self._clock, end, may_wait=may_wait)
        self._follow(worker, run, request)
        if run.locked or run.was_late:
            return worker, run
        raise SandboxUnavailableError(run.refusal or f"the interpreter did not start ({run.last_error_line()})")

    def _follow(self, worker: "_Worker", run: "_Run", request: list[bytes]) -> None:
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

    def _keep(self, worker: "_Worker") -> bool:
        """Keep a worker in which a program waits and return True; False if the backend was closed."""
        with self._lock:
            if not self._closed:
                self._kept.add(worker)
            return not self._closed

    def _start(self) -> "_Worker":
        if self._closed:
            raise SandboxUnavailableError("the sandbox is closed; open a new one")
        return _Worker.start(self._command, self._clone)

    def _clone(self, descriptors: Sequence[int]) -> Child | None:
        """Return a clone of the nursery, or of a new one if it has ended; None where the system makes no clones."""
        # The second try is for a nursery that was ended from outside.
        for _ in range(2 if self._can_clone else 0):
            with self._lock:
                if self._closed:
                    return None
                nursery = self._nursery = self._nursery or Nursery(self._command, _ENVIRONMENT, patience=START)
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


class _Worker:
    """A worker process and the host's ends of its four pipes; -1 means closed."""

    def __init__(self, process: "subprocess.Popen[bytes] | Child", pipes: Iterable[int]) -> None:
        self.process = process
        self.stdin, self.stdout, self.stderr, self.status = pipes

    @classmethod
    def start(cls, command: list[str], clone: Callable[[Sequence[int]], Child | None]) -> "_Worker":
        """Start an interpreter that waits for a job: a clone, or where there is none, a new one.

        Raises SandboxUnavailableError if it cannot be started.
        """
        opened: list[int] = []
        try:
            for _ in range(4):
                opened.extend(os.pipe())  # the reading end comes first
            theirs = [opened[0], opened[3], opened[5], opened[7]]
            process = clone(theirs) or subprocess.Popen(
                # The status descriptor is an argument, because `dup2` to a fixed number would race with other threads.
                [part.replace("{place}", str(theirs[3])) for part in command],
                stdin=theirs[0],
                stdout=theirs[1],
                stderr=theirs[2],
                pass_fds=(theirs[3],),
                env=_ENVIRONMENT,
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            for number in opened:
                os.close(number)
            raise SandboxUnavailableError(f"the interpreter cannot be started: {error.strerror}") from error
        for number in theirs:
            os.close(number)
        ours = [opened[1], opened[2], opened[4], opened[6]]
        for number in ours:
            os.set_blocking(number, False)
        return cls(process, ours)

    def ended_within(self, seconds: float) -> bool:
        """Wait for the process to end and return whether it did."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self) -> int:
        """Kill the process if it runs, wait for it, close the pipes; return its exit code (negative: a signal)."""
        self.process.kill()
        returncode = self.process.wait()
        self._close()
        return returncode

    def disown(self) -> None:
        """In a forked child, close the copies of the pipes: the worker belongs to the parent."""
        self.process.returncode = 0  # only the parent can wait for the worker
        self._close()

    def close_stdin(self) -> None:
        """Close standard input, which ends the request."""
        os.close(self.stdin)
        self.stdin = -1

    def _close(self) -> None:
        for number in (self.stdin, self.stdout, self.stderr, self.status):
            if number >= 0:
                os.close(number)
        self.stdin = self.stdout = self.stderr = self.status = -1


@dataclass(frozen=True, slots=True)
class _WaitingWorker:
    """A worker in which a program waits, the run of its program so far, and its limit of memory in bytes."""

    backend: CPythonBackend
    worker: _Worker
    run: "_Run"
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


@dataclass(slots=True)
class _Run:
    """One job in one worker: the bytes to send, the bytes received, and the status if the host killed the worker.

    `may_wait` is true if the program may wait for answers in its worker, and `waits` while it does. `fed` is the number
    of bytes that were sent in all.
    """

    limits: Limits
    clock: Callable[[], float]
    end: float
    may_wait: bool = False
    waits: bool = False
    fed: int = 0
    fed_at: float = 0.0
    locked_at: float = math.inf
    deadline: float = math.inf
    pending: list[memoryview] = field(default_factory=list)
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    status: bytearray = field(default_factory=bytearray)
    killed: Status | None = None
    returncode: int = 0

    def continue_by(self, limits: Limits, end: float) -> None:
        """Set the limits of the next part of the run, and forget the last record but for the lock."""
        self.limits, self.end, self.waits = limits, end, False
        self.status = bytearray(LOCKED)

    def result(self, elapsed: float) -> SandboxResult:
        """Return the result of the run, which has taken `elapsed` seconds."""
        ending = self.ending()
        return result_of(
            ending.status,
            bytes(self.stdout),
            self.limits,
            error=ending.error,
            elapsed_ms=elapsed * 1000,
            shape=ending.shape,
            pause=ending.pause,
            payload=ending.payload,
        )

    @property
    def locked(self) -> bool:
        """Whether the worker reported its lock; it does so before it reads any code."""
        return self.status.startswith(LOCKED)

    @property
    def was_late(self) -> bool:
        """Whether a timer of the worker ended it; on a busy machine this can happen before its lock."""
        return self.returncode in (-signal.SIGALRM, -signal.SIGXCPU)

    @property
    def refusal(self) -> str:
        """The worker's reason for not running the code."""
        return refusal_of(bytes(self.status))

    def last_error_line(self) -> str:
        """The last line on standard error, or the exit code."""
        lines = printable(self.stderr.decode("utf-8", "replace")).strip().splitlines()
        return lines[-1][:300] if lines else f"exit code {self.returncode}"

    def ending(self) -> Ending:
        """Return the outcome; a kill by the host or the kernel takes precedence over the worker's record."""
        if self.killed is not None:
            return Ending(self.killed)
        ending = ending_of(bytes(self.status))
        if self.returncode == 0 and ending.status is not Status.CRASHED:
            return ending
        # If the host ignores SIGCHLD, every exit code is 0; then the elapsed time shows that the timer has fired.
        late = self.returncode == 0 and self.clock() - self.fed_at >= self.limits.wall
        if late or self.was_late:
            return Ending(Status.TIMEOUT)
        # SIGKILL not sent by the host comes from the kernel, which is out of memory.
        return Ending(Status.MEMORY_LIMIT if self.returncode == -signal.SIGKILL else Status.CRASHED)

    def feed(self, worker: _Worker, request: Iterable[bytes]) -> None:
        """Send as much of the request as the pipe accepts without blocking."""
        self.fed_at = self.clock()
        wait = GRACE if self.locked else START
        self.deadline = min(self.fed_at + wait + self.limits.wall, self.end)
        self.pending = [memoryview(part) for part in request if part]
        self.fed += sum(map(len, self.pending))
        _widen(worker.stdin, sum(map(len, self.pending)))
        self._write(worker)

    def follow(self, worker: _Worker) -> None:
        """Send the rest and read all pipes until the worker closes them, a limit is exceeded or the deadline passes."""
        with selectors.PollSelector() as ready:
            if self.pending:
                ready.register(worker.stdin, selectors.EVENT_WRITE)
            for sink in (worker.stdout, worker.stderr, worker.status):
                ready.register(sink, selectors.EVENT_READ)
            while self._is_open(worker, ready) and self.killed is None:
                left = self.deadline - self.clock()
                if left <= 0:
                    self.killed = Status.TIMEOUT
                    return
                for key, _ in ready.select(left):
                    self._advance(worker, key.fd, ready)
                if self.may_wait and not self.pending and is_waiting(self.status):
                    self._drain(worker)
                    self.waits = self.killed is None
                    return

    def _is_open(self, worker: _Worker, ready: selectors.PollSelector) -> bool:
        """Return whether the worker may still write."""
        return any(number in ready.get_map() for number in (worker.stdout, worker.stderr, worker.status))

    def _drain(self, worker: _Worker) -> None:
        """Read all that the program has printed; the worker flushes it before it reports that the program waits."""
        for number, sink in ((worker.stdout, self.stdout), (worker.stderr, self.stderr)):
            before = -1
            while self.killed is None and before < len(sink):
                before = len(sink)
                self._read(worker, number)

    def _advance(self, worker: _Worker, number: int, ready: selectors.PollSelector) -> None:
        if number == worker.stdin:
            # Unregister first, because the write that completes the request closes the descriptor.
            ready.unregister(number)
            self._write(worker)
            if self.pending:
                ready.register(number, selectors.EVENT_WRITE)
        elif not self._read(worker, number):
            ready.unregister(number)

    def _write(self, worker: _Worker) -> None:
        try:
            while self.pending:
                sent = os.write(worker.stdin, self.pending[0][:_CHUNK])
                self.pending[0] = self.pending[0][sent:]
                if not self.pending[0]:
                    self.pending.pop(0)
        except BlockingIOError:
            return
        except BrokenPipeError:
            self.pending.clear()
        if not self.may_wait:
            worker.close_stdin()

    def _read(self, worker: _Worker, number: int) -> bool:
        sink, cap = {
            worker.stdout: (self.stdout, self.limits.output),
            worker.stderr: (self.stderr, self.limits.errors),
            worker.status: (self.status, _STATUS_BYTES),
        }[number]
        try:
            chunk = os.read(number, 1 << 16)
        except BlockingIOError:
            return True
        sink += chunk
        if sink is self.status and chunk and self.locked:
            self.locked_at = min(self.locked_at, self.clock())
            self.deadline = min(self.deadline, self.clock() + self.limits.wall + GRACE)
        if len(sink) > cap:
            self.killed = Status.CRASHED if sink is self.status else Status.OUTPUT_LIMIT
        return bool(chunk)


def _interpreter() -> str:
    # Not the interpreter of a virtual environment, which would search its packages, but its base interpreter.
    base = getattr(sys, "_base_executable", "") or ""
    return base if Path(base).is_file() else sys.executable


def _command(python: str, program: bytes) -> list[str]:
    # Not `-I`, which would ignore the fixed hash seed of `_ENVIRONMENT`.
    flags = ["-s", "-P", "-S", "-B", "-X", "utf8"]
    return [
        python,
        *flags,
        str(_WORKER.resolve()),
        "{place}",
        program.hex(),
        ",".join((*CORE, *_LOCK_MODULES)),
    ]


def _widen(number: int, size: int) -> None:
    # Imported here, because `fcntl` exists on Unix only and this module is imported on all systems.
    import fcntl

    if size > 1 << 16:
        try:
            fcntl.fcntl(number, _F_SETPIPE_SZ, 1 << 20)
        except OSError:
            return  # the user's limit of pipe memory is reached; the default of 64 KiB suffices
