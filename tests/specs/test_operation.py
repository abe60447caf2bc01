"""Guards what is read of one operation: parameters, names, servers, security, and the quirks of real documents."""

import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import yaml
from paths import api_of, openapi

from restgpt.specs import Api, SpecError, UnknownOperationError, load_api
from restgpt.specs.docs.documentation import documentation
from restgpt.specs.docs.example import minimal_arguments
from restgpt.specs.docs.map import summary_line


def read(text: str, **options: Any) -> Api:
    return load_api(json.dumps(yaml.safe_load(text)), **options)


def paths(text: str, **options: Any) -> Api:
    return load_api(json.dumps(openapi(yaml.safe_load(text), openapi="3.0.0")), **options)


def test_path_parameters_are_merged_and_overridden() -> None:
    api = paths("""
        /a/{id}:
          parameters:
            - {name: id, in: path, required: true, schema: {type: integer}}
            - {name: page, in: query, schema: {type: integer}}
          get:
            parameters:
              - {name: page, in: query, schema: {type: string}}
              - {name: page, in: header, schema: {type: boolean}}
            responses: {}
    """)
    found = {(item.location, item.name): item.schema["type"] for item in api.operations[0].parameters}
    assert found == {("path", "id"): "integer", ("query", "page"): "string", ("header", "page"): "boolean"}


def test_stringly_typed_booleans_and_numbers_are_what_they_are() -> None:
    api = paths("""
        /a:
          get:
            deprecated: "true"
            parameters:
              - name: limit
                in: query
                required: "false"
                explode: "false"
                schema: {type: integer, default: "20", maximum: "50", nullable: "true"}
              - {name: name, in: query, required: "true", schema: {type: string, default: "20"}}
            responses: {}
    """)
    operation = api.operations[0]
    limit, name = operation.parameters
    assert (limit.required, limit.explode, name.required, operation.deprecated) == (False, False, True, True)
    assert operation.json_schema(limit.schema) == {"type": ["integer", "null"], "default": 20, "maximum": 50}
    assert name.schema["default"] == "20"


def test_a_path_variable_that_nothing_declares_is_a_required_string() -> None:
    operation = paths("/a/{b}: {get: {responses: {}}}").operations[0]
    assert [(item.name, item.required) for item in operation.parameters] == [("b", True)]
    assert "nothing declares" in operation.problems[0].message


@pytest.mark.parametrize(
    ("identifier", "name"),
    [
        ("listPets", "listPets"),
        ("pets/list", "pets_list"),
        ("users.messages.List Attachments", "users_messages_List_Attachments"),
        ("", "get_pets_by_petId"),
        ("✓", "get_pets_by_petId"),
    ],
)
def test_every_name_is_legal_and_readable(identifier: str, name: str) -> None:
    document = {"/pets/{petId}": {"get": {"operationId": identifier, "responses": {}}}}
    assert paths(json.dumps(document)).operations[0].name == name


def test_long_and_doubled_identifiers_get_unique_names() -> None:
    ids = ("x" * 90, "x" * 90 + "y", "a", "a")
    api = api_of({f"/{n}": {"get": {"operationId": item, "responses": {}}} for n, item in enumerate(ids)})
    names = [operation.name for operation in api.operations]
    assert len(set(names)) == 4
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in names)
    assert [problem.message for problem in api.problems[:1]] == ["the operationId a is used twice"]
    assert api.operation("a").path == "/2"


def test_an_operation_is_found_by_every_key_and_an_unknown_one_names_near_ones() -> None:
    api = paths("/pets/{petId}: {get: {operationId: pets/one, responses: {}}, delete: {responses: {}}}")
    for key in ("pets_one", "pets/one", "GET /pets/{petId}", "get /pets/{id}", "  GET   /pets/{petId} "):
        assert api.operation(key).operation_id == "pets/one"
    with pytest.raises(UnknownOperationError, match=r"pets_one \(GET /pets/\{petId\}\)"):
        api.operation("pets_on")


