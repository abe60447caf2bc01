"""The processes of workers: clones of the nursery, an interpreter that has loaded its modules, so they start quickly.

The nursery reads no code and no data, only the descriptors of new workers. A clone is a child of this process, not of
the nursery (`CLONE_PARENT`, see clone(2)): only this process waits for it, and so it never ends another one by its
number.
"""

import _socket
import array
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from restgpt.tools.sandbox.backend import SandboxUnavailableError
from restgpt.tools.sandbox.code import CORE

DELAYS = (0.0005, 0.05)
"""The seconds between two looks at a process that has not ended: the first, and the most."""

START = 20.0
"""The seconds for the start of an interpreter on a busy machine; the limits of a run count from its lock."""

_REPLY = 10
_LOCK_MODULES = ("ctypes", "resource", "signal")  # the worker needs them to lock itself
_SCRIPT = Path(__file__).with_name("worker.py")
# The same order of sets in every run of a program.
_ENVIRONMENT = {"PYTHONHASHSEED": "0"}
_F_SETPIPE_SZ = 1031


class Child:
    """A child of this process, with the methods of `subprocess.Popen` that a worker needs. Thread-safe."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._lock = threading.Lock()

    def kill(self) -> None:
        """Kill the process unless it has ended."""
        with self._lock:
            if not self._has_ended():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of the process and return its exit code (negative: a signal). Raises TimeoutExpired."""
        end, delay = None if timeout is None else time.monotonic() + timeout, DELAYS[0]
        while True:
            with self._lock:
                if self._has_ended():
                    assert self.returncode is not None
                    return self.returncode
            if end is not None and time.monotonic() >= end:
                raise subprocess.TimeoutExpired([], timeout or 0.0)
            time.sleep(delay)
            delay = min(2 * delay, DELAYS[1])

    def _has_ended(self) -> bool:
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                self.returncode = 0  # this process ignores its children, so nobody knows
            else:
                self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode is not None


class Nursery:
    """One process that clones itself on demand. Thread-safe; raises OSError if it cannot be started."""

    def __init__(self, command: Sequence[str]) -> None:
        """Start the interpreter; `command` has `{place}` where the worker expects the place of its descriptor."""
        self._lock = threading.Lock()
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.settimeout(START)
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [part.replace("{place}", "nursery") for part in command],
                    stdin=theirs.fileno(),
                    stdout=theirs.fileno(),
                    stderr=theirs.fileno(),
                    env=_ENVIRONMENT,
                    cwd="/",
                    start_new_session=True,
                )
            except OSError:
                self._channel.close()
                raise

    def clone(self, descriptors: Sequence[int]) -> Child | None:
        """Return a clone with these descriptors; None if the nursery has ended, or the system lets it make none."""
        given = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", descriptors))]
        with self._lock:
            try:
                self._channel.sendmsg([b"w"], given)
                reply = self._channel.recv(_REPLY)
            except OSError:
                return None
        # Whatever else an interpreter that cannot start writes is no number.
        return Child(int(reply)) if reply.isdigit() and int(reply) else None

    def close(self) -> None:
        """End the process, and wait for its end."""
        self._channel.close()
        self._process.kill()
        self._process.wait()

    def disown(self) -> None:
        """In a forked child, close the copy of the channel: the process belongs to the parent."""
        self._channel.close()
        self._process.returncode = 0  # only the parent can wait for it


class Worker:
    """A worker process and the host's ends of its four pipes; -1 means closed."""

    def __init__(self, process: "subprocess.Popen[bytes] | Child", pipes: Iterable[int]) -> None:
        self.process = process
        self.stdin, self.stdout, self.stderr, self.status = pipes

    @classmethod
    def start(cls, command: list[str], clone: Callable[[Sequence[int]], Child | None]) -> "Worker":
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

    def widen_stdin(self, size: int) -> None:
        """Make room in standard input for a request of `size` bytes, as far as the system allows."""
        # Imported here, because `fcntl` exists on Unix only and this module is imported on all systems.
        import fcntl

        if size > 1 << 16:
            # The user's limit of pipe memory may be reached; the default of 64 KiB suffices.
            with contextlib.suppress(OSError):
                fcntl.fcntl(self.stdin, _F_SETPIPE_SZ, 1 << 20)

    def close_stdin(self) -> None:
        """Close standard input, which ends the request."""
        os.close(self.stdin)
        self.stdin = -1

    def _close(self) -> None:
        for number in (self.stdin, self.stdout, self.stderr, self.status):
            if number >= 0:
                os.close(number)
        self.stdin = self.stdout = self.stderr = self.status = -1


def interpreter() -> str:
    """Return the path of the base interpreter: that of a virtual environment would search its packages."""
    base = getattr(sys, "_base_executable", "") or ""
    return base if Path(base).is_file() else sys.executable


def command(python: str, program: bytes) -> list[str]:
    """Return the command of a worker that locks itself by a seccomp program."""
    # Not `-I`, which would ignore the fixed hash seed of `_ENVIRONMENT`.
    flags = ["-s", "-P", "-S", "-B", "-X", "utf8"]
    return [python, *flags, str(_SCRIPT.resolve()), "{place}", program.hex(), ",".join((*CORE, *_LOCK_MODULES))]
