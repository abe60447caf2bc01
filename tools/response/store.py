"""Response bodies outside the state: kept in the LangGraph store under a hash of their content, found by handle.

A body is made uniform when it comes in: text in UTF-8 without a byte order mark, so that everyone who reads it later
reads the same. Large bodies are kept in pieces, since some stores bound the size of a value.
"""

import base64
import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any

from langgraph.store.base import BaseStore

from restgpt.specs.operation import Operation
from restgpt.tools.errors import RestgptError
from restgpt.tools.request.arguments import validate
from restgpt.tools.request.body import essence, kind_of
from restgpt.tools.response.content import UNREAD, Content, Kind, table_rows
from restgpt.tools.response.reply import Reply
from restgpt.tools.response.sketch import sketch
from restgpt.tools.storable import storable_text

NAMESPACE = ("restgpt", "bodies")
PIECE = 4 * 1024 * 1024
SKETCH_BUDGET = 400

MOST_JUDGED = 200_000
"""Bodies of up to how many bytes are compared with their schema: that takes seconds for megabytes."""

MOST_CACHED = 16 * 1024 * 1024
"""How many bytes of bodies a `BodyCache` holds; larger bodies are loaded and parsed each time they are opened."""


_HANDLE = re.compile(r"body-[0-9a-f]{40}")


