"""Guards that any spelling of a document is read: encodings, YAML 1.2, files, addresses; and nothing secret is said."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loopback import Handler, served
from wire.raw import DRIPPED, drip, raw_server

from restgpt.specs import SpecError, load_api
from restgpt.specs.reading.download import _is_same_host, fetch_url
from restgpt.specs.reading.json_text import decode_yaml, json_bytes
from restgpt.tools.request.prepared_request import build_request

MINIMAL = {"openapi": "3.0.0", "info": {"title": "Small", "version": "1"}, "paths": {"/a": {"get": {"responses": {}}}}}


def test_a_mapping_a_text_bytes_and_a_path_give_the_same_operations(tmp_path: Path) -> None:
    text = json.dumps(MINIMAL)
    path = tmp_path / "api.json"
    path.write_text(text)
    for source in (MINIMAL, text, text.encode(), path, str(path), path.as_uri()):
        api = load_api(source)
        assert [(item.method, item.path) for item in api.operations] == [("GET", "/a")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_every_unicode_encoding_is_read(encoding: str) -> None:
    document = {**MINIMAL, "info": {"title": "Größe 東京", "version": "1"}}
    assert load_api(json.dumps(document, ensure_ascii=False).encode(encoding)).title == "Größe 東京"


@pytest.mark.parametrize("before", ["", "big: 123456789012345678901234567890\n"], ids=["quick", "slow"])
def test_yaml_scalars_are_those_of_version_1_2_for_either_reader(before: str) -> None:
    text = "date: 2020-09-14\ntime: 18:00\nno: no\nyes: yes\non: off\nnumber: 1.5\nnothing: ~\n200: x\n"
    read = json.loads(json_bytes((before + text).encode()))
    texts = {"date": "2020-09-14", "time": "18:00", "no": "no", "yes": "yes", "on": "off", "200": "x"}
    assert read == {**texts, "number": 1.5, "nothing": None, **({"big": int(before[5:])} if before else {})}


def test_yaml_merge_keys_are_merged() -> None:
    text = "x: &x {get: {a: 1}}\n/a:\n  <<: *x\n  post: no\n/b: {<<: [*x, {put: 2}]}\n"
    found = decode_yaml(text.encode(), [])
    assert found["/a"] == {"get": {"a": 1}, "post": "no"}
    assert found["/b"] == {"get": {"a": 1}, "put": 2}


def test_a_doubled_yaml_key_keeps_its_last_value_and_is_named() -> None:
    repeated: list[str] = []
    assert decode_yaml(b"a: 1\na: 2\nb: {c: 1, c: 1}\n", repeated) == {"a": 2, "b": {"c": 1}}
    assert repeated == ["a (line 2)", "c (line 3)"]


PATHS = [
    "/a: {get: {operationId: one, responses: {}}}\n  /a: {post: {operationId: two, responses: {}}}\n",
    "/a:\n    get: {operationId: one, responses: {}}\n    get: {operationId: two, responses: {}}\n",
]


@pytest.mark.parametrize("paths", PATHS)
def test_an_operation_that_a_repeated_key_drops_is_a_problem(paths: str) -> None:
    api = load_api("openapi: 3.0.3\ninfo: {title: t}\nservers: [{url: 'https://a.test'}]\npaths:\n  " + paths)
    assert len(api.operations) == 1
    assert str(api.problems[0]).startswith(("/: the key /a (line 6)", "/: the key get (line 7)"))


def test_a_repeated_path_of_a_json_document_is_a_problem() -> None:
    get, post = (json.dumps({method: {"responses": {}}}) for method in ("get", "post"))
    text = f'{{"openapi": "3.0.3", "paths": {{"/a": {get}, "/b": {get}, "/a": {post}}}}}'
    assert "the key /a stands twice" in str(load_api(text, base_url="https://a.test").problems)
    assert load_api(text.replace("/b", "/c").replace("/a", "/d", 1), base_url="https://a.test").problems == []


@pytest.mark.parametrize("filling", ["", " " * 300_000])
@pytest.mark.parametrize("name", ["/a", "get", "operationId"])
def test_a_key_that_stands_twice_in_json_is_a_problem(name: str, filling: str) -> None:
    get = f'"operationId": "one", "description": "{filling}"'
    parts = {
        "operationId": f'{get}, "operationId": "two"',
        "get": f'{get}}}, "get": {{',
        "/a": f'{get}}}}}, "/a": {{"x": {{',
    }
    text = f'{{"openapi": "3.0.3", "paths": {{"/a": {{"get": {{{parts[name]}}}}}}}}}'
    found = str(load_api(text, base_url="https://a.test").problems)
    assert (f"the key {name} stands twice" in found) == (name != "operationId" or not filling)


TEXTS = """
openapi: 3.1.0
info: {title: t, version: 1.10}
servers: [{url: 'https://a.test/v{v}', variables: {v: {default: 1.10, enum: [1.10, 2.0]}}}]
paths:
  /a:
    get:
      operationId: a
      parameters:
      - {name: p, in: query, schema: {type: string, default: 1.10, enum: [1.10, 1.2e1, .5, True, null]}}
      - {name: q, in: query, schema: {type: [string, "null"], const: 2.0}, examples: {x: {value: 1.50}}}
      - {name: r, in: query, example: [7.0], schema: {type: array, items: {type: string}}}
      - name: s
        in: query
        schema: {type: object, properties: {v: {type: string}, n: {type: number}}, examples: [{v: 1.0, n: 1.0}]}
      - {name: n, in: query, schema: {type: number, default: 1.10, enum: [1.10, 2.0]}}
