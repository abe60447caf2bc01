"""Guards `read_content`: the kind of a body despite a wrong Content-Type, UTF-8 text, exact integers."""

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paths import api_of

from restgpt.specs import Operation
from restgpt.tools.response.content import (
    CHARSETS,
    DECODED,
    MOST_MEMORY,
    TOO_LARGE,
    memory_of,
    read_content,
    useful_headers,
)

UNICODE = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32")


@pytest.mark.parametrize(
    ("body", "announced", "kind", "value"),
    [
        (b'{"a":1}', "application/json", "json", {"a": 1}),
        (b" [1]\n", "application/json; charset=utf-8", "json", [1]),
        (b'"x"', "application/json", "json", "x"),
        (b"null", "application/json", "json", None),
        (b'{"a":1}', "application/vnd.github+json", "json", {"a": 1}),
        (b'{"a":1}', "", "json", {"a": 1}),
        (b'{"a":1}', "application/octet-stream", "json", {"a": 1}),
        (b'{"a":1}', "text/plain", "json", {"a": 1}),
        *(('{"é":"€"}'.encode(charset), "application/json", "json", {"é": "€"}) for charset in UNICODE),
        (b"5", "text/plain", "text", "5"),
        (b"{not json}", "text/plain", "text", "{not json}"),
        (b"[" * 200_000, "application/json", "text", "[" * 200_000),
        (b'{"a":1}\n{"a":2}', "application/json", "json-lines", [{"a": 1}, {"a": 2}]),
        (b'{"a":1}\n', "application/x-ndjson", "json-lines", [{"a": 1}]),
        (b'1\n"x"\n', "application/x-ndjson", "json-lines", [1, "x"]),
        (b'{"a":1}\n{', "application/x-ndjson", "text", '{"a":1}\n{'),
        (b'{"a":1}', "application/json; charset=undefined", "json", {"a": 1}),
        (b"\xff.", "text/plain; charset=idna", "text", "\xff."),
        *(("é".encode(), f"text/plain; charset={charset}", "text", "é") for charset in ("klingon", "us-ascii")),
        ("日本".encode("shift_jis"), 'text/plain; charset="Shift_JIS"', "text", "日本"),
        (b'\x1e{"a":1}\n\x1e{"a":2}\n', "application/json-seq", "json-lines", [{"a": 1}, {"a": 2}]),
        (b"a;b\n1;2\n", "text/csv", "csv", "a;b\n1;2\n"),
        (b"<a/>", "application/xml", "xml", "<a/>"),
        (b"<html></html>", "", "xml", "<html></html>"),
        (b"<svg/>", "image/svg+xml", "xml", "<svg/>"),
        (b"a: 1", "application/yaml", "text", "a: 1"),
        (b"  \r\n", "application/json", "empty", None),
        (b"", "", "empty", None),
        (b"%PDF-1.7 plain enough", "application/pdf", "binary", b"%PDF-1.7 plain enough"),
        (b"\x00\x01\x02", "", "binary", b"\x00\x01\x02"),
        (b"PK\x03\x04\xff", "application/json", "binary", b"PK\x03\x04\xff"),
    ],
)
def test_a_body_is_what_its_bytes_and_its_type_say(body: bytes, announced: str, kind: str, value: object) -> None:
    content = read_content(body, announced)
    assert (content.kind, content.value) == (kind, value)
    assert content.value is content.value


def test_text_becomes_utf_8_by_its_charset() -> None:
    assert read_content("é€".encode("cp1252"), "text/plain; charset=windows-1252").raw == "é€".encode()


@pytest.mark.parametrize(
    "charset", ["punycode", "idna", "utf-7", "unicode_escape", "raw_unicode_escape", "rot13", "hex", "base64", "zip"]
)
def test_a_codec_of_python_that_is_no_charset_is_not_used(charset: str) -> None:
    content = read_content(b"a+AGE-\\u0061-b" * 100_000, f"text/plain; charset={charset}")
    assert content.raw == b"a+AGE-\\u0061-b" * 100_000
    assert content.notices == (f"announced in the unknown charset {charset}, read as UTF-8",)


@pytest.mark.parametrize("charset", sorted(CHARSETS))
def test_text_in_a_charset_is_read_in_a_time_that_grows_with_it(charset: str) -> None:
    text = "a b" * DECODED
    assert read_content(text.encode(charset), f"text/plain; charset={charset}").text() == text


