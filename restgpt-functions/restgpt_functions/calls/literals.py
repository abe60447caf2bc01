"""Literals of Python-like call text, read from the syntax tree; nothing is ever evaluated."""

import ast
import math
from collections.abc import Mapping
from typing import Any

from restgpt_functions.calls.call import CallSyntaxError, Variable

WORDS = {"true": True, "false": False, "null": None}
"""The literals of JSON and JavaScript that models write in place of Python's."""

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
        raise CallSyntaxError(f"the value {_short(text)} cannot be read: {reason}") from None


def _short(text: str) -> str:
    stripped = text.strip()
    return repr(stripped if len(stripped) <= 60 else f"{stripped[:57]}...")


def read_node(node: ast.expr, words: Mapping[str, Any] = WORDS) -> Any:
    """One node; a container with an unreadable part keeps that part as a `Variable`."""
    match node:
        case ast.Constant(value=bool() | str() | None as value):
            return value
        case ast.Constant(value=int() as value) if value.bit_length() <= INTEGER_BITS:
            return value
        case ast.Constant(value=float() as value) if math.isfinite(value):
            return value
        case ast.List(elts=parts) if not _has_star(parts):
            return [read_node(part, words) for part in parts]
        case ast.Tuple(elts=parts) if not _has_star(parts):
            return tuple(read_node(part, words) for part in parts)
        case ast.Dict(keys=keys, values=values) if _are_plain(keys):
            names = [read_node(key, words) for key in keys if key is not None]
            return dict(zip(names, (read_node(value, words) for value in values), strict=True))
        case ast.Name(id=name) if name in words:
            return words[name]
        case ast.UnaryOp() | ast.BinOp():
            number = _number(node)
            return Variable(ast.unparse(node)) if number is None else number
        case _:
            return Variable(ast.unparse(node))


def _has_star(parts: list[ast.expr]) -> bool:
    return any(isinstance(part, ast.Starred) for part in parts)


def _are_plain(keys: list[ast.expr | None]) -> bool:
    """Whether all keys of a dict are literals that can be keys; `**other` has none."""
    return all(
        isinstance(key, ast.Constant)
        and (key.value is None or isinstance(key.value, str | int | float | bool))
        and not (isinstance(key.value, float) and not math.isfinite(key.value))
        and not (isinstance(key.value, int) and key.value.bit_length() > INTEGER_BITS)
        for key in keys
    )


def _number(node: ast.expr) -> int | float | None:
    """The number that a sign or plain arithmetic on number literals denotes (`-5`, `3 * 1024`), within bounds."""
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
            number = _number(operand)
            return _bounded(None if number is None else -number if isinstance(sign, ast.USub) else number)
        case ast.BinOp(left=left, op=operator, right=right):
            first, second = _number(left), _number(right)
            return None if first is None or second is None else _bounded(_combined(operator, first, second))
    return None


def _combined(operator: ast.operator, first: int | float, second: int | float) -> int | float | None:
    try:
        match operator:
            case ast.Add():
                return first + second
            case ast.Sub():
                return first - second
            case ast.Mult():
                return first * second
            case ast.Div() if second:
                return first / second
    except OverflowError:
        return None
    return None


def _bounded(number: int | float | None) -> int | float | None:
    if isinstance(number, float):
        return number if math.isfinite(number) else None
    return number if number is None or number.bit_length() <= INTEGER_BITS else None
