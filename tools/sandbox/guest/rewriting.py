"""Replaces literals of a program by inputs, and lists its calls and the literals that are left; nothing of it is run.

Literals are replaced by their places in the source, so that comments and layout stay. The new source is parsed again
and compared with the changed tree. Standard library only: the host sends this module to the worker.
"""

from __future__ import annotations

import ast
import json
import re

TYPE_CHECKING = False  # a name for type checkers; the import of `typing` would cost every worker milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from typing import Any

    Value = str | int | float | list[Any]
    Replacements = Sequence[Mapping[str, Any]]
    Place = tuple[Any, int | str]

FILENAME = "<code>"
MOST_SITES, MOST_LITERALS, MOST_RECORD = 2000, 500, 900_000  # of a report: calls, literals, bytes
SHORT = 3  # a shorter value is replaced inside a text only between spaces

# Methods and functions whose arguments from this index on are names of fields.
_KEY_METHODS = {"get": slice(0, 1), "pop": slice(0, 1), "setdefault": slice(0, 1)}
_KEY_FUNCTIONS = {"field": slice(1, None), "getattr": slice(1, 2), "hasattr": slice(1, 2), "itemgetter": slice(0, None)}
_SEQUENCES = (ast.List, ast.Tuple)
_LINE_END = re.compile(rb"\r\n|\r|\n")
_WORD = re.compile(rb"\w|[\x80-\xff]")


class UnsafeError(Exception):
    """The new source is not the changed program."""


def run(worker: Any, status: int, code: str, raw: list[bytearray]) -> tuple[bytes, ...]:
    """Return the record with the report about the code; the job is in `raw`."""
    job = json.loads(raw.pop())
    try:
        report = rewritten(code, job["replacements"], job["functions"])
    except SyntaxError as error:
        return b"syntax_error", worker.type_of(error), worker.text_of(error.msg), b"%d" % (error.lineno or 0)
    except (ValueError, OverflowError, RecursionError, MemoryError, UnsafeError) as error:
        return b"syntax_error", worker.type_of(error), worker.message_of(error) or b"the code is too complex"
    text = json.dumps(report, ensure_ascii=False).encode("utf-8", "backslashreplace")
    if len(text) > MOST_RECORD:
        return b"syntax_error", b"ValueError", b"the new code is too long"
    return b"done", b"", b"", b"", b"", b"", text


def rewritten(code: str, replacements: Replacements, functions: Collection[str]) -> dict[str, Any]:
    """Return the new code, the names of the inputs in it, its calls and its literals."""
    tree = ast.parse(code, FILENAME)
    used: set[str] = set()
    new = _Rewriting(code, tree, replacements, used).text() if replacements else code
    parsed = ast.parse(new, FILENAME)
    if not _is_equal(parsed, tree):
        raise UnsafeError("the literals cannot be replaced in this code")
    sites = list(_sites(parsed, frozenset(functions)))
    if len(sites) > MOST_SITES:
        raise UnsafeError(f"the code has more than {MOST_SITES} calls")
    return {"code": new, "used": sorted(used), "sites": sites, "literals": _literals(parsed)}


# Places of literals


def _places(node: ast.AST) -> Iterator[tuple[ast.AST, Place]]:
    """Yield the children of a node, each with its place: a list and an index, or the node and the name of a field."""
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            yield value, (node, name)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield item, (value, index)


def _put(place: Place, node: ast.AST) -> None:
    holder, where = place
    if isinstance(where, int):
        holder[where] = node
    else:
        setattr(holder, where, node)


def _no_values(tree: ast.AST) -> set[int]:
    """Return the ids of the nodes that are no values of the program: docstrings, keys, patterns, annotations."""
    found: set[int] = set()
    for node in ast.walk(tree):
        found.update(id(inner) for inner in _keys(node) if inner is not None)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found.add(id(node.value))
        elif isinstance(node, ast.pattern):
            found.add(id(node))
        elif isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            found.add(id(node.format_spec))
        for name in ("annotation", "returns"):
            if (annotation := getattr(node, name, None)) is not None:
                found.add(id(annotation))
    return found


