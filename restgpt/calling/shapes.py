"""Learned shapes: names and types of answers seen earlier, for operations whose answers the document leaves open.

They hold no value, belong to no thread, and are kept for each operation under a digest of its document: after a change
of the document they are not found any more.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import islice
from typing import Any

from langgraph.store.base import BaseStore

from restgpt.specs import Api, Operation
from restgpt.specs.effort import within
from restgpt.specs.reading.document import Document, follow_safely
from restgpt.specs.schemas.shape import Shape as Field
from restgpt.specs.schemas.shape import merge_all_of
from restgpt.tools.request.body import kind_of
from restgpt.tools.response.sketch import Shape, merged, shape_of, text_of
from restgpt.tools.text.storable import delete_items

NAMESPACE = ("restgpt", "shapes")

# Part of every key: raise it when the form of shapes changes.
LAYOUT = 1

MOST_STEPS = 50_000
"""How many steps the comparison of one shape with the document may take."""

MOST_READS = 50
"""How many reads of an API are asked for a field of a body."""

MOST_ALTERNATIVES = 50
"""How many alternatives of one schema are compared with a shape."""


class Shapes:
    """The shapes of the answers of operations; without a store nothing is learned and nothing is shown.

    Two runs that learn at the same moment may lose what one of them saw; the next answer brings it back.
    """

    def __init__(self, store: BaseStore | None) -> None:
        self._store = store
        self._read: dict[tuple[str, str | None, str], list[Shape]] = {}

    def learn(self, operation: Operation, value: Any) -> None:
        """Merge the shape of a successful JSON answer into the known one; written only if that changes it."""
        if self._store is None:
            return
        before = self.shape(operation)
        after = shape_of(value) if before is None else merged(before, shape_of(value))
        if after != before:
            entry = {"operation": f"{operation.method} {operation.path}", "shape": after}
            self._store.put(NAMESPACE, _key(operation), entry, index=False)
            self._read.clear()

    def shape(self, operation: Operation) -> Shape | None:
        """The learned shape of an operation's answers, None if no answer was seen."""
        item = self._store.get(NAMESPACE, _key(operation)) if self._store is not None else None
        return item.value["shape"] if item is not None else None

    def seen(self, operation: Operation, budget: int = 200, *, focus: str = "") -> str | None:
        """The learned shape, else that of the document's example, in `budget` tokens; fields that `focus` names first.

        None if there is none or the document says as much.
        """
        shape = self.shape(operation) or _of_example(operation)
        return text_of(shape, budget, focus=focus) if shape is not None and differs(operation, shape) else None

    def sent(self, operation: Operation, budget: int = 60) -> str:
        """How answers of the API show fields of an operation's body that the document leaves open, by their names.

        Each in about `budget` tokens; empty if the document leaves none open, or no read has shown one.
        """
        with within(MOST_STEPS, operation.document.allowance):
            body = operation.sent
            wanted = [] if body is None else [name for name, field in body.fields.items() if _is_open(field)]
        if not wanted or self._store is None:
            return ""
        shapes = self._of_reads(operation.api)
        shown: dict[str, Shape] = {}
        for name in wanted:
            found = (field for shape in shapes for field in _fields_named(shape, name))
            if (field := next(found, None)) is not None:
                shown[name] = field
        return "; ".join(f"{name}, as responses show it: {text_of(field, budget)}" for name, field in shown.items())

    def _of_reads(self, api: Api) -> list[Shape]:
        """The known shapes of the answers of an API's reads, asked of the store once for all functions of a prompt."""
        key = (api.source, api.base_url, api.document.digest)
        if key not in self._read:
            reads = (item for item in api.operations if item.method == "GET")
            found = map(self.shape, islice(reads, MOST_READS))
            self._read[key] = [shape for shape in found if shape is not None]
        return self._read[key]

    def clear(self) -> int:
        """Delete the shapes of all operations of all APIs, and return the number of operations."""
        self._read.clear()
        return delete_items(self._store, NAMESPACE) if self._store is not None else 0


def _key(operation: Operation) -> str:
    """A digest of the operation, the place its API was loaded from and called at, and the content of its document."""
    api = operation.api
    parts = [LAYOUT, api.source, api.base_url, api.document.digest, operation.method, operation.path]
    return sha256(json.dumps(parts).encode()).hexdigest()


