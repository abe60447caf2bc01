"""Guards that a document with parts of the wrong kind is read, that each fault is named, and that the rest works."""

import json
from typing import Any

import pytest

from restgpt.specs import Api, Operation, Problem, SpecError, load_api
from restgpt.specs.docs.documentation import documentation, response_documentation
from restgpt.specs.docs.example import example_problems, minimal_arguments
from restgpt.tools.errors import ArgumentError
from restgpt.tools.request.prepared_request import build_request

HOST = "https://api.example.com"


def api_of(item: Any, **parts: Any) -> Api:
    head = {"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "servers": [{"url": HOST}]}
    return load_api({**head, **parts, "paths": {"/a": item, "/b": {"get": {"responses": {}}}}})


def swagger_of(operation: dict[str, Any], **parts: Any) -> Operation:
    head = {"swagger": "2.0", "info": {"title": "t", "version": "1"}, "host": "api.example.com"}
    return load_api({**head, **parts, "paths": {"/a": {"post": operation}}}).operations[0]


def body_of(schema: Any) -> dict[str, Any]:
    return {"requestBody": {"content": {"application/json": {"schema": schema}}}, "responses": {}}


def use(operation: Operation) -> str:
    """Read all of an operation and write its example request; returns the URL."""
    assert documentation(operation)
    assert response_documentation(operation)
    assert isinstance(operation.problems, tuple)
    return build_request(operation, minimal_arguments(operation)).url


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "required": [{"a": 1}, ["b"], "x"], "properties": {"x": {"type": "string"}}},
        {"type": "object", "properties": [1, 2]},
        {"allOf": [{"properties": 5, "additionalProperties": False}, {"properties": {"x": {}}}]},
        {"allOf": [{"required": [{}], "additionalProperties": False}, {"required": ["x"]}, {"required": 3}]},
        {"oneOf": [{"type": "object"}], "discriminator": {"propertyName": "k", "mapping": {"a": [1], "b": {}}}},
        {"oneOf": [{"type": "object"}], "properties": 1.5},
    ],
)
def test_schema_keywords_of_the_wrong_kind_are_passed_over(schema: dict[str, Any]) -> None:
    assert use(api_of({"post": body_of(schema)}).operations[0]) == f"{HOST}/a"


@pytest.mark.parametrize(
    ("operation", "root"),
    [
        ({"parameters": 7}, {}),
        ({"parameters": [None, {"name": ["x"], "in": {}}]}, {}),
        ({"consumes": [5, {}], "parameters": [{"name": "b", "in": "body", "schema": {}}]}, {"consumes": {"a": 1}}),
        ({"produces": [{}], "responses": {"200": {"description": "x", "schema": {}}}}, {"produces": 3}),
        ({}, {"schemes": 1.5}),
    ],
)
def test_swagger_lists_of_the_wrong_kind_are_passed_over(operation: dict[str, Any], root: dict[str, Any]) -> None:
    assert use(swagger_of({"responses": {}, **operation}, **root)) == f"{HOST}/a"


def test_one_text_where_swagger_has_a_list_is_that_list() -> None:
    body = [{"name": "b", "in": "body", "required": True, "schema": {"type": "object"}}]
    operation = swagger_of({"parameters": body, "responses": {}}, consumes="application/vnd.api+json", schemes="http")
    request = build_request(operation, {"body": {}})
    assert (request.url, request.headers["Content-Type"]) == ("http://api.example.com/a", "application/vnd.api+json")


def test_a_server_that_is_no_address_is_passed_over_or_named() -> None:
    broken = {"url": "https://[hostname]/v1"}
    one = api_of({"get": {"servers": [broken, {"url": "https://b.example.com"}], "responses": {}}}).operations[0]
    assert use(one) == "https://b.example.com/a"
    api = api_of({"get": {"responses": {}}}, servers=[broken])
    assert [problem.pointer for problem in api.problems] == ["/servers"]
    with pytest.raises(SpecError, match=r"\[hostname\]"):
        use(api.operations[0])


@pytest.mark.parametrize("item", ["nothing", ["get"], 5])
def test_a_path_that_is_no_object_is_a_problem(item: Any) -> None:
    api = api_of(item)
    assert [str(problem) for problem in api.problems] == ["/paths/~1a: the path item is not an object"]
    assert [operation.path for operation in api.operations] == ["/b"]


def test_a_parameter_that_cannot_be_sent_is_a_problem_where_it_stands() -> None:
    shared = [{"name": "one", "in": "body"}, {"$ref": "#/gone"}]
    own = [{"in": "query"}, {"name": "id", "in": "path", "required": True}, {"name": "ok", "in": "query"}]
    operation = api_of({"parameters": shared, "get": {"parameters": own, "responses": {}}}).operations[0]
    assert [str(problem) for problem in operation.problems] == [
        "/paths/~1a/parameters/0: the parameter one has an unknown location (in: 'body')",
        "/paths/~1a/parameters/1: nothing is at /gone",
        "/paths/~1a/get/parameters/0: the parameter has no name",
        "/paths/~1a/get/parameters/1: the path has no variable id",
    ]
    assert [parameter.name for parameter in operation.parameters] == ["ok"]
    pointers = [str(problem.pointer) for problem in api_of({"get": {"parameters": {}}}).operations[0].problems]
    assert pointers == ["/paths/~1a/get/parameters"]


def faults_of(operation: Operation) -> list[Problem]:
    return example_problems(operation, minimal_arguments(operation))


def test_an_operation_that_no_value_fits_names_the_place_in_the_document() -> None:
    reference = {"$ref": "#/components/schemas/Node"}
    endless = {"type": "object", "required": ["next"], "properties": {"next": reference}}
    never = {"name": "n", "in": "query", "required": True, "schema": {"type": "integer", "minimum": 5, "maximum": 3}}
    item = {"post": body_of(reference), "get": {"parameters": [never], "responses": {}}}
    api = api_of(item, components={"schemas": {"Node": endless}})
    found = {operation.method: operation for operation in api.operations if operation.path == "/a"}
    assert [problem.pointer for problem in faults_of(found["POST"])] == ["/paths/~1a/post/requestBody"]
    assert "query n" in str(faults_of(found["GET"])[0])
    with pytest.raises(ArgumentError, match=r"the document itself is at fault at /paths/~1a/get: .*query n") as caught:
        build_request(found["GET"], {"query": {"n": 4}})
    assert not caught.value.example
    json.dumps(minimal_arguments(found["POST"]))
