"""Operations as functions with flat arguments, as tool generators write them: parameters and body fields together."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from restgpt.specs import Operation
from restgpt.specs.docs.map import summary_line
from restgpt.specs.operation import GROUPS

COMBINED = ("allOf", "anyOf", "oneOf", "$ref", "if", "patternProperties")
"""The keywords of a body's schema whose fields cannot be listed as arguments."""


@dataclass(frozen=True, slots=True)
class FlatFunction:
    """A function of an operation: its arguments as a JSON Schema, and where each goes in the request.

    `homes` gives the place (path, query, header, cookie, body) and the name there for each argument. The name is empty
    for an argument that is the whole body.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    homes: Mapping[str, tuple[str, str]]
    needs_body: bool = False

    def grouped(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Group arguments by place, as the request builder takes them; raises `ValueError` for unknown names."""
        if unknown := [name for name in arguments if name not in self.homes]:
            known = ", ".join(self.homes) or "none"
            raise ValueError(f"{self.name} has no argument {', '.join(unknown)}. Its arguments are: {known}.")
        found: dict[str, Any] = {"body": {}} if self.needs_body else {}
        for argument, value in arguments.items():
            place, name = self.homes[argument]
            if name:
                found.setdefault(place, {})[name] = value
            else:
                found[place] = value
        return found


def flatten(operation: Operation, name: str) -> FlatFunction:
    """Make a function with flat arguments of an operation.

    The body stays one argument, `body`, if it is no plain object or if one of its fields has the name of a parameter.
    Of parameters with the same name in several places, the later ones get their place as a suffix: `id__query`.
    """
    definitions: dict[str, Any] = {}
    properties: dict[str, Any] = {}
    homes: dict[str, tuple[str, str]] = {}
    required: list[str] = []

    def add(argument: str, schema: Any, home: tuple[str, str], is_required: bool) -> None:
        properties[argument], homes[argument] = schema, home
        required.extend([argument] if is_required else [])

    for place in dict.fromkeys(GROUPS.values()):
        for one in (one for one in operation.parameters if GROUPS.get(one.location) == place):
            schema = _hoisted(operation, one.schema, definitions)
            about = {"description": one.description} if one.description else {}
            argument = one.name if one.name not in homes else f"{one.name}__{place}"
            add(argument, schema | about, (place, one.name), one.required)
    body, needs_body = operation.body, False
    if body is not None:
        schema = _hoisted(operation, body.preferred.schema, definitions) if body.preferred.schema else {}
        fields = schema.get("properties", {}) if _is_plain(schema) else {}
        if fields and not homes.keys() & fields.keys():
            needs_body = body.required
            for field, part in fields.items():
                add(field, part, ("body", field), needs_body and field in schema.get("required", ()))
        else:
            add("body" if "body" not in homes else "body__body", schema, ("body", ""), body.required)
    whole: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    whole |= {"additionalProperties": False} | ({"$defs": definitions} if definitions else {})
    return FlatFunction(name, _about(operation) or name, whole, homes, needs_body)


def _hoisted(operation: Operation, schema: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema without its `$defs`, which move to the function, where `#/$defs/…` points from everywhere."""
    found = operation.json_schema(schema, request=True)
    definitions.update(found.get("$defs", {}))
    return {key: value for key, value in found.items() if key not in ("$defs", "$schema")}


def _is_plain(schema: Mapping[str, Any]) -> bool:
    """Whether the properties of a body's schema are all that the schema describes."""
    is_closed = not schema.get("additionalProperties")
    return schema.get("type") == "object" and is_closed and not any(keyword in schema for keyword in COMBINED)


def _about(operation: Operation) -> str:
    """The summary and the description of the operation."""
    texts = dict.fromkeys(text.strip() for text in (operation.summary, operation.description) if text)
    return "\n".join(texts) or summary_line(operation)
