"""Mutations of documents, by rule: for each operation that a recipe uses, what may change in it, and what does no harm.

The server of a mutated document agrees with it: a renamed parameter has its new name there too.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any
from urllib.parse import parse_qsl, urlencode

from lab.recipes.case import Case
from lab.recipes.document import METHODS, body_schema, own, owners, parameter, removed, renamed
from lab.recipes.mutation import Document, Mutation
from lab.recipes.pointer import holders, joined
from restgpt_bench.worlds.exchange import Json, RefusalError, Reply, Request

REFUSED = 400

Pairs = list[tuple[str, str]]
Schema = dict[str, Any]

Things = Callable[[Case, str], Iterable[tuple[str, Any]]]
"""Finds what a rule can change in an operation: places, each with what the rule has to know about it."""

Rule = Callable[[str, str, Any], Mapping[str, Any] | None]
"""Makes a mutation of an operation, a place and what is there: fields of `Mutation`, or None if there is no room."""


def document_mutations(case: Case) -> Iterator[Mutation]:
    """Yield all mutations of the document that a case has room for."""
    for operation in case.used:
        for kind, things, rule in RULES:
            for at, thing in things(case, operation):
                given = rule(operation, at, thing)
                if given is not None:
                    yield Mutation(kind, "document", case.written.name, operation, **{"at": at, **given})


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


def _without(name: str) -> Callable[[Pairs], Pairs]:
    return lambda pairs: [(key, value) for key, value in pairs if key != name]


def _on_operation(operation: str, change: Callable[[dict[str, Any]], object]) -> Callable[[Document], None]:
    """Return the edit that changes an operation."""

    def edit(document: Document) -> None:
        change(own(document, operation))

    return edit


def _on_parameter(
    operation: str, place: str, name: str, change: Callable[[Schema], object]
) -> Callable[[Document], None]:
    """Return the edit that changes a parameter of an operation."""
    return _on_operation(operation, lambda found: change(parameter(found, place, name)))


def _copy(case: Case) -> Document:
    copy: Document = json.loads(json.dumps(case.document))
    return copy


@cache
def _parameters(case: Case, operation: str, *locations: str) -> list[tuple[str, Schema]]:
    found = own(_copy(case), operation)["parameters"]
    return [(part["name"], part) for part in found if part["in"] in locations]


def _query_parameters(case: Case, operation: str) -> Iterable[tuple[str, Schema]]:
    return _parameters(case, operation, "query")


def _path_parameters(case: Case, operation: str) -> Iterable[tuple[str, Schema]]:
    return _parameters(case, operation, "path")


def _all_parameters(case: Case, operation: str) -> Iterable[tuple[str, Schema]]:
    return _parameters(case, operation, "query", "path")


def _enumerated(case: Case, operation: str) -> Iterator[tuple[str, tuple[str, Any]]]:
    """Yield each value of the enumeration of a parameter that has several, with the parameter's location."""
    for name, part in _all_parameters(case, operation):
        values = part["schema"].get("enum", [])
        yield from ((name, (part["in"], value)) for value in values if len(values) > 1)


@cache
def _body_fields(case: Case, operation: str) -> list[tuple[str, Schema]]:
    document = _copy(case)
    schema = body_schema(document, own(document, operation))
    return list(schema["properties"].items()) if schema else []


def _bodies(case: Case, operation: str) -> Iterable[tuple[str, Any]]:
    return [("", None)] if _body_fields(case, operation) else []


@cache
def _answer_fields(case: Case, operation: str) -> list[tuple[str, Json]]:
    """Return the fields of answers that the document describes, each with a value."""
    document = _copy(case)
    found = own(document, operation)
    answered = case.answered(operation).items()
    return [(pattern, value) for pattern, value in answered if owners(document, found, pattern)]


