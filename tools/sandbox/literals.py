"""Put inputs into a program in place of the values of its literals, and list its literals; nothing of it is run."""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from restgpt.tools.sandbox.code import UNPARSABLE, name_of, program_code, syntax_tree

MOST_LITERALS = 500
"""The maximum number of literals that are told of a program."""

MOST_CODE = 200_000
"""The maximum number of characters of rewritten code."""

_LISTS = (ast.List, ast.Tuple)


@dataclass(frozen=True, slots=True)
class Replacement:
    """An input and its value in the saved run; with `keyword` it replaces only literals of this name."""

    name: str
    value: str | int | float | tuple[str | int | float, ...]
    keyword: str = ""


@dataclass(frozen=True, slots=True)
class Parametrized:
    """The new code, the names of the inputs in it, and what the old code says.

    `literals` are its texts, numbers and lists of these with the names of their places: an argument, a key, a variable,
    a compared field, or none. `is_constant` says that it prints no value, `problem` why there is no new code.
    """

    code: str
    used: frozenset[str] = frozenset()
    literals: tuple[tuple[str, Any], ...] = ()
    is_constant: bool = False
    problem: str = ""


def parametrized(code: str, replacements: Sequence[Replacement]) -> Parametrized:
    """Return the code with `inputs["name"]` in place of literals that have the value of a replacement."""
    cleaned = program_code(code)
    inputs = [
        asdict(item) | ({"value": [*item.value]} if isinstance(item.value, tuple) else {}) for item in replacements
    ]
    try:
        return _parametrized(cleaned, inputs)
    except UNPARSABLE as error:
        place = f" on line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        reason = getattr(error, "msg", "") or str(error) or "the code is too complex"
        return Parametrized(cleaned, problem=f"The program cannot be parsed{place}: {reason}.")


def _parametrized(code: str, inputs: Sequence[Mapping[str, Any]]) -> Parametrized:
    """Return the new code and what the old code says. Raises what `ast.parse` raises, and ValueError."""
    code.encode()  # halves of surrogate pairs raise ValueError
    tree = syntax_tree(code)
    nodes = list(ast.walk(tree))
    places, skipped = _places(nodes), _no_values(nodes)
    literals = [
        (name, value)
        for node in sorted((node for node in nodes if hasattr(node, "lineno")), key=_position)
        if id(node) not in skipped and (value := _literal(node)) is not None
        for name in places.get(id(node)) or [""]
    ]
    is_constant = not any(map(_prints_a_value, nodes))
    used: set[str] = set()
    if inputs:
        tree = _Inputs(inputs, places, skipped, used).visit(tree)
        new = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        if len(new) > MOST_CODE:
            raise ValueError("the new code is too long")
        if ast.dump(syntax_tree(new)) != ast.dump(tree):
            raise ValueError("the literals cannot be replaced in this code")
        code = new if used else code
    return Parametrized(code, frozenset(used), tuple(literals[:MOST_LITERALS]), is_constant)


def _position(node: Any) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _literal(node: ast.AST) -> Any:
    """Return the text, the number, or the list of such that a node stands for, else None."""
    if isinstance(node, _LISTS) and isinstance(node.ctx, ast.Load) and node.elts:
        items = [None if isinstance(item, _LISTS) else _literal(item) for item in node.elts]
        return None if None in items else items
    is_negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    value = getattr(node.operand if is_negative else node, "value", None)  # type: ignore[attr-defined]
    if isinstance(node, ast.Constant) and isinstance(value, str):
        return value
    if isinstance(node, ast.Constant) or is_negative:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return (-value if is_negative else value) if is_number else None  # type: ignore[operator]
    return None


def _no_values(nodes: Sequence[ast.AST]) -> set[int]:
    """Return the ids of the nodes that are no values of the program: docstrings, names of fields, annotations."""
    found: set[int] = set()
    for node in nodes:
        skipped: list[Any] = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.append(node.value)
        elif isinstance(node, ast.Dict):
            skipped += node.keys
        elif isinstance(node, ast.Subscript):
            skipped.append(node.slice)
        elif isinstance(node, ast.Call):
            skipped.append(_got(node))
        elif isinstance(node, ast.FormattedValue):
            skipped.append(node.format_spec)
        elif isinstance(node, ast.UnaryOp) and _literal(node) is not None:
            skipped.append(node.operand)
        elif isinstance(node, ast.pattern):
            skipped.append(node)
        found.update(id(inner) for item in skipped if item is not None for inner in ast.walk(item))
    return found


