"""The Linux backend: one fresh, locked CPython process per run, one of them always started ahead.

Why no fork of the host, no zygote and no reuse: the host's memory holds secrets, and a process that ran generated code
can be trusted with nothing more. A waiting worker has read nothing; `worker.py` tells how it locks itself in.
"""

import os
import platform
import selectors
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from restgpt.tools.sandbox.backend import SandboxUnavailableError
from restgpt.tools.sandbox.code import CORE, missing_module, modules_for, needs_zones
from restgpt.tools.sandbox.record import LOCKED, ending_of, framed, refusal_of
from restgpt.tools.sandbox.result import CodeError, Limits, Media, SandboxResult, Status, printable, result_of
from restgpt.tools.sandbox.seccomp import lock_program

_LOCKSMITHS = ("ctypes", "resource", "signal")  # what the worker locks itself with
_REPEATS = 2  # of a run that wanted a module which its words did not show
START = 20.0  # seconds that an interpreter may take to start on a busy machine; the limits count from its lock
GRACE = 0.5  # seconds that the host leaves the kernel's own timer before it kills
_WORKER = Path(__file__).with_name("worker.py")
_STATUS_BYTES = 32 << 10
_CHUNK = 1 << 20
_F_SETPIPE_SZ = 1031

# The first code that a backend runs: everything in it must fail, or the backend is not used.
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
    """Runs code in one-shot locked interpreters; `spares` wait ready, at most `workers` run at once. Thread-safe.

    Raises SandboxUnavailableError where the platform, the kernel or the interpreter cannot lock a worker in.
    """

    name = "cpython"

    def __init__(self, *, spares: int = 1, workers: int | None = None, python: str | None = None) -> None:
        program = lock_program(platform.machine()) if sys.platform == "linux" else None
        if program is None:
            raise SandboxUnavailableError(f"there is no lock for {sys.platform} on {platform.machine()}")
        self._command = _command(python or _interpreter(), program)
        self._wanted = spares
        self._workers = workers or max(4, 2 * (os.cpu_count() or 1))
        self._closed = False
        self._spares: deque[_Worker] = deque()
        self._starting = 0
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(self._workers)
        forked = weakref.WeakMethod(self._after_fork)
        os.register_at_fork(after_in_child=lambda: (forked() or _nothing)())
        self._test()

    def run(self, code: str, data: bytes, *, media: Media, limits: Limits) -> SandboxResult:
        """Run `code` over `data` in a fresh worker. Raises SandboxUnavailableError if no worker can be locked."""
        # The library imports some modules only when a function is called, which the words of the code do not show.
        # A run leaves nothing behind, so it can be repeated with such a module loaded before the lock.
        modules = modules_for(code)
        result = self._once(code, data, media=media, limits=limits, modules=modules)
        for _ in range(_REPEATS):
            missing = missing_module(result.error.message) if result.error else ""
            if result.status is not Status.IMPORT_ERROR or not missing or missing in modules:
                break
            modules += (missing,)
            result = self._once(code, data, media=media, limits=limits, modules=modules)
        return result

    def _once(self, code: str, data: bytes, *, media: Media, limits: Limits, modules: tuple[str, ...]) -> SandboxResult:
        source = code.encode("utf-8", "surrogatepass")
        header = {
            "code": len(source),
            "data": len(data),
            "media": media,
            "modules": modules,
            "zones": needs_zones(code),
            "wall": limits.wall,
            "cpu": limits.cpu,
            "memory": limits.memory_for(len(data)),
        }
        request = [framed(header) + source, data]
        with self._slots:
            started = time.monotonic()
            run = self._serve(request, limits)
            elapsed = time.monotonic() - started
        status, error, shape = run.ending()
        return result_of(status, bytes(run.stdout), limits, error=error, elapsed_ms=elapsed * 1000, shape=shape)

    def close(self) -> None:
        """End the waiting workers; running ones end with their runs. The backend cannot be used afterwards."""
        with self._lock:
            self._closed = True
            spares, self._spares = list(self._spares), deque()
        for worker in spares:
            worker.end()

    def _after_fork(self) -> None:
        # In a forked child the waiting workers are the parent's, and locks may be held by threads that are not there.
        for worker in self._spares:
            worker.disown()
        self._spares = deque()
        self._starting = 0
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(self._workers)

    def _serve(self, request: list[bytes], limits: Limits) -> "_Run":
        # A spare may have died while it waited; it has then read no code, so a fresh worker can take the job.
        for worker in (self._take(), None):
            run = self._attempt(worker or self._start(), request, limits)
            if run.locked or run.was_late:
                return run
            if run.refusal or run.killed:
                break
        raise SandboxUnavailableError(run.refusal or f"the interpreter did not start ({run.complaint()})")

    def _attempt(self, worker: "_Worker", request: list[bytes], limits: Limits) -> "_Run":
        run = _Run(limits)
        try:
            run.feed(worker, request)
            self._refill()
            run.follow(worker)
            if run.killed is None and not worker.ended_within(GRACE):
                run.killed = Status.CRASHED  # it closed its pipes and went on
        finally:
            run.returncode = worker.end()
        return run

    def _take(self) -> "_Worker":
        with self._lock:
            worker = self._spares.popleft() if self._spares else None
        return worker or self._start()

    def _start(self) -> "_Worker":
        if self._closed:
            raise SandboxUnavailableError("the sandbox has been closed")
        return _Worker.start(self._command)

    def _refill(self) -> None:
        # While a worker runs, its successor is started; that takes another processor's time, if there is one.
        with self._lock:
            if self._closed or len(self._spares) + self._starting >= self._wanted:
                return
            self._starting += 1
        worker = None
        try:
            worker = self._start()
        except SandboxUnavailableError:
            return  # the next run will try again and say why
        finally:
            with self._lock:
                self._starting -= 1
                if worker is not None and not self._closed:
                    self._spares.append(worker)
                    worker = None
            if worker is not None:
                worker.end()

    def _test(self) -> None:
        try:
            result = self.run(_PROBE, b"null", media="json", limits=Limits(wall=20.0, cpu=20.0))
        except SandboxUnavailableError:
            self.close()
            raise
        if result.output.strip() != "locked":
            self.close()
            raise SandboxUnavailableError(f"the lock does not hold: {result.feedback()}")


