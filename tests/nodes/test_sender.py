"""Guards the sender's records of responses: incomplete lists have a notice, only a success status is a success."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore
from paths import openapi
from wire.case import Canned
from wire.echo import EchoServer

from restgpt.calling.journal import Journal
from restgpt.calling.origin.flow import api_record
from restgpt.calling.record import Request
from restgpt.graph.node import make_parser
from restgpt.nodes.run.services import Context, Services
from restgpt.nodes.state.records import no_usage
from restgpt.specs import Api, load_api
from restgpt.tools.http.http_client import HttpClient, HttpLimits
from restgpt.tools.request.prepared_request import build_request
from restgpt.tools.settings import ApiEntry, PolicyRule, Settings

BODY = {"content": {"application/json": {"schema": {"type": "object"}}}}
USER = {"name": "user", "in": "query", "schema": {"type": "string"}}
PAGED = [{"name": "page", "in": "query", "schema": {"type": "integer"}}, {**USER, "name": "account"}]
LISTED = {"parameters": PAGED, "responses": {}}
CHANGED = {"parameters": [USER, {**USER, "name": "tenant"}], "requestBody": BODY, "responses": {}}
DOCUMENT = openapi(
    {
        "/things": {"get": LISTED, "post": {"requestBody": BODY, "responses": {}}},
        "/settings": {"get": {"parameters": [USER], "responses": {}}, "patch": CHANGED},
    }
)


@pytest.fixture
def echo() -> Iterator[EchoServer]:
    with EchoServer() as server:
        yield server


def page(number: int, *, of: int) -> Canned:
    return Canned(json.dumps({"page": number, "total_pages": of, "results": [{"n": number}]}).encode())


def request(api: Api, key: str, arguments: dict[str, Any], **more: Any) -> Request:
    operation = api.operation(key)
    found: dict[str, Any] = {"id": f"r-{key}", "round": 1, "call": 1, "attempt": 0, "operation": operation.name}
    found |= {"safe": operation.is_safe, "arguments": arguments, "pages": 1, "description": "", "note": ""}
    found |= {"fingerprint": build_request(operation, arguments).fingerprint, "status": "approved", "response": {}}
    found |= {"endpoint": f"{operation.method} {operation.base_url}{operation.path}", "api": api_record(api)}
    return {**found, "output_instruction": "", "result": "", "code": "", **more}  # type: ignore[typeddict-item,return-value]


def send(
    echo: EchoServer,
    *wanted: tuple[str, dict[str, Any], dict[str, Any]],
    store: InMemoryStore | None = None,
    from_user: tuple[str, ...] = (),
) -> list[dict[str, Any]]:
    """Return the sender's records of requests, given as key, arguments and further fields."""
    api = load_api(DOCUMENT, base_url=echo.url)
    http = HttpClient(limits=HttpLimits(attempts=1, body_bytes=10_000))
    rule = PolicyRule(None, from_user=from_user)
    settings = Settings(apis={api.name: ApiEntry(name=api.name, spec="things.json", policy=(rule,))})
    parser = make_parser(Services([api], http=http, settings=settings), None)
    runtime = Runtime(context=Context(), store=store or InMemoryStore())
    requests = [request(api, key, arguments, **more) for key, arguments, more in wanted]
    state = {"round": 1, "requests": requests, "usage": no_usage()}
    done = parser(state, runtime, {"configurable": {"thread_id": "t"}})["requests"]
    http.close()
    return done  # type: ignore[no-any-return]


LIST = ("GET /things", {}, {"pages": 5})


@pytest.mark.parametrize(
    ("last", "why"),
    [
        (Canned(status=500), "status 500"),
        (Canned(close=True), "connection"),
        (Canned(status=302, headers={"Location": "http://elsewhere.example/"}), "redirects"),
    ],
)
def test_a_list_whose_later_page_fails_says_so(echo: EchoServer, last: Canned, why: str) -> None:
    echo.script([page(1, of=9), page(2, of=9), last])
    [done] = send(echo, LIST)
    assert (done["status"], done["response"]["pages"]) == ("sent", 2)
    [notice] = done["response"]["notices"]
    assert notice.startswith("Page 3 failed (")
    assert why in notice
    assert notice.endswith("the list is not whole.")


@pytest.mark.parametrize(("pages", "of", "notices"), [(2, 2, 0), (2, 3, 1), (1, 1, 0), (1, 2, 1)])
def test_a_list_goes_on_only_where_the_last_page_says_so(echo: EchoServer, pages: int, of: int, notices: int) -> None:
    echo.script([page(1, of=of), page(2, of=of)])
    [done] = send(echo, ("GET /things", {}, {"pages": pages}))
    assert len(done["response"]["notices"]) == notices
    assert all("go on after these 2 pages" in n or "first page only" in n for n in done["response"]["notices"])


def linked(address: str) -> Canned:
    return Canned(b"[1]", headers={"Content-Type": "application/json", "Link": f'<{address}>; rel="next"'})


