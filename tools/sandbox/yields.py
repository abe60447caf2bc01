"""Functions with `yield`, which Monty lacks: they collect their values at once, where a program cannot tell it.

Values that are taken whole, as in `list(walk(data))`, may come from any such function. Else, as in a loop that may stop
early, the function only reads, and while it is gone through the program changes only new lists, dicts and sets that the
function does not read.
"""

import ast
import builtins
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from restgpt.tools.sandbox.gather import bound_names

LACKING = (
    "yield is here only in a function that makes no call, prints nothing, changes nothing and ends, over values that "
    "stay as they are: collect the values in a list and return it"
)

_CHANGING = frozenset({
    *("add", "append", "appendleft", "clear", "discard", "extend", "extendleft", "flush", "insert", "move_to_end"),
    *("pop", "popitem", "popleft", "read", "readline", "readlines", "remove", "reverse", "rotate", "seek"),
    *("setdefault", "sort", "subtract", "update", "write", "writeheader", "writerow", "writerows"),
})  # fmt: skip
_ACTING = frozenset({
    *("StopIteration", "breakpoint", "delattr", "eval", "exec", "exit", "filter", "gather", "headers", "input"),
    *("iter", "map", "next", "one", "open", "print", "quit", "setattr", "stop"),
})  # fmt: skip
_STATEFUL = frozenset({"os", "random", "sys", "time"})
_MAKERS = frozenset({
    *("Counter", "copy", "defaultdict", "deque", "dict", "float", "frozenset", "int", "len", "list", "set"),
    *("sorted", "split", "str", "sum"),
})  # fmt: skip
_NEW = (
    *(ast.BinOp, ast.Compare, ast.Constant, ast.Dict, ast.DictComp, ast.JoinedStr, ast.List, ast.ListComp, ast.Set),
    *(ast.SetComp, ast.Tuple, ast.UnaryOp),
)
_APART = (ast.Call, ast.JoinedStr, ast.Subscript, ast.BinOp, ast.Compare, ast.Lambda)


@dataclass(frozen=True, slots=True)
class Collecting:
    """A function that collects what it yields; with `is_lazy` it keeps its error until its values are used up.

    `read` are the names that it reads, which must be no iterators: others could go on with them.
    """

    is_lazy: bool
    read: tuple[str, ...] = ()


def collecting(tree: ast.Module, functions: Collection[str], whole: Collection[int]) -> dict[int, Collecting]:
    """Return by their ids the functions with `yield` that can collect; nodes with ids in `whole` are taken whole."""
    program = _Program(tree, functions)
    found = {}
    for name, function in program.own.items():
        calls = [node for node in program.nodes if isinstance(node, ast.Call) and _id(node.func) == name]
        uses = sum(_id(node) == name for node in program.nodes)
        if not _collects(function) or id(function) in program.methods or uses > len(calls):
            continue
        lazy = [call for call in calls if id(call) not in whole]
        if not lazy:
            found[id(function)] = Collecting(is_lazy=False)
        elif (read := program.read_by(name, lazy)) is not None:
            found[id(function)] = Collecting(is_lazy=True, read=tuple(sorted(read)))
    return found


