"""The check of fields: constant names that a program reads of an answer, compared with the documented ones.

Only answers are compared whose fields the program cannot have changed: the call itself, as in `f(x)["name"]`, and a
name that is bound once, to a call, and of which the program only reads. Fields of their fields are not compared.

Standard library only: the host sends this module to the worker.
"""

from __future__ import annotations

import ast

from restgpt.tools.sandbox.guest.problem import Problem, listed, short
from restgpt.tools.sandbox.guest.syntax import called_name, constant_text, ids

TYPE_CHECKING = False  # a name for type checkers; the import of `typing` would cost every worker milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from restgpt.tools.sandbox.guest.syntax import Program

# Fields that a careful program looks for in any answer.
_FAILURES = frozenset({"error", "errors", "message", "status", "status_code", "code", "detail", "success"})
_READING = frozenset({"get", "items", "keys", "values"})
_LOOKED_AT = frozenset({"isinstance", "type", "hasattr", "issubclass"})
_LITERALS = (ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict)
# Nodes that read a name directly below them; others may pass its object on.
_READERS = (ast.FormattedValue, ast.For, ast.comprehension, ast.Compare, ast.UnaryOp, ast.If, ast.While)


def missing_fields(program: Program, functions: Mapping[str, Mapping[str, Any]]) -> Iterator[Problem]:
    """Yield the reads of fields that the answers of `functions` do not have.

    Skip reads whose KeyError is caught, alternatives to other reads, and fields that the program tests for or sets.
    """
    own = {constant_text(node.left) for node in program.nodes if isinstance(node, ast.Compare)}
    if own & _FAILURES:
        return
    stored = (node for node in program.nodes if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store))
    own |= {constant_text(node.slice) for node in stored}
    answers = _answers(program)
    skipped = program.catching("KeyError", "LookupError")
    skipped |= ids(node for node in program.nodes if sum(not isinstance(one, _LITERALS) for one in _either(node)) > 1)
    for node in program.nodes:
        base, key = _read(node)
        function = answers.get(base.id, "") if isinstance(base, ast.Name) else called_name(base)
        fields = functions[function]["result"] if function in functions else None
        if fields and not (key in fields or key in own or key in _FAILURES or id(node) in skipped):
            text, there = f"{short(function)}(...) has no field {short(key)!r}", f"; it has {listed(fields)}"
            yield Problem(node, text, key, fields, there)


def _answers(program: Program) -> dict[str, str]:
    """Return the names that are bound once and only read, each with the name of the function that it is bound to."""
    looked = {id(child) for node in program.nodes if _only_reads(program, node) for child in ast.iter_child_nodes(node)}
    bases = {id(base): key for base, key in map(_read, program.nodes) if isinstance(base, ast.Name)}
    unsafe = {
        node.id
        for node in program.nodes
        if isinstance(node, ast.Name)
        and not isinstance(node.ctx, ast.Store)
        and (id(node) not in looked or bases.get(id(node)) in _FAILURES)
    }
    return {
        target.id: called_name(node.value)
        for node in program.nodes
        if isinstance(node, ast.Assign) and len(node.targets) == 1
        for target in node.targets
        if isinstance(target, ast.Name) and program.bound[target.id] == 1 and target.id not in unsafe
    }


def _only_reads(program: Program, node: ast.AST) -> bool:
    """Return whether a node cannot change an object below it or give it another name.

    Functions of the API, of the library and of Python change no object that they get.
    """
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Attribute):
        return node.attr in _READING
    name = called_name(node)
    return isinstance(node, _READERS) or (bool(name) and name not in program.bound and name not in _LOOKED_AT)


def _read(node: Any) -> tuple[ast.expr | None, str]:
    """Return the expression and the field of `base["name"]` and `base.get("name")`; None for another node."""
    base, key = (node.func.value, node.args[0]) if _is_get(node) else (None, None)
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        base, key = node.value, node.slice
    name = constant_text(key)
    return (None, "") if name is None else (base, name)


def _is_get(node: Any) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "get" and bool(node.args)


def _either(node: Any) -> list[ast.expr]:
    """Return the expressions of which a node takes one: those of `or`, of a condition, of `get` with a default."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        return node.values
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    return [node, *node.args[1:2]] if _is_get(node) else []
