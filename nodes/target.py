"""What a change is about to hit: the target as it is now, and what would become of it.

The document says where to look: the GET on the very path that the change goes to, with the same query.
"""

import json
import time
from collections.abc import Mapping
from typing import Any

from typing_extensions import TypedDict

from restgpt.calling.idempotency import HEADERS
from restgpt.calling.policy import verdict
from restgpt.calling.undo import UNREAD, Earlier, given, shared
from restgpt.nodes.resources import Run
from restgpt.specs import Operation
from restgpt.tools.errors import ArgumentError, HttpFault, LoginError, MissingCredentialError
from restgpt.tools.request.build import build_request
from restgpt.tools.response.content import read_content
from restgpt.tools.storable import storable_value

CHANGING = frozenset({"PUT", "PATCH", "DELETE"})
PATIENCE_S = 20.0
"""How long a look at the target may take, in seconds: a person waits for it."""

SHOWN = 2000
"""How many characters of the present state a person is shown."""


class FieldChange(TypedDict):
    """One field that would change."""

    field: str
    before: Any
    after: Any


class Target(TypedDict):
    """The target of a change as it is now; `present` is cut text where it is long."""

    present: Any
    changes: list[FieldChange]


def target_of(operation: Operation, arguments: Mapping[str, Any], earlier: Earlier) -> Target | None:
    """The target of a change out of what is there now; None where nothing was found or could be read."""
    if earlier["known"] != "present":
        return None
    present, body = earlier["value"], arguments.get("body")
    changes = _changes(present, body) if operation.method != "DELETE" and isinstance(body, Mapping) else []
    text = json.dumps(present, ensure_ascii=False)
    shown = present if len(text) <= SHOWN else f"{text[:SHOWN]}…"
    return {"present": storable_value(shown), "changes": storable_value(changes)}


def reader_of(run: Run, operation: Operation) -> Operation | None:
    """The operation that reads what `operation` changes, if it may be sent without asking."""
    if operation.method not in CHANGING:
        return None
    reader = operation.api.lookup(f"GET {operation.path}")
    if reader is None or verdict(reader, writes=run.context.writes, settings=run.resources.settings) != "allow":
        return None
    return reader


def look(run: Run, operation: Operation, arguments: Mapping[str, Any]) -> Earlier:
    """What a change would hit, as it is now; unread for any answer but a good one with JSON in it, or a 404."""
    reader = reader_of(run, operation)
    if reader is None:
        return UNREAD
    wanted = _address(operation, reader, arguments)
    if wanted is None:
        return UNREAD
    try:
        prepared = build_request(reader, wanted)
        run.count_request()
        reply = run.http.send(prepared, reader, deadline=time.monotonic() + PATIENCE_S)
    except (ArgumentError, HttpFault, MissingCredentialError, LoginError):
        return UNREAD
    if reply.status in (404, 410):
        return {"known": "absent", "value": None}
    content = read_content(reply.body, reply.header("content-type"))
    if reply.status != 200 or reply.truncated or content.kind != "json":
        return UNREAD
    return {"known": "present", "value": content.value()}


def _address(operation: Operation, reader: Operation, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """The reader's arguments out of a change's; None where the change has query values that the reader lacks.

    Such a value may choose the target, as in `/settings?user=bob`: without it the reader would show another one.
    """
    query, header = shared(arguments, "query", reader), shared(arguments, "header", reader)
    if len(query) < len(given(arguments, "query")):
        return None
    header = {name: value for name, value in header.items() if name.lower() not in HEADERS}
    return {"path": arguments.get("path") or {}, "query": query, "header": header}


def _changes(present: Any, body: Mapping[str, Any]) -> list[FieldChange]:
    if not isinstance(present, Mapping):
        return []
    return [
        {"field": str(name), "before": present.get(name), "after": value}
        for name, value in body.items()
        if present.get(name) != value
    ]


def described(target: Target | None) -> list[str]:
    """The target in a line or a few, for a person."""
    if target is None:
        return []
    if target["changes"]:
        return [
            "What changes: "
            + "; ".join(
                f"{change['field']}: {_short(change['before'])} → {_short(change['after'])}"
                for change in target["changes"]
            )
        ]
    return [f"As it is now: {_short(target['present'])}"]


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else f"{text[:300]}…"
