"""Guards REST calls: a call string says the same as the prepared request, and reads back as the same arguments."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import requests

from restgpt.functions.calls.call import Call, CallSyntaxError
from restgpt.functions.calls.operations import operation_of
from restgpt.functions.calls.parsing import parse_calls
from restgpt.functions.calls.rendering import render_calls
from restgpt.functions.calls.rest import from_requests_call, prepare_call, requests_call, rest_call
from restgpt.functions.docs.dialects import read_function
from restgpt.functions.docs.function import FunctionError
from restgpt.functions.docs.operations import from_operations
from restgpt.specs import Operation, load_api
from restgpt.specs.docs.example import minimal_arguments, parameter_example
from restgpt.tools.request.build import build_request

DOCUMENT = """
openapi: 3.0.3
info: {title: Items, version: "1"}
servers: [{url: https://api.example.com/v1}]
paths:
  /users/me: {get: {operationId: me, responses: {"200": {description: ok}}}}
  /users/{id}:
    get:
      operationId: getUser
      parameters:
        - {name: id, in: path, required: true, schema: {type: string}}
        - {name: id, in: query, schema: {type: integer}}
        - {name: fields, in: query, explode: false, schema: {type: array, items: {type: string}}}
        - {name: tags, in: query, schema: {type: array, items: {type: string}}}
        - {name: filter, in: query, style: deepObject, schema: {type: object, properties: {age: {type: integer}}}}
        - {name: all, in: query, schema: {type: boolean}}
        - {name: X-Count, in: header, schema: {type: integer}}
        - {name: session, in: cookie, schema: {type: string}}
      responses: {"200": {description: ok}}
    patch:
      operationId: patchUser
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      requestBody: {content: {application/merge-patch+json: {schema: {type: object}}}}
      responses: {"200": {description: ok}}
  /login:
    post:
      operationId: login
      requestBody:
        content: {application/x-www-form-urlencoded: {schema: {type: object, properties: {user: {type: string}}}}}
      responses: {"200": {description: ok}}
  /upload:
    post:
      operationId: upload
      requestBody:
        content:
          multipart/form-data:
            schema: {type: object, properties: {file: {type: string, format: binary}, note: {type: string}}}
      responses: {"200": {description: ok}}
  /a/{x}: {get: {operationId: byX, parameters: [{name: x, in: path, required: true, schema: {type: string}}]}}
  /a/{y}: {get: {operationId: byY, parameters: [{name: y, in: path, required: true, schema: {type: string}}]}}
"""
API = load_api(DOCUMENT)
OPERATIONS = list(API.operations)
FUNCTIONS = from_operations(OPERATIONS)
BASE = "https://api.example.com/v1"

PLACED: list[tuple[str, dict[str, Any], str]] = [
    ("me", {}, f'requests.get(url="{BASE}/users/me")'),
    (
        "getUser",
        {"path": {"id": "a"}, "query": {"id": 5}},
        f'requests.get(url="{BASE}/users/a", params={{"id": 5}})',
    ),
    ("getUser", {"path": {"id": "a/b ?#../é"}}, f'requests.get(url="{BASE}/users/a%2Fb%20%3F%23..%2F%C3%A9")'),
    (
        "getUser",
        {"path": {"id": "a"}, "query": {"fields": ["x", "y"], "tags": ["p", "q"]}},
        f'requests.get(url="{BASE}/users/a", params={{"fields": "x,y", "tags": ["p", "q"]}})',
    ),
    (
        "getUser",
        {"path": {"id": "a"}, "query": {"filter": {"age": 3}, "all": True}},
        f'requests.get(url="{BASE}/users/a", params={{"filter[age]": "3", "all": "true"}})',
    ),
    (
        "getUser",
        {"path": {"id": "a"}, "header": {"X-Count": 3}, "cookie": {"session": "s"}},
        f'requests.get(url="{BASE}/users/a", headers={{"X-Count": "3"}}, cookies={{"session": "s"}})',
    ),
    (
        "patchUser",
        {"path": {"id": 7}, "body": {"name": "x", "tags": [1, None]}},
        f'requests.patch(url="{BASE}/users/7", headers={{"Content-Type": "application/merge-patch+json"}}, '
        'json={"name": "x", "tags": [1, None]})',
    ),
    ("login", {"body": {"user": "a b"}}, f'requests.post(url="{BASE}/login", data={{"user": "a b"}})'),
    (
        "upload",
        {"body": {"file": {"@file": "C:\\it's.txt"}, "note": "n"}},
        f'requests.post(url="{BASE}/upload", files={{"file": open("C:\\\\it\'s.txt", \'rb\'), "note": (None, "n")}})',
    ),
    ("byY", {"path": {"y": "1"}}, f'requests.get(url="{BASE}/a/1#byY")'),
]


@pytest.mark.parametrize(("name", "arguments", "text"), PLACED)
def test_each_value_stands_in_its_place_and_comes_back(name: str, arguments: dict[str, Any], text: str) -> None:
    operation = API.operation(name)
    assert render_calls([requests_call(operation, arguments)]) == text
    (call,) = parse_calls(text)
    found = from_requests_call(call, OPERATIONS)
    assert found.operation is operation
    assert found.arguments == arguments
    assert render_calls([Call(name, arguments)], "requests", functions=FUNCTIONS) == text


def test_a_call_string_builds_the_same_request_as_the_arguments() -> None:
    for name, arguments, text in PLACED:
        if name == "upload":
            continue
        expected = build_request(API.operation(name), arguments)
        assert prepare_call(parse_calls(text)[0], FUNCTIONS).fingerprint == expected.fingerprint
        assert prepare_call(Call(name, arguments), FUNCTIONS).fingerprint == expected.fingerprint


def test_the_requests_library_would_send_the_same() -> None:
    for name, arguments, text in PLACED:
        if name == "upload":
            continue
        expected = build_request(API.operation(name), arguments)
        (call,) = parse_calls(text)
        sent = requests.Request(call.name.partition(".")[2].upper(), **dict(call.arguments)).prepare()
        assert sent.method == expected.method
        assert sent.url is not None
        ours, theirs = urlsplit(expected.url), urlsplit(sent.url)
        assert (theirs.netloc, theirs.path) == (ours.netloc, ours.path)
        assert parse_qsl(theirs.query) == parse_qsl(ours.query)
        assert _decoded(sent.body) == _decoded(expected.body)
        assert sent.headers.get("Cookie") == expected.headers.get("Cookie")
        assert sent.headers.get("Content-Type") == expected.headers.get("Content-Type")


def _decoded(body: str | bytes | None) -> Any:
    text = body.decode() if isinstance(body, bytes) else body
    return json.loads(text) if text and text.startswith("{") else text


def test_a_query_in_the_address_counts_as_params() -> None:
    (call,) = parse_calls(f'requests.get("{BASE}/users/a?id=5&tags=p&tags=q")')
    assert from_requests_call(call, OPERATIONS).arguments == {
        "path": {"id": "a"},
        "query": {"id": 5, "tags": ["p", "q"]},
    }


@pytest.mark.parametrize(
    "text",
    [
        'requests.get(url="https://evil.example/v1/users/a")',
        f'requests.delete(url="{BASE}/users/a")',
        f'requests.get(url="{BASE}/users/a/b")',
        "requests.get(params={})",
        "get(url='x')",
    ],
)
def test_a_call_of_another_address_is_refused(text: str) -> None:
    with pytest.raises(CallSyntaxError):
        from_requests_call(parse_calls(text)[0], OPERATIONS)


def test_a_call_that_is_no_rest_function_is_refused() -> None:
    with pytest.raises(ValueError, match="not a documented HTTP call"):
        rest_call(Call("weather.get", {}), FUNCTIONS)


REQUESTS_DOC = {
    "name": "requests.get",
    "description": "Weather by city.",
    "parameters": {
        "type": "dict",
        "properties": {
            "url": {"type": "string", "default": "https://weather.example.com/v2/cities/{city}/now"},
            "headers": {"type": "dict", "properties": {"X-Api-Version": {"type": "string"}}},
            "params": {"type": "dict", "properties": {"units": {"type": "string"}, "days": {"type": "integer"}}},
            "timeout": {"type": "integer"},
        },
        "required": ["url"],
    },
}


def test_requests_documentation_becomes_an_operation_with_path_and_query() -> None:
    functions = [read_function(REQUESTS_DOC)]
    text = (
        'requests.get(url="https://weather.example.com/v2/cities/Paris/now", '
        'params={"units": "metric", "days": 3}, headers={"X-Api-Version": "2"})'
    )
    (call,) = parse_calls(text, functions)
    found = rest_call(call, functions)
    assert found.operation.path == "/v2/cities/{city}/now"
    assert found.arguments == {
        "path": {"city": "Paris"},
        "query": {"units": "metric", "days": 3},
        "header": {"X-Api-Version": "2"},
    }
    request = prepare_call(call, functions)
    assert (request.method, request.url) == (
        "GET",
        "https://weather.example.com/v2/cities/Paris/now?units=metric&days=3",
    )
    assert render_calls([call], "requests", functions=functions) == text


def test_requests_documentation_without_an_address_takes_that_of_the_call() -> None:
    raw = json.loads(json.dumps(REQUESTS_DOC))
    del raw["parameters"]["properties"]["url"]["default"]
    function = read_function(raw)
    with pytest.raises(FunctionError, match="names no URL"):
        operation_of(function)
    call = Call("requests.get", {"url": "https://weather.example.com/now", "params": {"days": 1}})
    assert prepare_call(call, [function]).url == "https://weather.example.com/now?days=1"


def test_a_route_of_the_zoo_takes_flat_arguments() -> None:
    function = read_function(
        {
            "api_name": "getGroup",
            "api_call": "GET /scim2/Groups/{groupId}",
            "api_arguments": {"groupId": "string: The group.", "count": "integer: How many."},
            "functionality": "Get a group.",
        }
    )
    call = Call("getGroup", {"groupId": "g 1", "count": 2})
    request = prepare_call(call, [function], base_url="https://api.zoom.example")
    assert request.url == "https://api.zoom.example/scim2/Groups/g%201?count=2"


def _documents(folder: Path) -> list[Path]:
    bundled = Path(str(load_api.__code__.co_filename)).parent / "openapi"
    found = [*bundled.glob("*.yaml"), folder / "restbench" / "tmdb_oas.json", folder / "restbench" / "spotify_oas.json"]
    return sorted([*found, *(path for path in (folder / "openapi").iterdir() if path.suffix in (".json", ".yaml"))])


def _all_arguments(operation: Operation) -> dict[str, Any]:
    """The example with every optional parameter given as well."""
    arguments = minimal_arguments(operation)
    for parameter in operation.parameters:
        group = "query" if parameter.location == "querystring" else parameter.location
        value = parameter_example(operation, parameter)
        if value is not None and value not in ([], {}):
            arguments.setdefault(group, {}).setdefault(parameter.name, value)
    return arguments


@pytest.mark.slow
def test_every_operation_of_every_document_comes_back_unchanged(data_folder: Path) -> None:
    tried = 0
    for path in _documents(data_folder):
        operations = list(load_api(path, base_url="https://api.test/v9").operations)
        for operation in operations:
            example, full = minimal_arguments(operation), _all_arguments(operation)
            for arguments in (example, full) if example != full else (example,):
                text = render_calls([requests_call(operation, arguments)])
                found = from_requests_call(parse_calls(text)[0], operations)
                assert found.operation is operation, text
                assert found.arguments == arguments, text
                expected = build_request(operation, arguments).fingerprint
                assert build_request(operation, found.arguments).fingerprint == expected
                tried += 1
    assert tried > 1500