def _field_of(node: ast.AST) -> str:
    """Return the name of the field that an expression reads: `name` of `x["name"].lower()`; empty if there is none."""
    while True:
        if isinstance(node, ast.Subscript):
            value = getattr(node.slice, "value", "")
            return value if isinstance(value, str) else ""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return ""
        if (key := _got(node)) is not None:
            return str(key.value)
        node = node.func.value


def _got(node: ast.Call) -> ast.Constant | None:
    """Return the name of the field that a call such as `x.get("name")` reads; None for another call."""
    is_get = isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop", "setdefault")
    key = node.args[0] if is_get and node.args else None
    return key if isinstance(key, ast.Constant) and isinstance(key.value, str) else None


def _places(nodes: Sequence[ast.AST]) -> dict[int, list[str]]:
    """Return by the ids of nodes the names that they have as values: of arguments, keys, variables, compared fields."""
    found: dict[int, list[str]] = {}

    def note(value: ast.AST, name: str) -> None:
        for node in (value, *(value.elts if isinstance(value, _LISTS) else ())):
            if name:
                found.setdefault(id(node), []).append(name)

    for node in nodes:
        if isinstance(node, ast.keyword):
            note(node.value, node.arg or "")
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                note(value, str(getattr(key, "value", "") or ""))
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            names = [name for side in sides if (name := _field_of(side))]
            for side in sides:
                note(side, names[0] if names else "")
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            note(node.value, node.targets[0].id)
        elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.target, ast.Name):
            note(node.iter, f"{node.target.id}s")
    return found


def _prints_a_value(node: ast.AST) -> bool:
    """Return whether a call prints more than literals."""
    is_print = isinstance(node, ast.Call) and name_of(node.func) in ("print", "table")
    return is_print and any(isinstance(inner, ast.Name) for item in node.args for inner in ast.walk(item))  # type: ignore[attr-defined]


class _Inputs(ast.NodeTransformer):
    """Puts inputs in the place of literals that have their values, and into texts that contain these."""

    def __init__(
        self,
        inputs: Sequence[Mapping[str, Any]],
        places: Mapping[int, list[str]],
        skipped: set[int],
        used: set[str],
    ) -> None:
        self._inputs = sorted(inputs, key=lambda item: -len(json.dumps(item["value"])))
        self._places, self._skipped, self._used = places, skipped, used

    def visit(self, node: ast.AST) -> Any:
        """Return the node, or what stands in its place."""
        if id(node) in self._skipped:
            return node
        value, names = _literal(node), self._places.get(id(node), [])
        for item in self._inputs:
            is_same = type(value) is type(item["value"]) and value == item["value"]
            if is_same and (not item["keyword"] or item["keyword"] in names):
                return self._input(item["name"])
        if isinstance(node, ast.JoinedStr):
            return self._joined(node.values, node)
        return self._joined([node], node) if isinstance(value, str) else self.generic_visit(node)

    def _joined(self, values: Sequence[ast.expr | ast.AST], old: ast.AST) -> ast.AST:
        """Return a text with inputs between its parts; the old node if it contains none."""
        parts: list[Any] = []
        for value in values:
            text = value.value if isinstance(value, ast.Constant) else None
            parts += self._split(text) if isinstance(text, str) else [self.generic_visit(value)]
        if not any(isinstance(part, str) for part in parts):
            return old
        if isinstance(old, ast.Constant) and parts == [old.value]:
            return old
        return ast.JoinedStr([ast.Constant(part) if isinstance(part, str) else part for part in parts])

    def _split(self, text: str) -> list[Any]:
        """Return the parts of a text around the values of inputs, with the inputs between them."""
        parts: list[Any] = [text]
        for item in self._inputs:
            value = item["value"]
            if isinstance(value, list) or (item["keyword"] and isinstance(value, str)):
                continue
            border = re.compile(rf"(?<!\w){re.escape(str(value))}(?!\w)")
            parts = [new for part in parts for new in self._around(part, border, item["name"])]
        return [part for part in parts if part != ""]

    def _around(self, part: Any, border: re.Pattern[str], name: str) -> list[Any]:
        pieces = border.split(part) if isinstance(part, str) else [part]
        found = [pieces[0]]
        for piece in pieces[1:]:
            found += [ast.FormattedValue(self._input(name), -1, None), piece]
        return found

    def _input(self, name: str) -> ast.expr:
        self._used.add(name)
        return ast.Subscript(ast.Name("inputs", ast.Load()), ast.Constant(name), ast.Load())
