"""The check of a program before its first request: its imports, names, calls, and the result fields that it reads.

The sandbox loads this file by its path, so it imports only the standard library. A problem is reported only if it is
certain: an unknown shape, an open object, or a value that could come from two places gives none. The work is bounded
by the size of the program. The tree is walked with a stack of its own, so that deep nesting is no problem here; the
parser and the compiler may still raise RecursionError, which the caller handles.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from restgpt.tools.sandbox.gather import branches

TYPE_CHECKING = False  # a name for type checkers; the import of `typing` would cost every worker milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Stub = Mapping[str, Any]
    Shape = dict[str, Any]

MOST_PROBLEMS, MOST_NAMES, MOST_TEXT = 20, 12, 80  # of a check; of a message: listed names, characters of a value
MOST_DEPTH, MOST_CALLS = 50, 2000  # of an expression whose shape is inferred; that are compared with stubs
MOST_COMPARED = 50  # names that difflib compares, those that have most parts of three letters in common

# The names that `rows` of the library knows; a test compares them.
LISTS = (
    *("items", "results", "data", "records", "entries", "value", "values", "content", "contents", "hits", "rows"),
    *("objects", "elements", "list", "resources", "documents", "docs", "nodes", "edges", "members", "member"),
)

_ALWAYS = frozenset(dir(builtins)) | {
    *("__name__", "__file__", "__doc__", "__builtins__", "__annotations__", "__class__", "__module__", "__qualname__"),
}
_DYNAMIC = frozenset({"exec", "eval", "globals", "locals", "vars", "setattr", "__builtins__", "builtins", "__import__"})
_CLIENTS = frozenset({"requests", "httpx", "aiohttp", "urllib3", "http", "urllib"})
_FUTURES = frozenset({"asyncio", "trio", "anyio", "threading", "concurrent", "multiprocessing"})
# Fields that a careful program looks for in any answer; `.get` of one that does not exist does no harm.
_FAILURES = frozenset({"error", "errors", "message", "status", "status_code", "code", "detail", "success"})
_LOOKED_AT = frozenset({"isinstance", "type", "hasattr", "issubclass"})
_FRESH = frozenset({"dict", "list", "set", "defaultdict", "Counter", "OrderedDict", "sorted", "deque", "bytearray"})
_SAME_ITEMS = frozenset({"sorted", "list", "tuple", "reversed", "iter", "deque", "set"})
_ITERATING = frozenset({"sorted", "min", "max", "filter", "map"})  # their lambdas get items of the other argument
_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*")
_NUMBER = re.compile(r"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")
_NOT_PLAIN = re.compile(r"[\W_]+")
_ARTICLES = {"integer": "an integer", "array": "a list", "object": "a dict", "null": "None"}


def problems(
    tree: ast.Module,
    stubs: Mapping[str, Stub],
    names: Sequence[str],
    given: Collection[str],
    modules: Collection[str],
    *,
    fields: bool = True,
) -> list[tuple[int, str]]:
    """Return the lines and messages of at most 20 certain problems of a program, in the order of their lines.

    `stubs` describe the functions that the program mentions, `names` are all functions of the API, `given` are the
    other names in its scope, `modules` the top-level modules that it can import. With `fields`, the fields of results
    are checked too.
    """
    program = _Program(tree, stubs)
    functions = {name: stub for name, stub in stubs.items() if name not in program.bound}
    found = [*_asynchronous(program), *_imports(program, modules)]
    found += _unbound(program, {*stubs, *names}, given, modules)
    for call in program.calls[:MOST_CALLS]:
        if call.name in functions:
            found += _Call(call.node, call.name, functions[call.name]).problems()
    if fields:
        found += _missing_fields(program, _Shapes(program, functions))
    return _rendered(found)


class _Problem:
    """A problem; its message is written only if it is among the first of its program and no other has its key."""

    __slots__ = ("column", "key", "line", "text")

    def __init__(self, node: Any, text: str | Callable[[], str], *key: object) -> None:
        self.line: int = getattr(node, "lineno", 0)
        self.column: int = getattr(node, "col_offset", 0)
        self.text, self.key = text, key or (text,)


def _rendered(found: list[_Problem]) -> list[tuple[int, str]]:
    """Return the first problems with their messages; the same problem is reported once."""
    messages: dict[str, int] = {}
    keys: set[tuple[object, ...]] = set()
    for problem in sorted(found, key=lambda problem: (problem.line, problem.column)):
        if problem.key in keys:
            continue
        keys.add(problem.key)
        messages.setdefault(problem.text if isinstance(problem.text, str) else problem.text(), problem.line)
        if len(messages) >= MOST_PROBLEMS:
            break
    return sorted((line, text) for text, line in messages.items())


class _Scope:
    """The names that are bound in a module, class, function or comprehension."""

    __slots__ = ("kind", "names", "parent")

    def __init__(self, kind: str, parent: _Scope | None) -> None:
        self.kind, self.parent = kind, parent
        self.names: dict[str, list[_Binding]] = {}

    def bindings(self, name: str) -> tuple[_Scope, list[_Binding]] | None:
        """Return the scope that a name is looked up in, and the name's bindings there."""
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.names and (scope.kind != "class" or scope is self):
                return scope, scope.names[name]
            scope = scope.parent
        return None


