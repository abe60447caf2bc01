"""The cases of the wire suite, a line each: what an OpenAPI document and arguments must become on the wire."""

# A table reads best with one case to a line, however long.
# ruff: noqa: E501
# fmt: off

import base64
import gzip
import json
import zlib
from collections.abc import Mapping
from typing import Any

from wire.case import Canned, Case, Got, Refused, Sent

STR, INT, NUM, BOOL = {"type": "string"}, {"type": "integer"}, {"type": "number"}, {"type": "boolean"}
LIST = {"type": "array", "items": STR}
MAP = {"type": "object", "properties": {"R": INT, "G": INT, "B": INT}}
COLORS = ["blue", "black", "brown"]
RGB = {"R": 100, "G": 200, "B": 150}
PNG = b"\x89PNG\r\n\x1a\n\x00\xff"
FILE = {"@bytes": base64.b64encode(PNG).decode(), "filename": "dot.png"}
JSON, FORM, MULTI = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"


def par(place: str, name: str, schema: Mapping[str, Any] = STR, **more: Any) -> dict[str, Any]:
    """One parameter; those in the path are required."""
    found = {"name": name, "in": place, "schema": schema, **more}
    return {**found, "required": True} if place == "path" else found


def path(name: str, want: str, value: Any, schema: Any = STR, **more: Any) -> Case:
    return Case("path", name, {"parameters": [par("path", "color", schema, **more)]}, {"path": {"color": value}},
                Sent(path=want), path="/things/{color}")


def query(name: str, want: str, value: Any, schema: Any = STR, **more: Any) -> Case:
    return Case("query", name, {"parameters": [par("query", "color", schema, **more)]}, {"query": {"color": value}},
                Sent(query=want))


def header(name: str, want: str | None, value: Any, schema: Any = STR, **more: Any) -> Case:
    return Case("header", name, {"parameters": [par("header", "X-Color", schema, **more)]},
                {"header": {"X-Color": value}}, Sent(headers={"X-Color": want}))


def cookie(name: str, want: str | None, value: Any, schema: Any = STR, **more: Any) -> Case:
    return Case("cookie", name, {"parameters": [par("cookie", "color", schema, **more)]},
                {"cookie": {"color": value}}, Sent(headers={"Cookie": want}))


def refused(name: str, reason: str, arguments: Any, *parameters: Any, **more: Any) -> Case:
    operation = {"parameters": list(parameters), **more.pop("operation", {})}
    return Case("refused", name, operation, arguments, Refused(reason), **more)


def content(media: str, schema: Any = None, **more: Any) -> dict[str, Any]:
    """An operation with a body."""
    return {"requestBody": {"required": True, "content": {media: {"schema": schema or {}, **more}}}}


def body(group: str, name: str, want: bytes | tuple[bytes, ...], value: Any, media: str, schema: Any = None,
         kind: Any = ..., **more: Any) -> Case:
    headers = {} if kind is ... else {"Content-Type": kind}
    sent = Sent(contains=want, headers=headers) if isinstance(want, tuple) else Sent(body=want, headers=headers)
    return Case(group, name, content(media, schema, **more), {"body": value}, sent, method="post")


def auth(name: str, scheme: Any, secret: str | None, expect: Any, **more: Any) -> Case:
    operation = {"security": more.pop("security", [{"Key": []}]), **more.pop("operation", {})}
    given = {"Key": secret} if secret is not None else {}
    return Case("auth", name, operation, {}, expect, schemes={"Key": scheme}, auth=given, **more)


def reply(name: str, value: Any, data: bytes, kind: str | None = JSON, status: int = 200, **more: Any) -> Case:
    headers = {"Content-Type": kind} if kind else {}
    headers |= more.pop("headers", {})
    return Case("reply", name, {}, {}, Got(value, status), [Canned(data, status, headers, **more)])


def fault(name: str, replies: list[Canned], expect: Any, method: str = "get") -> Case:
    operation = content(JSON) if method in ("post", "patch", "put") else {}
    return Case("fault", name, operation, {"body": {}} if operation else {}, expect, replies, method=method)


def pages(name: str, parameters: list[Any], replies: list[Any], want: Any, query: Any = None, count: int = 3) -> Case:
    canned = [item if isinstance(item, Canned) else Canned(json.dumps(item).encode()) for item in replies]
    return Case("pages", name, {"parameters": parameters}, {"query": query or {}}, Got(want, count=count), canned, pages=9)


F = {"style": "form", "explode": False}
DEEP = {"style": "deepObject", "explode": True}

PATHS = [
    path("string", "/things/blue", "blue"),
    path("integer", "/things/7", 7, INT),
    path("boolean as JSON spells it", "/things/true", True, BOOL),
    path("slash stays in its segment", "/things/a%2Fb", "a/b"),
    path("dots and slashes cannot climb", "/things/..%2F..%2Fadmin", "../../admin"),
    path("an escape is escaped again", "/things/%252e%252e%252f", "%2e%2e%2f"),
    path("question mark cannot start a query", "/things/a%3Fadmin%3D1", "a?admin=1"),
    path("hash cannot start a fragment", "/things/a%23b", "a#b"),
    path("semicolon and comma are escaped", "/things/a%3Bb%2Cc", "a;b,c"),
    path("letters beyond ASCII in UTF-8", "/things/caf%C3%A9", "café"),
    path("space", "/things/a%20b", "a b"),
    path("plus stays a plus", "/things/a%2Bb", "a+b"),
    path("simple array", "/things/blue,black,brown", COLORS, LIST),
    path("simple array with a comma inside", "/things/a%2Cb,c", ["a,b", "c"], LIST),
    path("simple object", "/things/R,100,G,200,B,150", RGB, MAP),
    path("simple object exploded", "/things/R=100,G=200,B=150", RGB, MAP, explode=True),
    *(Case("path", f"{template} with slashes that stay", {"parameters": [par("path", name)]}, {"path": {"name": value}},
           Sent(path=want), path=template, method="delete")
      for template, name, value, want in [
          ("/v1/{name=projects/*/keys/*}", "name", "projects/p/keys/k 1?", "/v1/projects/p/keys/k%201%3F"),
          ("/v1/{name=folders/**}:undo", "name", "folders/a/b", "/v1/folders/a/b:undo"),
          ("/v1/{+name}", "name", "a/b", "/v1/a/b"),
          ("/files/{name+}", "name", "a/b.txt", "/files/a/b.txt"),
          ("/v2/files/{name+}", "name+", "a/b.txt", "/v2/files/a/b.txt"),
          ("/files/{*name}", "name", "a/b", "/files/a/b"),
          ("/files/{name:path}", "name", "a/b", "/files/a/b"),
          ("/files/{name:[a-z]{1,3}}", "name", "a/b", "/files/a%2Fb"),
          ("/files/{name:[0-9]+/x}", "name", "7", "/files/7"),
      ]),
    Case("path", "a variable with a slash in its name, which nothing declares", {}, {"path": {"a/b": "c/d"}},
         Sent(path="/x/c%2Fd"), path="/x/{a/b}"),
    path("label string", "/things/.blue", "blue", style="label"),
    path("label array", "/things/.blue,black,brown", COLORS, LIST, style="label"),
    path("label array exploded", "/things/.blue.black.brown", COLORS, LIST, style="label", explode=True),
    path("label object", "/things/.R,100,G,200,B,150", RGB, MAP, style="label"),
    path("label object exploded", "/things/.R=100.G=200.B=150", RGB, MAP, style="label", explode=True),
    path("matrix string", "/things/;color=blue", "blue", style="matrix"),
    path("matrix array", "/things/;color=blue,black,brown", COLORS, LIST, style="matrix"),
    path("matrix array exploded", "/things/;color=blue;color=black;color=brown", COLORS, LIST, style="matrix", explode=True),
    path("matrix object", "/things/;color=R,100,G,200,B,150", RGB, MAP, style="matrix"),
    path("matrix object exploded, empty value", "/things/;R;G=1", {"R": "", "G": 1}, {"type": "object"}, style="matrix", explode=True),
    path("matrix object exploded", "/things/;R=100;G=200;B=150", RGB, MAP, style="matrix", explode=True),
]

