"""Operations for documented HTTP calls that have no OpenAPI document: `requests.get` docs and API-zoo routes."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from restgpt.functions.docs.function import Function, FunctionError
from restgpt.specs.api import load_api
from restgpt.specs.operation import Operation
from restgpt.specs.problem import SpecError

# The place of a request that each keyword of `requests.<method>` fills.
PLACES = {"params": "query", "headers": "header", "cookies": "cookie"}
BODIES = ("json", "data", "files")


def operation_of(function: Function, *, url: str = "", base_url: str | None = None) -> Operation:
    """The operation that a REST function documents: its own, or one built from its documentation.

    `url` is used if `requests.get` documentation names no URL, `base_url` if a route has no host. Raises
    `FunctionError` for a function that is no HTTP call or names no URL.
    """
    if function.operation is not None:
        return function.operation
    if not function.method:
        raise FunctionError("/name", f"{function.name} is not an HTTP call")
    address = function.url or url
    if not address:
        raise FunctionError("/parameters/url/default", f"{function.name} names no URL")
    parts = urlsplit(address)
    path = parts.path or "/"
    described = _from_requests(function) if function.dialect == "requests" else _from_route(function, path)
    operation = {
        "operationId": re.sub(r"[^A-Za-z0-9_-]", "_", function.name)[:64],
        "summary": function.summary,
        **described,
        "responses": {"200": {"description": "The answer."}},
    }
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": parts.netloc or function.name, "version": "1"},
        "paths": {path: {function.method.lower(): operation}},
    }
    if parts.netloc:
        document["servers"] = [{"url": f"{parts.scheme}://{parts.netloc}"}]
    found = list(load_api(document, base_url=base_url).operations)
    if not found:
        raise SpecError(f"{function.name}: the method {function.method} makes no request")
    return found[0]


def _from_requests(function: Function) -> dict[str, Any]:
    """Parameters and body out of `params`, `headers`, `cookies` and `json`, `data` or `files`."""
    listed = []
    for keyword, place in PLACES.items():
        group = function.parameter(keyword)
        properties = group.schema.get("properties") if group is not None else None
        needed = group.schema.get("required", ()) if group is not None else ()
        for name, schema in (properties if isinstance(properties, Mapping) else {}).items():
            listed.append(_parameter(str(name), place, schema, name in needed))
    body = next((one for one in function.parameters if one.name in BODIES), None)
    if body is None:
        return {"parameters": listed}
    media = {"json": "application/json", "files": "multipart/form-data"}.get(
        body.name, "application/x-www-form-urlencoded"
    )
    content = {media: {"schema": dict(body.schema)}}
    return {"parameters": listed, "requestBody": {"required": body.required, "content": content}}


def _from_route(function: Function, path: str) -> dict[str, Any]:
    """Flat arguments: those that the path names go there, the rest to the query, or to the body where there is one."""
    in_path = set(re.findall(r"\{([^{}]+)\}", path))
    outside = [one for one in function.parameters if one.name not in in_path]
    listed = [_parameter(one.name, "path", one.schema, True) for one in function.parameters if one.name in in_path]
    if function.method in ("POST", "PUT", "PATCH") and outside:
        schema = {
            "type": "object",
            "properties": {one.name: dict(one.schema) for one in outside},
            "required": [one.name for one in outside if one.required],
        }
        content = {"application/json": {"schema": schema}}
        return {"parameters": listed, "requestBody": {"required": bool(schema["required"]), "content": content}}
    return {"parameters": [*listed, *(_parameter(one.name, "query", one.schema, one.required) for one in outside)]}


def _parameter(name: str, place: str, schema: Mapping[str, Any], required: bool) -> dict[str, Any]:
    return {"name": name, "in": place, "required": required, "schema": dict(schema)}


def grouped(function: Function, arguments: Mapping[str, Any], operation: Operation) -> dict[str, Any]:
    """The arguments of a REST function grouped by place, as the request builder takes them."""
    if function.operation is not None:
        return dict(arguments)
    found: dict[str, Any] = {}
    homes = {parameter.name: parameter.location for parameter in operation.parameters}
    for name, value in arguments.items():
        if name in homes:
            found.setdefault(homes[name], {})[name] = value
        else:
            found.setdefault("body", {})[name] = value
    return found
