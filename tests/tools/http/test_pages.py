"""Guards pagination: each way to announce a next page works, and no response leads to another operation."""

import json
import time
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from paths import operation_of

from restgpt.specs import Operation
from restgpt.tools.http.pagination import PageWalk, merge_pages, next_link, next_request, unfollowed
from restgpt.tools.request.prepared_request import build_request
from restgpt.tools.response.content import Reply


def operation(*names: str, method: str = "get", **more: Any) -> Operation:
    parameters = [{"name": name, "in": "query", "schema": {}} for name in names]
    fields = {"parameters": parameters, **more}
    servers = [{"url": "https://api.example.com/v1"}]
    schemes = {"K": {"type": "apiKey", "in": "query", "name": "subscription"}}
    base = "http://127.0.0.1:1/base"
    return operation_of(fields, method, "/things/{id}", servers=servers, schemes=schemes, base_url=base)


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


def test_credentials_in_a_next_address_are_left_out_and_unchanged_arguments_keep_their_values() -> None:
    address = "/base/things/a%2Fb?size=5&page=2&subscription=k&api_key=[redacted]&token=t"
    found = following(operation("page", "size"), reply({"next": address}), page=1, size=5)
    assert found == {"query": {"page": "2", "size": 5}}


def test_a_declared_cursor_with_the_name_of_a_secret_is_followed() -> None:
    address = "http://127.0.0.1:1/base/things/a%2Fb?_limit=10&_token=t&api_key=k"
    assert following(operation("_limit", "_token", "api_key"), reply([1], **{"next-page": address})) == {
        "query": {"_limit": "10", "_token": "t"}
    }
    assert following(operation("_limit", "page"), reply([1], **{"next-page": f"{address}&page=2"})) == {
        "query": {"_limit": "10", "page": "2"}
    }
    # Without the cursor, the next page would be the first one again.
    assert following(operation("_limit"), reply([1], **{"next-page": address})) is None


GIVEN = {"account": "me", "q": "a b", "page": 1, "limit": 5}


@pytest.mark.parametrize(
    "address",
    [
        *("?account=VICTIM&page=2", "?account=me&account=VICTIM&page=2", "?page=2", "?page=2&_method=DELETE"),
        *("?page=2&X-HTTP-Method-Override=DELETE", "?page=2&Account=VICTIM", "?page=2&account%00=VICTIM"),
        *("?page=2&account[]=VICTIM", "?page=2&account=", "?page=2&q=", "?page=2&limit=all"),
        *("?page=2&access_token=t", "?page=2&token=t", "?page=2&subscription=k"),
        *("?page=2&q=a+b%26account%3DVICTIM", "?page=2#account=VICTIM"),
    ],
)
def test_a_next_address_changes_no_value_but_the_page(address: str) -> None:
    found = operation("account", "q", "page", "limit", "from", "purge")
    expected = {"query": {**GIVEN, "page": "2"}}
    assert following(found, reply({"next": address, "items": [1]}), **GIVEN) == expected
    assert following(found, reply([1], link=f'<{address}>; rel="next"'), **GIVEN) == expected


@pytest.mark.parametrize("added", [{"seed": "42"}, {"from": "a b&c"}, {"tag": ["x", "y"]}, {"_getpages": "u", "n": ""}])
def test_what_a_next_address_adds_is_sent_with_it(added: dict[str, Any]) -> None:
    found, address = operation("page", "from"), f"?page=2&{urlencode(added, doseq=True)}"
    result = next_request(found, {"path": {"id": "1"}, "query": {"page": 1}}, reply({"next": address, "items": [1]}))
    assert result is not None
    sent = parse_qs(urlsplit(build_request(found, result).url).query, keep_blank_values=True)
    assert sent == parse_qs(address[1:], keep_blank_values=True)


