"""Schemas of a document in the form that hosts take: short, with few references, nothing that a client may refuse."""

import json
from collections import Counter
from typing import Any

from restgpt.specs import Operation
from restgpt.specs.docs.field import plain_text
from restgpt.specs.docs.function_arguments import arguments_schema
from restgpt.specs.effort import spend, within
from restgpt.specs.problem import TooComplex
from restgpt.specs.reading.tree import is_hidden, places_in

STEPS_MOST = 15_000
"""How many steps the schemas of one operation may take."""

ANSWER = 6_000
"""The most characters of the schema of an answer; a longer one is left out."""

UNSHOWN = frozenset({"title", "description", "discriminator", "$comment"})
"""What of a schema is not shown; a description is cut."""

MAPS = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})

VALUES_OF = frozenset({"default", "const", "enum", "examples"})
"""The keywords whose values are maps of names to schemas, and those whose values are no schemas."""

LOOSE = UNSHOWN | {"format", "default"}
"""What of the schema of an answer is left out: clients differ in what fits a format."""

DEFINED = "#/$defs/"


def document_schema(operation: Operation, notes: int) -> dict[str, Any] | None:
    """Return the schema of the arguments by place; None if it is too complex, or has characters that nobody sees.

    Texts have at most `notes` characters.
    """
    try:
        with within(STEPS_MOST, operation.document.allowance):
            given = arguments_schema(operation)
            if "body" in given["properties"]:
                # Its definitions are in those of the whole.
                given["properties"]["body"].pop("$defs", None)
            found = _inlined(_shortened(given, notes))
    except (TooComplex, RecursionError):
        return None
    return found if _is_visible(found) else None


def answer_schema(operation: Operation) -> dict[str, Any]:
    """Return the schema of the body of the first success; one that accepts any value if it is none, or too long."""
    response = operation.response()
    media = response.preferred if response else None
    try:
        with within(STEPS_MOST, operation.document.allowance):
            raw = operation.json_schema(media.schema if media else None, patterns=False)
            found = _inlined(_shortened(raw, 0, LOOSE))
    except (TooComplex, RecursionError):
        return {}
    return found if len(json.dumps(found)) <= ANSWER and _is_valid(found) and _is_visible(found) else {}


def _is_visible(schema: dict[str, Any]) -> bool:
    """Return whether a client sees every character of a schema; it would send a mark instead of what is marked."""
    return not any(is_hidden(text) for path, node in places_in(schema) for text in (node, *path[-1:]))


def _is_valid(schema: dict[str, Any]) -> bool:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError:
        return False
    return True


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with what it refers to once in the place of the reference, which not every client follows."""
    definitions = schema.get("$defs", {})
    used = Counter(node for path, node in places_in(schema) if path[-1:] == ["$ref"] and isinstance(node, str))

    def put(node: Any) -> Any:
        if isinstance(node, list):
            return [put(item) for item in node]
        if not isinstance(node, dict):
            return node
        own = {key: put(value) for key, value in node.items()}
        name = str(node.get("$ref", "")).removeprefix(DEFINED)
        if used[f"{DEFINED}{name}"] != 1 or not isinstance(definitions.get(name), dict):
            return own
        found = put(definitions[name])
        fields = {**found.get("properties", {})}
        for name, fixed in own.pop("properties", {}).items():
            fields[name] = {**fields.get(name, {}), **fixed}
        del own["$ref"]
        return {**found, **own, **({"properties": fields} if fields else {})}

    found: dict[str, Any] = put({key: value for key, value in schema.items() if key != "$defs"})
    rest = {name: put(value) for name, value in definitions.items() if used[f"{DEFINED}{name}"] > 1}
    return {**found, **({"$defs": rest} if rest else {})}


def _shortened(node: Any, notes: int, unshown: frozenset[str] = UNSHOWN) -> Any:
    """Return a schema without what no model needs; a discriminator becomes a fixed value in each alternative."""
    spend()
    if isinstance(node, list):
        return [_shortened(item, notes, unshown) for item in node]
    if not isinstance(node, dict):
        return node
    found: dict[str, Any] = {}
    for key, value in node.items():
        if key in MAPS and isinstance(value, dict):
            found[key] = {name: _shortened(item, notes, unshown) for name, item in value.items()}
        elif key in VALUES_OF - unshown:
            found[key] = value
        elif key == "description" and (note := plain_text(str(value), notes) if notes else ""):
            found[key] = note
        elif key not in unshown and value not in ([], ""):
            found[key] = _shortened(value, notes, unshown)
    if (hint := node.get("discriminator")) and isinstance(found.get("anyOf"), list):
        found["anyOf"] = [_named_variant(item, hint) for item in found["anyOf"]]
    return found


def _named_variant(variant: Any, hint: dict[str, Any]) -> Any:
    value = hint["names"].get(variant.get("$ref")) if isinstance(variant, dict) else None
    return variant if value is None else {**variant, "properties": {hint["propertyName"]: {"const": value}}}
