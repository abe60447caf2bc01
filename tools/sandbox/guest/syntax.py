"""The syntax of a program: what it imports, binds, calls, reads and changes, from one walk over its tree.

The tree is walked with a stack of its own, so that deep nesting is no problem here.

Standard library only: the host sends this module to the worker.
"""

from __future__ import annotations

import ast

TYPE_CHECKING = False  # a name for type checkers; the import of `typing` would cost every worker milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Stub = Mapping[str, Any]

# Fields that a careful program looks for in any answer; `.get` of one that does not exist does no harm.
_FAILURES = frozenset({"error", "errors", "message", "status", "status_code", "code", "detail", "success"})
_LOOKED_AT = frozenset({"isinstance", "type", "hasattr", "issubclass"})
ITERATING = frozenset({"sorted", "min", "max", "filter", "map"})  # their lambdas get items of the other argument


class Scope:
    """The names that are bound in a module, class, function or comprehension."""

    __slots__ = ("kind", "names", "parent")

    def __init__(self, kind: str, parent: Scope | None) -> None:
        self.kind, self.parent = kind, parent
        self.names: dict[str, list[Binding]] = {}

    def bindings(self, name: str) -> tuple[Scope, list[Binding]] | None:
        """Return the scope that a name is looked up in, and the name's bindings there."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names and (scope.kind != "class" or scope is self):
                return scope, scope.names[name]
            scope = scope.parent
        return None


class Binding:
    """One assignment to a name: of an expression, or of the part of it at the end of `steps`; None if unknown."""

    __slots__ = ("expression", "scope", "steps")

    def __init__(self, expression: ast.expr | None, scope: Scope, steps: tuple[int | None, ...]) -> None:
        self.expression, self.scope, self.steps = expression, scope, steps  # a step None is an item of an iteration


class _Place:
    """Where a node is: its scope, the exceptions that are caught there, the alternatives that it is one of."""

    __slots__ = ("caught", "group", "scope")

    def __init__(self, scope: Scope, caught: frozenset[str] = frozenset(), group: int = 0) -> None:
        self.scope, self.caught, self.group = scope, caught, group

    def inside(self, scope: Scope) -> _Place:
        return _Place(scope, self.caught)

    def among(self, group: int) -> _Place:
        return self if group == self.group else _Place(self.scope, self.caught, group)


class Read:
    """One look at a field with a constant name: `base["name"]` or `base.get("name")`."""

    __slots__ = ("base", "group", "key", "node", "scope")

    def __init__(self, node: ast.expr, base: ast.expr, key: str, place: _Place) -> None:
        self.node, self.base, self.key, self.scope, self.group = node, base, key, place.scope, place.group


class _Named:
    """A call of a function by its name."""

    __slots__ = ("name", "node")

    def __init__(self, node: ast.Call, name: str) -> None:
        self.node, self.name = node, name


class Program:
    """What a program imports, binds, calls, reads and changes, from one walk over its tree."""

    def __init__(self, tree: ast.Module, stubs: Mapping[str, Stub]) -> None:
        self.stubs = stubs
        self.scopes: dict[int, Scope] = {}  # of comprehensions and lambdas, by the identity of their node
        self.bound: dict[str, None] = {}
        self.stated: dict[str, ast.AST] = {}  # the names that statements bind, not only a lambda or a comprehension
        self.uncertain: set[str] = set()  # names that `global`, `del` or a type test make uncertain
        self.loads: dict[str, ast.Name] = {}
        self.called: dict[str, None] = {}
        self.members: dict[str, str] = {}  # names, with the first attribute that is read of them
        self.imports: list[tuple[ast.stmt, str, bool]] = []  # with the name in full; True if its error is caught
        self.takes_all = False  # of `from module import *`
        self.calls: list[_Named] = []
        self.reads: list[Read] = []
        self.written: set[str] = set()  # names of fields that the program sets itself
        self.tested: set[str] = set()  # names of fields in a test such as `"name" in movie`
        self.changed: list[tuple[ast.expr, Scope, bool]] = []  # containers that get any key (True) or item (False)
        self.compared: list[tuple[ast.Compare, ast.expr, Scope]] = []  # with a constant text, by == or !=
        self.asynchronous: list[ast.AST] = []
        self._parameters: dict[int, tuple[ast.expr, Scope]] = {}  # what the parameter of a lambda iterates over
        self._groups = 0
        self._stack: list[tuple[ast.AST, _Place]] = [(tree, _Place(Scope("module", None)))]
        while self._stack:
            node, place = self._stack.pop()
            self._node = getattr(node, "context_expr", node)
            visit = getattr(self, "_" + type(node).__name__, None)
            if visit is None:
                self._push(place.among(0), *ast.iter_child_nodes(node))
            else:
                visit(node, place)

    def _push(self, place: _Place, *nodes: ast.AST | None) -> None:
        self._stack.extend((node, place) for node in reversed(nodes) if node is not None)

    def _bind(self, name: str | None, scope: Scope, binding: Binding | None = None) -> None:
        if name is not None:
            self.bound[name] = None
            if scope.kind not in ("lambda", "comprehension"):
                self.stated.setdefault(name, self._node)
            scope.names.setdefault(name, []).append(binding or Binding(None, scope, ()))

    def _assign(self, target: ast.expr, scope: Scope, binding: Binding) -> None:
        """Bind the names in a target; names after a star get unknown parts."""
        if isinstance(target, ast.Name):
            self._bind(target.id, scope, binding)
        elif isinstance(target, ast.Starred):
            self._assign(target.value, scope, Binding(None, scope, ()))
        elif isinstance(target, ast.Tuple | ast.List):
            certain = True
            for index, element in enumerate(target.elts):
                certain = certain and not isinstance(element, ast.Starred)
                expression = binding.expression if certain else None
                self._assign(element, scope, Binding(expression, binding.scope, (*binding.steps, index)))

    def _Assign(self, node: ast.Assign, place: _Place) -> None:
        for target in node.targets:
            self._assign(target, place.scope, Binding(node.value, place.scope, ()))
        self._push(place.among(0), *node.targets, node.value)

    def _AnnAssign(self, node: ast.AnnAssign, place: _Place) -> None:
        if node.value is not None:
            self._assign(node.target, place.scope, Binding(node.value, place.scope, ()))
        elif isinstance(node.target, ast.Name):
            self.bound[node.target.id] = None
        self._push(place, node.target, node.value)

    def _AugAssign(self, node: ast.AugAssign, place: _Place) -> None:
        if isinstance(node.op, ast.BitOr):
            self._merge(node.target, node.value, place)
        elif isinstance(node.target, ast.Name):
            self._bind(node.target.id, place.scope)
        self._push(place, node.target, node.value)

    def _NamedExpr(self, node: ast.NamedExpr, place: _Place) -> None:
        scope = place.scope
        while scope.kind == "comprehension" and scope.parent is not None:
            scope = scope.parent
        self._assign(node.target, scope, Binding(node.value, place.scope, ()))
        self._push(place, node.value)

    def _For(self, node: ast.For | ast.AsyncFor, place: _Place) -> None:
        self._assign(node.target, place.scope, Binding(node.iter, place.scope, (None,)))
        self._push(place, node.target, node.iter, *node.body, *node.orelse)

    def _AsyncFor(self, node: ast.AsyncFor, place: _Place) -> None:
        self.asynchronous.append(node)
        self._For(node, place)

    def _AsyncWith(self, node: ast.AsyncWith, place: _Place) -> None:
        self.asynchronous.append(node)
        self._push(place, *node.items, *node.body)

    def _Await(self, node: ast.Await, place: _Place) -> None:
        self.asynchronous.append(node)
        self._push(place, node.value)

    def _withitem(self, node: ast.withitem, place: _Place) -> None:
        if node.optional_vars is not None:
            self._assign(node.optional_vars, place.scope, Binding(None, place.scope, ()))
        self._push(place, node.context_expr, node.optional_vars)

    def _With(self, node: ast.With, place: _Place) -> None:
        suppressed = {
            getattr(argument, "id", "")
            for item in node.items
            if isinstance(item.context_expr, ast.Call)
            for argument in item.context_expr.args
        }
        self._push(place, *node.items)
        self._push(_Place(place.scope, place.caught | suppressed), *node.body)

    def _Try(self, node: ast.Try, place: _Place) -> None:
        caught = set(place.caught)
        for handler in node.handlers:
            kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
            caught |= {getattr(kind, "id", getattr(kind, "attr", "")) for kind in kinds} if handler.type else {"any"}
        self._push(_Place(place.scope, frozenset(caught)), *node.body)
        self._push(place, *node.handlers, *node.orelse, *node.finalbody)

    _TryStar = _Try

    def _ExceptHandler(self, node: ast.ExceptHandler, place: _Place) -> None:
        self._bind(node.name, place.scope)
        self._push(place, node.type, *node.body)

    def _FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef, place: _Place) -> None:
        self._bind(node.name, place.scope)
        self._push(place, *node.decorator_list)
        inner = Scope("function", place.scope)
        for parameter in getattr(node, "type_params", ()):
            self._bind(parameter.name, inner)
        self._function(node.args, inner, place)
        self._push(_Place(inner), *node.body)

    def _AsyncFunctionDef(self, node: ast.AsyncFunctionDef, place: _Place) -> None:
        self.asynchronous.append(node)
        self._FunctionDef(node, place)

    def _Lambda(self, node: ast.Lambda, place: _Place) -> None:
        inner = self.scopes[id(node)] = Scope("lambda", place.scope)
        self._function(node.args, inner, place, self._parameters.get(id(node)))
        self._push(place.inside(inner), node.body)

    def _function(
        self,
        arguments: ast.arguments,
        inner: Scope,
        place: _Place,
        iterated: tuple[ast.expr, Scope] | None = None,
    ) -> None:
        """Bind the parameters; the only one of a lambda may get the items of the iterable in the same call."""
        positional = [*arguments.posonlyargs, *arguments.args]
        for parameter in (*positional, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
            if parameter is not None:
                self._bind(parameter.arg, inner)
        if iterated and len(positional) == 1:
            inner.names[positional[0].arg] = [Binding(iterated[0], iterated[1], (None,))]
        self._push(place.among(0), *arguments.defaults, *arguments.kw_defaults)

    def _ClassDef(self, node: ast.ClassDef, place: _Place) -> None:
        self._bind(node.name, place.scope)
        inner = Scope("class", place.scope)
        for parameter in getattr(node, "type_params", ()):
            self._bind(parameter.name, inner)
        self._push(place, *node.decorator_list, *node.bases, *node.keywords)
        self._push(_Place(inner), *node.body)

    def _TypeAlias(self, node: Any, place: _Place) -> None:
        self._bind(node.name.id, place.scope)

    def _comprehension(self, node: Any, place: _Place) -> None:
        """Bind the targets in the scope of the comprehension; only its first iterable belongs to the outer scope."""
        inner = self.scopes[id(node)] = Scope("comprehension", place.scope)
        outer = place.among(0)
        within = outer.inside(inner)
        for index, part in enumerate(node.generators):
            around = within if index else outer
            self._assign(part.target, inner, Binding(part.iter, around.scope, (None,)))
            self._push(around, part.iter)
            self._push(within, part.target, *part.ifs)
            if part.is_async:
                self.asynchronous.append(node)
        self._push(within, *([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]))

    _ListComp = _SetComp = _GeneratorExp = _DictComp = _comprehension

    def _Import(self, node: ast.Import, place: _Place) -> None:
        for alias in node.names:
            self._bind(alias.asname or alias.name.partition(".")[0], place.scope)
            self._note_import(node, alias.name, place)

    def _ImportFrom(self, node: ast.ImportFrom, place: _Place) -> None:
        for alias in node.names:
            self.takes_all = self.takes_all or alias.name == "*"
            self._bind(alias.asname or alias.name, place.scope)
            self._note_import(node, "" if node.level else f"{node.module}.{alias.name}", place)

    def _note_import(self, node: ast.stmt, module: str, place: _Place) -> None:
        caught = place.caught & {"ImportError", "ModuleNotFoundError", "Exception", "BaseException", "any"}
        self.imports.append((node, module, bool(caught)))

    def _Global(self, node: ast.Global | ast.Nonlocal, place: _Place) -> None:
        self.uncertain.update(node.names)
        self.bound.update(dict.fromkeys(node.names))

    _Nonlocal = _Global

    def _MatchAs(self, node: ast.MatchAs, place: _Place) -> None:
        self._bind(node.name, place.scope)
        self._push(place, node.pattern)

    def _MatchStar(self, node: ast.MatchStar, place: _Place) -> None:
        self._bind(node.name, place.scope)

    def _MatchMapping(self, node: ast.MatchMapping, place: _Place) -> None:
        self._bind(node.rest, place.scope)
        self._push(place, *node.keys, *node.patterns)

    def _Name(self, node: ast.Name, place: _Place) -> None:
        if isinstance(node.ctx, ast.Del):
            self.uncertain.add(node.id)
        elif isinstance(node.ctx, ast.Load) and "NameError" not in place.caught:
            self.loads.setdefault(node.id, node)

    def _Attribute(self, node: ast.Attribute, place: _Place) -> None:
        if isinstance(node.value, ast.Name):
            self.members.setdefault(node.value.id, node.attr)
        self._push(place.among(0), node.value)

    def _Subscript(self, node: ast.Subscript, place: _Place) -> None:
        key = constant_text(node.slice)
        if isinstance(node.ctx, ast.Load):
            if key is not None:
                self._read(node, node.value, key, place)
        elif key is not None:
            self.written.add(key)
        else:
            self.changed.append((node.value, place.scope, not isinstance(node.slice, ast.Slice)))
        self._push(place.among(0), node.value, node.slice)

    def _read(self, node: ast.expr, base: ast.expr, key: str, place: _Place) -> None:
        if not place.caught & {"KeyError", "LookupError"}:
            self.reads.append(Read(node, base, key, place))

    def _Compare(self, node: ast.Compare, place: _Place) -> None:
        if type(node.ops[0]).__name__.endswith("In"):  # `in` or `not in`
            self.tested.add(constant_text(node.left) or "")
        elif len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.NotEq):
            sides = [side for side in (node.left, node.comparators[0]) if constant_text(side) is None]
            if len(sides) == 1:
                self.compared.append((node, sides[0], place.scope))
        self._push(place.among(0), node.left, *node.comparators)

    def _BoolOp(self, node: ast.BoolOp, place: _Place) -> None:
        group = self._group(place) if isinstance(node.op, ast.Or) else 0
        self._push(place.among(group), *node.values)

    def _IfExp(self, node: ast.IfExp, place: _Place) -> None:
        self._push(place.among(self._group(place)), node.test, node.body, node.orelse)

    def _group(self, place: _Place) -> int:
        """Return the number of the alternatives around a place, or a new one: `a.get("x") or a.get("y")` are two."""
        if not place.group:
            self._groups += 1
        return place.group or self._groups

    def _Call(self, node: ast.Call, place: _Place) -> None:
        function, arguments, inner = node.func, node.args, place.among(0)
        if isinstance(function, ast.Name):
            self._named_call(node, function.id, place)
        elif isinstance(function, ast.Attribute):
            first = constant_text(arguments[0]) if arguments else None
            if function.attr == "get" and first is not None and len(arguments) <= 2 and not node.keywords:
                place = place.among(self._group(place)) if len(arguments) == 2 else place
                if first not in _FAILURES:
                    self._read(node, function.value, first, place)
                self._push(inner, function, arguments[0])
                self._push(place, *arguments[1:])
                return
            self._method_call(node, function, first, place)
        self._push(inner, function, *arguments, *node.keywords)

    def _named_call(self, node: ast.Call, name: str, place: _Place) -> None:
        self.called[name] = None
        if name in self.stubs:
            self.calls.append(_Named(node, name))
        if name in _LOOKED_AT:
            self.uncertain.update(argument.id for argument in node.args if isinstance(argument, ast.Name))
        if name in ITERATING and len(node.args) == 1:
            self._iterates(keyword_of(node, "key"), node.args[0], place)
        elif name in ("filter", "map") and len(node.args) == 2:
            self._iterates(node.args[0], node.args[1], place)

    def _iterates(self, function: ast.expr | None, iterable: ast.expr, place: _Place) -> None:
        if isinstance(function, ast.Lambda):
            self._parameters[id(function)] = (iterable, place.scope)

    def _method_call(self, node: ast.Call, function: ast.Attribute, first: str | None, place: _Place) -> None:
        """Note what a method changes in its object."""
        if function.attr == "setdefault" and first is not None:
            self.written.add(first)
        elif function.attr == "update":
            self.written.update(keyword.arg for keyword in node.keywords if keyword.arg)
            for argument in (*node.args, *(keyword.value for keyword in node.keywords if not keyword.arg)):
                self._merge(function.value, argument, place)
        elif function.attr in ("setdefault", "__setitem__", "setitem"):
            self.changed.append((function.value, place.scope, True))
        elif function.attr in ("append", "extend", "insert", "appendleft"):
            self.changed.append((function.value, place.scope, False))
        elif function.attr == "sort":
            self._iterates(keyword_of(node, "key"), function.value, place)

    def _merge(self, target: ast.expr, value: ast.expr, place: _Place) -> None:
        """Note the fields that a dict gets from another one; any fields if that is no literal."""
        keys = [constant_text(key) if key else None for key in value.keys] if isinstance(value, ast.Dict) else [None]
        self.written.update(key for key in keys if key is not None)
        if None in keys:
            self.changed.append((target, place.scope, True))


def constant_text(node: ast.expr | None) -> str | None:
    """Return the text of a constant; None for any other expression."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def keyword_of(node: ast.Call, name: str) -> ast.expr | None:
    """Return the keyword argument of a call, or None."""
    return next((keyword.value for keyword in node.keywords if keyword.arg == name), None)
