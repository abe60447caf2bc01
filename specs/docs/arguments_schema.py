"""The JSON schema of an operation's arguments by place, as far as its document describes them."""

from typing import Any

from restgpt.specs.docs.words.keyword import GROUPS
from restgpt.specs.operation import Operation
from restgpt.specs.parameter import RESERVED_HEADERS


def arguments_schema(operation: Operation) -> dict[str, Any]:
    """Return the schema of an object with the places path, query, header, cookie and body.

    The definitions that it refers to are in `$defs` of the whole (JSON Schema 2020-12, section 8.2.4).
    """
    places: dict[str, Any] = {}
    definitions: dict[str, Any] = {}

    def converted(raw: Any) -> dict[str, Any]:
        schema = operation.json_schema(raw, request=True)
        definitions.update(schema.get("$defs", {}))
        return schema

    for item in operation.parameters:
        is_set = item.repeats_sign_in or (item.location == "header" and item.name.lower() in RESERVED_HEADERS)
        if item.location not in GROUPS or is_set:
            continue
        place = places.setdefault(GROUPS[item.location], {"type": "object", "properties": {}, "required": []})
        described = {"description": item.description} if item.description else {}
        place["properties"][item.name] = {**converted(item.schema), **described}
        place["required"] += [item.name] if item.required else []
    needed = [name for name, place in places.items() if place["required"]]
    if operation.body is not None:
        places["body"] = converted(operation.body.preferred.schema)
        needed += ["body"] if operation.body.required else []
    found = {"type": "object", "properties": places, "required": needed}
    return {**found, "$defs": definitions} if definitions else found
