"""Functions with `yield`, which Monty lacks: where all their values are taken at once, they can collect them."""

import ast
from collections import Counter
from collections.abc import Collection, Iterator

from restgpt.tools.sandbox.gather import bound_names, name_of

LACKING = (
    "a function with yield gives all its values at once here: write list(...) around each call of it, or collect the "
    "values in a list and return it"
)


def collecting(nodes: Collection[ast.AST], whole: Collection[int]) -> set[int]:
    """Return the ids of the functions with `yield` of which each call is one of the nodes that are taken whole."""
    bound = Counter(name for node in nodes for name in bound_names(node))
    methods = {id(part) for node in nodes if isinstance(node, ast.ClassDef) for part in node.body}
    called = Counter(name_of(node.func) for node in nodes if isinstance(node, ast.Call) and id(node) in whole)
    used = Counter(map(name_of, nodes))
    return {
        id(node)
        for node in nodes
        if isinstance(node, ast.FunctionDef) and _collects(node) and bound[node.name] == 1 and id(node) not in methods
        if used[node.name] == called[node.name]
    }


def _collects(function: ast.FunctionDef) -> bool:
    """Return whether a function yields, and only gives values away: it gets none back, and returns none."""
    own = list(parts(function))
    yields = {id(node) for node in own if isinstance(node, ast.Yield | ast.YieldFrom)}
    given = {id(node.value) for node in own if isinstance(node, ast.Expr)}
    is_more = any(name_of(node) == "StopIteration" or (isinstance(node, ast.Return) and node.value) for node in own)
    return bool(yields) and yields <= given and not is_more and not function.decorator_list


def parts(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function that are not those of a function or class in it."""
    for node in ast.iter_child_nodes(function):
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from parts(node)