class _Binding:
    """One assignment to a name: of an expression, or of the part of it at the end of `steps`; None if unknown."""

    __slots__ = ("expression", "scope", "steps")

    def __init__(self, expression: ast.expr | None, scope: _Scope, steps: tuple[int | None, ...]) -> None:
        self.expression, self.scope, self.steps = expression, scope, steps  # a step None is an item of an iteration


class _Place:
    """Where a node is: its scope, the exceptions that are caught there, the alternatives that it is one of."""

    __slots__ = ("caught", "group", "scope")

    def __init__(self, scope: _Scope, caught: frozenset[str] = frozenset(), group: int = 0) -> None:
        self.scope, self.caught, self.group = scope, caught, group

    def inside(self, scope: _Scope) -> _Place:
        return _Place(scope, self.caught)

    def among(self, group: int) -> _Place:
        return self if group == self.group else _Place(self.scope, self.caught, group)


class _Read:
    """One look at a field with a constant name: `base["name"]` or `base.get("name")`."""

    __slots__ = ("base", "group", "key", "node", "scope")

    def __init__(self, node: ast.expr, base: ast.expr, key: str, place: _Place) -> None:
        self.node, self.base, self.key, self.scope, self.group = node, base, key, place.scope, place.group


class _Named:
    """A call of a function by its name."""

    __slots__ = ("name", "node")

    def __init__(self, node: ast.Call, name: str) -> None:
        self.node, self.name = node, name


