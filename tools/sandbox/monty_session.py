"""A program in its process: it stops at its calls, and goes on with their answers.

Each call of a function of an API is a future of Monty, so that the branches of `gather` wait together. A round is the
call, or the calls of all branches, without which the program cannot go on. What the program does to its own names it
does in its own process: it can deceive itself only.
"""

from __future__ import annotations

import ast
import json
import re
import unicodedata
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pydantic_monty as monty

from restgpt.tools.sandbox import library
from restgpt.tools.sandbox.check import absences, problems
from restgpt.tools.sandbox.code import (
    UNPARSABLE,
    WAIT,
    WAIT_DIGEST,
    digest_of,
    name_of,
    plain_arguments,
    plain_text,
    syntax_tree,
)
from restgpt.tools.sandbox.dialect import GIVEN, LIBRARY, Translation, hidden_name, lacks, translation
from restgpt.tools.sandbox.modules import MODULES, host_functions
from restgpt.tools.sandbox.pool import Process, SandboxUnavailableError, process
from restgpt.tools.sandbox.prelude import prelude
from restgpt.tools.sandbox.result import (
    CodeError,
    Entry,
    Given,
    Halves,
    Kind,
    Limits,
    ProgramRun,
    SandboxResult,
    Status,
    WantedCall,
    printable,
    result_of,
)

Rounds = Generator[list[WantedCall], Mapping[str, Entry], ProgramRun]

MOST_HEADERS = 20_000
"""The maximum number of characters of the response headers that one answer is given with."""

MOST_TOGETHER = 800_000
"""The maximum number of characters of the arguments of all calls that wait together."""

MOST_WEIGHT = 2_000_000
"""The maximum number of values and characters of what a function of the host gets."""

MOST_VALUES = 200_000
"""The maximum number of values and characters of what a function of a module in the host gets."""

SOURCE, SHOWN, MESSAGE, SHAPE = 300, 2000, 2048, 800
"""The maximum number of characters of a sentence, a shown value, the message of an error, a description of a value."""

MOST_WAIT, MOST_WAITS = 86_400, 500
"""The longest wait of a program, in seconds, and the most waits, after each of which it runs again from its start."""

MOST_LEFT = 20
"""The maximum number of things that a program says it left."""

API_ERROR, REJECTED = "binascii.Incomplete", "decimal.Clamped"
"""The exceptions of Monty that stand for errors of calls: no function that a program can call raises them."""

HELD = "\0held "
"""The beginning of what stands for the answer to a change that a dry run did not send."""

_RAISED = (UnicodeEncodeError, UnicodeDecodeError, SyntaxError, LookupError, ValueError)
"""The errors of functions of the host that a program may catch; all others are TypeError."""

_WAITS = re.compile(r"\b(sleep|wait_until)\b")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_NAMES = {"Incomplete": "ApiError", "Clamped": "Rejected"}
_WAYS = {
    **dict.fromkeys(
        ("no attribute 'append'", "no attribute 'get'", "no attribute 'extend'", "no attribute 'add'"),
        "{0}; a method is no value here: write a lambda that calls it",
    ),
    "exceptions can only be called with": "an error takes one text here, such as raise ValueError('no such item')",
    "cannot suspend in this": "the API cannot be called here: call it in a loop first, then use the results",
}
"""What to write in the place of what Monty does not have, by a part of its error."""

_PROBLEMS = {
    "budget": (
        "The program asks for {asked} requests at once, but the budget of this instruction leaves {most}. None of them "
        "was sent. Make fewer calls, or report what is known and say what is missing."
    ),
    "large": "The arguments of the calls that wait here are too large together. Make fewer of these calls at once.",
    "answers": (
        "The responses to the program's calls have {size:.0f} MB together, and a program can hold {most:.0f} MB. "
        "Ask for less: filters, fewer fields, fewer pages, fewer calls."
    ),
}


class _Ended(Exception):
    """The program ends at a call of a function of the host."""

    def __init__(self, run: ProgramRun) -> None:
        super().__init__()
        self.run = run


