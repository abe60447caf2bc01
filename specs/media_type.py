"""Request bodies and responses of an operation, by media type (OpenAPI Request Body, Response, Media Type Object)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from restgpt.specs.problem import BrokenReference, Problem
from restgpt.specs.reading.document import Document, follow, follow_safely

BYTES = frozenset(
    {"avro", "bson", "cbor", "gzip", "msgpack", "octet-stream", "parquet", "pdf", "protobuf", "tar", "thrift"}
    | {"zip", "zstd"}
)
"""The subtypes, and the suffixes of subtypes, of formats that are no text."""


JSON_PATCH = "application/json-patch+json"
PATCH: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["op", "path"],
        "properties": {
            "op": {"enum": ["add", "remove", "replace", "move", "copy", "test"]},
            "path": {"type": "string"},
            "from": {"type": "string"},
            "value": {},
        },
    },
}
"""What a JSON Patch is, whatever an object a document calls it (RFC 6902, section 4)."""


@dataclass(frozen=True, slots=True)
class MediaType:
    """One representation of a body; `schema` is raw, `encoding` maps properties to OpenAPI Encoding Objects."""

    media_type: str
    schema: dict[str, Any] | None = None
    encoding: Mapping[str, Any] = field(default_factory=dict)
    example: Any = None

    @property
    def is_of_bytes(self) -> bool:
        """Whether the media type is a format of bytes, which no JSON and no text is."""
        kind, _, subtype = self.media_type.partition(";")[0].strip().lower().partition("/")
        parts = re.split(r"[+.]", subtype.replace("x-", ""))
        return parts[-1] in BYTES or (kind in ("image", "audio", "video", "font") and parts[-1] not in ("xml", "json"))


@dataclass(frozen=True, slots=True)
class RequestBody:
    """The body of a request, by media type in document order."""

    required: bool
    description: str
    content: Mapping[str, MediaType]

    @property
    def preferred(self) -> MediaType:
        """The representation to send unless another is asked for: JSON, else a form, else the first."""
        return min(self.content.values(), key=lambda media: _rank(media.media_type))


@dataclass(frozen=True, slots=True)
class Response:
    """The documented response of one status key (200, 4XX, default)."""

    status: str
    description: str
    content: Mapping[str, MediaType]
    headers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def preferred(self) -> MediaType | None:
        """The representation to expect: JSON, else a form, else the first; None if the response has no body."""
        return min(self.content.values(), key=lambda media: _rank(media.media_type), default=None)


def read_body(document: Document, raw: Any, pointer: str, problems: list[Problem]) -> RequestBody | None:
    """Read the `requestBody` of the operation at `pointer`; None if it has none. A broken reference is a problem."""
    try:
        node = follow(document, raw)
    except BrokenReference as error:
        problems.append(Problem(f"{pointer}/requestBody", str(error)))
        return None
    if not isinstance(node, dict):
        return None
    content = _read_content(document, node.get("content"))
    return RequestBody(node.get("required") is True, text(node.get("description")), content) if content else None


def read_responses(document: Document, raw: Any, pointer: str, problems: list[Problem]) -> dict[str, Response]:
    """Read the `responses` of the operation at `pointer`, by status; `2xx` becomes 2XX. Broken ones are problems."""
    found = {}
    for key, item in raw.items() if isinstance(raw, dict) else ():
        if key.startswith("x-"):
            continue
        status = key.upper() if key.lower() != "default" else "default"
        try:
            node = follow(document, item)
        except BrokenReference as error:
            problems.append(Problem(f"{pointer}/responses/{key}", str(error)))
            continue
        if isinstance(node, dict):
            headers = node.get("headers")
            found[status] = Response(
                status,
                text(node.get("description")),
                _read_content(document, node.get("content")),
                headers if isinstance(headers, dict) else {},
            )
    return found


def _read_content(document: Document, raw: Any) -> dict[str, MediaType]:
    if not isinstance(raw, dict):
        return {}
    content = {}
    for kind, item in raw.items():
        media = follow_safely(document, item)
        if not isinstance(media, dict):
            media = {}
        schema = media.get("schema")
        if schema is None and isinstance(media.get("itemSchema"), dict):
            schema = {"type": "array", "items": media["itemSchema"]}
        is_patch = kind.partition(";")[0].strip().lower() == JSON_PATCH
        if is_patch and "items" not in (follow_safely(document, schema) or {}):
            schema = PATCH
        encoding = media.get("encoding")
        content[kind] = MediaType(
            kind,
            schema if isinstance(schema, dict) else None,
            encoding if isinstance(encoding, dict) else {},
            read_example(document, media),
        )
    return content


def read_example(document: Document, raw: Mapping[str, Any]) -> Any:
    """Return the `example` of a parameter or media type, else the first of its `examples`, else None."""
    if raw.get("example") is not None:
        return raw["example"]
    examples = raw.get("examples")
    if isinstance(examples, dict) and examples:
        first = follow_safely(document, next(iter(examples.values())))
        return first.get("value", first.get("dataValue")) if isinstance(first, dict) else first
    return None


def text(value: Any) -> str:
    """Return a text of the document without surrounding white space; empty if the value is no text."""
    return value.strip() if isinstance(value, str) else ""


def _rank(media_type: str) -> int:
    kind = media_type.partition(";")[0].strip().lower()
    if kind == "application/json":
        return 0
    if kind == JSON_PATCH:
        return 2
    if kind.endswith("+json") or kind in ("*/*", "application/*", "text/json"):
        return 1
    order = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain", "application/xml", "text/xml")
    return 3 + order.index(kind) if kind in order else 9
