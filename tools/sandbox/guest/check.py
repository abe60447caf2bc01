"""The check of a program before its first request: its imports, names, calls, and the fields that it reads of answers.

A problem is reported only if it is certain. The work is bounded by the size of the program. The parser and the compiler
may raise RecursionError for deep nesting, which the caller handles. Standard library only: the host sends this module
to the worker.

Each function of the API is described by a stub; `keywords` says which of its parameters are required, `others` are the
names of further arguments, and `result` the only fields of an answer, or None if others may occur:

    {"name": "get_movie", "keywords": {"movie_id": true, "language": false}, "others": ["body", "name", "pages"],
     "needs_body": false, "result": null | ["id", "title"]}
"""

from __future__ import annotations

import ast
import builtins

from restgpt.tools.sandbox.guest.fields import missing_fields
from restgpt.tools.sandbox.guest.problem import Problem, listed, rendered, short
from restgpt.tools.sandbox.guest.syntax import Program, ids

TYPE_CHECKING = False  # a name for type checkers; the import of `typing` would cost every worker milliseconds
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from typing import Any

    Stub = Mapping[str, Any]

_ALWAYS = frozenset(dir(builtins)) | {
    *("__name__", "__file__", "__doc__", "__builtins__", "__annotations__", "__class__", "__module__", "__qualname__"),
}
# A program that mentions one of these may bind names that its syntax does not show, or do without them.
_DYNAMIC = frozenset(
    {"exec", "eval", "globals", "locals", "vars", "setattr", "__builtins__", "builtins", "__import__", "NameError"}
)
_NETWORK = (
    *("requests", "httpx", "aiohttp", "urllib3", "urllib.request", "http.client", "http.server", "xmlrpc", "pycurl"),
    *(
        "socket",
        "socketserver",
        "ssl",
        "ftplib",
        "smtplib",
        "imaplib",
        "poplib",
        "telnetlib",
        "websocket",
        "websockets",
    ),
)
_FUTURES = frozenset({"asyncio", "trio", "anyio", "threading", "concurrent", "multiprocessing"})
_ASYNCHRONOUS = (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


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

    `stubs` describe the functions that the program mentions, `names` are functions of the API that a wrong name may be
    meant for, `given` are the other names in its scope, `modules` the top-level modules that it can import. With
    `fields`, the fields of answers are checked too.
    """
    program = Program(tree)
    functions = {name: stub for name, stub in stubs.items() if name not in program.bound}
    found = [*_asynchronous(program), *_imports(program, modules), *_rebound(program, stubs)]
    for call, name in program.calls:
        if name in functions:
            found += _arguments(call, name, functions[name])
    if not any(isinstance(node, ast.Name) and node.id in _DYNAMIC for node in program.nodes):
        found += _unbound(program, {*stubs, *names}, given, modules)
        found += missing_fields(program, functions) if fields else ()
    return rendered(found)


def _asynchronous(program: Program) -> Iterator[Problem]:
    for node in program.nodes:
        if isinstance(node, _ASYNCHRONOUS):
            yield Problem(
                node,
                "the functions are ordinary functions: call them without async and await; "
                "gather(f(x), g(y)) calls several",
            )


def _imports(program: Program, modules: Collection[str]) -> Iterator[Problem]:
    caught = program.catching("ImportError", "ModuleNotFoundError", "Exception", "BaseException")
    for node in program.nodes:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        for name in [""] if getattr(node, "level", 0) else [f"{prefix}{alias.name}" for alias in node.names]:
            module = name.partition(".")[0]
            if network := next((known for known in _NETWORK if f"{name}.".startswith(f"{known}.")), ""):
                yield Problem(node, f"{network} is not here: call the functions instead")
            elif not (id(node) in caught or module in modules or module in ("__future__", "__main__")):
                advice = "use the functions and standard modules"
                if module in _FUTURES:
                    advice = "call the functions without await; gather(f(x), g(y)) calls several"
                yield Problem(node, f"{short(module) or 'a relative import'} is not here: {advice}")


def _rebound(program: Program, stubs: Collection[str]) -> Iterator[Problem]:
    """Yield the functions of the API, and those by which a program calls and ends, that it replaces by its own.

    A value under the name of a function that the program does not call is one, such as the version of a thing.
    """
    called = {name for _, name in program.calls}
    lambdas = (node.args for node in program.nodes if isinstance(node, ast.Lambda))
    own = ids([*lambdas, *(node.target for node in program.nodes if isinstance(node, ast.comprehension))])
    for node, name in program.bindings:
        is_function = isinstance(node, (*_DEFINITIONS, ast.alias))
        if (name in stubs or name in ("gather", "stop")) and id(node) not in own and (is_function or name in called):
            kind = "a function of the API" if name in stubs else "here already"
            yield Problem(node, f"{short(name)} is {kind}: call it, and give what you bind here another name")


def _unbound(
    program: Program, functions: Collection[str], given: Collection[str], modules: Collection[str]
) -> Iterator[Problem]:
    """Yield the names that are bound nowhere."""
    known = {*functions, *given, *_ALWAYS, *program.bound}
    if "*" in known:  # of `from module import *`
        return
    skipped = ids(part for node in program.nodes for part in _annotations(node))
    members = {
        node.value.id: node.attr
        for node in program.nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    called = {name for _, name in program.calls}
    near = sorted({*functions, *given, *program.bound})
    for node in program.nodes:
        if not isinstance(node, ast.Name) or node.id in known or id(node) in skipped:
            continue
        name, member = node.id, members.get(node.id)
        if member in functions:
            yield Problem(node, f"{short(name)} is not here: call {member}(...) directly")
        elif name in modules and member is not None:
            yield Problem(node, f"the module {name} is not imported: add `import {name}`")
        elif member is not None and name in _NETWORK:
            yield Problem(node, f"{name} is not here: call the functions instead")
        elif name in called:
            yield Problem(node, f"there is no function {short(name)}", name, near)
        else:
            yield Problem(node, f"the name {short(name)} is never assigned", name, near)


def _annotations(node: ast.AST) -> list[ast.expr]:
    """Return the annotations of a node, which Python may leave unevaluated."""
    parts = (getattr(node, name, None) for name in ("annotation", "returns"))
    return [part for part in parts if part is not None]


def _arguments(call: ast.Call, function: str, stub: Stub) -> Iterator[Problem]:
    """Yield the keywords that the function of a call does not have, and the required ones that the call lacks."""
    keywords, others = stub["keywords"], stub["others"]
    given = {keyword.arg: keyword for keyword in call.keywords}
    names = [*keywords, *others]
    there = f"; it takes {listed(names)}" if names else "; it takes no arguments"
    for name, keyword in given.items():
        if name is not None and name not in names:
            yield Problem(keyword, f"{short(function)}() has no argument {short(name)!r}", name, names, there)
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return
    if len(call.args) > len(keywords):
        few = f"takes at most {len(keywords)} arguments by position, but {len(call.args)} are given"
        yield Problem(call, f"{short(function)}() {few}", rest=there)
        return
    missing = [name for name, required in list(keywords.items())[len(call.args) :] if required and name not in given]
    if stub["needs_body"] and given.keys().isdisjoint(others):
        missing.append("body")
    if missing and None not in given:
        word = "argument" if len(missing) == 1 else "arguments"
        yield Problem(call, f"{short(function)}() needs the {word} {listed(missing)}")
