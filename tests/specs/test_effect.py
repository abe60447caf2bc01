"""Guards the rule that proposes reads: POSTs that read by all signs, and none whose words speak of a change too."""

from typing import Any

import pytest

from restgpt.specs import Operation, load_api
from restgpt.specs.effect import effect_of

ANSWER = {"200": {"description": "ok", "content": {"application/json": {"schema": {}}}}}


def operation(path: str = "/x", name: str = "", summary: str = "", *, method: str = "post", **more: Any) -> Operation:
    body = {"content": {"application/json": {"schema": {"type": "object", **more.pop("schema", {})}}}}
    described = {"operationId": name, "summary": summary, "requestBody": body, "responses": ANSWER, **more}
    described = {key: value for key, value in described.items() if value != ""}
    document = {"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {path: {method: described}}}
    return load_api(document, base_url="https://t.example").operations[0]


def is_proposed(*given: str, **more: Any) -> bool:
    effect = effect_of(operation(*given, **more))
    return effect.is_proposed and not effect.is_read


@pytest.mark.parametrize(
    ("path", "name", "summary"),
    [
        ("/flows/filter", "read_flows_flows_filter_post", "Read Flows"),
        ("/flow_runs/count", "count_flow_runs_flow_runs_count_post", "Count Flow Runs"),
        ("/flows/paginate", "paginate_flows_flows_paginate_post", "Paginate Flows"),
        ("/v1/databases/{id}/query", "post-database-query", "Query a database"),
        ("/{index}/_search", "search", "Returns search hits that match the query defined in the request."),
        ("/rest/api/3/search", "searchForIssuesUsingJqlPost", "Search for issues using JQL (POST)"),
        ("/threads/search", "search_threads_threads_search_post", "Search Threads"),
        ("/crm/v3/objects/contacts/search", "post-/crm/v3/objects/contacts/search_doSearch", ""),
        ("/orders/get", "getOrder", "Get one order by its number"),
        ("/find_user_by_email", "find_user_by_email", "Find a user's id by email."),
        ("/ListSinks", "ListSinks", ""),
        ("/v1/documents:search", "documents.search", "Searches documents, and returns the matches"),
        ("/items/search", "", "Search items by name or id"),
        ("/items/search", "", "Search for users and groups"),
        ("/items/advanced-search", "", "Lists all items that were deleted"),
        ("/coupons/validate", "validateCoupon", "Validate a coupon"),
    ],
)
def test_a_post_that_reads_by_all_signs_is_proposed(path: str, name: str, summary: str) -> None:
    assert is_proposed(path, name, summary)


@pytest.mark.parametrize(
    ("path", "name", "summary"),
    [
        ("/items/search", "searchAndDestroy", ""),
        ("/items/search", "search_and_destroy", "Search items"),
        ("/queue/get", "getAndClear", "Get the queue"),
        ("/search/delete", "search", "Search items"),
        ("/delete-user/search", "search", "Search"),
        ("/items/search-and-replace", "", "Search items"),
        ("/items/query", "", "Query items and delete them"),
        ("/payments/list", "", "List payments and settle them"),
        ("/payments/list", "", "Lists payments and settles open ones"),
        ("/items/search", "", "Query users, anonymizing them"),
        ("/stock/find", "", "Find items and adjust stock"),
        ("/stock/find", "", "Finds items and corrects stock"),
        ("/stock/find", "findAndFix", "Find items"),
        ("/items/get", "getOrCreate", "Get an item"),
        ("/items/get", "getOrMake", "Get an item"),
        ("/items/find", "", "Find an item, then zap the others"),
        ("/items/find", "findOneAndUpdate", "Find an item"),
        ("/items/search", "", "Search items & purge stale ones"),
        ("/jobs/search", "startSearch", "Search jobs"),
        ("/jobs/search", "", "Start a search"),
        ("/jobs/search", "", "Runs a search"),
        ("/jobs/query", "queryExecute", ""),
        ("/jobs:runQuery", "", "Query jobs"),
        ("/items/cancel", "listItems", "List items"),
        ("/orders/checkout", "checkOut", "Check out"),
        ("/carts/{id}/validate", "validateCart", "Validate a cart"),
        ("/items/check", "", ""),
        ("/notifications/read", "readNotifications", "Read notifications"),
        ("/notifications/{id}/read", "read", "Read"),
        ("/list", "", ""),
        ("/email/filter", "", ""),
        ("/nft/list", "listToken", "List an item for sale"),
        ("/saved-search", "", ""),
        ("/searches/saved_search", "", "Search items"),
        ("/users/{id}/wish_list", "wishList", ""),
        ("/oauth/token", "getToken", "Get an access token"),
        ("/uploads/get", "getUploadUrl", "Get an upload URL"),
        ("/graphql", "query", "Query"),
        ("/query", "querySql", "Query with SQL"),
        ("/tasks/next", "getNextTask", "Get the next task"),
        ("/views/view_count", "", ""),
        ("/list/{id}", "", "Add items to a list"),
        ("/orders", "", ""),
        ("/orders", "placeOrder", "Order a pizza"),
    ],
)
def test_words_of_a_change_or_of_a_second_act_prevent_a_proposal(path: str, name: str, summary: str) -> None:
    assert not is_proposed(path, name, summary)


@pytest.mark.parametrize(
    "description",
    [
        "Finds orders and then marks them as processed.",
        "Searches orders. It deletes the ones that expired.",
        "This endpoint updates the last-seen time.",
        "The matching rows will be removed.\nThis will delete everything.",
        "As a side effect, the counter goes up.",
        "Start a C-MOVE command as a job, to retrieve one answer.",
        "Charges the customer's card.",
        "Warning! Deletes matching orders.",
        "This call permanently deletes matching orders.",
        "Matching orders will be deleted.",
        "De\u200bletes matching orders.",
        "D\u0435letes matching orders.",
    ],
)
def test_a_description_that_tells_of_a_change_prevents_a_proposal(description: str) -> None:
    assert not is_proposed("/orders/search", "searchOrders", "Search orders", description=description)


def test_a_description_of_what_other_operations_do_does_not() -> None:
    text = "Searches orders that were created, updated or deleted since a date. Use it to follow changes."
    assert is_proposed("/orders/search", "searchOrders", "Search orders", description="Use the call to find orders.")
    assert is_proposed("/orders/search", "searchOrders", "Search orders", description=text)


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_other_methods_are_never_proposed(method: str) -> None:
    found = operation("/orders/search", "searchOrders", "Search orders", method=method, **{"x-restgpt-effect": "read"})
    assert effect_of(found).kind == "change"


@pytest.mark.parametrize("status", ["201", "202", "204"])
def test_an_answer_that_something_was_made_or_accepted_prevents_a_proposal(status: str) -> None:
    alone = {status: ANSWER["200"]}
    assert not is_proposed("/orders/search", responses=alone)
    assert not is_proposed("/orders/search", responses={**ANSWER, **alone})


def test_an_answer_without_a_body_prevents_a_proposal() -> None:
    assert not is_proposed("/orders/search", responses={"200": {"description": "ok"}})


@pytest.mark.parametrize(
    "properties",
    [
        {"delete": {"type": "boolean"}},
        {"mark_as_read": {"type": "boolean"}},
        {"dry_run": {"type": "boolean"}},
        {"recipient": {"type": "string"}},
        {"password": {"type": "string"}},
        {"sql": {"type": "string"}},
        {"action": {"type": "string", "enum": ["find", "delete"]}},
        {"_method": {"type": "string"}},
        {"delete": {"type": ["boolean", "null"]}},
        {"delete_found": {"anyOf": [{"type": "boolean"}, {"type": "null"}]}},
        {"delete": {"type": "string"}},
        {"update": {"type": "object"}},
        {"action": {"const": "delete"}},
        {"action": {"anyOf": [{"enum": ["delete"]}, {"type": "null"}]}},
    ],
)
def test_a_body_that_asks_for_more_than_an_answer_prevents_a_proposal(properties: dict[str, Any]) -> None:
    assert not is_proposed("/orders/search", schema={"properties": properties})


@pytest.mark.parametrize("key", ["anyOf", "oneOf", "items"])
def test_alternatives_and_lists_of_bodies_are_looked_at_too(key: str) -> None:
    member = {"properties": {"delete": {"type": "boolean"}}}
    schema = {"type": "array", "items": member} if key == "items" else {key: [{"properties": {}}, member]}
    assert not is_proposed("/orders/search", schema=schema)


def test_a_body_of_filters_does_not() -> None:
    filters = {"deleted": {"type": "boolean"}, "created_after": {"type": "string"}, "query": {"type": "string"}}
    assert is_proposed("/orders/search", schema={"properties": filters})


def test_the_text_of_a_query_may_be_in_a_language_that_changes_data() -> None:
    assert not is_proposed("/orders/query", schema={"properties": {"query": {"type": "string"}}})


def test_a_file_and_an_idempotency_key_prevent_a_proposal() -> None:
    upload = {"content": {"multipart/form-data": {"schema": {"type": "object"}}}}
    assert not is_proposed("/orders/search", requestBody=upload)
    key = [{"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}]
    assert not is_proposed("/orders/search", parameters=key)


def test_a_document_makes_a_get_a_change_but_a_post_only_a_proposal() -> None:
    change, read = {"x-restgpt-effect": " Change"}, {"x-restgpt-effect": "read"}
    assert effect_of(operation(method="get", **change)).kind == "change"
    assert effect_of(operation("/orders/search", **change)).kind == "change"
    marked = effect_of(operation("/orders/matching", **read))
    assert (marked.is_proposed, marked.is_read) == (True, False)
    assert effect_of(operation("/orders/delete", **read)).kind == "change"


@pytest.mark.parametrize(
    "summary",
    [
        "Search and d\u0435lete orders",
        "Search orders, de\u200blete the rest",
        "Search orders" + " " * 1000 + "and delete",
        "Search orders \uff44\uff45\uff4c\uff45\uff54\uff45",
    ],
)
def test_words_that_hide_behind_other_signs_prevent_a_proposal(summary: str) -> None:
    assert not is_proposed("/orders/search", "", summary)


def test_the_users_language_and_quotes_do_not() -> None:
    assert is_proposed("/orders/search", "", "Поиск")
    assert is_proposed("/orders/search", "", "Find a user’s orders – “all”")


def test_broken_schemas_are_read_as_far_as_they_go() -> None:
    for schema in (True, {"$ref": "#/nowhere"}, {"allOf": [True, {"properties": [1]}]}, {"properties": {"a": True}}):
        body = {"content": {"application/json": {"schema": schema}}}
        assert is_proposed("/orders/search", requestBody=body)


def test_the_reason_names_the_signs_in_words_of_this_program_only() -> None:
    found = effect_of(operation("/orders/search", "searchOrders", "Search orders"))
    assert found.reason == (
        'it is a POST, but its path ends in "search" and its operationId begins with "search" '
        'and its summary begins with "search"'
    )


@pytest.mark.parametrize("home", ["paths", "components"])
def test_a_mark_that_the_document_writes_with_escapes_counts(home: str) -> None:
    marked = '{"get": {"\\u0078-restgpt-effect": "change", "responses": {}}}'
    item = marked if home == "paths" else '{"$ref": "#/components/pathItems/P"}'
    text = f'{{"openapi": "3.1.0", "paths": {{"/x": {item}}}, "components": {{"pathItems": {{"P": {marked}}}}}}}'
    assert effect_of(load_api(text).operations[0]).reason == "the document marks it with x-restgpt-effect: change"


def test_the_effects_of_all_operations_leave_none_of_them_decoded() -> None:
    for method in ("get", "post", "delete"):
        found = operation("/things/search", method=method)
        assert effect_of(found).reason
        assert not found.is_decoded


def test_safe_methods_read_for_certain() -> None:
    assert effect_of(operation(method="get")).is_read
    assert effect_of(operation("/delete", "deleteAll", method="get")).is_read