def _answer_objects(case: Case, operation: str) -> Iterable[tuple[str, str]]:
    """Return the place of a new field in each object of the answers, with that of a field beside it."""
    beside: dict[str, str] = {}
    for pattern, _ in _answer_fields(case, operation):
        beside.setdefault(pattern.rpartition("/")[0] + joined("revision"), pattern)
    return beside.items()


def _operation(case: Case, operation: str) -> Iterable[tuple[str, Any]]:
    return [("", None)]


def _nowhere(case: Case, operation: str) -> Iterable[tuple[str, None]]:
    return [(operation.split(" ", 1)[1], None)]


def _other_path(case: Case, operation: str) -> Iterable[tuple[str, tuple[str, str]]]:
    method, path = operation.split(" ", 1)
    return [(path, (method, f"/v2{path}"))]


def _other_method(case: Case, operation: str) -> Iterator[tuple[str, tuple[str, str]]]:
    method, path = operation.split(" ", 1)
    new = {"POST": "PUT", "PUT": "POST", "PATCH": "PUT", "DELETE": "POST", "GET": "POST"}[method]
    if new.lower() not in case.document["paths"][path]:
        yield path, (new, path)


def _document(case: Case, operation: str) -> Iterable[tuple[str, Any]]:
    """Return the whole document once, with the operations that the case needs."""
    # The first look at the target of a change may need the operation that reads it.
    return [("", {item.operation for item in case.exchanges})] if operation == case.used[0] else []


def _renamed_parameter(operation: str, name: str, part: Schema) -> Mapping[str, Any]:
    new = f"{name}_new"

    def incoming(request: Request) -> Request:
        return _query(request, lambda pairs: [(name if k == new else k, v) for k, v in pairs if k != name])

    return {"edit": _on_parameter(operation, "query", name, lambda it: it.update(name=new)), "incoming": incoming}


def _renamed_path_parameter(operation: str, name: str, part: Schema) -> Mapping[str, Any]:
    path, new = operation.split(" ", 1)[1], f"{name}_key"

    def edit(document: Document) -> None:
        for other in METHODS:
            if other in document["paths"][path]:
                parameter(own(document, f"{other.upper()} {path}"), "path", name)["name"] = new
        paths = document["paths"].items()
        document["paths"] = {
            key.replace(f"{{{name}}}", f"{{{new}}}") if key == path else key: value for key, value in paths
        }

    return {"edit": edit}


def _removed_parameter(operation: str, name: str, part: Schema) -> Mapping[str, Any] | None:
    def edit(document: Document) -> None:
        found = own(document, operation)
        found["parameters"] = [item for item in found["parameters"] if (item["in"], item["name"]) != ("query", name)]

    # A server that needs the value all the same takes it from elsewhere, so a required one is kept.
    return None if part.get("required") else {"edit": edit, "incoming": lambda request: _query(request, _without(name))}


def _moved_parameter(operation: str, name: str, part: Schema) -> Mapping[str, Any]:
    def move(found: Schema) -> None:
        found["in"] = "header"
        found.pop("style", None)
        found.pop("explode", None)

    def incoming(request: Request) -> Request:
        value = _header(request, name)
        given = [] if value is None else [(name, value)]
        return _query(request, lambda pairs: _without(name)(pairs) + given)

    return {"edit": _on_parameter(operation, "query", name, move), "incoming": incoming}


def _retyped_parameter(operation: str, name: str, part: Schema) -> Mapping[str, Any] | None:
    kind, location = part["schema"].get("type"), part["in"]
    if kind not in ("integer", "string", "boolean", "number") or (location == "path" and kind == "string"):
        return None
    new = "integer" if kind == "string" else "string"

    edit = _on_parameter(operation, location, name, lambda it: it.update(schema={"type": new}))

    def incoming(request: Request) -> Request:
        given = [value for key, value in parse_qsl(request.query) if key == name]
        if new == "integer" and any(not value.isdigit() for value in given):
            raise RefusalError(REFUSED, f"{name} must be an integer")
        return request

    return {"edit": edit, "incoming": incoming}


