"""Parse a response body: detect its kind from media type and bytes, decode it to UTF-8, read integers exactly."""

import codecs
import csv
import io
import json
import re
from dataclasses import dataclass, field
from typing import Any, Literal

from restgpt.tools.request.body import essence, kind_of

Kind = Literal["empty", "json", "json-lines", "csv", "xml", "text", "binary"]

_LINES = frozenset({"application/x-ndjson", "application/jsonl", "application/x-jsonlines", "application/json-seq"})
_TABLES = {"text/csv": ",", "application/csv": ",", "text/tab-separated-values": "\t"}
_TEXTS = frozenset(
    {"application/javascript", "application/x-www-form-urlencoded", "application/yaml", "application/x-yaml"}
    | {"application/toml", "application/graphql", "application/sql", "application/http"}
)
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CHARSET = re.compile(r"charset\s*=\s*\"?([A-Za-z0-9._:+-]+)", re.IGNORECASE)
_XML_CHARSET = re.compile(rb"^\s*<\?xml[^>]*encoding=[\"']([A-Za-z0-9._-]+)")
# Anti-hijacking prefixes that some servers put before JSON.
_PREFIX = re.compile(r"^(\)\]\}'[^\n]*\n|while\s*\(1\);|for\s*\(;;\);)")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
SNIFFED = 4096
UNREAD = object()


@dataclass(frozen=True, slots=True)
class Content:
    """A normalized body: text is UTF-8 without a byte order mark; `notices` list deviations from its Content-Type."""

    kind: Kind
    data: bytes
    notices: tuple[str, ...] = ()
    parsed: Any = field(default=UNREAD, compare=False, repr=False)

    @property
    def is_binary(self) -> bool:
        """Whether the body is binary data."""
        return self.kind == "binary"

    def text(self) -> str:
        """The body as text; invalid bytes become replacement characters."""
        return self.data.decode("utf-8", "replace")

    def value(self) -> Any:
        """JSON as its value, JSON Lines as a list, other text as a string, binary data as bytes, an empty body as None.

        Integers are exact at any size. Invalid JSON is returned as text.
        """
        if self.parsed is not UNREAD:
            return self.parsed
        if self.kind == "empty":
            return None
        if self.kind == "binary":
            return self.data
        try:
            if self.kind == "json":
                return read_json(self.text())
            if self.kind == "json-lines":
                return [read_json(line) for line in _lines(self.text())]
        except (ValueError, RecursionError):
            return self.text()
        return self.text()


def read_json(text: str) -> Any:
    """Read JSON with integers of any length; raises ValueError or RecursionError."""
    return json.loads(text, parse_int=_exact)


def _exact(digits: str) -> int | str:
    # `int` raises ValueError for more than 4,300 digits by default, so a longer integer remains a string of digits.
    return int(digits) if len(digits) < 4000 else digits


def read_content(body: bytes, content_type: str = "") -> Content:
    """Detect the kind of a body and decode it to UTF-8; the Content-Type counts unless the bytes contradict it."""
    if not body.strip(b" \t\r\n"):
        return Content("empty", b"")
    media_type = essence(content_type)
    announced = _announced(media_type)
    text, notices = _decoded(body, content_type, announced)
    if text is None:
        note = (f"announced as {media_type}, but the bytes are no text",) if announced not in (None, "binary") else ()
        return Content("binary", body, note)
    stripped = _PREFIX.sub("", text, count=1)
    parsed = _parsed(stripped, announced)
    kind, more = _kind_of_text(stripped, announced, media_type, is_json=parsed is not UNREAD)
    if kind == "binary":
        return Content("binary", body)
    kept = stripped if kind in ("json", "json-lines") else text
    return Content(kind, kept.encode("utf-8", "replace"), (*notices, *more), parsed if kind == "json" else UNREAD)


def utf8_version(body: bytes, content_type: str = "") -> bytes | None:
    """The text of a body, encoded as UTF-8; None if the body is not text or is UTF-8 already.

    Redaction compares bytes, so it must scan this version too: in UTF-16 the bytes of a secret differ.
    """
    text, _ = _decoded(body, content_type, _announced(essence(content_type)))
    data = body if text is None else text.encode("utf-8", "replace")
    return None if data == body else data


def _parsed(text: str, announced: Kind | None) -> Any:
    """The JSON value of a text whose Content-Type is JSON or that starts like an object or an array, else UNREAD."""
    if announced != "json" and text[:SNIFFED].lstrip()[:1] not in ("{", "["):
        return UNREAD
    try:
        return read_json(text)
    except (ValueError, RecursionError):
        return UNREAD