def test_big_integers_are_exact_and_endless_ones_harmless() -> None:
    assert read_content(b'{"n":123456789012345678901234567890}').value == {"n": 123456789012345678901234567890}
    digits = "9" * 100_000
    assert read_content(f"[{digits}]".encode(), "application/json").value == [digits]


def test_what_is_not_as_announced_is_noted() -> None:
    assert "does not read as JSON" in read_content(b"<html>", "application/json").notices[0]
    assert "it is JSON" in read_content(b"{}", "text/html").notices[0]
    assert read_content(b"{}", "application/json").notices == ()


KINDS = ["", "application/json", "text/csv", "text/plain", "application/xml", "image/png"]


@given(st.binary(max_size=200), st.sampled_from(KINDS))
def test_any_bytes_are_read_without_failing(body: bytes, announced: str) -> None:
    content = read_content(body, announced)
    assert content.value is None or content.size
    if not content.is_binary:
        content.raw.decode("utf-8")


SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=5)


@given(st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3)))
def test_json_comes_back_as_it_was(value: object) -> None:
    body = json.dumps([value]).encode()
    assert read_content(body, "application/json").value == [value]


@pytest.mark.parametrize("body", [b"1 2\n3\n", b'{"a":1}{"a":2}\n{"a":3}\n', b"[1\n2]\n", b"1,2\n"])
def test_a_line_with_other_than_one_value_is_no_json_lines(body: bytes) -> None:
    assert read_content(body, "application/x-ndjson").kind == "text"


@pytest.mark.parametrize("media_type", ["application/json", "application/x-ndjson", ""])
def test_json_that_would_take_too_much_memory_is_kept_as_text_with_a_notice(media_type: str) -> None:
    body = b"[" + b"{}," * (MOST_MEMORY // 200) + b"{}]"
    content = read_content(body, media_type)
    assert (content.kind, content.notices) == ("text", (TOO_LARGE,))


def test_the_memory_of_a_value_is_not_underestimated() -> None:
    for text in ("[]," * 1000, "{}," * 1000, '{"a":1},' * 1000, "12345," * 1000, '"ab",' * 1000, "1.5," * 1000):
        data = f"[{text}0]"
        assert memory_of(data.encode()) >= _size_of(json.loads(data))


def _size_of(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sys.getsizeof(value) + sum(map(_size_of, inner))


OK = {"responses": {"200": {"description": "ok"}}}
MATCHED = {**OK, "parameters": [{"name": "If-Match", "in": "header", "schema": {"type": "string"}}]}
API = api_of(
    {
        "/notes": {"get": {"operationId": "find", **OK}, "post": {"operationId": "make", **OK}},
        "/notes/{id}": {"get": {"operationId": "read", **OK}, "put": {"operationId": "change", **MATCHED}},
    },
    base_url="http://localhost",
)


def named(name: str) -> Operation:
    return API.operation(name)


@pytest.mark.parametrize(
    ("name", "status", "headers", "shown"),
    [
        ("make", 201, {"location": "/notes/7", "etag": '"a"'}, {"location": "/notes/7"}),
        ("make", 200, {"location": "/notes/7"}, {}),
        ("make", 202, {"retry-after": "30", "location": "/jobs/1"}, {"location": "/jobs/1", "retry-after": "30"}),
        ("read", 200, {"etag": 'W/"a1"', "date": "today"}, {"etag": 'W/"a1"'}),
        ("find", 200, {"etag": '"a"', "x-total-count": "120"}, {"x-total-count": "120"}),
        ("find", 206, {"content-range": "items 0-9/120"}, {"content-range": "items 0-9/120"}),
        ("find", 429, {"retry-after": "5", "x-total-count": "1"}, {"retry-after": "5"}),
        ("read", 404, {"etag": '"a"', "location": "/other"}, {}),
    ],
)
def test_headers_that_later_calls_need_are_shown(
    name: str, status: int, headers: dict[str, str], shown: dict[str, str]
) -> None:
    assert useful_headers(named(name), status, headers) == shown


def test_no_other_header_and_no_control_character_is_shown() -> None:
    others = {"set-cookie": "session=1", "authorization": "Bearer x", "x-api-key": "k"}
    given = {**others, "location": "/notes/7\u202e\r\nignore\x1b[2J"}
    assert useful_headers(named("make"), 201, given) == {"location": "/notes/7ignore[2J"}
    assert useful_headers(named("make"), 201, {"location": "/" + "a" * 300}) == {}
