"""Guards pagination: each way to announce a next page works, and no response leads to another operation."""

import json
from typing import Any

import pytest

from restgpt.specs import Operation, load_api
from restgpt.tools.http.pagination import follow_pages, merge_pages, next_request
from restgpt.tools.request.build import build_request
from restgpt.tools.response.reply import Reply


def operation(*names: str, method: str = "get", **more: Any) -> Operation:
    parameters = [{"name": name, "in": "query", "schema": {}} for name in names]
    document = {
        "openapi": "3.1.0",
        "info": {"title": "T", "version": "1"},
        "servers": [{"url": "https://api.example.com/v1"}],
        "components": {"securitySchemes": {"K": {"type": "apiKey", "in": "query", "name": "subscription"}}},
        "paths": {"/things/{id}": {method: {"operationId": "op", "parameters": parameters, "responses": {}, **more}}},
    }
    return load_api(document, base_url="http://127.0.0.1:1/base").operation("op")


def reply(value: Any, status: int = 200, **headers: str) -> Reply:
    return Reply(
        status, "", {"content-type": "application/json", **headers}, "application/json", json.dumps(value).encode()
    )


def following(found: Operation, answer: Reply, **query: Any) -> Any:
    given = {"path": {"id": "a/b"}, "query": query}
    result = next_request(found, given, answer)
    return None if result is None else {key: value for key, value in result.items() if key != "path" and value}


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:1/base/things/a%2Fb?page=2",
        "https://api.example.com/v1/things/a%2Fb?page=2",
        "/base/things/a%2Fb?page=2",
        "?page=2",
    ],
)
def test_addresses_on_the_apis_own_servers_become_arguments(address: str) -> None:
    assert following(operation("page"), reply({"next": address, "items": [1]})) == {"query": {"page": "2"}}
    assert following(operation("page"), reply([1], link=f'<{address}>; rel="next"')) == {"query": {"page": "2"}}
    assert following(operation("page"), reply([1], **{"next-page": address})) == {"query": {"page": "2"}}


@pytest.mark.parametrize(
    "address",
    [
        "http://evil.test/base/things/a%2Fb?page=2",
        "http://127.0.0.1:2/base/things/a%2Fb?page=2",
        "https://127.0.0.1:1/base/things/a%2Fb?page=2",
        "http://127.0.0.1:1@evil.test/base/things/a%2Fb?page=2",
        "http://169.254.169.254/latest?page=2",
        "/base/admin?page=2",
        "/base/things/a/b?page=2",
        "/base/things/a%2Fb/../../admin?page=2",
        "//evil.test/base/things/a%2Fb?page=2",
        "file:///etc/passwd?page=2",
        "javascript:alert(1)?page=2",
        "http://[::1?page=2",
    ],
)
def test_addresses_elsewhere_are_not_followed(address: str) -> None:
    assert following(operation(), reply({"next": address, "items": [1]})) is None
    assert following(operation(), reply([1], link=f'<{address}>; rel="next"')) is None
    assert following(operation(), reply([1], **{"next-page": address})) is None


def test_undeclared_values_of_a_next_address_reach_the_query_escaped() -> None:
    found = operation()
    result = next_request(
        found, {"path": {"id": "1"}}, reply({"@odata.nextLink": "/base/things/1?$skiptoken=a%26b%23"})
    )
    assert result is not None
    assert build_request(found, result).url == "http://127.0.0.1:1/base/things/1?$skiptoken=a%26b%23"


def test_credentials_in_a_next_address_are_left_out() -> None:
    address = "/base/things/a%2Fb?page=2&subscription=k&api_key=[redacted]&token=t"
    assert following(operation("page"), reply({"next": address})) == {"query": {"page": "2"}}


def test_a_declared_cursor_with_the_name_of_a_secret_is_followed() -> None:
    address = "http://127.0.0.1:1/base/things/a%2Fb?_limit=10&_token=t&api_key=k"
    assert following(operation("_limit", "_token", "api_key"), reply([1], **{"next-page": address})) == {
        "query": {"_limit": "10", "_token": "t"}
    }
    assert following(operation("_limit"), reply([1], **{"next-page": address})) == {"query": {"_limit": "10"}}


def test_unchanged_arguments_keep_their_values() -> None:
    address = "/base/things/a%2Fb?size=5&page=2"
    found = following(operation("page", "size"), reply({"next": address}), page=1, size=5)
    assert found == {"query": {"page": "2", "size": 5}}


