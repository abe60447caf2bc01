"""Runtime expressions and conditions of Arazzo as Python code over the values of `flow.py`.

An expression is text of a document: its names stand in the code as literals.
"""

import ast
import re
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

MOST_TEXT, MOST_DEPTH = 4000, 40
"""The maximum number of characters of a condition, and of its parts inside one another."""

_ROOT = re.compile(
    r"\$(?:url|method|statusCode|self|request|response|message|inputs|outputs|steps|workflows|sourceDescriptions|components)"
    r"(?![A-Za-z0-9_-])"
)
_READ = ("response", "inputs", "outputs", "steps", "workflows")
EMBEDDED = re.compile(r"\{(\$[^{}]*)\}")
_ACCESSOR = re.compile(r"\.([^.\[\]#\s]+)|\[(-?[0-9]{1,9})\]|\['([^'\]]*)'\]|\[\"([^\"\]]*)\"\]")
_IDENTIFIER = re.compile(r"[A-Za-z0-9_.-]+")
_STRICT = re.compile(r"[A-Za-z0-9_-]+")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TOKEN = re.compile(
    r"\s*(?:(?P<sign>==|!=|<=|>=|&&|\|\||[<>!()])|(?P<text>'(?:[^']|'')*')"
    r"|(?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?![\w.])|(?P<word>true|false|null)(?!\w)"
    r"|(?P<expression>\$(?:\['[^']*'\]|[^\s()<>=!&|])*))"
)
# The signs and words of conditions as Python writes them; `~` binds as tightly as the `!` of conditions.
_PYTHON = {"&&": "and", "||": "or", "!": "~", "true": "True", "false": "False", "null": "None"}
_SIGNS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


class ExpressionError(ValueError):
    """An expression has a fault; the message names it."""


class NotSupportedError(ExpressionError):
    """A correct expression names a value that programs do not have."""


class Expression(NamedTuple):
    """A runtime expression: the values that it begins with, the fixed names after them, the name and the accessors."""

    root: str
    owners: tuple[str, ...] = ()
    name: str = ""
    accessors: tuple[str | int, ...] = ()

    @property
    def code(self) -> str:
        """The value of the expression in a program."""
        base = {"statusCode": "answer['status']", "body": "answer['body']", "header": "answer['headers']"}.get(
            self.root
        )
        base = base or ("results" if self.root == "workflows" else f"at.{self.root}")
        if "." in self.name:
            return _got(f"dotted({_got(base, self.owners)}, {self.name!r})", self.accessors)
        return _got(base, (*self.owners, *([self.name] if self.name else []), *self.accessors))


def _got(base: str, tokens: tuple[str | int, ...]) -> str:
    return f"get({', '.join([base, *map(repr, tokens)])})" if tokens else base


def is_expression(text: str) -> bool:
    """Return whether a text is meant as a runtime expression."""
    return _ROOT.match(text) is not None


def embedded(text: str) -> list[str]:
    """Return the runtime expressions in braces inside a text."""
    return [found for found in EMBEDDED.findall(text) if is_expression(found)]


def parse_expression(text: str) -> Expression:
    """Return the parts of a runtime expression. Raises ExpressionError."""
    found = _ROOT.match(text)
    root, rest = (found[0][1:], text[found.end() :]) if found else ("", text)
    if root == "statusCode" and not rest:
        return Expression("statusCode")
    dot, rest = rest[:1], rest[1:]
    if root in _READ and dot != ".":
        raise ExpressionError(f"{text[:80]!r} is no runtime expression: after ${root} comes a point and a name")
    if root == "response":
        return _response(text, rest)
    owners: tuple[str, ...] = ()
    if root in ("steps", "workflows"):
        owner, _, rest = rest.partition(".")
        part, _, rest = rest.partition(".")
        parts = ("outputs",) if root == "steps" else ("inputs", "outputs")
        if not _STRICT.fullmatch(owner) or part not in parts:
            raise ExpressionError(f"{text[:80]!r} is no runtime expression: write ${root}.<id>.{parts[-1]}.<name>")
        owners = (owner,) if root == "steps" else (owner, part)
    if root in _READ:
        name = _IDENTIFIER.match(rest)
        if name is None:
            raise ExpressionError(
                f"{text[:80]!r} is no runtime expression: a name of letters, digits, . - _ is missing"
            )
        return Expression(root, owners, name[0], _accessors(text, rest[name.end() :]))
    if root and root != "statusCode":
        raise NotSupportedError(f"the runtime expression {text[:80]!r}")
    raise ExpressionError(f"{text[:80]!r} is no runtime expression")


