"""Encode the `body` argument as bytes with a Content-Type, in one of the media types of the operation.

Supported are JSON and `+json`, JSON Lines, form-urlencoded and multipart with Encoding Objects, XML by schema, CSV of
rows, text, and any binary type. Equal arguments give equal bytes: the multipart boundary is a hash of the parts.
"""

import base64
import csv
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from io import StringIO
from itertools import islice
from typing import Any
from urllib.parse import unquote, unquote_plus

from restgpt.specs.docs.example import minimal_arguments
from restgpt.specs.media_type import JSON_PATCH, MediaType, RequestBody, read_example
from restgpt.specs.operation import Operation
from restgpt.specs.reading.document import follow_safely
from restgpt.specs.schemas.validation import only_value
from restgpt.specs.security import TOKEN
from restgpt.tools.errors import ArgumentProblem
from restgpt.tools.request.arguments import follow, is_open, nearest, pointer_part, properties_of, types_of, validate
from restgpt.tools.request.files import OCTETS, Blob
from restgpt.tools.request.serialization import (
    Style,
    XmlEncodingError,
    breaks_header,
    joined,
    query_pairs,
    scalar,
    write_xml,
)

FORM = "application/x-www-form-urlencoded"
SEQUENCE = "application/json-seq"
LINES = frozenset(
    {"application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonl", "application/jsonlines"}
    | {"application/x-jsonlines", "application/json-lines", SEQUENCE}
)
"""The media types of JSON values one after the other: a line each, or a record each (RFC 7464)."""
JSON = re.compile(r"application/json.*|.*[/+.-]json(?:-[\d.]+)?")
"""JSON by its name, of which vendors have own ones: application/x-amz-json-1.1."""
TABLES = {"csv": ",", "tab-separated-values": "\t"}
"""The formats of rows, and what separates the cells of a row."""
GRAMMARS = frozenset(
    {"calendar", "css", "graphql", "html", "javascript", "markdown", "n3", "n-triples", "rtf", "sparql-query", "sql"}
    | {"sparql-update", "toml", "trig", "turtle", "vcard"}
)
"""The formats of text that no JSON fits, whatever the schema is."""
# The preferred kinds of media type for each kind of value, best first.
PREFERENCES = {
    "blob": ("binary", "any", "text", "xml", "multipart"),
    "with blobs": ("multipart", "json", "form", "any"),
    "text": ("text", "xml", "lines", "binary", "any", "json", "form", "multipart"),
    "value": ("json", "form", "multipart", "lines", "xml", "any", "text", "binary"),
}


RANGES = {
    "json": "application/json",
    "text": "text/plain",
    "xml": "application/xml",
    "multipart": "multipart/form-data",
}
"""What is sent for a range of media types, such as `application/*+json`."""

PART_HEADERS = frozenset({"content-disposition", "content-type", "content-length"})
FILE_FORMS = '{"@file": PATH} or {"@bytes": BASE64}'
MAX_COMPARED = 100
"""The most fields of a body that are compared with the documented ones; one with more unknown fields misspells none."""


class BodyEncodingError(ValueError):
    """A body cannot be encoded in the media types of the operation; the model gets the message."""


