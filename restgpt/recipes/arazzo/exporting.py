"""The export of recipes: a linear one becomes a workflow that other runners carry out.

A recipe with loops, choices or computed values keeps its program in an extension. Its only step names an operation
that no document has, so that another runner stops before its first request, and does not send some of the calls.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from restgpt.recipes.arazzo.fault import ArazzoError, Fault
from restgpt.recipes.arazzo.operations import with_id
from restgpt.recipes.guards.closure import find_operation
from restgpt.recipes.recipe import Recipe, SavedCall, Source, UsedOperation
from restgpt.specs import Operation
from restgpt.specs.reading.pointer import parse_pointer
from restgpt.specs.reading.tree import values_in
from restgpt.specs.reading.unique_names import UniqueNames

Version = Literal["1.0.1", "1.1.0"]

PROGRAM = "x-restgpt-program"
OPERATIONS, LINKS, CONSTANTS = "x-restgpt-operations", "x-restgpt-links", "x-restgpt-constants"
WRITES, PROVED = "x-restgpt-writes", "x-restgpt-proved"

NOT_PROVED = "Not proved: this recipe has not yet gone well a second time with other inputs."

_NAME = re.compile(r"[^A-Za-z0-9_]+")
_INPUT = re.compile(r"[A-Za-z0-9_.-]+", re.ASCII)
_SLOT = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Export:
    """An Arazzo document, and sentences about what it does not hold."""

    document: dict[str, Any]
    notices: tuple[str, ...]


def to_arazzo(
    recipe: Recipe, sources: Mapping[str, str], operations: Iterable[Operation], *, version: Version = "1.1.0"
) -> Export:
    """Return a recipe as an Arazzo document.

    `sources` are the addresses of the documents of its APIs by their names, `operations` those of its APIs. Raises
    ArazzoError if an address or an operation is missing.
    """
    known = tuple(operations)
    faults = [
        Fault(f"/apis/{number}", f"no document is given for the API {api.name!r}: name its path or URL")
        for number, api in enumerate(recipe.apis)
        if not sources.get(api.name)
    ]
    found = {used.function: find_operation(used, known) for used in recipe.operations}
    faults += [
        Fault(
            f"/operations/{number}",
            f"the document of {used.api!r} has no operation {used.method} {used.path}: run the recipe with --check",
        )
        for number, used in enumerate(recipe.operations)
        if found[used.function] is None
    ]
    if faults:
        raise ArazzoError(f"The recipe {recipe.name} cannot be exported.", faults)
    return _Exporter(recipe, sources, {name: item for name, item in found.items() if item}, version).export()


class _NotLinearError(Exception):
    """Arazzo steps cannot express the calls of a recipe; the message is the reason."""


@dataclass
class _Step:
    """A step that is being written: its outputs by the JSON pointers of their values."""

    id: str
    used: UsedOperation
    outputs: dict[str, str] = field(default_factory=dict)
    names: UniqueNames = field(default_factory=UniqueNames)

    def output(self, pointer: str) -> str:
        """Return the expression for a value of the answer, which becomes an output of the step."""
        if "{" in pointer or "}" in pointer:
            raise _NotLinearError(f"the field {pointer} has a brace in its name, which no runtime expression can hold")
        if pointer not in self.outputs:
            named = [token for token in parse_pointer(pointer) if not token.isdecimal()]
            self.outputs[pointer] = self.names.claim(_named(named[-1] if named else "body"))
        return f"$steps.{self.id}.outputs.{self.outputs[pointer]}"

    def described(self) -> dict[str, str]:
        """Return the outputs of the step by name."""
        return {
            name: f"$response.body#{pointer}" if pointer else "$response.body" for pointer, name in self.outputs.items()
        }


class _Exporter:
    """Writes one recipe."""

    def __init__(
        self, recipe: Recipe, sources: Mapping[str, str], operations: Mapping[str, Operation], version: Version
    ) -> None:
        self._recipe = recipe
        self._sources = sources
        self._operations = operations
        self._version = version
        names = UniqueNames()
        self._source_names = {api.name: names.claim(_named(api.name, "-")) for api in recipe.apis}
        self._notices: list[str] = []

    def export(self) -> Export:
        """Return the document and the notices."""
        recipe = self._recipe
        described = "\n\n".join(text for text in (recipe.description, "" if recipe.proved else NOT_PROVED) if text)
        document = {
            "arazzo": self._version,
            "info": {
                "title": recipe.name,
                "version": f"{recipe.version}.0.0",
                **({"description": described} if described else {}),
            },
            "sourceDescriptions": [
                {"name": self._source_names[api.name], "url": self._sources[api.name], "type": "openapi"}
                for api in recipe.apis
            ],
            "workflows": [self._workflow()],
        }
        return Export(document, tuple(self._notices))

    def _workflow(self) -> dict[str, Any]:
        recipe = self._recipe
        extensions = {
            OPERATIONS: [item.model_dump(mode="json", exclude_defaults=True) for item in recipe.operations],
            LINKS: [item.model_dump(mode="json", exclude_defaults=True) for item in recipe.links],
            CONSTANTS: recipe.model_dump(mode="json")["constants"],
            WRITES: "" if recipe.writes == "ask" else recipe.writes,
            PROVED: recipe.proved,
        }
        head = {
            "workflowId": recipe.name,
            **({"description": recipe.description} if recipe.description else {}),
            "inputs": recipe.model_dump(mode="json")["inputs"],
        }
        try:
            body = self._linear()
        except _NotLinearError as reason:
            body = self._with_program(str(reason))
        return {**head, **body, **{key: value for key, value in extensions.items() if value}}

    def _with_program(self, reason: str) -> dict[str, Any]:
        """Return the workflow of a recipe that only this program can carry out."""
        self._notices.append(
            f"The recipe {self._recipe.name} cannot be written as Arazzo steps: {reason}. Its program is in "
            f"{PROGRAM}, which other runners do not carry out: they stop before the first request."
        )
        source = self._source_names[self._recipe.apis[0].name]
        return {
            "steps": [
                {
                    "stepId": "program",
                    "description": f"Carried out by RestGPT from {PROGRAM}; no other runner can, because {reason}.",
                    "operationPath": f"{{$sourceDescriptions.{source}.url}}#/{PROGRAM}",
                }
            ],
            PROGRAM: self._recipe.program,
        }

    def _linear(self) -> dict[str, Any]:
        """Return steps and outputs. Raises _NotLinearError."""
        recipe = self._recipe
        if not recipe.is_linear or not recipe.calls:
            raise _NotLinearError("it has loops, choices or computed values")
        names = UniqueNames()
        steps: list[_Step] = []
        written: list[dict[str, Any]] = []
        for call in recipe.calls:
            used = recipe.used(call.function)
            if used is None:
                raise _NotLinearError(f"the function {call.function} is not among its operations")
            written.append(self._call(call, used, steps))
            steps.append(_Step(names.claim(_named(call.function)), used))
        outputs = self._outputs(steps)
        self._notices.append(
            "The sentence of the answer is not exported: the outputs of the workflow are the values that it is made of."
        )
        described = [
            {"stepId": step.id, **parts, **({"outputs": step.described()} if step.outputs else {})}
            for step, parts in zip(steps, written, strict=True)
        ]
        return {"steps": described, "outputs": outputs}

    def _call(self, call: SavedCall, used: UsedOperation, before: list[_Step]) -> dict[str, Any]:
        operation = self._operations[call.function]
        arguments: dict[str, Any] = {}
        for pointer, source in call.arguments.items():
            _put(arguments, parse_pointer(pointer), self._value(source, pointer, before))
        parameters = [
            {"name": name, "in": _location(operation, group, name), "value": _spelt(_as_arrays(value))}
            for group in ("path", "query", "header", "cookie")
            for name, value in arguments.pop(group, {}).items()
        ]
        body = _as_arrays(arguments.pop("body")) if "body" in arguments else None
        if arguments:
            raise _NotLinearError(f"{call.function} has arguments at the unknown place {next(iter(arguments))!r}")
        described: dict[str, Any] = self._reference(operation)
        if operation.summary:
            described = {"description": operation.summary, **described}
        if parameters:
            described["parameters"] = parameters
        if body is not None and operation.body is not None:
            described["requestBody"] = {"contentType": operation.body.preferred.media_type, "payload": body}
        if used.status:
            condition = " || ".join(f"$statusCode == {status}" for status in sorted(set(used.status)))
            described["successCriteria"] = [{"condition": condition}]
        return described

    def _reference(self, operation: Operation) -> dict[str, Any]:
        """Return the operationId if it names one operation only, else the pointer into the document.

        With several documents an id has to be qualified, which not all runners understand; they do understand pointers.
        """
        is_unique = len(with_id(operation.operation_id, operation.api.operations)) == 1
        if operation.operation_id and is_unique and len(self._source_names) == 1:
            return {"operationId": operation.operation_id}
        source = self._source_names[operation.api.name]
        return {"operationPath": f"{{$sourceDescriptions.{source}.url}}#{operation.pointer}"}

    def _value(self, source: Source, pointer: str, before: list[_Step]) -> Any:
        """Return a literal or a runtime expression."""
        if source.input:
            return f"$inputs.{self._input(source.input)}"
        if source.text:
            if _SLOT.sub("", source.text).strip("{}") != _SLOT.sub("", source.text):
                raise _NotLinearError(f"the text at {pointer} has braces of its own")
            return _SLOT.sub(lambda match: f"{{$inputs.{self._input(match[1])}}}", source.text)
        if source.call:
            if source.call > len(before):
                raise _NotLinearError(f"the value at {pointer} comes from call {source.call}, which is not before it")
            return before[source.call - 1].output(source.at)
        if source.value is None:
            raise _NotLinearError(f"the value at {pointer} is computed")
        _check_literal(source.value, pointer)
        return source.value

    def _input(self, name: str) -> str:
        if not _INPUT.fullmatch(name):
            raise _NotLinearError(f"the name of the input {name!r} cannot stand in a runtime expression")
        return name

    def _outputs(self, steps: list[_Step]) -> dict[str, str]:
        """Return the outputs of the workflow: the fields that the program reads, else the last answer."""
        names = UniqueNames()
        found: dict[str, str] = {}
        for step in steps:
            for pattern, types in step.used.reads.items():
                is_plain = "*" not in parse_pointer(pattern) and not {"object", "array", "missing"} & {*types}
                if is_plain and not set("{}") & set(pattern):
                    expression = step.output(pattern)
                    found[names.claim(f"{step.id}_{expression.rpartition('.')[2]}")] = expression
        return found or {"answer": steps[-1].output("")}


def _check_literal(value: Any, pointer: str) -> None:
    """Raise _NotLinearError for texts that a runner would read as expressions."""
    for text in values_in(value):
        if isinstance(text, str) and (text.startswith("$") or "{" in text or " $" in text):
            raise _NotLinearError(f"the text at {pointer} would be read as a runtime expression")


def _named(text: str, extra: str = "") -> str:
    """Return a text as a name of ASCII letters, digits and underscores."""
    pattern = re.compile(rf"[^A-Za-z0-9_{re.escape(extra)}]+") if extra else _NAME
    return pattern.sub("_", text).strip("_") or "value"


def _location(operation: Operation, group: str, name: str) -> str:
    """Return the place of a parameter as the document calls it: a query string is in the group of the query."""
    listed = [item.location for item in operation.parameters if item.name == name]
    return "querystring" if group == "query" and listed == ["querystring"] else group


def _spelt(value: Any) -> Any:
    """Return a boolean of a parameter in the spelling of URLs; runners spell it in their own languages."""
    return str(value).lower() if isinstance(value, bool) else value


def _put(into: dict[str, Any], tokens: tuple[str, ...], value: Any) -> None:
    for token in tokens[:-1]:
        into = into.setdefault(token, {})
    into[tokens[-1]] = value


def _as_arrays(value: Any) -> Any:
    """Return a tree of pointers as JSON: an object whose names count up from 0 is an array."""
    if not isinstance(value, dict):
        return value
    parts = {key: _as_arrays(part) for key, part in value.items()}
    if parts and set(parts) == {str(number) for number in range(len(parts))}:
        return [parts[str(number)] for number in range(len(parts))]
    return parts
