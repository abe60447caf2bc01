"""Response bodies outside the graph state: the LangGraph store keeps them under a handle, a hash of their content.

A body is normalized before it is stored: text is UTF-8 without a byte order mark. Large bodies are stored in pieces,
because some stores limit the size of a value.

An in-memory store for hosts that provide none; its size is bounded, because a host may run for months.
"""

import base64
import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from threading import Lock, RLock
from typing import Any
from weakref import WeakKeyDictionary

from langgraph.store.base import BaseStore, Op, PutOp, Result
from langgraph.store.memory import InMemoryStore

from restgpt.specs.effort import within
from restgpt.specs.operation import Operation
from restgpt.specs.schemas.json_schema import TOO_COMPLEX
from restgpt.specs.schemas.validation import allowed_steps
from restgpt.tools.errors import RestgptError
from restgpt.tools.request.arguments import validate
from restgpt.tools.request.body import essence, kind_of
from restgpt.tools.response.content import Body, Kind, Reply
from restgpt.tools.response.sketch import sketch, sketch_body
from restgpt.tools.text.storable import storable_text

NAMESPACE = ("restgpt", "bodies")
PIECE = 4 * 1024 * 1024

MOST_VALIDATED = 200_000
"""The most bytes of a body that is validated by its schema; validation of megabytes takes seconds."""

MOST_CACHED = 128 * 1024 * 1024
"""The most memory in bytes that the bodies of a `BodyCache` take; a larger one is loaded whenever it is opened."""


MOST_HEADERS, MOST_HEADER = 20, 300
"""The most headers of a response that are kept, and the most characters of each."""

UNKEPT_HEADERS = frozenset(
    {"set-cookie", "date", "server", "connection", "keep-alive", "content-length", "content-encoding", "vary"}
    | {"transfer-encoding", "strict-transport-security", "content-security-policy", "x-powered-by", "www-authenticate"}
)
"""Headers that describe the connection or identify the client."""

_HANDLE = re.compile(r"body-[0-9a-f]{40}")


