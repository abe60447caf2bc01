"""The syntax of a program: its nodes, the names that it binds and calls, and the errors that it catches.

Standard library only: the host sends this module to the worker.
"""

from __future__ import annotations

import ast
from collections import Counter

from restgpt.tools.sandbox.guest.gather import bound_names

TYPE_CHECKING = False  # a name for type checkers; the import of `typing` would cost every worker milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any


class Program:
    """The nodes of a program, its bindings of names with the number for each name, and its calls of names."""

    def __init__(self, tree: ast.Module) -> None:
        self.nodes: Sequence[ast.AST] = list(ast.walk(tree))
        self.bindings = [(node, name) for node in self.nodes for name in bound_names(node)]
        self.bound = Counter(name for _, name in self.bindings)
        self.calls: list[tuple[Any, str]] = [(node, name) for node in self.nodes if (name := called_name(node))]

    def catching(self, *errors: str) -> set[int]:
        """Return the ids of the nodes in each `try` and `with` that names one of the errors."""
        found: set[int] = set()
        for node in self.nodes:
            if isinstance(node, ast.Try | ast.TryStar):
                caught = {name for handler in node.handlers for name in _names(handler.type)}
            elif isinstance(node, ast.With):
                caught = {name for item in node.items for name in _names(item.context_expr)}
            else:
                continue
            if not caught.isdisjoint(errors):
                found |= ids(node.body)
        return found


def ids(nodes: Iterable[ast.AST]) -> set[int]:
    """Return the ids of nodes and of all nodes in them."""
    return {id(inner) for node in nodes for inner in ast.walk(node)}


def called_name(node: ast.AST | None) -> str:
    """Return the name of the function that a node calls; empty if it is no call of a function by its name."""
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def constant_text(node: ast.AST | None) -> str | None:
    """Return the text of a constant; None for any other node."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _names(node: ast.expr | None) -> set[str]:
    """Return the names in an expression, those of attributes too; a bare `except` catches BaseException."""
    if node is None:
        return {"BaseException"}
    return {getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(node)}
