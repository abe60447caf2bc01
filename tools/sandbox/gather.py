"""The branches of `gather`: a program is changed before it runs, so that `gather` gets them as functions."""

import ast
from collections.abc import Iterator, Sequence


def rewritten(tree: ast.Module) -> ast.Module:
    """Return the tree, changed in place, with the branches of `gather` as functions, so that gather can run them.

    `gather(f(x), g(y))` becomes `gather(lambda: f(x), lambda: g(y))`. In `gather(*[f(x) for x in xs])` and
    `gather([f(x) for x in xs])` each lambda keeps its own `x`. Branches that await, yield or assign stay as they are.
    """
    nodes = list(ast.walk(tree))
    calls = [node for node in nodes if isinstance(node, ast.Call) and name_of(node.func) == "gather"]
    if calls and not any(name == "gather" for node in nodes for name in bound_names(node)):
        for call in calls:
            call.args = [_branch(argument) for argument in branches(call)]
    return tree


def branches(call: ast.Call) -> list[ast.expr]:
    """Return the arguments of gather; a literal list of branches is taken apart, a comprehension gets its star."""
    arguments = list(call.args)
    if len(arguments) == 1 and isinstance(arguments[0], ast.ListComp | ast.GeneratorExp):
        arguments = [ast.copy_location(ast.Starred(arguments[0], ast.Load()), arguments[0])]
    elif len(arguments) == 1 and isinstance(arguments[0], ast.List | ast.Tuple):
        arguments = arguments[0].elts
    return [
        element
        for argument in arguments
        for element in (
            argument.value.elts
            if isinstance(argument, ast.Starred) and isinstance(argument.value, ast.List | ast.Tuple)
            else [argument]
        )
    ]


def name_of(node: ast.AST | None) -> str:
    """Return the name that a node is; empty for another node."""
    return node.id if isinstance(node, ast.Name) else ""


def bound_names(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node itself binds, not those that its parts bind."""
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Store):
            yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0]
    elif isinstance(node, ast.Global | ast.Nonlocal):
        yield from node.names
    else:  # definitions, exception handlers, patterns, type parameters
        for attribute in ("name", "rest"):
            name = getattr(node, attribute, None)
            if isinstance(name, str):
                yield name


def _branch(argument: ast.expr) -> ast.expr:
    """Return the argument of gather for one branch, or for the branches of one comprehension."""
    if not isinstance(argument, ast.Starred):
        return _deferred(argument, ())
    inner = argument.value
    if isinstance(inner, ast.ListComp | ast.GeneratorExp) and not any(part.is_async for part in inner.generators):
        inner.elt = _deferred(inner.elt, _targets(inner))
    return argument


def _targets(node: ast.ListComp | ast.GeneratorExp) -> list[str]:
    """Return the names that a comprehension binds for each element, by its targets and by := in its conditions."""
    names: dict[str, None] = {}
    for part in node.generators:
        for root in (part.target, *part.ifs):
            for inner in ast.walk(root):
                target = inner.target if isinstance(inner, ast.NamedExpr) else inner if root is part.target else None
                if isinstance(target, ast.Name) and (root is not part.target or isinstance(target.ctx, ast.Store)):
                    names[target.id] = None
    return list(names)


def _deferred(node: ast.expr, names: Sequence[str]) -> ast.expr:
    """Return a lambda that evaluates `node` later with the present values of `names`; other nodes stay as they are."""
    if isinstance(node, ast.Lambda):
        taken = node.args
        if names and not (taken.args or taken.posonlyargs or taken.kwonlyargs or taken.vararg or taken.kwarg):
            node.args = _defaults(node, names)
        return node
    parts = list(ast.walk(node))
    if any(isinstance(part, ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr) for part in parts):
        return node
    if not any(isinstance(part, ast.Call) for part in parts):
        return node
    return ast.copy_location(ast.Lambda(_defaults(node, names), node), node)


def _defaults(node: ast.expr, names: Sequence[str]) -> ast.arguments:
    """Return keyword parameters with the present values of `names` as their defaults."""
    return ast.arguments(
        posonlyargs=[],
        args=[],
        vararg=None,
        kwonlyargs=[ast.copy_location(ast.arg(name), node) for name in names],
        kw_defaults=[ast.copy_location(ast.Name(name, ast.Load()), node) for name in names],
        kwarg=None,
        defaults=[],
    )