class UnknownHandleError(RestgptError):
    """The store has no body for this handle, or a piece of it is missing."""


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """The description of a response in the graph state, as plain JSON; `elapsed_ms` includes waits.

    `headers` are those that `kept_headers` keeps.
    """

    handle: str
    status: int
    media_type: str
    size: int
    sketch: str
    truncated: bool = False
    kind: Kind = "empty"
    notices: tuple[str, ...] = ()
    elapsed_ms: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The fields as a plain dictionary."""
        # `asdict` would make a deep copy of each field.
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {**values, "notices": list(self.notices), "headers": dict(self.headers)}


class BodyCache:
    """A cache of recent bodies, so that a body that was just received is neither loaded nor parsed again.

    A handle is a hash of the content, so entries never become stale. Past `most` bytes the least recently used bodies
    are removed.
    """

    def __init__(self, *, most: int = MOST_CACHED) -> None:
        self._most = most
        self._size = 0
        self._bodies: OrderedDict[str, Body] = OrderedDict()
        self._lock = Lock()

    def get(self, handle: str) -> Body | None:
        """The body of a handle; None if it is not cached."""
        with self._lock:
            body = self._bodies.get(handle)
            if body is not None:
                self._bodies.move_to_end(handle)
            return body

    def put(self, handle: str, body: Body) -> None:
        """Cache a body, unless it is larger than the cache or is cached already."""
        # The weight is counted before the lock is taken.
        if body.weight > self._most:
            return
        with self._lock:
            if handle in self._bodies:
                return
            self._bodies[handle] = body
            self._size += body.weight
            while self._size > self._most:
                self._size -= self._bodies.popitem(last=False)[1].weight

    def drop(self, handle: str) -> None:
        """Remove a body from the cache."""
        with self._lock:
            if body := self._bodies.pop(handle, None):
                self._size -= body.weight


class ResponseStore:
    """Stores bodies in a LangGraph store."""

    def __init__(self, store: BaseStore, *, piece: int = PIECE, cache: BodyCache | None = None) -> None:
        self._store = store
        self._piece = piece
        self._cache = cache or BodyCache(most=0)

    def put(self, reply: Reply, operation: Operation | None = None) -> StoredResponse:
        """Store the body of a reply; with `operation`, also validate it by the schema of the response.

        Equal bodies have the same handle and are stored once.
        """
        body = replace(reply.content, media_type=storable_text(reply.media_type))
        notices = list(body.notices)
        if reply.truncated:
            notices.append(f"only the first {len(reply.body):,} bytes were read; the rest is missing")
        elif operation is not None:
            notices += response_warnings(operation, reply.status, body)
        return StoredResponse(
            handle=self._keep(body),
            status=reply.status,
            media_type=body.media_type,
            size=body.size,
            sketch=sketch_body(body),
            truncated=reply.truncated,
            kind=body.kind,
            notices=tuple(storable_text(notice) for notice in notices),
            elapsed_ms=reply.elapsed_ms,
            headers=kept_headers(reply.headers),
        )

    def put_value(self, value: Any, status: int = 200, *, elapsed_ms: int | None = None) -> StoredResponse:
        """Store a value that is not the body of one reply, such as the merged pages of a list."""
        data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        handle = self._keep(Body(data, "application/json", "json", value))
        shape = sketch(value)
        return StoredResponse(handle, status, "application/json", len(data), shape, kind="json", elapsed_ms=elapsed_ms)

    def _keep(self, body: Body) -> str:
        digest = hashlib.sha256(f"{body.kind}\n{body.media_type}\n".encode() + body.raw).hexdigest()
        handle = f"body-{digest[:40]}"
        self._cache.put(handle, body)
        if self._store.get(NAMESPACE, handle) is not None:
            return handle
        count = max(1, -(-body.size // self._piece))
        for number in range(count):
            part = body.raw[number * self._piece : (number + 1) * self._piece]
            self._store.put(NAMESPACE, f"{handle}.{number}", _packed(part, body.is_binary), index=False)
        # Written last: if this entry exists, all pieces exist, even if the process is killed in between.
        about = {"pieces": count, "size": body.size, "media_type": body.media_type, "kind": body.kind}
        self._store.put(NAMESPACE, handle, about, index=False)
        return handle

    def open(self, handle: str) -> Body:
        """The stored body; raises UnknownHandleError."""
        if (body := self._cache.get(handle)) is not None:
            return body
        found = self._store.get(NAMESPACE, handle)
        if found is None:
            raise UnknownHandleError(f"no response is kept under {handle}; send the request again")
        parts = []
        for number in range(found.value["pieces"]):
            piece = self._store.get(NAMESPACE, f"{handle}.{number}")
            if piece is None:
                raise UnknownHandleError(f"a part of {handle} is missing from the store; send the request again")
            parts.append(_unpacked(piece.value))
        body = Body(b"".join(parts), found.value["media_type"], found.value["kind"])
        self._cache.put(handle, body)
        return body

    def read(self, handle: str | None) -> Any:
        """The stored body as its JSON value, or as text; None without one, if it is binary, or not kept any more."""
        try:
            body = self.open(handle) if handle else None
        except UnknownHandleError:
            return None
        if body is None or body.is_binary:
            return None
        return body.value if body.is_json else body.text()

    def remove(self, handle: str) -> None:
        """Delete a body, its entry before its pieces, so that an incomplete body is never read."""
        self._cache.drop(handle)
        found = self._store.get(NAMESPACE, handle)
        if found is not None:
            self._store.delete(NAMESPACE, handle)
            for number in range(found.value["pieces"]):
                self._store.delete(NAMESPACE, f"{handle}.{number}")

    def body(self, handle: str) -> bytes:
        """The bytes of a stored body; raises UnknownHandleError."""
        return self.open(handle).raw


def kept_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that say something about the resource, names in lower case, bounded in number and length."""
    named = ((name.lower(), storable_text(value)[:MOST_HEADER]) for name, value in headers.items())
    return dict(islice(((name, value) for name, value in named if name not in UNKEPT_HEADERS), MOST_HEADERS))


def handles_in(value: object) -> set[str]:
    """The handles anywhere in a value, such as a state."""
    return set(_HANDLE.findall(repr(value)))


