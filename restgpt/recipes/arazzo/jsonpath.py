"""JSONPath expressions (RFC 9535) as Python code over the functions of `flow.py`; `python-jsonpath` parses them."""

import re
from typing import Any

from jsonpath import JSONPathEnvironment, JSONPathError
from jsonpath.filter import (
    FilterExpressionLiteral,
    FilterQuery,
    FunctionExtension,
    InfixExpression,
    Nil,
    PrefixExpression,
    RelativeFilterQuery,
)
from jsonpath.path import JSONPath
from jsonpath.segments import JSONPathRecursiveDescentSegment
from jsonpath.selectors import Filter, IndexSelector, NameSelector, SliceSelector, WildcardSelector

MOST_TEXT, MOST_DEPTH = 4000, 20
"""The maximum number of characters of an expression, and of its parts inside one another."""

_QUOTE = re.compile(r"\\.|['\"]", re.DOTALL)
_NAMED = re.compile(r"[\w.\u0080-\U0010ffff]$")
_COMPARED = ("==", "!=", "<", "<=", ">", ">=")


class PathError(ValueError):
    """A JSONPath expression has a fault; the message names it."""


class Path:
    """A JSONPath expression: `code` is a function that finds its nodes; with `is_singular`, one at most.

    `parts` are the texts and, at each second place, the codes of values that stand inside of them. A value is one
    name, one text or one number of the expression, or a part of a text. Raises PathError.
    """

    def __init__(self, parts: list[str]) -> None:
        self._text = "".join(parts)[:80]
        self._values: dict[str, str] = {}
        marks = (mark for number in range(0xE000, 0xF8FF) if (mark := chr(number)) not in "".join(parts))
        written = ""
        for number, part in enumerate(parts):
            if number % 2 == 0:
                written += part
                continue
            mark = next(marks)
            is_quoted = _is_quoted(written)
            self._values[mark] = part if is_quoted else f"bare({part})"
            written += mark if is_quoted or _NAMED.search(written) else f"'{mark}'"
        if len(written) > MOST_TEXT:
            raise PathError(f"the JSONPath expression is longer than {MOST_TEXT} characters")
        try:
            found = JSONPathEnvironment(strict=True).compile(written)
        except JSONPathError as error:
            raise self._fault(f"is not understood: {error.message}") from None
        except (ValueError, OverflowError):
            # The library reads some malformed numbers, and too large ones, as numbers of Python.
            raise self._fault("has a number that is not understood") from None
        assert isinstance(found, JSONPath)
        self.is_singular = found.singular_query()
        self.code = f"lambda root: {self._query(found, 'root', 0)}"

    def _fault(self, what: str) -> PathError:
        return PathError(f"the JSONPath expression {self._text!r} {what}")

    def _query(self, query: JSONPath, start: str, depth: int) -> str:
        if depth > MOST_DEPTH:
            raise self._fault("is nested too deeply")
        parts = [start]
        for segment in query.segments:
            if isinstance(segment, JSONPathRecursiveDescentSegment):
                parts.append("...")
            selectors = [self._selector(item, depth) for item in segment.selectors]
            parts.append(selectors[0] if len(selectors) == 1 else f"({', '.join(selectors)})")
        return f"nodes({', '.join(parts)})"

    def _selector(self, selector: Any, depth: int) -> str:
        match selector:
            case NameSelector(name=name):
                return self._string(name)
            case IndexSelector(index=index):
                return repr(index)
            case SliceSelector(slice=part):
                return "()" if part.step == 0 else repr(part)
            case WildcardSelector():
                return "every"
            case Filter(expression=test):
                return f"lambda here: {self._truth(test.expression, depth + 1)}"
        raise self._fault(f"has the part {selector}, which RFC 9535 does not have")

    def _string(self, value: str) -> str:
        """Return a text or a name, with the values that stand in it."""
        if value in self._values and self._values[value].startswith("bare("):
            return self._values[value]
        marks = "".join(self._values)
        parts = [part for part in re.split(f"([{marks}])", value) if part] if marks else []
        if any(part in self._values for part in parts):
            return f"text({', '.join(self._values.get(part) or repr(part) for part in parts)})"
        return repr(value)

    def _truth(self, test: Any, depth: int) -> str:
        if depth > MOST_DEPTH:
            raise self._fault("is nested too deeply")
        match test:
            case InfixExpression(operator="&&" | "||" as operator, left=left, right=right):
                sign = "and" if operator == "&&" else "or"
                return f"({self._truth(left, depth + 1)} {sign} {self._truth(right, depth + 1)})"
            case InfixExpression(operator=operator, left=left, right=right) if operator in _COMPARED:
                return f"compared({self._value(left, depth)}, {operator!r}, {self._value(right, depth)})"
            case PrefixExpression(right=right):
                return f"(not {self._truth(right, depth + 1)})"
            case FilterQuery():
                return f"bool({self._nodes(test, depth)})"
        return self._value(test, depth)

    def _nodes(self, query: FilterQuery, depth: int) -> str:
        return self._query(query.path, "here" if isinstance(query, RelativeFilterQuery) else "root", depth + 1)

    def _value(self, operand: Any, depth: int) -> str:
        match operand:
            case Nil():
                return "None"
            case FilterExpressionLiteral(value=str(value)):
                return self._string(value)
            case FilterExpressionLiteral(value=bool() | int() | float() as value):
                return repr(value).replace("inf", "1e999")
            case FilterQuery():
                return f"only({self._nodes(operand, depth)})"
            case FunctionExtension(name="count" | "value" as name, args=[FilterQuery() as query]):
                return f"{'len' if name == 'count' else 'only'}({self._nodes(query, depth)})"
            case FunctionExtension(name="length", args=[argument]):
                return f"length({self._value(argument, depth + 1)})"
            case FunctionExtension(name="match" | "search" as name, args=[_, pattern]):
                if r"\p" in str(getattr(pattern, "value", "")).lower():
                    raise self._fault(f"has {name}() with classes such as \\p{{Lu}}: not supported")
                parts = [self._value(item, depth + 1) for item in operand.args]
                return f"matched({'fullmatch' if name == 'match' else 'search'!r}, {', '.join(parts)})"
        raise self._fault(f"has {operand}, which RFC 9535 does not have")


def _is_quoted(before: str) -> bool:
    """Return whether the place behind a text is inside of quotes."""
    quote = ""
    for found in _QUOTE.finditer(before):
        quote = found[0] if not quote and len(found[0]) == 1 else "" if found[0] == quote else quote
    return bool(quote)
