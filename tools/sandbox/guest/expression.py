"""Runtime expressions and conditions of Arazzo: parsed into tuples, and evaluated over what is known at a step.

An expression is text of a document and never becomes code. Standard library only: the host sends this module to the
worker, and checks the expressions of documents with it.
"""

from __future__ import annotations

import json
import re

from restgpt.tools.sandbox.guest.jsonpath import NOTHING, PathError, find, is_singular, parse, same

TYPE_CHECKING = False  # a name for type checkers; the import of `typing` would cost every worker milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    Expression = tuple[str, tuple[str, ...], str, tuple[Any, ...]]

MOST_TEXT, MOST_DEPTH = 4000, 40  # the most characters of a condition, the most parentheses inside one another

_ROOT = re.compile(
    r"\$(?:url|method|statusCode|self|request|response|message|inputs|outputs|steps|workflows|sourceDescriptions|components)"
    r"(?![A-Za-z0-9_-])"
)
_READ = ("response", "inputs", "outputs", "steps", "workflows")
_EMBEDDED = re.compile(r"\{(\$[^{}]*)\}")
_ACCESSOR = re.compile(r"\.([^.\[\]#\s]+)|\[(-?[0-9]{1,9})\]|\['([^'\]]*)'\]|\[\"([^\"\]]*)\"\]")
_IDENTIFIER = re.compile(r"[A-Za-z0-9_.-]+")
_STRICT = re.compile(r"[A-Za-z0-9_-]+")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TOKEN = re.compile(
    r"\s*(?:(?P<sign>==|!=|<=|>=|&&|\|\||[<>!()])|(?P<text>'(?:[^']|'')*')"
    r"|(?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?![\w.])|(?P<word>true|false|null)(?!\w)"
    r"|(?P<expression>\$(?:\['[^']*'\]|[^\s()<>=!&|])*))"
)
_QUOTE = re.compile(r"\\.|['\"]", re.DOTALL)
_PLAIN = re.compile(r"[A-Za-z_]\w*|-?[0-9]+(?:\.[0-9]+)?", re.ASCII)
_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")


class ExpressionError(ValueError):
    """An expression has a fault; the message names it."""


class NotSupportedError(ExpressionError):
    """A correct expression names a value that programs do not have."""


def is_expression(text: str) -> bool:
    """Return whether a text is meant as a runtime expression."""
    return _ROOT.match(text) is not None


def embedded(text: str) -> list[str]:
    """Return the runtime expressions in braces inside a text."""
    return [found for found in _EMBEDDED.findall(text) if is_expression(found)]


def parse_expression(text: str) -> Expression:
    """Return a runtime expression as its root, the fixed names after it, the name and the accessors.

    Raises ExpressionError.
    """
    found = _ROOT.match(text)
    root, rest = (found[0][1:], text[found.end() :]) if found else ("", text)
    if root == "statusCode" and not rest:
        return ("statusCode", (), "", ())
    dot, rest = rest[:1], rest[1:]
    if root in _READ and dot != ".":
        raise ExpressionError(f"{text[:80]!r} is no runtime expression: after ${root} comes a point and a name")
    if root == "response":
        return _response(text, rest)
    if root in ("inputs", "outputs"):
        name, accessors = _named(text, rest)
        return (root, (), name, accessors)
    if root in ("steps", "workflows"):
        owner, _, rest = rest.partition(".")
        part, _, rest = rest.partition(".")
        parts = ("outputs",) if root == "steps" else ("inputs", "outputs")
        if not _STRICT.fullmatch(owner) or part not in parts:
            raise ExpressionError(f"{text[:80]!r} is no runtime expression: write ${root}.<id>.{parts[-1]}.<name>")
        name, accessors = _named(text, rest)
        return (root, (owner, part), name, accessors)
    if root and root != "statusCode":
        raise NotSupportedError(f"the runtime expression {text[:80]!r}")
    raise ExpressionError(f"{text[:80]!r} is no runtime expression")


def _response(text: str, rest: str) -> Expression:
    if rest.startswith("header."):
        name = rest.removeprefix("header.")
        if _HEADER.fullmatch(name):
            return ("header", (), name.lower(), ())
    elif rest.startswith("body"):
        return ("body", (), "", _accessors(text, rest.removeprefix("body")))
    raise ExpressionError(
        f"{text[:80]!r} is no runtime expression: after $response comes .body, .body#/<JSON pointer> or .header.<name>"
    )


