"""Functions that are operations of an API."""

from collections.abc import Iterable, Mapping
from typing import Any

from restgpt.specs.docs.overview.summary import summary_line
from restgpt.specs.operation import Operation
from restgpt_functions.docs.function import GROUPS, Function, FunctionParameter


def from_operations(operations: Iterable[Operation]) -> list[Function]:
    """Document each operation of an API as a function."""
    return [from_operation(operation) for operation in operations]


def from_operation(operation: Operation) -> Function:
    """Document an operation: its parameters are the places of the request, each an object of its values, and the body.

    Values stay grouped by place, so that two of the same name never collide.
    """
    definitions: dict[str, Any] = {}
    groups = [_group(operation, place, definitions) for place in GROUPS[:-1]]
    body = _body(operation, definitions)
    return Function(
        name=operation.name,
        title=summary_line(operation),
        description=operation.summary or operation.description,
        parameters=tuple(part for part in (*groups, body) if part is not None),
        definitions=definitions,
        operation=operation,
    )


def _group(operation: Operation, place: str, definitions: dict[str, Any]) -> FunctionParameter | None:
    places = (place, "querystring") if place == "query" else (place,)
    found = [parameter for parameter in operation.parameters if parameter.location in places]
    if not found:
        return None
    properties = {}
    for parameter in found:
        schema = _hoisted(operation.json_schema(parameter.schema, request=True), definitions)
        properties[parameter.name] = schema | ({"description": parameter.description} if parameter.description else {})
    required = [parameter.name for parameter in found if parameter.required]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return FunctionParameter(place, schema, bool(required))


def _body(operation: Operation, definitions: dict[str, Any]) -> FunctionParameter | None:
    body = operation.body
    if body is None:
        return None
    media = body.preferred
    schema = _hoisted(operation.json_schema(media.schema, request=True), definitions) if media.schema else {}
    return FunctionParameter("body", schema, body.required, body.description)


def _hoisted(schema: Mapping[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema without its `$defs`, which move to the function, where `#/$defs/…` points from everywhere."""
    definitions.update(schema.get("$defs", {}))
    return {key: value for key, value in schema.items() if key not in ("$defs", "$schema")}