def _response(text: str, rest: str) -> Expression:
    if rest.startswith("header.") and _HEADER.fullmatch(name := rest.removeprefix("header.")):
        return Expression("header", (name.lower(),))
    if rest.startswith("body"):
        return Expression("body", accessors=_accessors(text, rest.removeprefix("body")))
    raise ExpressionError(
        f"{text[:80]!r} is no runtime expression: after $response comes .body, .body#/<JSON pointer> or .header.<name>"
    )


def _accessors(text: str, rest: str) -> tuple[str | int, ...]:
    """Return the keys and indexes of `.name`, `[0]` and `#/json/pointer`."""
    way, mark, pointer = rest.partition("#")
    tokens: list[str | int] = []
    at = 0
    while at < len(way):
        found = _ACCESSOR.match(way, at)
        if found is None:
            raise ExpressionError(f"{text[:80]!r} is no runtime expression: {way[at : at + 20]!r} is not understood")
        name, index, *quoted = found.groups()
        tokens.append(int(index) if index is not None else next(part for part in (name, *quoted) if part is not None))
        at = found.end()
    return (*tokens, *(pointer_tokens(pointer) if mark else ()))


def pointer_tokens(pointer: str) -> tuple[str, ...]:
    """Return the tokens of a JSON pointer, which expressions in braces may hold. Raises ExpressionError."""
    if pointer and not pointer.startswith("/"):
        raise ExpressionError(f"{pointer[:80]!r} is no JSON pointer: it begins with /")
    tokens = re.findall(r"/((?:\{\$[^{}]*\}|[^/])*)", pointer)
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in tokens)


def condition_code(text: str, code_of: Callable[[str], str]) -> str:
    """Return a simple condition as code that is true or false; `code_of` writes its expressions.

    Raises ExpressionError.
    """
    if len(text) > MOST_TEXT:
        raise ExpressionError(f"the condition is longer than {MOST_TEXT} characters")
    tokens = list(_tokens(text))
    names = {f"_{number}": token for number, (kind, token) in enumerate(tokens) if kind == "expression"}
    parts = [
        f"_{number}" if kind == "expression" else _literal(kind, token) for number, (kind, token) in enumerate(tokens)
    ]
    starts = [sum(len(part) + 1 for part in parts[:number]) for number in range(len(parts))]
    try:
        return _Condition(text, {name: code_of(token) for name, token in names.items()}).truth(_parsed(" ".join(parts)))
    except _MisplacedError as error:
        number = bisect(starts, error.column) - 1
        found = repr(tokens[number][1]) if number >= 0 and error.column < starts[-1] + len(parts[-1]) else "its end"
        raise ExpressionError(f"the condition {text[:80]!r} is not understood at {found}") from None


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at, end = 0, len(text.rstrip())
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise ExpressionError(f"the condition {text[:80]!r} is not understood at character {at + 1}")
        yield found.lastgroup, found[found.lastgroup]
        at = found.end()


def _literal(kind: str, token: str) -> str:
    """Return a token in Python's spelling."""
    if kind == "text":
        return ascii(token[1:-1].replace("''", "'"))
    if kind == "number":
        return repr(float(token) if set(token) & set(".eE") else int(token[:300])).replace("inf", "1e999")
    return _PYTHON.get(token, token)


class _MisplacedError(Exception):
    """A condition has something that cannot stand at a column of its text in Python."""

    def __init__(self, column: int) -> None:
        self.column = column


def _parsed(code: str) -> ast.expr:
    try:
        return ast.parse(code, mode="eval").body
    except SyntaxError as error:
        raise _MisplacedError((error.offset or 1) - 1) from None
    except (RecursionError, MemoryError):
        raise ExpressionError("the condition is nested too deeply") from None


class _Condition:
    """Writes the syntax tree of a condition as code, in which its expressions are names."""

    def __init__(self, text: str, codes: Mapping[str, str]) -> None:
        self._text, self._codes = text, codes

    def truth(self, node: ast.expr, depth: int = 0) -> str:
        """Return the code of whether a part counts as true."""
        code = self._value(node, depth)
        is_truth = isinstance(node, ast.Compare | ast.BoolOp) or isinstance(getattr(node, "op", None), ast.Invert)
        return code if is_truth else f"is_true({code})"

    def _value(self, node: Any, depth: int) -> str:
        if depth > MOST_DEPTH:
            raise ExpressionError("the condition is nested too deeply")
        match node:
            case ast.Constant(value=value):
                return repr(value)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)):
                return f"-{value!r}"
            case ast.Name(id=name):
                return self._codes[name]
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return f"(not {self.truth(operand, depth + 1)})"
            case ast.BoolOp(op=op, values=values):
                sign = " and " if isinstance(op, ast.And) else " or "
                return f"({sign.join(self.truth(part, depth + 1) for part in values)})"
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                parts = [self._value(left, depth + 1), repr(_SIGNS[type(op)]), self._value(right, depth + 1)]
                return f"loosely({', '.join(parts)})"
        raise _MisplacedError(node.col_offset)
