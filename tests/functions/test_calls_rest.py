"""Guards the calls of operations: a call string says the same as the prepared request."""

import json
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import requests
import yaml
from paths import api_of

from restgpt.tools.request.prepared_request import build_request
from restgpt_functions.calls.call import Call
from restgpt_functions.calls.parsing import parse_calls
from restgpt_functions.calls.rendering import render_calls
from restgpt_functions.calls.rest import shown_requests
from restgpt_functions.docs.operations import from_operations

PATHS = """
/users/me: {get: {operationId: me}}
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
  patch:
    operationId: patchUser
    parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
    requestBody: {content: {application/merge-patch+json: {schema: {type: object}}}}
/login: {post: {operationId: login, requestBody: {content: {application/x-www-form-urlencoded: {schema: FORM}}}}}
/upload: {post: {operationId: upload, requestBody: {content: {multipart/form-data: {schema: FORM}}}}}
"""
FORM = "{type: object, properties: {user: {type: string}, note: {type: string}, file: {type: string, format: binary}}}"
BASE = "https://api.example.com/v1"
API = api_of(yaml.safe_load(PATHS.replace("FORM", FORM)), base_url=BASE)
FUNCTIONS = from_operations(API.operations)

USER = {"path": {"id": "a"}}
GET_USER = f'requests.get(url="{BASE}/users/a", '

PLACED: list[tuple[str, dict[str, Any], str]] = [
    ("me", {}, f'requests.get(url="{BASE}/users/me")'),
    ("getUser", {"path": {"id": "a/b ?#../é"}}, f'requests.get(url="{BASE}/users/a%2Fb%20%3F%23..%2F%C3%A9")'),
    ("getUser", {**USER, "query": {"id": 5}}, GET_USER + 'params={"id": 5})'),
    ("getUser", {**USER, "query": {"fields": ["x", "y"]}}, GET_USER + 'params={"fields": "x,y"})'),
    ("getUser", {**USER, "query": {"tags": ["p", "q"]}}, GET_USER + 'params={"tags": ["p", "q"]})'),
    ("getUser", {**USER, "query": {"filter": {"age": 3}}}, GET_USER + 'params={"filter[age]": "3"})'),
    ("getUser", {**USER, "query": {"all": True}}, GET_USER + 'params={"all": "true"})'),
    ("getUser", {**USER, "header": {"X-Count": 3}}, GET_USER + 'headers={"X-Count": "3"})'),
    ("getUser", {**USER, "cookie": {"session": "s"}}, GET_USER + 'cookies={"session": "s"})'),
    (
        "patchUser",
        {"path": {"id": 7}, "body": {"name": "x", "tags": [1, None]}},
        f'requests.patch(url="{BASE}/users/7", headers={{"Content-Type": "application/merge-patch+json"}}, '
        'json={"name": "x", "tags": [1, None]})',
    ),
    ("login", {"body": {"user": "a b"}}, f'requests.post(url="{BASE}/login", data={{"user": "a b"}})'),
    ("upload", {"body": {"note": "n"}}, f'requests.post(url="{BASE}/upload", files={{"note": (None, "n")}})'),
]


@pytest.mark.parametrize(("name", "arguments", "text"), PLACED)
def test_each_value_stands_in_its_place(name: str, arguments: dict[str, Any], text: str) -> None:
    assert render_calls([Call(name, arguments)], "requests", functions=FUNCTIONS) == text


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


def test_a_call_that_is_no_operation_stays_a_call_string() -> None:
    assert render_calls([Call("weather.get", {"city": "Oslo"})], "requests", functions=FUNCTIONS) == (
        'weather.get(city="Oslo")'
    )
    assert shown_requests([Call("weather.get", {"city": "Oslo"})], FUNCTIONS) == []


def test_a_request_that_a_placeholder_does_not_fit_says_why() -> None:
    (found,) = shown_requests([Call("patchUser", {"path": {"id": "<id>"}})], FUNCTIONS)
    assert found["operation"] == "patchUser"
    assert "/path/id" in found["error"]
