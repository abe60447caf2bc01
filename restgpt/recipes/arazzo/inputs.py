"""The inputs of workflows: JSON Schemas with the references to components written out."""

from collections.abc import Mapping, Sequence
from typing import Any

from restgpt.recipes.arazzo.document import Arazzo, Workflow
from restgpt.recipes.arazzo.fault import unsupported
from restgpt.specs.reading.pointer import parse_pointer

MOST_PARTS = 5000
"""The maximum number of parts of a schema with its references written out."""


class InputsError(ValueError):
    """The inputs of a workflow are no schema of an object, or refer to something that is not there."""


def inputs_of(document: Arazzo, workflow: Workflow) -> dict[str, Any]:
    """Return the schema of a workflow's inputs. Raises InputsError."""
    found = _Resolver(document).resolved(workflow.inputs, ())
    if not found:
        return {"type": "object", "properties": {}}
    if not isinstance(found, dict) or found.setdefault("type", "object") != "object":
        raise InputsError("the inputs are not a schema of an object: write type: object and properties")
    if not isinstance(found.setdefault("properties", {}), dict):
        raise InputsError("the properties of the inputs are no object")
    return found


def joined(schemas: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one schema with the inputs of several workflows; of two with one name, the first counts."""
    first = dict(schemas[0])
    first["properties"] = {name: part for schema in reversed(schemas) for name, part in schema["properties"].items()}
    required = dict.fromkeys(name for schema in schemas for name in _required(schema))
    if required:
        first["required"] = list(required)
    return first


def _required(schema: Mapping[str, Any]) -> list[str]:
    listed = schema.get("required")
    return [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []


class _Resolver:
    """Writes out references, within a bound that ends circles and bombs."""

    def __init__(self, document: Arazzo) -> None:
        self._document = document
        self._left = MOST_PARTS

    def resolved(self, value: Any, seen: tuple[str, ...]) -> Any:
        self._left -= 1
        if self._left < 0:
            raise InputsError(f"the schema has more than {MOST_PARTS} parts with its references written out")
        if isinstance(value, list | tuple):
            return [self.resolved(part, seen) for part in value]
        if not isinstance(value, Mapping):
            return value
        reference = value.get("$ref")
        if isinstance(reference, str):
            return self._target(reference, seen)
        return {str(key): self.resolved(part, seen) for key, part in value.items()}

    def _target(self, reference: str, seen: tuple[str, ...]) -> Any:
        tokens = parse_pointer(reference[1:]) if reference.startswith("#/") else ()
        if tokens[:2] != ("components", "inputs") or len(tokens) != 3:
            raise InputsError(unsupported(f"the reference {reference[:80]!r}", "Use #/components/inputs/<name>"))
        if reference in seen:
            raise InputsError(f"the reference {reference[:80]!r} leads to itself")
        if tokens[2] not in self._document.components.inputs:
            raise InputsError(f"the reference {reference[:80]!r} leads to nothing")
        return self.resolved(self._document.components.inputs[tokens[2]], (*seen, reference))
