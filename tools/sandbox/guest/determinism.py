"""The same clock, random numbers and process in every run of a program, because a program is run again from its start.

Object addresses, and so `id()` and the order of objects in a set, still differ; the digests of the calls detect that.
Standard library only: the host sends this module to the worker.
"""

from __future__ import annotations

import os
import sys
import time

from restgpt.tools.sandbox.guest.digest import digest_of

TYPE_CHECKING = False  # a name for type checkers; the import of `typing` would cost every worker milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

_PROCESS = 2  # the number of the process that a program sees
_NODE = 0x020000000001  # the network address that `uuid` sees; its second bit marks it as a local one


def fix(now: float, seed: str) -> None:
    """Fix the clock at `now`, in seconds since 1970, the random numbers by `seed`, and the facts about the process."""
    fix_clock(now)
    fix_chance(seed)
    fix_process()


def fix_clock(now: float) -> None:
    """Let all clocks of Python stand at `now`, in seconds since 1970; only `time.sleep` moves them, without waiting."""
    import datetime

    moment = [now]

    def seconds() -> float:
        return moment[0]

    def nanoseconds() -> int:
        return int(moment[0] * 1e9)

    def sleep(duration: Any) -> None:
        moment[0] += max(0.0, float(duration))

    for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time"):
        setattr(time, name, seconds)
        setattr(time, f"{name}_ns", nanoseconds)
    time.sleep = sleep
    time.clock_gettime = lambda clock: seconds()
    time.clock_gettime_ns = lambda clock: nanoseconds()
    for name in ("gmtime", "localtime", "ctime"):
        setattr(time, name, _at(getattr(time, name), seconds))
    formatted, as_text, local = time.strftime, time.asctime, time.localtime
    time.strftime = lambda form, when=None: formatted(form, when or local())
    time.asctime = lambda when=None: as_text(when or local())
    for name, attribute in (("timeit", "default_timer"), ("queue", "time"), ("threading", "_time")):
        if name in sys.modules:  # it has a reference of its own to a clock
            setattr(sys.modules[name], attribute, seconds)
    _fix_datetime(datetime, seconds)


def _at(function: Callable[..., Any], seconds: Callable[[], float]) -> Callable[..., Any]:
    return lambda when=None: function(seconds() if when is None else when)


def _fix_datetime(datetime: ModuleType, seconds: Callable[[], float]) -> None:
    """Replace `datetime.datetime` and `datetime.date` by classes whose `now` and `today` use the fixed clock."""
    real_datetime, real_date, utc = datetime.datetime, datetime.date, datetime.timezone.utc

    class Kind(type):
        """Lets instances of the original classes pass for instances of the replaced ones."""

        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, real_datetime if cls is fixed_datetime else real_date)

        def __subclasscheck__(cls, kind: type) -> bool:
            return issubclass(kind, real_datetime if cls is fixed_datetime else real_date)

    def now(cls: Any, tz: Any = None) -> Any:
        return cls.fromtimestamp(seconds(), tz) if tz else cls.fromtimestamp(seconds(), utc).replace(tzinfo=None)

    today = classmethod(lambda cls: cls.fromtimestamp(seconds()))
    body = {"now": classmethod(now), "utcnow": classmethod(now), "today": today}
    fixed_datetime: Any = Kind("datetime", (real_datetime,), dict(body))
    fixed_date: Any = Kind("date", (real_date,), {"today": today})
    datetime.datetime, datetime.date = fixed_datetime, fixed_date  # type: ignore[attr-defined]


def fix_chance(seed: str) -> None:
    """Draw all random numbers of Python from `seed`; the module `random` only if the program has loaded it."""
    drawn = [0]

    def urandom(size: int) -> bytes:
        found = b""
        while len(found) < size:
            drawn[0] += 1
            found += bytes.fromhex(digest_of(f"{seed}/{drawn[0]}"))
        return found[:size]

    os.urandom = urandom
    os.getrandom = lambda size, flags=0: urandom(size)
    random = sys.modules.get("random")
    if random is None:
        return
    plain_seed = random.Random.seed

    def seeded(self: Any, a: Any = None, version: int = 2) -> None:
        plain_seed(self, int.from_bytes(urandom(8), "big") if a is None else a, version)

    random._urandom = urandom  # type: ignore[attr-defined]
    random.Random.seed = seeded
    random.seed = random._inst.seed  # type: ignore[attr-defined]
    random.seed()


def fix_process() -> None:
    """Fix what a program sees of its process and its machine: numbers, used time, load, network address."""
    os.getpid = os.getppid = os.getpgrp = lambda: _PROCESS
    os.times = lambda: os.times_result((0.0, 0.0, 0.0, 0.0, 0.0))
    os.getloadavg = lambda: (0.0, 0.0, 0.0)
    os.cpu_count = lambda: 1
    uuid = sys.modules.get("uuid")
    if uuid is not None:  # else the C library reads the clock and the address of the machine
        uuid._generate_time_safe = uuid._UuidCreate = None  # type: ignore[attr-defined]
        uuid._node = _NODE  # type: ignore[attr-defined]
