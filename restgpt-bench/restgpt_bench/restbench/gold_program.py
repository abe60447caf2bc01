"""Writes gold steps and the reference for the answer as a Python program, the way a good model would write it."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from keyword import iskeyword
from typing import Any

from restgpt_bench.restbench.judges.task import Step

_REFERENCE = re.compile(r"\$\d+(?:\.(?:max|min)\(\w+\)|\.\w+(?:\+\w+)*|\[[^\]]*\])*")
_BRACED = re.compile(r"\{([^{}]*)\}")
_PART = re.compile(r"\.(max|min)\((\w+)\)|\.(\w+(?:\+\w+)*)|\[([^\]]*)\]")
_SLICE = re.compile(r"-?\d*:-?\d*")
_INDEX = re.compile(r"-?\d+")
_TAKEN = frozenset(
    {"each", "headers", "input", "inputs", "json", "list", "map", "number", "one", "rows", "stop", "table"}
)
"""Names that a variable must not hide."""


@dataclass(frozen=True, slots=True)
class Code:
    """A Python expression that is being written: `text`, inside of `loops` over lists.

    `where` is a condition on the items of `text`, which is a list then; which of them is meant comes next.
    """

    text: str
    loops: tuple[str, ...] = ()
    where: str = ""
    item: str = "entry"

    @property
    def is_many(self) -> bool:
        """Whether the expression gives a list of all values."""
        return bool(self.loops or self.where)

    def written(self) -> str:
        """The expression as it stands in a program."""
        if self.where:
            return replace(self._looped(), where="").written()
        return f"[{self.text} {' '.join(self.loops)}]" if self.loops else self.text

    def _looped(self) -> "Code":
        condition = f" if {self.where}" if self.where else ""
        item = self.item
        return Code(item, (*self.loops, f"for {item} in {self.text}{condition}"), item=item)

    def _found(self) -> str:
        """The first item that meets the condition, or the value itself."""
        return f"next({self.item} for {self.item} in {self.text} if {self.where})" if self.where else self.text

    def _list(self) -> str:
        return f"[{self.item} for {self.item} in {self.text} if {self.where}]" if self.where else self.text

    def named(self, name: str) -> "Code":
        """The field of an object, or of the first item that meets the condition; lists with + between them joined."""
        first, *others = name.split("+")
        found = self._found()
        text = " + ".join(f"{found}[{part!r}]" for part in (first, *others))
        return Code(f"({text})" if others else text, self.loops, item=_item(first))

    def picked(self, inside: str) -> "Code":
        """What brackets pick out of a list: an item, a part, each item, or those that meet a condition."""
        if inside == "*":
            return self._looped()
        if _SLICE.fullmatch(inside):
            return replace(self, text=f"{self._list()}[{inside}]", where="")
        if _INDEX.fullmatch(inside):
            text = self._found() if self.where and inside == "0" else f"{self._list()}[{inside}]"
            return replace(self, text=text, where="")
        name, _, value = inside.partition("=")
        literal = value if _INDEX.fullmatch(value) else repr(value)
        return replace(self, text=self._list(), where=f"{self.item}[{name!r}] == {literal}")

    def extreme(self, function: str, name: str) -> "Code":
        """The item with the greatest or least value of a field."""
        source = f"({self.item} for {self.item} in {self.text} if {self.where})" if self.where else self.text
        return replace(self, text=f"{function}({source}, key=lambda {self.item}: {self.item}[{name!r}])", where="")


def _item(name: str) -> str:
    """The name for one item of the list in a field."""
    if name in ("cast", "crew"):
        return "credit"
    single = name.removesuffix("s")
    return single if single != name and single.isidentifier() and not iskeyword(single) else "entry"


def code_of(reference: str, variables: Mapping[int, str]) -> Code:
    """The expression of a reference such as `$2.crew[job=Director].id`; `variables` name the results of steps."""
    number = re.match(r"\$(\d+)", reference)
    assert number is not None
    code = Code(variables[int(number[1])], item="entry")
    for function, key, name, inside in _PART.findall(reference[number.end() :]):
        code = code.extreme(function, key) if function else code.named(name) if name else code.picked(inside)
    return code


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes the lines of gold steps; `variables` name the results of steps, `known` has values of earlier programs."""

    variables: Mapping[int, str]
    known: Mapping[str, list[Any]]

    def call(self, function: str, step: Step) -> str:
        """The call of a step with its arguments; those whose names are no identifiers go in one `**{…}`."""
        given = {**step.path, **step.query, **({} if step.body is None else {"body": step.body})}
        plain = [f"{name}={self.value(value)}" for name, value in given.items() if _is_keyword(name)]
        others = ", ".join(f"{name!r}: {self.value(value)}" for name, value in given.items() if not _is_keyword(name))
        return f"{function}({', '.join([*plain, *([f'**{{{others}}}'] if others else [])])})"

    def value(self, value: Any) -> str:
        """The expression of an argument; a list of one reference has all its values."""
        if isinstance(value, str) and value.startswith("$"):
            return self.reference(value)
        if isinstance(value, Mapping):
            return "{" + ", ".join(f"{name!r}: {self.value(part)}" for name, part in value.items()) + "}"
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str) and value[0].startswith("$"):
            return self.all_values(value[0])
        if isinstance(value, list):
            return "[" + ", ".join(map(self.value, value)) + "]"
        return repr(value)

    def reference(self, reference: str) -> str:
        """The expression of the one value of a reference."""
        if reference in self.known:
            return repr(self.known[reference][0])
        return code_of(reference, self.variables).written()

    def all_values(self, reference: str) -> str:
        """The expression of the list of all values of a reference."""
        if reference in self.known:
            return repr(self.known[reference])
        code = code_of(reference, self.variables)
        return code.written() if code.is_many else f"[{code.written()}]"

    def report(self, template: str) -> str:
        """The argument of `print` for a text with expressions in braces, in which references stand for values."""
        if (whole := _BRACED.fullmatch(template)) is not None:
            return self._expression(whole[1])
        if not _BRACED.search(template):
            return repr(template)
        return f'f"{_BRACED.sub(lambda found: f"{{{self._expression(found[1])}}}", template)}"'

    def _expression(self, text: str) -> str:
        if _REFERENCE.fullmatch(text) and (code := code_of(text, self.variables)).is_many:
            return f"', '.join({code.written()[1:-1]})"
        return _REFERENCE.sub(lambda found: code_of(found[0], self.variables).written(), text)


def _is_keyword(name: str) -> bool:
    return name.isidentifier() and not iskeyword(name)


def variables_of(steps: Sequence[Step], numbers: Sequence[int], functions: Collection[str]) -> dict[int, str]:
    """A name for the result of each step, after the path of its operation; no name hides a function."""
    names: dict[int, str] = {}
    for number in numbers:
        name = _noun(steps[number - 1].operation)
        if name in functions or name in _TAKEN or iskeyword(name):
            name = "found"
        count = 2
        base = name
        while name in names.values():
            name, count = f"{base}_{count}", count + 1
        names[number] = name
    return names


def _noun(operation: str) -> str:
    """What an operation gives: `movie` for `GET /movie/{movie_id}`, `credits` for `GET /movie/{movie_id}/credits`."""
    method, _, path = operation.partition(" ")
    segments = [part for part in path.split("/") if part and not part.startswith("{")]
    if segments[0] == "search":
        return "found"
    last = re.sub(r"\W", "_", segments[-1])
    return last.removesuffix("s") if path.endswith("}") or method == "POST" else last