class Session:
    """A program that runs; `rounds` is used once."""

    def __init__(self, code: str, given: Given, limits: Limits, *, size: int = 0) -> None:
        self._code, self._lines, self._given, self._limits, self._size = code, code.split("\n"), given, limits, size
        self._process = Process(limits)
        self._translated = Translation("", {}, {})
        self._count = self._weight = self._received = self._line = self._status = self._waits = 0
        self._clock = given.clock or 0.0
        self._functions = {hidden_name(name): name for name in given.functions}
        self._waiting: dict[int, WantedCall] = {}
        self._unused: dict[int, bool | None] = {}
        self._held: dict[int, tuple[str, int]] = {}
        self._errors: dict[str, tuple[int, Any]] = {}
        self._answers: list[tuple[int, Entry]] = []
        self._halves = Halves()
        self._left: list[str] = []
        self._outside: dict[str, Callable[..., Any]] = {
            **{hidden_name(name): _nothing for name in given.functions},
            **host_functions(),
            "stop": self._stop,
            "left": self._leave,
            "status": lambda: self._status,
            "_host_headers": self._headers_of,
            "_host_error": lambda message, name: self._errors[message][name == "body"],
            "_host_held": _nothing,
            "_host_sleep": _nothing,
            "_host_parsed": lambda number: self._halves.parsed(self._answers[number][1]),
            "_host_ratio": lambda text, wanted: library.ratio(_short(text), _short(wanted)),
            "_host_likest": lambda wanted, texts: library.likest(_short(wanted), [*map(_short, texts[:2000])]),
        }

    def rounds(self) -> Rounds:
        """Run the program; yield the calls that wait, take their answers by position, return how it ended.

        Raises nothing for what the code does.
        """
        try:
            refused = self._refusal()
        except UNPARSABLE as error:
            line = (error.lineno or 0) if isinstance(error, SyntaxError) else 0
            reason = getattr(error, "msg", "") or str(error) or "the code is too complex"
            return self._failed(Status.SYNTAX_ERROR, self._error(type(error).__name__, reason, line))
        if refused is not None:
            return refused
        try:
            return (yield from self._run())
        except SandboxUnavailableError as error:
            return self._failed(Status.SANDBOX_UNAVAILABLE, self._error(type(error).__name__, str(error)))
        except Exception as error:  # noqa: BLE001 - a program must not end its host, whatever it does
            return self._failed(Status.INTERNAL_ERROR, self._error(type(error).__name__, str(error)))

    def _refusal(self) -> ProgramRun | None:
        """Translate the program; return its end if it cannot be run. Raises what `ast.parse` raises."""
        given = self._given
        tree = syntax_tree(self._code)
        found = lacks(tree, given.functions)
        if given.check:
            stubs, known = {stub["name"]: stub for stub in given.stubs}, {*GIVEN, *LIBRARY, "status", *given.values}
            is_whole = given.check == "fields"
            found += problems(tree, stubs, given.names, known, MODULES, fields=is_whole, code=self._code)
        if found := sorted(set(found))[:20]:
            told = "\n".join(printable(f"Line {line}: {text}"[:600]) for line, text in found)
            error = self._error("NotImplementedError", found[0][1], found[0][0])
            claims = absences(tree, stubs) if given.check else ()
            return ProgramRun("refused", self._result(Status.UNSUPPORTED, error), problem=told, claims=claims)
        self._translated = translation(tree, given.functions, is_dry=given.is_dry)
        return None

    def _run(self) -> Rounds:
        clock = None if self._given.clock is None else datetime.fromtimestamp(self._given.clock, UTC)
        fixed: Any = {"memory": self._limits.memory_for(self._size), "clock": clock, "seed": self._given.seed}
        waits = clock is not None and _WAITS.search(self._code) is not None
        try:
            with process(self._limits, **fixed, waits=waits) as self._process:
                try:
                    return (yield from self._moments())
                except _Ended as ended:
                    if self._waiting and ended.run.kind == "stopped":  # what other branches asked for is made first
                        self._process.rest()
                        if calls := [call for _, call in sorted(self._waiting.items()) if call.function != WAIT]:
                            yield calls
                    return ended.run
                except monty.MontyRuntimeError as raised:
                    return self._raised(raised)
        except monty.MontyError as raised:
            return self._failed(self._process.status_of(raised))

    def _moments(self) -> Rounds:
        running, session = self._process, self._process.session
        running.work()
        options: Any = {"external_lookup": self._outside, "print_callback": running.write}
        values = {name: self._halves.hidden(value) for name, value in self._given.values.items()}
        if not self._given.is_json:
            session.feed_run(prelude(self._code), **options)
        else:
            try:
                session.feed_run(f"{prelude(self._code)}\ndata = _host_json.loads(data)", inputs=values, **options)
            except monty.MontyRuntimeError as raised:
                return self._unread(raised)
            values = {}
        moment: Any = session.feed_start(self._translated.code, inputs=values, **options)
        while not isinstance(moment, monty.MontyComplete):
            if running.is_late:
                return self._failed(Status.TIMEOUT)
            if isinstance(moment, monty.FutureSnapshot):
                calls = [self._waiting[number] for number in sorted({*moment.pending_call_ids} & {*self._waiting})]
                if not calls:
                    return self._unknown()
                running.rest()
                answers = yield calls
                running.work()
                self._weight = 0
                if not (results := self._results(calls, answers)):
                    return self._unknown()
                moment = moment.resume(results)
            elif not isinstance(moment, monty.FunctionSnapshot):
                moment = moment.resume_auto()
            elif moment.is_os_function and moment.function_name not in _OF_TIME:
                moment = moment.resume_auto() if moment.function_name == "import" else moment.resume_not_handled()
            else:
                reply = self._reply(moment)
                if isinstance(reply, WantedCall):  # a wait in which no branch goes on
                    running.rest()
                    self._wake((yield [reply])[reply.position])
                    running.work()
                    reply = {"return_value": None}
                moment = moment.resume(reply)
        value = _cut(moment.output) if isinstance(moment.output, str) else ""
        return self._finished(value)

    def _reply(self, moment: Any) -> Any:
        """Return what Monty goes on with after a call of a function of the host. Raises _Ended."""
        name, place = moment.function_name, self._translated.place_at(moment.position.start)
        if moment.position.filename == "<python-input-1>":  # the program, which is fed after the prelude
            self._line = self._translated.line_at(place)
        try:
            positional, keywords = moment.args, moment.kwargs
            if name in _OF_TIME:
                return self._of_time(name, positional)
            _weigh([positional, keywords], MOST_VALUES if name in host_functions() else MOST_WEIGHT)
            if name == "_host_sleep":
                pause, left, *number = positional
                asked = self._answers[number[0]][1].pause if number else self._asked
                self._waiting[moment.call_id] = self._sleep(min(asked if asked >= 1 else pause, left))
                return {"future": ...}
            if name == "_host_held":
                self._held[moment.call_id] = (str(positional[0])[len(HELD) :], self._line)
                return {"future": ...}
            function = self._functions.get(name)
            if function is None:
                value = self._outside[name](*positional, **keywords)
                if name in host_functions():
                    json.dumps(value, default=repr, ensure_ascii=False).encode()  # Monty has no halves of pairs
                return {"return_value": value}
            self._wait(moment.call_id, function, positional, keywords)
            self._unused[moment.call_id] = self._translated.unused.get(place)
            return {"future": ...}
        except Exception as error:  # whatever a program calls by whatever name, its host goes on
            if isinstance(error, _Ended):
                raise
            kind = next((kind for kind in _RAISED if isinstance(error, kind)), TypeError)
            return {"exc_type": kind.__name__, "message": str(error)[:MESSAGE]}

    def _of_time(self, name: str, given: Sequence[Any]) -> Any:
        """Return what a program that waits is told of the time, or its wait."""
        if name.endswith("sleep"):
            return self._sleep(max(given[0], self._asked)) if given[0] else {"return_value": None}
        now = datetime.fromtimestamp(self._clock, UTC)
        if name == "datetime.now":
            return {"return_value": now.astimezone(given[0]) if given and given[0] else now.replace(tzinfo=None)}
        return {"return_value": now.date() if name == "date.today" else self._clock}

    @property
    def _asked(self) -> float:
        """The seconds that the server of the last answer asks to wait."""
        return self._answers[-1][1].pause if self._answers else 0.0

    def _sleep(self, seconds: float) -> WantedCall:
        """Return a wait. Raises ValueError for one that is too long, and for one too many."""
        self._waits += 1
        if not 0 <= seconds <= MOST_WAIT or self._waits > MOST_WAITS:
            raise ValueError(f"a program waits at most {MOST_WAITS} times, and 0 to {MOST_WAIT} seconds each time")
        position, self._count = str(self._count), self._count + 1
        return WantedCall(position, self._line, self.source(self._line), WAIT, (), {}, WAIT_DIGEST, float(seconds))

    def _wake(self, entry: Entry) -> None:
        self._clock = max(self._clock, entry.clock)

    def _wait(self, number: int, function: str, positional: Sequence[Any], keywords: Mapping[str, Any]) -> None:
        """Note a call that waits. Raises TypeError for its arguments, and _Ended."""
        listed, named = plain_arguments(function, *self._halves.shown([list(positional), dict(keywords)]))
        text = plain_text(function, listed, named)
        self._weight += len(text)
        if self._weight > MOST_TOGETHER:
            raise _Ended(self._problem("large"))
        position, self._count = str(self._count), self._count + 1
        self._waiting[number] = WantedCall(
            position, self._line, self.source(self._line), function, tuple(listed), named, digest_of(text)
        )

    def _results(self, calls: Sequence[WantedCall], answers: Mapping[str, Entry]) -> dict[int, Any]:
        """Return what Monty goes on with; nothing if each branch that waits needs an answer that a dry run lacks."""
        found: dict[int, Any] = {}
        for number, call in [*self._waiting.items()]:
            if call not in calls or call.position not in answers:
                continue
            entry = answers[call.position]
            del self._waiting[number]
            if call.function == WAIT:
                self._wake(entry)
                found[number] = {"return_value": [-1, call.seconds, False]}
                continue
            named = self._unused.pop(number)
            self._received += len(entry.body)
            if self._received > self._limits.data:
                told = _PROBLEMS["answers"].format(size=self._received / 1e6, most=self._limits.data / 1e6)
                raise _Ended(ProgramRun("failed", self._result(Status.INPUT_TOO_LARGE), problem=told))
            if entry.given == "held" and named is None:
                self._held[number] = (call.function, call.line)
            elif entry.given == "held":
                found[number] = {"return_value": [-1, f"{HELD}{call.function}" if named else None, False]}
            else:
                found[number] = self._answer(call, entry)
        return found

    def _answer(self, call: WantedCall, entry: Entry) -> dict[str, Any]:
        """Return an answer, or an error, as Monty takes it."""
        if entry.given == "rejected":
            return {"exc_type": REJECTED, "message": _plain(f"{call.function} was not sent: {entry.note}")}
        self._status = entry.status
        self._answers.append((call.line, entry))
        if entry.given == "answer" and (text := self._halves.text(entry)) is not None:
            return {"return_value": [len(self._answers) - 1, text, True]}
        try:
            value = self._halves.parsed(entry)
        except ValueError as error:
            return self._api_error(call, f"{call.function}: {error}", entry.status, None)
        if entry.given == "error":
            told = f"{entry.note} {_told(value)}".strip()
            said = f"{call.function} answered {entry.status}" if entry.status else f"{call.function} got no response"
            return self._api_error(call, f"{said}: {told[:SOURCE]}" if told else said, entry.status, value)
        return {"return_value": [len(self._answers) - 1, value, False]}

    def _api_error(self, call: WantedCall, message: str, status: int, body: Any) -> dict[str, Any]:
        """Return an error, known by its message; where another one has this message, it says which call it is of."""
        message = _plain(message)
        if self._errors.get(message, (status, body)) != (status, body):
            message = f"{message} (call {int(call.position) + 1})"
        self._errors[message] = (status, body)
        return {"exc_type": API_ERROR, "message": message}

    def _headers_of(self, *numbers: int) -> dict[str, str]:
        """Return the headers of the answers with these numbers, which are one value; without a number the last ones."""
        if not numbers:
            return _bounded(self._answers[-1][1].headers) if self._answers else {}
        kept = [self._answers[number] for number in numbers if 0 <= number < len(self._answers)]
        found = [(line, _bounded(entry.headers)) for line, entry in kept]
        if not found:
            raise LookupError("no call gave this value: headers() takes the response to a call as it came")
        if any(headers != found[0][1] for _, headers in found):
            lines = ", ".join(str(line) for line, _ in found[:5])
            raise LookupError(f"the calls on lines {lines} gave one value: ask for headers() right after each of them")
        return dict(found[0][1])

    def _stop(self, text: object = "", value: object = None) -> None:
        shown, most = "" if value is None else repr(value), self._limits.shown
        shown = _cut(shown, most, self._stopped_with()) if len(shown) > most else shown
        raise _Ended(replace(self._ended("stopped"), text=printable(_cut(str(text))), value=printable(shown)))

    def _leave(self, text: object) -> None:
        if len(self._left) < MOST_LEFT:
            self._left.append(printable(_cut(str(text))))

    def _stopped_with(self) -> str:
        """Return the value that the call of `stop` on the current line shows, as it is written; empty without one."""
        calls = [node for node in ast.walk(syntax_tree(self._code)) if isinstance(node, ast.Call)]
        here = [node for node in calls if node.lineno <= self._line <= (node.end_lineno or 0) and node.args[1:]]
        found = [ast.unparse(node.args[1]) for node in here if name_of(node.func) == "stop"]
        return found[0][:100] if found else ""

    # How it ended

    def _ended(self, kind: Kind) -> ProgramRun:
        return ProgramRun(kind, self._result(Status.PAUSED), line=self._line, source=self.source(self._line))

    def _problem(self, name: str, **values: float) -> ProgramRun:
        run = self._ended("budget" if name == "budget" else "failed")
        place = f"Line {run.line}: {run.source}\n" if run.line else ""
        return replace(run, problem=f"{place}{_PROBLEMS[name].format(**values)}")

    def over_budget(self, asked: int, most: int) -> ProgramRun:
        """Return the end of a program that asks for more than `most` calls at once."""
        return self._problem("budget", asked=asked, most=most)

    def _unknown(self) -> ProgramRun:
        function, line = next(iter(self._held.values()), ("", self._line))
        return replace(self._ended("unknown"), function=function, line=line, source=self.source(line))

    def _finished(self, value: str) -> ProgramRun:
        result = self._result(Status.OK)
        if result.status is Status.NO_OUTPUT:
            kind: Kind = "finished" if value else "failed"
            problem = "" if value else result.feedback(of_program=True)
            return ProgramRun(kind, replace(result, output=printable(value)), problem=problem, left=tuple(self._left))
        return ProgramRun("finished", result, left=tuple(self._left))

    def _failed(self, status: Status, error: CodeError | None = None, about: str = "") -> ProgramRun:
        result = self._result(status, error, about)
        line = (error.line or 0) if error else 0
        return ProgramRun(
            "failed", result, problem=result.feedback(of_program=True), line=line, source=self.source(line)
        )

    def _unread(self, raised: Any) -> ProgramRun:
        """Return the end of code whose data is no JSON."""
        status, inner = self._process.status_of(raised), raised.exception()
        if status is Status.RUNTIME_ERROR:
            status = Status.INPUT_TOO_DEEP if "recursion limit" in str(inner) else Status.INPUT_INVALID
        return self._failed(status, self._error(type(inner).__name__, str(inner)))

    def _raised(self, raised: Any) -> ProgramRun:
        """Return the end of a program with an error of its own."""
        status, inner = self._process.status_of(raised), raised.exception()
        if self._process.ended or status is Status.TIMEOUT:
            return self._failed(status)
        if isinstance(inner, SystemExit) and not str(inner):
            return self._finished("")
        frames = [frame for frame in raised.traceback() if frame.filename == "<python-input-1>"]
        line = self._translated.line_at((frames[-1].line, frames[-1].column - 1)) if frames else 0
        kind, message = type(inner).__name__, str(inner)
        way = next((way for part, way in _WAYS.items() if part in message), "{0}")
        error = self._error(_NAMES.get(kind, kind), way.format(message) if way != "{0}" else message, line)
        is_about = kind in ("KeyError", "IndexError", "AttributeError", "TypeError") and frames
        about = self._subject(kind, frames[-1]) if is_about else ""
        if "data" in self._given.values:
            about = self._shape("data")
        return self._failed(status, error, about)

    def _subject(self, kind: str, frame: Any) -> str:
        """Return a description of the object of which the program read a field or an item that there is not.

        The expression of the object is evaluated again, so it is left out if it contains a call.
        """
        line = self._translated.code.split("\n")[frame.line - 1]
        text = line[frame.column - 1 : frame.end_column - 1] if frame.end_line == frame.line else ""
        base = text.rpartition("." if kind == "AttributeError" else "[")[0]
        shape = "" if not base or "(" in base else self._shape(base)
        return shape and f"`{base}` is {shape}"

    def _shape(self, name: str) -> str:
        """Return the description of a value of the program; empty if the program cannot give it any more."""
        try:
            return printable(self._process.session.feed_run(f"_host_shape({name})"))[:SHAPE]
        except (monty.MontyError, RuntimeError):
            return ""

    def _error(self, kind: str, message: str, line: int = 0) -> CodeError:
        return CodeError(kind, printable(message)[:MESSAGE], line or None, self.source(line))

    def _result(self, status: Status, error: CodeError | None = None, about: str = "") -> SandboxResult:
        printed = self._halves.shown_text(bytes(self._process.printed))
        return result_of(status, printed, self._limits, error=error, shape=about, seconds=self._process.seconds)

    def source(self, line: int) -> str:
        """Return a line of the code for people: without characters that are invisible or change the order of others."""
        text = self._lines[line - 1].strip()[:SOURCE] if 0 < line <= len(self._lines) else ""
        return "".join(ascii(mark)[1:-1] if unicodedata.category(mark) in _HIDDEN else mark for mark in text)


