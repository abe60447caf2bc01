"""The driver of a program inside the worker: answers its calls from the log, and ends the run at calls without answer.

A program calls API functions like ordinary functions. A call that the log answers returns at once. At calls without an
answer the process ends with the list of these calls; the host has them carried out and runs the program again from its
start. So a program must do the same in every run: clock, random numbers and hashes are fixed.

A call is identified by its structural position, such as `2` for the third call of the program and `4.1.0` for the first
call in the second branch of the `gather` at position 4. The digest of its arguments must be the same in every run.

The log comes from the host. The code shares this process, so it can deceive itself about answers; what it asks for is
checked by the host like the request of any model. Standard library only: `worker.py` loads this file before its lock.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import json
import os
import sys
import time
from types import ModuleType

TYPE_CHECKING = False  # a name for type checkers; the import of `typing` would cost every worker milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import FrameType
    from typing import Any

    Record = tuple[bytes, ...]

FILENAME = "<code>"
SOURCE, SHOWN, MOST_RECORD = 300, 2000, 900_000  # the most characters of a source line, of a shown value, of a record
GIVEN = ("gather", "stop", "headers", "ApiError", "Rejected")
LIBRARY = ("rows", "field", "one", "number", "table")

# References from before the generated code runs.
_Anything, _Error = BaseException, Exception
_dumps, _loads, _sha256, _leave, _frame = json.dumps, json.loads, hashlib.sha256, os._exit, sys._getframe


class ApiError(Exception):
    """A call failed: `status` is the HTTP status (0: no answer), `body` the parsed body of the answer."""

    def __init__(self, message: str, status: int = 0, body: Any = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = body


class Rejected(Exception):
    """A call was not sent, because a person or a rule did not allow it."""


class Suspended(BaseException):
    """Ends a branch of `gather` that waits for an answer."""


class Unparsable(Exception):
    """The program does not parse."""


class Branch:
    """A branch of the program: the prefix of its positions, the number of its calls, and whether it waits."""

    __slots__ = ("count", "prefix", "waits")

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.count = 0
        self.waits = False

    def next(self) -> str:
        """Return the position of the next call."""
        position = f"{self.prefix}{self.count}"
        self.count += 1
        return position


class Log:
    """The answers of the host: by position, and those of earlier programs by the digest of their calls, in order."""

    def __init__(self, entries: Sequence[dict[str, Any]], bodies: memoryview) -> None:
        self._placed: dict[str, dict[str, Any]] = {}
        self._free: dict[str, list[dict[str, Any]]] = {}
        self.taken: dict[str, str] = {}
        at = 0
        for entry in entries:
            entry["raw"] = bodies[at : at + entry["size"]]
            at += entry["size"]
            if entry["position"]:
                self._placed[entry["position"]] = entry
            else:
                self._free.setdefault(entry["digest"], []).append(entry)

    def find(self, position: str, digest: str) -> dict[str, Any] | None:
        """Return the answer of a position; without one, take the next free answer of the same call."""
        entry = self._placed.get(position)
        if entry is None and self._free.get(digest):
            entry = self._free[digest].pop(0)
            self.taken[position] = entry["key"]
            self._placed[position] = entry
        return entry


class Driver:
    """Runs the calls of one program. `leave` sends a record to the host and ends the process."""

    def __init__(self, job: Mapping[str, Any], log: Log, code: str, leave: Callable[..., Any]) -> None:
        self._log = log
        self._lines = code.split("\n")
        self._leave = leave
        self._branch = self._top = Branch()
        self._waiting: list[dict[str, Any]] = []
        self._unknown: dict[str, Any] | None = None
        self._most = int(job["most"])
        self._headers: dict[int, tuple[Any, dict[str, str]]] = {}
        self._latest: dict[str, str] = {}

    def function(self, stub: Mapping[str, Any]) -> Callable[..., Any]:
        """Return the function of an operation."""
        name = str(stub["name"])

        def operation(*positional: Any, **keywords: Any) -> Any:
            return self.call(name, positional, keywords)

        operation.__name__ = operation.__qualname__ = name
        return operation

    def call(self, name: str, positional: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """Return the answer of a call, or wait for it."""
        branch = self._branch
        if branch.waits:
            raise Suspended
        text = _written(name, positional, keywords)
        digest = _sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        position = branch.next()
        entry = self._log.find(position, digest)
        line = self._line()
        if entry is not None and entry["digest"] != digest:
            self._leave(
                "diverged", {"position": position, "function": name, "line": line, "source": self._source(line)}
            )
        if entry is not None:
            return self._given(entry, name, line)
        if len(self._waiting) >= self._most:
            self._leave("many", {"most": self._most, "line": line, "source": self._source(line)})
        self._waiting.append(
            {
                "position": position,
                "line": line,
                "source": self._source(line),
                "function": name,
                "arguments": _loads(text)[1:],
                "digest": digest,
            }
        )
        return self._wait(branch)

    def _wait(self, branch: Branch) -> Any:
        """End the run if the program itself waits; in a branch of `gather`, let the other branches go on first."""
        if branch is not self._top:
            branch.waits = True
            raise Suspended
        if self._waiting:
            self._leave("calls", {"calls": self._waiting, "taken": self._log.taken})
        return self._leave("unknown", self._unknown or {})

    def _given(self, entry: dict[str, Any], name: str, line: int) -> Any:
        kind, status = entry["kind"], entry["status"]
        if kind == "held":
            return Held(lambda: self._use_of_held(name))
        if kind == "rejected":
            raise Rejected(f"{name} was not sent: {entry['note']}")
        value = _parsed(entry)
        self._latest = dict(entry["headers"])
        if kind == "error":
            told = entry["note"] or (value if isinstance(value, str) else _dumps(value, ensure_ascii=False))
            said = f"{name} answered {status}: {told[:SOURCE]}" if status else f"{name} got no answer: {told[:SOURCE]}"
            raise ApiError(said, status, value)
        if isinstance(value, dict | list):
            self._headers[id(value)] = (value, self._latest)
        return value

    def _use_of_held(self, name: str) -> None:
        """End the branch where a dry run would need the answer to a change that it did not send."""
        branch = self._branch
        if branch.waits:
            raise Suspended
        line = self._line()
        self._unknown = self._unknown or {"function": name, "line": line, "source": self._source(line)}
        self._wait(branch)

    def gather(self, *branches: Any, return_exceptions: bool = False) -> list[Any]:
        """Run the branches, each a function without arguments or a value, and return their results in order.

        Calls without answer in different branches go out together.
        """
        outer = self._branch
        if outer.waits:
            raise Suspended
        here = outer.next()
        results: list[Any] = []
        first: BaseException | None = None
        waits = False
        for number, branch in enumerate(branches):
            inner = self._branch = Branch(f"{here}.{number}.")
            try:
                results.append(branch() if callable(branch) else branch)
                caught = inner.waits
            except Suspended:
                caught = not inner.waits
                waits = True
            except _Error as error:
                caught = inner.waits
                first = first or (None if return_exceptions else error)
                results.append(error)
            finally:
                self._branch = outer
            if caught:
                line = self._line()
                self._leave("caught", {"line": line, "source": self._source(line)})
        if waits:
            self._wait(outer)
        if first is not None:
            raise first
        return results

    def stop(self, text: object = "", value: object = None) -> None:
        """End the program with a sentence, and show a value in short."""
        _flush()
        line = self._line()
        shown = "" if value is None else repr(value)[:SHOWN]
        self._leave("stopped", {"text": str(text)[:SHOWN], "value": shown, "line": line, "taken": self._log.taken})

    def headers(self, answer: object = None) -> dict[str, str]:
        """Return the response headers of an answer, names in lower case; without an answer, those of the last call."""
        kept = self._headers.get(id(answer))
        return dict(kept[1] if kept is not None else self._latest)

    def _line(self) -> int:
        """Return the line of the program that is being executed."""
        frame: FrameType | None = _frame(1)
        while frame is not None:
            if frame.f_code.co_filename == FILENAME:
                return frame.f_lineno
            frame = frame.f_back
        return 0

    def _source(self, line: int) -> str:
        return self._lines[line - 1].strip()[:SOURCE] if 0 < line <= len(self._lines) else ""


class Held:
    """The answer to a change that a dry run did not send: any use of it ends the branch."""

    def __init__(self, used: Callable[[], None]) -> None:
        object.__setattr__(self, "_used", used)

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            return Held
        return object.__getattribute__(self, "_used")()


def _use(self: Held, *given: Any, **named: Any) -> Any:
    return object.__getattribute__(self, "_used")()


for _name in (
    *("getitem", "iter", "len", "contains", "bool", "str", "repr", "format", "int", "float", "index", "hash", "call"),
    *("eq", "ne", "lt", "le", "gt", "ge", "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "mod", "setitem"),
):
    setattr(Held, f"__{_name}__", _use)


def _written(name: str, positional: Sequence[Any], keywords: Mapping[str, Any]) -> str:
    """Return a call as canonical JSON; raises TypeError for an argument that is no JSON value."""
    _refuse_held([*positional, *keywords.values()])
    try:
        return _dumps([name, list(positional), keywords], sort_keys=True, ensure_ascii=False, default=_as_json)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"{name}: an argument is no JSON value: {error}") from None


def _refuse_held(values: list[Any]) -> None:
    for value in values:
        if type(value) is Held:
            bool(value)
        elif isinstance(value, dict):
            _refuse_held(list(value.values()))
        elif isinstance(value, list | tuple):
            _refuse_held(list(value))


def _as_json(value: Any) -> Any:
    """Return the JSON form of a Python value: dates as ISO text, sets sorted, bytes as a file, decimals as numbers."""
    if isinstance(value, bytes | bytearray):
        from binascii import b2a_base64

        return {"@bytes": b2a_base64(value, newline=False).decode()}
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if type(value).__name__ == "Decimal":
        return int(value) if value == int(value) else float(value)
    if hasattr(value, "__iter__"):
        return list(value)
    raise TypeError(f"{type(value).__name__} cannot be sent")


def _parsed(entry: dict[str, Any]) -> Any:
    raw, media = entry["raw"], entry["media"]
    if media == "empty":
        return None
    if media == "binary":
        return bytes(raw)
    text = str(raw, "utf-8", "replace")
    return _loads(text) if media == "json" else text


def _flush() -> None:
    for name in ("stdout", "__stdout__"):
        try:
            getattr(sys, name).flush()
        except _Anything:
            continue


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
    """Draw all random numbers of Python from `seed`."""
    import random

    drawn = [0]

    def urandom(size: int) -> bytes:
        found = b""
        while len(found) < size:
            drawn[0] += 1
            found += _sha256(f"{seed}/{drawn[0]}".encode()).digest()
        return found[:size]

    plain_seed = random.Random.seed

    def seeded(self: random.Random, a: Any = None, version: int = 2) -> None:
        plain_seed(self, int.from_bytes(urandom(8), "big") if a is None else a, version)

    os.urandom = urandom
    os.getrandom = lambda size, flags=0: urandom(size)
    random._urandom = urandom  # type: ignore[attr-defined]
    random.Random.seed = seeded  # type: ignore[method-assign]
    # The functions of the module are bound methods of one instance, so `random.seed` is still the original method.
    random.seed = random._inst.seed
    random.seed()


def run(worker: Any, status: int, check: ModuleType, library: ModuleType, code: str, raw: list[bytearray]) -> Record:
    """Run a program over the log in `raw` and return the record of its end; at calls without answer, do not return."""
    ballast = bytes(worker._BALLAST)
    view = memoryview(raw.pop())
    size = 10 + int(bytes(view[:10]))
    job = _loads(bytes(view[10:size]))

    def leave(kind: str, payload: dict[str, Any]) -> None:
        text = _dumps(payload).encode()
        if len(text) > MOST_RECORD:
            kind, text = "large", _dumps({"size": len(text)}).encode()
        worker.send(status, kind.encode(), b"", b"", b"", b"", b"", text)
        _leave(0)

    try:
        program = _compiled(job, check, code, leave)
    except SyntaxError as error:
        line = error.lineno or 0
        return (
            b"syntax_error",
            worker.type_of(error),
            worker.text_of(error.msg),
            b"%d" % line,
            worker.source_line(code, line),
        )
    except (ValueError, OverflowError, RecursionError, MemoryError) as error:
        return (b"syntax_error", worker.type_of(error), worker.message_of(error) or b"the code is too complex")
    driver = Driver(job, Log(job["entries"], view[size:]), code, leave)
    names: dict[str, Any] = {stub["name"]: driver.function(stub) for stub in job["stubs"]}
    library.stop = driver.stop  # type: ignore[attr-defined]
    names.update({name: getattr(library, name) for name in LIBRARY})
    names.update(gather=driver.gather, stop=driver.stop, headers=driver.headers, ApiError=ApiError, Rejected=Rejected)
    module = ModuleType("__main__")
    module.__dict__.update(names)
    sys.modules["__main__"] = module
    worker.remember_source(code)
    fix_clock(job["clock"])
    fix_chance(job["seed"])
    try:
        exec(program, module.__dict__)
        record: Record = worker.done(b"")
    except _Anything as error:
        del ballast
        record = worker.report(error, code, b"", module.__dict__)
    worker.flush()
    payload = _dumps({"taken": driver._log.taken}).encode()
    return (*record, *[b""] * (6 - len(record)), payload)


def _compiled(job: Mapping[str, Any], check: ModuleType, code: str, leave: Callable[..., Any]) -> Any:
    """Return the compiled program; a program that the check refuses ends the process."""
    tree = ast.parse(code, FILENAME)
    if job["check"]:
        stubs = {stub["name"]: stub for stub in job["stubs"]}
        given = {*GIVEN, *LIBRARY}
        found = check.problems(tree, stubs, job["names"], given, job["modules"], fields=job["check"] == "fields")
        if found:
            leave("refused", {"problems": found})
    return builtins.compile(check.rewritten(tree), FILENAME, "exec", dont_inherit=True)
