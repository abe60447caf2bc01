"""Rewrites a program for Monty, which has a part of Python only, and says what of the program it does not have.

The lines of the new code are known as those of the old code, which people and models see. The host parses the program
here, but evaluates nothing of it.
"""

import ast
import builtins
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from restgpt.tools.sandbox.code import LACKING, bound_names, collecting, name_of, parts, rewritten, syntax_tree
from restgpt.tools.sandbox.modules import MODULES, OF_MONTY, PARTIAL, PARTS, lacking, part

_Node = TypeVar("_Node", bound=ast.AST)

GIVEN = ("gather", "stop", "left", "headers", "wait_until", "ApiError", "Rejected")
LIBRARY = ("rows", "field", "one", "number", "table")

_INSTEAD: Mapping[str, str] = {
    "enum": "use plain texts",
    "fractions": "use decimal",
    "collections.abc": "use list, dict and tuple in their place",
    "collections.OrderedDict": "use dict, which keeps its order",
    "pprint": "print json.dumps(value, indent=1)",
    "zoneinfo": "a moment has a fixed offset here, such as timezone(timedelta(hours=2))",
}
_NAMES: Mapping[str, str] = {
    **dict.fromkeys(("globals", "locals", "vars"), "keep the values in a dict"),
    **dict.fromkeys(("input", "breakpoint"), "end with stop(text) to ask for something"),
    **dict.fromkeys(("compile", "exec"), "write the code itself"),
    "super": "write the class without a base",
    "issubclass": "compare with type(value) or isinstance(value, ...)",
    "delattr": "set the attribute to None",
    "memoryview": "use bytes",
}
_LAZY = "a generator makes all its calls at once here: use a list if you want all, else a loop that breaks"
_TAKERS = frozenset({"dict", "frozenset", "gather", "list", "max", "min", "set", "sorted", "sum", "tuple"})
_PASSING = frozenset({"enumerate", "iter", "zip"})
_EAGER = frozenset({"map", "filter"})
_FIRST = frozenset({"next", "any", "all"})
_ATTRIBUTES = frozenset({"status", "body", "__name__", "hostname", "password", "port", "username"})
_METHODS = frozenset({"format_map", "geturl", "isocalendar", "maketrans", "sub", "timetuple", "translate"})
"""Methods of Python's own types that the prelude has."""

_OF_SEVERAL = frozenset({"difference", "intersection", "union"})
_VERBOSE = frozenset({"re.VERBOSE", "re.X"})
_TOKEN = re.compile(r"(\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|[ \t\n\r\f\v]+|#[^\n]*|(.)", re.DOTALL)

Names = Collection[str]
Full = Mapping[str, str]
Place = tuple[int, int]
"""A line, from 1, and an offset in bytes in it."""


@dataclass(frozen=True, slots=True)
class Translation:
    """A program as Monty runs it.

    `lines` has the lines of the program by the places where parts of the new code start, in order, and `unused` has the
    places of the calls whose value the program does not use, with whether it gives the value a name.
    """

    code: str
    lines: dict[Place, int]
    unused: dict[Place, bool]

    def line_at(self, place: Place) -> int:
        """Return the line of the program for a place in the code that Monty runs."""
        return next((line for start, line in reversed(self.lines.items()) if start <= place), 0)

    def place_at(self, offset: int) -> Place:
        """Return the place at an offset in bytes."""
        before = self.code.encode()[:offset]
        return before.count(b"\n") + 1, offset - before.rfind(b"\n") - 1