def _new_parameter(operation: str, at: str, thing: Any, **fields: Any) -> Mapping[str, Any]:
    part = {"name": "workspace", "in": "query", **fields, "schema": {"type": "string"}}
    return {"at": "workspace", "edit": _on_operation(operation, lambda found: found["parameters"].append({**part}))}


def _new_required_parameter(operation: str, at: str, thing: Any) -> Mapping[str, Any]:
    def incoming(request: Request) -> Request:
        if not dict(parse_qsl(request.query)).get("workspace"):
            raise RefusalError(REFUSED, "workspace must be provided")
        return _query(request, _without("workspace"))

    return {**_new_parameter(operation, at, thing, required=True), "incoming": incoming}


def _narrowed_parameter(operation: str, name: str, thing: tuple[str, Any]) -> Mapping[str, Any]:
    """Leave a value out of an enumeration."""
    location, gone = thing
    edit = _on_parameter(operation, location, name, lambda it: it["schema"]["enum"].remove(gone))

    def incoming(request: Request) -> Request:
        if gone in dict(parse_qsl(request.query)).get(name, "").split(",") or gone in request.path.split("/"):
            raise RefusalError(REFUSED, f"{name} must not be {gone}")
        return request

    return {"edit": edit, "incoming": incoming}


def _widened_parameter(operation: str, name: str, part: Schema) -> Mapping[str, Any]:
    return {"edit": _on_parameter(operation, "query", name, lambda it: _widen(it["schema"]))}


def _widen(schema: Schema) -> None:
    if "enum" in schema:
        schema["enum"].append("another")
    elif isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]


def _body_schema(document: Document, operation: str) -> Schema:
    schema = body_schema(document, own(document, operation))
    assert schema is not None, "the operation has a body with properties"
    return schema


def _renamed_body_field(operation: str, name: str, schema: Schema) -> Mapping[str, Any]:
    def change(body: dict[str, Any]) -> None:
        body.pop(name, None)
        if f"{name}_new" in body:
            body[name] = body.pop(f"{name}_new")

    return {
        "edit": lambda document: renamed(_body_schema(document, operation), name, f"{name}_new"),
        "incoming": lambda request: _body(request, change),
    }


def _removed_body_field(operation: str, name: str, schema: Schema) -> Mapping[str, Any]:
    return {
        "edit": lambda document: removed(_body_schema(document, operation), name),
        "incoming": lambda request: _body(request, lambda body: body.pop(name, None)),
    }


def _moved_body_field(operation: str, name: str, schema: Schema) -> Mapping[str, Any] | None:
    if schema.get("type") not in ("string", "boolean", "integer"):
        return None
    method, path = operation.split(" ", 1)

    def edit(document: Document) -> None:
        removed(_body_schema(document, operation), name)
        part = {"name": name, "in": "query", "schema": schema}
        document["paths"][path][method.lower()]["parameters"].append(part)

    def incoming(request: Request) -> Request:
        given = dict(parse_qsl(request.query))

        def change(body: dict[str, Any]) -> None:
            body.pop(name, None)
            if name in given:
                body[name] = given[name] if schema["type"] == "string" else json.loads(given[name])

        return _query(_body(request, change), _without(name))

    return {"edit": edit, "incoming": incoming}


def _retyped_body_field(operation: str, name: str, schema: Schema) -> Mapping[str, Any] | None:
    if schema.get("type") not in ("string", "boolean", "integer", "array"):
        return None
    was_text = schema["type"] == "string"

    def edit(document: Document) -> None:
        new = {"type": "array", "items": {"type": "string"}} if was_text else {"type": "string"}
        _body_schema(document, operation)["properties"][name] = new

    def change(body: dict[str, Any]) -> None:
        if name not in body:
            return
        if not isinstance(body[name], list if was_text else str):
            raise RefusalError(REFUSED, f"{name} has another type")
        body[name] = " ".join(body[name]) if was_text else json.loads(body[name])

    return {"edit": edit, "incoming": lambda request: _body(request, change)}


