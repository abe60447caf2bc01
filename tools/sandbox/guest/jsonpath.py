"""JSONPath (RFC 9535): parsed into tuples, and applied to JSON values.

Standard library only: the host sends this module to the worker, and checks the expressions of documents with it.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False  # a name for type checkers; the import of `typing` would cost every worker milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Node = tuple[tuple[Any, ...], Any]

MOST_TEXT, MOST_DEPTH = 4000, 40  # the most characters of an expression, the most brackets inside one another
NOTHING = object()  # the value of a query that finds no node

_NAME = re.compile(r"[A-Za-z_\u0080-\U0010ffff][\w\u0080-\U0010ffff]*")
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_FUNCTION = re.compile(r"[a-z][a-z_0-9]*(?=\()")
_OPERATOR = re.compile(r"==|!=|<=|>=|<|>")
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "/": "/", "\\": "\\"}
_DOT = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\.", re.DOTALL)
_LARGEST = 2**53 - 1  # of an index, by the standard
# The arguments of each function: N for nodes, V for one value; and whether it gives a value or a truth.
_FUNCTIONS = {
    "length": ("V", "V"),
    "count": ("N", "V"),
    "value": ("N", "V"),
    "match": ("VV", "L"),
    "search": ("VV", "L"),
}


class PathError(ValueError):
    """A JSONPath expression has a fault; the message names the place."""


def parse(text: str) -> tuple[Any, ...]:
    """Return the parsed form of an expression. Raises PathError."""
    if len(text) > MOST_TEXT:
        raise PathError(f"the JSONPath expression is longer than {MOST_TEXT} characters")
    parser = _Parser(text)
    query = parser.query("$")
    if parser.at < len(text):
        raise parser.fault("nothing more")
    return query


def is_singular(query: tuple[Any, ...]) -> bool:
    """Return whether a query finds one node at most, by its form."""
    return all(
        kind == "child" and len(selectors) == 1 and selectors[0][0] in ("name", "index") for kind, selectors in query[2]
    )


def find(query: tuple[Any, ...], value: Any, root: Any = NOTHING) -> list[Node]:
    """Return the nodes that a query finds: the keys and indexes that lead to each, and its value."""
    top = value if root is NOTHING else root
    nodes: list[Node] = [((), top if query[1] == "$" else value)]
    for kind, selectors in query[2]:
        if kind == "descendant":
            nodes = [inner for node in nodes for inner in _below(node)]
        nodes = [inner for node in nodes for selector in selectors for inner in _selected(selector, node, top)]
    return nodes


class _Parser:
    def __init__(self, text: str) -> None:
        self.text, self.at, self._depth = text, 0, 0

    def fault(self, wanted: str) -> PathError:
        found = repr(self.text[self.at]) if self.at < len(self.text) else "the end"
        return PathError(
            f"the JSONPath expression {self.text[:80]!r} needs {wanted} at character {self.at + 1}, not {found}"
        )

    def _peek(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def _take(self, text: str) -> bool:
        if self._peek(text):
            self.at += len(text)
            return True
        return False

    def _need(self, text: str) -> None:
        if not self._take(text):
            raise self.fault(repr(text))

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        return found[0]

    def _blank(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in " \t\r\n":
            self.at += 1

    def query(self, start: str) -> tuple[Any, ...]:
        self._need(start)
        segments: list[tuple[str, list[tuple[Any, ...]]]] = []
        while True:
            before = self.at
            self._blank()
            if self._take(".."):
                segments.append(("descendant", self._bracket() if self._peek("[") else [self._shorthand()]))
            elif self._take("."):
                segments.append(("child", [self._shorthand()]))
            elif self._peek("["):
                segments.append(("child", self._bracket()))
            else:
                self.at = before
                return ("query", start, segments)

    def _shorthand(self) -> tuple[Any, ...]:
        if self._take("*"):
            return ("wildcard",)
        name = self._match(_NAME)
        if not name:
            raise self.fault("a name or *")
        return ("name", name)

    def _bracket(self) -> list[tuple[Any, ...]]:
        self._need("[")
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise PathError("the JSONPath expression is nested too deeply")
        selectors = []
        while True:
            self._blank()
            selectors.append(self._selector())
            self._blank()
            if not self._take(","):
                break
        self._need("]")
        self._depth -= 1
        return selectors

    def _selector(self) -> tuple[Any, ...]:
        if self._take("*"):
            return ("wildcard",)
        if self._take("?"):
            return ("filter", self._or())
        if self._peek("'") or self._peek('"'):
            return ("name", self._string())
        first = self._match(_INTEGER)
        self._blank()
        if not self._peek(":"):
            if not first:
                raise self.fault("a name in quotes, an index, a slice, * or ?")
            return ("index", self._index(first))
        parts = [self._index(first) if first else None]
        while self._take(":"):
            self._blank()
            part = self._match(_INTEGER)
            parts.append(self._index(part) if part else None)
            self._blank()
        if len(parts) > 3:
            raise self.fault("at most two colons")
        return ("slice", *parts, *[None] * (3 - len(parts)))

    def _index(self, digits: str) -> int:
        if len(digits) > 17 or abs(int(digits)) > _LARGEST:
            raise PathError(f"the index {digits[:20]} in a JSONPath expression is too large")
        return int(digits)

    def _string(self) -> str:
        quote = self.text[self.at]
        self.at += 1
        parts = []
        while not self._take(quote):
            if self.at >= len(self.text):
                raise self.fault(f"the closing {quote}")
            mark = self.text[self.at]
            self.at += 1
            if mark < " ":
                raise PathError("a JSONPath expression has a control character: write it as \\u and four digits")
            if mark == "\\":
                mark = self._escape(quote)
            parts.append(mark)
        return "".join(parts)

    def _escape(self, quote: str) -> str:
        mark = self.text[self.at : self.at + 1]
        if mark != "u":
            if not mark or (mark != quote and mark not in _ESCAPES):
                raise self.fault("an escape that JSONPath has")
            self.at += 1
            return _ESCAPES.get(mark, mark)
        self.at += 1
        digits = self._match(re.compile(r"[0-9a-fA-F]{4}"))
        if not digits:
            raise self.fault("four hexadecimal digits")
        code = int(digits, 16)
        if 0xDC00 <= code < 0xE000:
            raise self.fault("the first half of a surrogate pair before it")
        if 0xD800 <= code < 0xDC00:
            self._need("\\u")
            low = self._match(re.compile(r"[dD][c-fC-F][0-9a-fA-F]{2}"))
            if not low:
                raise self.fault("the second half of a surrogate pair")
            code = 0x10000 + ((code - 0xD800) << 10) + int(low, 16) - 0xDC00
        return chr(code)

    def _or(self) -> tuple[Any, ...]:
        return self._joined("||", "or", lambda: self._joined("&&", "and", self._basic))

    def _joined(self, sign: str, kind: str, part: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        parts = [part()]
        self._blank()
        while self._take(sign):
            parts.append(part())
            self._blank()
        return parts[0] if len(parts) == 1 else (kind, parts)

    def _basic(self) -> tuple[Any, ...]:
        self._blank()
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise PathError("the JSONPath expression is nested too deeply")
        found = self._unary()
        self._depth -= 1
        return found

    def _unary(self) -> tuple[Any, ...]:
        if self._peek("!") and not self._peek("!="):
            self.at += 1
            return ("not", self._basic())
        if self._take("("):
            inner = self._or()
            self._blank()
            self._need(")")
            return inner
        left = self._operand()
        self._blank()
        operator = self._match(_OPERATOR)
        if operator:
            self._blank()
            return ("compare", operator, self._value(left), self._value(self._operand()))
        if left[0] == "literal" or (left[0] == "call" and _FUNCTIONS[left[1]][1] == "V"):
            raise self.fault("a comparison")
        return left

    def _operand(self) -> tuple[Any, ...]:
        if self._peek("@") or self._peek("$"):
            return self.query(self.text[self.at])
        if self._peek("'") or self._peek('"'):
            return ("literal", self._string())
        name = self._match(_FUNCTION)
        if name:
            return self._call(name)
        for word, value in (("true", True), ("false", False), ("null", None)):
            if self._take(word):
                return ("literal", value)
        number = self._match(_NUMBER)
        if not number:
            raise self.fault("a value, @, $ or a function")
        return ("literal", float(number) if set(number) & set(".eE") else int(number[:300]))

    def _value(self, operand: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return an operand that is one value; a comparison of several nodes has no meaning."""
        if operand[0] == "query" and not is_singular(operand):
            raise PathError(f"the JSONPath expression {self.text[:80]!r} compares a query that may find several values")
        if operand[0] == "call" and _FUNCTIONS[operand[1]][1] == "L":
            raise PathError(f"the JSONPath expression {self.text[:80]!r} compares the result of {operand[1]}()")
        return operand

    def _call(self, name: str) -> tuple[Any, ...]:
        if name not in _FUNCTIONS:
            raise PathError(f"JSONPath has no function {name}(); it has {', '.join(_FUNCTIONS)}")
        self._need("(")
        wanted = _FUNCTIONS[name][0]
        given = []
        for number, kind in enumerate(wanted):
            self._blank()
            if number:
                self._need(",")
                self._blank()
            argument = self._operand()
            if kind == "N" and argument[0] != "query":
                raise PathError(f"{name}() of JSONPath takes a query")
            given.append(argument if kind == "N" else self._value(argument))
            if (
                name in ("match", "search")
                and number
                and argument[0] == "literal"
                and r"\p" in str(argument[1]).lower()
            ):
                raise PathError(f"{name}() with classes such as \\p{{Lu}} is not supported")
            self._blank()
        self._need(")")
        return ("call", name, given)