"""


def test_yaml_scalars_of_text_type_stay_as_they_are_written() -> None:
    found = decode_yaml(TEXTS.encode(), [])
    p, q, r, s, n = found["paths"]["/a"]["get"]["parameters"]
    assert found["info"]["version"] == "1.10"
    assert found["servers"][0]["variables"]["v"] == {"default": "1.10", "enum": ["1.10", "2.0"]}
    assert p["schema"] == {"type": "string", "default": "1.10", "enum": ["1.10", "1.2e1", ".5", "True", None]}
    assert (q["schema"]["const"], q["examples"]["x"]["value"], r["example"]) == ("2.0", "1.50", ["7.0"])
    assert s["schema"]["examples"] == [{"v": "1.0", "n": 1.0}]
    assert n["schema"] == {"type": "number", "default": 1.1, "enum": [1.1, 2.0]}
    request = build_request(next(iter(load_api(TEXTS).operations)), {"query": {"p": "1.10"}})
    assert request.url == "https://a.test/v1.10/a?p=1.10"


def test_merge_keys_that_repeat_too_much_are_refused() -> None:
    names = ", ".join(f"k{number}: 1" for number in range(1000))
    merges = "".join(f"b{number}: {{<<: *a}}\n" for number in range(1000))
    with pytest.raises(SpecError, match="the merge keys expand to too many pairs"):
        decode_yaml(f"a: &a {{{names}}}\n{merges}".encode(), [])


def test_large_documents_of_odd_yaml_are_read_in_seconds() -> None:
    path = """
  /things/{n}:
    get:
      operationId: get{n}
      parameters: [*id]
      responses: {'200': {<<: *ok, x: -9223372036854776000}}
