"""Guards `build_request`: it is pure and deterministic, coerces without loss, reports problems by pointer."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopback import Handler, served
from paths import operation_of

from restgpt.specs import Operation, SpecError, load_api
from restgpt.specs.docs.example import minimal_arguments
from restgpt.tools.errors import ArgumentError
from restgpt.tools.request.arguments import MOST_DEPTH, coerce, is_open, properties_of, types_of, validate
from restgpt.tools.request.files import FilePolicy
from restgpt.tools.request.prepared_request import LONGEST_URL, PreparedRequest, build_request, settle
from restgpt.tools.request.view import view
from restgpt.tools.sandbox.code import MOST_DEPTH as DIGEST_DEPTH
from restgpt.tools.text.redaction import Redactor

BASE = "http://api.test/v1"


def operation(path: str = "/x", method: str = "get", base_url: str | None = BASE, **more: Any) -> Operation:
    schemas = {"Node": {"type": "object", "properties": {"n": {"$ref": "#/components/schemas/Node"}}}}
    return operation_of(more, method, path, schemas=schemas, base_url=base_url)


def query(**schemas: Any) -> Operation:
    return operation(parameters=[{"name": name, "in": "query", "schema": schema} for name, schema in schemas.items()])


def body(schema: Any, media: str = "application/json", **more: Any) -> Operation:
    content = {media: {"schema": schema, **more}}
    return operation(method="post", requestBody={"required": True, "content": content})


def problems(found: Operation, arguments: Any) -> list[str]:
    with pytest.raises(ArgumentError) as caught:
        build_request(found, arguments)
    return [str(problem) for problem in caught.value.problems]


def item(**more: Any) -> Operation:
    parameter = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}, **more}
    return operation("/items/{id}/parts", parameters=[parameter])


@pytest.mark.parametrize("found", [item(), item(allowReserved=True)])
@given(value=st.text(min_size=1, max_size=40) | st.sampled_from(["7/parts", "a/../b", "%2e%2e/admin", "..", "%2F?#"]))
def test_path_values_cannot_climb(found: Operation, value: str) -> None:
    try:
        url = build_request(found, {"path": {"id": value}}).url
    except ArgumentError:
        assert value in (".", "..") or any("\ud800" <= char <= "\udfff" for char in value)
        return
    assert url.startswith(f"{BASE}/items/")
    assert url.endswith("/parts")
    assert url.removeprefix(BASE).count("/") == 3
    assert not set("?#\\ \r\n") & set(url)
    assert unquote(url.split("/")[-2]) == value


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=8) | st.integers() | st.booleans(), max_size=4))
def test_no_object_in_a_query_breaks_out_of_it(value: dict[str, Any]) -> None:
    found = query(q={"type": "object", "additionalProperties": True})
    try:
        url = build_request(found, {"query": {"q": value}}).url
    except ArgumentError:
        return
    assert url.startswith(f"{BASE}/x")
    assert not set("# \r\n\\") & set(url)
    assert url.count("?") <= 1
    assert url.count("&") <= max(0, len(value) - 1)


@given(st.text(max_size=30))
def test_no_header_value_ends_its_header(value: str) -> None:
    found = operation(parameters=[{"name": "X-A", "in": "header", "schema": {"type": "string"}}])
    try:
        headers = build_request(found, {"header": {"X-A": value}}).headers
    except ArgumentError:
        return
    assert not set("\r\n\0") & set(headers["X-A"])


def test_equal_arguments_give_the_same_bytes_and_any_difference_changes_the_fingerprint() -> None:
    found = body({"type": "object"}, "multipart/form-data")
    arguments = {"body": {"a": "x", "f": {"@bytes": base64.b64encode(b"data").decode(), "filename": "n.bin"}}}
    first, second = build_request(found, arguments), build_request(found, arguments)
    assert first == second
    assert first.fingerprint == second.fingerprint
    assert len(first.fingerprint) == 64
    found = query(a={}, b={})
    prints = {build_request(found, {"query": values}).fingerprint for values in ({}, {"a": 1}, {"b": 1}, {"a": 2})}
    assert len(prints) == 4


def test_settled_arguments_give_the_same_request_again(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_bytes(b"\x00\xff")
    found, files = body({"type": "object"}, "multipart/form-data"), FilePolicy(roots=(tmp_path,))
    for file in ({"@file": "note.txt"}, {"@file": "note.txt", "filename": "n", "content_type": "image/png"}):
        made = settle(found, {"body": {"é\f": ["\0", 2**70], "file": file}}, files=files)
        (tmp_path / "note.txt").write_bytes(b"\x00\xff")
        again = settle(found, json.loads(json.dumps(made.arguments)))
        assert again == made


def test_arguments_are_left_as_they_are() -> None:
    arguments = {"query": {"n": "5", "l": "a"}}
    build_request(query(n={"type": "integer"}, l={"type": "array", "items": {"type": "string"}}), arguments)
    assert arguments == {"query": {"n": "5", "l": "a"}}


@pytest.mark.parametrize(
    ("schema", "value", "written"),
    [
        ({"type": "integer"}, "5", "5"),
        ({"type": "integer"}, 5.0, "5"),
        ({"type": "number"}, "1e3", "1000.0"),
        ({"type": "boolean"}, "true", "true"),
        ({"type": "string"}, 5, "5"),
        ({"type": "string"}, True, "true"),
        ({"type": "array", "items": {"type": "integer"}}, "5", "5"),
        ({"type": "array", "items": {"type": "integer"}}, ["5", 6], "5&v=6"),
        ({"type": "array", "items": {"type": "string"}}, '["a","b"]', "a&v=b"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, "a,b", "a&v=b"),
        ({"type": "string"}, "05", "05"),
        ({"type": ["string", "integer"]}, "5", "5"),
        ({"enum": [1, 2]}, "2", "2"),
        ({"anyOf": [{"type": "string", "enum": ["auto"]}, {"type": "integer"}]}, "123", "123"),
    ],
)
def test_coercions_lose_nothing(schema: Any, value: Any, written: str) -> None:
    assert build_request(query(v=schema), {"query": {"v": value}}).url == f"{BASE}/x?v={written}"


@pytest.mark.parametrize(
    ("schema", "given", "sent"),
    [
        ({"additionalProperties": {"type": "string"}}, {"severity": 5}, {"severity": "5"}),
        ({"allOf": [{"additionalProperties": {"type": "integer"}}]}, {"n": "5"}, {"n": 5}),
        ({"patternProperties": {"^x-": {"type": "boolean"}}}, {"x-a": "true", "b": "true"}, {"x-a": True, "b": "true"}),
        ({"properties": {"a": {}}, "additionalProperties": {"type": "string"}}, {"a": 1, "b": 1}, {"a": 1, "b": "1"}),
        ({"properties": {"n": {"anyOf": [{"enum": ["auto"]}, {"type": "integer"}]}}}, {"n": "123"}, {"n": 123}),
        ({"properties": {"n": {"type": ["string", "integer"]}}}, {"n": "123"}, {"n": "123"}),
    ],
)
def test_values_of_undeclared_names_and_of_alternatives_are_converted(schema: Any, given: Any, sent: Any) -> None:
    assert settle(body({"type": "object", **schema}), {"body": given}).arguments["body"] == sent


ROWS = [{"a": 1, "b": "x, y"}, {"a": None, "c": [2]}]


@pytest.mark.parametrize(
    ("media", "schema", "value", "sent"),
    [
        ("application/x-ndjson", {"type": "string"}, [{"a": 1}, "b"], b'{"a":1}\n"b"\n'),
        ("application/jsonl", {"type": "object"}, [{"a": 1}, {"a": 2}], b'{"a":1}\n{"a":2}\n'),
        ("application/jsonl", {"type": "array", "items": {"type": "integer"}}, ["1", 2], b"1\n2\n"),
        ("application/jsonl", {"type": "string"}, '{"a":1}\n', b'{"a":1}\n'),
        ("application/json-seq", {}, [1, 2], b"\x1e1\n\x1e2\n"),
        ("text/csv", {"type": "array"}, ROWS, b'a,b,c\r\n1,"x, y",\r\n,,[2]\r\n'),
        ("text/csv", {"type": "string"}, [["a", 1], ["b", 2]], b"a,1\r\nb,2\r\n"),
        ("text/csv;header=present", {"type": "object"}, {"a": 1, "b": "x"}, b"a,b\r\n1,x\r\n"),
        ("text/tab-separated-values", {"type": "array"}, [{"a": 1, "b": "x, y"}], b"a\tb\r\n1\tx, y\r\n"),
        ("application/x-amz-json-1.1", {}, "text", b'"text"'),
        ("image/svg+xml", {"type": "string"}, "<svg/>", b"<svg/>"),
    ],
)
def test_a_body_is_written_as_its_media_type_says(media: str, schema: Any, value: Any, sent: bytes) -> None:
    assert build_request(body(schema, media), {"body": value}).body == sent


JOIN = "join several values into one text, as its description says"
FITS = {"anyOf": [{"enum": ["auto"]}, {"type": "integer"}]}
DEFAULT = {"name": "depth", "in": "query", "required": True, "schema": {"type": "integer", "default": ""}}
ANY, FORM = {"type": ["object", "array", "string"]}, "multipart/form-data"
EVIL, ENDED = "a/b\r\nX-Evil: 1", "a header holds no line breaks"
BYTES = ("application/msgpack", "application/x-protobuf", "application/senml+cbor", "application/x-thrift", "image/png")
BROKEN = [
    # What would lose something
    *((query(v={"type": "integer"}), {"query": {"v": v}}, "/query/v: must be") for v in ("05", "five", 1.5, True)),
    *((query(v={"type": "boolean"}), {"query": {"v": v}}, "/query/v: must be") for v in ("yes", 1)),
    (query(v={"type": "object"}), {"query": {"v": "{broken"}}, "/query/v: must be"),
    (query(v={"type": "string"}), {"query": {"v": {"a": 1}}}, "/query/v: must be"),
    *(
        (query(n={"type": "number"}), {"query": {"n": text}}, "/query/n: must be number")
        for text in ("9007199254740993.25", "0.10000000000000000001", "1e400")
    ),
    (body({"type": "object"}), {"body": '{"n": 1e400}'}, "/body: must be object"),
    # What no value of the document is, and what to give instead
    (query(v=FITS), {"query": {"v": "12x"}}, '/query/v: must be one of "auto" or integer, not the string "12x"'),
    (query(v={"type": "string"}), {"query": {"v": ["a", "b"]}}, f"/query/v: must be string, not array; {JOIN}"),
    (query(**{"a/b~c": {"type": "integer"}}), {"query": {"a/b~c": "x"}}, "/query/a~1b~0c:"),
    (operation(parameters=[DEFAULT]), {}, "/query/depth: is required"),
    (query(q={}), {"query": {1: 2}}, "/query/1: is unknown; known here: q"),
    (query(q={}), {"query": {None: 3}}, "/query/None: is unknown; known here: q"),
    *((query(q={}), {"@page": page}, "/@page: is no group") for page in ({"admin": "true"}, "x", None, [])),
    # What a media type cannot hold
    *((body(ANY, media), {"body": {"a": 1}}, f"/body: {media} takes bytes, as a file") for media in BYTES),
    *((body(ANY, "image/png"), {"body": value}, "/body: image/png takes bytes") for value in ([1], '{"a":1}')),
    *(
        (body({"type": "object"}, media), {"body": {"a": 1}}, f"/body: {media} takes text, or a file")
        for media in ("application/graphql", "text/html", "application/toml")
    ),
    (body({}, "text/csv"), {"body": [{"a": 1}, [2]]}, "/body: text/csv takes text, or rows that are all objects or"),
    # Files, and media types that would end their header
    *(
        (body({}, FORM), {"body": {"f": file}}, "/body/f:")
        for file in ({"@bytes": "%%%"}, {"@bytes": 5}, {"@file": "a", "@bytes": ""}, {"@file": "a", "mode": 1})
    ),
    (operation(), {"header": {"Accept": EVIL}}, f"/header/Accept: {ENDED}"),
    (
        body({}, "application/octet-stream"),
        {"body": {"@bytes": "AA==", "content_type": EVIL}},
        f"/header/Content-Type: {ENDED}",
    ),
    (body({}, "text/plain\r\nX-Evil: 1"), {"body": "text"}, f"/header/Content-Type: {ENDED}"),
]


@pytest.mark.parametrize(("found", "arguments", "problem"), BROKEN)
def test_what_cannot_be_sent_as_it_is_given_is_a_problem(found: Operation, arguments: Any, problem: str) -> None:
    [told] = problems(found, arguments)
    assert told.startswith(problem)


@pytest.mark.parametrize("media", BYTES)
def test_bytes_are_sent_where_bytes_are_wanted(media: str) -> None:
    assert build_request(body({}, media), {"body": {"@bytes": "AA=="}}).body == b"\0"


def test_a_part_of_a_form_is_written_as_its_type_says() -> None:
    schema = {"type": "object", "properties": {"rows": {"type": "object"}, "photo": {"type": "object"}}}
    encoding = {"rows": {"contentType": "text/csv"}, "photo": {"contentType": "image/png"}}
    content = {"multipart/form-data": {"schema": schema, "encoding": encoding}}
    found = operation(method="post", requestBody={"content": content})
    sent = build_request(found, {"body": {"rows": {"a": 1, "b": 2}}}).body
    assert b"Content-Type: text/csv\r\n\r\na,b\r\n1,2\r\n" in (sent or b"")
    assert "image/png takes bytes" in problems(found, {"body": {"photo": {"a": 1}}})[0]


NESTED = {"type": "array", "items": {"type": "array", "items": {"type": "string"}, "collectionFormat": "pipes"}}


def test_arrays_in_a_form_or_an_array_have_the_format_that_they_say() -> None:
    formed = {"name": "f", "in": "formData", **NESTED, "collectionFormat": "multi"}
    asked = {"name": "q", "in": "query", "collectionFormat": "csv", **NESTED}
    empty = {"name": "n", "in": "formData", "type": "integer", "allowEmptyValue": True}
    listed = {"name": "l", "in": "query", "type": "array", "items": {"type": "string"}, "allowEmptyValue": True}
    post = {"operationId": "x", "parameters": [formed, asked, empty, listed], "responses": {}}
    found = load_api({"swagger": "2.0", "host": "a.test", "paths": {"/x": {"post": post}}}).operation("x")
    values = [["a", "b"], ["c"]]
    request = build_request(found, {"query": {"q": values, "l": []}, "body": {"f": values, "n": ""}})
    assert request.url.endswith("/x?q=a%7Cb,c&l=")
    assert request.body == b"f=a%7Cb&f=c&n="
    found = body({}, "application/x-www-form-urlencoded", encoding={"a": {"contentType": "application/json"}})
    assert build_request(found, {"body": {"a": [1, 2]}}).body == b"a=%5B1%2C2%5D"


@pytest.mark.parametrize(
    ("schema", "sent"), [({"type": ["object", "null"]}, b"null"), ({"type": "object"}, None), ({}, None)]
)
def test_a_null_that_the_body_may_be_is_sent_and_shown(schema: Any, sent: bytes | None) -> None:
    found = operation(method="post", requestBody={"content": {"application/json": {"schema": schema}}})
    request = build_request(found, {"body": None})
    assert request.body == sent
    assert view(request, Redactor())["body"] == (sent and "null")
    assert build_request(found, {}).body is None


def test_parameters_of_media_types_are_sent() -> None:
    content = {"application/json;version=1": {"schema": {}}, "application/json;version=2": {"schema": {}}}
    found = operation(method="post", requestBody={"content": content}, responses={"200": {"content": content}})
    request = build_request(found, {"body": {}, "header": {"Content-Type": "application/json;version=2"}})
    assert request.headers["Content-Type"] == "application/json;version=2"
    assert request.headers["Accept"] == "application/json;version=1, application/json;version=2, */*;q=0.1"


def test_an_empty_value_is_sent_where_the_document_allows_it() -> None:
    parameter = {"name": "n", "in": "query", "schema": {"type": "integer"}}
    found = operation(parameters=[{**parameter, "allowEmptyValue": True}])
    assert build_request(found, {"query": {"n": ""}}).url == f"{BASE}/x?n="
    assert "must be integer" in problems(operation(parameters=[parameter]), {"query": {"n": ""}})[0]


@pytest.mark.parametrize("name", ["Content-Encoding", "keep-alive", "TE", "Accept-Encoding", "Proxy-Connection"])
def test_headers_of_the_message_and_the_connection_are_not_arguments(name: str) -> None:
    found = operation(parameters=[{"name": name, "in": "header", "required": True, "schema": {"type": "string"}}])
    assert name not in build_request(found, {"header": {name: "gzip"}}).headers


@pytest.mark.parametrize("place", ["query", "header", "cookie"])
def test_an_api_key_that_is_a_parameter_too_is_set_by_the_program(place: str) -> None:
    key = {"name": "k", "in": place, "required": True, "schema": {"type": "string"}}
    scheme = {"type": "apiKey", "in": place, "name": "K" if place == "header" else "k"}
    found = operation_of({"parameters": [key], "security": [{"s": []}]}, schemes={"s": scheme}, base_url=BASE)
    assert found.parameters == ()
    assert build_request(found, {}).url == f"{BASE}/x"
    assert problems(found, {place: {"k": "v"}}) == [f"/{place}/k: is set by the program; leave it out"]


def test_all_problems_are_named_at_once_with_an_example() -> None:
    found = query(page={"type": "integer"}, sort={"enum": ["asc"]})
    with pytest.raises(ArgumentError) as caught:
        build_request(found, {"query": {"page": "x", "sort": "up", "srot": 1}, "limit": 3})
    pointers = [problem.pointer for problem in caught.value.problems]
    assert pointers == ["/limit", "/query/srot", "/query/page", "/query/sort"]
    assert build_request(found, caught.value.example).url.startswith(BASE)


def test_messages_stay_short_whatever_the_value() -> None:
    found = body({"anyOf": [{"type": "integer"}, {"type": "object", "required": ["x"]}]})
    (problem,) = problems(found, {"body": ["y" * 10_000]})
    assert len(problem) < 300


def test_recursive_schemas_are_judged_to_their_depth() -> None:
    found = body({"$ref": "#/components/schemas/Node"})
    assert build_request(found, {"body": {"n": {"n": {}}}}).body == b'{"n":{"n":{}}}'
    assert problems(found, {"body": {"n": {"n": 5}}})[0].startswith("/body/n/n:")


@pytest.mark.parametrize("schema", [{"pattern": "(["}, {"type": "string", "minimum": "x"}, {"$ref": "#/nowhere"}])
def test_a_broken_schema_finds_nothing_wrong(schema: Any) -> None:
    assert build_request(query(v=schema), {"query": {"v": "x"}}).url == f"{BASE}/x?v=x"


@pytest.mark.parametrize("arguments", [None, [], "x", {"query": []}, {"query": "page=2"}])
def test_arguments_of_the_wrong_shape_are_named(arguments: Any) -> None:
    assert problems(query(page={}), arguments)


def test_a_document_without_a_host_says_so() -> None:
    with pytest.raises(SpecError, match="--base-url"):
        build_request(operation(base_url=None), {})


def test_shown_hides_secrets_and_describes_what_is_long_or_binary() -> None:
    found = body({"type": "object"}, "application/json")
    shown = build_request(found, {"body": {"password": "hush", "name": "n"}}).shown()
    assert shown["body"] == {"password": "[redacted]", "name": "n"}
    raw = body({"type": "string", "format": "binary"}, "application/octet-stream")
    shown = build_request(raw, {"body": {"@bytes": base64.b64encode(b"\0\xff").decode()}}).shown()
    assert (shown["body"]["bytes"], shown["body"]["media_type"]) == (2, "application/octet-stream")
    long = build_request(found, {"body": {"a": "x" * 50_000}}).shown()
    assert len(json.dumps(long)) < 1000


@pytest.mark.parametrize(
    ("value", "shown"), [("00123", '"00123"'), ("null", '"null"'), (None, "null"), (123, 123), ({"a": "1"}, {"a": "1"})]
)
def test_the_type_of_a_json_body_is_shown(value: Any, shown: Any) -> None:
    request = build_request(body({"type": ["string", "integer", "object", "null"]}), {"body": value})
    assert request.shown()["body"] == view(request, Redactor())["body"] == shown


def test_files_come_from_allowed_folders_only(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out.txt"
    inside.mkdir()
    (inside / "a.txt").write_text("hello")
    outside.write_text("secret")
    (inside / "link.txt").symlink_to(outside)
    found = body({"type": "object", "properties": {"f": {"type": "string", "format": "binary"}}}, "multipart/form-data")
    policy = FilePolicy((inside,), largest=10)

    def send(name: str) -> PreparedRequest:
        return build_request(found, {"body": {"f": {"@file": name}}}, files=policy)

    assert send("a.txt").body is not None
    assert b'filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nhello' in (send(str(inside / "a.txt")).body or b"")
    for name in ("../out.txt", str(outside), "link.txt", "none.txt", "", "a\0b", "."):
        with pytest.raises(ArgumentError) as caught:
            send(name)
        assert caught.value.problems[0].pointer == "/body/f"
    (inside / "big.txt").write_text("x" * 11)
    with pytest.raises(ArgumentError, match="larger"):
        send("big.txt")
    # Without a policy none is read.
    assert "allowed no folder" in problems(found, {"body": {"f": {"@file": str(inside / "a.txt")}}})[0]


@pytest.mark.slow
def test_every_example_of_the_published_documents_builds(data_folder: Path) -> None:
    count = 0
    for path in sorted((data_folder / "openapi").iterdir()) + sorted((data_folder / "restbench").glob("*_oas.json")):
        if path.suffix == ".csv":
            continue
        for found in load_api(path, base_url=BASE).operations:
            assert build_request(found, minimal_arguments(found)).url.startswith(BASE)
            count += 1
    assert count > 900


def test_settled_arguments_are_those_that_are_sent() -> None:
    parameters = [
        {"name": "ids", "in": "query", "schema": {"type": "array", "items": {"type": "integer"}}},
        {"name": "v", "in": "query", "required": True, "schema": {"type": "string", "default": "1"}},
        {"name": "X-To", "in": "header", "schema": {"type": "string"}},
    ]
    sent = {"content": {"application/json": {"schema": {"type": "object", "properties": {"a": {}}}}}}
    found = operation(method="post", parameters=parameters, requestBody=sent)
    given = {"query": {"ids": "7"}, "header": {"x-to": 5}, "body": '{"a": "b"}'}
    assert settle(found, given).arguments == {"query": {"ids": [7]}, "header": {"X-To": "5"}, "body": {"a": "b"}}
    with pytest.raises(ArgumentError):
        settle(found, {"query": {"ids": "seven"}})


HALF = "a\ud800"
TEXTS = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")
ANYWHERE = operation(
    "/x/{p}",
    method="post",
    parameters=[
        {"name": name, "in": place, "required": place == "path", "schema": {}}
        for name, place in (("p", "path"), ("q", "query"), ("h", "header"), ("c", "cookie"))
    ],
    requestBody={"content": {kind: {} for kind in TEXTS}},
)


@pytest.mark.parametrize(
    ("arguments", "pointer"),
    [
        ({"path": {"p": HALF}}, "/path/p"),
        ({"query": {"q": [{HALF: 1}]}}, "/query/q/0/a?"),
        ({"header": {"h": HALF}}, "/header/h"),
        ({"header": {"Accept": HALF}}, "/header/Accept"),
        ({"cookie": {"c": {"x": HALF}}}, "/cookie/c/x"),
        ({"cookie": {HALF: 1}}, "/cookie/a?"),
        ({"body": {"f": HALF}}, "/body/f"),
        ({"body": {HALF: "f"}}, "/body/a?"),
        ({"body": {"f": {"@bytes": "AA==", "filename": HALF}}}, "/body/f/filename"),
        ({"query": {"q": float("nan")}}, "/query/q"),
        ({"body": {"f": float("inf")}}, "/body/f"),
    ],
)
def test_what_nothing_can_be_written_of_is_named_wherever_it_stands(arguments: dict[str, Any], pointer: str) -> None:
    found = problems(ANYWHERE, {"path": {"p": "1"}, **arguments})
    assert [text.partition(": ")[0] for text in found] == [pointer]
    assert json.dumps(found, ensure_ascii=False).encode()


def test_a_variable_in_the_query_of_the_path_is_written_there_and_may_be_a_query_parameter() -> None:
    found = operation("/find?kind=all&q={q}", parameters=[])
    assert build_request(found, {"path": {"q": "a&b=c d"}}).url == f"{BASE}/find?kind=all&q=a%26b%3Dc%20d"
    parameter = {"name": "format", "in": "query", "schema": {"type": "string"}}
    found = operation("/d?a=1&format={format}", parameters=[parameter])
    assert build_request(found, {"query": {"format": "xml"}}).url == f"{BASE}/d?a=1&format=xml"
    assert build_request(found, {}).url == f"{BASE}/d?a=1"


@pytest.mark.parametrize("media", ["application/x-www-form-urlencoded", "multipart/form-data"])
def test_a_null_in_a_form_counts_as_not_given(media: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["b"]}
    found = body(schema, media)
    assert build_request(found, {"body": {"a": None, "b": "1"}}) == build_request(found, {"body": {"b": "1"}})
    assert problems(found, {"body": {"a": "1", "b": None}}) == ["/body/b: is required"]


def file_named(name: str, **more: str) -> dict[str, str]:
    return {"@bytes": base64.b64encode(b"data").decode(), "filename": name, **more}


BINARY = {"schema": {"type": "string", "format": "binary"}}


@pytest.mark.parametrize(
    ("declared", "given", "sent"),
    [
        ("application/octet-stream", file_named("photo.png"), "application/octet-stream"),
        ("application/octet-stream", file_named("photo.png", content_type="image/webp"), "image/webp"),
        ("application/zip", file_named("photo.png"), "application/zip"),
        ("image/*", file_named("photo.png"), "image/png"),
        ("image/jpeg, image/png", file_named("a.png"), "image/png"),
        ("image/jpeg, image/png", file_named("a.jpg"), "image/jpeg"),
        ("image/jpeg, image/png", file_named("a.gif"), "image/jpeg"),
    ],
)
def test_a_file_is_sent_with_the_declared_type(declared: str, given: dict[str, str], sent: str) -> None:
    found = operation(method="post", requestBody={"content": dict.fromkeys(declared.split(", "), BINARY)})
    assert build_request(found, {"body": given}).headers["Content-Type"] == sent


@pytest.mark.parametrize(
    ("encoding", "schema", "sent"),
    [
        ({"contentType": "application/octet-stream"}, {"format": "binary"}, b"application/octet-stream"),
        ({"contentType": "image/jpeg, image/png"}, {"format": "binary"}, b"image/png"),
        ({"contentType": "text/csv, text/plain"}, {"format": "binary"}, b"text/csv"),
        ({"contentType": "image/*"}, {"format": "binary"}, b"image/png"),
        ({}, {"contentMediaType": "application/octet-stream"}, b"application/octet-stream"),
        ({}, {"format": "binary"}, b"image/png"),
    ],
)
def test_a_part_is_sent_with_the_declared_type(encoding: dict[str, str], schema: dict[str, str], sent: bytes) -> None:
    fields = {"type": "object", "properties": {"f": {"type": "string", **schema}}}
    found = body(fields, "multipart/form-data", encoding={"f": encoding})
    request = build_request(found, {"body": {"f": file_named("photo.png")}})
    assert isinstance(request.body, bytes)
    assert b"Content-Type: " + sent + b"\r\n" in request.body


@pytest.mark.parametrize("place", ["query", "path"])
def test_a_url_that_servers_refuse_is_a_problem_of_the_arguments(place: str) -> None:
    taker = query(a={"type": "string"})
    if place == "path":
        named = {"name": "a", "in": "path", "required": True, "schema": {"type": "string"}}
        taker = operation("/x/{a}", parameters=[named])
    room = LONGEST_URL - len(build_request(taker, {place: {"a": "x"}}).url) + 1
    assert len(build_request(taker, {place: {"a": "x" * room}}).url) == LONGEST_URL
    with pytest.raises(ArgumentError, match="the URL has 8,001 characters of 8,000") as caught:
        build_request(taker, {place: {"a": "x" * (room + 1)}})
    assert [problem.pointer for problem in caught.value.problems] == [f"/{place}"]


OBJECT = {"type": "object"}


@pytest.mark.parametrize("place", ["query", "cookie"])
def test_an_object_gives_no_value_of_another_parameter_or_field(place: str) -> None:
    parameters = [{"name": "account", "in": place, "schema": {}}, {"name": "more", "in": place, "schema": OBJECT}]
    found = operation(parameters=parameters)
    [problem] = problems(found, {place: {"more": {"account": "7"}}})
    assert problem.startswith(f"/{place}/more/account: is another parameter")
    build_request(found, {place: {"more": {"color": "red"}, "account": "7"}})
    schema = {"type": "object", "properties": {"account": {"type": "string"}, "more": OBJECT}}
    found = body(schema, "application/x-www-form-urlencoded", encoding={"more": {"style": "form"}})
    [problem] = problems(found, {"body": {"more": {"account": "7"}}})
    assert problem.startswith("/body: more: account is another field")
    assert build_request(found, {"body": {"more": {"color": "red"}}}).body == b"color=red"


def nested(levels: int, kind: type) -> Any:
    """A value within this many lists or objects."""
    value: Any = 1
    for _ in range(levels):
        value = [value] if kind is list else {"n": value}
    return value


@pytest.mark.parametrize("kind", [list, dict])
@pytest.mark.parametrize("levels", [MOST_DEPTH + 1, 990, 100_000])
@pytest.mark.parametrize("media", ["application/json", "multipart/form-data", "application/xml", "*/*"])
def test_an_argument_that_is_nested_too_deeply_is_a_problem(media: str, levels: int, kind: type) -> None:
    value = nested(levels, kind)
    assert problems(body({}, media), {"body": value}) == ["/body: is nested more than 60 levels deep"]
    assert problems(query(q={}), {"query": {"q": value}}) == ["/query: is nested more than 60 levels deep"]
    assert problems(query(q={}), {"bogus": value}) == ["/bogus: is nested more than 60 levels deep"]


@pytest.mark.parametrize("text", ["[" * 500 + "]" * 500, "[" * 10_000 + "]" * 10_000])
def test_a_text_that_stands_for_a_deep_array_is_a_problem(text: str) -> None:
    array = {"type": "array", "items": {"type": "integer"}}
    assert problems(query(q=array), {"query": {"q": text}})
    assert problems(body(array), {"body": text})


@pytest.mark.parametrize("kind", [list, dict])
def test_an_argument_of_the_deepest_nesting_which_is_that_of_programs_is_sent(kind: type) -> None:
    assert MOST_DEPTH == DIGEST_DEPTH
    value = nested(MOST_DEPTH, kind)
    assert json.loads(build_request(body({}), {"body": value}).body or b"") == value


CARD = {"type": "object", "properties": {name: {"type": "string"} for name in ("card", "address", "zip")}}
TWO = {"minProperties": 2, "dependentRequired": {"zip": ["card"]}}


ZIP = {"card": {"properties": {"zip": {"const": 7}}, "required": ["zip"]}}


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"dependentRequired": {"card": ["address"], "address": ["zip"]}}, "/address: is required beside card"),
        ({"dependentSchemas": {"card": {"required": ["address"]}}}, "/address: is required"),
        (TWO, ": has 1 of at least 2 properties; it can also have address, zip"),
        ({"dependentSchemas": ZIP}, "/zip: is required"),
        ({"required": ["card"], "if": {"required": ["card"]}, "then": {"required": ["zip"]}}, "/zip: is required"),
    ],
)
def test_a_property_that_another_one_demands_is_named(more: Any, problem: str) -> None:
    place = {"name": "filter", "in": "query", "required": True, "style": "deepObject", "explode": True}
    asking = operation(parameters=[{**place, "schema": {**CARD, **more}}])
    for found, start, arguments in (
        (body({**CARD, **more}), "/body", {"body": {"card": "4111"}}),
        (asking, "/query/filter", {"query": {"filter": {"card": "4111"}}}),
    ):
        with pytest.raises(ArgumentError) as caught:
            build_request(found, arguments)
        assert [str(item) for item in caught.value.problems] == [f"{start}{problem}"]
        assert "at fault" not in str(caught.value)
        shown = caught.value.example or {}
        example = {"card": "string", "address": "string"} if more is TWO else None
        assert shown.get("body", shown.get("query", {}).get("filter")) == example


def test_a_broken_list_of_demanded_properties_and_a_read_only_one_demand_nothing() -> None:
    properties = {**CARD["properties"], "id": {"type": "string", "readOnly": True}}
    schema = {**CARD, "properties": properties, "dependentRequired": {"card": ["id", 3], "zip": "card"}}
    sent = build_request(body(schema), {"body": {"card": "4111", "zip": "1"}})
    assert json.loads(sent.body or b"") == {"card": "4111", "zip": "1"}


@pytest.mark.parametrize(
    ("parent", "required", "sent", "pointer", "told"),
    [
        ({"type": "string"}, [], {"parent": {"id": "7"}}, "/body/parent", "must be string, not object"),
        ({"type": "object"}, ["parent.id"], {"parent": {"id": "7"}}, "/body/parent.id", "is required"),
        (None, [], {"parent": {"id": "7"}}, "/body/parent", "is unknown; did you mean parent.id?"),
    ],
)
def test_a_flat_key_that_was_given_as_an_object_is_explained(
    parent: Any, required: list[str], sent: Any, pointer: str, told: str
) -> None:
    fields = {"parent.id": {"type": "string"}, **({} if parent is None else {"parent": parent})}
    found = body({"type": "object", "properties": fields, "required": required})
    hint = '"parent.id" is one flat key, written in one string, and not a field of "parent"'
    assert problems(found, {"body": sent}) == [f"{pointer}: {told}; {hint}"]
    build_request(found, {"body": {"parent.id": "7"}})


def test_a_flat_key_is_not_spoken_of_where_an_object_is_wanted_or_nothing_was_given_inside() -> None:
    fields = {"parent.id": {"type": "string"}, "parent": {"type": "object"}, "size": {"type": "integer"}}
    found = body({"type": "object", "properties": fields, "required": ["parent.id"]})
    assert problems(found, {"body": {"parent.id": "7", "parent": {"id": "8"}, "size": "x"}}) == [
        '/body/size: must be integer, not the string "x"'
    ]
    assert problems(found, {"body": {"size": 1}}) == ["/body/parent.id: is required"]


def animal(**properties: Any) -> dict[str, Any]:
    """The closed schema of an animal that needs its kind and these properties."""
    fields = {"kind": {"type": "string"}, **properties}
    return {"type": "object", "additionalProperties": False, "required": [*fields], "properties": fields}


CAT = animal(lives={"type": "integer", "minimum": 1})
DOG = animal(bark={"enum": ["loud", "soft"]})
BY_HINT: dict[str, Any] = {
    "oneOf": [{"$ref": "#/components/schemas/Dog"}, {"$ref": "#/components/schemas/Cat"}],
    "discriminator": {"propertyName": "kind", "mapping": {"cat": "#/components/schemas/Cat", "dog": "Dog"}},
}
BY_VALUE: dict[str, Any] = {
    "oneOf": [
        {**DOG, "properties": {**DOG["properties"], "kind": {"const": "dog"}}},
        {**CAT, "properties": {**CAT["properties"], "kind": {"const": "cat"}}},
    ]
}
BY_NAMES: dict[str, Any] = {"anyOf": [DOG, CAT]}


def told(schema: dict[str, Any], body: Any) -> list[str]:
    content = {"required": True, "content": {"application/json": {"schema": schema}}}
    schemas = {"Cat": CAT, "Dog": DOG}
    operation = operation_of({"requestBody": content}, "post", base_url="http://[::1]", schemas=schemas)
    with pytest.raises(ArgumentError) as refused:
        settle(operation, {"body": body})
    return [str(problem) for problem in refused.value.problems]


@pytest.mark.parametrize("schema", [BY_HINT, BY_VALUE], ids=["discriminator", "const"])
@pytest.mark.parametrize(
    ("body", "problems"),
    [
        ({"kind": "cat"}, ["/body/lives: is required"]),
        ({"kind": "dog"}, ["/body/bark: is required"]),
        ({"kind": "cat", "lives": 0}, ["/body/lives: 0 is less than the minimum of 1"]),
        ({"kind": "cat", "lives": 9, "bark": "loud"}, ["/body/bark: is unknown; known here: kind, lives"]),
        ({"kind": "dog", "bark": "LOUD"}, ['/body/bark: must be one of "loud", "soft", not "LOUD"']),
        (7, ["/body: must be object, not the integer 7"]),
    ],
)
def test_a_mistake_in_an_alternative_is_told_for_that_alternative(
    schema: dict[str, Any], body: Any, problems: list[str]
) -> None:
    assert told(schema, body) == problems


def test_an_alternative_that_the_document_does_not_name_is_told_with_those_that_it_does() -> None:
    assert told(BY_HINT, {"kind": "cow"}) == ['/body/kind: must be one of "dog", "cat"']
    assert told(BY_HINT, {}) == ['/body/kind: is required: "dog", "cat"']


def test_a_field_that_an_alternative_demands_is_not_said_to_be_unknown() -> None:
    assert told(BY_NAMES, {"kind": "x", "lives": 0}) == ["/body/lives: 0 is less than the minimum of 1"]
    assert told(BY_NAMES, {"kind": "x"}) == ['/body: {"kind": "x"} fits none, or several, of the alternatives']


class Schemas(Handler):
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.answer(b"", 404)


@pytest.fixture
def address() -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []
    with served(type("Asked", (Schemas,), {"asked": asked})) as url:
        yield f"{url}/schema.json", asked


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
def test_a_reference_that_leaves_the_schema_is_not_fetched(address: tuple[str, list[str]], keyword: str) -> None:
    url, asked = address
    assert validate({"name": 3}, {"properties": {"name": {keyword: url}}}, "") == []
    assert asked == []


@pytest.mark.parametrize("kind", ["allOf", "anyOf", "oneOf"])
def test_chained_references_are_followed_once_each(kind: str) -> None:
    chain = {f"S{n}": {kind: [{"$ref": f"#/$defs/S{n + 1}"}] * 50} for n in range(30)}
    root = {"$defs": {**chain, "S30": {"type": "string"}, "S4": {**chain["S4"], "properties": {"x": {}}}}}
    start = {"$ref": "#/$defs/S0"}
    # Each of them, taken 50 times at each of 8 levels, would take years.
    assert types_of(start, root) in (None, {"object"})
    assert properties_of(start, root) == {"x": {}}
    assert is_open(start, root) is False
    assert coerce({"y": "1"}, start, root) == {"y": "1"}


def test_a_schema_that_holds_itself_allows_what_it_says() -> None:
    root = {"$defs": {"T": {"anyOf": [{"$ref": "#/$defs/T"}, {"type": "string"}]}}}
    assert types_of({"$ref": "#/$defs/T"}, root) is None
