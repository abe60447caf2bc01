"""Documents, APIs and operations of tests, from the paths of a document or the fields of one operation."""

from collections.abc import Mapping
from typing import Any

import yaml

from restgpt.specs import Api, Operation, load_api

Parts = Mapping[str, Any]


def openapi(
    paths: Parts, *, title: str = "T", schemes: Parts | None = None, schemas: Parts | None = None, **more: Any
) -> dict[str, Any]:
    """Return an OpenAPI document with these paths, security schemes, named schemas and other parts."""
    named = {"securitySchemes": schemes, "schemas": schemas}
    components = {kind: parts for kind, parts in named.items() if parts is not None}
    head = {"openapi": "3.1.0", "info": {"title": title, "version": "1"}, "paths": paths}
    return {**head, **({"components": components} if components else {}), **more}


def api_of(
    paths: Parts, *, base_url: str | None = None, auth: Any = None, entry: str | None = None, **parts: Any
) -> Api:
    """Load a document with these paths and other parts."""
    return load_api(openapi(paths, **parts), base_url=base_url, auth=auth, entry=entry)


def operation_of(fields: Parts, method: str = "get", path: str = "/x", **given: Any) -> Operation:
    """Load a document whose only operation, `x`, has these fields."""
    api = api_of({path: {method.lower(): {"operationId": "x", "responses": {}, **fields}}}, **given)
    return api.operation("x")


def read_paths(text: str, *, title: str = "t", **schemas: Any) -> Api:
    """Load an OpenAPI document that has these paths in YAML, and these named schemas."""
    return api_of(yaml.safe_load(text), title=title, schemas=schemas, openapi="3.0.0")
