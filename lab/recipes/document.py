"""Finds parts of an OpenAPI document to edit them for one operation alone, without the others that refer to them."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from lab.recipes.mutation import Document
from lab.recipes.pointer import split

METHODS = ("get", "put", "post", "delete", "patch")

Schema = dict[str, Any]


def own(document: Document, key: str) -> dict[str, Any]:
    """Return the operation "METHOD /template" of a document with parameters and body of its own."""
    method, path = key.split(" ", 1)
    item = document["paths"][path]
    shared = item.pop("parameters", [])
    for operation in (item[name] for name in METHODS if name in item):
        mine = [resolved(document, part) for part in operation.get("parameters", [])]
        names = {(part["name"], part["in"]) for part in mine}
        common = [resolved(document, part) for part in shared]
        operation["parameters"] = [part for part in common if (part["name"], part["in"]) not in names] + mine
    found: dict[str, Any] = item[method.lower()]
    if "requestBody" in found:
        found["requestBody"] = resolved(document, found["requestBody"])
    return found


def resolved(document: Document, part: Any) -> Any:
    """Return a copy of a part of a document; of the part that it refers to, if it is a reference."""
    while isinstance(part, dict) and "$ref" in part:
        target: Any = document
        for name in split(part["$ref"].removeprefix("#")):
            target = target[name]
        part = target
    return deepcopy(part)


def parameter(operation: dict[str, Any], location: str, name: str) -> dict[str, Any]:
    """Return a parameter of an operation."""
    found: dict[str, Any] = next(
        part for part in operation["parameters"] if (part["in"], part["name"]) == (location, name)
    )
    return found


def body_schema(document: Document, operation: dict[str, Any]) -> Schema | None:
    """Return the schema of the body, if it is that of an object."""
    for media in operation.get("requestBody", {}).get("content", {}).values():
        media["schema"] = resolved(document, media["schema"])
        if "properties" in media["schema"]:
            found: Schema = media["schema"]
            return found
    return None


def owners(document: Document, operation: dict[str, Any], pattern: str) -> list[tuple[Schema, str]]:
    """Return the schemas of objects that have the field of a pattern in the answer, each with the field's name."""
    found: list[tuple[Schema, str]] = []
    for status, response in operation["responses"].items():
        if not str(status).startswith("2"):
            continue
        operation["responses"][status] = response = resolved(document, response)
        for media in response.get("content", {}).values():
            found += _owners(document, media, "schema", list(split(pattern)))
    return found


def _owners(document: Document, holder: Any, key: Any, names: list[str]) -> Iterator[tuple[Schema, str]]:
    holder[key] = schema = resolved(document, holder[key])
    for word in ("allOf", "oneOf", "anyOf"):
        for index in range(len(schema.get(word, []))):
            yield from _owners(document, schema[word], index, names)
    first, *others = names
    if first == "*" and "items" in schema:
        yield from _owners(document, schema, "items", others)
    elif first in schema.get("properties", {}):
        if others:
            yield from _owners(document, schema["properties"], first, others)
        else:
            yield schema, first


def renamed(schema: Schema, name: str, new: str) -> None:
    """Rename a property of a schema."""
    schema["properties"] = {new if key == name else key: value for key, value in schema["properties"].items()}
    schema["required"] = [new if key == name else key for key in schema.get("required", [])]


def removed(schema: Schema, name: str) -> None:
    """Remove a property of a schema."""
    del schema["properties"][name]
    schema["required"] = [key for key in schema.get("required", []) if key != name]
