"""Keeps programs that wait in their processes for the answer to a call, so that they need not run again from the start.

This only saves time: a program whose process has ended, or exceeds a limit after an answer, runs again from its start.
"""

import os
import threading
import weakref
from collections import OrderedDict
from dataclasses import dataclass

from restgpt.tools.sandbox.result import WaitingProcess

MOST_WAITING = 8
"""The maximum number of programs that wait at once; the timers of their workers end them after some seconds."""


@dataclass(frozen=True, slots=True)
class WaitingProgram:
    """The process of a program that waits, and the marks of the answers that the program has.

    A mark is the hash of all that a program sees of an answer. The id of the request is not enough: where a thread goes
    on twice from one checkpoint, a person may approve a request once and reject it once.
    """

    process: WaitingProcess
    given: frozenset[int]


class WaitingPrograms:
    """Keeps programs that wait, each under the key of its code and inputs, and ends the oldest beyond `most`.

    Ends all of them when it is garbage-collected. Thread-safe.
    """

    def __init__(self, most: int = MOST_WAITING) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._programs: OrderedDict[str, WaitingProgram] = OrderedDict()
        weakref.finalize(self, _end, self._programs)
        _all.add(self)

    def keep(self, key: str, program: WaitingProgram) -> None:
        """Keep a program under a key; end the one that was kept there before."""
        with self._lock:
            over = [self._programs.pop(key)] if key in self._programs else []
            self._programs[key] = program
            while len(self._programs) > self._most:
                over.append(self._programs.popitem(last=False)[1])
        for other in over:
            other.process.end()

    def take(self, key: str) -> WaitingProgram | None:
        """Remove and return the program of a key, for the caller to continue or end; None if there is none."""
        with self._lock:
            return self._programs.pop(key, None)

    def forget(self) -> None:
        """Forget the programs, in a forked child."""
        # The processes belong to the parent, and the lock may be held by a thread that does not exist here.
        self._programs.clear()
        self._lock = threading.Lock()


def _end(programs: dict[str, WaitingProgram]) -> None:
    for program in list(programs.values()):
        program.process.end()


_all: weakref.WeakSet[WaitingPrograms] = weakref.WeakSet()


def _forget_all() -> None:
    for programs in list(_all):
        programs.forget()


# Once and for all, because what is registered stays: a host may make the programs that wait anew for each run.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