@pytest.mark.parametrize(
    ("name", "header", "text", "sent"),
    [
        ("continuationToken", "x-ms-continuationtoken", "n", "n"),
        ("cursor", "X-Next-Cursor", "n", "n"),
        ("page", "opc-next-page", "AAQ=", "AAQ="),
        ("page", "X-Next-Page", "2", 2),
        ("page", "Next-Page", "2", 2),
        ("page", "X-Pagination-Total-Pages", "2", 1),
        ("offset", "X-Total-Count", "2", 1),
        ("offset", "Content-Range", "items 0-0/2", 1),
        ("pageNumber", "X-Pagination", '{"CurrentPage": 1, "TotalPages": 2}', 2),
        ("page", "X-Pagination", '{"currentPage": 0, "totalCount": 2, "hasNext": true}', 1),
    ],
)
def test_a_header_of_the_answer_leads_to_the_next_page(name: str, header: str, text: str, sent: Any) -> None:
    assert following(operation(name), reply([{"id": 1}], **{header: text})) == {"query": {name: sent}}


def test_the_parts_of_a_cursor_in_headers_go_into_the_parameters_that_have_their_names() -> None:
    found = operation("NextPartitionKey", "NextRowKey", "filter")
    one, two = {"x-ms-continuation-NextPartitionKey": "1!8!a="}, {"x-ms-continuation-NextRowKey": "b"}
    sent = {"NextPartitionKey": "1!8!a=", "NextRowKey": "b", "filter": "f"}
    assert following(found, reply([1], **one, **two), filter="f", NextRowKey="old") == {"query": sent}
    assert following(found, reply([1], **one), NextRowKey="old") == {"query": {"NextPartitionKey": "1!8!a="}}


def test_a_token_may_be_sent_as_a_header() -> None:
    header = {"name": "x-ms-continuation", "in": "header", "schema": {"type": "string"}}
    secret = {"name": "X-Token", "in": "header", "schema": {"type": "string"}}
    found, answer = operation(), reply([1], **{"x-ms-continuation": "n", "next-token": "t"})
    assert following(operation(parameters=[secret, header]), answer) == {"header": {"x-ms-continuation": "n"}}
    assert following(operation(parameters=[secret]), answer) is None
    assert following(found, answer) is None


@pytest.mark.parametrize("given", [{}, {"pageable": {"page": 0, "size": 1}}])
def test_an_object_parameter_of_pages_leads_on(given: Any) -> None:
    fields = {"page": {"type": "integer"}, "size": {"type": "integer"}, "sort": {"type": "string"}}
    pageable = {"name": "pageable", "in": "query", "schema": {"type": "object", "properties": fields}}
    answer = reply({"content": [{}], "number": 0, "totalPages": 2})
    expected = {"pageable": {**given.get("pageable", {}), "page": 1}}
    assert following(operation(parameters=[pageable]), answer, **given) == {"query": expected}


SHAPES = {
    "PagedModel": lambda items, n, base: {"content": items, "page": {"size": 2, "number": n, "totalPages": 3}},
    "Slice": lambda items, n, base: {"content": items, "number": n, "last": n == base + 2, "size": 2},
    "page": lambda items, n, base: {"items": items, "page": n, "pages": 3},
    "has_more": lambda items, n, base: {"items": items, "has_more": n < base + 2},
    "total": lambda items, n, base: {"items": items, "total": 6},
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("asked", "told"), [(0, 0), (1, 1), (1, 0)])
@pytest.mark.parametrize("default", [False, True])
def test_no_page_is_left_out_whatever_the_first_number_is(shape: str, asked: int, told: int, default: bool) -> None:
    number = {"type": "integer", **({"default": asked} if default else {})}
    found = operation(parameters=[{"name": "page", "in": "query", "schema": number}])

    def send(arguments: Any) -> Reply:
        index = arguments.get("query", {}).get("page", asked) - asked
        items = [{"id": n} for n in range(index * 2, min(index * 2 + 2, 6))]
        return reply(SHAPES[shape](items, index + told, told))

    first: dict[str, Any] = {"path": {"id": "1"}}
    walk = PageWalk(send, found, first, send(first))
    items = [item for answer in walk for item in next(v for v in answer.content.value.values() if isinstance(v, list))]
    assert (items, walk.doubt, walk.goes_on) == ([{"id": n} for n in range(6)], "", False)


