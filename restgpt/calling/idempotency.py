"""Idempotency keys: where a document declares a header for one, each change sends its own key on every attempt.

The draft of the HTTP API working group (draft-ietf-httpapi-idempotency-key-header) names the header; the API remembers
the key, so that a request that arrives twice is carried out once. For all other APIs, `identity_of` tells whether a
call is the one that was interrupted before.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from uuid import NAMESPACE_OID, uuid5

from restgpt.specs import Operation
from restgpt.tools.errors import ArgumentError
from restgpt.tools.request.arguments import by_place, coerce, properties_of, validate
from restgpt.tools.request.body import kind_of
from restgpt.tools.request.files import CONTENT_KEYS
from restgpt.tools.request.prepared_request import json_or_text, settle

HEADERS = frozenset({"idempotency-key", "x-idempotency-key"})

SHORTEST_SAID = 8
"""The fewest characters of a key that counts as said by a person: shorter texts stand in many sentences."""

CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""The digits of a ULID."""


def key_header(operation: Operation) -> str | None:
    """The header parameter that takes an idempotency key; None for safe methods and where there is none."""
    names = (item.name for item in operation.parameters if item.location == "header" and item.name.lower() in HEADERS)
    return None if operation.is_safe else next(names, None)


def with_key(
    operation: Operation, arguments: Mapping[str, Any], request_id: str, *, said: str | None = ""
) -> dict[str, Any]:
    """Add a key, made from the call's id, to the arguments of an operation that declares a header for it.

    A key that a person `said`, or gave with all arguments (None), stays. One that a model wrote is replaced: one that
    is used twice would lose a change. No key is added where none that is made here has the form of the document.
    """
    name, key = key_header(operation), given_key(operation, arguments)
    if name is None or not isinstance(arguments.get("header") or {}, Mapping):
        # What is no object is left to the building of the request, which says what is wrong with it.
        return dict(arguments)
    if key is not None and (said is None or (len(str(key)) >= SHORTEST_SAID and str(key) in said)):
        return dict(arguments)
    others, made = without_key(operation, arguments), _made(operation, name, request_id)
    return others if made is None else {**others, "header": {**(others.get("header") or {}), name: made}}


def given_key(operation: Operation, arguments: Mapping[str, Any]) -> Any:
    """The idempotency key among grouped arguments; None if there is none."""
    name, given = key_header(operation), arguments.get("header")
    named = given.items() if isinstance(given, Mapping) and name else ()
    return next((value for key, value in named if str(key).lower() == str(name).lower()), None)


def without_key(operation: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Grouped arguments without the idempotency key."""
    name, given = key_header(operation), arguments.get("header")
    if name is None or not isinstance(given, Mapping):
        return dict(arguments)
    return {**arguments, "header": {key: value for key, value in given.items() if str(key).lower() != name.lower()}}


def _made(operation: Operation, name: str, request_id: str) -> str | None:
    """A key in the first of some usual forms that the document allows: UUIDs, hexadecimal, ULID, digits."""
    made = uuid5(NAMESPACE_OID, f"restgpt {request_id}")
    text = str(made)
    ulid = "".join(CROCKFORD[made.int >> shift & 31] for shift in range(125, -1, -5))
    forms = (
        text,
        f"{text[:14]}4{text[15:]}",
        f"{text[:14]}7{text[15:]}",
        made.hex,
        ulid,
        made.hex[:16],
        str(made.int)[:16],
    )
    parameter = next(item for item in operation.parameters if (item.location, item.name) == ("header", name))
    schema = operation.json_schema(parameter.schema, request=True)
    return next((form for form in forms if not validate(coerce(form, schema, schema), schema, "")), None)


def identity_of(operation: Operation, arguments: Mapping[str, Any]) -> str:
    """Return a hash of what a call sends, in hexadecimal, which is the same however its arguments are spelled.

    Empty groups, the order of names, 1 and 1.0, and defaults that are written out make no other call. A file counts by
    its name, because it may have changed since an interrupted call, which is to be found all the same. Raises
    `ArgumentError` for arguments that have no place.
    """
    plain = _plain(operation, by_place(operation, arguments))
    place: list[Any] = [operation.api.name, operation.long_name, operation.base_url]
    return sha256(json.dumps([*place, _sent(operation, plain)], sort_keys=True, default=str).encode()).hexdigest()


def _sent(operation: Operation, arguments: Mapping[str, Any]) -> Any:
    """The parts of the request that matter; the arguments themselves if it has files or cannot be built."""
    if _has_file(arguments):
        return arguments
    try:
        request = settle(operation, with_key(operation, arguments, "")).request
    except ArgumentError:
        return arguments
    url = urlsplit(request.url)
    headers = {name.lower(): value for name, value in request.headers.items() if name.lower() not in HEADERS}
    query = sorted(parse_qsl(url.query, keep_blank_values=True, max_num_fields=None), key=lambda pair: pair[0])
    body: Any = None if request.body is None else request.body.hex()
    if request.body is not None and kind_of(headers.get("content-type", "")) == "json":
        body = json_or_text(request.body.decode("utf-8", "replace"), "json")
    return [request.method, url.path, query, headers, body]


def _plain(operation: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments without empty groups and without defaults, numbers in one spelling."""
    found: dict[str, Any] = {}
    for group, value in arguments.items():
        given = _number(value)
        if isinstance(given, dict):
            defaults = _defaults(operation, group)
            given = {name: item for name, item in given.items() if name not in defaults or item != defaults[name]}
        if given not in ({}, None) or group == "body":
            found[group] = given
    return found


def _number(value: Any) -> Any:
    """The value with each whole number as an integer: 1.0 and 1 are one number in JSON (RFC 8259, section 6)."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: _number(item) for name, item in value.items()}
    return [_number(item) for item in value] if isinstance(value, list | tuple) else value


def _defaults(operation: Operation, group: str) -> dict[str, Any]:
    """The documented defaults of the optional values of a group, which mean the same when they are left out."""
    if group == "body":
        if operation.body is None or not operation.body.content:
            return {}
        schema = operation.json_schema(operation.body.preferred.schema, request=True)
        required = schema.get("required", ()) if isinstance(schema, Mapping) else ()
        known = {name: item for name, item in properties_of(schema, schema).items() if name not in required}
        return {name: item["default"] for name, item in known.items() if _has_default(item)}
    items = [item for item in operation.parameters if item.location == group and not item.required]
    schemas = {item.name: operation.json_schema(item.schema, request=True) for item in items}
    return {name: schema["default"] for name, schema in schemas.items() if _has_default(schema)}


def _has_default(schema: Any) -> bool:
    return isinstance(schema, Mapping) and "default" in schema


def _has_file(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(key in value for key in CONTENT_KEYS) or any(map(_has_file, value.values()))
    return isinstance(value, list) and any(map(_has_file, value))
