"""Guards the way back from a reduced specification to a document: what is kept is right, what is lost is said."""

from types import SimpleNamespace
from typing import Any

import pytest

from restgpt.community.reduced_spec import document_of
from restgpt.specs import Api, load_api
from restgpt.tools.request.build import build_request

NAME = {"name": "name", "in": "query", "required": True, "schema": {"type": "string"}}
BODY = {"required": True, "content": {"application/json": {"schema": {"type": "object", "required": ["a"]}}}}


def reduced(*endpoints: Any, servers: Any = ({"url": "https://api.a.test/v1"},)) -> Any:
    return SimpleNamespace(servers=list(servers), description="About things.", endpoints=list(endpoints))


def api(*endpoints: Any, **given: Any) -> Api:
    return load_api(document_of(reduced(*endpoints, **given)))


def test_what_is_kept_makes_the_same_requests() -> None:
    found = api(
        ("GET /users/{id}/pets", "All pets.", {"parameters": [NAME]}),
        ("POST /users", None, {"description": "Add one.", "requestBody": BODY}),
    )
    assert found.problems == []
    assert (found.name, found.description) == ("api-a-test", "About things.")
    read = found.operation("GET /users/{id}/pets")
    built = build_request(read, {"path": {"id": 7}, "query": {"name": "Rex & Co"}})
    assert built.url == "https://api.a.test/v1/users/7/pets?name=Rex%20%26%20Co"
    add = found.operation("POST /users")
    assert build_request(add, {"body": {"a": 1}}).body == b'{"a":1}'
    assert (read.description, add.description) == ("All pets.", "Add one.")


def test_two_methods_of_one_path_stay_two_operations() -> None:
    found = api(("GET /a", None, {}), ("DELETE /a", None, {}))
    assert [(item.method, item.path) for item in found.operations] == [("GET", "/a"), ("DELETE", "/a")]


def test_a_path_variable_of_the_path_item_is_there_again() -> None:
    declared = {"name": "a", "in": "path", "required": True, "schema": {"type": "integer"}}
    operation = api(("GET /x/{a}/{b}/{b}", None, {"parameters": [declared]})).operations[0]
    assert [(item.name, item.required) for item in operation.parameters] == [("a", True), ("b", True)]
    assert build_request(operation, {"path": {"a": 1, "b": "../c"}}).url.endswith("/x/1/..%2Fc/..%2Fc")


def test_the_response_is_that_of_status_200() -> None:
    docs = {"responses": {"description": "One.", "content": {"application/json": {"schema": {"type": "integer"}}}}}
    [operation] = api(("GET /a", None, docs)).operations
    assert list(operation.responses) == ["200"]


@pytest.mark.parametrize("name", ["GET", "get /a", "GET a", "FETCH /a", ""])
def test_an_endpoint_that_is_none_is_named(name: str) -> None:
    with pytest.raises(ValueError, match=f"The endpoint {name!r} has no name of the form"):
        document_of(reduced((name, None, {})))


def test_a_dropped_component_is_named_with_the_remedy() -> None:
    docs = {
        "requestBody": {"content": {"application/json": {"schema": {"items": [{"$ref": "#/components/schemas/N"}]}}}}
    }
    with pytest.raises(ValueError, match=r"'POST /n' refers to #/components/schemas/N.*dereference=True"):
        document_of(reduced(("POST /n", None, docs)))


def test_a_specification_without_servers_has_a_name_all_the_same() -> None:
    assert api(("GET /a", None, {}), servers=()).name == "api"