def _named(text: str, rest: str) -> tuple[str, tuple[Any, ...]]:
    found = _IDENTIFIER.match(rest)
    if found is None:
        raise ExpressionError(f"{text[:80]!r} is no runtime expression: a name of letters, digits, . - _ is missing")
    return found[0], _accessors(text, rest[found.end() :])


def _accessors(text: str, rest: str) -> tuple[Any, ...]:
    """Return the keys and indexes of `.name`, `[0]` and `#/json/pointer`."""
    way, mark, pointer = rest.partition("#")
    tokens: list[Any] = []
    at = 0
    while at < len(way):
        found = _ACCESSOR.match(way, at)
        if found is None:
            raise ExpressionError(f"{text[:80]!r} is no runtime expression: {way[at : at + 20]!r} is not understood")
        name, index, *quoted = found.groups()
        tokens.append(int(index) if index is not None else next(part for part in (name, *quoted) if part is not None))
        at = found.end()
    if mark and pointer:
        tokens += pointer_tokens(pointer)
    return tuple(tokens)


def pointer_tokens(pointer: str) -> list[str]:
    """Return the tokens of a JSON pointer. Raises ExpressionError."""
    if pointer and not pointer.startswith("/"):
        raise ExpressionError(f"{pointer[:80]!r} is no JSON pointer: it begins with /")
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def dig(value: Any, tokens: Sequence[Any], is_unknown: Callable[[Any], bool] = lambda value: False) -> Any:
    """Return the part of a value at some keys and indexes, or NOTHING; a part of an unknown value is that value."""
    for token in tokens:
        if is_unknown(value):
            return value
        if isinstance(value, dict) and str(token) in value:
            value = value[str(token)]
        elif isinstance(value, list) and str(token).lstrip("-").isdecimal() and -len(value) <= int(token) < len(value):
            value = value[int(token)]
        else:
            return NOTHING
    return value


class Scope:
    """The values that expressions name at a step: `inputs`, `steps`, `outputs`, `workflows`, and the last answer."""

    __slots__ = ("answer", "inputs", "is_unknown", "outputs", "steps", "workflows")

    def __init__(
        self,
        inputs: Mapping[str, Any],
        answer: Mapping[str, Any],
        workflows: Mapping[str, Any],
        is_unknown: Callable[[Any], bool],
    ) -> None:
        self.inputs, self.answer, self.workflows, self.is_unknown = inputs, answer, workflows, is_unknown
        self.steps: dict[str, Any] = {}
        self.outputs: Mapping[str, Any] = {}

    def get(self, expression: Expression) -> Any:
        """Return the value of an expression, or NOTHING."""
        root, owners, name, accessors = expression
        if root == "statusCode":
            return self.answer["status"]
        if root == "body":
            return dig(self.answer["body"], accessors, self.is_unknown)
        if root == "header":
            return self.answer["headers"].get(name, NOTHING)
        if root == "steps":
            base = self.steps.get(owners[0], {})
        elif root == "workflows":
            base = self.workflows.get(owners[0], {}).get(owners[1], {})
        else:
            base = self.inputs if root == "inputs" else self.outputs
        return dig(_member(base, name, self.is_unknown), accessors, self.is_unknown)

    def value(self, template: Any, *, whole: bool = False) -> Any:
        """Return a template of a document with its expressions replaced by their values, or NOTHING.

        With `whole`, a text that is nothing but one expression in braces gives an array or an object as it is.
        """
        if isinstance(template, str):
            return self._text(template, whole)
        if isinstance(template, list):
            return [None if part is NOTHING else part for part in (self.value(item, whole=whole) for item in template)]
        if not isinstance(template, dict):
            return template
        if is_selector(template):
            return self.selected(template)
        parts = ((key, self.value(part, whole=whole)) for key, part in template.items())
        return {key: part for key, part in parts if part is not NOTHING}

    def _text(self, template: str, whole: bool) -> Any:
        if is_expression(template):
            return self.get(parse_expression(template))
        if not embedded(template):
            return template
        only = _EMBEDDED.fullmatch(template) if whole else None
        if only is not None:
            value = self.get(parse_expression(only[1]))
            if value is NOTHING or value is None or isinstance(value, dict | list):
                return value
        return self.filled(template)

    def filled(self, template: str, *, is_path: bool = False) -> str:
        """Return a text with the expressions in its braces replaced by the texts of their values.

        In a JSONPath expression a value cannot end the string that it stands in, nor be more than one name or number.
        """

        def replaced(found: re.Match[str]) -> str:
            if not is_expression(found[1]):
                return found[0]
            text = as_text(self.get(parse_expression(found[1])))
            return _path_part(text, template[: found.start()]) if is_path else text

        return _EMBEDDED.sub(replaced, template)

    def selected(self, selector: Mapping[str, Any]) -> Any:
        """Return what a Selector Object finds, or NOTHING: one value for a path to one, else a list."""
        context = self.get(parse_expression(selector["context"]))
        if context is NOTHING or self.is_unknown(context):
            return context
        is_path = type_of(selector["type"]) == "jsonpath"
        text = self.filled(selector["selector"], is_path=is_path)
        if not is_path:
            return dig(context, pointer_tokens(text))
        query = parse(text)
        values = [value for _, value in find(query, context)]
        return (values or [NOTHING])[0] if is_singular(query) else values

    def holds(self, criterion: Mapping[str, Any]) -> bool:
        """Return whether a criterion is satisfied; one that cannot be evaluated is not."""
        kind = type_of(criterion.get("type", "simple"))
        try:
            if kind == "simple":
                return is_true(_evaluated(parse_condition(criterion["condition"]), self.get))
            context = self.get(parse_expression(criterion["context"]))
            if context is NOTHING or context is None:
                return False
            if kind == "regex":
                return re.search(self.filled(criterion["condition"]), as_text(context)) is not None
            return bool(find(parse(self.filled(criterion["condition"], is_path=True)), context))
        except (PathError, ExpressionError, re.error, RecursionError, OverflowError):
            return False


