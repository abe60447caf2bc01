"""The protocol of host and worker: the header of a job, and the record of its outcome.

Records are netstrings on a pipe, written by a process that may have run hostile code. So the host rejects any record
that deviates from the worker's format, and it bounds and cleans the others. Even a well-formed record may be forged by
the code, but that affects only the result of its own run.
"""

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from restgpt.tools.sandbox.result import CodeError, Status, printable

LOCKED = b"9:6:locked,,"

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


class Ending(NamedTuple):
    """The outcome of a run as its status stream tells it."""

    status: Status
    error: CodeError | None = None
    shape: str = ""
    pause: str = ""
    payload: str = ""


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