def _announced(media_type: str) -> Kind | None:
    """The kind of a media type; None if the type is missing or unspecific."""
    if media_type in ("", "*/*", "application/octet-stream", "application/unknown", "binary/octet-stream"):
        return None
    if media_type in _LINES:
        return "json-lines"
    if media_type in _TABLES:
        return "csv"
    kind = kind_of(media_type)
    if kind == "json":
        return "json"
    if kind == "xml":
        return "xml"
    return "text" if kind == "text" or media_type in _TEXTS else "binary"


def _decoded(body: bytes, content_type: str, announced: Kind | None) -> tuple[str | None, tuple[str, ...]]:
    """Decode a body by its byte order mark, its charset or as UTF-8; the text is None if the body is not text."""
    for mark, charset in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return _decode(body[len(mark) :], charset), ()
    found = _CHARSET.search(content_type)
    named = found.group(1) if found else ""
    inner = _XML_CHARSET.match(body[:200]) if announced == "xml" and not named else None
    named = inner.group(1).decode("ascii") if inner else named
    if announced == "json" and body[:2].count(0) == 1:
        named = "utf-16-be" if body[0] == 0 else "utf-16-le"
    if named and _is_charset(named):
        text = _decode(body, named)
        if text is not None:
            return text, ()
    text = _decode(body, "utf-8")
    if text is not None:
        note = (f"announced in the unknown charset {named}, read as UTF-8",) if named and not _is_charset(named) else ()
        return text, note
    if announced in (None, "binary") or _CONTROL.search(body[:SNIFFED].decode("latin-1")):
        return None, ()
    return body.decode("cp1252", "replace"), ("not UTF-8, read as Windows-1252",)


def _is_charset(name: str) -> bool:
    try:
        return codecs.lookup(name)._is_text_encoding
    except (LookupError, ValueError):
        return False


def _decode(body: bytes, charset: str) -> str | None:
    try:
        return body.decode(charset)
    except (UnicodeError, LookupError):
        return None


def _kind_of_text(text: str, announced: Kind | None, media_type: str, *, is_json: bool) -> tuple[Kind, tuple[str, ...]]:
    start = text[:SNIFFED].lstrip()
    if announced == "json":
        if is_json:
            return "json", ()
        if _is_json_lines(text):
            return "json-lines", ("announced as JSON, but it is JSON Lines",)
        return "xml" if start.startswith("<") else "text", ("announced as JSON, but it does not read as JSON",)
    if announced == "json-lines":
        is_read = all(_is_json(line) for line in _lines(text))
        return ("json-lines", ()) if is_read else ("text", ("announced as JSON Lines, but it is not",))
    if announced in ("csv", "xml"):
        return announced, ()
    if is_json and (announced != "text" or start[:1] in ("{", "[")):
        return "json", ((f"announced as {media_type}, but it is JSON",) if media_type and announced else ())
    if announced in ("text", "binary"):
        return announced, ()
    if _CONTROL.search(text[:SNIFFED]):
        return "binary", ()
    if _is_json_lines(text):
        return "json-lines", ()
    return "xml" if start.startswith(("<?xml", "<!DOCTYPE", "<html")) else "text", ()


def _is_json(text: str) -> bool:
    try:
        read_json(text)
    except (ValueError, RecursionError):
        return False
    return True


def _lines(text: str) -> list[str]:
    """The JSON texts of JSON Lines or of a JSON Text Sequence (RFC 7464)."""
    return [line for line in re.split(r"[\n\x1e]", text) if line.strip()]


def _is_json_lines(text: str) -> bool:
    lines = _lines(text)
    if not lines or lines[0].lstrip()[:1] not in ("{", "["):
        return False
    return len(lines) > 1 and all(_is_json(line) for line in lines)


def table_rows(text: str, media_type: str = "text/csv", most: int = 20) -> list[list[str]]:
    """The first rows of CSV or tab-separated text."""
    delimiter = _TABLES.get(essence(media_type), ",")
    if delimiter == "," and text[:SNIFFED].split("\n", 1)[0].count(";") > text[:SNIFFED].split("\n", 1)[0].count(","):
        delimiter = ";"
    rows = []
    try:
        for row in csv.reader(io.StringIO(text), delimiter=delimiter):
            rows.append(row)
            if len(rows) == most:
                break
    except csv.Error:
        return rows
    return rows