def translation(tree: ast.Module, functions: Collection[str], *, is_dry: bool = False) -> Translation:
    """Return the program as Monty runs it; the tree is changed. Raises ValueError for code that has no other form.

    In a dry run the program asks, where it reads a name that it gave to the answer of a call, whether there is one.
    """
    nodes = list(ast.walk(tree))
    bound, modules = {name for node in nodes for name in bound_names(node)}, imported(tree)
    makers = collecting(nodes, _whole(nodes, is_first=False))
    hidden = {name: hidden_name(name) for name in functions if name not in bound}
    if tree.body and isinstance(last := tree.body[-1], ast.Expr):
        last.value = ast.copy_location(_call("_host_shown", last.value), last.value)
    held = _held(tree, functions) if is_dry else set()
    tree = ast.fix_missing_locations(_Dialect(bound, hidden, held, modules, makers).visit(rewritten(tree)))
    code = ast.unparse(tree)
    new = syntax_tree(code)
    lines: dict[Place, int] = {}
    for old, node in zip(ast.walk(tree), ast.walk(new), strict=True):
        if type(old) is not type(node):
            raise ValueError("the code cannot be written in another form")
        if isinstance(node, ast.expr | ast.stmt):
            lines.setdefault((node.lineno, node.col_offset), old.lineno)  # type: ignore[attr-defined]
    unused = {(call.lineno, call.col_offset): named for call, named in _unused(new, held)}
    return Translation(code, dict(sorted(lines.items())), unused)


def in_dialect(tree: ast.Module) -> ast.Module:
    """Return code that calls no function of an API as Monty runs it; the tree is changed."""
    found: ast.Module = _Dialect((), {}, (), None, ()).visit(tree)
    return found


def hidden_name(function: str) -> str:
    """Return the name under which Monty has a function of the API, which may be called like a module of Python."""
    return f"_api_{function}"


def lacks(tree: ast.Module, functions: Collection[str]) -> list[tuple[int, str]]:
    """Return the lines and sentences of what the program uses and Monty does not have, each with a way round it."""
    nodes = list(ast.walk(tree))
    bound = {*functions, *(name for node in nodes for name in bound_names(node))}
    calls, taken = _callers(nodes, functions), _whole(nodes, is_first=True)
    modules, makers = imported(tree), collecting(nodes, _whole(nodes, is_first=False))
    known = {id(part) for node in nodes if id(node) in makers for part in parts(node)}
    known |= {id(part) for node in nodes if _terse(node, modules) is not None for part in ast.walk(node)}
    found = [(node.lineno, text) for node in nodes for text in _sentences(node, bound, modules, known)]  # type: ignore[attr-defined]
    found += [(node.lineno, _LAZY) for node in nodes if id(node) not in taken and _is_lazy(node, calls)]  # type: ignore[attr-defined]
    return [(line, f"{text}.") for line, text in sorted(set(found))[:20]]


def _callers(nodes: Collection[ast.AST], functions: Collection[str]) -> set[str]:
    """Return the names of the functions of the API, and of those of the program that call one of them."""
    found, before = set(functions), -1
    own = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    while len(found) > before:
        before = len(found)
        found.update(node.name for node in own if any(name_of(inner) in found for inner in ast.walk(node)))
    return found


def _taken(node: ast.AST) -> Sequence[ast.AST]:
    """Return the parts of a node of which it takes all items at once, or as in Python."""
    if isinstance(node, ast.Starred | ast.YieldFrom):
        return [node.value]
    if not isinstance(node, ast.Call):
        return []
    if name_of(node.func) in _FIRST and not any(isinstance(part, ast.NamedExpr) for part in ast.walk(node)):
        return node.args[:1]
    return node.args if name_of(node.func) in _TAKERS | _PASSING or getattr(node.func, "attr", "") == "join" else []


def _is_lazy(node: ast.AST, calls: Collection[str]) -> bool:
    """Return whether a node makes calls one by one in Python, and all at once in Monty."""
    later: list[ast.AST] = []
    if isinstance(node, ast.GeneratorExp):  # Python takes the outermost list at once
        later = [node.elt, *node.generators[0].ifs, *node.generators[1:]]
    elif isinstance(node, ast.Call) and name_of(node.func) in _EAGER - {*calls}:
        later = [*node.args[:1]]
    return any(name_of(inner) in calls for part in later for inner in ast.walk(part))


def _whole(nodes: Collection[ast.AST], *, is_first: bool) -> set[int]:
    """Return the ids of the nodes of which all items are taken at once; with `is_first` also those inside `next`."""
    found: set[int] = set()
    for node in nodes:  # what is around a node comes before it
        name = name_of(getattr(node, "func", node))
        if (name not in _PASSING or id(node) in found) and (is_first or name not in _FIRST):
            found.update(map(id, _taken(node)))
    return found


