"""The branches of `gather`: a program is changed before it runs, so that `gather` gets them as functions.

Prepare generated Python: extract it from Markdown.

Functions with `yield`, which Monty lacks: where all their values are taken at once, they can collect them.

The arguments of a program's call as JSON, and the digest by which two calls are compared.
"""

import ast
import hashlib
import json
import re
import textwrap
from base64 import b64encode
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from threading import Lock
from typing import Any

from restgpt.tools.text.quotation import fence_around


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


UNPARSABLE = (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError, SystemError)
"""What `ast.parse` raises for code that is wrong, too deep or too large; the last of them by a fault of Python 3.11."""

_STATEMENT = re.compile(r"(?:import|from|def|for|if|with|class) \w|print\(|\w+ = ", re.ASCII)
_BLOCK = re.compile(r"^[ \t]*```([^\n]*)(?:\n|\Z)(.*?)(?:^[ \t]*```[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
"""A block between fences; the last one may be unclosed."""

_PYTHON = frozenset({"python", "python3", "py"})


FILENAME = "<code>"

PARSING = Lock()


def syntax_tree(code: str) -> ast.Module:
    """Return the syntax tree of some code; raises what `UNPARSABLE` lists.

    One at a time: Python 3.11 counts the depth of trees that two threads make together, and fails.
    """
    with PARSING:
        return ast.parse(code, FILENAME)


def clean_code(text: str) -> str:
    """Return the Python in a model's reply, without byte order mark, Markdown and common indentation."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    blocks: list[tuple[str, str]] = _BLOCK.findall(text)
    # Statements outside of the fences mean plain code with a fence inside a string, which is not changed.
    if blocks and not any(_STATEMENT.match(line.lstrip()) for line in _BLOCK.sub("", text).split("\n")):
        python = [code for language, code in blocks if language.strip().lower() in _PYTHON]
        text = "\n".join(code.removesuffix("\n") for code in python or [blocks[0][1]])
    return textwrap.dedent(text).rstrip("\n")


def program_code(text: str) -> str:
    """Return a program as the sandbox runs it, so that line numbers are those of the shown code.

    Only a fence around all of it is taken away: a fence inside of other text may be a quotation.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    fence = fence_around(text)
    return textwrap.dedent(text if fence is None else fence.text).rstrip("\n")


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


MOST_DEPTH = 60  # the deepest nesting of an argument; a checkpoint keeps a call up to 100 levels
MOST_ARGUMENTS = 500_000  # the most characters of the arguments of one call, as JSON
MOST_KEYWORDS = 500  # the most arguments of one call


def plain_arguments(
    name: str, positional: Sequence[Any], keywords: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a call as JSON values, in their order.

    Dates become ISO text, sets lists, bytes a file, decimals numbers. Raises TypeError for an argument that is no JSON
    value, and for arguments that are too many, too deep or too large.
    """
    try:
        text = json.dumps([list(positional), dict(keywords)], allow_nan=False, default=_as_json)
        found = json.loads(text, object_pairs_hook=_distinct)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise TypeError(f"{name}: an argument is no JSON value: {error}") from None
    if len(text) > MOST_ARGUMENTS:
        raise TypeError(f"{name}: the arguments have {len(text)} characters as JSON, at most {MOST_ARGUMENTS} are sent")
    if len(found[0]) + len(found[1]) > MOST_KEYWORDS:
        raise TypeError(f"{name}: more than {MOST_KEYWORDS} arguments")
    if _is_deeper(found, MOST_DEPTH + 2):
        raise TypeError(f"{name}: an argument is nested more than {MOST_DEPTH} levels deep")
    return found[0], found[1]


def call_text(name: str, positional: Sequence[Any], keywords: Mapping[str, Any]) -> str:
    """Return a call as canonical JSON in ASCII: function, positional arguments, keyword arguments sorted by name.

    Raises TypeError as `plain_arguments` does.
    """
    return plain_text(name, *plain_arguments(name, positional, keywords))


def plain_text(name: str, positional: list[Any], keywords: dict[str, Any]) -> str:
    """Return the canonical JSON of a call whose arguments are plain already."""
    return json.dumps([name, positional, keywords], sort_keys=True, allow_nan=False)


def digest_of(text: str) -> str:
    """Return the SHA-256 of the canonical text of a call, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


WAIT = "time.sleep"
"""The function of a call that is a wait."""

WAIT_DIGEST = digest_of(plain_text(WAIT, [], {}))


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise TypeError("two keys of an object are one text in JSON, such as 1 and '1'")
    return found


def _is_deeper(value: Any, most: int) -> bool:
    level = [value]
    for _ in range(most):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return any(isinstance(value, dict | list) for value in level)


def _as_json(value: Any) -> Any:
    if isinstance(value, bytes | bytearray):
        return {"@bytes": b64encode(value).decode()}
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, Decimal):
        return _number(value)
    if hasattr(value, "__iter__"):
        return list(value)
    raise TypeError(f"{type(value).__name__} cannot be sent")


def _number(value: Decimal) -> int | float:
    """Return the number that a decimal is. Raises TypeError where a number of JSON would be another one."""
    if value == value.to_integral_value():
        return int(value)
    if Decimal(repr(float(value))) != value:
        raise TypeError(f"{value} has more digits than a number keeps; send it as a text if the API takes one")
    return float(value)