def _packed(part: bytes, is_binary: bool) -> dict[str, Any]:
    """A piece as JSON: text if every store accepts it, else Base64."""
    if not is_binary and b"\0" not in part:
        try:
            return {"text": part.decode()}
        except UnicodeDecodeError:
            # The piece ends inside a UTF-8 character.
            pass
    return {"base64": base64.b64encode(part).decode("ascii")}


def _unpacked(value: Mapping[str, Any]) -> bytes:
    return value["text"].encode() if "text" in value else base64.b64decode(value["base64"])


def response_warnings(operation: Operation, status: int, body: Body) -> list[str]:
    """Compare a response with the document; differences become notices, not errors."""
    response = operation.response(status)
    if response is None:
        is_silent = bool(operation.responses) and not _is_told(operation, status)
        return [f"the document does not mention status {status}"] if is_silent else []
    if body.kind == "empty" or not response.content:
        return []
    media = next((item for name, item in response.content.items() if essence(name) == body.media_type), None)
    if media is None:
        media = next((item for name, item in response.content.items() if kind_of(name) == "json"), None)
        note = [f"the document promises {', '.join(response.content)}, not {body.media_type or 'an unnamed type'}"]
    else:
        note = []
    if media is None or media.schema is None or body.kind != "json" or body.size > MOST_VALIDATED:
        return note
    # `patterns=False`, because one pattern may take a second for one text, and a body has many texts.
    schema = operation.json_schema(media.schema, patterns=False)
    value = body.value
    with within(allowed_steps(value), operation.document.allowance) as effort:
        found = validate(value, schema, "")
    if effort.is_spent or schema == TOO_COMPLEX:
        note = [*note, "the response was not compared with its documented schema, which is too complex"]
    return [*note, *(f"the response differs from its documented schema at {item}" for item in found[:3])]


def _is_told(operation: Operation, status: int) -> bool:
    """Whether a text of the operation mentions a status."""
    texts = (operation.summary, operation.description, *(item.description for item in operation.responses.values()))
    return any(re.search(rf"\b{status}\b", text) for text in texts)


MOST_KEPT = 256 * 1024 * 1024
"""The most characters of bodies that are kept; past that the oldest bodies are removed."""


class BoundedMemory(InMemoryStore):
    """An in-memory store that removes the oldest response bodies, always whole bodies and never the newest."""

    def __init__(self, *, most: int = MOST_KEPT) -> None:
        super().__init__()
        self._most = most
        self._sizes: dict[str, int] = {}
        self._total = 0
        self._lock = RLock()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run the operations and count the size of the bodies that they put."""
        ops = list(ops)
        with self._lock:
            results = super().batch(ops)
            for op in ops:
                if isinstance(op, PutOp) and op.namespace == NAMESPACE:
                    self._count(op)
        return results

    def _count(self, op: PutOp) -> None:
        handle = op.key.partition(".")[0]
        if op.value is None:
            self._total -= self._sizes.pop(handle, 0)
            return
        size = sum(len(part) for part in op.value.values() if isinstance(part, str))
        self._sizes[handle] = self._sizes.get(handle, 0) + size
        self._total += size
        while self._total > self._most and (oldest := next(iter(self._sizes))) != handle:
            # Subtract the size here: `remove` deletes nothing of a body whose last piece is not stored yet.
            self._total -= self._sizes.pop(oldest)
            ResponseStore(self).remove(oldest)


class LockedStore(BaseStore):
    """A host's `InMemoryStore`, one operation at a time: alone it fails when runs read and write it at once."""

    def __init__(self, store: InMemoryStore) -> None:
        self._store = store
        self._lock = _LOCKS.setdefault(store, RLock())

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do what the store does."""
        with self._lock:
            return self._store.batch(ops)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the same on the event loop: nothing here waits for longer than an operation in memory takes."""
        return self.batch(ops)


_LOCKS: WeakKeyDictionary[InMemoryStore, RLock] = WeakKeyDictionary()


def locked(store: BaseStore) -> BaseStore:
    """The store as several threads can use it at once: LangGraph's own in memory behind a lock, any other as it is."""
    return LockedStore(store) if type(store) is InMemoryStore else store