QUERIES = [
    query("string", "color=blue", "blue"),
    query("empty string", "color=", ""),
    query("ampersand and equals stay inside", "color=a%26b%3Dc", "a&b=c"),
    query("letters beyond ASCII in UTF-8", "color=%E2%82%AC", "€"),
    query("plus stays a plus", "color=1%2B1", "1+1"),
    query("integer", "color=3", 3, INT),
    query("number", "color=1.5", 1.5, NUM),
    query("big integer is exact", "color=12345678901234567890123", 12345678901234567890123, INT),
    query("boolean true", "color=true", True, BOOL),
    query("boolean false", "color=false", False, BOOL),
    query("null is left out", "", None, {"type": "string"}),
    query("array exploded by default", "color=blue&color=black&color=brown", COLORS, LIST),
    query("array not exploded", "color=blue,black,brown", COLORS, LIST, **F),
    query("array not exploded, comma inside", "color=a%2Cb,c", ["a,b", "c"], LIST, **F),
    query("array of one", "color=blue", ["blue"], LIST),
    query("array of booleans", "color=true&color=false", [True, False], {"type": "array", "items": BOOL}),
    query("empty array is left out", "", [], LIST),
    query("space delimited", "color=blue%20black%20brown", COLORS, LIST, style="spaceDelimited", explode=False),
    query("pipe delimited", "color=blue%7Cblack%7Cbrown", COLORS, LIST, style="pipeDelimited", explode=False),
    query("space delimited object", "color=R%20100%20G%20200%20B%20150", RGB, MAP, style="spaceDelimited", explode=False),
    query("pipe delimited object", "color=R%7C100%7CG%7C200%7CB%7C150", RGB, MAP, style="pipeDelimited", explode=False),
    query("object exploded", "R=100&G=200&B=150", RGB, MAP),
    query("object not exploded", "color=R,100,G,200,B,150", RGB, MAP, **F),
    query("deep object", "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150", RGB, MAP, **DEEP),
    query("deep object, nested", "color%5Ba%5D%5Bb%5D=1", {"a": {"b": 1}}, {"type": "object"}, **DEEP),
    query("deep object, array inside", "color%5Ba%5D%5B%5D=1&color%5Ba%5D%5B%5D=2", {"a": [1, 2]}, {"type": "object"}, **DEEP),
    query("deep object, objects in an array", "color%5Ba%5D%5B0%5D%5Bb%5D=1", {"a": [{"b": 1}]}, {"type": "object"}, **DEEP),
    query("deep array", "color%5B%5D=a&color%5B%5D=b", ["a", "b"], LIST, **DEEP),
    query("reserved characters stay if allowed", "color=/a:b?c@d", "/a:b?c@d", allowReserved=True),
    query("allowReserved cannot smuggle a parameter", "color=a%26admin%3D1%23", "a&admin=1#", allowReserved=True),
    Case("query", "name is escaped", {"parameters": [par("query", "a&b[]")]}, {"query": {"a&b[]": "1"}}, Sent(query="a%26b%5B%5D=1")),
    Case("query", "content parameter as JSON", {"parameters": [{"name": "filter", "in": "query", "content": {JSON: {"schema": MAP}}}]},
         {"query": {"filter": {"R": 1}}}, Sent(query="filter=%7B%22R%22%3A1%7D")),
    Case("query", "content parameter as a form", {"parameters": [{"name": "filter", "in": "query", "content": {FORM: {"schema": MAP}}}]},
         {"query": {"filter": {"R": 1, "G": 2}}}, Sent(query="filter=R%3D1%26G%3D2")),
    Case("query", "a required default beside a reference (3.1)", {"parameters": [par("query", "a", {"$ref": "#/paths/~1things/get/parameters/1/schema", "default": 3}, required=True),
         par("query", "b", INT)]}, {}, Sent(query="a=3")),
    Case("query", "the whole query as a form (3.2)", {"parameters": [{"name": "q", "in": "querystring", "content": {FORM: {"schema": MAP}}}]},
         {"query": {"q": {"R": 1, "G": 2}}}, Sent(query="R=1&G=2"), version="3.2.0"),
    Case("query", "the whole query as JSON (3.2)", {"parameters": [{"name": "q", "in": "querystring", "content": {JSON: {"schema": MAP}}}]},
         {"query": {"q": {"R": 1}}}, Sent(query="%7B%22R%22%3A1%7D"), version="3.2.0"),
    Case("query", "only a required default is filled in", {"parameters": [par("query", "a", {**INT, "default": 3}, required=True),
         par("query", "b", {**INT, "default": 4})]}, {}, Sent(query="a=3")),
    Case("query", "text for an integer is read", {"parameters": [par("query", "n", INT)]}, {"query": {"n": "5"}}, Sent(query="n=5")),
    Case("query", "one value for an array", {"parameters": [par("query", "n", LIST)]}, {"query": {"n": "a"}}, Sent(query="n=a")),
    Case("query", "parameters keep the document's order", {"parameters": [par("query", "a"), par("query", "b")]},
         {"query": {"b": "2", "a": "1"}}, Sent(query="a=1&b=2")),
    Case("query", "same name in path, query and header", {"parameters": [par("path", "id"), par("query", "id"), par("header", "id")]},
         {"path": {"id": "p"}, "query": {"id": "q"}, "header": {"id": "h"}}, Sent(path="/things/p", query="id=q", headers={"id": "h"}), path="/things/{id}"),
    Case("query", "a query in the path template is kept", {"parameters": [par("query", "b")]}, {"query": {"b": "2"}}, Sent(query="action=list&b=2"), path="/things?action=list"),
]