class _Program:
    """What a program imports, binds, calls, reads and changes, from one walk over its tree."""

    def __init__(self, tree: ast.Module, stubs: Mapping[str, Stub]) -> None:
        self.stubs = stubs
        self.scopes: dict[int, _Scope] = {}  # of comprehensions and lambdas, by the identity of their node
        self.bound: dict[str, None] = {}
        self.uncertain: set[str] = set()  # names that `global`, `del` or a type test make uncertain
        self.loads: dict[str, ast.Name] = {}
        self.called: dict[str, None] = {}
        self.members: dict[str, str] = {}  # names, with the first attribute that is read of them
        self.imports: list[tuple[ast.stmt, str]] = []
        self.takes_all = False  # of `from module import *`
        self.calls: list[_Named] = []
        self.reads: list[_Read] = []
        self.written: set[str] = set()  # names of fields that the program sets itself
        self.tested: set[str] = set()  # names of fields in a test such as `"name" in movie`
        self.changed: list[tuple[ast.expr, _Scope, bool]] = []  # containers that get any key (True) or item (False)
        self.asynchronous: list[ast.AST] = []
        self._parameters: dict[int, tuple[ast.expr, _Scope]] = {}  # what the parameter of a lambda iterates over
        self._groups = 0
        self._stack: list[tuple[ast.AST, _Place]] = [(tree, _Place(_Scope("module", None)))]
        while self._stack:
            node, place = self._stack.pop()
            visit = getattr(self, "_" + type(node).__name__, None)
            if visit is None:
                self._push(place.among(0), *ast.iter_child_nodes(node))
            else:
                visit(node, place)

    def _push(self, place: _Place, *nodes: ast.AST | None) -> None:
        self._stack.extend((node, place) for node in reversed(nodes) if node is not None)

    def _bind(self, name: str | None, scope: _Scope, binding: _Binding | None = None) -> None:
        if name is not None:
            self.bound[name] = None
            scope.names.setdefault(name, []).append(binding or _Binding(None, scope, ()))

    def _assign(self, target: ast.expr, scope: _Scope, binding: _Binding) -> None:
        """Bind the names in a target; names after a star get unknown parts."""
        if isinstance(target, ast.Name):
            self._bind(target.id, scope, binding)
        elif isinstance(target, ast.Starred):
            self._assign(target.value, scope, _Binding(None, scope, ()))
        elif isinstance(target, ast.Tuple | ast.List):
            certain = True
            for index, element in enumerate(target.elts):
                certain = certain and not isinstance(element, ast.Starred)
                expression = binding.expression if certain else None
                self._assign(element, scope, _Binding(expression, binding.scope, (*binding.steps, index)))

    def _Assign(self, node: ast.Assign, place: _Place) -> None:
        for target in node.targets:
            self._assign(target, place.scope, _Binding(node.value, place.scope, ()))
        self._push(place.among(0), *node.targets, node.value)

    def _AnnAssign(self, node: ast.AnnAssign, place: _Place) -> None:
        if node.value is not None:
            self._assign(node.target, place.scope, _Binding(node.value, place.scope, ()))
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
        self._assign(node.target, scope, _Binding(node.value, place.scope, ()))
        self._push(place, node.value)

    def _For(self, node: ast.For | ast.AsyncFor, place: _Place) -> None:
        self._assign(node.target, place.scope, _Binding(node.iter, place.scope, (None,)))
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
            self._assign(node.optional_vars, place.scope, _Binding(None, place.scope, ()))
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
        inner = _Scope("function", place.scope)
        for parameter in getattr(node, "type_params", ()):
            self._bind(parameter.name, inner)
        self._function(node.args, inner, place)
        self._push(_Place(inner), *node.body)

    def _AsyncFunctionDef(self, node: ast.AsyncFunctionDef, place: _Place) -> None:
        self.asynchronous.append(node)
        self._FunctionDef(node, place)

    def _Lambda(self, node: ast.Lambda, place: _Place) -> None:
        inner = self.scopes[id(node)] = _Scope("function", place.scope)
        self._function(node.args, inner, place, self._parameters.get(id(node)))
        self._push(place.inside(inner), node.body)

    def _function(
        self,
        arguments: ast.arguments,
        inner: _Scope,
        place: _Place,
        iterated: tuple[ast.expr, _Scope] | None = None,
    ) -> None:
        """Bind the parameters; the only one of a lambda may get the items of the iterable in the same call."""
        positional = [*arguments.posonlyargs, *arguments.args]
        for parameter in (*positional, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
            if parameter is not None:
                self._bind(parameter.arg, inner)
        if iterated and len(positional) == 1:
            inner.names[positional[0].arg] = [_Binding(iterated[0], iterated[1], (None,))]
        self._push(place.among(0), *arguments.defaults, *arguments.kw_defaults)

    def _ClassDef(self, node: ast.ClassDef, place: _Place) -> None:
        self._bind(node.name, place.scope)
        inner = _Scope("class", place.scope)
        for parameter in getattr(node, "type_params", ()):
            self._bind(parameter.name, inner)
        self._push(place, *node.decorator_list, *node.bases, *node.keywords)
        self._push(_Place(inner), *node.body)

    def _TypeAlias(self, node: Any, place: _Place) -> None:
        self._bind(node.name.id, place.scope)

    def _comprehension(self, node: Any, place: _Place) -> None:
        """Bind the targets in the scope of the comprehension; only its first iterable belongs to the outer scope."""
        inner = self.scopes[id(node)] = _Scope("comprehension", place.scope)
        outer = place.among(0)
        within = outer.inside(inner)
        for index, part in enumerate(node.generators):
            around = within if index else outer
            self._assign(part.target, inner, _Binding(part.iter, around.scope, (None,)))
            self._push(around, part.iter)
            self._push(within, part.target, *part.ifs)
            if part.is_async:
                self.asynchronous.append(node)
        self._push(within, *([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]))

    _ListComp = _SetComp = _GeneratorExp = _DictComp = _comprehension

    def _Import(self, node: ast.Import, place: _Place) -> None:
        for alias in node.names:
            top = alias.name.partition(".")[0]
            self._bind(alias.asname or top, place.scope)
            self._note_import(node, top, place)

    def _ImportFrom(self, node: ast.ImportFrom, place: _Place) -> None:
        for alias in node.names:
            self.takes_all = self.takes_all or alias.name == "*"
            self._bind(alias.asname or alias.name, place.scope)
        self._note_import(node, "" if node.level else (node.module or "").partition(".")[0], place)

    def _note_import(self, node: ast.stmt, module: str, place: _Place) -> None:
        if not place.caught & {"ImportError", "ModuleNotFoundError", "Exception", "BaseException", "any"}:
            self.imports.append((node, module))

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
        key = _constant_text(node.slice)
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
            self.reads.append(_Read(node, base, key, place))

    def _Compare(self, node: ast.Compare, place: _Place) -> None:
        if type(node.ops[0]).__name__.endswith("In"):  # `in` or `not in`
            self.tested.add(_constant_text(node.left) or "")
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
            first = _constant_text(arguments[0]) if arguments else None
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
        if name in _ITERATING and len(node.args) == 1:
            self._iterates(_keyword(node, "key"), node.args[0], place)
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
            self._iterates(_keyword(node, "key"), function.value, place)

    def _merge(self, target: ast.expr, value: ast.expr, place: _Place) -> None:
        """Note the fields that a dict gets from another one; any fields if that is no literal."""
        keys = [_constant_text(key) if key else None for key in value.keys] if isinstance(value, ast.Dict) else [None]
        self.written.update(key for key in keys if key is not None)
        if None in keys:
            self.changed.append((target, place.scope, True))


def _constant_text(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _keyword(node: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in node.keywords if keyword.arg == name), None)


def _asynchronous(program: _Program) -> Iterator[_Problem]:
    first = min(program.asynchronous, key=lambda node: getattr(node, "lineno", 0), default=None)
    if first is not None:
        yield _Problem(
            first,
            "the functions are ordinary functions: call them without async and await; gather(f(x), g(y)) calls several",
        )


def _imports(program: _Program, modules: Collection[str]) -> Iterator[_Problem]:
    for node, module in program.imports:
        if module in modules or module in ("__future__", "__main__"):
            continue
        if module in _FUTURES:
            advice = "call the functions without await; gather(f(x), g(y)) calls several"
        elif not module:
            module, advice = "a relative import", "there are no other files"
        else:
            advice = "call the functions instead" if module in _CLIENTS else "use the functions and standard modules"
        yield _Problem(node, f"{_short(module)} is not here: {advice}")


def _unbound(
    program: _Program, functions: Collection[str], given: Collection[str], modules: Collection[str]
) -> Iterator[_Problem]:
    """Yield the names that are bound nowhere; nothing is certain if the program binds names dynamically."""
    if program.takes_all or any(name in _DYNAMIC for name in program.loads):
        return
    for name, node in program.loads.items():
        if not (name in program.bound or name in functions or name in given or name in _ALWAYS):
            yield _Problem(node, partial(_no_name, name, program, functions, given, modules))


def _no_name(
    name: str, program: _Program, functions: Collection[str], given: Collection[str], modules: Collection[str]
) -> str:
    member = program.members.get(name)
    if member in functions:
        return f"{_short(name)} is not here: call {member}(...) directly"
    if name in modules and member is not None:
        return f"the module {name} is not imported: add `import {name}`"
    if member is not None and name in _CLIENTS:
        return f"{name} is not here: call the functions instead"
    if name in program.called:
        near = _near(name, functions) or _near(name, [*program.bound, *given])
        return f"there is no function {_short(name)}" + (f"; nearest: {', '.join(near)}" if near else "")
    near = _near(name, [*program.bound, *given]) or _near(name, functions)
    return f"the name {_short(name)} is never assigned" + (f"; nearest: {near[0]}" if near else "")


class _Call:
    """One call of a function of the API, compared with the function's stub."""

    def __init__(self, node: ast.Call, name: str, stub: Stub) -> None:
        self.node, self.name = node, _short(name)
        self.keywords: Mapping[str, Mapping[str, Any]] = stub.get("keywords") or {}
        self.body: Mapping[str, Any] = stub.get("body") or {}
        self.body_fields: list[str] = list(self.body.get("fields") or ())
        self.has_pages = bool(stub.get("pages"))
        self.stars = any(isinstance(argument, ast.Starred) for argument in node.args)
        self.double_stars = any(keyword.arg is None for keyword in node.keywords)
        self.given = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
        self.positional = dict(zip(self.keywords, [] if self.stars else node.args, strict=False))

    def problems(self) -> Iterator[_Problem]:
        """Yield what is certainly wrong with the call."""
        yield from self._unknown_keywords()
        yield from self._positions()
        yield from self._missing()
        for name, value in {**self.positional, **self.given}.items():
            if name in self.keywords:
                text = self._wrong_value(name, self.keywords[name], value)
                if text:
                    kind, literal = _literal(value)
                    yield _Problem(value, text, self.name, name, kind, _json_text(literal))
        if self.body:
            yield from self._body_problems()

    def _unknown_keywords(self) -> Iterator[_Problem]:
        known = [*self.keywords, *(["body"] if self.body else []), *(["pages"] if self.has_pages else [])]
        any_field = bool(self.body) and (self.body.get("open") or (not self.body_fields and not self._is_array()))
        for name, value in self.given.items():
            if name not in known and name not in self.body_fields and not any_field:
                names = [*known, *self.body_fields]
                there = f"it takes {_listed(names)}" if names else "it takes no arguments"
                text = partial(self._unknown, f"{self.name}() has no argument", name, names, there)
                yield _Problem(value, text, self.name, "argument", name)

    def _unknown(self, what: str, name: str, names: Collection[str], there: str) -> str:
        return f"{what} {_short(name)!r}{_nearest(name, names)}; {there}"

    def _is_array(self) -> bool:
        return "object" not in (self.body.get("types") or ["object"])

    def _positions(self) -> Iterator[_Problem]:
        count, most = len(self.node.args), len(self.keywords)
        if not self.stars and count > most:
            names = f" ({_listed(self.keywords)})" if most else ""
            yield _Problem(
                self.node, f"{self.name}() takes at most {most} arguments by position{names}, but {count} are given"
            )
        for name in self.positional:
            if name in self.given:
                yield _Problem(self.node, f"{self.name}() gets the argument {name!r} twice, by position and by name")

    def _missing(self) -> Iterator[_Problem]:
        if self.stars or self.double_stars:
            return
        given = {**self.positional, **self.given}
        names = [name for name, spec in self.keywords.items() if spec.get("required") and name not in given]
        if names:
            word = "argument" if len(names) == 1 else "arguments"
            yield _Problem(self.node, f"{self.name}() needs the {word} {_listed(names)}")

    def _wrong_value(self, name: str, spec: Mapping[str, Any], value: ast.expr) -> str | Callable[[], str]:
        """Return what is wrong with a literal argument, or an empty text."""
        types, values = spec.get("types") or (), spec.get("values") or ()
        kind, literal = _literal(value)
        if not kind:
            return ""
        if kind == "null":
            wrong = spec.get("required") and types and "null" not in types and None not in values
            return f"{self.name}() needs the argument {name!r}, but it is None" if wrong else ""
        if types and not _fits(kind, literal, types):
            wanted = " or ".join(_ARTICLES.get(kind, f"a {kind}") for kind in types)
            return f"the argument {name!r} of {self.name}() has to be {wanted}, but it is {_shown(kind, literal)}"
        if values and literal is not None and literal not in values and "array" not in types:
            texts = [_json_text(item) for item in values]
            text = _json_text(literal)
            if text not in texts:
                what = f"the argument {name!r} of {self.name}() cannot be"
                alike = texts if kind == "string" else ()  # one number is not nearly another one
                return partial(self._unknown, what, text, alike, f"it is one of {_listed(texts)}")
        return ""

    def _body_problems(self) -> Iterator[_Problem]:
        if "body" in self.keywords:  # an argument of the operation has this name
            return
        value = self.given.get("body")
        as_keywords = [name for name in self.given if name in self.body_fields]
        if value is None:
            given = {name for name in self.given if name in self.body_fields or name in self.keywords}
            if not (self.stars or self.double_stars):
                yield from self._needs(self.node, given, bool(as_keywords))
            return
        kind, literal = _literal(value)
        types = self.body.get("types") or ()
        if kind == "null":
            if self.body.get("required") and "null" not in types and not as_keywords:
                yield _Problem(value, f"{self.name}() needs a body, but it is None")
        elif kind and types and not _fits(kind, literal, types):
            wanted = " or ".join(_ARTICLES.get(kind, f"a {kind}") for kind in types)
            yield _Problem(
                value, f"the body of {self.name}() has to be {wanted}, but it is {_ARTICLES.get(kind, f'a {kind}')}"
            )
        elif isinstance(value, ast.Dict):
            yield from self._literal_body(value, as_keywords)

    def _needs(self, node: ast.AST, given: Collection[str], some: bool) -> Iterator[_Problem]:
        """Yield the missing body, or the missing fields of a body that is given by some of its fields."""
        needs = [name for name in self.body.get("needs") or () if name not in given]
        if some and needs:
            yield _Problem(node, f"the body of {self.name}() needs {_listed(needs)}")
        elif not some and self.body.get("required") and not any(name in self.body_fields for name in given):
            fields = _listed(self.body.get("needs") or self.body_fields)
            yield _Problem(node, f"{self.name}() needs a body" + (f" with {fields}" if fields else ""))

    def _literal_body(self, value: ast.Dict, as_keywords: Sequence[str]) -> Iterator[_Problem]:
        keys = [_constant_text(key) if key is not None else None for key in value.keys]
        given = {*as_keywords, *(key for key in keys if key is not None)}
        if None not in keys and not self.double_stars:
            needs = [name for name in self.body.get("needs") or () if name not in given]
            if needs:
                yield _Problem(value, f"the body of {self.name}() needs {_listed(needs)}")
        if self.body.get("open") or not self.body_fields or self._is_array():
            return
        known, there = set(self.body_fields), f"it has {_listed(self.body_fields)}"
        for key, node in zip(keys, value.keys, strict=True):
            if key is not None and key not in known:
                text = partial(self._unknown, f"the body of {self.name}() has no field", key, self.body_fields, there)
                yield _Problem(node, text, self.name, "field", key)


def _literal(node: ast.expr) -> tuple[str, Any]:
    """Return the JSON type of a literal, or an empty text, and its value; None for values that are not constant."""
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        sign, node = (-1 if isinstance(node.op, ast.USub) else 1), node.operand
        if not isinstance(node, ast.Constant) or type(node.value) not in (int, float):
            return "", None
    if isinstance(node, ast.Constant):
        value = node.value
        if value is None:
            return "null", None
        if isinstance(value, bool):
            return "boolean", value
        if isinstance(value, int | float):
            return ("integer" if isinstance(value, int) else "number"), sign * value
        return ("string", value) if isinstance(value, str) else ("", None)
    if isinstance(node, ast.List | ast.Tuple | ast.ListComp):
        return "array", None
    return ("object", None) if isinstance(node, ast.Dict | ast.DictComp) else ("", None)


def _fits(kind: str, value: Any, types: Collection[str]) -> bool:
    """Return whether a literal is of one of the types, or is converted to one without loss before it is sent."""
    if kind in types or (kind == "integer" and "number" in types):
        return True
    if kind in ("integer", "number", "boolean") and "string" in types:
        return True
    if kind == "number" and "integer" in types:
        return isinstance(value, float) and value.is_integer()
    if kind == "string" and isinstance(value, str):
        return _spells(value, types)
    return "array" in types and kind != "null"


def _spells(text: str, types: Collection[str]) -> bool:
    """Return whether a text may be the spelling of a value of one of the types."""
    return (
        "array" in types
        or ("integer" in types and _INTEGER.fullmatch(text) is not None)
        or ("number" in types and _NUMBER.fullmatch(text) is not None)
        or ("boolean" in types and text.strip().lower() in ("true", "false"))
        or ("object" in types and text.lstrip()[:1] == "{")
        or ("null" in types and text in ("", "null"))
    )


def _json_text(value: Any) -> str:
    """Return a constant as the text that it has in a request."""
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value).lower()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)[:1000] if not isinstance(value, int) or abs(value) < 10**1000 else "a long number"


