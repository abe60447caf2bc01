"""The lock of the sandbox on Linux: what the process of Monty may ask of the kernel, should anything get out of Monty.

A launcher restricts itself and becomes Monty, which inherits it: by Landlock it reads nothing but Monty's program and
the system's libraries, by seccomp it makes only the listed system calls, and starts threads but no processes. Other
calls fail with EPERM; a call with the numbers of another architecture ends the process.

The processes in which generated code runs: Monty, another implementation of Python, a fresh process for each run.

Monty has no files, environment, processes or network, and only the names that it is given (`docs/sandbox.md`).
"""

import atexit
import logging
import os
import platform
import shutil
import signal
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pydantic_monty as monty
from pydantic_monty._binary import find_monty_binary

from restgpt.tools.errors import RestgptError
from restgpt.tools.sandbox.result import Limits, Status

# SECCOMP_RET_KILL_PROCESS, _ALLOW, _ERRNO | EPERM, _ERRNO | ENOSYS
KILL, ALLOW, DENY, ABSENT = 0x8000_0000, 0x7FFF_0000, 0x0005_0001, 0x0005_0026

_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FLAGS = 0, 4, 16  # offsets in struct seccomp_data: the flags are the first argument's low half
_X32_BIT, _CLONE3 = 0x4000_0000, 435
_THREAD, _NAMESPACES = 0x0001_0000, 0x7E02_0000  # CLONE_THREAD, and all flags CLONE_NEW... that `clone` takes

LACKS = {"": "", "Landlock": "the files of this user", "seccomp": "other processes and most calls of the kernel"}
"""What a system may lack of the lock, the best first, and from what Monty alone keeps generated code there."""

LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")
"""What the dynamic loader reads."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """An instruction set: its AUDIT_ARCH constant, the number of `clone`, and those of the calls that are allowed."""

    audit: int
    clone: int
    numbers: Mapping[str, int]


# No socket, no signal to others, no trace of others, no write to files; `openat` and `execve` are Landlock's.
_X86_64 = Architecture(
    0xC000_003E,
    56,
    {
        "read": 0, "write": 1, "close": 3, "fstat": 5, "poll": 7, "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11,
        "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "pread64": 17, "readv": 19,
        "writev": 20, "access": 21, "sched_yield": 24, "mremap": 25, "madvise": 28, "nanosleep": 35, "getpid": 39,
        "execve": 59, "exit": 60, "gettimeofday": 96, "sigaltstack": 131, "arch_prctl": 158, "gettid": 186, "time": 201,
        "futex": 202, "sched_getaffinity": 204, "set_tid_address": 218, "restart_syscall": 219, "clock_gettime": 228,
        "clock_getres": 229, "clock_nanosleep": 230, "exit_group": 231, "openat": 257, "newfstatat": 262, "ppoll": 271,
        "set_robust_list": 273, "prlimit64": 302, "getrandom": 318, "rseq": 334,
    },
)  # fmt: skip
_AARCH64 = Architecture(
    0xC000_00B7,
    220,
    {
        "openat": 56, "close": 57, "lseek": 62, "read": 63, "write": 64, "readv": 65, "writev": 66, "pread64": 67,
        "ppoll": 73, "newfstatat": 79, "fstat": 80, "exit": 93, "exit_group": 94, "set_tid_address": 96, "futex": 98,
        "set_robust_list": 99, "nanosleep": 101, "clock_gettime": 113, "clock_getres": 114, "clock_nanosleep": 115,
        "sched_getaffinity": 123, "sched_yield": 124, "restart_syscall": 128, "sigaltstack": 132, "rt_sigaction": 134,
        "rt_sigprocmask": 135, "rt_sigreturn": 139, "gettimeofday": 169, "getpid": 172, "gettid": 178, "brk": 214,
        "munmap": 215, "mremap": 216, "execve": 221, "mmap": 222, "mprotect": 226, "madvise": 233, "prlimit64": 261,
        "getrandom": 278, "rseq": 293, "faccessat": 48,
    },
)  # fmt: skip

ARCHITECTURES: Mapping[str, Architecture] = {"x86_64": _X86_64, "aarch64": _AARCH64, "arm64": _AARCH64}

# Each run starts it, so it loads no module that it can do without: `_ctypes` takes half of the time of `ctypes`. The
# functions get whole numbers as `int`, and bytes by their address, which is behind the head of the object.
_SCRIPT = """#!{python} -ISB
import os, sys
from _ctypes import call_function, dlopen, dlsym
libc = dlopen(None, 2)
prctl, syscall = dlsym(libc, "prctl"), dlsym(libc, "syscall")
def packed(*words, size=8):
    return b"".join(word.to_bytes(size, sys.byteorder) for word in words)