@pytest.mark.parametrize(
    ("name", "pages"),
    [
        ("page", [{"page": 1, "total_pages": 4}, {"page": 3, "total_pages": 4}]),
        ("page", [{"total": 4}, {"total": 4, "items": []}]),
        ("q", [{"has_more": True}]),
        ("cursor", [{"next_cursor": "a", "has_more": True}, {"has_more": True}]),
        ("page", [{"@odata.count": 9}, {"@odata.count": 9, "items": []}]),
        ("page", [{"link": [{"relation": "next", "url": "/base/other?page=2"}]}]),
    ],
)
def test_a_list_that_ends_in_doubt_is_told(name: str, pages: list[Any]) -> None:
    answers = iter([reply({"items": [{"id": n}], **page}) for n, page in enumerate(pages)])
    walk = PageWalk(lambda _: next(answers), operation(name), {"path": {"id": "1"}}, next(answers))
    assert list(walk)
    assert walk.doubt.startswith("The list is not whole: ")


@pytest.mark.parametrize(
    "address",
    [
        *("?account=VICTIM", "?_method=DELETE", "?account=me&q=other&page=1&limit=5", "?page=2&page=3", "?page=-1"),
        *("?page=2;account=VICTIM", "?page=2%26account%3DVICTIM", "?page=" + "9" * 30, "?limit=100", "?q=a%20b%00"),
        *("?after=" + "x" * 70_000, "/base/things/a%2Fb/page/2?page=2", "/base/things/a%2Fb;account=VICTIM?page=2"),
        *("http://user@evil.test/base/things/a%2Fb?page=2", "\\\\evil.test/base/things/a%2Fb?page=2"),
    ],
)
def test_a_next_address_that_leads_to_no_page_is_not_followed(address: str) -> None:
    found = operation("account", "q", "page", "limit")
    assert following(found, reply({"next": address, "items": [1]}), **GIVEN) is None
    assert following(found, reply([1], link=f'<{address}>; rel="next"'), **GIVEN) is None


@pytest.mark.parametrize(
    ("given", "address", "page"),
    [
        # GitHub: lists of pages, and of users by their ids
        ({"state": "open"}, "?state=open&per_page=30&page=2", {"page": "2", "per_page": "30"}),
        ({}, "?since=135", {"since": "135"}),
        # Kinto, Spotify, HubSpot, PagerDuty
        ({"_token": "a", "_limit": 2}, "?_limit=2&_token=b", {"_token": "b"}),
        ({"limit": 2}, "?offset=2&limit=2&locale=en", {"offset": "2", "locale": "en"}),
        ({"limit": 2}, "?limit=2&after=NTI1", {"after": "NTI1"}),
        ({"offset": 0, "limit": 25}, "?limit=25&offset=25&total=true", {"offset": "25", "total": "true"}),
        # OData, Stripe, Shopify, Okta, JSON:API, Mastodon, Django
        ({"$filter": "a eq 1"}, "?$filter=a%20eq%201&$skiptoken=X'1'", {"$skiptoken": "X'1'"}),
        ({"$top": 5}, "?$top=5&$skip=5", {"$skip": "5"}),
        ({"limit": 3}, "?limit=3&starting_after=obj_1", {"starting_after": "obj_1"}),
        ({"status": "any"}, "?limit=50&page_info=hij", {"page_info": "hij", "limit": "50"}),
        ({"limit": 3}, "?after=00u1&limit=3", {"after": "00u1"}),
        ({}, "?page[number]=2&page[size]=10", {"page[number]": "2", "page[size]": "10"}),
        ({}, "?max_id=1234&min_id=9", {"max_id": "1234", "min_id": "9"}),
        ({"cursor": "a", "ordering": "id"}, "?cursor=cD0y&ordering=id", {"cursor": "cD0y"}),
    ],
)
def test_the_next_addresses_of_well_known_apis_are_followed(given: Any, address: str, page: dict[str, str]) -> None:
    for names in (list({**given, **page}), list(given)):
        result = next_request(operation(*names), {"path": {"id": "a"}, "query": given}, reply({"next": address}))
        assert result is not None
        assert {**result["query"], **result.get("@page", {})} == {**given, **page}


def test_a_filter_of_the_user_is_not_changed_though_cursors_have_such_names() -> None:
    found = operation("since", "after", "from", "page")
    given = {"since": "2024-01-01", "after": "2024-01-01", "from": "me"}
    address = "?since=1999-01-01&after=1999-01-01&from=2&page=2"
    assert following(found, reply({"next": address}), **given) == {"query": {**given, "page": "2"}}