def test_vendor_keys_anywhere_are_no_operations() -> None:
    api = read("""
        openapi: 3.0.0
        info: {title: t, version: '1'}
        x-root: 1
        paths:
          x-note: nothing
          /a:
            x-path: {get: {}}
            summary: text
            get: {x-op: [1], responses: {x-r: 1, '200': {description: ok}}}
            post: not an object
    """)
    assert [operation.method for operation in api.operations] == ["GET"]
    assert api.operations[0].extensions == {"x-op": [1]}
    assert list(api.operations[0].responses) == ["200"]
    assert any(problem.pointer == "/paths/~1a/post" for problem in api.problems)


def test_a_document_without_paths_is_read_with_a_problem() -> None:
    api = load_api({"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "webhooks": {"new": {"post": {}}}})
    assert len(api.operations) == 0
    assert any("webhooks only" in problem.message for problem in api.problems)


def test_numeric_response_keys_and_ranges_are_statuses() -> None:
    responses = "200: {description: fine}, 4xx: {description: yours}, default: {description: other}"
    operation = load_api(f"openapi: 3.0.0\npaths: {{/a: {{get: {{responses: {{{responses}}}}}}}}}").operations[0]
    assert list(operation.responses) == ["200", "4XX", "default"]
    said = [getattr(operation.response(status), "description", None) for status in (None, 404, 500)]
    assert said == ["fine", "yours", "other"]


SERVERS = """
/a:
  get: {responses: {}}
  put: {servers: [{url: 'https://put.example.com/'}], responses: {}}
"""


@pytest.mark.parametrize(
    ("servers", "url"),
    [
        ([{"url": "https://a.example.com/v1/"}], "https://a.example.com/v1"),
        ([{"url": "//a.example.com"}], "https://a.example.com"),
        ([{"url": "https://{r}.example.com", "variables": {"r": {"default": "eu"}}}], "https://eu.example.com"),
        ([{"url": "https://{r}.example.com", "variables": {"r": {"enum": ["us", "eu"]}}}], "https://us.example.com"),
        ([{"url": "https://a.example.com{v}", "variables": {"v": {"default": ""}}}], "https://a.example.com"),
        ([{"url": "/relative"}, {"url": "https://b.example.com"}], "https://b.example.com"),
    ],
)
def test_the_base_url_is_absolute_with_its_variables_filled(servers: list[dict[str, Any]], url: str) -> None:
    api = api_of(yaml.safe_load(SERVERS), servers=servers)
    assert [operation.base_url for operation in api.operations] == [url, "https://put.example.com"]


@pytest.mark.parametrize(
    ("servers", "told"),
    [
        ([], "--base-url"),
        ([{"url": "/v1"}], "'/v1', whose path follows a base URL without one"),
        ([{"url": "https://{host}/v1"}], "--base-url"),
        ([{"url": "ftp://example.com"}], "--base-url"),
    ],
)
def test_a_document_without_a_host_says_how_to_give_one(servers: list[dict[str, Any]], told: str) -> None:
    document = openapi({"/a": {"get": {"responses": {}}}}, servers=servers)
    api = load_api(document)
    assert "--base-url" in str(api.problems)
    assert told in str(api.problems[0])
    with pytest.raises(SpecError, match="--base-url"):
        _ = api.operations[0].base_url
    api = load_api(document, base_url="https://c.example.com/v3/")
    assert api.operations[0].base_url == "https://c.example.com/v3"
    assert api.problems == []


@pytest.mark.parametrize(
    ("servers", "given", "url"),
    [
        ([{"url": "/control"}], "http://router.example:3000", "http://router.example:3000/control"),
        ([{"url": "v2/"}], "http://router.example/", "http://router.example/v2"),
        ([{"url": "/control"}], "http://router.example/other", "http://router.example/other"),
        ([{"url": "https://a.example.com/v1/"}], "http://router.example", "http://router.example/v1"),
        ([{"url": "https://[host]/v1?x#y"}], "http://router.example/", "http://router.example/v1"),
        ([{"url": "https://{tenant}.example.com/v1"}], "http://router.example", "http://router.example/v1"),
        ([{"url": "https://a.example.com"}], "http://router.example", "http://router.example"),
        ([{"url": "https://a.example.com/v1"}], "http://router.example/v3", "http://router.example/v3"),
        ([{"url": "/{v}"}], "http://router.example", "http://router.example"),
        ([], "http://router.example/", "http://router.example"),
    ],
)
def test_a_base_url_of_a_host_alone_gets_the_path_of_the_server(servers: Any, given: str, url: str) -> None:
    api = load_api(openapi({"/a": {"get": {"responses": {}}}}, servers=servers), base_url=given)
    assert api.operations[0].base_url == url
    assert load_api(openapi({"/a": {}}, servers=servers), base_url=api.base_url).base_url == url


def test_security_of_an_operation_overrides_that_of_the_document() -> None:
    api = read("""
        openapi: 3.0.0
        info: {title: t, version: '1'}
        security: [{key: []}]
        components:
          securitySchemes:
            key: {type: apiKey, in: header, name: X-Key}
            web: {type: http, scheme: Bearer}
            flow: {type: oauth2, flows: {clientCredentials: {tokenUrl: 'https://t', scopes: {read: r}}}}
        paths:
          /a:
            get: {responses: {}}
            post: {security: [{key: [], flow: [read]}, {web: []}], responses: {}}
            put: {security: [], responses: {}}
            delete: {security: [{}], responses: {}}
    """)
    by_method = {operation.method: operation.security for operation in api.operations}
    assert by_method["GET"] == ({"key": ()},)
    assert by_method["POST"] == ({"key": (), "flow": ("read",)}, {"web": ()})
    assert by_method["PUT"] == by_method["DELETE"] == ()
    schemes = api.security_schemes
    assert (schemes["key"].location, schemes["key"].name, schemes["web"].scheme) == ("header", "X-Key", "bearer")
    assert schemes["flow"].flows["clientCredentials"].token_url == "https://t"


def test_a_header_that_is_set_for_each_request_is_no_parameter() -> None:
    api = paths("/a: {get: {parameters: [{name: Authorization, in: header, schema: {}}], responses: {}}}")
    assert api.operations[0].parameters == ()


def test_json_is_the_preferred_body() -> None:
    content = {"text/plain": {}, "multipart/form-data": {}, "application/problem+json": {}, "application/json": {}}
    document = {"/a": {"post": {"requestBody": {"content": content}, "responses": {}}}}
    body = paths(json.dumps(document)).operations[0].body
    assert body is not None
    assert body.preferred.media_type == "application/json"
    assert list(body.content) == list(content)


def test_methods_of_version_3_2_are_operations_and_keep_their_spelling() -> None:
    methods = {"query": {"responses": {}}, "additionalOperations": {"COPY": {"summary": "Copy", "responses": {}}}}
    api = api_of({"/a": methods}, openapi="3.2.0")
    assert [(operation.method, operation.summary) for operation in api.operations] == [("QUERY", ""), ("COPY", "Copy")]
    assert [operation.is_safe for operation in api.operations] == [True, False]
    assert api.operations[1].parameters == ()
    spelled = {"additionalOperations": {name: {"responses": {}} for name in ("Copy", "copy", "delete")}}
    api = api_of({"/a": spelled}, openapi="3.2.0")
    assert [item.method for item in api.operations] == ["Copy", "copy", "DELETE"]
    assert api.operation("Copy /a").method == "Copy"


def test_safe_and_idempotent_methods_are_told() -> None:
    api = paths("/a: {get: {responses: {}}, put: {responses: {}}, post: {responses: {}}}")
    told = [(item.is_safe, item.is_idempotent) for item in api.operations]
    assert told == [(True, True), (False, True), (False, False)]


def test_an_operation_read_by_many_threads_is_read_the_same() -> None:
    given = "parameters: [{name: q, in: query, schema: {type: string}}]"
    operation = paths(f"/a/{{id}}: {{get: {{operationId: one, {given}, responses: {{}}}}}}").operations[0]
    start = threading.Barrier(8)

    def look(_: int) -> tuple[str, dict[str, Any]]:
        start.wait()
        return documentation(operation), minimal_arguments(operation)

    with ThreadPoolExecutor(8) as threads:
        seen = list(threads.map(look, range(8)))
    assert seen == [seen[0]] * 8


def test_a_line_holds_one_sentence() -> None:
    api = paths("/a: {get: {description: 'Lists things. Then more.'}, put: {summary: \"Sets\\n it\"}}")
    assert [summary_line(operation) for operation in api.operations] == ["GET /a  Lists things", "PUT /a  Sets it"]


def test_the_query_of_a_server_is_a_problem_that_shows_no_value() -> None:
    servers = [{"url": "https://api.example.com/v1?key=secret&b=2"}]
    own = {"servers": [{"url": "https://own.example.com?c=3"}], "responses": {}}
    document = openapi({"/a": {"get": {"responses": {}}, "put": own}}, servers=servers)
    api = load_api(document)
    text = "the query of the server URL ({}) is left out of every request"
    assert [*map(str, api.problems)] == [f"/servers: {text.format('key, b')}"]
    assert [*map(str, api.operation("PUT /a").problems)] == [f"/paths/~1a/put/servers: {text.format('c')}"]
    assert api.operation("GET /a").problems == ()
    assert load_api(document, base_url="https://here.example.com").problems == []


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("https://me:secret@api.example.com/v1", "holds a user name: [^@]*"),
        ("https://api.example.com/v1?key=secret", "has a query or a fragment: [^?#]*"),
        ("https://api.example.com/#part", "has a query or a fragment: [^?#]*"),
    ],
)
def test_a_base_url_with_a_user_name_or_a_query_is_refused_without_showing_it(url: str, told: str) -> None:
    with pytest.raises(SpecError, match=f"^the base URL {told}$"):
        load_api({"openapi": "3.0.0", "info": {}, "paths": {"/a": {}}}, base_url=url)


