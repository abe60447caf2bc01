"""A reduced specification of langchain-community as the OpenAPI document that it was made from, as far as it is kept.

`reduce_openapi_spec` keeps of an operation its description, its required parameters, its request body and the response
200. It drops optional parameters, parameters of the path item, summaries, operationIds, other responses, and of the
document its title, its security and its components; they cannot be restored here.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable
from urllib.parse import urlsplit

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
"""The methods of the operations that `reduce_openapi_spec` keeps."""

# Neither 3.0 nor 3.1 is known any more. Our reader accepts the keywords of both in either.
VERSION = "3.1.0"

_VARIABLE = re.compile(r"\{([^{}]+)\}")


@runtime_checkable
class ReducedSpec(Protocol):
    """The attributes of `ReducedOpenAPISpec`; an endpoint is its `METHOD /path`, its description and its docs."""

    @property
    def servers(self) -> list[dict[str, Any]]:
        """The Server Objects of the document."""

    @property
    def description(self) -> str:
        """The description of the document."""

    @property
    def endpoints(self) -> list[tuple[str, str, dict[str, Any]]]:
        """The operations."""


def document_of(spec: ReducedSpec) -> dict[str, Any]:
    """Return an OpenAPI document with the operations of a reduced specification.

    Raises `ValueError` with the endpoint whose name is not `METHOD /path`, or that refers to the components that were
    dropped, because its parameters and bodies would be unknown.
    """
    paths: dict[str, dict[str, Any]] = {}
    for name, description, docs in spec.endpoints:
        method, _, path = name.partition(" ")
        if method not in METHODS or not path.startswith("/"):
            raise ValueError(f"The endpoint {name!r} has no name of the form 'METHOD /path', such as 'GET /users'.")
        if reference := next(_references(docs), None):
            raise ValueError(
                f"The endpoint {name!r} refers to {reference}, which the reduced specification does not have. Reduce "
                "the document with dereference=True, or give the document itself to create_openapi_agent."
            )
        paths.setdefault(path, {})[method.lower()] = _operation(path, description, docs)
    info = {"title": _title(spec.servers), "version": "", "description": spec.description or ""}
    return {"openapi": VERSION, "info": info, "servers": list(spec.servers), "paths": paths}


def _title(servers: Sequence[Mapping[str, Any]]) -> str:
    """Return the host of the first server: the title of the document is lost."""
    url = str(servers[0].get("url", "")) if servers else ""
    return urlsplit(url).hostname or "api"


def _operation(path: str, description: str | None, docs: Mapping[str, Any]) -> dict[str, Any]:
    given = [item for item in docs.get("parameters") or () if isinstance(item, Mapping)]
    declared = {item.get("name") for item in given if item.get("in") == "path"}
    # Parameters of the path item are dropped, so the variables of the path may be all that is left of them.
    lost = [name for name in dict.fromkeys(_VARIABLE.findall(path)) if name not in declared]
    variables = [{"name": name, "in": "path", "required": True, "schema": {}} for name in lost]
    operation: dict[str, Any] = {"parameters": [*given, *variables], "responses": {}}
    if text := description or docs.get("description"):
        operation["description"] = text
    if docs.get("requestBody"):
        operation["requestBody"] = docs["requestBody"]
    if docs.get("responses"):
        operation["responses"] = {"200": docs["responses"]}
    return operation


def _references(docs: Any) -> Iterator[str]:
    """Yield the references in the docs of an endpoint."""
    waiting = [docs]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            if isinstance(node.get("$ref"), str):
                yield node["$ref"]
            waiting.extend(node.values())
        elif isinstance(node, list | tuple):
            waiting.extend(node)
