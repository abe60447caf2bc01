"""Mutations of documents, by rule: for each operation that a recipe uses, what may change in it, and what does no harm.

The server of a mutated document agrees with it: a renamed parameter has its new name there too.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, urlencode

from restgpt.lab.recipes.case import Case
from restgpt.lab.recipes.document import METHODS, body_schema, own, owners, parameter, removed, renamed
from restgpt.lab.recipes.mutation import Document, Mutation
from restgpt.lab.recipes.pointer import holders, joined, split
from restgpt.worlds.exchange import Json, RefusalError, Reply, Request

REFUSED = 400

Pairs = list[tuple[str, str]]
Maker = Callable[[Case, str], Iterator[Mutation]]


def document_mutations(case: Case) -> Iterator[Mutation]:
    """Yield all mutations of the document that a case has room for."""
    for operation in case.used:
        for make in _MAKERS:
            yield from make(case, operation)


def _mutation(
    case: Case, kind: str, operation: str, at: str, edit: Callable[[Document], None], **more: Any
) -> Mutation:
    return Mutation(kind, "document", case.written.name, operation, at, edit, **more)


def _query(request: Request, change: Callable[[Pairs], Pairs]) -> Request:
    return replace(request, query=urlencode(change(parse_qsl(request.query, keep_blank_values=True))))


def _header(request: Request, name: str) -> str | None:
    return next((value for key, value in request.headers.items() if key.lower() == name.lower()), None)


def _body(request: Request, change: Callable[[dict[str, Any]], None]) -> Request:
    """Change the body of a request if it is a JSON object."""
    try:
        body = json.loads(request.body or b"null")
    except ValueError:
        return request
    if not isinstance(body, dict):
        return request
    change(body)
    return replace(request, body=json.dumps(body).encode())


@cache
def _parameters(case: Case, operation: str, *locations: str) -> list[dict[str, Any]]:
    found = own(_copy(case), operation)["parameters"]
    return [part for part in found if part["in"] in locations]


def _copy(case: Case) -> Document:
    copy: Document = json.loads(json.dumps(case.document))
    return copy


@cache
def _body_fields(case: Case, operation: str) -> dict[str, Any]:
    document = _copy(case)
    schema = body_schema(document, own(document, operation))
    return dict(schema["properties"]) if schema else {}


def _renamed_parameters(case: Case, operation: str) -> Iterator[Mutation]:
    for part in _parameters(case, operation, "query"):
        name, new = part["name"], f"{part['name']}_new"

        def edit(document: Document, name: str = name, new: str = new) -> None:
            parameter(own(document, operation), "query", name)["name"] = new

        def incoming(request: Request, name: str = name, new: str = new) -> Request:
            return _query(request, lambda pairs: [(name if k == new else k, v) for k, v in pairs if k != name])

        yield _mutation(case, "parameter renamed", operation, name, edit, incoming=incoming)


def _renamed_path_parameters(case: Case, operation: str) -> Iterator[Mutation]:
    path = operation.split(" ", 1)[1]
    for part in _parameters(case, operation, "path"):
        name, new = part["name"], f"{part['name']}_key"

        def edit(document: Document, name: str = name, new: str = new) -> None:
            for other in METHODS:
                if other in document["paths"][path]:
                    parameter(own(document, f"{other.upper()} {path}"), "path", name)["name"] = new
            paths = document["paths"].items()
            document["paths"] = {
                key.replace(f"{{{name}}}", f"{{{new}}}") if key == path else key: value for key, value in paths
            }

        yield _mutation(case, "path parameter renamed", operation, name, edit)


def _removed_parameters(case: Case, operation: str) -> Iterator[Mutation]:
    for part in _parameters(case, operation, "query"):
        name = part["name"]

        def edit(document: Document, name: str = name) -> None:
            found = own(document, operation)
            found["parameters"] = [
                item for item in found["parameters"] if (item["in"], item["name"]) != ("query", name)
            ]

        def incoming(request: Request, name: str = name, required: bool = part.get("required", False)) -> Request:
            # A server that needs the value all the same takes it from elsewhere, so it is kept here.
            return request if required else _query(request, lambda pairs: [(k, v) for k, v in pairs if k != name])

        if not part.get("required"):
            yield _mutation(case, "parameter removed", operation, name, edit, incoming=incoming)


def _moved_parameters(case: Case, operation: str) -> Iterator[Mutation]:
    for part in _parameters(case, operation, "query"):
        name = part["name"]

        def edit(document: Document, name: str = name) -> None:
            found = parameter(own(document, operation), "query", name)
            found["in"] = "header"
            found.pop("style", None)
            found.pop("explode", None)

        def incoming(request: Request, name: str = name) -> Request:
            value = _header(request, name)
            given = [] if value is None else [(name, value)]
            return _query(request, lambda pairs: [(k, v) for k, v in pairs if k != name] + given)

        yield _mutation(case, "parameter moved", operation, name, edit, incoming=incoming)


def _retyped_parameters(case: Case, operation: str) -> Iterator[Mutation]:
    for part in _parameters(case, operation, "query", "path"):
        name, kind = part["name"], part["schema"].get("type")
        if kind not in ("integer", "string", "boolean", "number") or (part["in"] == "path" and kind == "string"):
            continue
        new = "integer" if kind == "string" else "string"

        def edit(document: Document, name: str = name, location: str = part["in"], new: str = new) -> None:
            parameter(own(document, operation), location, name)["schema"] = {"type": new}

        def incoming(request: Request, name: str = name, new: str = new) -> Request:
            given = [value for key, value in parse_qsl(request.query) if key == name]
            if new == "integer" and any(not value.isdigit() for value in given):
                raise RefusalError(REFUSED, f"{name} must be an integer")
            return request

        yield _mutation(case, "parameter type changed", operation, name, edit, incoming=incoming)


def _new_required_parameter(case: Case, operation: str) -> Iterator[Mutation]:
    def edit(document: Document) -> None:
        part = {"name": "workspace", "in": "query", "required": True, "schema": {"type": "string"}}
        own(document, operation)["parameters"].append(part)

    def incoming(request: Request) -> Request:
        if not dict(parse_qsl(request.query)).get("workspace"):
            raise RefusalError(REFUSED, "workspace must be provided")
        return _query(request, lambda pairs: [(k, v) for k, v in pairs if k != "workspace"])

    yield _mutation(case, "new required parameter", operation, "workspace", edit, incoming=incoming)


def _new_optional_parameter(case: Case, operation: str) -> Iterator[Mutation]:
    def edit(document: Document) -> None:
        part = {"name": "workspace", "in": "query", "description": "Optional.", "schema": {"type": "string"}}
        own(document, operation)["parameters"].append(part)

    yield _mutation(case, "new optional parameter", operation, "workspace", edit)


def _narrowed_parameters(case: Case, operation: str) -> Iterator[Mutation]:
    """Leave a value out of an enumeration."""
    for part in _parameters(case, operation, "query", "path"):
        name, values = part["name"], part["schema"].get("enum", [])
        for gone in values if len(values) > 1 else []:

            def edit(document: Document, name: str = name, location: str = part["in"], gone: Any = gone) -> None:
                parameter(own(document, operation), location, name)["schema"]["enum"].remove(gone)

            def incoming(request: Request, name: str = name, gone: Any = gone) -> Request:
                if gone in dict(parse_qsl(request.query)).get(name, "").split(",") or gone in request.path.split("/"):
                    raise RefusalError(REFUSED, f"{name} must not be {gone}")
                return request

            yield _mutation(case, "value not allowed any more", operation, name, edit, incoming=incoming)


def _widened_parameters(case: Case, operation: str) -> Iterator[Mutation]:
    for part in _parameters(case, operation, "query"):

        def edit(document: Document, name: str = part["name"]) -> None:
            schema = parameter(own(document, operation), "query", name)["schema"]
            if "enum" in schema:
                schema["enum"].append("another")
            elif isinstance(schema.get("type"), str):
                schema["type"] = [schema["type"], "null"]

        yield _mutation(case, "parameter widened", operation, part["name"], edit)


def _renamed_body_fields(case: Case, operation: str) -> Iterator[Mutation]:
    for name in _body_fields(case, operation):

        def edit(document: Document, name: str = name) -> None:
            renamed(_body_schema(document, operation), name, f"{name}_new")

        def incoming(request: Request, name: str = name) -> Request:
            def change(body: dict[str, Any]) -> None:
                body.pop(name, None)
                if f"{name}_new" in body:
                    body[name] = body.pop(f"{name}_new")

            return _body(request, change)

        yield _mutation(case, "body field renamed", operation, name, edit, incoming=incoming)


def _body_schema(document: Document, operation: str) -> dict[str, Any]:
    schema = body_schema(document, own(document, operation))
    assert schema is not None, "the operation has a body with properties"
    return schema


def _removed_body_fields(case: Case, operation: str) -> Iterator[Mutation]:
    for name in _body_fields(case, operation):

        def edit(document: Document, name: str = name) -> None:
            removed(_body_schema(document, operation), name)

        def incoming(request: Request, name: str = name) -> Request:
            return _body(request, lambda body: body.pop(name, None))

        yield _mutation(case, "body field removed", operation, name, edit, incoming=incoming)


def _moved_body_fields(case: Case, operation: str) -> Iterator[Mutation]:
    for name, schema in _body_fields(case, operation).items():
        if schema.get("type") not in ("string", "boolean", "integer"):
            continue

        def edit(document: Document, name: str = name, schema: dict[str, Any] = schema) -> None:
            removed(_body_schema(document, operation), name)
            document["paths"][operation.split(" ", 1)[1]][operation.split(" ", 1)[0].lower()]["parameters"].append(
                {"name": name, "in": "query", "schema": schema}
            )

        def incoming(request: Request, name: str = name, kind: str = schema["type"]) -> Request:
            given = dict(parse_qsl(request.query))

            def change(body: dict[str, Any]) -> None:
                body.pop(name, None)
                if name in given:
                    body[name] = given[name] if kind == "string" else json.loads(given[name])

            return _query(_body(request, change), lambda pairs: [(k, v) for k, v in pairs if k != name])

        yield _mutation(case, "body field moved", operation, name, edit, incoming=incoming)


def _retyped_body_fields(case: Case, operation: str) -> Iterator[Mutation]:
    for name, schema in _body_fields(case, operation).items():
        if schema.get("type") not in ("string", "boolean", "integer", "array"):
            continue
        new = {"type": "string"} if schema["type"] != "string" else {"type": "array", "items": {"type": "string"}}

        def edit(document: Document, name: str = name, new: dict[str, Any] = new) -> None:
            _body_schema(document, operation)["properties"][name] = new

        def incoming(request: Request, name: str = name, was: str = schema["type"]) -> Request:
            def change(body: dict[str, Any]) -> None:
                if name not in body:
                    return
                if not isinstance(body[name], list if was == "string" else str):
                    raise RefusalError(REFUSED, f"{name} has another type")
                body[name] = " ".join(body[name]) if was == "string" else json.loads(body[name])

            return _body(request, change)

        yield _mutation(case, "body field type changed", operation, name, edit, incoming=incoming)


def _new_required_body_field(case: Case, operation: str) -> Iterator[Mutation]:
    if not _body_fields(case, operation):
        return

    def edit(document: Document) -> None:
        schema = _body_schema(document, operation)
        schema["properties"]["reason"] = {"type": "string"}
        schema["required"] = [*schema.get("required", []), "reason"]

    def incoming(request: Request) -> Request:
        def change(body: dict[str, Any]) -> None:
            if "reason" not in body:
                raise RefusalError(REFUSED, "reason is required")
            del body["reason"]

        return _body(request, change)

    yield _mutation(case, "new required body field", operation, "reason", edit, incoming=incoming)


def _new_optional_body_field(case: Case, operation: str) -> Iterator[Mutation]:
    if not _body_fields(case, operation):
        return

    def edit(document: Document) -> None:
        _body_schema(document, operation)["properties"]["reason"] = {"type": "string"}

    yield _mutation(case, "new optional body field", operation, "reason", edit)


def _moved_path(case: Case, operation: str) -> Iterator[Mutation]:
    method, path = operation.split(" ", 1)

    def edit(document: Document) -> None:
        found = own(document, operation)
        del document["paths"][path][method.lower()]
        document["paths"][f"/v2{path}"] = {method.lower(): found}

    yield _mutation(case, "path moved", operation, path, edit, moved=f"{method} /v2{path}")


def _changed_method(case: Case, operation: str) -> Iterator[Mutation]:
    method, path = operation.split(" ", 1)
    new = {"POST": "PUT", "PUT": "POST", "PATCH": "PUT", "DELETE": "POST", "GET": "POST"}[method]
    if new.lower() in case.document["paths"][path]:
        return

    def edit(document: Document) -> None:
        found = own(document, operation)
        del document["paths"][path][method.lower()]
        document["paths"][path][new.lower()] = found

    yield _mutation(case, "method changed", operation, path, edit, moved=f"{new} {path}")


def _removed_operation(case: Case, operation: str) -> Iterator[Mutation]:
    method, path = operation.split(" ", 1)

    def edit(document: Document) -> None:
        own(document, operation)
        del document["paths"][path][method.lower()]

    yield _mutation(case, "operation removed", operation, path, edit, is_gone=True)


def _renamed_answer_fields(case: Case, operation: str) -> Iterator[Mutation]:
    for pattern in _documented(case, operation):
        new = f"{split(pattern)[-1]}_new"

        def edit(document: Document, pattern: str = pattern, new: str = new) -> None:
            for schema, name in owners(document, own(document, operation), pattern):
                renamed(schema, name, new)

        def change(holder: dict[str, Any], name: str, new: str = new) -> None:
            holder[new] = holder.pop(name)

        yield _mutation(case, "answer field renamed", operation, pattern, edit, outgoing=replying(pattern, change))


def _removed_answer_fields(case: Case, operation: str) -> Iterator[Mutation]:
    for pattern in _documented(case, operation):

        def edit(document: Document, pattern: str = pattern) -> None:
            for schema, name in owners(document, own(document, operation), pattern):
                removed(schema, name)

        def change(holder: dict[str, Any], name: str) -> None:
            del holder[name]

        yield _mutation(case, "answer field removed", operation, pattern, edit, outgoing=replying(pattern, change))


def _retyped_answer_fields(case: Case, operation: str) -> Iterator[Mutation]:
    for pattern, value in _documented(case, operation).items():
        made = retyped(value)
        if made is None:
            continue
        new, convert = made

        def edit(document: Document, pattern: str = pattern, new: Mapping[str, Any] = new) -> None:
            for schema, name in owners(document, own(document, operation), pattern):
                schema["properties"][name] = dict(new)

        def change(holder: dict[str, Any], name: str, convert: Callable[[Json], Json] = convert) -> None:
            holder[name] = convert(holder[name])

        yield _mutation(case, "answer field type changed", operation, pattern, edit, outgoing=replying(pattern, change))


@cache
def _documented(case: Case, operation: str) -> dict[str, Json]:
    """Return the fields of answers that the document describes, each with a value."""
    document = _copy(case)
    found = own(document, operation)
    return {pattern: value for pattern, value in case.answered(operation).items() if owners(document, found, pattern)}


def retyped(value: Json) -> tuple[Mapping[str, Any], Callable[[Json], Json]] | None:
    """Return the schema of another type for a value, and how values become that type."""
    match value:
        case bool():
            return {"type": "string"}, lambda given: "yes" if given else "no"
        case int() | float():
            return {"type": "string"}, lambda given: None if given is None else str(given)
        case str():
            return {"type": "array", "items": {"type": "string"}}, lambda given: [given]
        case list():
            return {"type": "object", "properties": {"entries": {"type": "array"}}}, lambda given: {"entries": given}
        case dict():
            return {"type": "array", "items": {"type": "object"}}, lambda given: [given]
    return None


def replying(pattern: str, change: Callable[[dict[str, Any], str], None]) -> Callable[[Reply], Reply]:
    """Return what changes each object that has the field of a pattern in a reply."""

    def outgoing(reply: Reply) -> Reply:
        body = json.loads(json.dumps(reply.body))
        for holder, name in list(holders(body, pattern)):
            change(holder, name)
        return replace(reply, body=body)

    return outgoing


def _new_answer_field(case: Case, operation: str) -> Iterator[Mutation]:
    parents = dict.fromkeys(pattern.rpartition("/")[0] for pattern in _documented(case, operation))
    for parent in parents:
        beside = next(p for p in _documented(case, operation) if p.rpartition("/")[0] == parent)

        def edit(document: Document, beside: str = beside) -> None:
            for schema, _ in owners(document, own(document, operation), beside):
                schema["properties"]["revision"] = {"type": "integer"}

        def change(holder: dict[str, Any], name: str) -> None:
            holder["revision"] = 7

        at = parent + joined("revision")
        yield _mutation(case, "new answer field", operation, at, edit, outgoing=replying(beside, change))


def _widened_answer_fields(case: Case, operation: str) -> Iterator[Mutation]:
    for pattern in _documented(case, operation):

        def edit(document: Document, pattern: str = pattern) -> None:
            for schema, name in owners(document, own(document, operation), pattern):
                part = schema["properties"][name]
                if "enum" in part:
                    part["enum"].append("another")
                elif part.get("type") == "integer":
                    part["type"] = "number"
                elif isinstance(part.get("type"), str):
                    part["type"] = [part["type"], "null"]

        yield _mutation(case, "answer field widened", operation, pattern, edit)


def _described(case: Case, operation: str) -> Iterator[Mutation]:
    def edit(document: Document) -> None:
        document["info"]["description"] = "Rewritten."
        document["info"]["version"] = "99.1"
        document["servers"][0]["description"] = "The server in the other building."
        found = own(document, operation)
        found["summary"] = found["description"] = "Rewritten in other words"
        for part in found["parameters"]:
            part["description"] = "Rewritten."

    yield _mutation(case, "descriptions", operation, "", edit)


def _renamed_operation(case: Case, operation: str) -> Iterator[Mutation]:
    def edit(document: Document) -> None:
        found = own(document, operation)
        found["operationId"] = f"{found['operationId']}_v2"

    yield _mutation(case, "operationId renamed", operation, "", edit)


def _reordered_operations(case: Case, operation: str) -> Iterator[Mutation]:
    def edit(document: Document) -> None:
        document["paths"] = {path: dict(reversed(item.items())) for path, item in reversed(document["paths"].items())}

    if operation == case.used[0]:
        yield _mutation(case, "operations reordered", operation, "", edit)


def _removed_others(case: Case, operation: str) -> Iterator[Mutation]:
    # The first look at the target of a change may need the operation that reads it.
    kept = {item.operation for item in case.exchanges}

    def edit(document: Document) -> None:
        for path, item in list(document["paths"].items()):
            for method in METHODS:
                if method in item and f"{method.upper()} {path}" not in kept:
                    del item[method]
            if not any(method in item for method in METHODS):
                del document["paths"][path]

    if operation == case.used[0]:
        yield _mutation(case, "other operations removed", operation, "", edit)


def _new_operation(case: Case, operation: str) -> Iterator[Mutation]:
    def edit(document: Document) -> None:
        found = own(document, operation)
        twin = json.loads(json.dumps(found)) | {"operationId": f"{found['operationId']}_in_detail", "parameters": []}
        document["paths"] = {"/details": {"get": twin}, **document["paths"]}

    if operation == case.used[0]:
        yield _mutation(case, "new operation", operation, "", edit)


def _new_statuses(case: Case, operation: str) -> Iterator[Mutation]:
    def edit(document: Document) -> None:
        own(document, operation)["responses"]["503"] = {"description": "Too busy."}

    yield _mutation(case, "new error status", operation, "", edit)


def _deprecated(case: Case, operation: str) -> Iterator[Mutation]:
    def edit(document: Document) -> None:
        own(document, operation)["deprecated"] = True

    yield _mutation(case, "deprecated", operation, "", edit)


_MAKERS: tuple[Maker, ...] = (
    _renamed_parameters,
    _renamed_path_parameters,
    _removed_parameters,
    _moved_parameters,
    _retyped_parameters,
    _new_required_parameter,
    _narrowed_parameters,
    _renamed_body_fields,
    _removed_body_fields,
    _moved_body_fields,
    _retyped_body_fields,
    _new_required_body_field,
    _moved_path,
    _changed_method,
    _removed_operation,
    _renamed_answer_fields,
    _removed_answer_fields,
    _retyped_answer_fields,
    _described,
    _new_optional_parameter,
    _new_optional_body_field,
    _new_answer_field,
    _widened_parameters,
    _widened_answer_fields,
    _renamed_operation,
    _reordered_operations,
    _removed_others,
    _new_operation,
    _new_statuses,
    _deprecated,
)
