"""The check of a program before its first request: its imports, names, calls, and the result fields that it reads.

A problem is reported only if it is certain: an unknown shape, an open object, or a value that could come from two
places gives none. The work is bounded by the size of the program. The parser and the compiler may raise RecursionError
for deep nesting, which the caller handles. Standard library only: the host sends this module to the worker.
"""

from __future__ import annotations

import ast
import builtins
from functools import partial

from restgpt.tools.sandbox.guest.calls import Call
from restgpt.tools.sandbox.guest.problem import Problem, near_names, rendered, short
from restgpt.tools.sandbox.guest.shapes import Shapes, missing_fields, unequal_types
from restgpt.tools.sandbox.guest.syntax import Program

TYPE_CHECKING = False  # a name for type checkers; the import of `typing` would cost every worker milliseconds
if TYPE_CHECKING:
    import ast
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from typing import Any

    Stub = Mapping[str, Any]

MOST_CALLS = 2000  # calls that are compared with stubs

_ALWAYS = frozenset(dir(builtins)) | {
    *("__name__", "__file__", "__doc__", "__builtins__", "__annotations__", "__class__", "__module__", "__qualname__"),
}
_DYNAMIC = frozenset({"exec", "eval", "globals", "locals", "vars", "setattr", "__builtins__", "builtins", "__import__"})
_CLIENTS = frozenset({"requests", "httpx", "aiohttp", "urllib3", "http", "urllib"})
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
    program = Program(tree, stubs)
    functions = {name: stub for name, stub in stubs.items() if name not in program.bound}
    found = [*_asynchronous(program), *_imports(program, modules), *_rebound(program)]
    found += _unbound(program, {*stubs, *names}, given, modules)
    for call in program.calls[:MOST_CALLS]:
        if call.name in functions:
            found += Call(call.node, call.name, functions[call.name]).problems()
    if fields:
        shapes = Shapes(program, functions)
        found += [*missing_fields(program, shapes), *unequal_types(program, shapes)]
    return rendered(found)


def _asynchronous(program: Program) -> Iterator[Problem]:
    first = min(program.asynchronous, key=lambda node: getattr(node, "lineno", 0), default=None)
    if first is not None:
        yield Problem(
            first,
            "the functions are ordinary functions: call them without async and await; gather(f(x), g(y)) calls several",
        )


def _imports(program: Program, modules: Collection[str]) -> Iterator[Problem]:
    for node, name, is_caught in program.imports:
        module = name.partition(".")[0]
        if network := next((known for known in _NETWORK if f"{name}.".startswith(f"{known}.")), ""):
            yield Problem(node, f"{network} is not here: call the functions instead")
            continue
        if is_caught or module in modules or module in ("__future__", "__main__"):
            continue
        if module in _FUTURES:
            advice = "call the functions without await; gather(f(x), g(y)) calls several"
        elif not module:
            module, advice = "a relative import", "there are no other files"
        else:
            advice = "use the functions and standard modules"
        yield Problem(node, f"{short(module)} is not here: {advice}")


def _rebound(program: Program) -> Iterator[Problem]:
    """Yield the functions of the API, and those by which a program calls and ends, that it replaces by its own.

    A value under the name of a function that the program does not call is one, such as the version of a thing.
    """
    for name, node in program.stated.items():
        is_function = isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
        )
        if (name in program.stubs or name in ("gather", "stop")) and (is_function or name in program.called):
            kind = "a function of the API" if name in program.stubs else "here already"
            yield Problem(node, f"{short(name)} is {kind}: call it, and give what you bind here another name")


def _unbound(
    program: Program, functions: Collection[str], given: Collection[str], modules: Collection[str]
) -> Iterator[Problem]:
    """Yield the names that are bound nowhere; nothing is certain if the program binds names dynamically."""
    if program.takes_all or any(name in _DYNAMIC for name in program.loads):
        return
    for name, node in program.loads.items():
        if not (name in program.bound or name in functions or name in given or name in _ALWAYS):
            yield Problem(node, partial(_no_name, name, program, functions, given, modules))


def _no_name(
    name: str, program: Program, functions: Collection[str], given: Collection[str], modules: Collection[str]
) -> str:
    member = program.members.get(name)
    if member in functions:
        return f"{short(name)} is not here: call {member}(...) directly"
    if name in modules and member is not None:
        return f"the module {name} is not imported: add `import {name}`"
    if member is not None and name in _CLIENTS:
        return f"{name} is not here: call the functions instead"
    if name in program.called:
        near = near_names(name, functions) or near_names(name, [*program.bound, *given])
        return f"there is no function {short(name)}" + (f"; nearest: {', '.join(near)}" if near else "")
    near = near_names(name, [*program.bound, *given]) or near_names(name, functions)
    return f"the name {short(name)} is never assigned" + (f"; nearest: {near[0]}" if near else "")