@dataclass(frozen=True, slots=True)
class EncodedBody:
    """An encoded body and its Content-Type."""

    content: bytes
    content_type: str


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a multipart body."""

    name: str | None
    content: bytes
    content_type: str | None = None
    filename: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def essence(media_type: str) -> str:
    """The media type without parameters, in lower case."""
    return media_type.partition(";")[0].strip().lower()


def kind_of(media_type: str) -> str:
    """Sort a media type into json, lines, form, multipart, xml, text, any (a range) or binary."""
    name = essence(media_type)
    if name in LINES:
        return "lines"
    if JSON.fullmatch(name):
        return "json"
    if name == FORM:
        return "form"
    if name.startswith("multipart/"):
        return "multipart"
    if name.endswith(("/xml", "+xml")):
        return "xml"
    if name.startswith("text/"):
        return "text"
    return "any" if name in ("*/*", "*", "application/*", "") else "binary"


def choose_media(operation: Operation, body: RequestBody, value: Any, wanted: str | None = None) -> MediaType:
    """The media type for a value: the wanted one, else the preferred one for this kind of value."""
    if wanted is not None:
        same = [media for media in body.content.values() if essence(media.media_type) == essence(wanted)]
        if same and "*" not in wanted:
            return next((media for media in same if media.media_type == wanted), same[0])
        ranges = (media for media in body.content.values() if fnmatchcase(essence(wanted), essence(media.media_type)))
        if "*" not in wanted and (found := next(ranges, None)) is not None:
            return replace(found, media_type=wanted)
        raise BodyEncodingError(f"Content-Type must be one of {', '.join(body.content)}")
    if isinstance(value, Blob):
        same = [media for media in body.content.values() if essence(media.media_type) == value.media_type]
        if same:
            return same[0]
    order = PREFERENCES[_nature(value)]
    kinds: dict[str, list[MediaType]] = {}
    for name, media in body.content.items():
        kinds.setdefault(kind_of(name), []).append(media)
    if isinstance(value, str):
        for media in kinds.get("json", ()):
            schema = operation.json_schema(media.schema, request=True)
            if "string" in (types_of(schema, schema) or ()):
                return media
    alike = next((kinds[kind] for kind in order if kind in kinds), list(body.content.values()))
    is_patch = _is_patch(value)
    meant = [media for media in alike if is_patch == (essence(media.media_type) == JSON_PATCH)] or alike
    meant.sort(key=lambda media: ("*" in media.media_type, media.media_type.startswith("text/")))
    return meant[0] if len(meant) == 1 else next((item for item in meant if _fits(operation, item, value)), meant[0])


def _is_patch(value: Any) -> bool:
    """Whether a value is a list of operations of a JSON Patch (RFC 6902)."""
    return isinstance(value, list) and value != [] and all(isinstance(i, Mapping) and "op" in i for i in value)


def _fits(operation: Operation, media: MediaType, value: Any) -> bool:
    """Whether a value has the schema of a media type as it is: a JSON Patch is no JSON Merge Patch."""
    return not validate(value, operation.json_schema(media.schema, request=True), "")


def _nature(value: Any) -> str:
    if isinstance(value, Blob):
        return "blob"
    if _holds_blob(value):
        return "with blobs"
    return "text" if isinstance(value, str) else "value"


def _holds_blob(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_holds_blob(item) for item in value.values())
    if isinstance(value, list):
        return any(_holds_blob(item) for item in value)
    return isinstance(value, Blob)


def encode_body(operation: Operation, media: MediaType, value: Any) -> EncodedBody:
    """Encode a coerced body value; raises BodyEncodingError if the media type cannot represent it."""
    kind = kind_of(media.media_type)
    if kind == "any" or "*" in essence(media.media_type):
        if kind not in ("json", "xml", "multipart"):
            kind = "binary" if isinstance(value, Blob) else "text" if isinstance(value, str) else "json"
        unnamed = value.media_type if isinstance(value, Blob) else OCTETS
        media = replace(media, media_type=RANGES.get(kind, unnamed))
    if kind == "json":
        return EncodedBody(json_text(value).encode(), media.media_type)
    if kind == "form":
        return EncodedBody(_form(operation, media, value).encode(), media.media_type)
    if kind == "multipart":
        return _multipart(media.media_type, _parts(operation, media, value))
    if kind == "xml" and isinstance(value, Mapping | list):
        try:
            content = write_xml(value, media.schema, partial(follow_safely, operation.document))
        except XmlEncodingError as error:
            raise BodyEncodingError(str(error)) from None
        return EncodedBody(content, media.media_type)
    if kind == "lines" and not isinstance(value, str | Blob):
        mark = "\x1e" if essence(media.media_type) == SEQUENCE else ""
        records = [f"{mark}{json_text(item)}\n" for item in (value if isinstance(value, list) else [value])]
        return EncodedBody("".join(records).encode(), media.media_type)
    written = _written(media.media_type, value)
    if isinstance(written, Mapping | list) and _wants_structure(operation, media):
        return EncodedBody(json_text(written).encode(), media.media_type)
    return _raw(media.media_type, written)


def _written(media_type: str, value: Any) -> Any:
    """Write rows as the text of their table; return any other value that may be written as text, JSON or bytes.

    Raises BodyEncodingError for a value that the format cannot have.
    """
    name, is_structure = essence(media_type), isinstance(value, Mapping | list)
    subtype = name.partition("/")[2].removeprefix("x-")
    if is_structure and subtype in TABLES:
        return _table(value if isinstance(value, list) else [value], name, TABLES[subtype])
    is_octets = isinstance(value, str) and media_type == OCTETS
    if MediaType(media_type).is_of_bytes and not isinstance(value, Blob) and not is_octets:
        raise BodyEncodingError(f"{media_type} takes bytes, as a file: {FILE_FORMS}")
    if is_structure and subtype in GRAMMARS:
        raise BodyEncodingError(f"{media_type} takes text, or a file: {FILE_FORMS}")
    return value


def _table(rows: list[Any], name: str, delimiter: str) -> str:
    """Write rows as CSV (RFC 4180) or with tabs: lists as they are, objects below a row of their names."""
    names = list(dict.fromkeys(name for row in rows if isinstance(row, Mapping) for name in row))
    table = [[row.get(name) for name in names] if isinstance(row, Mapping) else row for row in rows]
    if not all(isinstance(row, list) for row in table) or (names and not all(isinstance(row, Mapping) for row in rows)):
        raise BodyEncodingError(f"{name} takes text, or rows that are all objects or all lists")
    text = StringIO(newline="")
    csv.writer(text, delimiter=delimiter).writerows(
        [[scalar(item) for item in row] for row in ([names] if names else []) + table]
    )
    return text.getvalue()


def _wants_structure(operation: Operation, media: MediaType) -> bool:
    """Whether the schema is an object or an array although the media type defines no encoding for them."""
    schema = operation.json_schema(media.schema, request=True)
    return bool((types_of(schema, schema) or frozenset()) & {"object", "array"})


def json_text(value: Any) -> str:
    """Encode as compact JSON with unescaped Unicode; files become Base64.

    Raises BodyEncodingError for values that JSON cannot represent.
    """
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_base64)
    except (TypeError, ValueError) as error:
        raise BodyEncodingError(f"cannot be written as JSON: {error}") from None


def _base64(value: Any) -> str:
    if isinstance(value, Blob):
        return base64.b64encode(value.content).decode("ascii")
    raise TypeError(f"{type(value).__name__} is no JSON")


def _raw(media_type: str, value: Any) -> EncodedBody:
    """Encode text and bytes without conversion."""
    if isinstance(value, Blob):
        # The declared type, because servers refuse another one; but who names the type of a file means it.
        is_free = media_type == OCTETS and not value.is_guessed
        return EncodedBody(value.content, value.media_type if is_free else media_type)
    if isinstance(value, Mapping | list):
        raise BodyEncodingError(f"{media_type} takes text, or a file: {FILE_FORMS}")
    is_plain = media_type.startswith("text/") and "charset" not in media_type.lower()
    return EncodedBody(scalar(value).encode(), f"{media_type}; charset=utf-8" if is_plain else media_type)


def _fields(operation: Operation, media: MediaType, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise BodyEncodingError(f"{media.media_type} takes an object of named fields")
    schemas = (media.schema or {}).get("properties") if operation.document.is_swagger2 else None
    known = schemas if isinstance(schemas, Mapping) else {}
    return {str(name): joined(item, known.get(name)) for name, item in value.items() if item is not None}


def encoding_of(media: MediaType, name: str) -> Mapping[str, Any]:
    """The Encoding Object of a field; empty if it has none."""
    found = media.encoding.get(name)
    return found if isinstance(found, Mapping) else {}


def _is_json_part(encoding: Mapping[str, Any]) -> bool:
    return "contentType" in encoding and kind_of(str(encoding["contentType"])) == "json"


def _style(encoding: Mapping[str, Any]) -> Style | None:
    """The style of an Encoding Object; None if it has no style fields, so that its content type applies."""
    if not {"style", "explode", "allowReserved"} & encoding.keys():
        return None
    name = str(encoding.get("style") or "form")
    explode = encoding.get("explode")
    exploded = explode if isinstance(explode, bool) else name in ("form", "deepObject")
    return Style(name, exploded, encoding.get("allowReserved") is True)


def _form(operation: Operation, media: MediaType, value: Any) -> str:
    """Encode a urlencoded form: arrays repeat their name and objects become JSON, unless an Encoding Object differs."""
    pairs: list[str] = []
    for name, item in _fields(operation, media, value).items():
        if isinstance(item, Blob):
            item = base64.b64encode(item.content).decode("ascii")
        style = _style(encoding_of(media, name))
        if style is not None:
            written = query_pairs(name, item, style, plus=True)
            if isinstance(item, Mapping):
                _refuse_others(operation, media, name, [unquote_plus(pair.partition("=")[0]) for pair in written])
            pairs += written
        elif isinstance(item, Mapping) or (isinstance(item, list) and _is_json_part(encoding_of(media, name))):
            pairs += query_pairs(name, json_text(item), Style(), plus=True)
        elif isinstance(item, list):
            texts = [json_text(part) if isinstance(part, Mapping | list) else part for part in item]
            pairs += query_pairs(name, texts, Style(), plus=True)
        else:
            pairs += query_pairs(name, item, Style(), plus=True)
    return "&".join(pairs)


def _refuse_others(operation: Operation, media: MediaType, name: str, names: list[str]) -> None:
    """An object whose members are sent as fields must not give the value of another field."""
    schema = operation.json_schema(media.schema, request=True)
    for other in (properties_of(schema, schema).keys() - {name}) & set(names):
        raise BodyEncodingError(f"{name}: {other} is another field of the form; give it under its own name")


def _parts(operation: Operation, media: MediaType, value: Any) -> list[Part]:
    """Split a body into parts: one per field, and one per item of an array."""
    if essence(media.media_type) != "multipart/form-data" and isinstance(value, list):
        return [_part(None, item, {}, {}) for item in value]
    schema = operation.json_schema(media.schema, request=True)

    if isinstance(value, Blob | str):
        # A document whose body is the file itself gives no field name; most servers expect `file`.
        return [_part("file", value, {}, {"format": "binary"})]
    known = properties_of(schema, schema)
    parts: list[Part] = []
    for name, item in _fields(operation, media, value).items():
        encoding, before = encoding_of(media, name), len(parts)
        node = follow(known.get(name), schema)
        style = None if _holds_blob(item) else _style(encoding)
        if style is not None and isinstance(item, Mapping | list):
            written = (pair.partition("=") for pair in query_pairs(name, item, replace(style, allow_reserved=False)))
            parts += [Part(unquote(key), unquote(text).encode()) for key, _, text in written]
        elif isinstance(item, list):
            inner = follow(node.get("items"), schema) if isinstance(node, Mapping) else None
            if _is_json_part(encoding):
                parts.append(_part(name, item, encoding, {}))
            else:
                parts += [_part(name, one, encoding, inner) for one in item]
        else:
            parts.append(_part(name, item, encoding, node))
        headers = _headers_of(operation, encoding)
        parts[before:] = [replace(part, headers=headers) for part in parts[before:]]
    return parts


def _headers_of(operation: Operation, encoding: Mapping[str, Any]) -> dict[str, str]:
    """The headers of a part whose value the document gives: as the default, as the only value, or as an example."""
    declared = encoding.get("headers")
    found = {}
    for name, raw in declared.items() if isinstance(declared, Mapping) else ():
        header = follow_safely(operation.document, raw)
        header = header if isinstance(header, dict) else {}
        schema = operation.json_schema(header.get("schema"), request=True)
        values = (schema.get("default"), only_value(schema), read_example(operation.document, header))
        value = next((value for value in values if isinstance(value, str | int | float)), None)
        text = "" if value is None else scalar(value)
        if text and name.lower() not in PART_HEADERS and TOKEN.fullmatch(name) and not breaks_header(text):
            found[name] = text
    return found


def _is_binary(schema: Any) -> bool:
    """Whether a property is a file: `format: binary`, or `contentMediaType` without `contentEncoding` (OpenAPI 3.1)."""
    if not isinstance(schema, Mapping):
        return False
    typed = "contentMediaType" in schema and "contentEncoding" not in schema
    return schema.get("format") == "binary" or typed


def _part(name: str | None, value: Any, encoding: Mapping[str, Any], schema: Any) -> Part:
    declared = _declared_types(encoding, schema)
    exact = next((kind for kind in declared if "*" not in kind), None)
    if isinstance(value, Blob):
        is_fit = not exact or not value.is_guessed or _is_among(value.media_type, declared)
        return Part(name, value.content, value.media_type if is_fit else exact, value.filename or name or "file")
    value = value if exact is None else _written(exact, value)
    if isinstance(value, Mapping | list):
        return Part(name, json_text(value).encode(), exact or "application/json")
    content = scalar(value).encode("utf-8", "replace")
    if _is_binary(schema):
        return Part(name, content, exact or OCTETS, name or "file")
    return Part(name, content, exact)


def _declared_types(encoding: Mapping[str, Any], schema: Any) -> list[str]:
    """The media types that the Encoding Object of a part declares, else that of its schema (OpenAPI 3.1)."""
    typed = schema.get("contentMediaType") if isinstance(schema, Mapping) and _is_binary(schema) else None
    listed = str(encoding.get("contentType") or typed or "").split(",")
    return [kind.strip() for kind in listed if kind.strip()]


def _is_among(media_type: str, declared: list[str]) -> bool:
    """Whether a media type is one of the declared types or in one of the declared ranges."""
    ranges = (media_type.partition("/")[0] + "/*", "*/*", "*")
    return any(essence(kind) == media_type or kind in ranges for kind in declared)


def _multipart(media_type: str, parts: list[Part]) -> EncodedBody:
    """Encode parts by RFC 7578; the boundary is a hash of the parts."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(repr((part.name, part.filename, part.content_type, len(part.content))).encode())
        digest.update(part.content)
    boundary = f"restgpt-{digest.hexdigest()[:32]}"
    lines: list[bytes] = []
    for part in parts:
        lines += [f"--{boundary}".encode(), *_part_headers(media_type, part), b"", part.content]
    content = b"\r\n".join([*lines, f"--{boundary}--".encode(), b""])
    return EncodedBody(content, f"{essence(media_type)}; boundary={boundary}")