def _nothing() -> None:
    """Stand in for a backend that is gone when the process forks."""


class _Worker:
    """A started process and the host's ends of its four pipes; -1 stands for one that is closed."""

    def __init__(self, process: subprocess.Popen[bytes], pipes: Iterable[int]) -> None:
        self.process = process
        self.stdin, self.stdout, self.stderr, self.status = pipes

    @classmethod
    def start(cls, command: list[str]) -> "_Worker":
        """Start an interpreter that waits for a job. Raises SandboxUnavailableError if the system refuses."""
        opened: list[int] = []
        try:
            for _ in range(4):
                opened.extend(os.pipe())  # the reading end comes first
            theirs = [opened[0], opened[3], opened[5], opened[7]]
            process = subprocess.Popen(
                # The status descriptor's number is an argument: moving it to a fixed one would race with threads.
                [part.replace("{status}", str(theirs[3])) for part in command],
                stdin=theirs[0],
                stdout=theirs[1],
                stderr=theirs[2],
                pass_fds=(theirs[3],),
                env={},
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
        """Wait for the process to end by itself and return whether it did."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self) -> int:
        """Kill the process if it still runs, reap it, close the pipes; return its exit code (negative: the signal)."""
        self.process.kill()
        returncode = self.process.wait()
        self._close()
        return returncode

    def disown(self) -> None:
        """Close this process's copies of the pipes of a worker that is another process's child."""
        self.process.returncode = 0  # nothing to wait for here
        self._close()

    def close_stdin(self) -> None:
        """Tell the worker that no more comes."""
        os.close(self.stdin)
        self.stdin = -1

    def _close(self) -> None:
        for number in (self.stdin, self.stdout, self.stderr, self.status):
            if number >= 0:
                os.close(number)
        self.stdin = self.stdout = self.stderr = self.status = -1


@dataclass(slots=True)
class _Run:
    """One job in one worker: what is still to be sent, what has come back, and why the host killed it, if it did."""

    limits: Limits
    fed_at: float = field(default_factory=time.monotonic)
    deadline: float = float("inf")
    pending: list[memoryview] = field(default_factory=list)
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    status: bytearray = field(default_factory=bytearray)
    killed: Status | None = None
    returncode: int = 0

    @property
    def locked(self) -> bool:
        """Whether the worker said that it was locked, before it could read any code."""
        return self.status.startswith(LOCKED)

    @property
    def was_late(self) -> bool:
        """Whether the worker's own timer ended it; on a busy machine even before its lock."""
        return self.returncode in (-signal.SIGALRM, -signal.SIGXCPU)

    @property
    def refusal(self) -> str:
        """Why the worker would not run code, in its own words."""
        return refusal_of(bytes(self.status))

    def complaint(self) -> str:
        """The last line that the interpreter wrote to standard error."""
        lines = printable(self.stderr.decode("utf-8", "replace")).strip().splitlines()
        return lines[-1][:300] if lines else f"exit code {self.returncode}"

    def ending(self) -> tuple[Status, CodeError | None, str]:
        """Return what exit code and record say; the kernel's word and the host's outweigh the worker's."""
        if self.killed is not None:
            return self.killed, None, ""
        ending = ending_of(bytes(self.status))
        if self.returncode == 0 and ending[0] is not Status.CRASHED:
            return ending
        # A host that ignores its children's ends reads 0 for all of them; then the clock tells that the timer fired.
        late = self.returncode == 0 and time.monotonic() - self.fed_at >= self.limits.wall
        if late or self.was_late:
            return Status.TIMEOUT, None, ""
        # Killed, and not by the host: the kernel does that for want of memory.
        return (Status.MEMORY_LIMIT if self.returncode == -signal.SIGKILL else Status.CRASHED), None, ""

    def feed(self, worker: _Worker, request: Iterable[bytes]) -> None:
        """Send as much of the request as the pipe takes at once."""
        self.deadline = self.fed_at + START + self.limits.wall
        self.pending = [memoryview(part) for part in request if part]
        _widen(worker.stdin, sum(map(len, self.pending)))
        self._write(worker)

    def follow(self, worker: _Worker) -> None:
        """Send the rest and read all pipes until the worker has closed them, a cap is passed or the time is up."""
        with selectors.PollSelector() as ready:
            if worker.stdin >= 0:
                ready.register(worker.stdin, selectors.EVENT_WRITE)
            for sink in (worker.stdout, worker.stderr, worker.status):
                ready.register(sink, selectors.EVENT_READ)
            while len(ready.get_map()) > (worker.stdin >= 0) and self.killed is None:
                left = self.deadline - time.monotonic()
                if left <= 0:
                    self.killed = Status.TIMEOUT
                    return
                for key, _ in ready.select(left):
                    self._advance(worker, key.fd, ready)

    def _advance(self, worker: _Worker, number: int, ready: selectors.PollSelector) -> None:
        if number == worker.stdin:
            # The descriptor is closed by the write that finishes the request, so it leaves the selector first.
            ready.unregister(number)
            self._write(worker)
            if worker.stdin >= 0:
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
            self.deadline = min(self.deadline, time.monotonic() + self.limits.wall + GRACE)
        if len(sink) > cap:
            self.killed = Status.CRASHED if sink is self.status else Status.OUTPUT_LIMIT
        return bool(chunk)


def _interpreter() -> str:
    # A virtual environment's interpreter would look for its packages; the one it was made from knows the library only.
    base = getattr(sys, "_base_executable", "") or ""
    return base if Path(base).is_file() else sys.executable


def _command(python: str, program: bytes) -> list[str]:
    flags = ["-I", "-S", "-B", "-X", "utf8"]
    return [python, *flags, str(_WORKER.resolve()), "{status}", program.hex(), ",".join((*CORE, *_LOCKSMITHS))]


def _widen(number: int, size: int) -> None:
    # Imported here, since the module exists on Unix only and this one is loaded everywhere to say that it cannot help.
    import fcntl

    if size > 1 << 16:
        try:
            fcntl.fcntl(number, _F_SETPIPE_SZ, 1 << 20)
        except OSError:
            return  # the user's share of pipe memory is used up; the usual 64 KiB do
