"""The check of a program before its first request: its imports, names, calls, and the fields that it reads of answers.

A problem is reported only if it is certain. The work is bounded by the size of the program.

Each function of the API is described by a stub; `keywords` says which of its parameters are required, `claims` names
the refusals of those that it may lack all the same, `others` are the names of further arguments, `result` the only
fields of an answer, or None if others may occur, and `truths` the names of all fields in it that are true or false:

    {"name": "get_movie", "keywords": {"movie_id": true, "language": false}, "claims": {}, "others": ["body", "name"],
     "needs_body": false, "result": null | ["id", "title"], "truths": ["adult"]}
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from restgpt.tools.sandbox.code import bound_names, name_of
from restgpt.tools.sandbox.library import listed, nearest, short

Stub = Mapping[str, Any]

MOST_PROBLEMS = 20

_ALWAYS = frozenset(dir(builtins)) | {
    *("__name__", "__file__", "__doc__", "__builtins__", "__annotations__", "__class__", "__module__", "__qualname__"),
}
# A program that mentions one of these may bind names that its syntax does not show, or do without them.
_DYNAMIC = frozenset(
    {"exec", "eval", "globals", "locals", "vars", "setattr", "__builtins__", "builtins", "__import__", "NameError"}
)
_NETWORK = (
    *("requests", "httpx", "aiohttp", "urllib3", "urllib.request", "http.client", "http.server", "xmlrpc", "pycurl"),
    *("socket", "socketserver", "ssl", "websocket", "websockets"),
    *("ftplib", "smtplib", "imaplib", "poplib", "telnetlib"),
)
_FUTURES = frozenset({"asyncio", "trio", "anyio", "threading", "concurrent", "multiprocessing"})
_ASYNCHRONOUS = (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# Fields that a careful program looks for in any answer.
_FAILURES = frozenset({"error", "errors", "message", "status", "status_code", "code", "detail", "success"})
_READING = frozenset({"get", "items", "keys", "values"})
_LOOKED_AT = frozenset({"isinstance", "type", "hasattr", "issubclass"})
_LITERALS = (ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict)
# Nodes that read a name directly below them; others may pass its object on.
_READERS = (ast.FormattedValue, ast.For, ast.comprehension, ast.Compare, ast.UnaryOp, ast.If, ast.While)


def problems(
    tree: ast.Module,
    stubs: Mapping[str, Stub],
    names: Sequence[str],
    given: Collection[str],
    modules: Collection[str],
    *,
    fields: bool = True,
    code: str = "",
) -> list[tuple[int, str]]:
    """Return the lines and messages of at most 20 certain problems of a program, in the order of their lines.

    `stubs` describe the functions that the program mentions, `names` are functions of the API that a wrong name may be
    meant for, `given` are the other names in its scope, `modules` the top-level modules that it can import. With
    `fields`, the fields of answers are checked too. `code` is the text of the program, for the digits of its numbers.
    """
    program = _Program(tree)
    functions = {name: stub for name, stub in stubs.items() if name not in program.bound}
    found = [*_asynchronous(program), *_imports(program, modules), *_rebound(program, stubs)]
    found += _decimals(program, code)
    for call, name in program.calls:
        if name in functions:
            found += _arguments(call, name, functions[name])
    if not any(isinstance(node, ast.Name) and node.id in _DYNAMIC for node in program.nodes):
        found += _unbound(program, {*stubs, *names}, given, modules)
        found += [*_missing_fields(program, functions), *_truths(program, functions)] if fields else ()
    return _rendered(found)


def _decimals(program: _Program, code: str) -> Iterator[_Problem]:
    """Yield the decimal numbers of which the nearest float, which would be sent, is another number."""
    lines = code.replace("\r\n", "\n").replace("\r", "\n").encode().split(b"\n")
    for node in program.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, float) and code:
            text = lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode()
            if _digits(text) != _digits(repr(node.value)):
                yield _Problem(
                    node,
                    f"{short(text)} has more digits than a number keeps: {node.value!r} would be sent. Write it as a "
                    "text if it may be one, or else with fewer digits",
                )


def _digits(text: str) -> str:
    """Return the significant digits of a number."""
    return text.lower().replace("_", "").partition("e")[0].replace(".", "").strip("0")


def _asynchronous(program: _Program) -> Iterator[_Problem]:
    for node in program.nodes:
        if isinstance(node, _ASYNCHRONOUS):
            yield _Problem(
                node,
                "the functions are ordinary functions: call them without async and await; "
                "gather(f(x), g(y)) calls several",
            )


def _imports(program: _Program, modules: Collection[str]) -> Iterator[_Problem]:
    caught = program.catching("ImportError", "ModuleNotFoundError", "Exception", "BaseException")
    for node in program.nodes:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        for name in [""] if getattr(node, "level", 0) else [f"{prefix}{alias.name}" for alias in node.names]:
            module = name.partition(".")[0]
            if network := next((known for known in _NETWORK if f"{name}.".startswith(f"{known}.")), ""):
                yield _Problem(node, f"{network} is not here: call the functions instead")
            elif not (id(node) in caught or module in modules or module in ("__future__", "__main__")):
                advice = "use the functions and standard modules"
                if module in _FUTURES:
                    advice = "call the functions without await; gather(f(x), g(y)) calls several"
                yield _Problem(node, f"{short(module) or 'a relative import'} is not here: {advice}")


def _rebound(program: _Program, stubs: Collection[str]) -> Iterator[_Problem]:
    """Yield the functions of the API, and those by which a program calls and ends, that it replaces by its own.

    A value under the name of a function that the program does not call is one, such as the version of a thing.
    """
    called = {name for _, name in program.calls}
    lambdas = (node.args for node in program.nodes if isinstance(node, ast.Lambda))
    own = _ids([*lambdas, *(node.target for node in program.nodes if isinstance(node, ast.comprehension))])
    for node, name in program.bindings:
        is_function = isinstance(node, (*_DEFINITIONS, ast.alias))
        if (name in stubs or name in ("gather", "stop")) and id(node) not in own and (is_function or name in called):
            kind = "a function of the API" if name in stubs else "here already"
            yield _Problem(node, f"{short(name)} is {kind}: call it, and give what you bind here another name")


def _unbound(
    program: _Program, functions: Collection[str], given: Collection[str], modules: Collection[str]
) -> Iterator[_Problem]:
    """Yield the names that are bound nowhere."""
    known = {*functions, *given, *_ALWAYS, *program.bound}
    if "*" in known:  # of `from module import *`
        return
    skipped = _ids(part for node in program.nodes for part in _annotations(node))
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
            yield _Problem(node, f"{short(name)} is not here: call {member}(...) directly")
        elif name in modules and member is not None:
            yield _Problem(node, f"the module {name} is not imported: add `import {name}`")
        elif member is not None and name in _NETWORK:
            yield _Problem(node, f"{name} is not here: call the functions instead")
        elif name in called:
            yield _Problem(node, f"there is no function {short(name)}", name, near)
        else:
            yield _Problem(node, f"the name {short(name)} is never assigned", name, near)


def _annotations(node: ast.AST) -> list[ast.expr]:
    """Return the annotations of a node, which Python may leave unevaluated."""
    parts = (getattr(node, name, None) for name in ("annotation", "returns"))
    return [part for part in parts if part is not None]


def _arguments(call: ast.Call, function: str, stub: Stub) -> Iterator[_Problem]:
    """Yield the keywords that the function of a call does not have, and the required ones that the call lacks."""
    keywords, others = stub["keywords"], stub["others"]
    given = {keyword.arg: keyword for keyword in call.keywords}
    names = [*keywords, *others]
    there = f"; it takes {listed(names)}" if names else "; it takes no arguments"
    for name, keyword in given.items():
        if name is not None and name not in names:
            yield _Problem(keyword, f"{short(function)}() has no argument {short(name)!r}", name, names, there)
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return
    if len(call.args) > len(keywords):
        few = f"takes at most {len(keywords)} arguments by position, but {len(call.args)} are given"
        yield _Problem(call, f"{short(function)}() {few}", rest=there)
        return
    if missing := _missing(call, stub):
        word = "argument" if len(missing) == 1 else "arguments"
        yield _Problem(call, f"{short(function)}() needs the {word} {listed(missing)}")


def absences(tree: ast.Module, stubs: Mapping[str, Stub]) -> tuple[str, ...]:
    """Return the claims of the required arguments that the calls of a program lack."""
    lacking = ((stubs[name], _missing(call, stubs[name])) for call, name in _Program(tree).calls if name in stubs)
    return tuple(stub["claims"][item] for stub, missing in lacking for item in missing if item in stub["claims"])


def _missing(call: ast.Call, stub: Stub) -> list[str]:
    """Return the required arguments that a call lacks; none if it unpacks others."""
    given = {keyword.arg for keyword in call.keywords}
    if None in given or any(isinstance(argument, ast.Starred) for argument in call.args):
        return []
    required = list(stub["keywords"].items())[len(call.args) :]
    missing = [name for name, is_required in required if is_required and name not in given]
    return [*missing, "body"] if stub["needs_body"] and given.isdisjoint(stub["others"]) else missing


def _missing_fields(program: _Program, functions: Mapping[str, Mapping[str, Any]]) -> Iterator[_Problem]:
    """Yield the reads of fields that the answers of `functions` do not have.

    Only answers are compared whose fields the program cannot have changed: the call itself, as in `f(x)["name"]`, and a
    name that is bound once, to a call, and of which the program only reads. Fields of their fields are not compared.

    Skip reads whose KeyError is caught, alternatives to other reads, and fields that the program tests for or sets.
    """
    own = {_constant_text(node.left) for node in program.nodes if isinstance(node, ast.Compare)}
    if own & _FAILURES:
        return
    stored = (node for node in program.nodes if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store))
    own |= {_constant_text(node.slice) for node in stored}
    answers = _answers(program)
    skipped = program.catching("KeyError", "LookupError")
    skipped |= _ids(node for node in program.nodes if sum(not isinstance(one, _LITERALS) for one in _either(node)) > 1)
    for node in program.nodes:
        base, key = _read(node)
        function = answers.get(base.id, "") if isinstance(base, ast.Name) else _called_name(base)
        fields = functions[function]["result"] if function in functions else None
        if fields and not (key in fields or key in own or key in _FAILURES or id(node) in skipped):
            text, there = f"{short(function)}(...) has no field {short(key)!r}", f"; it has {listed(fields)}"
            yield _Problem(node, text, key, fields, there)


def _truths(program: _Program, functions: Mapping[str, Mapping[str, Any]]) -> Iterator[_Problem]:
    """Yield the comparisons of a field that is true or false with a text, which never hold."""
    used = {name for _, name in program.calls}
    truths = {field for name, stub in functions.items() if name in used for field in stub["truths"]}
    for node in program.nodes:
        if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
            continue
        sides = (node.left, node.comparators[0])
        said = next((text for side in sides if (text := _constant_text(side)) is not None), "")
        field = next((key for side in sides if (key := _read(side)[1]) in truths), "")
        if field and said.lower() in ("true", "false"):
            yield _Problem(node, f"{short(field)} is {said.title()}, without quotes, or not: never the text {said!r}")


def _answers(program: _Program) -> dict[str, str]:
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
        target.id: _called_name(node.value)
        for node in program.nodes
        if isinstance(node, ast.Assign) and len(node.targets) == 1
        for target in node.targets
        if isinstance(target, ast.Name) and program.bound[target.id] == 1 and target.id not in unsafe
    }


def _only_reads(program: _Program, node: ast.AST) -> bool:
    """Return whether a node cannot change an object below it or give it another name.

    Functions of the API, of the library and of Python change no object that they get.
    """
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Attribute):
        return node.attr in _READING
    name = _called_name(node)
    return isinstance(node, _READERS) or (bool(name) and name not in program.bound and name not in _LOOKED_AT)


def _read(node: Any) -> tuple[ast.expr | None, str]:
    """Return the expression and the field of `base["name"]` and `base.get("name")`; None for another node."""
    base, key = (node.func.value, node.args[0]) if _is_get(node) else (None, None)
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        base, key = node.value, node.slice
    name = _constant_text(key)
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


class _Program:
    """The nodes of a program, its bindings of names with the number for each name, and its calls of names."""

    def __init__(self, tree: ast.Module) -> None:
        self.nodes: Sequence[ast.AST] = list(ast.walk(tree))
        self.bindings = [(node, name) for node in self.nodes for name in bound_names(node)]
        self.bound = Counter(name for _, name in self.bindings)
        self.calls: list[tuple[Any, str]] = [(node, name) for node in self.nodes if (name := _called_name(node))]

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
                found |= _ids(node.body)
        return found


def _ids(nodes: Iterable[ast.AST]) -> set[int]:
    """Return the ids of nodes and of all nodes in them."""
    return {id(inner) for node in nodes for inner in ast.walk(node)}


def _called_name(node: ast.AST | None) -> str:
    """Return the name of the function that a node calls; empty if it is no call of a function by its name."""
    return name_of(node.func) if isinstance(node, ast.Call) else ""


def _constant_text(node: ast.AST | None) -> str | None:
    """Return the text of a constant; None for any other node."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _names(node: ast.expr | None) -> set[str]:
    """Return the names in an expression, those of attributes too; a bare `except` catches BaseException."""
    if node is None:
        return {"BaseException"}
    return {getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(node)}


class _Problem:
    """A problem at a node; `name` is a wrong name, of which the message gives the most similar `known` ones."""

    __slots__ = ("known", "name", "place", "rest", "text")

    def __init__(self, node: Any, text: str, name: str = "", known: Sequence[str] = (), rest: str = "") -> None:
        self.place: tuple[int, int] = (node.lineno, node.col_offset)
        self.text, self.name, self.known, self.rest = text, name, known, rest

    def message(self) -> str:
        """Return the sentence for the model."""
        return self.text + nearest(self.name, self.known) + self.rest


def _rendered(found: Iterable[_Problem]) -> list[tuple[int, str]]:
    """Return the lines and messages of the first problems; the same problem is reported once."""
    first: dict[str, _Problem] = {}
    for problem in sorted(found, key=lambda problem: problem.place):
        first.setdefault(problem.text, problem)
    return [(problem.place[0], problem.message()) for problem in list(first.values())[:MOST_PROBLEMS]]
