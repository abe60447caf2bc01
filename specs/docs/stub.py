"""Stubs: the functions of operations as JSON, against which a program is checked before its first request.

    {"name": "get_movie",
     "keywords": {"movie_id": {"required": true, "types": ["integer"]}, "language": {…, "values": ["de", "en"]}},
     "body": null | {"required": true, "types": ["object"], "fields": ["name"], "needs": ["name"], "open": false},
     "pages": true,
     "result": SHAPE}
    SHAPE := null (unknown) | {"fields": {"name": SHAPE, …}, "open": bool} | {"items": SHAPE} | {"type": "string"}

`open` says that other fields may occur than the listed ones.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from restgpt.specs.docs.shape import Shape
from restgpt.specs.docs.words.keyword import Keyword, body_shape, keywords
from restgpt.specs.effect import seems_to_read
from restgpt.specs.effort import within
from restgpt.specs.operation import Operation

# How deep objects nest in a result, how many arrays lead directly to one another, how many fields are listed in all.
DEEPEST, ARRAYS_MOST, FIELDS_MOST = 5, 3, 400
# How many steps one stub may take; the shape of what is left by then is unknown.
STEPS_MOST = 15_000
# More enumerated values than these are not listed.
VALUES_MOST = 100
SCALARS = frozenset({"string", "integer", "number", "boolean"})

Json = dict[str, Any]


def stub(operation: Operation, name: str, *, reads: Callable[[Operation], bool] = seems_to_read) -> Json:
    """Describe the function of an operation: its keywords, its body, and the shape of its result.

    `reads` tells whether the operation reads, or seems to, so that several pages of it may be asked for.
    """
    pages = reads(operation)
    with within(STEPS_MOST, operation.document.allowance):
        return {
            "name": name,
            "keywords": {item.name: _keyword(operation, item) for item in keywords(operation)},
            "body": _body(operation),
            "pages": pages,
            "result": _result(operation),
        }


def _keyword(operation: Operation, item: Keyword) -> Json:
    shape = Shape(operation.document, item.parameter.schema, request=True)
    described: Json = {"required": item.required, "types": _types(shape)}
    if 0 < len(shape.values) <= VALUES_MOST:
        described["values"] = list(shape.values)
    return described


def _types(shape: Shape) -> list[str]:
    return [*shape.kinds, "null"] if shape.kinds and shape.is_nullable else list(shape.kinds)


def _body(operation: Operation) -> Json | None:
    shape = body_shape(operation)
    if shape is None or operation.body is None:
        return None
    listed = list(shape.fields)[:FIELDS_MOST]
    return {
        "required": operation.body.required,
        "types": _types(shape),
        "fields": listed,
        "needs": [name for name in listed if name in shape.required],
        # A body without documented fields may have any.
        "open": shape.is_open or shape.is_base or len(listed) < len(shape.fields) or not listed,
    }


def _result(operation: Operation) -> Json | None:
    """Describe the body of a successful response; several documented ones count as alternatives."""
    schemas: list[Any] = []
    for status, response in operation.responses.items():
        media = response.preferred
        if media is not None and (status.startswith("2") or (status == "default" and not _has_success(operation))):
            if "json" not in media.media_type.lower() and "*" not in media.media_type:
                return None
            if media.schema not in schemas:
                schemas.append(media.schema)
    schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    return _described(Shape(operation.document, schema)) if schemas and all(schemas) else None


def _has_success(operation: Operation) -> bool:
    return any(status.startswith("2") for status in operation.responses)


def _described(root: Shape) -> Json | None:
    """Describe a result level by level, so that a long one lacks its deepest fields first; those are unknown."""
    left = FIELDS_MOST
    top: Json = {}
    waiting: deque[tuple[Shape, int, int, Callable[[Json | None], None]]] = deque()
    waiting.append((root, 0, 0, lambda value: top.update({"result": value})))
    while waiting:
        shape, depth, arrays, put = waiting.popleft()
        kinds = shape.kinds
        if shape.items is not None and kinds == ("array",) and arrays < ARRAYS_MOST:
            node: Json = {"items": None}
            put(node)
            waiting.append((shape.items, depth, arrays + 1, _setter(node, "items")))
        elif kinds == ("object",) and depth < DEEPEST and left > 0 and (shape.fields or shape.is_open):
            inner: Json = {name: None for name, _ in zip(shape.fields, range(left), strict=False)}
            put({"fields": inner, "open": shape.is_open or shape.is_base or len(inner) < len(shape.fields)})
            left -= len(inner)
            waiting.extend((shape.fields[name], depth + 1, 0, _setter(inner, name)) for name in inner)
        else:
            put({"type": kinds[0]} if len(kinds) == 1 and kinds[0] in SCALARS else None)
    return top["result"]  # type: ignore[no-any-return]


def _setter(node: Json, key: str) -> Callable[[Json | None], None]:
    return lambda value: node.update({key: value})
