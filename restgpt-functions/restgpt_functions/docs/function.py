"""The canonical model of a documented function: its name, its parameters, and the request it may stand for."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from restgpt.specs.operation import Operation
from restgpt.specs.problem import Problem, SpecError

GROUPS = ("path", "query", "header", "cookie", "body")
"""The places of a request, in the order in which a function of a REST operation lists them as parameters."""


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
    description: str = ""

    @property
    def default(self) -> Any:
        """The documented default, or None."""
        return self.schema.get("default")

    @property
    def has_default(self) -> bool:
        """Whether a default is documented; a documented null counts."""
        return "default" in self.schema

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
    dialect: str = "canonical"
    url: str = ""
    closed: bool = True
    definitions: Mapping[str, Any] = field(default_factory=dict, repr=False)
    problems: tuple[Problem, ...] = ()
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

    def signature(self) -> str:
        """One line for prompts and lists: `name(required: type, optional: type = default)  description`."""
        parts = [_shown(parameter) for parameter in self.parameters]
        return f"{self.name}({', '.join(parts)})  {self.summary}".rstrip()

    @property
    def summary(self) -> str:
        """The first sentence of the description, or the title."""
        return re.split(r"(?<=[.!?])\s", self.description.strip(), maxsplit=1)[0] or self.title


def _shown(parameter: FunctionParameter) -> str:
    text = f"{parameter.name}: {parameter.type_word}"
    if parameter.has_default:
        return f"{text} = {parameter.default!r}"
    return text if parameter.required else f"{text} = …"


@dataclass(frozen=True, slots=True)
class FunctionNames:
    """Names that every tool-calling provider accepts (`[A-Za-z0-9_-]{1,64}`), one per function, and the way back."""

    legal: tuple[str, ...]
    functions: tuple[Function, ...]

    def of(self, function: Function) -> str:
        """The legal name of one of the functions; raises `LookupError` for another."""
        for name, known in zip(self.legal, self.functions, strict=True):
            if known is function:
                return name
        raise LookupError(f"{function.name} is not one of these functions")

    def find(self, name: str) -> Function | None:
        """The function with this legal name, or None."""
        return next((known for legal, known in zip(self.legal, self.functions, strict=True) if legal == name), None)


def legal_names(functions: Iterable[Function]) -> FunctionNames:
    """Make the names of functions legal for tool calling, injectively: no two share one."""
    listed = tuple(functions)
    wanted = [re.sub(r"[^A-Za-z0-9_-]", "_", function.name)[:64] or "function" for function in listed]
    clean = {function.name for function in listed if function.name in wanted}
    taken: set[str] = set()
    names = []
    for function, name in zip(listed, wanted, strict=True):
        # A function with a legal name keeps it: `a_b` has priority over `a.b`, whatever their order.
        reserved = taken if function.name == name else taken | clean
        names.append(_free(name, reserved))
        taken.add(names[-1])
    return FunctionNames(tuple(names), listed)


def _free(name: str, taken: set[str]) -> str:
    number, candidate = 1, name
    while candidate in taken:
        number += 1
        candidate = f"{name[: 64 - len(str(number)) - 1]}_{number}"
    return candidate