def parts(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function that are not those of a function or class in it."""
    for node in ast.iter_child_nodes(function):
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from parts(node)


def _collects(function: ast.FunctionDef) -> bool:
    """Return whether a function yields, and only gives values away: it gets none back, and returns none."""
    own = list(parts(function))
    yields = {id(node) for node in own if isinstance(node, ast.Yield | ast.YieldFrom)}
    given = {id(node.value) for node in own if isinstance(node, ast.Expr)}
    returns = any(isinstance(node, ast.Return) and node.value is not None for node in own)
    acts = any(_id(node) == "StopIteration" for node in own)
    return bool(yields) and yields <= given and not returns and not acts and not function.decorator_list


class _Program:
    """The functions of a program by their names, if each is bound once, and what each of them may do."""

    def __init__(self, tree: ast.Module, functions: Collection[str]) -> None:
        self.nodes = list(ast.walk(tree))
        binding = [(node, name) for node in self.nodes for name in bound_names(node)]
        bound = Counter(name for node, name in binding if not isinstance(node, ast.arg))
        self._several = {name for name, count in bound.items() if count > 1}
        self._bound = {name for _, name in binding}
        self._functions = functions
        defined = [node for node in self.nodes if isinstance(node, ast.FunctionDef)]
        self.own = {node.name: node for node in defined if node.name not in self._several}
        classes = [node for node in self.nodes if isinstance(node, ast.ClassDef)]
        self.methods = {
            id(part): part.name for node in classes for part in node.body if isinstance(part, ast.FunctionDef)
        }
        imports = [node for node in self.nodes if isinstance(node, ast.Import | ast.ImportFrom)]
        self._modules = {
            name: getattr(node, "module", None) or name
            for node in imports
            for part in node.names
            for name in bound_names(part)
        }

    def read_by(self, name: str, calls: list[ast.Call]) -> set[str] | None:
        """Return the names that a function reads; None if it does more, or if the program may change what it reads."""
        reached, waiting = {name}, [name]
        while waiting:
            names = {_id(node) for node in ast.walk(self.own[waiting.pop()])} & {*self.own} - reached
            reached |= names
            waiting += names
        if not all(self._only_reads(self.own[each]) for each in reached):
            return None
        inside = {id(node) for each in reached for node in ast.walk(self.own[each])}
        outside = [node for node in self.nodes if id(node) not in inside]
        free = {name for each in reached for name in self._free(self.own[each])}
        given = {_id(node) for call in calls for part in [*call.args, *call.keywords] for node in ast.walk(part)}
        if free & self._several or not _changed(outside) <= _new(outside) - free - given:
            return None
        arguments = self.own[name].args
        parameters = [arg.arg for arg in ast.walk(arguments) if isinstance(arg, ast.arg)]
        return {*parameters, *self._free(self.own[name])}

    def _free(self, function: ast.FunctionDef) -> set[str]:
        """Return the names of values that a function reads from around it."""
        nodes = list(ast.walk(function))
        inner = {name for node in nodes for name in bound_names(node)}
        read = {_id(node) for node in nodes} - inner - {"", *self.own, *self._modules, *self._functions}
        return {name for name in read if name in self._bound or not hasattr(builtins, name)}

    def _only_reads(self, function: ast.FunctionDef) -> bool:
        nodes = list(ast.walk(function))
        changed, new = _changed(nodes), _new(nodes)
        away = {
            _id(part) for node in nodes if isinstance(node, ast.Yield) and node.value for part in _given(node.value)
        }
        names = {_id(node) for node in nodes}
        return (
            changed <= new - away
            and names.isdisjoint({*self._functions, *_ACTING})
            and not any(isinstance(node, ast.Global | ast.Nonlocal) or _is_endless(node) for node in nodes)
            and all(self._is_known(node.func) for node in nodes if isinstance(node, ast.Call))
        )

    def _is_known(self, function: ast.expr) -> bool:
        """Return whether a call reads only, as far as it is known."""
        root = function
        while isinstance(root, ast.Attribute):
            root = root.value
        if self._modules.get(_id(root), "").partition(".")[0] in _STATEFUL:
            return False
        if isinstance(function, ast.Attribute):
            return function.attr not in self.methods.values()
        name = _id(function)
        return name in self.own or name in self._modules or (name not in self._bound and hasattr(builtins, name))


def _changed(nodes: Collection[ast.AST]) -> set[str]:
    """Return the names of the values that nodes may change in their place; "" is one of no name."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            found.add(_id(node.value))
        elif isinstance(node, ast.AugAssign) and not isinstance(node.value, ast.Constant):
            found.add(_id(node.target) or "".join(_changed([node.target])))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGING:
            base = node.func.value
            while isinstance(base, ast.Subscript) or getattr(getattr(base, "func", None), "attr", "") == "setdefault":
                base = base.value if isinstance(base, ast.Subscript) else base.func.value  # type: ignore[attr-defined]
            found.add(_id(base))
    return found


def _new(nodes: Collection[ast.AST]) -> set[str]:
    """Return the names that nodes bind to new values only, which nothing else has."""
    values: Mapping[str, list[ast.expr]] = defaultdict(list)
    for node in nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                values[_id(target)].append(node.value)
    bound = Counter(name for node in nodes for name in bound_names(node))
    bound -= Counter(_id(node.target) for node in nodes if isinstance(node, ast.AugAssign))
    return {name for name, given in values.items() if bound[name] == len(given) and all(map(_is_new, given))}


def _is_new(value: ast.expr) -> bool:
    function = value.func if isinstance(value, ast.Call) else None
    return isinstance(value, _NEW) or getattr(function, "id", getattr(function, "attr", "")) in _MAKERS


def _given(value: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a value that may be parts of it, and not what it was made of."""
    yield value
    if not isinstance(value, _APART):
        for node in ast.iter_child_nodes(value):
            yield from _given(node)


def _is_endless(node: ast.AST) -> bool:
    is_ever = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
    return is_ever and not any(isinstance(part, ast.Break | ast.Return) for part in ast.walk(node))


def _id(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""
