"""Request bodies and responses of an operation, by media type (OpenAPI Request Body, Response, Media Type Object).

Parameters of an operation (OpenAPI Parameter Object).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from restgpt.specs.problem import BrokenReference, Problem
from restgpt.specs.reading.document import Document, follow, follow_safely
from restgpt.specs.reading.index import ALL, ONE, Variable, variable, variables
from restgpt.specs.servers import HEADERS_OF_CLIENT

BYTES = frozenset(
    {"avro", "bson", "cbor", "gzip", "msgpack", "octet-stream", "parquet", "pdf", "protobuf", "tar", "thrift"}
    | {"zip", "zstd"}
)
"""The subtypes, and the suffixes of subtypes, of formats that are no text."""


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
    if kind == "application/json-patch+json":
        return 2
    if kind.endswith("+json") or kind in ("*/*", "application/*", "text/json"):
        return 1
    order = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain", "application/xml", "text/xml")
    return 3 + order.index(kind) if kind in order else 9


LOCATIONS = ("path", "query", "header", "cookie", "querystring")
# How many parameters of an operation are read, many more than any published one has.
PARAMETERS_MOST = 1000
STYLES = {"query": "form", "cookie": "form", "path": "simple", "header": "simple", "querystring": "form"}
# RFC 9110 and OpenAPI: other keywords describe these header parameters, and they are ignored here.
IGNORED_HEADERS = frozenset({"accept", "content-type", "authorization"})
# Headers for authentication and message framing: the program sets them, arguments may not.
RESERVED_HEADERS = HEADERS_OF_CLIENT - {"content-type"} | {"authorization", "proxy-authorization"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter with defaults filled in for `style` and `explode`; `schema` is raw and may be a reference.

    One that `repeats_sign_in` is neither shown nor required: the security scheme sends the credential.
    """

    name: str
    location: str
    required: bool
    schema: dict[str, Any]
    style: str
    explode: bool
    allow_reserved: bool = False
    allow_empty: bool = False
    content_type: str | None = None
    description: str = ""
    deprecated: bool = False
    example: Any = None
    repeats_sign_in: bool = False

    @property
    def described(self) -> dict[str, Any]:
        """The schema with the description of the parameter."""
        return {**self.schema, "description": self.description} if self.description else self.schema


def read_parameters(
    document: Document, path: str, pointer: str, lists: Iterable[tuple[str, Any]], problems: list[Problem]
) -> tuple[Parameter, ...]:
    """Read the parameters of the operation at `pointer`; those that cannot be sent become problems.

    `lists` are pairs of a JSON pointer and the raw `parameters` there; a later list overrides an earlier one. A
    variable of the path that no list declares is a required string.
    """
    found: dict[tuple[str, str], Parameter] = {}
    named = variables(path.partition("#")[0])
    for place, items in lists:
        if items is not None and not isinstance(items, list):
            problems.append(Problem(f"{place}/parameters", "the parameters are not a list"))
            continue
        for number, raw in enumerate(items or ()):
            if len(found) == PARAMETERS_MOST:
                left_out = f"this and later parameters are left out: at most {PARAMETERS_MOST:,} are read"
                problems.append(Problem(f"{place}/parameters/{number}", left_out))
                break
            try:
                node = follow(document, raw)
                fault = _fault(node, named)
            except BrokenReference as error:
                fault = str(error)
            if fault:
                problems.append(Problem(f"{place}/parameters/{number}", fault))
            elif node["name"].lower() not in IGNORED_HEADERS or node["in"] != "header":
                parameter = _read_parameter(document, node, named)
                found[(parameter.name, parameter.location)] = parameter
    declared = {parameter.name for parameter in found.values() if parameter.location == "path"}
    # A variable in the query of the path may be declared as the query parameter that it is.
    declared |= {name for name in named if (name, "query") in found} - variables(path.partition("?")[0]).keys()
    for name in named:
        if name not in declared:
            problems.append(Problem(pointer, f"nothing declares the path variable {name}"))
            raw = {"name": name, "in": "path", "schema": {"type": "string"}}
            found[(name, "path")] = _read_parameter(document, raw, named)
    return tuple(found.values())


def _fault(raw: Any, named: Mapping[str, Variable]) -> str:
    """Return why a parameter cannot be sent, or an empty string."""
    if not isinstance(raw, dict) or not isinstance(raw.get("name"), str):
        return "the parameter has no name"
    if raw.get("in") not in LOCATIONS:
        return f"the parameter {raw['name']} has an unknown location (in: {raw.get('in')!r})"
    if raw["in"] == "path" and variable(raw["name"]).name not in named:
        return f"the path has no variable {raw['name']}"
    return ""


def _read_parameter(document: Document, raw: dict[str, Any], named: Mapping[str, Variable]) -> Parameter:
    name, location = raw["name"], raw["in"]
    example = read_example(document, raw)
    if location == "path":
        name = variable(name).name
        # The pattern fits itself, and no other example is known to.
        example = named[name].pattern if example is None and named[name].pattern not in (ONE, ALL) else example
    schema, content_type = raw.get("schema"), None
    content = raw.get("content")
    if isinstance(content, dict) and content:
        content_type, media = next(iter(content.items()))
        schema = media.get("schema") if isinstance(media, dict) else None
    default_style = STYLES[location]
    style = raw["style"] if isinstance(raw.get("style"), str) else default_style
    explode = raw["explode"] if isinstance(raw.get("explode"), bool) else style in ("form", "deepObject", "cookie")
    return Parameter(
        name=name,
        location=location,
        required=location == "path" or raw.get("required") is True,
        schema=schema if isinstance(schema, dict) else {},
        style=style,
        explode=explode,
        allow_reserved=raw.get("allowReserved") is True,
        allow_empty=location == "query" and raw.get("allowEmptyValue") is True,
        content_type=content_type,
        description=text(raw.get("description")),
        deprecated=raw.get("deprecated") is True,
        example=example,
    )
