"""The protocol of host and worker: the header of a job, the run of one, and the record of its outcome.

Records are netstrings on a pipe, written by a process that may have run hostile code. So the host rejects any record
that deviates from the worker's format, and it bounds and cleans the others. Even a well-formed record may be forged by
the code, but that affects only the result of its own run.
"""

import json
import math
import os
import re
import selectors
import signal
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from restgpt.tools.sandbox.process import START, Worker
from restgpt.tools.sandbox.result import CodeError, Ending, Limits, SandboxResult, Status, printable, result_of

LOCKED = b"9:6:locked,,"
GRACE = 0.5
"""The seconds after the time limit before the host kills a worker that the kernel timer did not end."""

_STATUS_BYTES = 1 << 20
_CHUNK = 1 << 20

_NETSTRING = re.compile(rb"(\d{1,6}):")


def framed(header: Mapping[str, object]) -> bytes:
    """Return the header of a job in the format of the worker: the length in ten digits, then JSON."""
    text = json.dumps(header).encode()
    return b"%010d" % len(text) + text


def records(raw: bytes) -> list[list[bytes]]:
    """Return the records of a status stream, or [] if it is malformed."""
    bodies = _netstrings(raw)
    records = [_netstrings(body) for body in bodies] if bodies else []
    return [] if None in records else [record for record in records if record]


def _netstrings(raw: bytes) -> list[bytes] | None:
    found = []
    position = 0
    while position < len(raw):
        match = _NETSTRING.match(raw, position)
        if match is None:
            return None
        end = match.end() + int(match[1])
        if raw[end : end + 1] != b",":
            return None
        found.append(raw[match.end() : end])
        position = end + 1
    return found


_ENDINGS: Mapping[str, Status] = {
    "done": Status.OK,
    "syntax_error": Status.SYNTAX_ERROR,
    "runtime_error": Status.RUNTIME_ERROR,
    "import_error": Status.IMPORT_ERROR,
    "memory_limit": Status.MEMORY_LIMIT,
    "input_invalid": Status.INPUT_INVALID,
    "input_too_deep": Status.INPUT_TOO_DEEP,
}

PAUSES = frozenset({"calls", "stopped", "unknown", "refused", "diverged", "caught", "many", "large"})
"""The kinds of records of programs that did not run to their end; `replay.py` writes them."""


WAITS = "waits"
"""The kind of the record of a program that waits in its process for the answer to a call."""

_WAITING = re.compile(rb"%b(\d{1,6}):5:waits," % re.escape(LOCKED))


def ending_of(raw: bytes) -> Ending:
    """Return the outcome in a status stream: the `locked` record, then one more."""
    found = records(raw)
    if len(found) != 2 or found[0] != [b"locked"]:
        return Ending(Status.CRASHED)
    kind, name, message, line, source, shape = _fields(found[1])
    payload = found[1][6].decode("utf-8", "replace") if len(found[1]) > 6 else ""
    if kind == WAITS:
        return Ending(Status.PAUSED, pause="calls", payload=payload)
    if kind in PAUSES:
        return Ending(Status.PAUSED, pause=kind, payload=payload)
    status = _ENDINGS.get(kind, Status.CRASHED)
    number = int(line) if line.isascii() and line.isdigit() and len(line) < 7 else 0
    error = CodeError(name[:200], message[:2048], number or None, source[:300]) if name else None
    return Ending(status, error, shape[:800], payload=payload)


def is_waiting(raw: bytes | bytearray) -> bool:
    """Return whether a status stream so far ends with a record that a program waits; the fields are not read yet.

    It is asked whenever something was printed, so it takes no longer for a long record.
    """
    found = _WAITING.match(raw)
    return found is not None and len(raw) == found.end(1) + 1 + int(found[1]) + 1


def refusal_of(raw: bytes) -> str:
    """Return the worker's reason for not running the code, or "" if it gave none."""
    found = records(raw)
    return found[0][1].decode("utf-8", "replace") if found and found[0][:1] == [b"unlocked"] and found[0][1:] else ""


def _fields(record: list[bytes]) -> list[str]:
    texts = [printable(part.decode("utf-8", "replace")) for part in record[:6]]
    return texts + [""] * (6 - len(texts))


@dataclass(slots=True)
class Run:
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
        return result_of(self.ending(), bytes(self.stdout), self.limits, elapsed)

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

    def feed(self, worker: Worker, request: Iterable[bytes]) -> None:
        """Send as much of the request as the pipe accepts without blocking."""
        self.fed_at = self.clock()
        wait = GRACE if self.locked else START
        self.deadline = min(self.fed_at + wait + self.limits.wall, self.end)
        self.pending = [memoryview(part) for part in request if part]
        self.fed += sum(map(len, self.pending))
        worker.widen_stdin(sum(map(len, self.pending)))
        self._write(worker)

    def follow(self, worker: Worker) -> None:
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

    def _is_open(self, worker: Worker, ready: selectors.BaseSelector) -> bool:
        """Return whether the worker may still write."""
        return any(number in ready.get_map() for number in (worker.stdout, worker.stderr, worker.status))

    def _drain(self, worker: Worker) -> None:
        """Read all that the program has printed; the worker flushes it before it reports that the program waits."""
        for number, sink in ((worker.stdout, self.stdout), (worker.stderr, self.stderr)):
            before = -1
            while self.killed is None and before < len(sink):
                before = len(sink)
                self._read(worker, number)

    def _advance(self, worker: Worker, number: int, ready: selectors.BaseSelector) -> None:
        if number == worker.stdin:
            # Unregister first, because the write that completes the request closes the descriptor.
            ready.unregister(number)
            self._write(worker)
            if self.pending:
                ready.register(number, selectors.EVENT_WRITE)
        elif not self._read(worker, number):
            ready.unregister(number)

    def _write(self, worker: Worker) -> None:
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

    def _read(self, worker: Worker, number: int) -> bool:
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