def _keys(node: ast.AST) -> Sequence[ast.expr | None]:
    """Return the constants that name a field in this node."""
    keys: Sequence[ast.expr | None] = ()
    if isinstance(node, ast.Dict):
        keys = node.keys
    elif isinstance(node, ast.Subscript):
        keys = [node.slice]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _KEY_METHODS:
        keys = node.args[_KEY_METHODS[node.func.attr]]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _KEY_FUNCTIONS:
        keys = node.args[_KEY_FUNCTIONS[node.func.id]]
    return [key for key in keys if isinstance(key, ast.Constant | ast.Tuple)]


def _named(tree: ast.AST) -> dict[int, set[str]]:
    """Return by the ids of nodes the names that they have as values: of arguments, keys, and variables."""
    found: dict[int, set[str]] = {}
    bound = _bound(tree)

    def note(value: ast.expr, name: str) -> None:
        for node in (value, *(value.elts if isinstance(value, _SEQUENCES) else ())):
            found.setdefault(id(node), set()).add(name)

    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg:
            note(node.value, node.arg)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    note(value, key.value)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name) and bound.get(target.id) == 1:
                note(node.value, f"={target.id.lower()}")
    return found


def _bound(tree: ast.AST) -> dict[str, int]:
    """Return how often the program binds each name, by assignments, loops, parameters and `global`."""
    found: dict[str, int] = {}
    for node in ast.walk(tree):
        names: Sequence[str] = ()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names = [node.id]
        elif isinstance(node, ast.arg):
            names = [node.arg]
        elif isinstance(node, ast.Global | ast.Nonlocal):
            names = node.names
        for name in names:
            found[name] = found.get(name, 0) + 1
    return found


# Replacing


class _Rewriting:
    """Changes the tree and the source of one program."""

    def __init__(self, code: str, tree: ast.Module, replacements: Replacements, used: set[str]) -> None:
        self._source = code.encode()
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(self._source))]
        self._tree = tree
        self._skipped, self._names = _no_values(tree), _named(tree)
        ordered = sorted(replacements, key=lambda item: -len(json.dumps(item["value"])))
        self._texts = [item for item in ordered if isinstance(item["value"], str) and item["value"].strip()]
        self._numbers = [item for item in ordered if _is_number(item["value"])]
        self._lists = [item for item in ordered if isinstance(item["value"], list) and item["value"]]
        self._used = used
        self._edits: list[tuple[int, int, bytes]] = []

    def text(self) -> str:
        """Return the new source; the tree is changed in the same way."""
        self._change(self._tree, self._put_by_place)
        parts, at = [], 0
        for start, end, new in sorted(self._edits):
            if start < at:
                raise UnsafeError("literals of the code overlap")
            before = b" " if _WORD.match(self._source[start - 1 : start]) else b""
            after = b" " if _WORD.match(self._source[end : end + 1]) else b""
            parts += [self._source[at:start], before, new, after]
            at = end
        return b"".join([*parts, self._source[at:]]).decode()

    def _change(self, root: ast.AST, put: Callable[[ast.AST, Place, ast.expr, set[str]], None]) -> None:
        """Find the literals below a node, and hand over each with its place, its new expression and its inputs."""
        waiting = [root]
        while waiting:
            for node, place in list(_places(waiting.pop())):
                if id(node) in self._skipped:
                    continue
                names: set[str] = set()
                new = self._replaced(node, names)
                if new is not None:
                    put(node, place, new, names)
                elif isinstance(node, ast.JoinedStr) and root is self._tree:
                    self._change_format(node)
                else:
                    waiting.append(node)

    def _put_by_place(self, node: ast.AST, place: Place, new: ast.expr, names: set[str]) -> None:
        self._edit(node, _formatted(new) if isinstance(new, ast.JoinedStr) else _source_of(new))
        _put(place, new)
        self._used |= names

    def _change_format(self, node: ast.JoinedStr) -> None:
        """Change an f-string as a whole, because places inside it are not those of the source in Python 3.11."""
        done: list[tuple[Place, ast.AST]] = []
        used: set[str] = set()

        def put(old: ast.AST, place: Place, new: ast.expr, names: set[str]) -> None:
            done.append((place, old))
            _put(place, new)
            used.update(names)

        whole = list(node.values)
        self._change(node, put)
        node.values = [
            part
            for value in node.values
            for part in (value.values if isinstance(value, ast.JoinedStr) else [_as_part(value)])
        ]
        if not used:
            return
        try:
            text = ast.unparse(node)
        except ValueError:  # quotes that Python 3.11 cannot nest
            node.values = whole
            for place, old in reversed(done):
                _put(place, old)
            return
        self._edit(node, text)
        self._used |= used

    def _edit(self, node: Any, text: str) -> None:
        start = self._starts[node.lineno - 1] + node.col_offset
        end = self._starts[node.end_lineno - 1] + node.end_col_offset
        self._edits.append((start, end, text.encode("utf-8", "backslashreplace")))

    def _replaced(self, node: ast.AST, used: set[str]) -> ast.expr | None:
        """Return the new expression for a literal; None if it stays."""
        if isinstance(node, _SEQUENCES) and isinstance(node.ctx, ast.Load):
            values = [_constant(item) for item in node.elts]
            found = next((item for item in self._lists if _is_same_list(values, item["value"])), None)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            return self._replaced_text(node.value, used)
        else:
            value = _constant(node)
            names = self._names.get(id(node), set())
            found = None
            if _is_number(value):
                is_named = (item for item in self._numbers if _is_same(item["value"], value))
                found = next((item for item in is_named if _has_name(names, item["keyword"])), None)
        if found is None:
            return None
        used.add(found["name"])
        return _input(found["name"])

    def _replaced_text(self, text: str, used: set[str]) -> ast.expr | None:
        whole = next((item for item in self._texts if item["value"] == text), None)
        folded = text.casefold()
        whole = whole or next((item for item in self._texts if item["value"].casefold() == folded), None)
        if whole is not None:
            used.add(whole["name"])
            return _input(whole["name"])
        parts: list[Any] = [text]
        for item in self._texts:
            parts = [new for part in parts for new in _split(part, item, used)]
        if len(parts) == 1:
            return None
        return ast.JoinedStr([_as_part(part) if isinstance(part, ast.expr) else ast.Constant(part) for part in parts])