def is_selector(template: Mapping[str, Any]) -> bool:
    """Return whether an object of a document is a Selector Object."""
    return template.keys() == {"context", "selector", "type"}


def type_of(kind: Any) -> str:
    """Return the type of a criterion or selector, which may be given as an object with a version."""
    return str(kind.get("type", "")) if isinstance(kind, dict) else str(kind)


def as_text(value: Any) -> str:
    """Return a value as it is put into a text: structures as JSON."""
    if isinstance(value, str):
        return value
    return "null" if value is NOTHING else json.dumps(value, ensure_ascii=False)


def _path_part(text: str, before: str) -> str:
    """Return a value for its place in a JSONPath expression, of which `before` is the text up to there."""
    quote = ""
    for found in _QUOTE.finditer(before):
        quote = found[0] if not quote and len(found[0]) == 1 else "" if found[0] == quote else quote
    if not quote:
        return text if _PLAIN.fullmatch(text) else json.dumps(text)
    inner = json.dumps(text)[1:-1]
    return inner if quote == '"' else inner.replace('\\"', '"').replace("'", "\\'")


def _member(base: Any, name: str, is_unknown: Callable[[Any], bool]) -> Any:
    """Return the member of a name that may contain points; the part behind a point may also be a field below."""
    if is_unknown(base):
        return base
    head, rest = name, ""
    while head not in base:
        head, point, last = head.rpartition(".")
        if not point:
            return NOTHING
        rest = f"{last}.{rest}" if rest else last
    return dig(base[head], rest.split("."), is_unknown) if rest else base[head]


def parse_condition(text: str) -> tuple[Any, ...]:
    """Return the parsed form of a simple condition. Raises ExpressionError."""
    if len(text) > MOST_TEXT:
        raise ExpressionError(f"the condition is longer than {MOST_TEXT} characters")
    tokens = list(_tokens(text))
    parser = _Condition(text, tokens)
    found = parser.either()
    if parser.at < len(tokens):
        raise parser.fault()
    return found


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at, end = 0, len(text.rstrip())
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise ExpressionError(f"the condition {text[:80]!r} is not understood at character {at + 1}")
        yield found.lastgroup, found[found.lastgroup]
        at = found.end()


