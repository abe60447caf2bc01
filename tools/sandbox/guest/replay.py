"""The driver of a program inside the worker: answers its calls from the log, and ends the run at calls without answer.

A program calls API functions like ordinary functions. A call that the log answers returns at once. At calls without an
answer the process ends with the list of these calls; the host has them carried out and runs the program again from its
start. So a program must do the same in every run: clock, random numbers and hashes are fixed. At a single call outside
of `gather` the process may wait instead, and go on when the host sends the answer.

A call is identified by its structural position, such as `2` for the third call of the program and `4.1.0` for the first
call in the second branch of the `gather` at position 4. The digest of its arguments must be the same in every run.

The log comes from the host. The code shares this process, so it can deceive itself about answers; what it asks for is
checked by the host like the request of any model. Standard library only: the host sends this module to the worker.
"""

from __future__ import annotations

import builtins
import io
import json
import os
import sys
from itertools import islice
from types import ModuleType

from restgpt.tools.sandbox.guest.determinism import fix
from restgpt.tools.sandbox.guest.digest import call_text, digest_of

TYPE_CHECKING = False  # a name for type checkers; the import of `typing` would cost every worker milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import FrameType
    from typing import Any

    Record = tuple[bytes, ...]

FILENAME = "<code>"
SOURCE, SHOWN, MOST_RECORD = 300, 2000, 900_000  # the most characters of a sentence, of a shown value, of a record
MOST_TOGETHER = 800_000  # the most characters of the arguments of all calls that wait together
MOST_POSITION = 200  # the most characters of a position, which grows with each `gather` inside another
GIVEN = ("gather", "stop", "headers", "ApiError", "Rejected")
LIBRARY = ("rows", "field", "one", "number", "table")
LAST = "__last__"  # the name of the value of the last expression, which is the report of a program without output

# References from before the generated code runs.
_Anything, _Error = BaseException, Exception
_ABOUT_AN_OBJECT = (KeyError, IndexError, AttributeError, TypeError)
_dumps, _loads, _leave, _frame = json.dumps, json.loads, os._exit, sys._getframe