def _shown(kind: str, value: Any) -> str:
    return _ARTICLES.get(kind, f"a {kind}") if value is None else f"{_short(_json_text(value))!r}"


class _Seen:
    """The known shape of an expression, and the words for it in a message."""

    __slots__ = ("label", "shape")

    def __init__(self, shape: Shape, label: str) -> None:
        self.shape, self.label = shape, label if len(label) <= MOST_TEXT else "this value"


class _Shapes:
    """The shapes of expressions, inferred from the results of functions; an expression is looked at once."""

    def __init__(self, program: _Program, functions: Mapping[str, Stub]) -> None:
        self.program, self.functions = program, functions
        self._known: dict[int, _Seen | None] = {}
        self._names: dict[tuple[int, str], _Seen | None] = {}

    def of(self, node: ast.expr | None, scope: _Scope, depth: int = 0) -> _Seen | None:
        """Return the shape of an expression, or None if it is unknown."""
        infer = getattr(self, "_" + type(node).__name__, None)
        if infer is None or depth > MOST_DEPTH:
            return None
        if id(node) not in self._known:
            self._known[id(node)] = None  # for a value that depends on itself
            self._known[id(node)] = infer(node, scope, depth + 1)
        return self._known[id(node)]

    def _Name(self, node: ast.Name, scope: _Scope, depth: int) -> _Seen | None:
        found = scope.bindings(node.id)
        if found is None or node.id in self.program.uncertain:
            return None
        key = (id(found[0]), node.id)
        if key not in self._names:
            self._names[key] = None
            self._names[key] = self._agreed(found[1], depth)
        return self._names[key]

    def _agreed(self, bindings: Sequence[_Binding], depth: int) -> _Seen | None:
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

    def _NamedExpr(self, node: ast.NamedExpr, scope: _Scope, depth: int) -> _Seen | None:
        return self.of(node.value, scope, depth)

    def _Await(self, node: ast.Await, scope: _Scope, depth: int) -> _Seen | None:
        return self.of(node.value, scope, depth)

    def _BoolOp(self, node: ast.BoolOp, scope: _Scope, depth: int) -> _Seen | None:
        if isinstance(node.op, ast.And):
            return None
        return self._either(node.values, scope, depth)

    def _IfExp(self, node: ast.IfExp, scope: _Scope, depth: int) -> _Seen | None:
        return self._either([node.body, node.orelse], scope, depth)

    def _either(self, nodes: Sequence[ast.expr], scope: _Scope, depth: int) -> _Seen | None:
        """Return the shape of alternatives: empty ones have no fields to read, all others have to agree."""
        return self._agreed([_Binding(node, scope, ()) for node in nodes if not _is_empty(node)], depth)

    def _ListComp(self, node: Any, scope: _Scope, depth: int) -> _Seen | None:
        seen = self.of(node.elt, self.program.scopes.get(id(node), scope), depth)
        return seen and _Seen({"items": seen.shape, "of": seen.label}, "this list")

    _GeneratorExp = _SetComp = _ListComp

    def _Subscript(self, node: ast.Subscript, scope: _Scope, depth: int) -> _Seen | None:
        seen = self.of(node.value, scope, depth)
        name = _constant_text(node.slice)
        if name is not None:
            return self._field(seen, name)
        if isinstance(node.slice, ast.Slice):
            return seen if seen is not None and "items" in seen.shape else None
        kind, index = _literal(node.slice)
        return _item(seen, index if kind == "integer" else None)

    def _Call(self, node: ast.Call, scope: _Scope, depth: int) -> _Seen | None:
        function, arguments = node.func, node.args
        if isinstance(function, ast.Attribute):
            name = _constant_text(arguments[0]) if arguments else None
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

    def _built_in(self, name: str, node: ast.Call, scope: _Scope, depth: int) -> _Seen | None:
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
            default = _keyword(node, "default") or (arguments[1] if len(arguments) > 1 else None)
            return _item(seen, None) if default is None or _is_empty(default) else None
        return None

    def _of_several(self, name: str, node: ast.Call, scope: _Scope, depth: int) -> _Seen | None:
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
        text, default = _constant_text(arguments[1]), _keyword(node, "default")
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

    def _result_of(self, function: ast.expr, scope: _Scope, depth: int) -> _Seen | None:
        """Return the shape of what a function in an argument returns."""
        if isinstance(function, ast.Lambda):
            return self.of(function.body, self.program.scopes.get(id(function), scope), depth)
        if isinstance(function, ast.Name) and function.id in self.functions:
            shape = self.functions[function.id].get("result")
            return _Seen(shape, f"{function.id}(...)") if isinstance(shape, dict) else None
        return None

    def _gathered(self, node: ast.Call, scope: _Scope, depth: int) -> _Seen | None:
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