def _below(node: Node) -> Iterator[Node]:
    """Yield a node and all below it, parents before children."""
    waiting = [node]
    while waiting:
        place, value = waiting.pop()
        yield place, value
        waiting.extend(reversed([((*place, key), part) for key, part in _children(value)]))


def _children(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def _selected(selector: tuple[Any, ...], node: Node, root: Any) -> Iterator[Node]:
    place, value = node
    kind = selector[0]
    if kind == "name":
        if isinstance(value, dict) and selector[1] in value:
            yield (*place, selector[1]), value[selector[1]]
    elif kind == "index":
        index = selector[1]
        if isinstance(value, list) and -len(value) <= index < len(value):
            yield (*place, index % len(value)), value[index]
    elif kind == "slice":
        if isinstance(value, list) and selector[3] != 0:
            for index in range(len(value))[slice(*selector[1:])]:
                yield (*place, index), value[index]
    else:
        for key, part in _children(value):
            if kind == "wildcard" or _holds(selector[1], part, root):
                yield (*place, key), part


def _holds(test: tuple[Any, ...], here: Any, root: Any) -> bool:
    kind = test[0]
    if kind == "or":
        return any(_holds(part, here, root) for part in test[1])
    if kind == "and":
        return all(_holds(part, here, root) for part in test[1])
    if kind == "not":
        return not _holds(test[1], here, root)
    if kind == "query":
        return bool(find(test, here, root))
    if kind == "call":
        return bool(_called(test, here, root))
    return compared(test[1], _valued(test[2], here, root), _valued(test[3], here, root))


def _valued(operand: tuple[Any, ...], here: Any, root: Any) -> Any:
    if operand[0] == "literal":
        return operand[1]
    if operand[0] == "call":
        return _called(operand, here, root)
    nodes = find(operand, here, root)
    return nodes[0][1] if nodes else NOTHING


def _called(call: tuple[Any, ...], here: Any, root: Any) -> Any:
    name, given = call[1], call[2]
    if name in ("count", "value"):
        nodes = find(given[0], here, root)
        return len(nodes) if name == "count" else (nodes[0][1] if len(nodes) == 1 else NOTHING)
    values = [_valued(item, here, root) for item in given]
    if name == "length":
        return len(values[0]) if isinstance(values[0], str | list | dict) else NOTHING
    if not (isinstance(values[0], str) and isinstance(values[1], str)):
        return False
    try:
        pattern = re.compile(_dotted(values[1]))
    except (re.error, RecursionError, OverflowError):
        return False
    return (pattern.fullmatch if name == "match" else pattern.search)(values[0]) is not None


def _dotted(pattern: str) -> str:
    """Return a pattern of JSONPath for Python: outside of brackets, a dot there is no line break of either kind."""
    return _DOT.sub(lambda found: "[^\\n\\r]" if found[0] == "." else found[0], pattern)


def compared(operator: str, left: Any, right: Any) -> bool:
    """Return the result of a comparison of JSONPath."""
    if operator in ("==", "!="):
        return same(left, right) == (operator == "==")
    if operator in ("<=", ">=") and same(left, right):
        return True
    if operator[0] == ">":
        left, right = right, left
    is_ordered = (isinstance(left, str) and isinstance(right, str)) or (_is_number(left) and _is_number(right))
    return is_ordered and left < right


def same(left: Any, right: Any) -> bool:
    """Return whether two JSON values are equal; true is not 1."""
    if left is NOTHING or right is NOTHING:
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
