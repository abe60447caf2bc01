"""Functions that are operations of an API."""

from collections.abc import Iterable
from typing import Any

from restgpt.specs.docs.map import summary_line
from restgpt.specs.operation import Operation
from restgpt_functions.docs.function import GROUPS, Function, FunctionParameter


def from_operations(operations: Iterable[Operation]) -> list[Function]:
    """Document each operation of an API as a function."""
    return [_from_operation(operation) for operation in operations]


def _from_operation(operation: Operation) -> Function:
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
    properties = {one.name: _hoisted(operation, one.schema, one.description, definitions) for one in found}
    required = [parameter.name for parameter in found if parameter.required]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return FunctionParameter(place, schema, bool(required))


def _body(operation: Operation, definitions: dict[str, Any]) -> FunctionParameter | None:
    body = operation.body
    if body is None:
        return None
    media = body.preferred
    schema = _hoisted(operation, media.schema, body.description, definitions) if media.schema else {}
    return FunctionParameter("body", schema, body.required)


def _hoisted(operation: Operation, raw: Any, description: str, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema without its `$defs`, which move to the function, where `#/$defs/…` points from everywhere."""
    schema = operation.json_schema(raw, request=True)
    definitions.update(schema.get("$defs", {}))
    kept = {key: value for key, value in schema.items() if key not in ("$defs", "$schema")}
    return kept | ({"description": description} if description else {})