def test_a_cursor_that_is_a_date_leads_on_if_the_first_request_had_none() -> None:
    found = operation("after")
    first, second = {"path": {"id": "1"}}, {"path": {"id": "1"}, "query": {"after": "2024-05-01"}}
    answer = reply({"next": "?after=2024-06-01"})
    assert next_request(found, second, answer, first=first) == {**second, "query": {"after": "2024-06-01"}}
    assert next_request(found, second, answer) is None


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("?account=VICTIM&page=1", "changes other arguments"),
        ("?limit=9&page=1", "changes other arguments"),
        ("http://public.test/v1/things/1?page=2", "leads to another server"),
        ("?page=1", ""),
        ("", ""),
        ("/base/elsewhere?page=2", ""),
        ("http://public.test/v1/elsewhere?page=2", ""),
        ("http://[::1?page=2", ""),
    ],
)
def test_a_next_address_of_the_list_that_is_not_followed_is_noticed(address: str, why: str) -> None:
    given = {"path": {"id": "1"}, "query": {"page": 1}}
    found = unfollowed(operation("page", "account"), given, reply({"next": address}))
    assert (found[: len(why)], bool(found)) == (why, bool(why))


@pytest.mark.parametrize("address", ["/repositories/77/things?page=2", "http://public.test/x?page=2"])
def test_a_next_address_in_a_header_that_leads_elsewhere_is_noticed(address: str) -> None:
    answer = reply([1], link=f'<{address}>; rel="next"')
    assert "another server or path" in unfollowed(operation("page"), {"path": {"id": "1"}}, answer)


NEXT = {"relation": "next", "url": "?page=2"}
SCIM = {"totalResults": 3, "startIndex": 1, "itemsPerPage": 1, "Resources": [1]}


@pytest.mark.parametrize(
    ("names", "query", "value", "expected"),
    [
        (["continue"], {}, {"metadata": {"continue": "abc"}, "items": [1]}, {"continue": "abc"}),
        (["cursor"], {}, {"items": [1], "next_cursor": "n"}, {"cursor": "n"}),
        (["cursor"], {}, {"items": [1], "response_metadata": {"next_cursor": "n"}}, {"cursor": "n"}),
        (["pageToken"], {}, {"items": [1], "nextPageToken": "n"}, {"pageToken": "n"}),
        (["after"], {}, {"data": [1], "paging": {"cursors": {"after": "n"}}}, {"after": "n"}),
        (["continuation"], {}, {"items": [1], "continuation": "n"}, {"continuation": "n"}),
        (["after", "cursor"], {"after": "2024-05-01"}, {"next_cursor": "n"}, {"after": "2024-05-01", "cursor": "n"}),
        (["starting_after"], {}, {"data": [{"id": "z"}], "has_more": True}, {"starting_after": "z"}),
        (["iterator"], {}, {"data": [{"id": "z"}], "iterator": "n", "done": False}, {"iterator": "n"}),
        (["iterator"], {}, {"data": [{"id": "z"}], "has_more": True}, {"iterator": "z"}),
        (["iterator", "limit"], {"limit": 1}, [{"id": "z", "cursor": "n"}], {"limit": 1, "iterator": "n"}),
        (["offset"], {}, {"items": [1, 2], "total": 5}, {"offset": 2}),
        (["offset"], {}, {"facets": [{"name": "a"}] * 9, "items": [1, 2], "total": 9}, {"offset": 2}),
        (["offset"], {"offset": 2}, {"tracks": {"items": [1, 2], "total": 5}}, {"offset": 4}),
        (["offset", "limit"], {"limit": 2}, [1, 2], {"limit": 2, "offset": 2}),
        (["startIndex"], {}, {"Services": [1, 2], "totalResults": 5}, {"startIndex": 3}),
        (["startIndex"], {}, SCIM, {"startIndex": 2}),
        (["startIndex"], {}, {"total": 3, "startIndex": 0, "items": [1]}, {"startIndex": 1}),
        (["$skip"], {}, {"@odata.count": 2, "value": [1]}, {"$skip": 1}),
        (["page"], {}, {"page": 1, "total_pages": 4, "results": [1]}, {"page": 2}),
        (["page"], {"page": 3}, {"total_pages": 4, "results": [1]}, {"page": 4}),
        (["page", "per_page"], {"per_page": 2}, [1, 2], {"per_page": 2, "page": 1}),
        (["page"], {}, {"results": [1], "next_page": 2}, {"page": 2}),
        (["page"], {}, {"results": [1], "hasMore": True}, {"page": 1}),
        (["page"], {"page": 1}, {"link": [{"relation": "self", "url": "?page=1"}, NEXT]}, {"page": "2"}),
        (["page"], {"page": 1}, {"links": [{"rel": ["next"], "href": "?page=2"}], "items": [{}]}, {"page": "2"}),
        (["page"], {}, {"_links": {"next": {"href": "?page=2{&sort,filter*}", "templated": True}}}, {"page": "2"}),
    ],
)
def test_cursors_offsets_page_numbers_and_links_of_hypermedia_are_found(
    names: list[str], query: Any, value: Any, expected: Any
) -> None:
    assert following(operation(*names), reply(value), **query) == {"query": expected}


