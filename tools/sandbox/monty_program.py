"""Runs a program in Monty: the host's counterpart of `guest/replay.py`, whose driver answers the calls here too.

Monty stops at each call of an outside function, and the driver of `replay.py` says in this process what becomes of it:
an answer, an error, or the end of the run with the calls that wait. So the reports have the form of those that a worker
of Linux writes. What the program does to its own names it does in its own process: it can deceive itself only.
"""

import ast
import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NoReturn

from restgpt.tools.sandbox.dialect import Translation, hidden_name, lacks, library, translation
from restgpt.tools.sandbox.guest import check, rewriting
from restgpt.tools.sandbox.guest import library as functions
from restgpt.tools.sandbox.guest.replay import (
    FILENAME,
    MOST_RECORD,
    ApiError,
    Driver,
    Gathering,
    Held,
    Log,
    Rejected,
    Suspended,
    problems_of,
    shown,
)
from restgpt.tools.sandbox.result import CodeError, Ending, Status
from restgpt.tools.sandbox.worker import shape

_MOST_WEIGHT = 2_000_000  # values and characters of the arguments of one call
_API_ERROR, _REJECTED = "binascii.Incomplete", "re.PatternError"
"""The exceptions of Monty that stand for errors of calls: no function that a program can call raises them."""

_WAYS = {
    **dict.fromkeys(
        ("no attribute 'append'", "no attribute 'get'", "no attribute 'extend'", "no attribute 'add'"),
        "{0}; a method is no value here: write a lambda that calls it",
    ),
    "no attribute 'fromtimestamp'": "{0}; write datetime(1970, 1, 1) + timedelta(seconds=int(...))",
    "no attribute 'translate'": "{0}; use replace",
    "supported in re.sub()": "{0}; write a loop over re.finditer",
    "exceptions can only be called with": "an error takes one text here, such as raise ValueError('no such item')",
    "cannot suspend in this": "{1}() cannot be called here: call it in a loop first, then use the results",
}
"""What to write in the place of what Monty does not have, by a part of its error."""

_HELD = "\0held "
"""The beginning of what stands for the answer to a change that a dry run did not send."""

_PRELUDE = """
import binascii as _host_binascii, json as _host_json, re as _host_re
ApiError, Rejected = _host_binascii.Incomplete, _host_re.error
_getattr, _hasattr, _round, _type, _host_iter = getattr, hasattr, round, type, iter
_host_functions = ("function", "builtin_function_or_method", "method", "type")
def getattr(owner, name, *default):
    if isinstance(owner, ApiError) and name in ("status", "body"):
        return _host_error(str(owner), name)
    value = _getattr(owner, name, *default)
    return {"Incomplete": "ApiError", "PatternError": "Rejected"}.get(value, value) if name == "__name__" else value
_host_getattr = getattr
def hasattr(owner, name):
    return (isinstance(owner, ApiError) and name in ("status", "body")) or _hasattr(owner, name)
def callable(value):
    return _type(value).__name__ in _host_functions or _hasattr(value, "__call__")
def round(number, digits=None):
    if _type(number).__name__ == "float" and digits is not None and digits >= 0:
        return float(f"{number:.{digits}f}")
    return _round(number, digits)
def _host_plain(value):
    kind = _type(value).__name__
    if kind in ("list", "tuple", "range", "list_iterator", "dict_keys", "dict_values", "dict_items"):
        return [_host_plain(item) for item in value]
    if kind in ("dict", "defaultdict", "Counter"):
        return {name: _host_plain(item) for name, item in value.items()}
    if kind in _host_functions:
        raise TypeError(f"an argument is no JSON value: {kind} cannot be sent")
    return value
def _host_is_held(value):
    return _type(value).__name__ == "str" and value[:6] == "\\0held "
def _host_shown(value):
    if value is None or isinstance(value, str):
        return value and value[:100_000]
    try:
        return _host_json.dumps(value, ensure_ascii=False)[:100_000]
    except Exception:
        return None
_host_taken = []
def _host_take(value):
    _host_taken.append(value)
    raise StopIteration
def _host_first(branch, *default):
    try:
        branch()
    except StopIteration:
        return _host_taken.pop()
    if default:
        return default[0]
    raise StopIteration
def exit(text=""):
    raise SystemExit(text if _type(text).__name__ == "str" else "")
quit = exit
class _HostGathering:
    def __init__(self, driver): _host_open()
    def begin(self): _host_begin()
    def end(self, is_suspended): _host_end(is_suspended)
    def finish(self): _host_finish()
"""


