"""Runs a function in a new process as another machine would: with another clock, or another version of the package."""

import pickle
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

HOUR_S = 3600.0
DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine: how many seconds its clock is ahead, and its version of the package; empty: the installed one."""

    ahead: float = 0.0
    version: str = ""

    def __str__(self) -> str:
        clock = f", its clock {self.ahead / HOUR_S:+g} h" if self.ahead else ""
        return clock + (f", version {self.version}" if self.version else "")


HERE = Machine()


def run_on(machine: Machine, home: str, call: bytes, told: Connection) -> None:
    """Call a function on a machine: `call` is the pickled function and its arguments, `told` is its last argument.

    The process must be new, since modules keep functions of `time` when they are imported. It may be killed, so who
    starts it removes the folder `home`.
    """
    set_clock(machine.ahead)
    _set_version(machine.version, home)
    function: Callable[..., None]
    function, arguments = pickle.loads(call)
    function(*arguments, told)


def set_clock(ahead: float) -> None:
    """Shift the wall clock of this process by some seconds.

    Monotonic clocks stay as they are: those of two machines have nothing in common anyway.
    """
    seconds, nanoseconds = time.time, time.time_ns
    clock: Any = time
    clock.time = lambda: seconds() + ahead
    clock.time_ns = lambda: nanoseconds() + int(ahead * 1e9)


def _set_version(version: str, home: str) -> None:
    """Let this process find the metadata of another version of the package first."""
    if version:
        folder = tempfile.mkdtemp(prefix="version-", dir=home)
        metadata = Path(folder) / f"restgpt-{version}.dist-info" / "METADATA"
        metadata.parent.mkdir()
        metadata.write_text(f"Metadata-Version: 2.1\nName: restgpt\nVersion: {version}\n")
        sys.path.insert(0, folder)