DATED = ["account", "after"], {"after": "2024-05-01"}


@pytest.mark.parametrize(
    ("names", "query", "value"),
    [
        (["cursor"], {}, {"items": [1], "next_cursor": None}),
        (["cursor"], {}, {"items": [1], "next_cursor": ""}),
        (["cursor"], {}, {"items": [1], "next_cursor": "n", "has_more": False}),
        (["iterator"], {}, {"data": [{"id": "z"}], "iterator": "n", "done": True}),
        (["iterator", "limit"], {"limit": 2}, [{"id": "z", "cursor": "n"}]),
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
        (*DATED, {"items": [1], "next_cursor": "1999"}),
        (*DATED, {"items": [1], "after": "1999-01-01"}),
        (*DATED, {"items": [1], "next": "other"}),
    ],
)
def test_the_end_is_seen_and_no_cursor_replaces_a_date(names: list[str], query: Any, value: Any) -> None:
    assert following(operation(*names), reply(value), **query) is None


def test_only_successful_replies_have_next_pages() -> None:
    assert following(operation("page"), reply({"next": "?page=2"}, status=404)) is None


def post(**fields: Any) -> Operation:
    """A list that is asked for by POST, with these fields in its JSON body, by their types or schemas."""
    given = {name: field if isinstance(field, dict) else {"type": field} for name, field in fields.items()}
    schema = {"type": "object", "properties": given}
    body = {"content": {"application/json": {"schema": schema}}}
    return operation(method="post", requestBody=body)


def following_body(found: Operation, value: Any, body: Any) -> Any:
    """The body for the next page, if nothing else of the request changes; None if there is no next page."""
    given = {"path": {"id": "1"}, "body": body}
    result = next_request(found, given, reply(value))
    if result is not None:
        assert {**result, "body": None} == {**given, "body": None}
    return None if result is None else result["body"]


NULLABLE = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
NOTION, WISH = {"start_cursor": "string", "page_size": "integer", "filter": "object"}, {"filter": {"a": 1}}
ELASTIC = {"from": "integer", "size": "integer", "query": "object"}
SIZED = {"pagination": {"size": 1}}
CURSOR = {"type": "object", "properties": {"cursor": {"type": "string"}}}
PAGING = {"type": "object", "properties": {"size": {"type": "integer"}, "number": {"type": "integer"}}}


JIRA = {"issues": [{}], "nextPageToken": "t", "isLast": False}
HITS = {"hits": {"total": {"value": 3, "relation": "eq"}, "hits": [{}]}}
SECOND = {"pagination": {"size": 1, "number": 1}}


