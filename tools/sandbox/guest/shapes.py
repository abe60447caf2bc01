"""The check of fields: the shapes of expressions, inferred from the documented results of functions.

Standard library only: the host sends this module to the worker.
"""

from __future__ import annotations

import ast
import re
from functools import partial

from restgpt.tools.sandbox.guest.calls import literal_of
from restgpt.tools.sandbox.guest.gather import branches
from restgpt.tools.sandbox.guest.problem import MOST_TEXT, Problem, listed, nearest, short
from restgpt.tools.sandbox.guest.syntax import ITERATING, Binding, Program, Read, Scope, constant_text, keyword_of

TYPE_CHECKING = False  # a name for type checkers; the import of `typing` would cost every worker milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    Stub = Mapping[str, Any]
    Shape = dict[str, Any]

MOST_DEPTH = 50  # of an expression whose shape is inferred

# The names that `rows` of the library knows; a test compares them.
LISTS = (
    *("items", "results", "data", "records", "entries", "value", "values", "content", "contents", "hits", "rows"),
    *("objects", "elements", "list", "resources", "documents", "docs", "nodes", "edges", "members", "member"),
)

_KINDS = {"boolean": "True or False", "integer": "a number", "number": "a number"}
_FRESH = frozenset({"dict", "list", "set", "defaultdict", "Counter", "OrderedDict", "sorted", "deque", "bytearray"})
_SAME_ITEMS = frozenset({"sorted", "list", "tuple", "reversed", "iter", "deque", "set"})
_NOT_PLAIN = re.compile(r"[\W_]+")


class _Seen:
    """The known shape of an expression, and the words for it in a message."""

    __slots__ = ("label", "shape")

    def __init__(self, shape: Shape, label: str) -> None:
        self.shape, self.label = shape, label if len(label) <= MOST_TEXT else "this value"