class Left(Exception):
    """The run ends here, with the report of the driver."""

    def __init__(self, kind: str, payload: Mapping[str, Any]) -> None:
        super().__init__(kind)
        text = json.dumps(payload)
        large = len(text) > MOST_RECORD
        self.end = Ending(Status.PAUSED, pause="large" if large else kind, payload="{}" if large else text)


def rewrite(code: str, data: bytes) -> Ending:
    """Return the report about the code with inputs in the place of literals; nothing is run, in Monty or here."""
    report = json.dumps(rewriting.rewritten(code, json.loads(data)), ensure_ascii=False)
    payload = report.encode("utf-8", "backslashreplace")
    if len(payload) > rewriting.MOST_RECORD:
        raise ValueError("the new code is too long")
    return Ending(Status.OK, payload=payload.decode())


class MontyProgram:
    """A program with its answers, before Monty runs it. Raises Left if it is refused, and SyntaxError."""

    def __init__(self, code: str, job: Mapping[str, Any], bodies: memoryview, monty: Any) -> None:
        self._code, self._job, self._monty = code, job, monty
        names = job["functions"]
        tree = ast.parse(code, FILENAME)
        found = problems_of(check, job, tree, code) if job["check"] else []
        if found := sorted({*lacks(tree, names), *found})[:20]:
            raise Left("refused", {"problems": found})
        is_dry = any(entry["kind"] == "held" for entry in job["entries"])
        self.translated: Translation = translation(tree, names, is_dry=is_dry)
        # Without a flush: what the program prints is here before its calls.
        self._driver = _Driver(int(job["most"]), Log(job["entries"], bodies), _leave, lambda: None)
        self._outside: dict[str, Callable[..., Any]] = {
            "status": lambda: self._driver.status,
            **{hidden_name(name): self._driver.function(name) for name in names},
            "headers": self._driver.headers,
            "stop": self._driver.stop,
            "_host_error": self._driver.of_error,
            "_host_held": lambda name: self._driver._use_of_held(name.removeprefix(_HELD)),
            "_host_ratio": lambda text, wanted: functions.ratio(_short(text), _short(wanted)),
            "_host_likest": lambda wanted, texts: functions.likest(_short(wanted), [*map(_short, texts[:2000])]),
            "_host_open": self._driver.open,
            "_host_begin": lambda: self._driver.gatherings[-1].begin(),
            "_host_end": lambda is_suspended: self._driver.gatherings[-1].end(is_suspended is True),
            "_host_finish": lambda: self._driver.gatherings.pop().finish(),
        }

    @property
    def policy(self) -> dict[str, Any]:
        """The fixed clock and random numbers of the program; code over data has none."""
        given: dict[str, Any] = {"sleep": "zero"}
        if "clock" in self._job:
            given["datetime"] = datetime.fromtimestamp(self._job["clock"], UTC)
            given["random_start"] = {"seed": self._job["seed"]}
        return given

    def run(self, session: Any, printed: Callable[..., None], end: float) -> Ending:
        """Run the program to its end or its next calls, by the moment `end`. Raises Left and MontyError."""
        session.feed_run(_PRELUDE + library(), external_lookup=self._outside, print_callback=printed)
        given = ["data"] if "data" in self._job else ["inputs"] if self._job["inputs"] is not None else []
        inputs = {name: _encodable(self._job[name]) for name in given}
        code = self.translated.code
        moment = session.feed_start(code, inputs=inputs, external_lookup=self._outside, print_callback=printed)
        while not isinstance(moment, self._monty.MontyComplete):
            if time.monotonic() > end:
                return Ending(Status.TIMEOUT)
            if not isinstance(moment, self._monty.FunctionSnapshot):
                moment = moment.resume_auto()
            elif moment.is_os_function:
                moment = moment.resume_not_handled()
            else:
                moment = moment.resume(self._answer(moment))
        return self._ended(Status.OK, value=moment.output)

    def failed(self, session: Any, raised: Any, status: Status) -> Ending:
        """Return the end of a run with an error of the program. Raises Left and MontyError."""
        inner = raised.exception()
        if isinstance(inner, SystemExit) and not str(inner):
            return self._ended(Status.OK)
        frames = [frame for frame in raised.traceback() if _is_program(frame.filename)]
        line = self.translated.line_at((frames[-1].line, frames[-1].column - 1)) if frames else 0
        source = self._code.split("\n")[line - 1].strip()[:300] if line else ""
        kind = type(inner).__name__
        error = CodeError(
            {"Incomplete": "ApiError", "error": "Rejected"}.get(kind, kind), _told(inner), line or None, source
        )
        about = kind in ("KeyError", "IndexError", "AttributeError", "TypeError") and frames
        return self._ended(status, error)._replace(shape=self._subject(session, kind, frames[-1]) if about else "")

    def _ended(self, status: Status, error: CodeError | None = None, *, value: Any = None) -> Ending:
        """Return the end of a run that needs no more answers. Raises Left."""
        self._driver.end()
        report = {"taken": self._driver._log.taken, "value": shown(value if isinstance(value, str) else None)}
        return Ending(status, payload=json.dumps(report), error=error)

    def _subject(self, session: Any, kind: str, frame: Any) -> str:
        """Return a description of the object of which the program read a field or an item that there is not.

        The expression of the object is evaluated again, so it is left out if it contains a call.
        """
        line = self.translated.code.split("\n")[frame.line - 1]
        text = line[frame.column - 1 : frame.end_column - 1] if frame.end_line == frame.line else ""
        base = text.rpartition("." if kind == "AttributeError" else "[")[0]
        if not base or "(" in base:
            return ""
        try:
            return f"`{base}` is {shape(session.feed_run(base)).decode()}"
        except self._monty.MontyRuntimeError:
            return ""

    def _answer(self, moment: Any) -> dict[str, Any]:
        """Return what Monty goes on with after a call of an outside function. Raises Left."""
        driver, place = self._driver, self.translated.place_at(moment.position.start)
        if _is_program(moment.position.filename):
            driver.line = self.translated.line_at(place)
        try:
            positional, keywords = moment.args, moment.kwargs
            if moment.function_name != "headers":  # whose argument is an answer, and is only compared
                _weigh([positional, keywords])
            value = self._outside[moment.function_name](*positional, **keywords)
            if type(value) is Held:
                named = self.translated.unused.get(place)
                value = bool(value) if named is None else f"{_HELD}{moment.function_name}" if named else None
            return {"return_value": _encodable(value)}
        except Suspended:
            return {"exc_type": "KeyboardInterrupt", "message": ""}
        except (ApiError, Rejected) as error:
            message = _encodable(str(error))
            driver.errors[message] = error
            return {"exc_type": _API_ERROR if isinstance(error, ApiError) else _REJECTED, "message": message}
        except (TypeError, ValueError, LookupError, RecursionError) as error:
            return {"exc_type": "TypeError", "message": str(error)}