class _Condition:
    """Parses the tokens of a condition."""

    def __init__(self, text: str, tokens: Sequence[tuple[str, str]]) -> None:
        self._text, self._tokens, self.at, self._depth = text, tokens, 0, 0

    def fault(self) -> ExpressionError:
        found = repr(self._tokens[self.at][1]) if self.at < len(self._tokens) else "its end"
        return ExpressionError(f"the condition {self._text[:80]!r} is not understood at {found}")

    def _take(self, *signs: str) -> str:
        if self.at < len(self._tokens) and self._tokens[self.at][0] == "sign" and self._tokens[self.at][1] in signs:
            self.at += 1
            return self._tokens[self.at - 1][1]
        return ""

    def either(self) -> tuple[Any, ...]:
        parts = [self._both()]
        while self._take("||"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else ("or", parts)

    def _both(self) -> tuple[Any, ...]:
        parts = [self._compared()]
        while self._take("&&"):
            parts.append(self._compared())
        return parts[0] if len(parts) == 1 else ("and", parts)

    def _compared(self) -> tuple[Any, ...]:
        left = self._operand()
        operator = self._take("==", "!=", "<=", ">=", "<", ">")
        return ("compare", operator, left, self._operand()) if operator else left

    def _operand(self) -> tuple[Any, ...]:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise ExpressionError("the condition is nested too deeply")
        try:
            return self._single()
        finally:
            self._depth -= 1

    def _single(self) -> tuple[Any, ...]:
        if self._take("!"):
            return ("not", self._operand())
        if self._take("("):
            inner = self.either()
            if not self._take(")"):
                raise self.fault()
            return inner
        if self.at >= len(self._tokens) or self._tokens[self.at][0] == "sign":
            raise self.fault()
        kind, text = self._tokens[self.at]
        self.at += 1
        if kind == "expression":
            return ("expression", parse_expression(text))
        if kind == "text":
            return ("literal", text[1:-1].replace("''", "'"))
        if kind == "number":
            return ("literal", float(text) if set(text) & set(".eE") else int(text[:300]))
        return ("literal", {"true": True, "false": False, "null": None}[text])


def expressions_of(condition: tuple[Any, ...]) -> Iterator[Expression]:
    """Yield the runtime expressions of a parsed condition."""
    if condition[0] == "expression":
        yield condition[1]
    for part in condition[1:]:
        for inner in part if isinstance(part, list) else [part]:
            if isinstance(inner, tuple) and condition[0] != "expression":
                yield from expressions_of(inner)


def _evaluated(condition: tuple[Any, ...], get: Callable[[Any], Any]) -> Any:
    kind = condition[0]
    if kind == "literal":
        return condition[1]
    if kind == "expression":
        value = get(condition[1])
        return None if value is NOTHING else value
    if kind == "or":
        return any(is_true(_evaluated(part, get)) for part in condition[1])
    if kind == "and":
        return all(is_true(_evaluated(part, get)) for part in condition[1])
    if kind == "not":
        return not is_true(_evaluated(condition[1], get))
    return _compared(condition[1], _evaluated(condition[2], get), _evaluated(condition[3], get))


def is_true(value: Any) -> bool:
    """Return whether the value of a condition counts as true: all but false and null."""
    return value is not None and value is not False


def _compared(operator: str, left: Any, right: Any) -> bool:
    """Compare loosely: letters in any case, and texts of digits as numbers where the other side is a number."""
    left, right = _loose(left, right), _loose(right, left)
    if operator in ("==", "!="):
        return same(left, right) == (operator == "==")
    if isinstance(left, bool) or isinstance(right, bool):
        return False
    if not all(isinstance(item, str) for item in (left, right)) and not all(
        isinstance(item, int | float) for item in (left, right)
    ):
        return False
    if operator[0] == ">":
        left, right = right, left
    return bool(left <= right if operator.endswith("=") else left < right)


def _loose(value: Any, other: Any) -> Any:
    if not isinstance(value, str):
        return value
    is_number = isinstance(other, int | float) and not isinstance(other, bool)
    return float(value) if is_number and _NUMBER.fullmatch(value) else value.casefold()