def _part_headers(media_type: str, part: Part) -> list[bytes]:
    lines = []
    if essence(media_type) == "multipart/form-data":
        disposition = f'form-data; name="{_quoted(part.name or "")}"'
        if part.filename is not None:
            disposition += f'; filename="{_quoted(part.filename)}"'
        lines.append(f"Content-Disposition: {disposition}".encode("utf-8", "replace"))
    if part.content_type is not None:
        lines.append(f"Content-Type: {_quoted(part.content_type)}".encode())
    return lines + [f"{name}: {text}".encode() for name, text in part.headers.items()]


def _quoted(text: str) -> str:
    """Escape a name by WHATWG multipart/form-data, so that it cannot end the header."""
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def unknown_fields(operation: Operation, media: MediaType, value: Any) -> list[ArgumentProblem]:
    """Problems for body fields that are not in the schema.

    Any such field of a form is a problem, unless the schema allows additional properties. A field of a JSON object is a
    problem only if its name is like a known one, because many documents leave out properties.
    """
    if not isinstance(value, Mapping):
        return []
    schema = operation.json_schema(media.schema, request=True)
    known = properties_of(schema, schema)
    if not known or is_open(schema, schema):
        return []
    closed = kind_of(media.media_type) in ("form", "multipart")
    found = []
    for name in islice((name for name in value if name not in known), MAX_COMPARED):
        hint = nearest(str(name), known, likeness=0.6 if closed else 0.74)
        if closed or hint.startswith("; did you mean"):
            found.append(ArgumentProblem(f"/body/{pointer_part(str(name))}", f"is unknown{hint}", may_insist=True))
    # The examples of some documents use properties that are missing in the schema.
    shown = minimal_arguments(operation).get("body") if found else None
    used = {f"/body/{pointer_part(str(name))}" for name in shown} if isinstance(shown, Mapping) else set()
    return [problem for problem in found if problem.pointer not in used]


def flat_keys(found: Sequence[ArgumentProblem], value: Any, schema: Mapping[str, Any]) -> list[ArgumentProblem]:
    """Explain, in the problems of a body, keys such as `parent.id` for which it has an object in `parent`."""
    hints: dict[str, str] = {}
    for name in properties_of(schema, schema) if isinstance(value, Mapping) else ():
        head, dot, _ = name.partition(".")
        if dot and name not in value and isinstance(value.get(head), Mapping):
            hint = f'; "{name}" is one flat key, written in one string, and not a field of "{head}"'
            hints |= {f"/body/{pointer_part(part)}": hint for part in (name, head)}
    return [replace(item, message=f"{item.message}{hints.get(item.pointer, '')}") for item in found]
