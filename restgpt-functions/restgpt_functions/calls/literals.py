"""Literals of Python-like call text, read from the syntax tree; nothing is ever evaluated."""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from restgpt_functions.calls.call import CallSyntaxError, Variable

WORDS = {"true": True, "false": False, "null": None}
"""The literals of JSON and JavaScript that models write in place of Python's."""

SIGNS: dict[type, Callable[..., int | float]] = {
    **{ast.USub: operator.neg, ast.UAdd: operator.pos},
    **{ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv},
}
"""The arithmetic that is read as a number."""

INTEGER_BITS = 4096
"""Longer integers are kept as text."""


def read_literal(text: str, *, words: Mapping[str, Any] = WORDS) -> Any:
    """The value of a literal; anything else (a name, an expression, a call) becomes a `Variable` with its text.

    `words` are the bare words that count as literals. Raises `CallSyntaxError` when the text is no expression at all.
    """
    try:
        # The brackets let a value span lines, as it may inside a call.
        tree = ast.parse(f"({text}\n)", mode="eval")
        return read_node(tree.body, words)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else type(error).__name__
        raise CallSyntaxError(f"the value {text.strip()[:60]!r} cannot be read: {reason}") from None


def read_node(node: ast.expr, words: Mapping[str, Any] = WORDS) -> Any:
    """One node; a container with an unreadable part keeps that part as a `Variable`."""
    match node:
        case ast.Constant(value=bool() | str() | None as value):
            return value
        case ast.List(elts=parts) if not _has_star(parts):
            return [read_node(part, words) for part in parts]
        case ast.Tuple(elts=parts) if not _has_star(parts):
            return tuple(read_node(part, words) for part in parts)
        case ast.Dict(keys=keys, values=values) if all(map(_is_key, keys)):
            names = [read_node(key, words) for key in keys if key is not None]
            return dict(zip(names, (read_node(value, words) for value in values), strict=True))
        case ast.Name(id=name) if name in words:
            return words[name]
    number = _number(node)
    return Variable(ast.unparse(node)) if number is None else number


def _has_star(parts: list[ast.expr]) -> bool:
    return any(isinstance(part, ast.Starred) for part in parts)


def _is_key(key: ast.expr | None) -> bool:
    """Whether a key of a dict is a literal; `**other` has none."""
    if not isinstance(key, ast.Constant):
        return False
    return key.value is None or isinstance(key.value, str | bool) or _number(key) is not None


def _number(node: ast.expr) -> int | float | None:
    """The number that a sign or plain arithmetic on number literals denotes (`-5`, `3 * 1024`), within bounds."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            number: int | float = value
        case ast.UnaryOp(op=sign, operand=part) if type(sign) in SIGNS and (only := _number(part)) is not None:
            number = SIGNS[type(sign)](only)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in SIGNS:
            first, second = _number(left), _number(right)
            if first is None or second is None:
                return None
            try:
                number = SIGNS[type(sign)](first, second)
            except (OverflowError, ZeroDivisionError):
                return None
        case _:
            return None
    is_bounded = math.isfinite(number) if isinstance(number, float) else number.bit_length() <= INTEGER_BITS
    return number if is_bounded else None