"""
    head = "openapi: 3.0.3\ninfo: {title: t}\nx: [&id {name: i, in: query}, &ok {description: fine}]\npaths:\n"
    text = head + "".join(path.replace("{n}", str(number)) for number in range(20_000))
    began = time.process_time()
    found = decode_yaml(text.encode(), [])
    assert time.process_time() - began < 10
    last = found["paths"]["/things/19999"]["get"]
    assert last["responses"]["200"] == {"description": "fine", "x": -9223372036854776000}
    assert last["parameters"] == [{"name": "i", "in": "query"}]


MARKED = '{"openapi": "3.0.0", /* a */ "info": {"title": "http://t // no", "version": "1"}, // b\n "paths": {}}'
HASHED = (
    '{\n  # a comment\n  "openapi": "3.0.0",\n  "info": {"title": "http://t // no", "version": "1"},\n  "paths": {},\n}'
)


@pytest.mark.parametrize("text", [MARKED, f"// generated\n{MARKED}", f"/* by\n hand */ {MARKED}", HASHED])
def test_json_with_comments_of_javascript_or_yaml_is_read(text: str) -> None:
    assert load_api(text).title == "http://t // no"


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("<!DOCTYPE html><html></html>\n", "web page"),
        ("<?xml version='1.0'?>\n<wsdl/>", "XML"),
        ("#%RAML 1.0\ntitle: x", "RAML"),
        ('{"asyncapi": "2.0.0", "info": {}}', "AsyncAPI"),
        ('{"info": {"name": "x"}, "item": []}', "Postman"),
        ('{"data": {"__schema": {}}}', "GraphQL"),
        ('{"swaggerVersion": "1.2", "swagger": "1.2"}', "Swagger 1.2"),
        ('{"openapi": "4.0.0", "paths": {}}', "version 4.0.0"),
        ('{"name": "package", "version": "1.0.0"}', "no OpenAPI document"),
        ("[1, 2]\n", "not an object"),
        ("just words\nand more", "not an object"),
        ('{"openapi": "3.0.0", "paths": {\n', "JSON"),
        ("a: [1\nb: 2", "YAML"),
        ('{"openapi": "3.1.0",\n "info": {"title": "x",},\n', "line 2 column"),
        ("openapi: 3.1.0\ninfo:\n  title: x\n paths: {\n", "in line 4, column 2"),
        ("openapi: 3.1.0\ninfo:\n\ttitle: x\n", "in line 3, column 1"),
        (b"", "empty"),
        ("http://127.0.0.1:0/openapi.json", "check the address"),
        ("http://[x/openapi.json", "its URL cannot be read"),
        ("~nobody-has-this-name/api.json", "cannot read"),
        ("a\0b", "cannot read"),
        (Path("absent.yaml"), r"absent\.yaml"),
    ],
)
def test_what_is_no_openapi_document_is_named_with_the_line_or_a_remedy(source: Any, named: str) -> None:
    with pytest.raises(SpecError, match=named):
        load_api(source)


@pytest.mark.parametrize("source", [None, 5, ["openapi.yaml"]])
@pytest.mark.parametrize("cached", [True, False])
def test_what_cannot_be_a_document_is_named_by_its_kind(source: object, cached: bool, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=f"not {type(source).__name__}$"):
        load_api(source, cache=tmp_path if cached else None)  # type: ignore[arg-type]


class Pages(Handler):
    """Serves one document, and redirects: `/to/ADDRESS` leads to that address; `/@` shows who asked."""

    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        if self.path.startswith("/to/"):
            return self.answer(b"", 302, Location=self.path.removeprefix("/to/"))
        if self.path.startswith("/@"):
            return self.answer({**MINIMAL, "info": {"title": str(self.headers["Authorization"]), "version": "1"}})
        if self.path.startswith("/docs/api.json"):
            return self.answer({**MINIMAL, "servers": [{"url": "../v2"}]})
        return self.answer(b"no", 404)


@pytest.fixture
def site() -> Iterator[str]:
    with served(Pages) as url:
        yield url.removeprefix("http://")


PATIENCE_S = 60
WHOLE = b"HTTP/1.0 200 OK\r\n\r\n" + json.dumps(MINIMAL).encode()


@pytest.mark.parametrize("data", DRIPPED.values(), ids=DRIPPED)
def test_a_server_that_drips_its_document_is_given_up(data: bytes) -> None:
    closed = threading.Event()
    with raw_server(drip(data, closed=closed)) as url:
        with pytest.raises(SpecError, match=r"it took more than 0\.3 seconds"):
            fetch_url(f"{url}/openapi.json", seconds=0.3)
        assert closed.wait(PATIENCE_S)


def test_a_document_after_an_interim_answer_is_read() -> None:
    head = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"

    def answer(connection: socket.socket) -> None:
        connection.sendall(head + WHOLE)
        connection.shutdown(socket.SHUT_RDWR)

    with raw_server(answer) as url:
        assert load_api(url).title == "Small"


def test_a_document_that_never_ends_is_not_taken_for_whole() -> None:
    with raw_server(drip(b" " * 1000, first=WHOLE)) as url, pytest.raises(SpecError, match="it took more than"):
        fetch_url(url, seconds=0.3)


def test_the_time_of_a_download_counts_its_redirects() -> None:
    def answer(connection: socket.socket) -> None:
        drip(b"HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n", 0.01)(connection)

    with raw_server(answer) as url, pytest.raises(SpecError, match="it took more than"):
        fetch_url(url, seconds=0.7)


def test_a_proxy_that_drips_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with raw_server(drip(DRIPPED["headers"])) as url:
        monkeypatch.setenv("http_proxy", url)
        with pytest.raises(SpecError, match="it took more than"):
            fetch_url("http://documents.test/openapi.json", seconds=0.3)


def test_a_document_from_an_address_resolves_relative_servers_against_it(site: str) -> None:
    api = load_api(f"http://{site}/docs/api.json?token=geheim")
    assert api.operations[0].base_url == f"http://{site}/v2"
    assert "geheim" not in api.source


@pytest.mark.parametrize(
    ("parts", "path"),
    [({"openapi": "3.1.0"}, ""), ({"swagger": "2.0"}, ""), ({"swagger": "2.0", "basePath": "/v1"}, "/v1")],
)
def test_a_document_from_an_address_that_names_no_server_is_about_its_host(parts: Any, path: str) -> None:
    text = json.dumps({**parts, "info": {"title": "t"}, "paths": {"/a": {"get": {}}}}).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n".encode()
    with raw_server(lambda connection: connection.sendall(head + text)) as url:
        assert load_api(f"{url}/docs/api.json").operations[0].base_url == url + path


def test_a_redirect_on_the_same_host_is_followed_and_counts_as_the_address(site: str) -> None:
    api = load_api(f"http://{site}/to//docs/api.json")
    assert api.operations[0].base_url == f"http://{site}/v2"
    with pytest.raises(SpecError, match="redirects more than"):
        load_api(f"http://{site}/to/?")


@pytest.mark.parametrize("redirect", ["", "/to/"])
def test_user_and_password_of_an_address_are_sent_and_nothing_where_it_has_none(site: str, redirect: str) -> None:
    assert load_api(f"http://{site}{redirect}/@team/api.json").title == "None"
    assert load_api(f"http://ann:pass@{site}{redirect}/@team/api.json").title == "Basic YW5uOnBhc3M="


@pytest.mark.parametrize("target", ["http://localhost:1/docs/api.json", "file:///etc/passwd", "http://127.0.0.1:1/x"])
def test_a_redirect_to_another_host_is_not_followed(site: str, target: str) -> None:
    with pytest.raises(SpecError) as failed:
        load_api(f"http://{site}/to/{target}?token=geheim")
    assert f"it redirects to {target}, another host" in str(failed.value)
    assert "geheim" not in str(failed.value)


def test_a_redirect_to_what_cannot_be_read_is_named(site: str) -> None:
    with pytest.raises(SpecError, match="an address that cannot be read"):
        load_api(f"http://{site}/to/http://127.0.0.1:x/y")


def test_only_a_change_to_https_leaves_the_origin() -> None:
    assert _is_same_host("http://a.example/x", "https://A.example/y")
    assert _is_same_host("https://a.example/x", "https://a.example:443/y")
    for target in ("http://a.example/x", "https://a.example:8443/x", "https://b.example/x", "ftp://a.example/x"):
        assert not _is_same_host("https://a.example/x", target)


def test_no_secret_of_an_address_or_of_a_user_is_said(site: str) -> None:
    with pytest.raises(SpecError) as failed:
        load_api(f"http://user:geheim@{site}/absent.json?key=geheim#geheim")
    assert "404" in str(failed.value)
    api = load_api(MINIMAL, auth={"key": "geheim"})
    assert "geheim" not in f"{failed.value} {api!r} {api.operations[0]!r}"
    assert api.auth == {"key": "geheim"}
