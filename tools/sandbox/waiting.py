"""Programs that wait in their processes for the answers to their calls, and go on with them.

This only saves time: a program whose process has ended, or does not go on well, is run again from its start.
"""

import os
import threading
import weakref
from collections import OrderedDict
from dataclasses import dataclass

from restgpt.tools.sandbox.result import WaitingProcess

MOST_WAITING = 8
"""The maximum number of programs that wait at once; the limits of a program's run end each of them soon."""


@dataclass(frozen=True, slots=True)
class WaitingProgram:
    """A program that waits in its process, and the marks of the answers that it has been given.

    A mark stands for all that the program saw of an answer. A request's id is not enough: where a thread goes on twice
    from one checkpoint, a person may approve a request once and reject it once.
    """

    process: WaitingProcess
    given: frozenset[int]


class WaitingPrograms:
    """The programs that wait, by a key that names the program of one run; the oldest is ended if they are too many.

    Thread-safe.
    """

    def __init__(self, most: int = MOST_WAITING) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._programs: OrderedDict[str, WaitingProgram] = OrderedDict()
        weakref.finalize(self, _end, self._programs)
        _all.add(self)

    def keep(self, key: str, program: WaitingProgram) -> None:
        """Keep a program under its key."""
        with self._lock:
            over = [self._programs.pop(key)] if key in self._programs else []
            self._programs[key] = program
            while len(self._programs) > self._most:
                over.append(self._programs.popitem(last=False)[1])
        for other in over:
            other.process.end()

    def take(self, key: str) -> WaitingProgram | None:
        """Return the program of a key, which the caller keeps again or ends; None if none waits."""
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
