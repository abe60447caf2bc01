"""Filters that published APIs take as a text: the `where` of Xero, and the search queries and `fields` of Google."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from lab.readers.world import Record, Refusal

Test = Callable[[Record], bool]
Value = Callable[[Record], Any]
Fields = Mapping[str, Callable[[Record], Any]]
"""The searchable fields of a query in lower case, each with what reads its value or values."""

_TOKEN = re.compile(r"\s*(\"[^\"]*\"|'[^']*'|-?\d+(?:\.\d+)?|[A-Za-z_][\w.]*|==|!=|>=|<=|&&|\|\||[=<>(),!.])")
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda one, other: bool(one == other),
    "=": lambda one, other: bool(one == other),
    "!=": lambda one, other: bool(one != other),
    ">": lambda one, other: bool(one > other),
    "<": lambda one, other: bool(one < other),
    ">=": lambda one, other: bool(one >= other),
    "<=": lambda one, other: bool(one <= other),
}
_METHODS: dict[str, Callable[[str, str], Any]] = {
    "contains": lambda text, part: part in text,
    "startswith": lambda text, part: text.startswith(part),
    "endswith": lambda text, part: text.endswith(part),
    "tolower": lambda text, part: text,
    "toupper": lambda text, part: text,
    "tostring": lambda text, part: text,
    "trim": lambda text, part: text.strip(),
}


class _Where:
    """Reads a condition such as `Type=="ACCREC" AND (AmountDue>0 OR Contact.Name.Contains("Ltd"))`."""

    def __init__(self, text: str) -> None:
        self.left: list[str] = []
        at = 0
        while text[at:].strip():
            found = _TOKEN.match(text, at)
            if found is None:
                raise Refusal(400, f"Invalid query string in where: {text}")
            self.left.append(found[1])
            at = found.end()
        self.text = text

    def read(self) -> Test:
        found = self._either()
        if self.left:
            raise self._fault()
        return found

    def _fault(self) -> Refusal:
        return Refusal(400, f"Invalid query string in where: {self.text}")

    def _take(self, *wanted: str) -> str:
        if self.left and (not wanted or self.left[0].casefold() in wanted):
            return self.left.pop(0)
        return ""

    def _need(self, wanted: str = "") -> str:
        found = self._take(wanted) if wanted else self._take()
        if not found:
            raise self._fault()
        return found

    def _either(self) -> Test:
        tests = [self._both()]
        while self._take("or", "||"):
            tests.append(self._both())
        return lambda record: any(test(record) for test in tests)

    def _both(self) -> Test:
        tests = [self._one()]
        while self._take("and", "&&"):
            tests.append(self._one())
        return lambda record: all(test(record) for test in tests)

    def _one(self) -> Test:
        if self._take("!", "not"):
            negated = self._one()
            return lambda record: not negated(record)
        if self._take("("):
            inner = self._either()
            self._need(")")
            return inner
        value, sign = self._value(), self._take(*_COMPARED)
        if not sign:
            return lambda record: bool(value(record))
        other = self._value()
        return lambda record: _compare(sign, value(record), other(record))

    def _value(self) -> Value:
        token = self._need()
        if token[0] in "\"'":
            return _constant(token[1:-1].casefold())
        if token[0].isdigit() or token[0] == "-":
            return _constant(float(token))
        word = token.casefold()
        if word in ("true", "false", "null"):
            return _constant({"true": True, "false": False, "null": None}[word])
        if word == "new":
            return self._value()
        if word in ("guid", "guid.parse", "datetime", "datetime.parse"):
            given = self._arguments()
            return _constant(given[0] if word.startswith("guid") else _moment(given))
        return self._path(token)

    def _path(self, token: str) -> Value:
        names, calls = token.split("."), []
        while self.left[:1] == ["("]:
            method = names.pop().casefold()
            if method not in _METHODS:
                raise self._fault()
            given = self._arguments()
            calls.append((_METHODS[method], str(given[0]) if given else ""))
            if self._take("."):
                names.append(self._need())

        def value(record: Record) -> Any:
            found: Any = record
            for name in names:
                found = found.get(name) if isinstance(found, dict) else None
            found = _plain(found)
            for call, part in calls:
                found = call(found or "", part)
            return found

        return value

    def _arguments(self) -> list[Any]:
        self._need("(")
        given: list[Any] = []
        while not self._take(")"):
            given.append(self._value()({}))
            self._take(",")
        return given


def _constant(value: Any) -> Value:
    return lambda record: value


def _moment(given: list[Any]) -> datetime:
    """Read the arguments of `DateTime(2026, 3, 2)` or `DateTime.Parse("2026-03-02")`."""
    try:
        if isinstance(given[0], str):
            return datetime.fromisoformat(given[0].upper()).replace(tzinfo=UTC)
        year, month, day = map(int, given[:3])
        return datetime(year, month, day, tzinfo=UTC)
    except (ValueError, TypeError, IndexError) as error:
        raise Refusal(400, f"Invalid date in where: {given}") from error


def _plain(value: Any) -> Any:
    """Read a date that is written as `/Date(1772409600000+0000)/`, and a text in any case of letters."""
    if not isinstance(value, str):
        return value
    found = re.fullmatch(r"/Date\((-?\d+)(?:[+-]\d+)?\)/", value)
    return datetime.fromtimestamp(int(found[1]) / 1000, UTC) if found else value.casefold()


def _compare(sign: str, one: Any, other: Any) -> bool:
    if sign in ("==", "=", "!="):
        return _COMPARED[sign](one, other)
    try:
        return one is not None and other is not None and _COMPARED[sign](one, other)
    except TypeError as error:
        raise Refusal(400, "Operator and operands of where do not fit") from error


def where(text: str) -> Test:
    """Read a condition of Xero; raises `Refusal` for one that is not understood."""
    return _Where(text).read() if text.strip() else lambda record: True


_CLAUSE = re.compile(
    r"\s*(?:AND\s+)?(NOT\s+|-(?=\w))?(?:([A-Za-z][\w.]*)\s*(:|!=|>=|<=|=|>|<)\s*)?('[^']*'|\"[^\"]*\"|\S+)",
    re.IGNORECASE,
)


def search(text: str, fields: Fields, free: tuple[str, ...]) -> Test:
    """Read a query of Google, such as `orgUnitPath='/Sales' givenName:Jo*`; words without a field seek in `free`.

    Raises `Refusal` for a field that is not searchable.
    """
    tests: list[Test] = []
    at = 0
    while text[at:].strip():
        found = _CLAUSE.match(text, at)
        if found is None:
            raise Refusal(400, "Invalid Input: query", "query")
        name, sign, value = found[2], found[3] or ":", found[4].strip("'\"").casefold()
        names = (name.casefold(),) if name else free
        if any(one not in fields for one in names):
            raise Refusal(400, "Invalid Input: query", "query")
        tests.append(_clause([fields[one] for one in names], sign, value, negated=bool(found[1])))
        at = found.end()
    return lambda record: all(test(record) for test in tests)


def _clause(readers: list[Callable[[Record], Any]], sign: str, value: str, *, negated: bool) -> Test:
    def test(record: Record) -> bool:
        values: list[Any] = []
        for reader in readers:
            found = reader(record)
            values += found if isinstance(found, list) else [found]
        hits = [_hit(sign, one, value) for one in values]
        return (all(hits) if sign == "!=" else any(hits)) != negated

    return test


def _hit(sign: str, one: Any, value: str) -> bool:
    text = str(one).casefold()
    if sign in (">", "<", ">=", "<="):
        number = re.fullmatch(r"-?\d+(\.\d+)?", value) and re.fullmatch(r"-?\d+(\.\d+)?", text)
        return _COMPARED[sign](float(text), float(value)) if number else _COMPARED[sign](text, value)
    if sign in ("=", "!="):
        return (text == value) == (sign == "=")
    low, dots, high = value.partition("..")
    if dots:
        return low <= text and (not high or text[: len(high)] <= high)
    end = "" if value.endswith("*") else r"(?!\w)"
    return re.search(rf"(?<!\w){re.escape(value.rstrip('*'))}{end}", text) is not None


def pick(body: Any, fields: str) -> Any:
    """Keep the named fields of an answer, as in `users(id,name/fullName),nextPageToken`; raises `Refusal`."""
    if not fields or not isinstance(body, dict):
        return body
    wanted: dict[str, list[str]] = {}
    for part in _parts(fields):
        name, inner = _split(part)
        wanted.setdefault(name, []).append(inner)
    if "*" in wanted:
        return body
    # A field that is named without a part of it is kept as a whole.
    return {
        name: body[name] if "" in parts else _inner(body[name], ",".join(parts))
        for name, parts in wanted.items()
        if name in body
    }


def _inner(value: Any, fields: str) -> Any:
    return [pick(one, fields) for one in value] if isinstance(value, list) else pick(value, fields)


def _split(part: str) -> tuple[str, str]:
    found = re.fullmatch(r"([\w*]+)(?:/(.+)|\((.+)\))?", part, re.DOTALL)
    if found is None:
        raise Refusal(400, f"Invalid field selection {part}", "fields")
    return found[1], found[2] or found[3] or ""


def _parts(fields: str) -> list[str]:
    found, depth = [""], 0
    for sign in re.sub(r"\s", "", fields):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "," and not depth:
            found.append("")
        else:
            found[-1] += sign
    return found
