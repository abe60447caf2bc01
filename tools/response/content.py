"""The headers of a response that a result mentions: where a new resource is, its version, how many items there are.

Headers are foreign text, so names come from a fixed list, and values are short and without control characters.

Parse a response body: detect its kind from media type and bytes, decode it to UTF-8, read integers exactly.

The reply to one request, returned by the HTTP client: secrets are redacted, the body is parsed at most once.
"""

import codecs
import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from restgpt.specs.operation import Operation
from restgpt.specs.problem import is_success
from restgpt.specs.reading.json_text import BYTE_ORDER_MARKS, MAX_DEPTH, is_too_deep
from restgpt.tools.request.body import essence, kind_of

# How many characters of a value are shown.
LONGEST = 200
# Statuses with which a server names another resource, or says when to try again (RFC 9110).
LOCATED = frozenset({201, 202, 300, 301, 302, 303, 307, 308})
LATER = frozenset({202, 429, 503})
TOTALS = ("x-total-count", "x-total", "x-total-items", "x-total-results", "x-count", "total-count", "content-range")
CONDITIONS = frozenset({"if-match", "if-none-match"})


def useful_headers(operation: Operation, status: int, headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a response that later calls may need; `headers` have names in lower case."""
    wanted = ["location"] if status in LOCATED else []
    wanted += ["retry-after"] if status in LATER else []
    if is_success(status):
        wanted += TOTALS if operation.is_safe else ()
        wanted += ["etag"] if headers.get("etag") and has_conditions(operation) else []
    shown = {name: _shown(headers[name]) for name in wanted if name in headers}
    return {name: value for name, value in shown.items() if value}


def has_conditions(operation: Operation) -> bool:
    """Whether an operation on the same path takes If-Match or If-None-Match, so that a version is of use."""
    return any(
        parameter.location == "header" and parameter.name.lower() in CONDITIONS
        for item in operation.api.near_path(operation.path)
        if item.path == operation.path
        for parameter in item.parameters
    )


def _shown(value: str) -> str:
    """Return a value without control and formatting characters, empty if it is too long to be of use."""
    plain = "".join(char for char in str(value) if char.isprintable()).strip()
    return plain if len(plain) <= LONGEST else ""


Kind = Literal["empty", "json", "json-lines", "csv", "xml", "text", "binary"]

_TABLES = frozenset({"text/csv", "application/csv", "text/tab-separated-values"})
_TEXTS = frozenset(
    {"application/javascript", "application/x-www-form-urlencoded", "application/yaml", "application/x-yaml"}
    | {"application/toml", "application/graphql", "application/sql", "application/http"}
)
_CHARSET = re.compile(r"charset\s*=\s*\"?([A-Za-z0-9._:+-]+)", re.IGNORECASE)
_XML_CHARSET = re.compile(rb"^\s*<\?xml[^>]*encoding=[\"']([A-Za-z0-9._-]+)")
# Anti-hijacking prefixes that some servers put before JSON.
_PREFIX = re.compile(r"^(\)\]\}'[^\n]*\n|while\s*\(1\);|for\s*\(;;\);)")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_NAMED = (
    "ascii utf-8 utf-16 utf-16-be utf-16-le utf-32 utf-32-be utf-32-le big5 big5hkscs euc_jp euc_kr gb18030 gb2312 gbk "
    "hp-roman8 hz iso2022_jp iso2022_jp_2 iso2022_kr koi8-r koi8-u kz1048 mac-cyrillic mac-roman ptcp154 shift_jis "
    "tis-620 cp037 cp273 cp424 cp437 cp500 cp775 cp850 cp852 cp855 cp857 cp858 cp860 cp861 cp862 cp863 cp864 cp865 "
    "cp866 cp869 cp874 cp932 cp949 cp950 cp1026 cp1140"
)
CHARSETS = frozenset(
    [*_NAMED.split(), *(f"cp{number}" for number in range(1250, 1259))]
    + [f"iso8859-{number}" for number in range(1, 17) if number != 12]
)
"""The names of Python's codecs for charsets (IANA); the others, such as `punycode`, take a time that grows faster."""

SNIFFED = 4096
DECODED = 1024 * 1024
"""How many bytes are decoded at once."""

UNREAD = object()

MOST_MEMORY = 384 * 1024 * 1024
"""The most bytes of memory that the value of a body may take, by `memory_of`; a larger body is kept as text."""

TOO_LARGE = (
    "this JSON would take too much memory, so it is kept as text; ask for less: filters, fewer fields, fewer items"
)
"""The notice of a body with more than `MOST_MEMORY`."""

# The bytes that a value takes for each of these characters in its text, at most: those of an empty list, of an object
# with a field, of an item with its number, of a line with one, and of half a text.
_MEMORY = {b"[": 88, b"{": 232, b",": 48, b"\n": 48, b'"': 32}
_LINE_BREAKS = re.compile(r"[\n\x1e][ \t\r\n\x1e]*")


@dataclass(frozen=True)
class Body:
    """A body: text is UTF-8 without a byte order mark; `notices` list deviations from its Content-Type.

    `parsed` is its JSON value if it has been parsed already.
    """

    raw: bytes
    media_type: str
    kind: Kind
    parsed: Any = field(default=UNREAD, compare=False, repr=False)
    notices: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The length in bytes."""
        return len(self.raw)

    @property
    def is_binary(self) -> bool:
        """Whether the body is binary data."""
        return self.kind == "binary"

    @property
    def is_json(self) -> bool:
        """Whether the body is one JSON value."""
        return self.kind == "json"

    @cached_property
    def weight(self) -> int:
        """An estimate of the memory in bytes that the body takes once it is parsed."""
        is_parsed = self.kind in ("json", "json-lines")
        return self.size + (memory_of(self.raw) if is_parsed else 0)

    def json(self) -> bytes:
        """The body as one JSON text; JSON Lines become an array without being parsed."""
        return array_of_lines(self.text())[0].encode() if self.kind == "json-lines" else self.raw

    @cached_property
    def value(self) -> Any:
        """JSON as its value, JSON Lines as a list, other text as a string, binary data as bytes, an empty body as None.

        Integers are exact at any size. Invalid JSON is text. Callers share the value, so they must not change it.
        """
        if self.parsed is not UNREAD:
            return self.parsed
        if self.kind in ("empty", "binary"):
            return self.raw or None
        read = {"json": read_json, "json-lines": read_json_lines}.get(self.kind, str)
        try:
            return read(self.text())
        except ValueError:
            return self.text()

    @property
    def json_value(self) -> Any:
        """The value of JSON or JSON Lines; `UNREAD` for any other body."""
        return self.value if self.kind in ("json", "json-lines") else UNREAD

    def text(self, limit: int | None = None) -> str:
        """The body as text, at most `limit` characters of it; invalid bytes become replacement characters."""
        raw = self.raw if limit is None else self.raw[: limit * 4]
        return raw.decode("utf-8", "replace")[:limit]


def _exact(digits: str) -> int | str:
    # `int` raises ValueError for more than 4,300 digits by default, so a longer integer remains a string of digits.
    return int(digits) if len(digits) < 4000 else digits


# The first one reads integers several times faster. It refuses long ones, unless the host has turned that limit off.
_FAST, _EXACT = json.JSONDecoder(), json.JSONDecoder(parse_int=_exact)
_DEFAULT_MOST_DIGITS = 4300


def read_json(text: str) -> Any:
    """Read JSON with integers of any length; raises ValueError, also for more than `MAX_DEPTH` levels.

    Deeper values could not be walked: to redact, compare, keep or show them.
    """
    if is_too_deep(text):
        raise ValueError(f"it nests more than {MAX_DEPTH} levels deep")
    if 0 < sys.get_int_max_str_digits() <= _DEFAULT_MOST_DIGITS:
        try:
            return _FAST.decode(text)
        except json.JSONDecodeError:
            raise
        except ValueError:
            # An integer is too long.
            pass
    return _EXACT.decode(text)


def read_json_lines(text: str) -> list[Any]:
    """Read JSON Lines or a JSON text sequence (RFC 7464), one value a line; raises ValueError."""
    joined, lines = array_of_lines(text)
    values: list[Any] = read_json(joined)
    if len(values) != lines:
        raise ValueError(f"{lines} lines have {len(values)} values")
    return values


def array_of_lines(text: str) -> tuple[str, int]:
    """Return JSON Lines as the text of an array, and the number of lines with a value."""
    # JSON has no line break or record separator inside of a text.
    joined, breaks = _LINE_BREAKS.subn(",", text.strip(" \t\r\n\x1e"))
    return f"[{joined}]", breaks + 1


def memory_of(data: bytes) -> int:
    """Return an estimate of the memory in bytes that the value of JSON takes: in little time, and mostly too high."""
    return len(data) + sum(size * data.count(character) for character, size in _MEMORY.items())


def read_content(body: bytes, content_type: str = "") -> Body:
    """Detect the kind of a body and decode it to UTF-8; the Content-Type counts unless the bytes contradict it."""
    media_type = essence(content_type)
    if not body.strip(b" \t\r\n"):
        return Body(b"", media_type, "empty")
    announced = _announced(media_type)
    text, notices = _decoded(body, content_type, announced)
    if text is None:
        note = (f"announced as {media_type}, but the bytes are no text",) if announced not in (None, "binary") else ()
        return Body(body, media_type, "binary", notices=note)
    stripped = _PREFIX.sub("", text, count=1)
    data = stripped.encode("utf-8", "replace")
    kind, parsed, more = _kind_of_text(stripped, announced, media_type, memory=memory_of(data))
    if kind == "binary":
        return Body(body, media_type, "binary")
    is_kept = kind in ("json", "json-lines") or len(stripped) == len(text)
    data = data if is_kept else text.encode("utf-8", "replace")
    return Body(data, media_type, kind, parsed, (*notices, *more))


def utf8_version(body: bytes, content_type: str, check: Callable[[], None]) -> bytes | None:
    """The text of a body, encoded as UTF-8; None if the body is not text or is UTF-8 already.

    Redaction compares bytes, so it must scan this version too: in UTF-16 the bytes of a secret differ. `check` is
    called after each `DECODED` bytes; what it raises ends the decoding.
    """
    text, _ = _decoded(body, content_type, _announced(essence(content_type)), check)
    data = body if text is None else text.encode("utf-8", "replace")
    return None if data == body else data


def _announced(media_type: str) -> Kind | None:
    """The kind of a media type; None if the type is missing or unspecific."""
    if media_type in ("", "*/*", "application/octet-stream", "application/unknown", "binary/octet-stream"):
        return None
    if media_type in _TABLES:
        return "csv"
    kind = kind_of(media_type)
    if kind == "lines":
        return "json-lines"
    if kind == "json":
        return "json"
    if kind == "xml":
        return "xml"
    return "text" if kind == "text" or media_type in _TEXTS else "binary"


def _decoded(
    body: bytes, content_type: str, announced: Kind | None, check: Callable[[], None] = lambda: None
) -> tuple[str | None, tuple[str, ...]]:
    """Decode a body by its byte order mark, its charset or as UTF-8; the text is None if the body is not text."""
    for mark, charset in BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return _decode(body[len(mark) :], charset, check), ()
    found = _CHARSET.search(content_type)
    named = found.group(1) if found else ""
    inner = _XML_CHARSET.match(body[:200]) if announced == "xml" and not named else None
    named = inner.group(1).decode("ascii") if inner else named
    if announced == "json" and body[:2].count(0) == 1:
        named = "utf-16-be" if body[0] == 0 else "utf-16-le"
    if named and _is_charset(named):
        text = _decode(body, named, check)
        if text is not None:
            return text, ()
    text = _decode(body, "utf-8", check)
    if text is not None:
        note = (f"announced in the unknown charset {named}, read as UTF-8",) if named and not _is_charset(named) else ()
        return text, note
    if announced in (None, "binary") or _CONTROL.search(body[:SNIFFED].decode("latin-1")):
        return None, ()
    return body.decode("cp1252", "replace"), ("not UTF-8, read as Windows-1252",)


def _is_charset(name: str) -> bool:
    try:
        return codecs.lookup(name).name in CHARSETS
    except (LookupError, ValueError):
        return False


def _decode(body: bytes, charset: str, check: Callable[[], None]) -> str | None:
    decoder = codecs.getincrementaldecoder(charset)()
    parts = []
    try:
        for start in range(0, len(body), DECODED):
            if start:
                check()
            parts.append(decoder.decode(body[start : start + DECODED]))
        return "".join([*parts, decoder.decode(b"", True)])
    except (UnicodeError, LookupError):
        return None


def _kind_of_text(
    text: str, announced: Kind | None, media_type: str, *, memory: int
) -> tuple[Kind, Any, tuple[str, ...]]:
    """The kind of a text, its value if it is JSON or JSON Lines, and the notices."""
    start = text[:SNIFFED].lstrip()
    if announced in ("csv", "xml"):
        return announced, UNREAD, ()
    looks_like_json = start[:1] in ("{", "[")
    if (announced in ("json", "json-lines") or looks_like_json) and memory > MOST_MEMORY:
        return "text", UNREAD, (TOO_LARGE,)
    if announced == "json-lines":
        values = _read(read_json_lines, text)
        if values is not UNREAD:
            return "json-lines", values, ()
        return "text", UNREAD, ("announced as JSON Lines, but it is not",)
    value = _read(read_json, text) if announced == "json" or looks_like_json else UNREAD
    if value is not UNREAD:
        is_other = announced not in (None, "json") and bool(media_type)
        return "json", value, (f"announced as {media_type}, but it is JSON",) if is_other else ()
    if announced in ("text", "binary"):
        return announced, UNREAD, ()
    if announced is None and _CONTROL.search(text[:SNIFFED]):
        return "binary", UNREAD, ()
    lines = _read(read_json_lines, text) if looks_like_json else UNREAD
    if isinstance(lines, list) and len(lines) > 1:
        return "json-lines", lines, ("announced as JSON, but it is JSON Lines",) if announced else ()
    if announced == "json":
        kind: Kind = "xml" if start.startswith("<") else "text"
        return kind, UNREAD, ("announced as JSON, but it does not read as JSON",)
    return "xml" if start.startswith(("<?xml", "<!DOCTYPE", "<html")) else "text", UNREAD, ()


def _read(read: Callable[[str], Any], text: str) -> Any:
    """The value of a text, or UNREAD if it cannot be read."""
    try:
        return read(text)
    except ValueError:
        return UNREAD


@dataclass(frozen=True)
class Reply:
    """One HTTP reply; `truncated` means that the body was longer than the client's limit and was cut.

    `elapsed_ms` is the time from the first attempt to the end of the body, waits included. `tries` are the statuses of
    all attempts; with `outcome_unknown` one of them may have carried out a change that this reply refuses. `next_link`
    is the address of the next page from the headers, in which only known secrets are redacted: it is for pagination,
    and is not shown.
    """

    status: int
    reason: str
    headers: Mapping[str, str]
    media_type: str
    body: bytes
    truncated: bool = False
    elapsed_ms: int = 0
    tries: tuple[str, ...] = ()
    outcome_unknown: bool = False
    url: str = ""
    next_link: str = field(default="", repr=False)

    @property
    def is_success(self) -> bool:
        """Whether the status is a 2xx (RFC 9110, section 15.3)."""
        return is_success(self.status)

    @property
    def attempts(self) -> int:
        """How often the request was sent."""
        return len(self.tries) or 1

    @cached_property
    def content(self) -> Body:
        """The normalized body; it is decoded and parsed at the first use of this property."""
        return read_content(self.body, self.header("content-type"))

    def header(self, name: str) -> str:
        """The value of a header, whose name may be in any case; an empty string if it is missing."""
        folded = name.lower()
        return next((value for key, value in self.headers.items() if key.lower() == folded), "")
