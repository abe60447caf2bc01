"""Guards idempotency keys: one per change, the same on each attempt, never a model's."""

import pytest

from restgpt.calling.idempotency import key_header, with_key
from restgpt.specs import Operation, load_api
from restgpt.tools.request.build import build_request


def operation(method: str = "post", name: str = "Idempotency-Key") -> Operation:
    parameter = {"name": name, "in": "header", "required": True, "schema": {"type": "string", "format": "uuid"}}
    found = {method: {"parameters": [parameter], "responses": {}}}
    document = {"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {"/x": found}}
    return load_api(document, base_url="https://x.example").operation(f"{method.upper()} /x")


def test_a_documented_key_is_filled_in_from_the_request_id() -> None:
    found = with_key(operation(), {}, "r1.0")
    assert build_request(operation(), found).headers["Idempotency-Key"] == found["header"]["Idempotency-Key"]
    assert found == with_key(operation(), {}, "r1.0")
    assert found != with_key(operation(), {}, "r1.1")


def test_a_key_that_a_model_wrote_is_replaced() -> None:
    found = with_key(operation(), {"header": {"idempotency-key": "1", "X-Other": "2"}}, "r1.0")
    assert set(found["header"]) == {"Idempotency-Key", "X-Other"}


@pytest.mark.parametrize("found", [operation("get"), operation(name="X-Trace")])
def test_without_a_place_for_one_nothing_is_added(found: Operation) -> None:
    assert key_header(found) is None
    assert with_key(found, {"query": {}}, "r1.0") == {"query": {}}


@pytest.mark.parametrize("given", ["x", ["Idempotency-Key"], 7])
def test_headers_that_are_no_object_are_left_to_the_building_of_the_request(given: object) -> None:
    assert with_key(operation(), {"header": given}, "r1.0") == {"header": given}
