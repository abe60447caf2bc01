"""Functions with `yield`, which Monty lacks: they collect their values at once, where a program cannot tell it.

Values that are taken whole, as in `list(walk(data))`, may come from any such function. Else, as in a loop that may stop
early, the function is made of what only reads, and the program changes only new values that the function does not read.
"""

import ast
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from restgpt.tools.sandbox.gather import bound_names

LACKING = (
    "yield is here only in a function that makes no call, prints nothing, changes nothing and ends, over values that "
    "stay as they are: collect the values in a list and return it"
)

_STATEMENTS = (
    *(ast.FunctionDef, ast.Assign, ast.AugAssign, ast.Break, ast.Continue, ast.Expr, ast.For, ast.If, ast.Pass),
    ast.Return,
)
_READING = frozenset({
    *("abs", "all", "any", "bool", "casefold", "dict", "endswith", "enumerate", "findall", "float", "format", "get"),
    *("int", "isinstance", "items", "join", "keys", "len", "list", "lower", "max", "min", "range", "replace", "repr"),
    *("reversed", "round", "set", "sorted", "split", "splitlines", "startswith", "str", "strip", "sum", "tuple"),
    *("type", "upper", "values", "zip"),
})  # fmt: skip
_CHANGING = frozenset({
    *("add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem", "popleft", "remove"),
    *("reverse", "rotate", "setdefault", "sort", "subtract", "update"),
})  # fmt: skip
_MAKERS = frozenset({"Counter", "defaultdict", "deque", "dict", "list", "set", "sorted"})
_NEW = (ast.Constant, ast.Dict, ast.DictComp, ast.List, ast.ListComp, ast.Set, ast.SetComp)
_UNSURE = frozenset({
    *("DictReader", "StringIO", "chain", "count", "cycle", "delattr", "eval", "exec", "finditer", "insort", "islice"),
    *("iter", "reader", "setattr", "shuffle"),
})  # fmt: skip
"""What makes iterators, which others could go on with, and what changes values by other means than methods."""

_UNTRACED = (ast.ClassDef, ast.Global, ast.Nonlocal, ast.Try)


def collecting(tree: ast.Module, functions: Collection[str], whole: Collection[int]) -> set[int]:
    """Return the ids of the functions with `yield` that can collect; nodes with ids in `whole` are taken whole."""
    nodes = list(ast.walk(tree))
    bound = Counter(name for node in nodes for name in bound_names(node))
    methods = {id(part) for node in nodes if isinstance(node, ast.ClassDef) for part in node.body}
    makers = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef) and _collects(node)}
    makers = {name: node for name, node in makers.items() if bound[name] == 1 and id(node) not in methods}
    calls = [node for node in nodes if isinstance(node, ast.Call) and _id(node.func) in makers]
    if sum(_id(node) in makers for node in nodes) > len(calls):  # one of them is a value
        return set()
    if any(id(call) not in whole for call in calls):
        names = _READING - {*bound, *functions} | {*makers}
        if not all(_only_reads(node, names, bound) for node in makers.values()) or not _is_still(nodes, makers, calls):
            return set()
    return set(map(id, makers.values()))


def _collects(function: ast.FunctionDef) -> bool:
    """Return whether a function yields, and only gives values away: it gets none back, and returns none."""
    own = list(parts(function))
    yields = {id(node) for node in own if isinstance(node, ast.Yield | ast.YieldFrom)}
    given = {id(node.value) for node in own if isinstance(node, ast.Expr)}
    is_more = any(_id(node) == "StopIteration" or (isinstance(node, ast.Return) and node.value) for node in own)
    return bool(yields) and yields <= given and not is_more and not function.decorator_list


def parts(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function that are not those of a function or class in it."""
    for node in ast.iter_child_nodes(function):
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from parts(node)


def _only_reads(function: ast.FunctionDef, names: Collection[str], bound: Mapping[str, int]) -> bool:
    """Return whether a function is made of what reads, and reads around it only names that are bound once."""
    nodes = list(ast.walk(function))
    own = {name for node in nodes for name in bound_names(node)}
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    return (
        all(isinstance(node, _STATEMENTS) for node in nodes if isinstance(node, ast.stmt | ast.Lambda))
        and sum(isinstance(node, ast.FunctionDef) for node in nodes) == 1
        and all(_id(each) in names or getattr(each, "attr", "") in _READING for each in called)
        and not _changed(nodes)
        and all(bound[_id(node)] < 2 for node in nodes if _id(node) not in own)
    )


def _is_still(nodes: Sequence[ast.AST], makers: Mapping[str, ast.AST], calls: Sequence[ast.AST]) -> bool:
    """Return whether the program changes nothing that the functions may read, and has no iterators of them."""
    if any(isinstance(node, _UNTRACED) or getattr(node, "attr", _id(node)) in _UNSURE for node in nodes):
        return False
    inside = {id(part) for node in makers.values() for part in ast.walk(node)}
    read = {_id(part) for node in (*makers.values(), *calls) for part in ast.walk(node)}
    outside = [node for node in nodes if id(node) not in inside]
    values = _values(outside)
    new = {name for name, given in values.items() if all(map(_is_new, given))}
    lazy = {
        name
        for name, given in values.items()
        if any(each in calls or isinstance(each, ast.GeneratorExp) for each in given)
    }
    return _changed(outside) <= new - read and not lazy & read


def _changed(nodes: Collection[ast.AST]) -> set[str]:
    """Return the names of the values that nodes may change in their place; "" is one of no name."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            found.add(_id(node.value))
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found |= set() if isinstance(node.value, ast.Constant) else {node.target.id}
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _CHANGING:
            base: Any = node.func.value  # type: ignore[attr-defined]
            while isinstance(base, ast.Subscript) or getattr(getattr(base, "func", None), "attr", "") == "setdefault":
                base = getattr(base, "value", None) or base.func.value
            found.add(_id(base))
    return found


def _values(nodes: Collection[ast.AST]) -> Mapping[str, list[ast.expr | None]]:
    """Return what names are bound to; None stands for what is no value of an assignment."""
    found: defaultdict[str, list[ast.expr | None]] = defaultdict(list)
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                found[_id(target)].append(node.value)
    bound = Counter(name for node in nodes for name in bound_names(node))
    bound -= Counter(_id(node.target) for node in nodes if isinstance(node, ast.AugAssign))
    for name, count in bound.items():
        found[name] += [None] * (count - len(found[name]))
    found.pop("", None)
    return found


def _is_new(value: ast.expr | None) -> bool:
    return isinstance(value, _NEW) or (isinstance(value, ast.Call) and _id(value.func) in _MAKERS)


def _id(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""
