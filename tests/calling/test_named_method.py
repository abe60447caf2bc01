"""Guards requests that name another method than their own: they count as the method that they name."""

from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore
from paths import api_of, operation_of
from wire.echo import EchoServer

from restgpt.calling.decision import Rules
from restgpt.calling.journal import Journal
from restgpt.client import Client
from restgpt.outcome import Called, Pending
from restgpt.specs.effect import effect_of
from restgpt.tools.errors import ArgumentError
from restgpt.tools.request.prepared_request import build_request
from restgpt.tools.settings import ApiEntry, EffectRule, PolicyRule, Settings

TEXT = {"type": "string"}
DELETED = {"header": {"X-HTTP-Method-Override": "DELETE"}}


def named(place: str, name: str, **more: Any) -> dict[str, Any]:
    return {"parameters": [{"name": name, "in": place, "schema": TEXT, **more}]}


def sending(media: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"_method": TEXT}}
    return {"requestBody": {"content": {media: {"schema": schema}}}}


@pytest.mark.parametrize(
    ("described", "path", "arguments", "method"),
    [
        (named("header", "X-HTTP-Method-Override"), "/x", {"header": {"x-http-method-override": " delete "}}, "DELETE"),
        (named("header", "x-method-override"), "/x", {"header": {"x-method-override": "PATCH"}}, "PATCH"),
        (named("header", "X-HTTP-Method"), "/x", {"header": {"X-HTTP-Method": "MERGE"}}, "MERGE"),
        (named("query", "_method"), "/x", {"query": {"_method": "put"}}, "PUT"),
        (named("query", "_method", required=True, schema={**TEXT, "default": "DELETE"}), "/x", {}, "DELETE"),
        (named("query", "other"), "/x?_method=delete", {}, "DELETE"),
        (sending("application/x-www-form-urlencoded"), "/x", {"body": {"_method": "DELETE"}}, "DELETE"),
        (sending("multipart/form-data"), "/x", {"body": {"_method": "DELETE"}}, "DELETE"),
        (sending("application/json"), "/x", {"body": {"_method": "DELETE"}}, "DELETE"),
        (named("header", "X_HTTP_METHOD_OVERRIDE"), "/x", {"header": {"X_HTTP_METHOD_OVERRIDE": "DELETE"}}, "DELETE"),
        (named("header", "X-Http_Method-Override"), "/x", {"header": {"X-Http_Method-Override": "PUT"}}, "PUT"),
        (named("query", "X-HTTP-Method"), "/x", {"query": {"X-HTTP-Method": "DELETE"}}, "DELETE"),
        (named("query", "_method[]"), "/x", {"query": {"_method[]": "DELETE"}}, "DELETE"),
        (named("query", "other"), "/x?_Method[0]=delete", {}, "DELETE"),
        (sending("application/json"), "/x", {"body": {"x-http-method-override": "DELETE"}}, "DELETE"),
        (named("header", "X-HTTP-Method-Override"), "/x", {}, "GET"),
        (named("header", "X-HTTP-Method-Override"), "/x", {"header": {"X-HTTP-Method-Override": "HEAD"}}, "GET"),
        (named("query", "method"), "/x", {"query": {"method": "DELETE"}}, "GET"),
    ],
)
def test_a_request_acts_as_the_method_that_it_names(
    described: dict[str, Any], path: str, arguments: dict[str, Any], method: str
) -> None:
    found = operation_of(described, "get", path, base_url="http://api.test")
    assert build_request(found, arguments).acts_as == method
    acting = found.acting_as(method)
    assert (acting.method, acting.is_safe, effect_of(acting).is_read) == ("GET", method == "GET", method == "GET")
    assert acting.is_idempotent == (method in ("GET", "PUT", "DELETE"))


@pytest.mark.parametrize("name", ["X-Original-URL", "x_rewrite_url", "X-REWRITE-URL"])
def test_a_header_names_no_other_path_than_that_of_the_request(name: str) -> None:
    found = operation_of(named("header", name), "get", "/x", base_url="http://api.test/v1")
    assert build_request(found, {"header": {name: "/v1/x"}}).headers[name] == "/v1/x"
    for other in ("/v1/admin", "/x", "x", "", "/", "http://evil.test/v1/x"):
        with pytest.raises(ArgumentError, match="another path than that of the request"):
            build_request(found, {"header": {name: other}})


def test_a_post_that_names_a_read_stays_a_change() -> None:
    found = operation_of(named("header", "X-HTTP-Method-Override"), "post", "/x", base_url="http://api.test")
    assert build_request(found, {"header": {"X-HTTP-Method-Override": "GET"}}).acts_as == "POST"


@pytest.fixture
def echo() -> Iterator[EchoServer]:
    with EchoServer() as server:
        server.script([])
        yield server


def client(echo: EchoServer, writes: str, store: Any = None) -> Client:
    described = {**named("header", "X-HTTP-Method-Override"), "operationId": "get_x", "responses": {}}
    api = api_of({"/x": {"get": described}}, base_url=echo.url)
    return Client([api], store=store, context={"writes": writes})


def test_a_read_that_names_a_change_is_denied_asked_about_and_journaled_like_the_change(echo: EchoServer) -> None:
    denied = client(echo, "deny").call("get_x", DELETED)
    assert isinstance(denied, Called)
    assert (denied.state, echo.arrived) == ("rejected", [])
    store = InMemoryStore()
    asking = client(echo, "ask", store)
    waiting = asking.call("get_x", DELETED)
    assert isinstance(waiting, Pending)
    assert echo.arrived == []
    assert isinstance(asking.decide(waiting, "approve"), Called)
    assert [request.method for request in echo.arrived] == ["GET"]
    assert len(Journal(store, waiting.thread).entries()) == 1
    assert isinstance(client(echo, "deny").call("get_x"), Called)
    assert [request.method for request in echo.arrived] == ["GET", "GET"]


@pytest.mark.parametrize(
    ("rules", "verdict"),
    [
        ([("allow", "GET")], "ask"),
        ([("allow", "DELETE")], "allow"),
        ([("deny", "DELETE")], "deny"),
        ([("deny", "GET"), ("allow", "DELETE")], "deny"),
    ],
)
def test_a_rule_holds_for_the_method_that_is_named_and_that_of_the_request_only_tightens_it(
    rules: list[tuple[Any, str]], verdict: str
) -> None:
    found = operation_of(named("header", "X-HTTP-Method"), title="t", entry="t", base_url="http://api.test")
    policy = tuple(PolicyRule(decision, methods=(method,)) for decision, method in rules)
    entry = ApiEntry(name="t", spec="t", policy=policy, effects=(EffectRule("read", ids=("x",)),))
    assert Rules(Settings(apis={"t": entry})).verdict(found.acting_as("DELETE")) == verdict