class Shapes:
    """The shapes of expressions, inferred from the results of functions; an expression is looked at once."""

    def __init__(self, program: Program, functions: Mapping[str, Stub]) -> None:
        self.program, self.functions = program, functions
        self._known: dict[int, _Seen | None] = {}
        self._names: dict[tuple[int, str], _Seen | None] = {}

    def of(self, node: ast.expr | None, scope: Scope, depth: int = 0) -> _Seen | None:
        """Return the shape of an expression, or None if it is unknown."""
        infer = getattr(self, "_" + type(node).__name__, None)
        if infer is None or depth > MOST_DEPTH:
            return None
        if id(node) not in self._known:
            self._known[id(node)] = None  # for a value that depends on itself
            self._known[id(node)] = infer(node, scope, depth + 1)
        return self._known[id(node)]

    def _Name(self, node: ast.Name, scope: Scope, depth: int) -> _Seen | None:
        found = scope.bindings(node.id)
        if found is None or node.id in self.program.uncertain:
            return None
        key = (id(found[0]), node.id)
        if key not in self._names:
            self._names[key] = None
            self._names[key] = self._agreed(found[1], depth)
        return self._names[key]

    def _agreed(self, bindings: Sequence[Binding], depth: int) -> _Seen | None:
        """Return the shape that all assignments to a name have."""
        first: _Seen | None = None
        for binding in bindings:
            seen = self.of(binding.expression, binding.scope, depth)
            for step in binding.steps:
                seen = _item(seen, step)
            if seen is None or (first is not None and seen.shape != first.shape):
                return None
            first = first or seen
        return first

    def _NamedExpr(self, node: ast.NamedExpr, scope: Scope, depth: int) -> _Seen | None:
        return self.of(node.value, scope, depth)

    def _Await(self, node: ast.Await, scope: Scope, depth: int) -> _Seen | None:
        return self.of(node.value, scope, depth)

    def _BoolOp(self, node: ast.BoolOp, scope: Scope, depth: int) -> _Seen | None:
        if isinstance(node.op, ast.And):
            return None
        return self._either(node.values, scope, depth)

    def _IfExp(self, node: ast.IfExp, scope: Scope, depth: int) -> _Seen | None:
        return self._either([node.body, node.orelse], scope, depth)

    def _either(self, nodes: Sequence[ast.expr], scope: Scope, depth: int) -> _Seen | None:
        """Return the shape of alternatives: empty ones have no fields to read, all others have to agree."""
        return self._agreed([Binding(node, scope, ()) for node in nodes if not _is_empty(node)], depth)

    def _ListComp(self, node: Any, scope: Scope, depth: int) -> _Seen | None:
        seen = self.of(node.elt, self.program.scopes.get(id(node), scope), depth)
        return seen and _Seen({"items": seen.shape, "of": seen.label}, "this list")

    _GeneratorExp = _SetComp = _ListComp

    def _Subscript(self, node: ast.Subscript, scope: Scope, depth: int) -> _Seen | None:
        seen = self.of(node.value, scope, depth)
        name = constant_text(node.slice)
        if name is not None:
            return self._field(seen, name)
        if isinstance(node.slice, ast.Slice):
            return seen if seen is not None and "items" in seen.shape else None
        kind, index = literal_of(node.slice)
        return _item(seen, index if kind == "integer" else None)

    def _Call(self, node: ast.Call, scope: Scope, depth: int) -> _Seen | None:
        function, arguments = node.func, node.args
        if isinstance(function, ast.Attribute):
            name = constant_text(arguments[0]) if arguments else None
            if function.attr != "get" or name is None or not all(_is_empty(other) for other in arguments[1:]):
                return None
            return self._field(self.of(function.value, scope, depth), name)
        if not isinstance(function, ast.Name) or function.id in self.program.bound:
            return None
        if function.id in self.functions:
            shape = self.functions[function.id].get("result")
            return _Seen(shape, f"{function.id}(...)") if isinstance(shape, dict) else None
        if not arguments or any(isinstance(argument, ast.Starred) for argument in arguments):
            return self._gathered(node, scope, depth) if function.id == "gather" else None
        return self._built_in(function.id, node, scope, depth)

    def _built_in(self, name: str, node: ast.Call, scope: Scope, depth: int) -> _Seen | None:
        """Return the shape of a call of the library or of a built-in function."""
        arguments = node.args
        if name == "gather":
            return self._gathered(node, scope, depth)
        if name in ("map", "filter", "zip", "field"):
            return self._of_several(name, node, scope, depth)
        seen = self.of(arguments[0], scope, depth)
        if name in _SAME_ITEMS:
            return seen if seen is not None and "items" in seen.shape else None
        if name == "rows":
            return self._rows(seen)
        if name == "one":
            return _item(self._rows(seen), None)
        if name == "enumerate":
            item = _item(seen, None)
            return item and _Seen({"items": {"parts": [None, item]}}, "this list")
        if name == "next" or (name in ("min", "max") and len(arguments) == 1):
            default = keyword_of(node, "default") or (arguments[1] if len(arguments) > 1 else None)
            return _item(seen, None) if default is None or _is_empty(default) else None
        return None

    def _of_several(self, name: str, node: ast.Call, scope: Scope, depth: int) -> _Seen | None:
        """Return the shape of a call that has more than one argument of interest."""
        arguments = node.args
        if name == "zip":
            parts = [_item(self.of(argument, scope, depth), None) for argument in arguments]
            return _Seen({"items": {"parts": parts}}, "this list")
        if len(arguments) != 2:
            return None
        if name == "filter":
            seen = self.of(arguments[1], scope, depth)
            return seen if seen is not None and "items" in seen.shape else None
        if name == "map":
            item = self._result_of(arguments[0], scope, depth)
            return item and _Seen({"items": item.shape, "of": item.label}, "this list")
        text, default = constant_text(arguments[1]), keyword_of(node, "default")
        if text is None or not (default is None or _is_empty(default)):
            return None
        return self._field(self.of(arguments[0], scope, depth), text)

    def _field(self, seen: _Seen | None, name: str) -> _Seen | None:
        """Return the shape of a field of an object; a field that the program sets may have any."""
        return None if name in self.program.written else _field(seen, name)

    def _rows(self, seen: _Seen | None) -> _Seen | None:
        """Return the shape of `rows(...)`; None if the program sets a field that may hold the list."""
        fields = seen.shape.get("fields") if seen is not None else None
        return None if isinstance(fields, dict) and self.program.written & fields.keys() else _rows(seen)

    def _result_of(self, function: ast.expr, scope: Scope, depth: int) -> _Seen | None:
        """Return the shape of what a function in an argument returns."""
        if isinstance(function, ast.Lambda):
            return self.of(function.body, self.program.scopes.get(id(function), scope), depth)
        if isinstance(function, ast.Name) and function.id in self.functions:
            shape = self.functions[function.id].get("result")
            return _Seen(shape, f"{function.id}(...)") if isinstance(shape, dict) else None
        return None

    def _gathered(self, node: ast.Call, scope: Scope, depth: int) -> _Seen | None:
        """Return the shape of the list of results: one for each branch, or items of the same shape."""
        found = branches(node)
        if len(found) == 1 and isinstance(found[0], ast.Starred):
            inner = found[0].value
            if isinstance(inner, ast.ListComp | ast.GeneratorExp) and isinstance(inner.elt, ast.Lambda):
                return None
            return self.of(inner, scope, depth) if not isinstance(inner, ast.Name) else None
        if any(isinstance(branch, ast.Starred | ast.Name) for branch in found):
            return None
        parts = [
            self._result_of(branch, scope, depth) if isinstance(branch, ast.Lambda) else self.of(branch, scope, depth)
            for branch in found
        ]
        return _Seen({"parts": parts}, "the list of gather(...)")


def _is_empty(node: ast.expr) -> bool:
    """Return whether an expression is None, an empty text or an empty container."""
    if isinstance(node, ast.Constant):
        return node.value is None or node.value == ""
    return (isinstance(node, ast.List | ast.Tuple | ast.Set) and not node.elts) or (
        isinstance(node, ast.Dict) and not node.keys
    )