def _split(part: Any, item: Mapping[str, Any], used: set[str]) -> list[Any]:
    """Return the parts of a text around the value of a replacement, with the input between them."""
    if not isinstance(part, str):
        return [part]
    border = r"\w" if len(item["value"]) >= SHORT else r"\S"
    pieces = re.split(rf"(?<!{border}){re.escape(item['value'])}(?!{border})", part)
    found: list[Any] = []
    for piece in pieces:
        found += [_input(item["name"]), piece]
    if len(pieces) > 1:
        used.add(item["name"])
    return [piece for piece in found[1:] if piece != ""] if len(pieces) > 1 else [part]


def _input(name: str) -> ast.expr:
    return ast.Subscript(ast.Name("inputs", ast.Load()), ast.Constant(name), ast.Load())


def _source_of(new: Any) -> str:
    return f"inputs[{json.dumps(new.slice.value)}]"


def _as_part(node: ast.expr) -> ast.expr:
    """Return an expression as a part of an f-string."""
    is_part = isinstance(node, ast.Constant | ast.FormattedValue)
    return node if is_part else ast.FormattedValue(node, -1, None)


def _formatted(node: ast.JoinedStr) -> str:
    """Return the source of an f-string of texts and inputs."""
    parts = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(json.dumps(part.value, ensure_ascii=False)[1:-1].replace("{", "{{").replace("}", "}}"))
        elif isinstance(part, ast.FormattedValue):
            parts.append("{" + ast.unparse(part.value) + "}")
    return 'f"' + "".join(parts) + '"'


def _constant(node: ast.AST) -> Any:
    """Return the text or the number that a node stands for, else None."""
    is_negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    inner = node.operand if isinstance(node, ast.UnaryOp) and is_negative else node
    value = inner.value if isinstance(inner, ast.Constant) else None
    if is_negative:
        return -value if _is_number(value) else None  # type: ignore[operator]
    return value if isinstance(value, str) or _is_number(value) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other