@pytest.mark.parametrize(
    ("fields", "body", "value", "following"),
    [
        # Notion
        (NOTION, WISH, {"results": [{}], "next_cursor": "c2", "has_more": True}, {**WISH, "start_cursor": "c2"}),
        # Prefect, LangGraph: a bare list
        ({"limit": NULLABLE, "offset": "integer"}, {"limit": 2}, [{}, {}], {"limit": 2, "offset": 2}),
        ({"limit": {"type": "integer", "default": 2}, "offset": "integer"}, {"offset": 2}, [{}, {}], {"offset": 4}),
        # Prefect's paginate
        ({"limit": NULLABLE, "page": "integer"}, {}, {"results": [{}], "page": 1, "pages": 3}, {"page": 2}),
        # Elasticsearch
        (ELASTIC, {"size": 1}, HITS, {"size": 1, "from": 1}),
        # HubSpot, Jira
        ({"after": "string"}, {}, {"results": [{}], "paging": {"next": {"after": "20"}}}, {"after": "20"}),
        ({"nextPageToken": "string"}, {}, JIRA, {"nextPageToken": "t"}),
        # An object for paging
        ({"pagination": PAGING, "filter": "object"}, SIZED, {"data": [{}], "meta": {"total": 5}}, SECOND),
        ({"page": CURSOR}, {}, {"data": [{}], "after": "x"}, {"page": {"cursor": "x"}}),
        # A field that the document does not have, but the request does
        ({}, {"limit": 2, "offset": 0}, [{}, {}], {"limit": 2, "offset": 2}),
        # A number that no page has
        ({"page": "integer"}, {}, {"items": [1], "page": -100, "total_pages": 9}, {"page": 1}),
    ],
)
def test_a_field_of_the_body_leads_to_the_next_page(fields: Any, body: Any, value: Any, following: Any) -> None:
    assert following_body(post(**fields), value, body) == following


@pytest.mark.parametrize("address", ["?page=2&user_id=9&purge=true&_method=DELETE", "?page=2"])
def test_a_next_address_changes_only_the_page_of_a_list_by_post(address: str) -> None:
    body = {"content": {"application/json": {"schema": {"type": "object"}}}}
    found = operation("page", "user_id", "purge", method="post", requestBody=body)
    given = {"path": {"id": "1"}, "query": {"user_id": "1"}, "body": {"a": 1}}
    expected = {**given, "query": {"user_id": "1", "page": "2"}}
    assert next_request(found, given, reply({"next": address, "items": [1]})) == expected
    assert next_request(found, given, reply([1], link=f'<{address}>; rel="next"')) == expected
    assert next_request(found, given, reply([1], link='<?_method=DELETE>; rel="next"')) is None


@pytest.mark.parametrize("default", ["²", "9" * 5000, "-1", "1e3"])
def test_a_default_that_is_no_usable_number_counts_as_none(default: str) -> None:
    number = {"type": "integer", "default": default}
    assert following_body(post(offset=number), {"items": [1], "total": 9}, {}) == {"offset": 1}
    assert following_body(post(offset="integer", limit=number), {"items": [1]}, {}) is None


@pytest.mark.parametrize(
    ("fields", "body", "value"),
    [
        # Ends
        ({"start_cursor": "string"}, {}, {"results": [{}], "next_cursor": None, "has_more": False}),
        ({"limit": "integer", "offset": "integer"}, {"limit": 3}, [{}, {}]),
        ({"offset": "integer"}, {}, [{}, {}]),
        ({"page": "integer"}, {"page": 3}, {"results": [{}], "pages": 3}),
        ({"from": "integer", "size": "integer"}, {"size": 2}, {"hits": {"total": {"value": 1}, "hits": [{}]}}),
        # Fields of other meanings
        ({"from": "string"}, {"from": "2024-01-01"}, {"items": [{}], "total": 9}),
        ({"start": {"type": "string", "format": "date"}}, {}, {"items": [{}], "total": 9}),
        ({"first": "string"}, {"first": "Ann"}, {"items": [{}], "total": 9}),
        ({"token": "string"}, {"token": "secret"}, {"items": [{}], "next_token": "other"}),
        ({"name": "string"}, {"name": "Ann"}, {"items": [{}], "name": "Bob", "next_cursor": "c"}),
        ({"page": {"type": "string"}}, {"page": "Home"}, {"items": [{}], "total_pages": 9}),
        # Values that are no page
        ({"cursor": "string"}, {}, {"items": [1], "next_cursor": "x" * 100_000}),
        ({"cursor": "string"}, {}, {"items": [1], "next_cursor": {"$ne": 1}}),
        ({"page": "integer"}, {}, {"items": [1], "next_page": -5}),
    ],
)
def test_a_list_by_post_that_has_ended_or_names_no_page_has_no_next_one(fields: Any, body: Any, value: Any) -> None:
    assert following_body(post(**fields), value, body) is None