def imported(tree: ast.AST) -> dict[str, str]:
    """Return the names that only imports bind, each with the full name of what it is."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
            full = f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
            is_whole = isinstance(node, ast.ImportFrom) or alias.asname
            found[alias.asname or alias.name.partition(".")[0]] = full if is_whole else full.partition(".")[0]
    others = {name for node in ast.walk(tree) if not isinstance(node, ast.alias) for name in bound_names(node)}
    return {name: full for name, full in found.items() if name not in others}


def _full(node: ast.AST, modules: Mapping[str, str]) -> str:
    """Return the full name of an imported module, or of a part of it; empty for another node."""
    if isinstance(node, ast.Attribute):
        owner = _full(node.value, modules)
        return owner and f"{owner}.{node.attr}"
    return modules.get(name_of(node), "")


def _terse(node: ast.AST, modules: Mapping[str, str]) -> str | None:
    """Return the regular expression of a call with `re.VERBOSE` without its spaces and comments.

    It has to stand in the call, and what a space separates must not mean something else without it.
    """
    if not isinstance(node, ast.Call) or not _full(node.func, modules).startswith("re.") or not node.args:
        return None
    others = [*node.args[1:], *(keyword.value for keyword in node.keywords)]
    if not any(_full(part, modules) in _VERBOSE for value in others for part in ast.walk(value)):
        return None
    pattern = getattr(node.args[0], "value", None)
    kept, is_apart = "", False
    for token in _TOKEN.finditer(pattern) if isinstance(pattern, str) else ():
        text = token[1] or token[2]
        if text and is_apart and re.search(r"(?:[(*+?}][?*+{]|\(\?.|[\d{,][\d,}])\Z", kept[-2:] + text[0]):
            return None
        kept, is_apart = kept + (text or ""), not text
    return kept or None


def _sentences(
    node: ast.AST, bound: Collection[str], modules: Mapping[str, str], known: Collection[int]
) -> Iterator[str]:
    match node:
        case ast.Yield() | ast.YieldFrom() if id(node) not in known:
            yield LACKING
        case ast.Attribute() if _full(node, modules) in _VERBOSE and id(node) not in known:
            yield "re.VERBOSE is here only in a call with its pattern: write the expression without spaces and comments"
        case ast.Attribute() if (full := _full(node, modules)) and lacking(full):
            yield lacking(full)
        case ast.FunctionDef(name="__bool__" | "__len__" as name):
            yield f"{name} is not here: write an ordinary method"
        case ast.ClassDef(bases=bases, keywords=keywords) if keywords or any(
            name_of(base) != "object" for base in bases
        ):
            yield "a class cannot inherit here: write it without a base, and raise ValueError(text) for an error"
        case ast.FunctionDef(decorator_list=[ast.Name(id="property" | "staticmethod" | "classmethod" as name), *_]):
            yield f"@{name} is not here: write an ordinary method or function"
        case ast.Delete(targets=targets) if not all(_deleted(target) for target in targets):
            yield "del is not here: d.pop(k) takes a key away; build a new list without the items"
        case ast.Import() | ast.ImportFrom():
            yield from _of_imports(node, modules)
        case ast.Name(id=name) if name in _NAMES and name not in bound:
            yield f"{name} is not here: {_NAMES[name]}"
        case ast.Constant(value=str() as text) if re.search("[\ud800-\udfff]", _paired(text)):
            yield "half of a surrogate pair is no text here: write the whole character"
        case ast.Name(id=name) | ast.FunctionDef(name=name) if name.startswith(("_host_", "_api_")):
            yield f"{name} is a name of the sandbox: give what you write another one"


def _of_imports(node: ast.Import | ast.ImportFrom, modules: Full) -> Iterator[str]:
    for alias in node.names:
        module = alias.name if isinstance(node, ast.Import) else node.module or ""
        name = full if (full := f"{module}.{alias.name}") in _INSTEAD else module
        if way := _INSTEAD.get(name) or _INSTEAD.get(name.partition(".")[0]):
            yield f"{name} is not here: {way}"
        elif isinstance(node, ast.ImportFrom) and lacking(full):
            yield lacking(full)
        own, is_ours = alias.asname or module.partition(".")[0], module.partition(".")[0] in MODULES - OF_MONTY
        if isinstance(node, ast.Import) and is_ours and own not in modules:
            yield f"{own} is a module here: give your other value another name"


def _paired(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _deleted(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) or (
        isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice)
    )


def _held(tree: ast.Module, functions: Collection[str]) -> set[str]:
    """Return the names of answers of calls; one that is changed in its place is read there."""
    nodes = list(ast.walk(tree))
    given = [node for node in nodes if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)]
    names = {name_of(target) for node in given if name_of(node.value.func) in functions for target in node.targets}  # type: ignore[attr-defined]
    return names - {name_of(node.target) for node in nodes if isinstance(node, ast.AugAssign)} - {""}


def _unused(tree: ast.Module, held: set[str]) -> Iterator[tuple[ast.Call, bool]]:
    """Yield the calls whose value is not used: they are statements, or branches of a `gather` that is one.

    The value of a name that the program does not read is not used either; True stands beside such a call.
    """
    nodes = list(ast.walk(tree))
    read = {name_of(node) for node in nodes if isinstance(getattr(node, "ctx", None), ast.Load)}
    read |= {name_of(node.target) for node in nodes if isinstance(node, ast.AugAssign)} | {""}
    for node in nodes:
        names = {name_of(target) for target in node.targets} if isinstance(node, ast.Assign) else set()
        value: Any = node.value if isinstance(node, ast.Expr) or names else None  # type: ignore[attr-defined]
        value = _within(value, "_host_shown")
        if isinstance(value, ast.Call) and not names & (read - held):
            yield _within(value, "_host_wait"), bool(names)
        if isinstance(value, ast.Call) and not names & read and name_of(value.func) == "gather":
            bodies = [_within(part.body, "_host_wait") for part in ast.walk(value) if isinstance(part, ast.Lambda)]
            yield from ((body, False) for body in bodies if isinstance(body, ast.Call))


def _within(value: Any, function: str) -> Any:
    """Return the argument of a call of a function of the prelude; another value as it is."""
    return value.args[0] if isinstance(value, ast.Call) and name_of(value.func) == function else value


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(_name(name), list(arguments), [])


def _at(new: _Node, old: ast.AST) -> _Node:
    """Give the parts of a new node that have no place that of the old one."""
    for node in ast.walk(new):
        if isinstance(node, ast.expr | ast.stmt | ast.keyword | ast.arg | ast.excepthandler) and not hasattr(
            node, "lineno"
        ):
            ast.copy_location(node, old)
    return new


def _plain(value: ast.expr) -> ast.expr:
    if isinstance(value, ast.Starred):
        return ast.Starred(_call("_host_plain", value.value), ast.Load())
    return value if isinstance(value, ast.Constant | ast.JoinedStr) else _call("_host_plain", value)


def _first(name: str, items: ast.ListComp, default: Sequence[ast.expr]) -> ast.expr:
    """Return `next`, `any` or `all` over a list that ends with the item that is taken."""
    if name != "next":
        test = items.elt if name == "any" else ast.UnaryOp(ast.Not(), items.elt)
        items.generators[-1].ifs.append(test)
        items.elt, default = ast.Constant(name == "any"), [ast.Constant(name == "all")]
    items.elt = _call("_host_take", items.elt)
    return _call("_host_first", ast.Lambda(ast.arguments([], [], None, [], [], None, []), items), *default)


def _is_lacking(method: str, call: ast.Call) -> bool:
    """Return whether a method may not be in Monty, or not with these arguments."""
    if method in ("encode", "decode"):
        encoding = call.args[0] if call.args else ast.Constant("utf-8")
        return str(getattr(encoding, "value", "")).lower() not in ("utf-8", "utf8")
    is_one = len(call.args) == 1 and not isinstance(call.args[0], ast.Starred)
    return method in _METHODS or (method in _OF_SEVERAL and not is_one and not call.keywords)


def _gone(target: ast.expr) -> ast.stmt:
    if isinstance(target, ast.Subscript):
        return ast.Expr(ast.Call(ast.Attribute(target.value, "pop", ast.Load()), [target.slice], []))
    return ast.Assign([ast.Name(name_of(target), ast.Store())], ast.Constant(None))


class _Dialect(ast.NodeTransformer):
    """Writes what Monty does not have in its other words; each new node has the place of the old one."""

    def __init__(self, bound: Names, hidden: Full, held: Names, modules: Full | None, makers: Collection[int]) -> None:
        self._bound, self._hidden, self._held, self._makers = bound, hidden, held, makers
        self._modules, self._is_library = modules or {}, modules is None
        self._ends: list[bool] = []

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Make a function of one of the API that is a value, and look whether there is the answer that a name has."""
        if node.id in self._hidden and isinstance(node.ctx, ast.Load):
            call = self._waits(
                node.id, [ast.Starred(_name("_given"), ast.Load())], [ast.keyword(None, _name("_named"))]
            )
            parameters = ast.arguments([], [], ast.arg("_given"), [], [], ast.arg("_named"), [])
            return _at(ast.Lambda(parameters, call), node)
        if node.id in self._held and isinstance(node.ctx, ast.Load):
            told = _call("_host_wait", _call("_host_held", node))
            return _at(ast.IfExp(_call("_host_is_held", node), told, node), node)
        return node

    def _waits(self, function: str, positional: Sequence[ast.expr], named: Sequence[ast.keyword]) -> ast.Call:
        """Return a call of the API that waits for its answer; its arguments are plain values, as Monty sends them."""
        arguments = [_plain(value) for value in positional]
        keywords = [ast.copy_location(ast.keyword(item.arg, _plain(item.value)), item) for item in named]
        return _call("_host_wait", ast.Call(_name(self._hidden[function]), arguments, keywords))

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Write a character that is escaped as a surrogate pair as one."""
        if isinstance(node.value, str) and not node.value.isascii():
            node.value = _paired(node.value)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Read what an error of a call has, which Monty's errors do not have; its clock is in UTC."""
        full = _full(node, self._modules)
        if full in PARTS:
            return _name(part(full))
        if full in _VERBOSE:
            return ast.Constant(0)
        self.generic_visit(node)
        if node.attr == "utcnow":
            node.attr = "now"
        if node.attr in _ATTRIBUTES and isinstance(node.ctx, ast.Load):
            return _call("_host_getattr", node.value, ast.Constant(node.attr))
        return node

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        """Make an iterator of a generator, which Monty takes for a list."""
        self.generic_visit(node)
        return _call("_host_iter", ast.ListComp(node.elt, node.generators))

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        """Make a function of a method that is given as a key."""
        self.generic_visit(node)
        if node.arg == "key":
            node.value = self._function(node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Write `map`, `filter`, `next`, `any` and `all` as comprehensions, in which calls of the API can wait.

        The arguments of a call of the API become plain values, because others leave Monty as their descriptions.
        """
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("fromtimestamp", "utcfromtimestamp"):
            kind = name_of(node.func.value) or getattr(node.func.value, "attr", "")
            node.func = ast.copy_location(_name("_host_day" if kind == "date" else "_host_moment"), node.func)
        if (pattern := _terse(node, self._modules)) is not None:
            node.args[0] = ast.copy_location(ast.Constant(pattern), node.args[0])
        name = name_of(node.func)
        is_own = name in self._bound or name in self._hidden
        if name in self._hidden:
            node.args = [self.visit(argument) for argument in node.args]
            node.keywords = [self.visit(keyword) for keyword in node.keywords]
            return _at(self._waits(name, node.args, node.keywords), node)
        if name == "print":
            node.keywords = [item for item in node.keywords if _full(item.value, self._modules) != "sys.stdout"]
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and not self._is_library and _is_lacking(node.func.attr, node):
            method = node.func.attr
            is_several = method in _OF_SEVERAL
            node.args = [*([ast.Constant(method)] if is_several else []), node.func.value, *node.args]
            node.func = _name("_host_several" if is_several else f"_host_{method}")
            _at(node, node)
        match node.args:
            case [ast.Call(ast.Name("_host_iter"), [ast.ListComp() as made]), *rest] if name in _FIRST and not is_own:
                return _first(name, made, rest) if _taken(node) else node
        if name not in _EAGER or is_own or len(node.args) != 2 or node.keywords:
            return node
        function, items = self._function(node.args[0]), node.args[1]
        item = _name("_item")
        test = item if isinstance(function, ast.Constant) else ast.Call(function, [item], [])
        target = ast.Name("_item", ast.Store())
        parts = [ast.comprehension(target, items, [test] if name == "filter" else [], 0)]
        return _call("_host_iter", ast.ListComp(test if name == "map" else item, parts))

    def visit_Import(self, node: ast.Import) -> Any:
        """Leave out modules that Monty does not have: their parts have other names."""
        there = [alias for alias in node.names if alias.name.partition(".")[0] not in MODULES - OF_MONTY]
        return ast.copy_location(ast.Import(there) if there else ast.Pass(), node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        """Take the parts of modules that Monty does not have under their other names."""
        full = {f"{node.module}.{alias.name}": alias for alias in node.names}
        there = [alias for name, alias in full.items() if name not in PARTS and name not in PARTIAL]
        taken = [
            _at(ast.Assign([ast.Name(alias.asname or alias.name, ast.Store())], _name(part(name))), alias)
            for name, alias in full.items()
            if name in PARTS
        ]
        left = [ast.copy_location(ast.ImportFrom(node.module, there, node.level), node)] if there else []
        return [*left, *taken] or ast.copy_location(ast.Pass(), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Let a function with `yield` collect its values, and return them as an iterator."""
        is_maker = id(node) in self._makers
        self._ends.append(is_maker)
        self.generic_visit(node)
        self._ends.pop()
        if is_maker:
            begin = ast.Assign([ast.Name("_host_yields", ast.Store())], ast.List([], ast.Load()))
            node.body = [_at(begin, node), *node.body, self.visit_Return(_at(ast.Return(), node), is_end=True)]
        return node

    def visit_Return(self, node: ast.Return, *, is_end: bool = False) -> ast.Return:
        """Return what a function with `yield` has collected."""
        self.generic_visit(node)
        if is_end or (self._ends and self._ends[-1]):
            node.value = _at(_call("_host_iter", _name("_host_yields")), node)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Collect what a function yields."""
        self.generic_visit(node)
        if isinstance(given := node.value, ast.Yield | ast.YieldFrom):
            method = "append" if isinstance(given, ast.Yield) else "extend"
            add = ast.Attribute(_name("_host_yields"), method, ast.Load())
            node.value = _at(ast.Call(add, [given.value or ast.Constant(None)], []), given)
        return node

    def visit_Delete(self, node: ast.Delete) -> Any:
        """Write `del d[k]` as `d.pop(k)`, and `del x` as `x = None`."""
        self.generic_visit(node)
        return [ast.copy_location(_gone(target), node) for target in node.targets]

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Leave out the base `object`."""
        self.generic_visit(node)
        node.bases = []
        return node

    def _function(self, node: ast.expr) -> ast.expr:
        """Return a lambda for a method that is taken as a value, such as `counts.get` and `str.lower`."""
        if not isinstance(node, ast.Attribute):
            return node
        item = ast.Name("_given", ast.Load())
        is_type = isinstance(node.value, ast.Name) and isinstance(getattr(builtins, node.value.id, None), type)
        owner, arguments = (item, []) if is_type and name_of(node.value) not in self._bound else (node.value, [item])
        parameters = ast.arguments([], [ast.arg("_given")], None, [], [], None, [])
        return ast.Lambda(parameters, ast.Call(ast.Attribute(owner, node.attr, ast.Load()), list(arguments), []))