def _new_body_field(operation: str, at: str, thing: Any) -> Mapping[str, Any]:
    reason = {"reason": {"type": "string"}}
    return {"at": "reason", "edit": lambda document: _body_schema(document, operation)["properties"].update(reason)}


def _new_required_body_field(operation: str, at: str, thing: Any) -> Mapping[str, Any]:
    def edit(document: Document) -> None:
        schema = _body_schema(document, operation)
        schema["properties"]["reason"] = {"type": "string"}
        schema["required"] = [*schema.get("required", []), "reason"]

    def change(body: dict[str, Any]) -> None:
        if "reason" not in body:
            raise RefusalError(REFUSED, "reason is required")
        del body["reason"]

    return {"at": "reason", "edit": edit, "incoming": lambda request: _body(request, change)}


def _moved_operation(operation: str, path: str, place: tuple[str, str] | None) -> Mapping[str, Any]:
    """Serve an operation with another method or at another path, or nowhere."""

    def edit(document: Document) -> None:
        found = own(document, operation)
        del document["paths"][path][operation.split(" ", 1)[0].lower()]
        if place is not None:
            document["paths"].setdefault(place[1], {})[place[0].lower()] = found

    return {"edit": edit, "moved": " ".join(place or ()), "is_gone": place is None}


def _edit_owners(operation: str, pattern: str, change: Callable[[Schema, str], None]) -> Callable[[Document], None]:
    """Return what changes each schema that has the field of a pattern in the answers of an operation."""

    def edit(document: Document) -> None:
        for schema, name in owners(document, own(document, operation), pattern):
            change(schema, name)

    return edit


def rename(holder: dict[str, Any], name: str) -> None:
    """Give a field of an object another name."""
    holder[f"{name}_new"] = holder.pop(name)


def remove(holder: dict[str, Any], name: str) -> None:
    """Remove a field of an object."""
    del holder[name]


def retype(convert: Callable[[Json], Json], holder: dict[str, Any], name: str) -> None:
    """Give a field of an object a value of another type."""
    holder[name] = convert(holder[name])


def _renamed_answer_field(operation: str, pattern: str, value: Json) -> Mapping[str, Any]:
    edit = _edit_owners(operation, pattern, lambda schema, name: renamed(schema, name, f"{name}_new"))
    return {"edit": edit, "outgoing": replying(pattern, rename)}


def _removed_answer_field(operation: str, pattern: str, value: Json) -> Mapping[str, Any]:
    return {"edit": _edit_owners(operation, pattern, removed), "outgoing": replying(pattern, remove)}


def _retyped_answer_field(operation: str, pattern: str, value: Json) -> Mapping[str, Any] | None:
    made = retyped(value)
    if made is None:
        return None
    new, convert = made

    def change(schema: Schema, name: str) -> None:
        schema["properties"][name] = dict(new)

    outgoing = replying(pattern, partial(retype, convert))
    return {"edit": _edit_owners(operation, pattern, change), "outgoing": outgoing}


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


def _new_answer_field(operation: str, at: str, beside: str) -> Mapping[str, Any]:
    def change(schema: Schema, name: str) -> None:
        schema["properties"]["revision"] = {"type": "integer"}

    def add(holder: dict[str, Any], name: str) -> None:
        holder["revision"] = 7

    return {"edit": _edit_owners(operation, beside, change), "outgoing": replying(beside, add)}


def _widened_answer_field(operation: str, pattern: str, value: Json) -> Mapping[str, Any]:
    def change(schema: Schema, name: str) -> None:
        part = schema["properties"][name]
        if "enum" not in part and part.get("type") == "integer":
            part["type"] = "number"
        else:
            _widen(part)

    return {"edit": _edit_owners(operation, pattern, change)}