HEADERS = [
    header("string", "blue", "blue"),
    header("integer", "12", 12, INT),
    header("boolean", "true", True, BOOL),
    header("array", "blue,black,brown", COLORS, LIST),
    header("object", "R,100,G,200,B,150", RGB, MAP),
    header("object exploded", "R=100,G=200,B=150", RGB, MAP, explode=True),
    header("values are not percent-encoded", "a b/c%", "a b/c%"),
    Case("header", "name in another case", {"parameters": [par("header", "X-Color")]}, {"header": {"x-color": "b"}}, Sent(headers={"X-Color": "b"})),
    Case("header", "content parameter as JSON", {"parameters": [{"name": "X-Color", "in": "header", "content": {JSON: {"schema": MAP}}}]},
         {"header": {"X-Color": {"R": 1}}}, Sent(headers={"X-Color": '{"R":1}'})),
    Case("header", "declared Content-Length is left to the program", {"parameters": [par("header", "Content-Length", INT, required=True)]}, {"header": {"Content-Length": 99}}, Sent(headers={"Content-Length": None})),
    Case("header", "Accept names the documented type", {"responses": {"200": {"description": "", "content": {"application/hal+json": {}}}}}, {},
         Sent(headers={"Accept": "application/hal+json, */*;q=0.1"})),
    cookie("string", "color=blue", "blue"),
    cookie("integer", "color=5", 5, INT),
    cookie("array not exploded", "color=blue,black,brown", COLORS, LIST, **F),
    cookie("object exploded", "R=100; G=200; B=150", RGB, MAP),
    cookie("semicolon is escaped", "color=a%3B%20admin%3D1", "a; admin=1"),
    cookie("style cookie is not escaped (3.2)", "color=a/b=c", "a/b=c", style="cookie"),
    Case("cookie", "two cookies in one header", {"parameters": [par("cookie", "a"), par("cookie", "b")]}, {"cookie": {"a": "1", "b": "2"}}, Sent(headers={"Cookie": "a=1; b=2"})),
]