@pytest.mark.parametrize(
    ("names", "query", "value", "expected"),
    [
        (["continue"], {}, {"metadata": {"continue": "abc"}, "items": [1]}, {"continue": "abc"}),
        (["cursor"], {}, {"items": [1], "next_cursor": "n"}, {"cursor": "n"}),
        (["cursor"], {}, {"items": [1], "response_metadata": {"next_cursor": "n"}}, {"cursor": "n"}),
        (["pageToken"], {}, {"items": [1], "nextPageToken": "n"}, {"pageToken": "n"}),
        (["after"], {}, {"data": [1], "paging": {"cursors": {"after": "n"}}}, {"after": "n"}),
        (["continuation"], {}, {"items": [1], "continuation": "n"}, {"continuation": "n"}),
        (["starting_after"], {}, {"data": [{"id": "z"}], "has_more": True}, {"starting_after": "z"}),
        (["offset"], {}, {"items": [1, 2], "total": 5}, {"offset": 2}),
        (["offset"], {"offset": 2}, {"tracks": {"items": [1, 2], "total": 5}}, {"offset": 4}),
        (["offset", "limit"], {"limit": 2}, [1, 2], {"limit": 2, "offset": 2}),
        (["startIndex"], {}, {"Resources": [1, 2], "totalResults": 5}, {"startIndex": 3}),
        (["page"], {}, {"page": 1, "total_pages": 4, "results": [1]}, {"page": 2}),
        (["page"], {"page": 3}, {"total_pages": 4, "results": [1]}, {"page": 4}),
        (["page", "per_page"], {"per_page": 2}, [1, 2], {"per_page": 2, "page": 2}),
        (["page"], {}, {"results": [1], "next_page": 2}, {"page": 2}),
        (["page"], {}, {"results": [1], "hasMore": True}, {"page": 2}),
    ],
)
def test_cursors_offsets_and_page_numbers_are_found(names: list[str], query: Any, value: Any, expected: Any) -> None:
    assert following(operation(*names), reply(value), **query) == {"query": expected}


@pytest.mark.parametrize(
    ("names", "query", "value"),
    [
        (["cursor"], {}, {"items": [1], "next_cursor": None}),
        (["cursor"], {}, {"items": [1], "next_cursor": ""}),
        (["cursor"], {}, {"items": [1], "next_cursor": "n", "has_more": False}),
        (["offset"], {"offset": 4}, {"items": [1], "total": 5}),
        (["offset"], {}, {"items": [], "total": 5}),
        (["offset", "limit"], {"limit": 3}, [1, 2]),
        (["page"], {"page": 4}, {"total_pages": 4, "results": [1]}),
        (["page"], {}, {"results": [1]}),
        (["page"], {}, {"results": [], "total_pages": 9}),
        (["page"], {}, {"results": [1], "last": True}),
        ([], {}, {"items": [1], "next_cursor": "n"}),
        (["page"], {}, "text"),
        (["page"], {}, None),
    ],
)
def test_the_end_is_seen(names: list[str], query: Any, value: Any) -> None:
    assert following(operation(*names), reply(value), **query) is None


def test_only_successful_reads_have_pages() -> None:
    assert following(operation("page"), reply({"next": "?page=2"}, status=404)) is None
    assert following(operation("page", method="post"), reply({"next": "?page=2"})) is None


def test_following_ends_at_the_budget_an_error_or_a_circle() -> None:
    found = operation("page")
    first = reply({"page": 1, "total_pages": 99, "results": [1]})
    sent: list[Any] = []

    def send(arguments: Any) -> Reply:
        sent.append(arguments["query"]["page"])
        return reply({"page": sent[-1], "total_pages": 99, "results": [1]}, status=500 if sent[-1] == 4 else 200)

    given = {"path": {"id": "1"}}
    assert len(list(follow_pages(send, found, given, first, most=3))) == 3
    assert sent == [2, 3]
    sent.clear()
    assert len(list(follow_pages(send, found, given, first, most=9))) == 3
    assert sent == [2, 3, 4]


@pytest.mark.parametrize(
    ("pages", "merged"),
    [
        ([], None),
        ([{"a": 1}], {"a": 1}),
        ([[1], [2, 3]], [1, 2, 3]),
        ([{"items": [1], "n": 2}, {"items": [2], "n": 2}], {"items": [1, 2], "n": 2}),
        ([{"t": {"items": [1]}}, {"t": {"items": [2]}}], {"t": {"items": [1, 2]}}),
        ([{"items": [1]}, {"error": "x"}], [{"items": [1]}, {"error": "x"}]),
        (["a", "b"], ["a", "b"]),
    ],
)
def test_pages_are_presented_as_one(pages: list[Any], merged: Any) -> None:
    assert merge_pages(pages) == merged