def _described(operation: str, at: str, thing: Any) -> Mapping[str, Any]:
    def edit(document: Document) -> None:
        document["info"]["description"] = "Rewritten."
        document["info"]["version"] = "99.1"
        document["servers"][0]["description"] = "The server in the other building."
        found = own(document, operation)
        found["summary"] = found["description"] = "Rewritten in other words"
        for part in found["parameters"]:
            part["description"] = "Rewritten."

    return {"edit": edit}


def _renamed_operation(operation: str, at: str, thing: Any) -> Mapping[str, Any]:
    return {"edit": _on_operation(operation, lambda it: it.update(operationId=f"{it['operationId']}_v2"))}


def _reordered_operations(operation: str, at: str, thing: Any) -> Mapping[str, Any]:
    def edit(document: Document) -> None:
        document["paths"] = {path: dict(reversed(item.items())) for path, item in reversed(document["paths"].items())}

    return {"edit": edit}


def _removed_others(operation: str, at: str, kept: set[str]) -> Mapping[str, Any]:
    def edit(document: Document) -> None:
        for path, item in list(document["paths"].items()):
            for method in METHODS:
                if method in item and f"{method.upper()} {path}" not in kept:
                    del item[method]
            if not any(method in item for method in METHODS):
                del document["paths"][path]

    return {"edit": edit}


def _new_operation(operation: str, at: str, thing: Any) -> Mapping[str, Any]:
    def edit(document: Document) -> None:
        found = own(document, operation)
        twin = json.loads(json.dumps(found)) | {"operationId": f"{found['operationId']}_in_detail", "parameters": []}
        document["paths"] = {"/details": {"get": twin}, **document["paths"]}

    return {"edit": edit}


def _new_status(operation: str, at: str, thing: Any) -> Mapping[str, Any]:
    busy = {"503": {"description": "Too busy."}}
    return {"edit": _on_operation(operation, lambda found: found["responses"].update(busy))}


def _deprecated(operation: str, at: str, thing: Any) -> Mapping[str, Any]:
    return {"edit": _on_operation(operation, lambda found: found.update(deprecated=True))}


RULES: tuple[tuple[str, Things, Rule], ...] = (
    ("parameter renamed", _query_parameters, _renamed_parameter),
    ("path parameter renamed", _path_parameters, _renamed_path_parameter),
    ("parameter removed", _query_parameters, _removed_parameter),
    ("parameter moved", _query_parameters, _moved_parameter),
    ("parameter type changed", _all_parameters, _retyped_parameter),
    ("new required parameter", _operation, _new_required_parameter),
    ("value not allowed any more", _enumerated, _narrowed_parameter),
    ("body field renamed", _body_fields, _renamed_body_field),
    ("body field removed", _body_fields, _removed_body_field),
    ("body field moved", _body_fields, _moved_body_field),
    ("body field type changed", _body_fields, _retyped_body_field),
    ("new required body field", _bodies, _new_required_body_field),
    ("path moved", _other_path, _moved_operation),
    ("method changed", _other_method, _moved_operation),
    ("operation removed", _nowhere, _moved_operation),
    ("answer field renamed", _answer_fields, _renamed_answer_field),
    ("answer field removed", _answer_fields, _removed_answer_field),
    ("answer field type changed", _answer_fields, _retyped_answer_field),
    ("descriptions", _operation, _described),
    ("new optional parameter", _operation, partial(_new_parameter, description="Optional.")),
    ("new optional body field", _bodies, _new_body_field),
    ("new answer field", _answer_objects, _new_answer_field),
    ("parameter widened", _query_parameters, _widened_parameter),
    ("answer field widened", _answer_fields, _widened_answer_field),
    ("operationId renamed", _operation, _renamed_operation),
    ("operations reordered", _document, _reordered_operations),
    ("other operations removed", _document, _removed_others),
    ("new operation", _document, _new_operation),
    ("new error status", _operation, _new_status),
    ("deprecated", _operation, _deprecated),
)
"""The kinds of mutations of documents: what each can change, and how it does."""
