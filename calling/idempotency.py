"""Idempotency keys: where a document declares a header for one, each change sends its own key on every attempt.

The draft of the HTTP API working group (draft-ietf-httpapi-idempotency-key-header) names the header; the API remembers
the key, so that a request that arrives twice is carried out once.
"""

from collections.abc import Mapping
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from restgpt.specs import Operation

HEADERS = frozenset({"idempotency-key", "x-idempotency-key"})


def key_header(operation: Operation) -> str | None:
    """The header parameter that takes an idempotency key; None for safe methods and where there is none."""
    names = (item.name for item in operation.parameters if item.location == "header" and item.name.lower() in HEADERS)
    return None if operation.is_safe else next(names, None)


def with_key(operation: Operation, arguments: Mapping[str, Any], request_id: str) -> dict[str, Any]:
    """Add a key, made from the call's id, to the arguments of an operation that declares a header for it.

    A key that a model wrote is replaced: one that is used twice would lose a change.
    """
    name = key_header(operation)
    if name is None:
        return dict(arguments)
    given = arguments.get("header")
    if given is not None and not isinstance(given, Mapping):
        # Left to the building of the request, which says what is wrong with it.
        return dict(arguments)
    others = {key: value for key, value in (given or {}).items() if str(key).lower() != name.lower()}
    return {**arguments, "header": {**others, name: str(uuid5(NAMESPACE_OID, f"restgpt {request_id}"))}}