def _is_same_list(values: list[Any], wanted: list[Any]) -> bool:
    return len(values) == len(wanted) and all(map(_is_same, values, wanted))


def _has_name(names: Collection[str], keyword: str) -> bool:
    """Return whether a value has the name, as an argument, as a key, or by a variable that is called like it."""
    if not keyword:
        return False
    variables = [name[1:] for name in names if name.startswith("=")]
    lower = keyword.lower()
    return keyword in names or any(name == lower or name.endswith(f"_{lower}") for name in variables)


def _is_equal(one: ast.AST, other: ast.AST) -> bool:
    """Return whether two trees are equal but for their places."""
    waiting: list[tuple[Any, Any]] = [(one, other)]
    while waiting:
        left, right = waiting.pop()
        if type(left) is not type(right):
            return False
        if isinstance(left, ast.AST):
            waiting.extend((getattr(left, name, None), getattr(right, name, None)) for name in left._fields)
        elif isinstance(left, list):
            if len(left) != len(right):
                return False
            waiting.extend(zip(left, right, strict=True))
        elif left != right and not (left != left and right != right):
            return False
    return True


# What is left


def _sites(tree: ast.Module, functions: frozenset[str]) -> Iterator[tuple[int, str, bool]]:
    """Yield the calls of functions in the order of their evaluation: line, name, and whether they may be repeated.

    A function that is used without a call may be called any number of times.
    """
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    waiting: list[tuple[Any, bool, bool]] = [(tree, False, False)]
    while waiting:
        node, is_repeated, is_after = waiting.pop()
        if is_after:
            yield node.lineno, node.func.id, is_repeated
            continue
        if isinstance(node, ast.Name) and node.id in functions and id(node) not in called:
            yield node.lineno, node.id, True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions:
            waiting.append((node, is_repeated, True))
        children = [(inner, is_repeated or again, False) for inner, again in _evaluated(node)]
        waiting.extend(reversed(children))


def _evaluated(node: ast.AST) -> list[tuple[ast.AST, bool]]:
    """Return the children of a node in the order of evaluation, and whether each may be evaluated not once."""
    if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        first, *others = node.generators
        parts: list[ast.AST] = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        inner = [first.target, *first.ifs, *others, *parts]
        return [(first.iter, False), *((part, True) for part in inner)]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        body = node.body if isinstance(node.body, list) else [node.body]
        outside = [node.args, *getattr(node, "decorator_list", ())]
        return [*((part, False) for part in outside), *((part, True) for part in body)]
    return [(child, _may_be_skipped(node, child, holder)) for child, (holder, _) in _places(node)]


def _may_be_skipped(node: ast.AST, inner: ast.AST, holder: Any) -> bool:
    if isinstance(node, ast.Module | ast.ClassDef):
        return False
    if isinstance(node, ast.While | ast.Try | ast.With | ast.AsyncWith) or type(node).__name__ == "TryStar":
        return True
    if isinstance(node, ast.BoolOp):
        return inner is not node.values[0]
    if isinstance(node, ast.Compare):
        return inner in node.comparators[1:]
    if isinstance(node, ast.IfExp):
        return inner is not node.test
    if isinstance(node, ast.Assert):
        return inner is node.msg
    if isinstance(node, ast.If | ast.For | ast.AsyncFor):
        return holder is node.body or holder is node.orelse
    return isinstance(node, ast.match_case)


def _literals(tree: ast.Module) -> list[str]:
    """Return the texts that are still values of the program, each once."""
    skipped = _no_values(tree)
    found: dict[str, None] = {}
    waiting: list[ast.AST] = [tree]
    while waiting and len(found) < MOST_LITERALS:
        node = waiting.pop()
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _has_form(node.value):
            found[node.value] = None
        children = [inner for inner in ast.iter_child_nodes(node) if id(inner) not in skipped]
        waiting.extend(reversed(children))
    return list(found)


def _has_form(text: str) -> bool:
    """Return whether a text has a form in UTF-8, and is more than space."""
    return bool(text.strip()) and not any("\ud800" <= mark <= "\udfff" for mark in text)
