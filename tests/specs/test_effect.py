"""Guards the effects of operations: by the method, unless the document marks one; a mark of a read is a proposal."""

from typing import Any

import pytest
from paths import api_of

from restgpt.specs import Operation, load_api
from restgpt.specs.effect import effect_of

CHANGE, READ = {"x-restgpt-effect": " Change"}, {"x-restgpt-effect": "read"}


def operation(path: str = "/x", *, method: str = "post", **more: Any) -> Operation:
    return api_of({path: {method: more}}, base_url="https://t.example").operations[0]


@pytest.mark.parametrize(
    ("path", "summary"),
    [("/orders/search", "Search orders"), ("/orders/find", "Finds orders, and deletes none"), ("/count", "Count")],
)
def test_no_words_make_a_post_a_read(path: str, summary: str) -> None:
    found = effect_of(operation(path, operationId="search", summary=summary))
    assert (found.kind, found.origin) == ("change", "method")


def test_a_document_makes_a_get_a_change_but_a_post_only_a_proposal() -> None:
    assert effect_of(operation(method="get", **CHANGE)).kind == "change"
    assert effect_of(operation(**CHANGE)).kind == "change"
    marked = effect_of(operation(**READ))
    assert (marked.is_proposed, marked.is_read) == (True, False)
    assert marked.reason == "it is a POST, but the document marks it with x-restgpt-effect: read"


@pytest.mark.parametrize("home", ["paths", "components"])
def test_a_mark_that_the_document_writes_with_escapes_counts(home: str) -> None:
    marked = '{"get": {"\\u0078-restgpt-effect": "change", "responses": {}}}'
    item = marked if home == "paths" else '{"$ref": "#/components/pathItems/P"}'
    text = f'{{"openapi": "3.1.0", "paths": {{"/x": {item}}}, "components": {{"pathItems": {{"P": {marked}}}}}}}'
    assert effect_of(load_api(text).operations[0]).reason == "the document marks it with x-restgpt-effect: change"


def test_only_a_post_is_proposed_as_a_read_and_safe_methods_read_for_certain() -> None:
    assert [effect_of(operation(method=method, **READ)).kind for method in ("put", "patch", "delete")] == ["change"] * 3
    assert effect_of(operation(method="get")).is_read
    assert effect_of(operation("/delete", operationId="deleteAll", method="get")).is_read


def test_the_effects_of_all_operations_leave_none_of_them_decoded() -> None:
    for method in ("get", "post", "delete"):
        found = operation("/things/search", method=method)
        assert effect_of(found).reason
        assert not found.is_decoded