ENUM = {"type": "string", "enum": ["asc", "desc"]}
THING = {"type": "object", "required": ["name"], "properties": {"name": STR, "size": INT, "id": {**INT, "readOnly": True}}}
REFUSALS = [
    refused("a line break after the end of a pattern", "/query/q", {"query": {"q": "a\n"}}, par("query", "q", {**STR, "pattern": "^[a$]$"})),
    refused("a digit that is none in ASCII", "/query/q", {"query": {"q": "\u0663"}}, par("query", "q", {**STR, "pattern": r"^[\d]|\d|\w$"})),
    refused("missing required query", "/query/q", {}, par("query", "q", required=True)),
    refused("missing path value", "/path/id", {}, par("path", "id"), path="/things/{id}"),
    refused("missing path value that nothing declares", "/path/id", {}, path="/things/{id}"),
    refused("missing value of a Google template", "/path/name", {}, par("path", "name"), path="/v1/{name=projects/*/keys/*}"),
    refused("a value that is not of a Google template", "projects/*/keys/*", {"path": {"name": "projects/p"}}, par("path", "name"), path="/v1/{name=projects/*/keys/*}"),
    refused("an empty part of a Google template", "projects/*/keys/*", {"path": {"name": "projects//keys/k"}}, par("path", "name"), path="/v1/{name=projects/*/keys/*}"),
    refused("two dots in a greedy variable", "/path", {"path": {"name": "a/../b"}}, par("path", "name"), path="/v1/{+name}"),
    refused("missing value of a variable with a slash in its pattern", "/path/id", {}, path="/things/{id:[0-9]+/x}"),
    refused("missing value of an undeclared variable with a slash", "/path/a~1b", {}, path="/things/{a/b}"),
    refused("a null as a path value", "/path/id", {"path": {"id": None}}, par("path", "id", {"type": ["string", "null"]}), path="/things/{id}"),
    refused("a brace that belongs to no variable", "brace", {}, path="/things/{}"),
    refused("a form of a URI template that is no path", "/path/?q", {}, path="/things{?q}"),
    refused("text for an integer", "/query/n", {"query": {"n": "many"}}, par("query", "n", INT)),
    refused("a value outside the enum", "asc", {"query": {"sort": "up"}}, par("query", "sort", ENUM)),
    refused("past the maximum", "/query/n", {"query": {"n": 500}}, par("query", "n", {**INT, "maximum": 100})),
    refused("pattern not met", "/query/code", {"query": {"code": "x"}}, par("query", "code", {**STR, "pattern": "^[A-Z]{3}$"})),
    refused("wrong item in an array", "/query/n/1", {"query": {"n": [1, "x"]}}, par("query", "n", {"type": "array", "items": INT})),
    refused("unknown argument, with the nearest name", "did you mean page", {"query": {"pgae": 2}}, par("query", "page", INT)),
    refused("right name in the wrong group", "belongs in query", {"path": {"page": 2}}, par("query", "page", INT)),
    refused("unknown group", "belongs in query", {"page": 2}, par("query", "page", INT)),
    refused("two dots as a whole path value", "/path", {"path": {"id": ".."}}, par("path", "id"), path="/things/{id}/x"),
    refused("one dot as a whole path value", "/path", {"path": {"id": "."}}, par("path", "id"), path="/things/{id}"),
    refused("two values that make two dots", "/path", {"path": {"a": ".", "b": "."}}, par("path", "a"), par("path", "b"), path="/things/{a}{b}"),
    refused("an empty path value", "/path/id", {"path": {"id": ""}}, par("path", "id"), path="/things/{id}"),
    refused("line break in a header", "/header/X-A", {"header": {"X-A": "a\r\nX-Admin: 1"}}, par("header", "X-A")),
    refused("Authorization from arguments", "Authorization", {"header": {"Authorization": "x"}}),
    refused("semicolon in a raw cookie", "/cookie/a", {"cookie": {"a": "1; b=2"}}, par("cookie", "a", style="cookie")),
    refused("missing body", "/body", {}, operation=content(JSON, THING), method="post"),
    refused("missing property of the body", "/body/name", {"body": {"size": 1}}, operation=content(JSON, THING), method="post"),
    refused("wrong type deep in the body", "/body/a/0/b", {"body": {"a": [{"b": "x"}]}}, method="post",
            operation=content(JSON, {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object", "properties": {"b": INT}}}}})),
    refused("misspelt property of the body", "did you mean name", {"body": {"name": "x", "nmae": "y"}}, operation=content(JSON, THING), method="post"),
    refused("unknown form field", "/body/colour", {"body": {"colour": "x"}}, operation=content(FORM, {"type": "object", "properties": {"size": INT}}), method="post"),
    refused("a body where none goes", "/body", {"body": {"a": 1}}),
    refused("half a surrogate pair", "surrogate", {"query": {"q": "\ud800"}}, par("query", "q")),
    refused("a file outside the allowed folders", "/body/file", {"body": {"file": {"@file": "/etc/passwd"}}}, method="post",
            operation=content(MULTI, {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}})),
    refused("not a number in JSON", "JSON", {"body": float("nan")}, operation=content(JSON), method="post"),
]

PATCH, MERGE, STEP = "application/json-patch+json", "application/merge-patch+json", {"op": "remove", "path": "/a"}
PATCHES = {"requestBody": {"content": {PATCH: {"schema": {"type": "array", "items": {"type": "object"}}}, MERGE: {"schema": {"type": "object"}}}}}
KUBERNETES = {"requestBody": {"content": {kind: {"schema": {"type": "object"}} for kind in (PATCH, MERGE, "application/strategic-merge-patch+json", "application/apply-patch+yaml")}}}
JSONS = [
    body("json", "object", b'{"name":"x"}', {"name": "x"}, JSON, THING, JSON),
    body("json", "array", b"[1,2]", [1, 2], JSON, {"type": "array", "items": INT}),
    body("json", "string", b'"x"', "x", JSON, STR),
    body("json", "null", b"null", None, JSON, {"type": ["object", "null"]}),
    body("json", "false", b"false", False, JSON, BOOL),
    body("json", "null property is kept", b'{"a":null}', {"a": None}, JSON, {"type": "object", "properties": {"a": {"type": ["string", "null"]}}}),
    body("json", "big integer is exact", b'{"n":12345678901234567890123}', {"n": 12345678901234567890123}, JSON),
    body("json", "an integer that is written with an exponent goes out in digits", b'{"n":10000000000000000000000}', {"n": 1e22}, JSON, {"type": "object", "properties": {"n": INT}}),
    body("json", "letters beyond ASCII in UTF-8", '{"a":"é€"}'.encode(), {"a": "é€"}, JSON),
    body("json", "merge patch keeps its type", b'{"a":1}', {"a": 1}, "application/merge-patch+json", None, "application/merge-patch+json"),
    body("json", "vendor type keeps its type", b"{}", {}, "application/vnd.api+json", None, "application/vnd.api+json"),
    body("json", "any type is taken for JSON", b'{"a":1}', {"a": 1}, "*/*", None, JSON),
    body("json", "a file inside becomes Base64", (base64.b64encode(PNG),), {"data": FILE}, JSON, {"type": "object", "properties": {"data": {**STR, "format": "byte"}}}),
    Case("json", "JSON goes before XML", {"requestBody": {"content": {"application/xml": {}, JSON: {}}}}, {"body": {"a": 1}}, Sent(body=b'{"a":1}'), method="post"),
    Case("json", "an object is no JSON Patch", PATCHES, {"body": {"a": None}}, Sent(body=b'{"a":null}', headers={"Content-Type": MERGE}), method="patch"),
    Case("json", "a list of steps is no merge patch", PATCHES, {"body": [STEP]}, Sent(body=b'[{"op":"remove","path":"/a"}]', headers={"Content-Type": PATCH}), method="patch"),
    Case("json", "an object is no JSON Patch though one schema describes both", KUBERNETES, {"body": {"a": 1}}, Sent(body=b'{"a":1}', headers={"Content-Type": MERGE}), method="patch"),
    Case("json", "a JSON Patch though one schema describes both", KUBERNETES, {"body": [STEP]}, Sent(body=b'[{"op":"remove","path":"/a"}]', headers={"Content-Type": PATCH}), method="patch"),
    Case("json", "of four types of ASP.NET plain JSON", {"requestBody": {"content": {PATCH: {}, "text/json": {}, "application/*+json": {}, JSON: {}}}}, {"body": {"a": 1}},
         Sent(body=b'{"a":1}', headers={"Content-Type": JSON}), method="post"),
    Case("json", "a range is no Content-Type", content("application/*+json"), {"body": {"a": 1}}, Sent(body=b'{"a":1}', headers={"Content-Type": JSON}), method="post"),
    Case("json", "Content-Type chooses within a range", content("application/*+json"), {"body": {"a": 1}, "header": {"Content-Type": "application/x+json"}},
         Sent(headers={"Content-Type": "application/x+json"}), method="post"),
    Case("json", "of two JSON types the one whose schema fits", {"requestBody": {"content": {"application/vnd.v1+json": {"schema": THING}, "application/vnd.v2+json": {"schema": MAP}}}},
         {"body": {"R": 1}}, Sent(headers={"Content-Type": "application/vnd.v2+json"}), method="post"),
    Case("json", "a read-only property that another member requires", content(JSON, {"allOf": [THING, {"required": ["id"]}]}), {"body": {"name": "x"}}, Sent(body=b'{"name":"x"}'), method="post"),
    Case("json", "Content-Type chooses the representation", {"requestBody": {"content": {JSON: {}, FORM: {}}}}, {"body": {"a": 1}, "header": {"Content-Type": FORM}},
         Sent(body=b"a=1", headers={"Content-Type": FORM}), method="post"),
    Case("json", "an optional body may be left out", {"requestBody": {"content": {JSON: {"schema": THING}}}}, {}, Sent(body=b"", headers={"Content-Type": None}), method="post"),
    Case("json", "DELETE with a body", content(JSON), {"body": {"ids": [1]}}, Sent(body=b'{"ids":[1]}', method="DELETE"), method="delete"),
    Case("json", "nullable schema of 3.0", content(JSON, {**THING, "nullable": True}), {"body": {"name": "x"}}, Sent(body=b'{"name":"x"}'), method="put", version="3.0.3"),
]

FORMS = [
    body("form", "fields", b"a=1&b=x+y", {"a": 1, "b": "x y"}, FORM, None, FORM),
    body("form", "escapes", b"a=%26%3D%2B%C3%A9", {"a": "&=+é"}, FORM),
    body("form", "boolean", b"a=true", {"a": True}, FORM),
    body("form", "null is left out", b"a=1", {"a": 1, "b": None}, FORM),
    body("form", "array repeats its name", b"a=1&a=2", {"a": [1, 2]}, FORM),
    body("form", "array not exploded by encoding", b"a=1,2", {"a": [1, 2]}, FORM, None, encoding={"a": {"style": "form", "explode": False}}),
    body("form", "object becomes JSON", b"a=%7B%22b%22%3A1%7D", {"a": {"b": 1}}, FORM),
    body("form", "object as deep object by encoding", b"a%5Bb%5D=1", {"a": {"b": 1}}, FORM, None, encoding={"a": DEEP}),
    body("form", "deep object, objects in an array", b"a%5B0%5D%5Bb%5D=1", {"a": [{"b": 1}]}, FORM, None, encoding={"a": DEEP}),
    body("form", "Stripe's expand", b"expand%5B%5D=x", {"expand": ["x"]}, FORM, None, encoding={"expand": DEEP}),
    body("multipart", "text field", (b'Content-Disposition: form-data; name="a"\r\n\r\nx\r\n',), {"a": "x"}, MULTI),
    body("multipart", "number and boolean", (b'name="n"\r\n\r\n1\r\n', b'name="b"\r\n\r\ntrue\r\n'), {"n": 1, "b": True}, MULTI),
    body("multipart", "file with name and type", (b'name="f"; filename="dot.png"\r\nContent-Type: image/png\r\n\r\n' + PNG + b"\r\n",), {"f": FILE}, MULTI),
    body("multipart", "file beside fields", (PNG, b'name="title"\r\n\r\nDot\r\n'), {"f": FILE, "title": "Dot"}, MULTI),
    body("multipart", "several files under one name", (b'name="f"; filename="a"', b'name="f"; filename="b"'), {"f": [{**FILE, "filename": "a"}, {**FILE, "filename": "b"}]}, MULTI),
    body("multipart", "object as a JSON part", (b'name="o"\r\nContent-Type: application/json\r\n\r\n{"a":1}\r\n',), {"o": {"a": 1}}, MULTI),
    body("multipart", "array not exploded by encoding", (b'name="a"\r\n\r\nx,y\r\n',), {"a": ["x", "y"]}, MULTI, None, encoding={"a": F}),
    body("multipart", "object as deep object by encoding", (b'name="o[a b]"\r\n\r\n1&2\r\n',), {"o": {"a b": "1&2"}}, MULTI, None, encoding={"o": DEEP}),
    body("multipart", "header of a part by encoding", (b"\r\nX-Kind: photo\r\n",), {"f": FILE}, MULTI, None, encoding={"f": {"headers": {"X-Kind": {"schema": {"enum": ["photo"]}}, "Content-Type": {"example": "x/y"}}}}),
    body("multipart", "content type by encoding", (b"Content-Type: image/webp\r\n",), {"f": {"@bytes": "AAAA", "filename": "x"}}, MULTI, None, encoding={"f": {"contentType": "image/webp"}}),
    body("multipart", "text for a binary field becomes a file", (b'name="f"; filename="f"\r\n',), {"f": "hello"}, MULTI, {"type": "object", "properties": {"f": {**STR, "format": "binary"}}}),
    body("multipart", "a file that is the whole body", (b'name="file"; filename="dot.png"', PNG), FILE, MULTI, {**STR, "format": "binary"}),
    body("multipart", "a file name cannot end its header", (b'filename="a%22%0D%0AX: 1"',), {"f": {**FILE, "filename": 'a"\r\nX: 1'}}, MULTI),
    body("raw", "text", b"hello", "hello", "text/plain", STR, "text/plain; charset=utf-8"),
    body("raw", "text beyond ASCII", "é".encode(), "é", "text/plain", STR),
    body("raw", "number as text", b"42", 42, "text/plain", INT),
    body("raw", "CSV", b"a,b\n1,2\n", "a,b\n1,2\n", "text/csv", STR),
    body("raw", "bytes", PNG, FILE, "application/octet-stream", {**STR, "format": "binary"}),
    body("raw", "bytes of an image type", PNG, FILE, "image/png", None, "image/png"),
    body("raw", "text as bytes", b"abc", "abc", "application/octet-stream", {**STR, "format": "binary"}),
    body("raw", "an object under a type without notation is JSON", b'{"a":1}', {"a": 1}, "application/jwt", {"type": "object"}, "application/jwt"),
    body("xml", "given as text", b"<a/>", "<a/>", "application/xml", {"type": "object"}, "application/xml"),
    body("xml", "elements by schema", (b"<pet><name>Rex</name></pet>",), {"name": "Rex"}, "application/xml", {"type": "object", "xml": {"name": "pet"}, "properties": {"name": STR}}),
    body("xml", "attribute", (b'<pet id="7"/>',), {"id": 7}, "application/xml", {"type": "object", "xml": {"name": "pet"}, "properties": {"id": {**INT, "xml": {"attribute": True}}}}),
    body("xml", "wrapped array", (b"<pet><tags><tag>a</tag><tag>b</tag></tags></pet>",), {"tags": ["a", "b"]}, "application/xml",
         {"type": "object", "xml": {"name": "pet"}, "properties": {"tags": {"type": "array", "xml": {"wrapped": True}, "items": {**STR, "xml": {"name": "tag"}}}}}),
    body("xml", "array without wrapper", (b"<pet><tags>a</tags><tags>b</tags></pet>",), {"tags": ["a", "b"]}, "application/xml", {"type": "object", "xml": {"name": "pet"}, "properties": {"tags": LIST}}),
    body("xml", "markup in a value is escaped", (b"<pet><name>&lt;a&gt;&amp;</name></pet>",), {"name": "<a>&"}, "application/xml", {"type": "object", "xml": {"name": "pet"}, "properties": {"name": STR}}),
]

BASIC = "Basic " + base64.b64encode(b"me:pass:word").decode()
OAUTH = {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://x.test/t", "scopes": {}}}}
AUTHS = [
    auth("API key in a header", {"type": "apiKey", "in": "header", "name": "X-Key"}, "s3cret", Sent(headers={"X-Key": "s3cret"})),
    auth("API key in the query", {"type": "apiKey", "in": "query", "name": "key"}, "s3 cret", Sent(query="key=s3%20cret")),
    auth("API key in a cookie", {"type": "apiKey", "in": "cookie", "name": "sid"}, "s3cret", Sent(headers={"Cookie": "sid=s3cret"})),
    auth("basic", {"type": "http", "scheme": "basic"}, "me:pass:word", Sent(headers={"Authorization": BASIC})),
    auth("bearer", {"type": "http", "scheme": "bearer"}, "s3cret", Sent(headers={"Authorization": "Bearer s3cret"})),
    auth("bearer in another case", {"type": "http", "scheme": "Bearer"}, "s3cret", Sent(headers={"Authorization": "Bearer s3cret"})),
    auth("bearer given with its prefix", {"type": "http", "scheme": "bearer"}, "Bearer s3cret", Sent(headers={"Authorization": "Bearer s3cret"})),
    auth("OAuth2 access token", OAUTH, "s3cret", Sent(headers={"Authorization": "Bearer s3cret"})),
    auth("OpenID Connect access token", {"type": "openIdConnect", "openIdConnectUrl": "https://x.test/"}, "s3cret", Sent(headers={"Authorization": "Bearer s3cret"})),
    auth("no security asked, none sent", {"type": "http", "scheme": "bearer"}, "s3cret", Sent(headers={"Authorization": None}), security=[]),
    auth("anonymous alternative", {"type": "http", "scheme": "bearer"}, None, Sent(headers={"Authorization": None}), security=[{"Key": []}, {}]),
    auth("a credential goes before anonymity", {"type": "http", "scheme": "bearer"}, "s3cret", Sent(headers={"Authorization": "Bearer s3cret"}), security=[{}, {"Key": []}]),
    auth("missing credential is named", {"type": "http", "scheme": "bearer"}, None, Refused("RESTGPT_AUTH_KEY")),
    auth("beside other query values", {"type": "apiKey", "in": "query", "name": "key"}, "s3cret", Sent(query="b=2&key=s3cret"), path="/things?b=2"),
    auth("in the reply it is hidden", {"type": "http", "scheme": "bearer"}, "s3cret", Got({"you": "[redacted]"}), replies=[Canned(b'{"you":"s3cret"}')]),
    Case("auth", "two schemes together", {"security": [{"A": [], "B": []}]}, {}, Sent(headers={"X-A": "one1", "X-B": "two2"}), auth={"A": "one1", "B": "two2"},
         schemes={"A": {"type": "apiKey", "in": "header", "name": "X-A"}, "B": {"type": "apiKey", "in": "header", "name": "X-B"}}),
    Case("auth", "the first alternative that is complete", {"security": [{"A": [], "B": []}, {"C": []}]}, {}, Sent(headers={"X-A": None, "X-C": "three"}), auth={"A": "one1", "C": "three"},
         schemes={name: {"type": "apiKey", "in": "header", "name": f"X-{name}"} for name in "ABC"}),
]

SERVERS = [
    Case("server", "path prefix", {}, {}, Sent(path="/v1/things"), servers=[{"url": "URL/v1"}]),
    Case("server", "trailing slash", {}, {}, Sent(path="/v1/things"), servers=[{"url": "URL/v1/"}]),
    Case("server", "variables take their defaults", {}, {}, Sent(path="/v2/things"), servers=[{"url": "URL/{version}", "variables": {"version": {"default": "v2"}}}]),
    Case("server", "the operation's own server", {"servers": [{"url": "/other"}]}, {}, Refused("--base-url"), servers=[{"url": "/x"}]),
    Case("server", "no host anywhere", {}, {}, Refused("--base-url"), servers=[{"url": "/api"}]),
    Case("server", "user name in the URL", {}, {}, Refused("user name"), servers=[{"url": "http://a@127.0.0.1:1/"}]),
    Case("server", "metadata address in the document", {}, {}, Refused("--base-url"), servers=[{"url": "http://169.254.169.254/"}]),
    Case("server", "metadata address as a number", {}, {}, Refused("--base-url"), servers=[{"url": "http://2852039166/"}]),
]

def swagger(name: str, parameters: list[Any], arguments: Any, expect: Any, method: str = "get", **more: Any) -> Case:
    return Case("swagger 2.0", name, {"parameters": parameters, **more}, arguments, expect, method=method, version="2.0")


def old(place: str, name: str, kind: str = "string", **more: Any) -> dict[str, Any]:
    """One parameter as Swagger 2.0 writes it."""
    return {"name": name, "in": place, "type": kind, **more}


TAGS = {"items": {"type": "string"}}
SWAGGERS = [
    swagger("host and base path", [], {}, Sent(path="/base/things")),
    swagger("array as csv by default", [old("query", "t", "array", **TAGS)], {"query": {"t": ["a", "b"]}}, Sent(query="t=a,b")),
    swagger("array as multi", [old("query", "t", "array", collectionFormat="multi", **TAGS)], {"query": {"t": ["a", "b"]}}, Sent(query="t=a&t=b")),
    swagger("array as ssv", [old("query", "t", "array", collectionFormat="ssv", **TAGS)], {"query": {"t": ["a", "b"]}}, Sent(query="t=a%20b")),
    swagger("array as tsv", [old("query", "t", "array", collectionFormat="tsv", **TAGS)], {"query": {"t": ["a", "b"]}}, Sent(query="t=a%09b")),
    swagger("array as pipes", [old("query", "t", "array", collectionFormat="pipes", **TAGS)], {"query": {"t": ["a", "b"]}}, Sent(query="t=a%7Cb")),
    Case("swagger 2.0", "array in the path as pipes", {"parameters": [old("path", "t", "array", required=True, collectionFormat="pipes", **TAGS)]},
         {"path": {"t": ["a", "b"]}}, Sent(path="/base/things/a%7Cb"), path="/things/{t}", version="2.0"),
    swagger("array in a header as ssv", [old("header", "X-T", "array", collectionFormat="ssv", **TAGS)], {"header": {"X-T": ["a", "b"]}}, Sent(headers={"X-T": "a b"})),
    swagger("array in a multipart form as csv", [old("formData", "t", "array", **TAGS)], {"body": {"t": ["a", "b"]}}, Sent(contains=(b'name="t"\r\n\r\na,b\r\n',)), "post", consumes=[MULTI]),
    swagger("body", [{"name": "thing", "in": "body", "schema": {"type": "object"}}], {"body": {"a": 1}}, Sent(body=b'{"a":1}', headers={"Content-Type": JSON}), "post"),
    swagger("form fields", [old("formData", "a"), old("formData", "b", "integer")], {"body": {"a": "x", "b": 2}}, Sent(body=b"a=x&b=2", headers={"Content-Type": FORM}), "post", consumes=[FORM]),
    swagger("file in a form", [old("formData", "f", "file")], {"body": {"f": FILE}}, Sent(contains=(b'filename="dot.png"', PNG)), "post", consumes=[MULTI]),
    swagger("header", [old("header", "X-A", "integer")], {"header": {"X-A": 3}}, Sent(headers={"X-A": "3"})),
    swagger("enum is judged", [old("query", "s", enum=["a"])], {"query": {"s": "b"}}, Refused("/query/s")),
]

OBJECT = {"a": [1, None, "é"]}
REPLIES = [
    reply("object", OBJECT, json.dumps(OBJECT).encode()),
    reply("array at the top", [1, 2], b"[1,2]"),
    reply("null", None, b"null"),
    reply("big integer is exact", {"n": 12345678901234567890123}, b'{"n":12345678901234567890123}'),
    reply("problem+json error", {"title": "no"}, b'{"title":"no"}', "application/problem+json", 404),
    reply("JSON Lines", [{"a": 1}, {"a": 2}], b'{"a":1}\n{"a":2}\n', "application/x-ndjson"),
    reply("JSON without a type", {"a": 1}, b'{"a":1}', None),
    reply("JSON announced as text", {"a": 1}, b'{"a":1}', "text/html"),
    reply("JSON with a byte order mark", {"a": 1}, b'\xef\xbb\xbf{"a":1}'),
    reply("JSON in UTF-16", {"a": "é"}, '{"a":"é"}'.encode("utf-16")),
    reply("HTML announced as JSON", "<html>", b"<html>"),
    reply("broken JSON", '{"a":', b'{"a":'),
    reply("text", "hello", b"hello", "text/plain"),
    reply("text in Latin-1", "é", b"\xe9", "text/plain; charset=iso-8859-1"),
    reply("text in no charset", "é", b"\xe9", "text/plain"),
    reply("CSV", "a,b\n1,2\n", b"a,b\n1,2\n", "text/csv"),
    reply("XML", "<a>é</a>", "<a>é</a>".encode(), "application/xml"),
    reply("XML in its own charset", '<?xml version="1.0" encoding="iso-8859-1"?><a>é</a>', '<?xml version="1.0" encoding="iso-8859-1"?><a>é</a>'.encode("latin-1"), "application/xml"),
    reply("image", PNG, PNG, "image/png"),
    reply("bytes without a type", PNG, PNG, None),
    reply("empty 204", None, b"", None, 204),
    reply("empty 200", None, b""),
    reply("chunked", OBJECT, json.dumps(OBJECT).encode(), chunked=True),
    reply("gzip", OBJECT, gzip.compress(json.dumps(OBJECT).encode()), headers={"Content-Encoding": "gzip"}),
    reply("deflate", OBJECT, zlib.compress(json.dumps(OBJECT).encode()), headers={"Content-Encoding": "deflate"}),
    reply("deflate without wrapper", OBJECT, zlib.compress(json.dumps(OBJECT).encode(), wbits=-15), headers={"Content-Encoding": "deflate"}),
    reply("anti-hijacking prefix", {"a": 1}, b")]}'\n" + b'{"a":1}'),
    Case("reply", "HEAD has no body", {}, {}, Got(None), [Canned(b'{"a":1}')], method="head"),
    Case("reply", "a body past the bound ends there", {}, {}, Got(reason="truncated"), [Canned(b"x" * 300_000, headers={"Content-Type": "text/plain"})]),
    Case("reply", "a compression bomb ends at the bound", {}, {}, Got(reason="truncated"),
         [Canned(gzip.compress(b"x" * 20_000_000), headers={"Content-Type": "text/plain", "Content-Encoding": "gzip"})]),
]

LATER = {"Retry-After": "2"}
OK = Canned(b"[1]")
FAULTS = [
    fault("429 with Retry-After", [Canned(status=429, headers=LATER), OK], Got([1], count=2)),
    fault("429 without Retry-After", [Canned(status=429), OK], Got([1], count=2)),
    fault("429 that asks for too long is handed on", [Canned(b"{}", 429, {"Retry-After": "3600"})], Got({}, 429, count=1)),
    fault("429 without end is handed on", [Canned(b"{}", 429, LATER)], Got({}, 429, count=4)),
    fault("503 with a date", [Canned(status=503, headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}), OK], Got([1], count=2)),
    fault("503 of a POST is handed on", [Canned(b"{}", 503, LATER)], Got({}, 503, count=1), "post"),
    fault("429 of a POST was not carried out", [Canned(status=429, headers=LATER), OK], Got([1], count=2), "post"),
    fault("500 of a GET", [Canned(status=500), OK], Got([1], count=2)),
    fault("500 of a PUT is handed on", [Canned(b"{}", 500)], Got({}, 500, count=1), "put"),
    fault("502 of a DELETE", [Canned(status=502), OK], Got([1], count=2), "delete"),
    fault("404 is an answer", [Canned(b'{"m":1}', 404)], Got({"m": 1}, 404, count=1)),
    fault("connection lost on a GET", [Canned(close=True), OK], Got([1], count=2)),
    fault("connection lost on a POST is never repeated", [Canned(close=True), OK], Got(reason="broke", count=1), "post"),
    fault("body cut short on a GET", [Canned(b'{"a":1', cut=True), OK], Got([1], count=2)),
    fault("body cut short on a POST keeps its status", [Canned(b'{"a":1', 201, cut=True), OK], Got('{"a":1', 201, count=1), "post"),
    fault("unasked compression", [Canned(b"x", headers={"Content-Encoding": "br"})], Got(reason="compressed", count=1)),
    fault("too many bytes of headers", [Canned(headers={f"X-{n}": "x" * 4000 for n in range(20)})], Got(reason="headers", count=1)),
    fault("redirect on the same server", [Canned(status=302, headers={"Location": "/other"}), OK], Got([1], count=2)),
    fault("redirect to another host", [Canned(status=302, headers={"Location": "http://192.0.2.1/x"})], Got(reason="redirects", count=1)),
    fault("redirect to another port", [Canned(status=302, headers={"Location": "http://127.0.0.1:9/"})], Got(reason="redirects", count=1)),
    fault("redirect to a metadata address", [Canned(status=307, headers={"Location": "http://169.254.169.254/latest"})], Got(reason="redirects", count=1)),
    fault("redirect to a file", [Canned(status=302, headers={"Location": "file:///etc/passwd"})], Got(reason="redirects", count=1)),
    fault("redirect with a user name", [Canned(status=302, headers={"Location": "http://127.0.0.1@192.0.2.1/"})], Got(reason="redirects", count=1)),
    fault("redirects in a circle", [Canned(status=302, headers={"Location": "/again"})], Got(reason="redirects more than", count=6)),
    fault("redirect of a POST is handed on", [Canned(b"{}", 303, {"Location": "/other"})], Got(..., 303, count=1), "post"),
]

CURSOR, OFFSET, PAGE_NO = [par("query", "cursor")], [par("query", "offset", INT), par("query", "limit", INT)], [par("query", "page", INT)]
ONE, TWO, THREE = [{"id": 1}], [{"id": 2}], [{"id": 3}]
LINKED = [Canned(json.dumps(items).encode(), headers={"Content-Type": JSON, **link}) for items, link in
          ((ONE, {"Link": '<http://HOST/things?page=2>; rel="next", <http://HOST/things?page=3>; rel="last"'}),
           (TWO, {"Link": '<http://HOST/things?page=3>; rel="next"'}), (THREE, {}))]
PAGES = [
    pages("Link header", PAGE_NO, LINKED, ONE + TWO + THREE),
    pages("next address in the body", OFFSET, [Canned(b'{"items":[{"id":1}],"next":"URL/things?offset=1"}'), Canned(b'{"items":[{"id":2}],"next":"URL/things?offset=2"}'),
          {"items": THREE, "next": None}], ..., count=3),
    pages("relative next address", OFFSET, [{"items": ONE, "next": "?offset=1"}, {"items": TWO, "next": ""}], {"items": ONE + TWO, "next": "?offset=1"}, count=2),
    pages("next address on another host is not followed", OFFSET, [{"items": ONE, "next": "http://192.0.2.1/things?offset=1"}], {"items": ONE, "next": "http://192.0.2.1/things?offset=1"}, count=1),
    pages("next address on another path is not followed", OFFSET, [Canned(b'{"items":[{"id":1}],"next":"/admin?offset=1"}')], {"items": ONE, "next": "/admin?offset=1"}, count=1),
    pages("undeclared token in a next address", [], [Canned(b'{"value":[{"id":1}],"@odata.nextLink":"/things?$skiptoken=x"}'), {"value": TWO}], {"value": ONE + TWO, "@odata.nextLink": "/things?$skiptoken=x"}, count=2),
    pages("cursor", CURSOR, [{"data": ONE, "next_cursor": "b"}, {"data": TWO, "next_cursor": "c"}, {"data": THREE, "next_cursor": ""}], {"data": ONE + TWO + THREE, "next_cursor": "b"}),
    pages("nested cursor", CURSOR, [{"data": ONE, "meta": {"next_cursor": "b"}}, {"data": TWO, "meta": {"next_cursor": None}}], {"data": ONE + TWO, "meta": {"next_cursor": "b"}}, count=2),
    pages("last id, as Stripe has it", [par("query", "starting_after")], [{"data": [{"id": "x"}], "has_more": True}, {"data": [{"id": "y"}], "has_more": False}],
          {"data": [{"id": "x"}, {"id": "y"}], "has_more": True}, count=2),
    pages("offset with a total", OFFSET, [{"items": ONE, "total": 3}, {"items": TWO, "total": 3}, {"items": THREE, "total": 3}], {"items": ONE + TWO + THREE, "total": 3}),
    pages("offset by full pages", OFFSET, [ONE + TWO, THREE], ONE + TWO + THREE, {"limit": 2}, count=2),
    pages("page numbers", PAGE_NO, [{"page": 1, "total_pages": 3, "results": ONE}, {"page": 2, "total_pages": 3, "results": TWO}, {"page": 3, "total_pages": 3, "results": THREE}],
          {"page": 1, "total_pages": 3, "results": ONE + TWO + THREE}),
    pages("page numbers that count from 0", PAGE_NO, [{"content": ONE, "page": {"number": 0, "totalPages": 2}}, {"content": TWO, "page": {"number": 1, "totalPages": 2}}],
          {"content": ONE + TWO, "page": {"number": 0, "totalPages": 2}}, count=2),
    pages("the same page again tells that the first was page 1", PAGE_NO, [{"data": ONE, "has_more": True}, {"data": ONE, "has_more": True}, {"data": TWO, "has_more": False}],
          {"data": ONE + TWO, "has_more": True}),
    pages("a next address with a value of its own", PAGE_NO, [Canned(b'{"items":[{"id":1}],"next":"/things?page=2&seed=42"}'), {"items": TWO}], {"items": ONE + TWO, "next": "/things?page=2&seed=42"}, count=2),
    pages("a list of links, as FHIR has it", [], [Canned(b'{"entry":[{"id":1}],"link":[{"relation":"next","url":"/things?_getpages=a"}]}'), {"entry": TWO}],
          {"entry": ONE + TWO, "link": [{"relation": "next", "url": "/things?_getpages=a"}]}, count=2),
    pages("token in a header", [par("query", "continuationToken")], [Canned(b'[{"id":1}]', headers={"x-ms-continuationtoken": "n"}), TWO], ONE + TWO, count=2),
    pages("no sign of more", PAGE_NO, [{"results": ONE}], {"results": ONE}, count=1),
    pages("the same page again ends it", CURSOR, [{"data": ONE, "next_cursor": "b"}, {"data": TWO, "next_cursor": "b"}], {"data": ONE + TWO, "next_cursor": "b"}, count=2),
]

CASES: list[Case] = [*PATHS, *QUERIES, *HEADERS, *REFUSALS, *JSONS, *FORMS, *SWAGGERS, *AUTHS, *SERVERS, *REPLIES, *FAULTS, *PAGES]