def test_the_operations_on_a_path_and_right_below_it_are_found_in_the_order_of_the_document() -> None:
    api = paths(
        "/a/{id}: {delete: {}}\n/a: {get: {}, post: {}}\n/a/{id}/b: {get: {}}\n/ab: {get: {}}\n/a/count: {get: {}}"
    )
    near = {path: [f"{item.method} {item.path}" for item in api.near_path(path)] for path in ("/a", "/a/{id}")}
    assert near["/a"] == ["DELETE /a/{id}", "GET /a", "POST /a", "GET /a/count"]
    assert near["/a/{id}"] == ["DELETE /a/{id}", "GET /a/{id}/b"]
    assert list(api.near_path("/nowhere")) == []


@pytest.mark.parametrize("schema", ["{type: object}", "{type: object, allOf: [{type: array, items: {}}]}", "{}"])
def test_a_json_patch_is_a_list_of_operations_whatever_the_document_calls_it(schema: str) -> None:
    """Azure DevOps and Kubernetes call it an object."""
    api = paths(f"""
        /items/{{id}}:
          patch:
            operationId: patch_item
            parameters: [{{name: id, in: path, required: true, schema: {{type: integer}}}}]
            requestBody: {{required: true, content: {{application/json-patch+json: {{schema: {schema}}}}}}}
            responses: {{}}
    """)
    sent = api.operation("patch_item").sent
    assert sent is not None
    assert sent.items is not None
    assert list(sent.items.fields) == ["op", "path", "from", "value"]
