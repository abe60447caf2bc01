"""Functions of operations with flat arguments, as tool generators write them: parameters and body fields together."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from restgpt.functions.docs.function import GROUPS, Function, FunctionParameter

COMBINED = ("allOf", "anyOf", "oneOf", "$ref", "if", "patternProperties")
"""The keywords of a body's schema whose fields cannot be listed as arguments."""


@dataclass(frozen=True, slots=True)
class FlatFunction:
    """A function of an operation with flat arguments, and where each goes in the request.

    `homes` gives the place (path, query, header, cookie, body) and the name there for each argument. The name is empty
    for an argument that is the whole body.
    """

    function: Function
    homes: Mapping[str, tuple[str, str]]
    needs_body: bool = False

    def grouped(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Group arguments by place, as the request builder takes them; raises `ValueError` for unknown names."""
        if unknown := [name for name in arguments if name not in self.homes]:
            known = ", ".join(self.homes) or "none"
            raise ValueError(f"{self.function.name} has no argument {', '.join(unknown)}. Its arguments are: {known}.")
        found: dict[str, Any] = {"body": {}} if self.needs_body else {}
        for argument, value in arguments.items():
            place, name = self.homes[argument]
            if name:
                found.setdefault(place, {})[name] = value
            else:
                found[place] = value
        return found


def flatten(function: Function) -> FlatFunction:
    """Make the arguments of a function of an operation flat.

    The body stays one argument, `body`, if it is no plain object or if one of its fields has the name of a parameter.
    Of parameters with the same name in several places, the later ones get their place as a suffix: `id__query`.
    """
    listed: list[FunctionParameter] = []
    homes: dict[str, tuple[str, str]] = {}
    for place in GROUPS[:-1]:
        for parameter in _members(function.parameter(place)):
            name = parameter.name if parameter.name not in homes else f"{parameter.name}__{place}"
            listed.append(replace(parameter, name=name))
            homes[name] = (place, parameter.name)
    body = function.parameter("body")
    fields = _members(body) if body is not None and _is_plain(body.schema) else []
    is_flat = bool(fields) and not any(field.name in homes for field in fields)
    is_needed = body is not None and body.required
    if is_flat:
        listed += [replace(field, required=field.required and is_needed) for field in fields]
        homes |= {field.name: ("body", field.name) for field in fields}
    elif body is not None:
        name = "body" if "body" not in homes else "body__body"
        listed.append(replace(body, name=name))
        homes[name] = ("body", "")
    flat = replace(function, description=_about(function), parameters=tuple(listed))
    return FlatFunction(flat, homes, needs_body=is_flat and is_needed)


def _members(group: FunctionParameter | None) -> list[FunctionParameter]:
    """The values of a place as parameters of their own."""
    if group is None:
        return []
    required = group.schema.get("required", ())
    return [
        FunctionParameter(name, schema if isinstance(schema, Mapping) else {}, name in required)
        for name, schema in group.schema.get("properties", {}).items()
    ]


def _is_plain(schema: Mapping[str, Any]) -> bool:
    """Whether the properties of a body's schema are all that the schema describes."""
    is_closed = not schema.get("additionalProperties")
    return schema.get("type") == "object" and is_closed and not any(keyword in schema for keyword in COMBINED)


def _about(function: Function) -> str:
    """The summary and the description of the operation."""
    operation = function.operation
    if operation is None:
        return function.description
    texts = dict.fromkeys(text.strip() for text in (operation.summary, operation.description) if text)
    return "\n".join(texts) or function.title