def _cut(text: str) -> str:
    """Return the beginning of a text that a model reads, with what is missing."""
    if len(text) <= SHOWN:
        return text
    kept = text[: SHOWN - 60]
    return f"{kept}… ({len(text) - len(kept)} characters more: show a part of it)"


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
        self.add(entries, bodies)

    def add(self, entries: Sequence[dict[str, Any]], bodies: memoryview) -> None:
        """Add answers, whose bodies follow each other in `bodies`."""
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
    """Runs the calls of one program. `leave` sends a record to the host and ends the process, `flush` the output.

    `awaited` sends calls to the host and returns its next job with the answers; without it, the program never waits in
    this process.
    """

    def __init__(
        self,
        most: int,
        log: Log,
        leave: Callable[..., Any],
        flush: Callable[[], None],
        awaited: Any = None,
    ) -> None:
        self._log = log
        self._leave = leave
        self._flush = flush
        self._branch = self._top = Branch()
        self._waiting: list[dict[str, Any]] = []
        self._size = 0
        self._unknown: dict[str, Any] | None = None
        self._most = most
        self._awaited = awaited
        self._headers: dict[int, tuple[Any, dict[str, str]]] = {}
        self._latest: dict[str, str] = {}
        self.status = 0

    def function(self, name: str) -> Callable[..., Any]:
        """Return the function of an operation."""

        def operation(*positional: Any, **keywords: Any) -> Any:
            return self.call(name, positional, keywords)

        operation.__name__ = operation.__qualname__ = name
        return operation

    def call(self, name: str, positional: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """Return the answer of a call, or wait for it."""
        branch = self._branch
        if branch.waits:
            raise Suspended
        text = call_text(name, positional, keywords)
        digest = digest_of(text)
        position = branch.next()
        entry = self._log.find(position, digest)
        line = self._line()
        if entry is not None and entry["digest"] != digest:
            self._leave("diverged", {"function": name, "line": line})
        if entry is not None:
            return self._given(entry, name, position)
        self._size += len(text)
        if len(self._waiting) >= self._most:
            self._leave("many", {"line": line})
        if self._size > MOST_TOGETHER:
            self._leave("large", {"line": line})
        self._waiting.append({"position": position, "line": line, "function": name, "arguments": _loads(text)[1:]})
        # A branch of `gather` ends before its answer is there, so the program cannot go on in the middle of a branch.
        if self._awaited is not None and branch is self._top and len(self._waiting) == 1:
            return self._given(self._next_entry(position, digest), name, position)
        return self._wait(branch)

    def _next_entry(self, position: str, digest: str) -> dict[str, Any]:
        """Wait in this process for the answer to a call; end the process if the host sends only other answers."""
        job, bodies = self._awaited({"calls": self._waiting, "taken": self._log.taken})
        self._log.add(job["entries"], bodies)
        self._most = job["most"]
        entry = self._log.find(position, digest)
        if entry is None or entry["digest"] != digest:
            _leave(0)
        self._waiting, self._size = [], 0
        self._log.taken.clear()  # the host has read them in the record
        return entry

    def _wait(self, branch: Branch) -> Any:
        """End the run if the program itself waits; in a branch of `gather`, let the other branches go on first."""
        if branch is not self._top:
            branch.waits = True
            raise Suspended
        if self._waiting:
            self._leave("calls", {"calls": self._waiting, "taken": self._log.taken})
        return self._leave("unknown", self._unknown or {})

    def _given(self, entry: dict[str, Any], name: str, position: str) -> Any:
        kind, status = entry["kind"], entry["status"]
        if kind == "held":
            return Held(lambda: self._use_of_held(name))
        if kind == "rejected":
            raise Rejected(f"{name} was not sent: {entry['note']}")
        value = _parsed(entry)
        self._latest = dict(entry["headers"])
        self.status = status
        if kind == "error":
            told = f"{entry['note']} {_told(value)}".strip()
            said = f"{name} answered {status}" if status else f"{name} got no answer"
            raise ApiError(f"{said}: {told[:SOURCE]}" if told else said, status, value)
        if isinstance(value, dict | list):
            self._headers[id(value)] = (value, self._latest)
        return value

    def _use_of_held(self, name: str) -> None:
        """End the branch where a dry run would need the answer to a change that it did not send."""
        branch = self._branch
        if branch.waits:
            raise Suspended
        self._unknown = self._unknown or {"function": name, "line": self._line()}
        self._wait(branch)

    def gather(self, *branches: Any, return_exceptions: bool = False) -> list[Any]:
        """Run the branches, each a function without arguments or a value, and return their results in order.

        Calls without answer in different branches go out together.
        """
        gathering = Gathering(self)
        results: list[Any] = []
        first: BaseException | None = None
        for branch in branches:
            is_suspended = is_end = False
            gathering.begin()
            try:
                results.append(branch() if callable(branch) and type(branch) is not Held else branch)
            except Suspended:
                is_suspended = True
            except _Error as error:
                first = first or (None if return_exceptions else error)
                results.append(error)
            except _Anything as error:
                is_end, first = True, first or error
            gathering.end(is_suspended)
            if is_end:  # such as exit(): the calls of the branches before it are made first
                break
        gathering.finish()
        if first is not None:
            raise first
        return results

    def stop(self, text: object = "", value: object = None) -> None:
        """End the program with a sentence, and show a value in short; calls that wait are made first."""
        branch = self._branch
        if branch.waits:
            raise Suspended
        shown, said = "" if value is None else _cut(repr(value)), _cut(str(text))
        if self._waiting:
            self._wait(branch)
        self._flush()
        self._leave("stopped", {"text": said, "value": shown, "line": self._line(), "taken": self._log.taken})

    def headers(self, answer: object = None) -> dict[str, str]:
        """Return the response headers of an answer, names in lower case; without an answer, those of the last call."""
        kept = self._headers.get(id(answer))
        return dict(kept[1] if kept is not None else self._latest)

    def end(self) -> None:
        """Report calls that still wait at the end of the program: their signal was lost, such as in `__del__`."""
        if self._waiting:
            self._leave("caught", {"line": self._waiting[0]["line"]})

    def close(self) -> None:
        """Make no more calls."""
        self._branch.waits = True

    def _line(self) -> int:
        """Return the line of the program that is being executed."""
        frame: FrameType | None = _frame(1)
        while frame is not None:
            if frame.f_code.co_filename == FILENAME:
                return frame.f_lineno
            frame = frame.f_back
        return 0


class Gathering:
    """The branches of one `gather`: each has positions of its own, and calls that wait end it."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._outer = driver._branch
        if self._outer.waits:
            raise Suspended
        self._here = self._outer.next()
        if len(self._here) > MOST_POSITION - 20:
            raise RecursionError("gather is nested too deeply")
        self._inner = self._outer
        self._count = 0
        self._waits = False

    def begin(self) -> None:
        """Begin the next branch."""
        self._inner = self._driver._branch = Branch(f"{self._here}.{self._count}.")
        self._count += 1

    def end(self, is_suspended: bool) -> None:
        """End the branch; one that waits and was not suspended has caught the signal of that."""
        self._driver._branch = self._outer
        self._waits = self._waits or is_suspended
        if self._inner.waits is not is_suspended:
            self._driver._leave("caught", {"line": self._driver._line()})

    def finish(self) -> None:
        """Wait if a branch waits."""
        if self._waits:
            self._driver._wait(self._outer)


class Held:
    """The answer to a change that a dry run did not send: any use of it ends the branch."""

    def __init__(self, used: Callable[[], None]) -> None:
        object.__setattr__(self, "_used", used)

    def __getattribute__(self, name: str) -> Any:
        # Of `__class__` too, which `isinstance` reads: a program that asks for the type needs the answer.
        return object.__getattribute__(self, "_used")()


def _use(self: Held, *given: Any, **named: Any) -> Any:
    return object.__getattribute__(self, "_used")()


for _name in (
    *("getitem", "setitem", "delitem", "iter", "next", "len", "length_hint", "contains", "reversed", "call"),
    *("bool", "str", "repr", "format", "bytes", "int", "float", "complex", "index", "hash", "dir", "round", "trunc"),
    *("floor", "ceil", "abs", "neg", "pos", "invert", "eq", "ne", "lt", "le", "gt", "ge", "setattr", "delattr"),
    *("enter", "exit", "aenter", "aexit", "await", "aiter", "anext", "fspath", "buffer", "reduce", "reduce_ex"),
    *("copy", "deepcopy", "sizeof"),
    *(
        f"{side}{name}"
        for name in ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "divmod", "pow", "lshift", "rshift")
        for side in ("", "r", "i")
    ),
    *(f"{side}{name}" for name in ("and", "or", "xor") for side in ("", "r", "i")),
):
    setattr(Held, f"__{_name}__", _use)


def _told(value: Any) -> str:
    """Return the body of an error as text; a body of bytes and an empty one tell nothing."""
    if value is None or isinstance(value, bytes):
        return ""
    return value if isinstance(value, str) else _dumps(value, ensure_ascii=False)


def _parsed(entry: dict[str, Any]) -> Any:
    raw, media = entry["raw"], entry["media"]
    if media == "empty":
        return None
    if media == "binary":
        return bytes(raw)
    text = str(raw, "utf-8", "replace")
    if media != "json":
        return text
    try:
        return _loads(text)
    except ValueError:
        return text  # the body was cut, or the API calls something JSON that is not


def run(worker: Any, status: int, code: str, raw: list[bytearray]) -> Record:
    """Run a program over the log in `raw` and return the record of its end; at calls without answer, do not return."""
    ballast = bytes(worker._BALLAST)
    view = memoryview(raw.pop())
    size = 10 + int(bytes(view[:10]))
    job = _loads(bytes(view[10:size]))
    library = sys.modules.get("restgpt.tools.sandbox.guest.library")

    def leave(kind: str, payload: dict[str, Any]) -> None:
        text = _dumps(payload).encode()
        if len(text) > MOST_RECORD:
            kind, text = "large", b"{}"
        worker.send(status, kind.encode(), b"", b"", b"", b"", b"", text)
        _leave(0)

    def awaited(payload: dict[str, Any]) -> tuple[dict[str, Any], memoryview]:
        text = _dumps(payload).encode()
        if len(text) > MOST_RECORD:
            leave("large", {})
        worker.flush()
        worker.send(status, b"waits", b"", b"", b"", b"", b"", text)
        try:
            more = memoryview(received(stream, int(received(stream, 10))))
            end = 10 + int(bytes(more[:10]))
            return _loads(bytes(more[10:end])), more[end:]
        except _Anything:
            # The host does not go on with this process, or the program has left no room for the answer. It must not see
            # that as an error of its call: the host runs it again from its start.
            return _leave(0)

    try:
        program = _compiled(job, code, leave)
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
    stream, received = io.FileIO(0, closefd=False), worker.received
    if job["may_wait"]:
        sys.stdin = io.StringIO()  # a program that reads its input must not wait for the host
    log = Log(job["entries"], view[size:])
    driver = Driver(int(job["most"]), log, leave, worker.flush, awaited if job["may_wait"] else None)
    names: dict[str, Any] = {name: driver.function(name) for name in job["functions"]}
    if library is not None:
        library.stop = driver.stop  # type: ignore[attr-defined]
        names.update({name: getattr(library, name) for name in LIBRARY})
    names.setdefault("status", lambda: driver.status)
    if job["inputs"] is not None:
        names["inputs"] = job["inputs"]
    names.update(gather=driver.gather, stop=driver.stop, headers=driver.headers, ApiError=ApiError, Rejected=Rejected)
    module = ModuleType("__main__")
    module.__dict__.update(names)
    sys.modules["__main__"] = module
    worker.remember_source(code)
    fix(job["clock"], job["seed"])
    try:
        exec(program, module.__dict__)
        record: Record = worker.done(b"")
    except _Anything as error:
        del ballast
        record = worker.report(error, code, _subject(worker, driver, error, code), module.__dict__)
    value = shown(module.__dict__.pop(LAST, None))
    driver.end()
    worker.flush()
    payload = _dumps({"taken": driver._log.taken, "value": value}).encode()
    return (*record, *[b""] * (6 - len(record)), payload)


def shown(value: Any) -> str:
    """Return the value of the last expression as text; empty if there is none, or if only its answer would tell it."""
    if value is None or type(value) is Held:
        return ""
    try:
        return _cut(value if isinstance(value, str) else _dumps(value, ensure_ascii=False))
    except _Anything:
        return ""


def _subject(worker: Any, driver: Driver, error: BaseException, code: str) -> bytes:
    """Return a description of the object of which the program read a field or an item that there is not.

    The expression of the object is evaluated again, so it is left out if it contains a call.
    """
    innermost = worker.innermost(error) if type(error) in _ABOUT_AN_OBJECT else None
    if innermost is None:
        return b""
    driver.close()
    frame = innermost.tb_frame
    try:
        line, last, start, end = next(islice(frame.f_code.co_positions(), innermost.tb_lasti // 2, None))
        lines = code.encode().split(b"\n")[(line or 0) - 1 : last]
        text = lines[0][start:end].decode() if len(lines) == 1 else "()"
        base = text.rpartition("." if type(error) is AttributeError else "[")[0]
        if "(" in base:
            return b""
        value = eval(base, frame.f_globals, frame.f_locals)
        return bytes(worker.text_of(f"`{base}` is {worker.shape(value).decode()}"))
    except _Anything:
        return b""


def _compiled(job: Mapping[str, Any], code: str, leave: Callable[..., Any]) -> Any:
    """Return the compiled program, which keeps the value of its last expression; one that is refused ends the process.

    A program that prints, and is without `gather`, is compiled as text, because the types of syntax trees take
    milliseconds to load.
    """
    check, gather = (sys.modules.get(f"restgpt.tools.sandbox.guest.{name}") for name in ("check", "gather"))
    if gather is None:
        return builtins.compile(code, FILENAME, "exec", dont_inherit=True)
    import ast

    tree = ast.parse(code, FILENAME)
    if check is not None and (found := problems_of(check, job, tree, code)):
        leave("refused", {"problems": found})
    tree = gather.rewritten(tree)
    if tree.body and isinstance(last := tree.body[-1], ast.Expr):
        target = ast.copy_location(ast.Name(LAST, ast.Store()), last)
        tree.body[-1] = ast.copy_location(ast.Assign([target], last.value), last)
    return builtins.compile(tree, FILENAME, "exec", dont_inherit=True)


def problems_of(check: Any, job: Mapping[str, Any], tree: Any, code: str) -> list[tuple[int, str]]:
    """Return what the module `check` finds in a program: lines and sentences."""
    stubs = {stub["name"]: stub for stub in job["stubs"]}
    given = {*GIVEN, *LIBRARY, "status", *(["inputs"] if job["inputs"] is not None else [])}
    fields = job["check"] == "fields"
    found: list[tuple[int, str]] = check.problems(
        tree, stubs, job["names"], given, job["modules"], fields=fields, code=code
    )
    return found