def test_the_next_address_of_an_answer_sets_nothing_but_the_page(echo: EchoServer) -> None:
    echo.script([linked("?account=VICTIM&page=2&_method=DELETE"), Canned(b"[2]")])
    [done] = send(echo, ("GET /things", {"query": {"account": "me"}}, {"pages": 5}))
    assert [item.target for item in echo.arrived] == ["/things?account=me", "/things?page=2&account=me"]
    assert done["response"]["notices"] == []


def test_a_list_whose_next_address_is_not_followed_says_that_it_is_not_whole(echo: EchoServer) -> None:
    echo.script([linked("?account=VICTIM")])
    [done] = send(echo, ("GET /things", {"query": {"account": "me"}}, {"pages": 5}))
    assert (len(echo.arrived), done["response"]["rest"]) == (1, "failed")
    assert done["response"]["notices"][0].startswith("The list is not whole: ")


def test_a_page_that_is_the_one_before_again_is_left_out_and_told(echo: EchoServer) -> None:
    echo.script([page(1, of=9), page(2, of=9), page(2, of=9)])
    [done] = send(echo, LIST)
    assert (len(echo.arrived), done["response"]["pages"], done["response"]["rest"]) == (3, 2, "failed")
    assert done["response"]["notices"][0].startswith("Page 3 has the items of the page before it")


def test_pages_that_cannot_be_joined_are_told(echo: EchoServer) -> None:
    echo.script([page(1, of=2), Canned(b'{"error": "busy"}', headers={"Content-Type": "application/json"})])
    [done] = send(echo, LIST)
    assert done["response"]["notices"] == ["The pages have no list in common, so this is a list of them."]


def test_an_answer_sets_no_argument_that_the_user_must_give(echo: EchoServer) -> None:
    said = {"provenance": [{"pointer": "/query/account", "origin": "user"}], "pages": 5}
    wanted = ("GET /things", {"query": {"account": "me"}}, said)
    for rule, pages in (("query.account", 2), ("query.page", 1), ("query.*", 1), ("query.cursor", 1)):
        echo.script([linked("?page=2&cursor=x"), Canned(b"[2]")])
        [done] = send(echo, wanted, from_user=(rule,))
        assert (len(echo.arrived), done["response"]["pages"]) == (pages, pages), rule
        assert ["must come from the user" in notice for notice in done["response"]["notices"]] == [True] * (2 - pages)


def test_a_page_that_was_cut_makes_the_list_one_that_was_cut(echo: EchoServer) -> None:
    next_page = f'<{echo.url}/things?page=2>; rel="next"'
    long = Canned(b"[" + b"1," * 9_000 + b"1]", headers={"Content-Type": "application/json", "Link": next_page})
    echo.script([long, Canned(b"[2]")])
    [done] = send(echo, LIST)
    assert (done["response"]["pages"], done["response"]["truncated"]) == (2, True)
    assert done["response"]["notices"][0].startswith("Of page 1 only the first part was read")


@pytest.mark.parametrize(
    "answer",
    [Canned(status=302, headers={"Location": "http://elsewhere.example/"}), Canned(headers={"Content-Encoding": "br"})],
)
def test_an_answer_that_is_not_followed_is_told_of_a_read(echo: EchoServer, answer: Canned) -> None:
    echo.script([answer])
    [done] = send(echo, LIST)
    assert (done["status"], bool(done["note"])) == ("failed", True)


def test_a_redirect_is_no_success_of_a_change(echo: EchoServer) -> None:
    echo.script([Canned(status=302, headers={"Location": "/login"}), Canned(status=201)])
    store = InMemoryStore()
    first = ("POST /things", {"body": {"a": 1}}, {"id": "r1"})
    done = send(echo, first, ("POST /things", {"body": {"a": 2}}, {"id": "r2"}), store=store)
    assert [item["status"] for item in done] == ["sent", "rejected"]
    assert len(echo.arrived) == 1
    assert "undo" not in Journal(store, "t").entries()[0]


@pytest.mark.parametrize("status", ["rejected", "held", "failed", "sent"])
def test_only_what_is_approved_is_sent(echo: EchoServer, status: str) -> None:
    echo.script([Canned(status=201)])
    first = ("POST /things", {"body": {}}, {"id": "r1", "status": status})
    done = send(echo, first, ("POST /things", {"body": {}}, {}))
    assert [item["status"] for item in done] == ["sent"]
    assert len(echo.arrived) == 1


@pytest.mark.parametrize(
    ("query", "looked", "known"),
    [
        ({"user": "bob"}, "/settings?user=bob", "present"),
        ({"tenant": "x"}, None, "unread"),
        ({}, "/settings", "present"),
    ],
)
def test_the_target_is_looked_up_as_the_change_names_it(
    echo: EchoServer, query: dict[str, str], looked: str | None, known: str
) -> None:
    store = InMemoryStore()
    echo.script([Canned(b'{"a": 1}')])
    send(echo, ("PATCH /settings", {"query": query, "body": {"a": 2}}, {}), store=store)
    assert [item.target for item in echo.arrived if item.method == "GET"] == ([looked] if looked else [])
    assert Journal(store, "t").entries()[0]["earlier"]["known"] == known