_OF_TIME = frozenset({"time.sleep", "asyncio.sleep", "datetime.now", "date.today", "time.time"})
"""The functions of the system that a program which waits asks the host for."""


def _nothing(*given: Any, **named: Any) -> None:
    """Stand for a function whose calls wait."""


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _short(text: object) -> str:
    return str(text)[: library.MOST_TEXT]


def _cut(text: str, most: int = SHOWN, expression: str = "") -> str:
    """Return the beginning of a text that a model reads, with what is missing and how to see it."""
    if len(text) <= most:
        return text
    kept = text[: most - 400]
    rest = f"`repr({expression})[{len(kept)}:]` is the rest" if expression else "show a part of it"
    return f"{kept}… ({len(text) - len(kept)} characters more: {rest})"


def _told(value: Any) -> str:
    """Return the body of an error as text; a body of bytes and an empty one tell nothing."""
    if value is None or isinstance(value, bytes):
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _bounded(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of an answer as far as they fit into `MOST_HEADERS`."""
    found: dict[str, str] = {}
    left = MOST_HEADERS
    for name, value in headers.items():
        left -= len(name) + len(value)
        if left < 0:
            break
        found[name] = value
    return found


def _size(value: Any) -> int:
    """Return the characters of a text, or the digits of a number that has many."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, Decimal):  # another number of its size has as many digits as its exponent says
        return abs(value.adjusted()) + len(value.as_tuple().digits)
    return value.bit_length() if isinstance(value, int) and value.bit_length() > 64 else 0


def _weigh(value: Any, left: int) -> None:
    """Raise TypeError for a value that is too large: one that contains another many times is small in Monty only."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        left -= 1 + _size(item)
        if left < 0:
            raise TypeError("the arguments are too large together")
        if isinstance(item, dict):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple | set | frozenset):
            waiting += item