class _Driver(Driver):
    """The driver of `replay.py` in the host: it is told the line of a call, and knows errors by their messages."""

    def __init__(self, most: int, log: Log, leave: Callable[..., Any], flush: Callable[[], None]) -> None:
        super().__init__(most, log, leave, flush)
        self.line = 0
        self.errors: dict[str, Any] = {}
        self.gatherings: list[Gathering] = []

    def open(self) -> None:
        """Begin a `gather`."""
        self.gatherings.append(Gathering(self))

    def of_error(self, message: str, name: str) -> Any:
        """Return the status or the body of the error with a message."""
        return {"status": self.errors[message].status, "body": self.errors[message].body}[name]

    def headers(self, answer: object = None) -> dict[str, str]:
        """Return the response headers of an answer, or of the last call. Values from Monty are copies."""
        kept = next((found for value, found in reversed(self._headers.values()) if value == answer), self._latest)
        return dict(kept)

    def _line(self) -> int:
        return self.line


def _is_program(filename: str) -> bool:
    """Return whether a place is in the program, which is fed after the prelude."""
    return filename == "<python-input-1>"


def _told(error: BaseException) -> str:
    """Return the message of an error, with the way round what Monty does not have."""
    message = str(error)
    way = next((way for part, way in _WAYS.items() if part in message), "{0}")
    return way.format(message, *message.split("'")[1:2])


def _encodable(value: Any) -> Any:
    """Return a value of JSON with a question mark for each half of a surrogate pair, which Monty does not take."""
    if not isinstance(value, str | dict | list) or "\\ud" not in json.dumps(value):
        return value
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def _weigh(value: Any) -> None:
    """Raise TypeError for a value that is too large: one that contains another many times is small in Monty only."""
    left, waiting = _MOST_WEIGHT, [value]
    while waiting:
        item = waiting.pop()
        left -= 1 + (len(item) if isinstance(item, str | bytes) else 0)
        if left < 0:
            raise TypeError("the arguments are too large together")
        if isinstance(item, dict):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple | set | frozenset):
            waiting += item


def _leave(kind: str, payload: Mapping[str, Any]) -> NoReturn:
    raise Left(kind, payload)


def _short(text: object) -> str:
    return str(text)[: functions.MOST_TEXT]