def _item(seen: _Seen | None, index: int | None) -> _Seen | None:
    """Return the shape of an item of a list; of a list of known parts, an index is needed."""
    if seen is None:
        return None
    parts = seen.shape.get("parts")
    if parts is not None:
        part = parts[index] if index is not None and -len(parts) <= index < len(parts) else None
        return part if isinstance(part, _Seen) else None
    shape = seen.shape.get("items")
    return _Seen(shape, seen.shape.get("of") or f"an item of {seen.label}") if isinstance(shape, dict) else None


def _field(seen: _Seen | None, name: str) -> _Seen | None:
    """Return the shape of a field of an object."""
    shape = seen.shape["fields"].get(name) if seen is not None and isinstance(seen.shape.get("fields"), dict) else None
    return _Seen(shape, f'{seen.label}["{name}"]') if seen is not None and isinstance(shape, dict) else None


def _rows(seen: _Seen | None) -> _Seen | None:
    """Return the shape of `rows(...)`; None if the list that it takes depends on the answer."""
    if seen is None or "items" in seen.shape:
        return seen
    fields = seen.shape.get("fields")
    if not isinstance(fields, dict) or not fields or seen.shape.get("open"):
        return None
    plain = {_NOT_PLAIN.sub("", name).casefold(): (name, shape) for name, shape in reversed(list(fields.items()))}
    for known in LISTS:
        name, shape = plain.get(known, ("", {"type": ""}))
        if shape is None:
            return None
        if "items" in shape:
            return _Seen(shape, f'{seen.label}["{name}"]')
    if all(isinstance(shape, dict) and "type" in shape for shape in fields.values()):
        return _Seen({"items": seen.shape, "of": seen.label}, seen.label)
    lists = [(name, shape) for name, shape in fields.items() if shape is None or "type" not in shape]
    if len(lists) == 1 and lists[0][1] is not None and "fields" in (lists[0][1].get("items") or ()):
        return _Seen(lists[0][1], f'{seen.label}["{lists[0][0]}"]')
    return None


def missing_fields(program: Program, shapes: Shapes) -> list[Problem]:
    """Return the reads of fields that cannot exist, unless an alternative beside them can."""
    if not _is_certain(program, shapes):
        return []
    missing: list[tuple[Read, _Seen]] = []
    answered: set[int] = set()
    own = program.written | program.tested
    for read in program.reads:
        seen = shapes.of(read.base, read.scope)
        if seen is not None and read.key not in own and _lacks(seen.shape, read.key):
            missing.append((read, seen))
        elif read.group:
            answered.add(read.group)
    return [
        Problem(read.node, partial(_no_field, seen, read.key), seen.label, id(seen.shape), read.key)
        for read, seen in missing
        if read.group not in answered
    ]


def unequal_types(program: Program, shapes: Shapes) -> list[Problem]:
    """Return the comparisons of a number or a truth value with a text, which are never equal."""
    found: list[Problem] = []
    for node, side, scope in program.compared if _is_certain(program, shapes) else ():
        seen = shapes.of(side, scope)
        kind = _KINDS.get(seen.shape.get("type", "")) if seen is not None else None
        if seen is not None and kind is not None:
            found.append(Problem(node, f"{seen.label} is {kind}, which no text is equal to"))
    return found


def _is_certain(program: Program, shapes: Shapes) -> bool:
    """Return whether the answers are as the API gave them, as far as the program tells."""
    return not program.bound.keys() & ITERATING and not any(
        _may_change(container, scope, any_key, shapes) for container, scope, any_key in program.changed
    )


def _may_change(container: ast.expr, scope: Scope, any_key: bool, shapes: Shapes) -> bool:
    """Return whether a change may put unknown fields or items into an answer, of which other names may exist."""
    if shapes.of(container, scope) is not None:
        return True
    found = scope.bindings(container.id) if isinstance(container, ast.Name) else None
    if found is None:
        return any_key
    exact = [binding.expression if not binding.steps else None for binding in found[1]]
    return any_key and not all(_is_fresh(expression) for expression in exact)


def _is_fresh(node: ast.expr | None) -> bool:
    """Return whether an expression makes a new container."""
    if isinstance(node, ast.Call):
        return getattr(node.func, "id", getattr(node.func, "attr", "")) in _FRESH
    return isinstance(node, ast.Dict | ast.List | ast.Set | ast.DictComp | ast.ListComp | ast.SetComp | ast.BinOp)


def _lacks(shape: Shape, key: str) -> bool:
    """Return whether a value of this shape certainly has no such field."""
    fields = shape.get("fields")
    if isinstance(fields, dict):
        return bool(fields) and not shape.get("open") and key not in fields
    return "items" in shape or "parts" in shape


def _no_field(seen: _Seen, key: str) -> str:
    fields = seen.shape.get("fields")
    if not isinstance(fields, dict):
        return f"{seen.label} is a list, so it has no field {short(key)!r}; take an item of it"
    return f"{seen.label} has no field {short(key)!r}{nearest(key, fields)}; it has {listed(fields)}"