def _of_example(operation: Operation) -> Shape | None:
    """The shape of the example of an operation's answer, if its schema says nothing."""
    response = operation.response()
    media = response.preferred if response is not None else None
    example = media and (media.example or (media.schema or {}).get("example"))
    return shape_of(example) if isinstance(example, dict | list) and differs(operation, "") else None


def _is_open(field: Field) -> bool:
    """Whether the document names no field and no type of a value of a body, or of its items."""
    inner = field.items or field
    return not (inner.fields or inner.values) and (not inner.kinds or inner.kinds == ("object",))


def _fields_named(shape: Shape, name: str) -> Iterator[Shape]:
    """Yield the objects and the lists of objects in a shape that are a field of this name, the outer ones first."""
    waiting = [shape]
    while waiting:
        part = waiting.pop(0)
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            fields = part.get("fields", {})
            if name in fields and not isinstance(fields[name], str):
                yield fields[name]
            waiting += [*fields.values(), *(part[key] for key in ("items", "map") if key in part)]


def differs(operation: Operation, shape: Shape) -> bool:
    """Whether a shape tells more than the document: the document leaves the answer open, or lacks a field of it."""
    response = operation.response()
    content = response.content if response is not None else {}
    schemas = [media.schema for name, media in content.items() if media.schema and kind_of(name) in ("json", "any")]
    with within(MOST_STEPS, operation.document.allowance):
        flat = _alternatives(operation.document, schemas)
        return not any(map(_says_something, flat)) or _lacks(operation.document, flat, shape)


def _alternatives(document: Document, schemas: Iterable[Any]) -> list[dict[str, Any]]:
    """The schemas that a value may fit, with references resolved, `allOf` merged and alternatives taken apart."""
    waiting, found = list(schemas), list[dict[str, Any]]()
    # Alternatives may refer to each other in a circle.
    for _ in range(MOST_ALTERNATIVES):
        if not waiting:
            break
        node = follow_safely(document, waiting.pop(0))
        if isinstance(node, dict):
            flat = merge_all_of(document, node)
            found.append(flat)
            nested = [flat.get(key) for key in ("oneOf", "anyOf", "allOf")]
            waiting += [branch for branches in nested if isinstance(branches, list) for branch in branches]
    return found


def _says_something(schema: dict[str, Any]) -> bool:
    kinds = schema.get("type") if isinstance(schema.get("type"), list) else [schema.get("type")]
    is_scalar = any(kind not in ("object", "array", "null", None) for kind in kinds or ())
    return (
        is_scalar or "enum" in schema or "const" in schema or bool(_fields(schema) or _rest(schema) or _items(schema))
    )


def _fields(schema: dict[str, Any]) -> dict[str, Any]:
    fields = schema.get("properties")
    return fields if isinstance(fields, dict) else {}


def _rest(schema: dict[str, Any]) -> list[Any]:
    """The schemas of fields whose names the document does not fix."""
    patterned = schema.get("patternProperties")
    rest = [schema.get("additionalProperties"), *(patterned.values() if isinstance(patterned, dict) else ())]
    return [item for item in rest if isinstance(item, dict) and item]


def _items(schema: dict[str, Any]) -> list[Any]:
    items = schema.get("items")
    return [items] if isinstance(items, dict) and items else []


def _lacks(document: Document, schemas: Sequence[dict[str, Any]], shape: Shape) -> bool:
    """Whether the shape has a field, at any depth, that none of the alternatives has."""
    if isinstance(shape, str):
        return False
    if isinstance(shape, list):
        return any(_lacks(document, schemas, part) for part in shape)
    rest = [item for schema in schemas for item in _rest(schema)]
    if "items" in shape:
        below = [item for schema in schemas for item in _items(schema)]
        return _lacks(document, _alternatives(document, below), shape["items"])
    if "map" in shape:
        below = [*rest, *(item for schema in schemas for item in _fields(schema).values())]
        return not below or _lacks(document, _alternatives(document, below), shape["map"])
    for name, inner in shape["fields"].items():
        below = [_fields(schema)[name] for schema in schemas if name in _fields(schema)] or rest
        if not below or _lacks(document, _alternatives(document, below), inner):
            return True
    return False
