"""The check of calls: each call of a program is compared with the stub of its function.

Standard library only: the host sends this module to the worker.
"""

from __future__ import annotations

import ast
import re
from functools import partial

from restgpt.tools.sandbox.guest.problem import Problem, json_text, listed, nearest, short
from restgpt.tools.sandbox.guest.syntax import constant_text

TYPE_CHECKING = False  # a name for type checkers; the import of `typing` would cost every worker milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from typing import Any

    Stub = Mapping[str, Any]

_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*")
_NUMBER = re.compile(r"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")
_ARTICLES = {"integer": "an integer", "array": "a list", "object": "a dict", "null": "None"}


class Call:
    """One call of a function of the API, compared with the function's stub."""

    def __init__(self, node: ast.Call, name: str, stub: Stub) -> None:
        self.node, self.name = node, short(name)
        self.keywords: Mapping[str, Mapping[str, Any]] = stub.get("keywords") or {}
        self.body: Mapping[str, Any] = stub.get("body") or {}
        self.body_fields: list[str] = list(self.body.get("fields") or ())
        self.has_pages = bool(stub.get("pages"))
        self.stars = any(isinstance(argument, ast.Starred) for argument in node.args)
        self.double_stars = any(keyword.arg is None for keyword in node.keywords)
        self.given = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
        self.positional = dict(zip(self.keywords, [] if self.stars else node.args, strict=False))

    def problems(self) -> Iterator[Problem]:
        """Yield what is certainly wrong with the call."""
        yield from self._unknown_keywords()
        yield from self._positions()
        yield from self._missing()
        for name, value in {**self.positional, **self.given}.items():
            if name in self.keywords:
                text = self._wrong_value(name, self.keywords[name], value)
                if text:
                    kind, literal = literal_of(value)
                    yield Problem(value, text, self.name, name, kind, json_text(literal))
        if self.body:
            yield from self._body_problems()

    def _unknown_keywords(self) -> Iterator[Problem]:
        known = [*self.keywords, *(["body"] if self.body else []), *(["pages"] if self.has_pages else [])]
        any_field = bool(self.body) and (self.body.get("open") or (not self.body_fields and not self._is_array()))
        for name, value in self.given.items():
            if name not in known and name not in self.body_fields and not any_field:
                names = [*known, *self.body_fields]
                there = f"it takes {listed(names)}" if names else "it takes no arguments"
                text = partial(self._unknown, f"{self.name}() has no argument", name, names, there)
                yield Problem(value, text, self.name, "argument", name)

    def _unknown(self, what: str, name: str, names: Collection[str], there: str) -> str:
        return f"{what} {short(name)!r}{nearest(name, names)}; {there}"

    def _is_array(self) -> bool:
        return "object" not in (self.body.get("types") or ["object"])

    def _positions(self) -> Iterator[Problem]:
        count, most = len(self.node.args), len(self.keywords)
        if not self.stars and count > most:
            names = f" ({listed(self.keywords)})" if most else ""
            yield Problem(
                self.node, f"{self.name}() takes at most {most} arguments by position{names}, but {count} are given"
            )
        for name in self.positional:
            if name in self.given:
                yield Problem(self.node, f"{self.name}() gets the argument {name!r} twice, by position and by name")

    def _missing(self) -> Iterator[Problem]:
        if self.stars or self.double_stars:
            return
        given = {**self.positional, **self.given}
        names = [name for name, spec in self.keywords.items() if spec.get("required") and name not in given]
        if names:
            word = "argument" if len(names) == 1 else "arguments"
            yield Problem(self.node, f"{self.name}() needs the {word} {listed(names)}")

    def _wrong_value(self, name: str, spec: Mapping[str, Any], value: ast.expr) -> str | Callable[[], str]:
        """Return what is wrong with a literal argument, or an empty text."""
        types, values = spec.get("types") or (), spec.get("values") or ()
        kind, literal = literal_of(value)
        if not kind:
            return ""
        if kind == "null":
            wrong = spec.get("required") and types and "null" not in types and None not in values
            return f"{self.name}() needs the argument {name!r}, but it is None" if wrong else ""
        if types and not _fits(kind, literal, types):
            wanted = " or ".join(_ARTICLES.get(kind, f"a {kind}") for kind in types)
            hint = (
                "; join several values into one text, as its description says"
                if kind == "array" and "string" in types
                else ""
            )
            return f"the argument {name!r} of {self.name}() has to be {wanted}, but it is {_shown(kind, literal)}{hint}"
        if values and literal is not None and literal not in values and "array" not in types:
            texts = [json_text(item) for item in values]
            text = json_text(literal)
            if text not in texts:
                what = f"the argument {name!r} of {self.name}() cannot be"
                alike = texts if kind == "string" else ()  # one number is not nearly another one
                return partial(self._unknown, what, text, alike, f"it is one of {listed(texts)}")
        return ""

    def _body_problems(self) -> Iterator[Problem]:
        if "body" in self.keywords:  # an argument of the operation has this name
            return
        value = self.given.get("body")
        as_keywords = [name for name in self.given if name in self.body_fields]
        if value is None:
            given = {name for name in self.given if name in self.body_fields or name in self.keywords}
            if not (self.stars or self.double_stars):
                yield from self._needs(self.node, given, bool(as_keywords))
            return
        kind, literal = literal_of(value)
        types = self.body.get("types") or ()
        if kind == "null":
            if self.body.get("required") and "null" not in types and not as_keywords:
                yield Problem(value, f"{self.name}() needs a body, but it is None")
        elif kind and types and not _fits(kind, literal, types):
            wanted = " or ".join(_ARTICLES.get(kind, f"a {kind}") for kind in types)
            yield Problem(
                value, f"the body of {self.name}() has to be {wanted}, but it is {_ARTICLES.get(kind, f'a {kind}')}"
            )
        elif isinstance(value, ast.Dict):
            yield from self._literal_body(value, as_keywords)

    def _needs(self, node: ast.AST, given: Collection[str], some: bool) -> Iterator[Problem]:
        """Yield the missing body, or the missing fields of a body that is given by some of its fields."""
        needs = [name for name in self.body.get("needs") or () if name not in given]
        if some and needs:
            yield Problem(node, f"the body of {self.name}() needs {listed(needs)}")
        elif not some and self.body.get("required") and not any(name in self.body_fields for name in given):
            fields = listed(self.body.get("needs") or self.body_fields)
            yield Problem(node, f"{self.name}() needs a body" + (f" with {fields}" if fields else ""))

    def _literal_body(self, value: ast.Dict, as_keywords: Sequence[str]) -> Iterator[Problem]:
        keys = [constant_text(key) if key is not None else None for key in value.keys]
        given = {*as_keywords, *(key for key in keys if key is not None)}
        if None not in keys and not self.double_stars:
            needs = [name for name in self.body.get("needs") or () if name not in given]
            if needs:
                yield Problem(value, f"the body of {self.name}() needs {listed(needs)}")
        if self.body.get("open") or not self.body_fields or self._is_array():
            return
        known, there = set(self.body_fields), f"it has {listed(self.body_fields)}"
        for key, node in zip(keys, value.keys, strict=True):
            if key is not None and key not in known:
                text = partial(self._unknown, f"the body of {self.name}() has no field", key, self.body_fields, there)
                yield Problem(node, text, self.name, "field", key)


