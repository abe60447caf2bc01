"""Rewrites a program for Monty, which has a part of Python only, and says what of the program it does not have.

The lines of the new code are known as those of the old code, which people and models see. The host parses the program
here, but evaluates nothing of it.
"""

import ast
import builtins
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from restgpt.tools.sandbox.guest.gather import bound_names, rewritten
from restgpt.tools.sandbox.guest.replay import FILENAME, LIBRARY

MODULES = frozenset({
    *("__future__", "asyncio", "base64", "binascii", "bisect", "collections", "copy", "csv", "dataclasses", "datetime"),
    *("decimal", "functools", "hashlib", "itertools", "json", "math", "os", "pathlib", "random", "re", "sys"),
    *("textwrap", "time", "tomllib", "typing", "unicodedata"),
})  # fmt: skip
"""The modules that Monty has."""

_INSTEAD: Mapping[str, str] = {
    "statistics": "write sum(values) / len(values), and sorted(values)[len(values) // 2] for the median",
    "io": "split the text into lines with text.splitlines()",
    "urllib": "give the functions plain values, which they encode, and split addresses with text.split()",
    "operator": "write a lambda, such as key=lambda item: item['name']",
    "enum": "use plain texts",
    "heapq": "use sorted(values)[:n]",
    "string": "write the letters as a text",
    "fractions": "use decimal",
    "collections.abc": "use list, dict and tuple in their place",
    "collections.OrderedDict": "use dict, which keeps its order",
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
_DECORATORS = frozenset({"classmethod", "staticmethod", "property"})
_LAZY = frozenset({"next", "any", "all"})
_EAGER = frozenset({"map", "filter"})


@dataclass(frozen=True, slots=True)
class Translation:
    """A program as Monty runs it.

    `lines` maps its lines to those of the program, and `unused` has the offsets in bytes of the calls whose value the
    program does not use.
    """

    code: str
    lines: Mapping[int, int]
    unused: frozenset[int]

    def line_at(self, offset: int) -> int:
        """Return the line of the program for an offset in bytes of the code that Monty runs."""
        return self.lines.get(self.code.encode()[:offset].count(b"\n") + 1, 0)


def translation(tree: ast.Module, functions: Collection[str]) -> Translation:
    """Return the program as Monty runs it; the tree is changed. Raises ValueError for code that has no other form."""
    bound = {name for node in ast.walk(tree) for name in bound_names(node)}
    hidden = {name: hidden_name(name) for name in functions if hasattr(builtins, name) and name not in bound}
    if tree.body and isinstance(last := tree.body[-1], ast.Expr):
        last.value = ast.copy_location(_call("_host_shown", last.value), last.value)
    tree = ast.fix_missing_locations(_Dialect(bound, hidden, {*functions} - bound).visit(rewritten(tree)))
    code = ast.unparse(tree)
    new = ast.parse(code, FILENAME)
    lines: dict[int, int] = {}
    for old, node in zip(ast.walk(tree), ast.walk(new), strict=True):
        if type(old) is not type(node):
            raise ValueError("the code cannot be written in another form")
        if hasattr(node, "lineno"):
            lines[node.lineno] = min(lines.get(node.lineno, old.lineno), old.lineno)  # type: ignore[attr-defined]
    starts = [0]
    for line in code.encode().split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    unused = frozenset(starts[call.lineno - 1] + call.col_offset for call in _unused(new))
    return Translation(code, lines, unused)


def hidden_name(function: str) -> str:
    """Return the name under which Monty has a function of the API that is called like one of Python."""
    return f"_api_{function}" if hasattr(builtins, function) else function


def lacks(tree: ast.Module, functions: Collection[str]) -> list[tuple[int, str]]:
    """Return the lines and sentences of what the program uses and Monty does not have, each with a way round it."""
    bound = {name for node in ast.walk(tree) for name in bound_names(node)}
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    found = [
        (node.lineno, f"{sentence}.")  # type: ignore[attr-defined]
        for node in ast.walk(tree)
        for sentence in _sentences(node, bound, {*functions, *own})
    ]
    return sorted(set(found))[:20]


def _sentences(node: ast.AST, bound: Collection[str], calls: Collection[str]) -> Iterator[str]:
    match node:
        case ast.Yield() | ast.YieldFrom():
            yield "yield is not here: collect the values in a list and return it"
        case ast.ClassDef(bases=bases, keywords=keywords) if keywords or any(_id(base) != "object" for base in bases):
            yield "a class cannot inherit here: write it without a base, and raise ValueError(text) for an error"
        case ast.ClassDef(body=body):
            names = {_id(mark) for part in body for mark in getattr(part, "decorator_list", ())}
            yield from (f"@{name} is not here: write an ordinary method" for name in sorted(names & _DECORATORS))
        case ast.Delete(targets=targets) if not all(_deleted(target) for target in targets):
            yield "del is not here: d.pop(k) takes a key away; build a new list without the items"
        case ast.TryStar():
            yield "except* is not here: use except"
        case ast.Import() | ast.ImportFrom():
            yield from _of_imports(node)
        case ast.Name(id=name) if name in _NAMES and name not in bound and name not in calls:
            yield f"{name} is not here: {_NAMES[name]}"
        case ast.Call(func=ast.Name(id=name), args=[argument, *_]) if name in _LAZY:
            if _evaluates(argument, calls):
                yield f"{name}(...) would make all calls at once here: write a loop that breaks at the one you want"


def _of_imports(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    for alias in node.names:
        names = [alias.name] if isinstance(node, ast.Import) else [node.module or "", f"{node.module}.{alias.name}"]
        for name in names:
            root = name.partition(".")[0]
            way = _INSTEAD.get(name) or (_INSTEAD.get(root) if root not in MODULES else "")
            if way:
                yield f"{name} is not here: {way}"
                break


def _evaluates(node: ast.AST, calls: Collection[str]) -> bool:
    """Return whether an argument makes calls one by one in Python: a generator, or `map` over a function."""
    is_lazy = isinstance(node, ast.GeneratorExp) or (isinstance(node, ast.Call) and _id(node.func) in _EAGER)
    return is_lazy and any(isinstance(inner, ast.Name) and inner.id in calls for inner in ast.walk(node))


def _deleted(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) or (
        isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice)
    )


def _id(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _unused(tree: ast.Module) -> Iterator[ast.Call]:
    """Yield the calls whose value is not used: they are statements, or branches of a `gather` that is one.

    The value of a name that the program does not read is not used either.
    """
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    for node in ast.walk(tree):
        is_unread = isinstance(node, ast.Assign) and all(_id(target) not in {"", *read} for target in node.targets)
        if isinstance(node, ast.Expr) or is_unread:
            value: Any = node.value  # type: ignore[attr-defined]
            if isinstance(value, ast.Call) and _id(value.func) == "_host_shown":
                value = value.args[0]
            if isinstance(value, ast.Call):
                yield value
            if isinstance(value, ast.Call) and _id(value.func) == "gather":
                branches = [part for part in ast.walk(value) if isinstance(part, ast.Lambda)]
                yield from (branch.body for branch in branches if isinstance(branch.body, ast.Call))


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _plain(value: ast.expr) -> ast.expr:
    if isinstance(value, ast.Starred):
        return ast.Starred(_call("_host_plain", value.value), ast.Load())
    return value if isinstance(value, ast.Constant | ast.JoinedStr) else _call("_host_plain", value)


class _Dialect(ast.NodeTransformer):
    """Writes what Monty does not have in its other words; each new node has the place of the old one."""

    def __init__(self, bound: Collection[str], hidden: Mapping[str, str], functions: Collection[str]) -> None:
        self._bound, self._hidden, self._functions = bound, hidden, functions

    def visit(self, node: ast.AST) -> Any:
        """Return the node, or what stands in its place."""
        new = super().visit(node)
        if isinstance(node, ast.expr | ast.stmt) and isinstance(new, ast.AST) and new is not node:
            for inner in ast.walk(new):
                if isinstance(inner, ast.expr | ast.stmt | ast.arg) and not hasattr(inner, "lineno"):
                    ast.copy_location(inner, node)
        return new

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Give a function of the API that is called like one of Python its other name."""
        return ast.Name(self._hidden.get(node.id, node.id), node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Read what an error of a call has, which Monty's errors do not have; its clock is in UTC."""
        self.generic_visit(node)
        if _id(node.value) == "sys" and node.attr == "exit":
            return ast.Name("exit", ast.Load())
        if node.attr == "utcnow":
            node.attr = "now"
        if node.attr in ("status", "body", "__name__") and isinstance(node.ctx, ast.Load):
            return _call("_host_read", node.value, ast.Constant(node.attr))
        return node

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        """Make an iterator of a generator, which Monty takes for a list."""
        self.generic_visit(node)
        return _call("iter", ast.ListComp(node.elt, node.generators))

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        """Make a function of a method that is given as a key."""
        self.generic_visit(node)
        if node.arg == "key":
            node.value = self._function(node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Write `map` and `filter` over one list as comprehensions, in which calls of the API can wait.

        The arguments of a call of the API become plain values, because others leave Monty as their descriptions.
        """
        name = _id(node.func)
        is_own = name in self._bound or name in self._hidden
        self.generic_visit(node)
        if name in self._functions:
            node.args = [_plain(argument) for argument in node.args]
            for keyword in node.keywords:
                keyword.value = _plain(keyword.value)
        if name not in _EAGER or is_own or len(node.args) != 2 or node.keywords:
            return node
        function, items = self._function(node.args[0]), node.args[1]
        item = ast.Name("_item", ast.Load())
        test = item if isinstance(function, ast.Constant) else ast.Call(function, [item], [])
        target = ast.Name("_item", ast.Store())
        parts = [ast.comprehension(target, items, [test] if name == "filter" else [], 0)]
        return _call("iter", ast.ListComp(test if name == "map" else item, parts))

    def visit_Delete(self, node: ast.Delete) -> Any:
        """Write `del d[k]` as `d.pop(k)`, and `del x` as `x = None`."""
        self.generic_visit(node)
        new: list[ast.stmt] = []
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                pop = ast.Attribute(target.value, "pop", ast.Load())
                new.append(ast.Expr(ast.Call(pop, [target.slice], [])))
            elif isinstance(target, ast.Name):
                new.append(ast.Assign([ast.Name(target.id, ast.Store())], ast.Constant(None)))
        for made in new:
            for inner in ast.walk(made):
                if isinstance(inner, ast.expr | ast.stmt) and not hasattr(inner, "lineno"):
                    ast.copy_location(inner, node)
        return new

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
        owner, arguments = (item, []) if is_type and _id(node.value) not in self._bound else (node.value, [item])
        parameters = ast.arguments([], [ast.arg("_given")], None, [], [], None, [])
        return ast.Lambda(parameters, ast.Call(ast.Attribute(owner, node.attr, ast.Load()), list(arguments), []))


_TYPES = """
_lib_Mapping = dict
_lib_Iterable = (tuple, set, frozenset, range, type({}.keys()), type({}.values()), type({}.items()), type(iter([])))
"""  # of `collections.abc`, for the library


@lru_cache(maxsize=1)
def library() -> str:
    """Return the functions of `guest/library.py` in the words of Monty, under names that no program has."""
    spec = find_spec("restgpt.tools.sandbox.guest.library")
    if spec is None or spec.origin is None:
        raise ImportError("the library cannot be read. Install restgpt as a package with its source files.")
    tree_body = ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body
    kept = [part for part in tree_body if not _left_out(part)]
    tree = _Dialect((), {}, ()).visit(ast.Module(kept, []))
    defined = [part for part in tree_body if not isinstance(part, ast.Import | ast.ImportFrom | ast.If)]
    own = {name for part in defined for node in [part, *_targets(part)] for name in bound_names(node)}
    used = {_id(node) for node in ast.walk(tree)}
    python = sorted(name for name in used - own if hasattr(builtins, name))
    tree = _Renamed({*own, *python, "re", "Mapping", "Iterable"}).visit(tree)
    public = "\n".join(f"{name} = _lib_{name}" for name in LIBRARY)
    taken = "\n".join(f"_lib_{name} = {name}" for name in python)
    return f"{_TYPES}{taken}\n{ast.unparse(ast.fix_missing_locations(tree))}\n{public}\n"


def _left_out(part: ast.stmt) -> bool:
    """Return whether Monty gets a part of the library otherwise: imports, names for types, functions of the host."""
    names = {part.name} if isinstance(part, ast.FunctionDef) else {_id(node) for node in _targets(part)}
    return isinstance(part, ast.Import | ast.ImportFrom | ast.If) or bool(names & {"stop", "ratio", "likest"})


def _targets(part: ast.stmt) -> Sequence[ast.expr]:
    targets = part.targets if isinstance(part, ast.Assign) else [part.target] if isinstance(part, ast.AnnAssign) else []
    return [node for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]


class _Renamed(ast.NodeTransformer):
    """Gives names that a program may have too another one."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names

    def _new(self, name: str) -> str:
        return f"_lib_{name}" if name in self._names else name

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Rename a name."""
        return ast.Name(self._new(node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """Rename a parameter, and leave out its annotation."""
        return ast.arg(self._new(node.arg))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Rename a function, and leave out its annotation."""
        self.generic_visit(node)
        node.name, node.returns = self._new(node.name), None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        """Leave out an annotation."""
        self.generic_visit(node)
        return ast.Assign([node.target], node.value) if node.value is not None else None
