"""The nursery: an interpreter that has loaded its modules and clones itself, so that a worker starts in milliseconds.

It reads no code and no data, only the descriptors of new workers. A clone is a child of this process, not of the
nursery (`CLONE_PARENT`, see clone(2)): only this process waits for it, and so it never ends another one by its number.
"""

import _socket
import array
import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Sequence

DELAYS = (0.0005, 0.05)
"""The seconds between two looks at a process that has not ended: the first, and the most."""

_REPLY = 10


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

    def __init__(self, command: Sequence[str], environment: dict[str, str], *, patience: float) -> None:
        """Start the interpreter; `command` has `{place}` where the worker expects the place of its descriptor."""
        self._lock = threading.Lock()
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.settimeout(patience)
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [part.replace("{place}", "nursery") for part in command],
                    stdin=theirs.fileno(),
                    stdout=theirs.fileno(),
                    stderr=theirs.fileno(),
                    env=environment,
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
