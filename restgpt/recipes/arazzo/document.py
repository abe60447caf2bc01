"""Arazzo documents of the versions 1.0 and 1.1: their form, checked with a place for each fault.

The models hold the fields that Arazzo defines; fields that begin with `x-` are kept, others are faults.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from restgpt.recipes.arazzo.fault import ArazzoError, Fault
from restgpt.specs.reading.pointer import format_pointer
from restgpt.specs.reading.tree import places_in

VERSION = re.compile(r"1\.[01]\.[0-9]+(?:-[0-9A-Za-z.-]+)?")
DEEPEST = 60
"""The maximum nesting of a value in a document."""

Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$", max_length=200)]
Key = Annotated[str, Field(pattern=r"^[a-zA-Z0-9._-]+$", max_length=200)]
Outputs = Mapping[Key, Any]


def _filled(items: tuple[Any, ...]) -> tuple[Any, ...]:
    if not items:
        raise ValueError("the list is empty: it needs an entry")
    return items


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True, populate_by_name=False, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _fields_are_known(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        known = {field.alias or name for name, field in cls.model_fields.items()}
        unknown = [str(name) for name in data if name not in known and not str(name).startswith("x-")]
        if unknown:
            raise ValueError(f"Arazzo has no field {unknown[0]!r} here; there are {', '.join(sorted(known))}")
        return data


class Info(_Part):
    """The title and the version of a document."""

    title: str
    version: str
    summary: str = ""
    description: str = ""


class SourceDescription(_Part):
    """A document that steps refer to by its name."""

    name: Id
    url: str
    type: Literal["openapi", "arazzo", "asyncapi"] = "openapi"


class ExpressionType(_Part):
    """The type of an expression with its version."""

    type: str
    version: str


class Criterion(_Part):
    """A condition; without a type, a simple one."""

    condition: str
    context: str = ""
    type: ExpressionType | str = "simple"


class Parameter(_Part):
    """A parameter, or a reference to one of the components."""

    name: str = ""
    place: Literal["path", "query", "querystring", "header", "cookie", ""] = Field(default="", alias="in")
    value: Any = None
    reference: str = ""

    @model_validator(mode="after")
    def _is_named(self) -> "Parameter":
        _check_name(self.name, self.reference, "a parameter")
        return self


class Action(_Part):
    """An action after a step, or a reference to one of the components."""

    name: str = ""
    type: Literal["end", "goto", "retry", ""] = ""
    workflow_id: str = Field(default="", alias="workflowId")
    step_id: str = Field(default="", alias="stepId")
    parameters: tuple[Parameter, ...] = Field(default=(), strict=False)
    retry_after: Annotated[float, Field(ge=0)] | None = Field(default=None, alias="retryAfter")
    retry_limit: Annotated[int, Field(ge=0)] | None = Field(default=None, alias="retryLimit")
    criteria: tuple[Criterion, ...] = Field(default=(), strict=False)
    reference: str = ""
    value: Any = None

    @model_validator(mode="after")
    def _is_complete(self) -> "Action":
        _check_name(self.name, self.reference, "an action")
        if not self.reference and not self.type:
            raise ValueError("the action has no type: write end, goto or retry")
        if self.workflow_id and self.step_id:
            raise ValueError("the action names a step and a workflow: keep one of them")
        if self.type == "goto" and not (self.workflow_id or self.step_id):
            raise ValueError("goto needs a stepId or a workflowId")
        return self


class Replacement(_Part):
    """A value to put at a place of a payload."""

    target: str
    kind: ExpressionType | str = Field(default="jsonpointer", alias="targetSelectorType")
    value: Any


class Body(_Part):
    """The body of a request."""

    content_type: str = Field(default="", alias="contentType")
    payload: Any = None
    replacements: tuple[Replacement, ...] = Field(default=(), strict=False)


class Step(_Part):
    """A step: exactly one of an operation, a channel and a workflow."""

    step_id: Id = Field(alias="stepId")
    description: str = ""
    operation_id: str = Field(default="", alias="operationId")
    operation_path: str = Field(default="", alias="operationPath")
    channel_path: str = Field(default="", alias="channelPath")
    workflow_id: str = Field(default="", alias="workflowId")
    parameters: tuple[Parameter, ...] = Field(default=(), strict=False)
    body: Body | None = Field(default=None, alias="requestBody")
    success: tuple[Criterion, ...] = Field(default=(), alias="successCriteria", strict=False)
    on_success: tuple[Action, ...] = Field(default=(), alias="onSuccess", strict=False)
    on_failure: tuple[Action, ...] = Field(default=(), alias="onFailure", strict=False)
    outputs: Outputs = Field(default_factory=dict)
    timeout: Annotated[int, Field(ge=0)] | None = None
    correlation_id: str = Field(default="", alias="correlationId")
    action: Literal["send", "receive", ""] = ""
    depends_on: tuple[str, ...] = Field(default=(), alias="dependsOn", strict=False)

    @model_validator(mode="after")
    def _has_one_target(self) -> "Step":
        given = [self.operation_id, self.operation_path, self.channel_path, self.workflow_id]
        if sum(map(bool, given)) != 1:
            raise ValueError("a step has exactly one of operationId, operationPath, channelPath and workflowId")
        return self


class Workflow(_Part):
    """Steps with inputs and outputs."""

    workflow_id: Id = Field(alias="workflowId")
    summary: str = ""
    description: str = ""
    inputs: Mapping[str, Any] = Field(default_factory=dict)
    depends_on: tuple[str, ...] = Field(default=(), alias="dependsOn", strict=False)
    steps: Annotated[tuple[Step, ...], Field(strict=False), AfterValidator(_filled)]
    success_actions: tuple[Action, ...] = Field(default=(), alias="successActions", strict=False)
    failure_actions: tuple[Action, ...] = Field(default=(), alias="failureActions", strict=False)
    outputs: Outputs = Field(default_factory=dict)
    parameters: tuple[Parameter, ...] = Field(default=(), strict=False)


class Components(_Part):
    """Parts that others refer to."""

    inputs: Mapping[Key, Any] = Field(default_factory=dict)
    parameters: Mapping[Key, Parameter] = Field(default_factory=dict)
    success_actions: Mapping[Key, Action] = Field(default_factory=dict, alias="successActions")
    failure_actions: Mapping[Key, Action] = Field(default_factory=dict, alias="failureActions")


class Arazzo(_Part):
    """A document."""

    arazzo: Annotated[str, Field(pattern=f"^{VERSION.pattern}$")]
    self_: str = Field(default="", alias="$self")
    info: Info
    sources: Annotated[
        tuple[SourceDescription, ...], Field(alias="sourceDescriptions", strict=False), AfterValidator(_filled)
    ]
    workflows: Annotated[tuple[Workflow, ...], Field(strict=False), AfterValidator(_filled)]
    components: Components = Components()

    def workflow(self, name: str) -> tuple[int, Workflow] | None:
        """Return a workflow and its number."""
        return next((pair for pair in enumerate(self.workflows) if pair[1].workflow_id == name), None)


def read_document(data: Any) -> Arazzo:
    """Return a decoded document. Raises ArazzoError with every fault and its place."""
    if not isinstance(data, Mapping):
        raise ArazzoError("This is no Arazzo document: it is not an object.")
    if "arazzo" not in data:
        raise ArazzoError("This is no Arazzo document: it has no field arazzo with the version.")
    if (deep := _too_deep(data)) is not None:
        raise ArazzoError("The Arazzo document cannot be read.", [Fault(deep, f"nested more than {DEEPEST} deep")])
    try:
        document = Arazzo.model_validate(data)
    except ValidationError as error:
        # Of the branches of a union, which have one place, the last is the plain one.
        said = {_place(item["loc"]): _said(item) for item in error.errors(include_url=False)}
        faults = [Fault(place, text) for place, text in said.items()]
        raise ArazzoError("The Arazzo document has faults.", faults) from None
    if faults := list(_doubles(document)):
        raise ArazzoError("The Arazzo document has faults.", faults)
    return document


def _check_name(name: str, reference: str, what: str) -> None:
    if bool(name) == bool(reference):
        raise ValueError(f"{what} has either a name or a reference")


def _too_deep(value: Any) -> str | None:
    """Return the place where a document is nested too deeply, if one is."""
    return next((format_pointer(map(str, path[:8])) for path, _ in places_in(value) if len(path) > DEEPEST), None)


# Parts of pydantic's places that name a branch of a union or of a model, and no field.
_NO_FIELDS = frozenset({"ExpressionType", "str", "[key]"})


def _place(loc: tuple[int | str, ...]) -> str:
    return format_pointer(str(part) for part in loc if part not in _NO_FIELDS)


def _said(item: Mapping[str, Any]) -> str:
    kind, given = item["type"], item.get("input")
    if kind == "missing":
        return "the field is missing"
    if kind == "value_error":
        return str(item["msg"]).removeprefix("Value error, ")
    if kind == "string_pattern_mismatch" and item["loc"] == ("arazzo",):
        return f"the version {given!r} is not supported: 1.0.x and 1.1.x are"
    if kind == "string_pattern_mismatch":
        return f"{str(given)[:80]!r} may have only letters, digits and the signs - and _"
    if kind == "string_type" and isinstance(given, int | float):
        return f"it has to be a text: write {given!s} in quotes"
    shown = "" if isinstance(given, Mapping | list) else f", not {str(given)[:80]!r}"
    return f"{item['msg']}{shown}"


def _doubles(document: Arazzo) -> Iterator[Fault]:
    """Yield repeated names where each has to be unique."""
    lists = {
        "/sourceDescriptions/{}/name": [source.name for source in document.sources],
        "/workflows/{}/workflowId": [workflow.workflow_id for workflow in document.workflows],
        **{
            f"/workflows/{number}/steps/{{}}/stepId": [step.step_id for step in workflow.steps]
            for number, workflow in enumerate(document.workflows)
        },
    }
    for place, names in lists.items():
        for number, name in enumerate(names):
            if name in names[:number]:
                yield Fault(place.format(number), f"{name!r} stands twice: rename one of them")