class UnknownHandleError(RestgptError):
    """No body is kept under this handle, or a part of it is missing."""


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """What the state keeps of a response; all of it plain JSON. `elapsed_ms` is how long it took, waits included."""

    handle: str
    status: int
    media_type: str
    size: int
    sketch: str
    truncated: bool = False
    kind: Kind = "empty"
    notices: tuple[str, ...] = ()
    elapsed_ms: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The same as a plain dictionary."""
        return {**asdict(self), "notices": list(self.notices)}


@dataclass(frozen=True)
class Body:
    """A kept body: `raw` is UTF-8 if it is text, `parsed` its JSON value if somebody has read it already."""

    raw: bytes
    media_type: str
    kind: Kind
    parsed: Any = field(default=UNREAD, compare=False, repr=False)

    @property
    def size(self) -> int:
        """The length in bytes."""
        return len(self.raw)

    @property
    def is_binary(self) -> bool:
        """Whether there is no text to read."""
        return self.kind == "binary"

    @property
    def is_json(self) -> bool:
        """Whether it reads as one JSON value."""
        return self.kind == "json"

    @cached_property
    def value(self) -> Any:
        """JSON as its value, JSON Lines as a list, other text as text, binary as bytes, an empty body as None.

        Bodies are shared by all who open them, so the value must not be changed.
        """
        return Content(self.kind, self.raw, parsed=self.parsed).value()

    def text(self, limit: int | None = None) -> str:
        """The body as text, at most `limit` characters of it."""
        if limit is None:
            return self.raw.decode("utf-8", "replace")
        return self.raw[: limit * 4].decode("utf-8", "replace")[:limit]


class BodyCache:
    """The newest bodies, so that whoever opens one soon after it arrived neither loads nor parses it again.

    A handle is a hash of the content, so an entry never goes stale. Past `most` bytes the oldest entries go.
    """

    def __init__(self, *, most: int = MOST_CACHED) -> None:
        self._most = most
        self._size = 0
        self._bodies: OrderedDict[str, Body] = OrderedDict()
        self._lock = Lock()

    def get(self, handle: str) -> Body | None:
        """The body of a handle, None if it is not here."""
        with self._lock:
            body = self._bodies.get(handle)
            if body is not None:
                self._bodies.move_to_end(handle)
            return body

    def put(self, handle: str, body: Body) -> None:
        """Take a body in, unless it is larger than all of the cache or is here already."""
        with self._lock:
            if handle in self._bodies or body.size > self._most:
                return
            self._bodies[handle] = body
            self._size += body.size
            while self._size > self._most:
                self._size -= self._bodies.popitem(last=False)[1].size

    def drop(self, handle: str) -> None:
        """Forget a body."""
        with self._lock:
            if (body := self._bodies.pop(handle, None)) is not None:
                self._size -= body.size


class ResponseStore:
    """Keeps bodies in a LangGraph store."""

    def __init__(self, store: BaseStore, *, piece: int = PIECE, cache: BodyCache | None = None) -> None:
        self._store = store
        self._piece = piece
        self._cache = cache or BodyCache(most=0)

    def put(self, reply: Reply, operation: Operation | None = None) -> StoredResponse:
        """Keep the body of a reply; with the operation, the answer is also compared with its schema.

        The same body gives the same handle and is kept once.
        """
        content = reply.content
        notices = list(content.notices)
        if reply.truncated:
            notices.append(f"only the first {len(reply.body):,} bytes were read; the rest is missing")
        elif operation is not None:
            notices += response_warnings(operation, reply.status, content, reply.media_type)
        handle = self._keep(content, storable_text(reply.media_type))
        return StoredResponse(
            handle=handle,
            status=reply.status,
            media_type=storable_text(reply.media_type),
            size=len(content.data),
            sketch=describe(content, reply.media_type),
            truncated=reply.truncated,
            kind=content.kind,
            notices=tuple(storable_text(notice) for notice in notices),
            elapsed_ms=reply.elapsed_ms,
        )

    def put_value(self, value: Any, status: int = 200, *, elapsed_ms: int | None = None) -> StoredResponse:
        """Keep a value that is no single reply, such as several pages as one."""
        data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        content = Content("json", data, parsed=value)
        handle = self._keep(content, "application/json")
        shape = sketch(value, SKETCH_BUDGET)
        return StoredResponse(handle, status, "application/json", len(data), shape, kind="json", elapsed_ms=elapsed_ms)

    def _keep(self, content: Content, media_type: str) -> str:
        digest = hashlib.sha256(f"{content.kind}\n{media_type}\n".encode() + content.data).hexdigest()
        handle = f"body-{digest[:40]}"
        self._cache.put(handle, Body(content.data, media_type, content.kind, content.parsed))
        if self._store.get(NAMESPACE, handle) is not None:
            return handle
        count = max(1, -(-len(content.data) // self._piece))
        for number in range(count):
            part = content.data[number * self._piece : (number + 1) * self._piece]
            self._store.put(NAMESPACE, f"{handle}.{number}", _packed(part, content.is_binary), index=False)
        # Last, so that a handle that is found is whole even if the process was killed in between.
        about = {"pieces": count, "size": len(content.data), "media_type": media_type, "kind": content.kind}
        self._store.put(NAMESPACE, handle, about, index=False)
        return handle

    def open(self, handle: str) -> Body:
        """The kept body; raises UnknownHandleError."""
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

    def remove(self, handle: str) -> None:
        """Forget a body. What says that it is whole goes first, so that a half that is left is never taken for it."""
        self._cache.drop(handle)
        found = self._store.get(NAMESPACE, handle)
        if found is not None:
            self._store.delete(NAMESPACE, handle)
            for number in range(found.value["pieces"]):
                self._store.delete(NAMESPACE, f"{handle}.{number}")

    def body(self, handle: str) -> bytes:
        """The bytes of a kept body; raises UnknownHandleError."""
        return self.open(handle).raw


def handles_in(value: object) -> set[str]:
    """The handles that stand anywhere in a value, such as a state."""
    return set(_HANDLE.findall(repr(value)))


def _packed(part: bytes, is_binary: bool) -> dict[str, Any]:
    """A piece as JSON: text where it is text that every store can hold, else Base64."""
    if not is_binary and b"\0" not in part:
        try:
            return {"text": part.decode()}
        except UnicodeDecodeError:
            # A piece may end inside a character.
            pass
    return {"base64": base64.b64encode(part).decode("ascii")}


def _unpacked(value: Mapping[str, Any]) -> bytes:
    return value["text"].encode() if "text" in value else base64.b64decode(value["base64"])


def describe(content: Content, media_type: str = "", budget: int = SKETCH_BUDGET) -> str:
    """Sketch a body in about `budget` tokens: the shape of JSON, the first rows of a table, the start of a text."""
    if content.kind == "empty":
        return "no body"
    if content.kind == "binary":
        return f"{essence(media_type) or 'binary'}, {len(content.data):,} bytes"
    if content.kind in ("json", "json-lines"):
        prefix = "JSON Lines: " if content.kind == "json-lines" else ""
        return prefix + sketch(content.value(), budget)
    if content.kind == "csv":
        return _describe_table(content, media_type, budget)
    start = content.data[: budget * 4].decode("utf-8", "ignore")
    more = "…" if len(content.data) > budget * 4 else ""
    return storable_text(f"{content.kind}, {len(content.data):,} bytes: {start}{more}"[: budget * 4])


def _describe_table(content: Content, media_type: str, budget: int) -> str:
    lines = content.data.count(b"\n") + (not content.data.endswith(b"\n"))
    rows = table_rows(content.data[: budget * 16].decode("utf-8", "ignore"), media_type, 4)
    shown = [" | ".join(cell[:40] for cell in row[:40]) for row in rows]
    return storable_text("\n".join([f"table of {lines:,} lines; the first:", *shown])[: budget * 4])


def response_warnings(operation: Operation, status: int, content: Content, media_type: str) -> list[str]:
    """Compare an answer with what the document promises; whatever differs is only worth a word."""
    response = operation.response(status)
    if response is None:
        return [f"the document does not mention status {status}"] if operation.responses else []
    if content.kind == "empty" or not response.content:
        return []
    media = next((item for name, item in response.content.items() if essence(name) == media_type), None)
    if media is None:
        media = next((item for name, item in response.content.items() if kind_of(name) == "json"), None)
        note = [f"the document promises {', '.join(response.content)}, not {media_type or 'an unnamed type'}"]
    else:
        note = []
    if media is None or media.schema is None or content.kind != "json" or len(content.data) > MOST_JUDGED:
        return note
    # Even a pattern that ends may take a second for one text, and a body has many.
    schema = operation.json_schema(media.schema, patterns=False)
    found = validate(content.value(), schema, "")
    return [*note, *(f"the body differs from its schema at {item}" for item in found[:3])]