call_function(prctl, (4, 0, 0, 0, 0))
call_function(prctl, (38, 1, 0, 0, 0))
if {landlock}:
    version = call_function(syscall, (444, None, 0, 1))
    rights = {{1: 13, 2: 14, 3: 15, 4: 15}}.get(version, 16)
    words = packed((1 << rights) - 1, *[3] * ((version >= 4) + (version >= 6)))
    rules = call_function(syscall, (444, words, len(words), 0))
    for path in {readable!r}:
        rule = packed(13 if os.path.isdir(path) else 5) + packed(os.open(path, os.O_PATH | os.O_CLOEXEC), size=4)
        call_function(syscall, (445, rules, 1, rule, 0))
    if rules < 0 or call_function(syscall, (446, rules, 0)):
        sys.exit("Landlock was refused")
program = bytes.fromhex("{program}")
if program and call_function(prctl, (22, 2, packed(len(program) // 8, id(program) + bytes.__basicsize__ - 1), 0, 0)):
    sys.exit("seccomp was refused")
os.execv({binary!r}, [{binary!r}, *sys.argv[1:]])
"""


def launcher(binary: str, folder: Path, lacks: str = "") -> str:
    """Write the launcher of a program into a folder and return its path; elsewhere than on Linux return the program.

    The launcher ends where the kernel refuses a part of the lock, but for the one that it `lacks`. Raises KeyError.
    """
    if sys.platform != "linux":
        return binary
    own, python, landlock = str(Path(binary).resolve()), os.path.realpath(sys.executable), lacks != "Landlock"
    program = "" if lacks == "seccomp" else lock_program(platform.machine()).hex()
    readable = [own, *filter(os.path.exists, LIBRARIES)]
    script = _SCRIPT.format(python=python, landlock=landlock, readable=readable, program=program, binary=own)
    path = folder / "monty"
    path.write_text(script, encoding="utf-8")
    path.chmod(0o700)
    return str(path)


def lock_program(machine: str) -> bytes:
    """Return the filter, an array of `struct sock_filter`, for a `platform.machine()`. Raises KeyError."""
    architecture = ARCHITECTURES[machine]
    instructions = [
        (_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, architecture.audit), (_RETURN, 0, 0, KILL),
        (_LOAD, 0, 0, _NUMBER), (_AT_LEAST, 0, 1, _X32_BIT), (_RETURN, 0, 0, KILL),
        *(rule for call in architecture.numbers.values() for rule in ((_EQUAL, 0, 1, call), (_RETURN, 0, 0, ALLOW))),
        # No filter reads the flags of `clone3`, which are in memory; where it is absent, the C library uses `clone`.
        (_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, ABSENT),
        (_EQUAL, 0, 4, architecture.clone), (_LOAD, 0, 0, _FLAGS), (_AND, 0, 0, _THREAD | _NAMESPACES),
        (_EQUAL, 0, 1, _THREAD), (_RETURN, 0, 0, ALLOW), (_RETURN, 0, 0, DENY),
    ]  # fmt: skip
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in instructions)


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
def process(
    limits: Limits, *, memory: int, clock: Any = None, seed: Any = None, waits: bool = False
) -> Iterator[Process]:
    """Check a fresh process out for one run; `clock` (an aware datetime) and `seed` fix its time and its chance.

    Of code that `waits`, the host answers what it asks about the time. Raises SandboxUnavailableError.
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
    if waits:
        policy |= {"sleep": "call_host", "datetime": "call_host", "timezone": "UTC"}
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