def literal_of(node: ast.expr) -> tuple[str, Any]:
    """Return the JSON type of a literal, or an empty text, and its value; None for values that are not constant."""
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        sign, node = (-1 if isinstance(node.op, ast.USub) else 1), node.operand
        if not isinstance(node, ast.Constant) or type(node.value) not in (int, float):
            return "", None
    if isinstance(node, ast.Constant):
        value = node.value
        if value is None:
            return "null", None
        if isinstance(value, bool):
            return "boolean", value
        if isinstance(value, int | float):
            return ("integer" if isinstance(value, int) else "number"), sign * value
        return ("string", value) if isinstance(value, str) else ("", None)
    if isinstance(node, ast.List | ast.Tuple | ast.ListComp):
        return "array", None
    return ("object", None) if isinstance(node, ast.Dict | ast.DictComp) else ("", None)


def _fits(kind: str, value: Any, types: Collection[str]) -> bool:
    """Return whether a literal is of one of the types, or is converted to one without loss before it is sent."""
    if kind in types or (kind == "integer" and "number" in types):
        return True
    if kind in ("integer", "number", "boolean") and "string" in types:
        return True
    if kind == "number" and "integer" in types:
        return isinstance(value, float) and value.is_integer()
    if kind == "string" and isinstance(value, str):
        return _spells(value, types)
    return "array" in types and kind != "null"


def _spells(text: str, types: Collection[str]) -> bool:
    """Return whether a text may be the spelling of a value of one of the types."""
    return (
        "array" in types
        or ("integer" in types and _INTEGER.fullmatch(text) is not None)
        or ("number" in types and _NUMBER.fullmatch(text) is not None)
        or ("boolean" in types and text.strip().lower() in ("true", "false"))
        or ("object" in types and text.lstrip()[:1] == "{")
        or ("null" in types and text in ("", "null"))
    )


def _shown(kind: str, value: Any) -> str:
    return _ARTICLES.get(kind, f"a {kind}") if value is None else f"{short(json_text(value))!r}"
