"""The canonical model of a documented function: its name, its parameters, and the operation it may stand for."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from restgpt.specs.operation import Operation
from restgpt.specs.problem import SpecError

GROUPS = ("path", "query", "header", "cookie", "body")
"""The places of a request, in the order in which a function of a REST operation lists them as parameters."""

LONGEST_NAME = 64
"""The most characters of a name that every tool-calling provider accepts."""


class FunctionError(SpecError):
    """The documentation of a function cannot be read; `pointer` names the field and `problem` the reason."""

    def __init__(self, pointer: str, problem: str) -> None:
        self.pointer = pointer
        self.problem = problem
        super().__init__(f"{pointer or '/'}: {problem}")


@dataclass(frozen=True, slots=True)
class FunctionParameter:
    """One parameter: its JSON Schema (words that JSON Schema lacks under `x-type`), and whether it must be given."""

    name: str
    schema: Mapping[str, Any] = field(default_factory=dict)
    required: bool = False

    @property
    def description(self) -> str:
        """The description in the schema."""
        return str(self.schema.get("description", ""))

    @property
    def type_word(self) -> str:
        """The type as the documentation wrote it: `dict`, `float`, `ArrayList`, `string`."""
        word = self.schema.get("x-type", self.schema.get("type", "any"))
        return word if isinstance(word, str) else "any"


@dataclass(frozen=True, slots=True)
class Function:
    """A function that can be called by name with keyword arguments.

    `name` is the callable (`uber.eat.order`, `requests.get`), `title` the name for people. A function made from an
    operation of an API takes its arguments grouped by place (path, query, header, cookie, body) and keeps `operation`.
    `url` is the address in documentation of `requests.get`.
    """

    name: str
    description: str = ""
    parameters: tuple[FunctionParameter, ...] = ()
    title: str = ""
    url: str = ""
    closed: bool = True
    definitions: Mapping[str, Any] = field(default_factory=dict, repr=False)
    operation: Operation | None = field(default=None, repr=False, compare=False)

    @property
    def required(self) -> tuple[str, ...]:
        """The names of the parameters that must be given."""
        return tuple(parameter.name for parameter in self.parameters if parameter.required)

    def parameter(self, name: str) -> FunctionParameter | None:
        """The parameter of this name, or None."""
        return next((parameter for parameter in self.parameters if parameter.name == name), None)

    def json_schema(self) -> dict[str, Any]:
        """The JSON Schema (2020-12) of its arguments as one object; unknown names are refused unless it is open."""
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {parameter.name: dict(parameter.schema) for parameter in self.parameters},
            "required": list(self.required),
        }
        if self.closed:
            schema["additionalProperties"] = False
        if self.definitions:
            schema["$defs"] = dict(self.definitions)
        return schema


def legal_names(functions: Iterable[Function]) -> list[str]:
    """A name that every tool-calling provider accepts for each function (`[A-Za-z0-9_-]{1,64}`); no two share one."""
    listed = list(functions)
    wanted = [legal_name(function.name) for function in listed]
    clean = {function.name for function in listed if function.name in wanted}
    names: list[str] = []
    for function, name in zip(listed, wanted, strict=True):
        # A function with a legal name keeps it: `a_b` has priority over `a.b`, whatever their order.
        taken = {*names} if function.name == name else {*names, *clean}
        number, free = 1, name
        while free in taken:
            number += 1
            free = f"{name[: LONGEST_NAME - len(str(number)) - 1]}_{number}"
        names.append(free)
    return names


def legal_name(name: str) -> str:
    """A name of letters, digits, underscores and hyphens."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:LONGEST_NAME] or "function"