def _missing_fields(program: _Program, shapes: _Shapes) -> list[_Problem]:
    """Return the reads of fields that cannot exist, unless an alternative beside them can."""
    if program.bound.keys() & _ITERATING or any(
        _may_change(container, scope, any_key, shapes) for container, scope, any_key in program.changed
    ):
        return []
    missing: list[tuple[_Read, _Seen]] = []
    answered: set[int] = set()
    own = program.written | program.tested
    for read in program.reads:
        seen = shapes.of(read.base, read.scope)
        if seen is not None and read.key not in own and _lacks(seen.shape, read.key):
            missing.append((read, seen))
        elif read.group:
            answered.add(read.group)
    return [
        _Problem(read.node, partial(_no_field, seen, read.key), seen.label, id(seen.shape), read.key)
        for read, seen in missing
        if read.group not in answered
    ]


def _may_change(container: ast.expr, scope: _Scope, any_key: bool, shapes: _Shapes) -> bool:
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
        return f"{seen.label} is a list, so it has no field {_short(key)!r}; take an item of it"
    return f"{seen.label} has no field {_short(key)!r}{_nearest(key, fields)}; it has {_listed(fields)}"


def _near(name: str, names: Iterable[str]) -> list[str]:
    """Return the known name that is most like `name`, and up to two more that are very like it, best first."""
    known = {other[:MOST_TEXT]: other for other in sorted(set(names))}
    if len(known) > MOST_COMPARED:
        parts = [name[start : start + 3] for start in range(min(len(name), MOST_TEXT) - 2)]
        ranked = sorted(known, key=lambda other: -sum(part in other for part in parts))
        known = {other: known[other] for other in ranked[:MOST_COMPARED]}
    near = difflib.get_close_matches(name[:MOST_TEXT], known, 3)
    return [known[other] for other in near[:1] + difflib.get_close_matches(name[:MOST_TEXT], near[1:], 2, 0.75)]


def _nearest(name: str, names: Iterable[str]) -> str:
    near = _near(name, names)
    return f"; nearest: {_short(near[0])!r}" if near else ""


def _listed(names: Iterable[str]) -> str:
    known = [_short(name) for name in names]
    return ", ".join(known[:MOST_NAMES]) + (", …" if len(known) > MOST_NAMES else "")


def _short(value: object) -> str:
    text = value if isinstance(value, str) else _json_text(value)
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"