def test_following_ends_at_the_budget_or_an_error() -> None:
    first = reply({"page": 1, "total_pages": 99, "results": [1]})
    sent: list[Any] = []

    def send(arguments: Any) -> Reply:
        sent.append(arguments["query"]["page"])
        page = {"page": sent[-1], "total_pages": 99, "results": [sent[-1]]}
        return reply(page, status=500 if sent[-1] == 4 else 200)

    for most, pages in ((3, [2, 3]), (9, [2, 3, 4])):
        sent.clear()
        assert len(list(PageWalk(send, operation("page"), {"path": {"id": "1"}}, first, most=most))) == 3
        assert sent == pages


@pytest.mark.parametrize("page", [[{"id": 1}], {"results": [{"id": 1}], "facets": ["a"]}])
def test_following_ends_where_a_server_sends_the_page_before_again(page: Any) -> None:
    found, first = operation("page", "per_page"), reply(page)
    given = {"path": {"id": "1"}, "query": {"per_page": 1}}
    assert list(PageWalk(lambda _: reply(page), found, given, first)) == [first]


@pytest.mark.parametrize(
    ("pages", "merged"),
    [
        ([], None),
        ([{"a": 1}], {"a": 1}),
        ([[1], [2, 3]], [1, 2, 3]),
        ([{"items": [1], "n": 2}, {"items": [2], "n": 2}], {"items": [1, 2], "n": 2}),
        ([{"t": {"items": [1]}}, {"t": {"items": [2]}}], {"t": {"items": [1, 2]}}),
        ([{"items": [1]}, {"error": "x"}], [{"items": [1]}, {"error": "x"}]),
        ([{"items": [1], "facets": [7, 8]}, {"items": [2], "facets": [7, 8]}], {"items": [1, 2], "facets": [7, 8]}),
        ([{"items": [], "tags": ["a"]}, {"items": [2], "tags": ["a"]}], {"items": [2], "tags": ["a"]}),
        ([{"data": [1], "included": [7, 8]}, {"data": [2], "included": [9]}], {"data": [1, 2], "included": [7, 8, 9]}),
        ([{"data": [1]}, {"data": [2], "included": [9]}], {"data": [1, 2], "included": [9]}),
        ([{"data": [1], "more": None}, {"data": [2], "more": [3]}], {"data": [1, 2], "more": [3]}),
        ([{"ids": [1], "by": {"1": "a"}}, {"ids": [2], "by": {"2": "b"}}], {"ids": [1, 2], "by": {"1": "a", "2": "b"}}),
        ([{"by": {"1": "a"}}, {"by": {"2": "b"}}], [{"by": {"1": "a"}}, {"by": {"2": "b"}}]),
        (["a", "b"], ["a", "b"]),
    ],
)
def test_pages_are_presented_as_one(pages: list[Any], merged: Any) -> None:
    assert merge_pages(pages) == merged


def test_spaces_in_a_link_header_take_little_time() -> None:
    started = time.process_time()
    assert next_link({"link": f"<a>;rel={' ' * 60_000}x"}) == ""
    assert time.process_time() - started < 10


@pytest.mark.parametrize(("start", "end"), [("from", "to"), ("start", "end")])
def test_the_start_of_a_range_is_no_offset(start: str, end: str) -> None:
    answer = reply({"items": [1], "total": 9})
    assert following(operation(start, end, "limit"), answer, **{start: 5, end: 9, "limit": 1}) is None
    assert following(operation(start, "limit"), answer, **{start: 5, "limit": 1}) is not None


@pytest.mark.parametrize("name", ["offset", "page"])
def test_a_next_address_may_add_a_cursor_under_the_name_of_a_number(name: str) -> None:
    answer = reply({"next": f"?{name}=itr/rec5", "items": [1]})
    assert following(operation("account", name), answer, account="1") == {"query": {"account": "1", name: "itr/rec5"}}
    assert following(operation("account", name), answer, **{name: "3"}) is None
