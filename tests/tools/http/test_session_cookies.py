"""Guards session cookies: they go with the later calls of a run to their origin, nowhere else, and nobody sees them."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from loopback import Handler, Server
from paths import api_of, operation_of

from restgpt.client import Client
from restgpt.outcome import Pending
from restgpt.specs import Api
from restgpt.tools.errors import MissingCredentialError
from restgpt.tools.http.http_client import HttpClient
from restgpt.tools.request.prepared_request import build_request
from restgpt.tools.settings import ApiEntry, Settings

SID = "s-41-93ab"
LOGIN = "login()\n"


class Shop(Handler):
    """Sets a cookie at /login, ends it at /logout, and answers /me and /items with it only."""

    def do_GET(self) -> None:
        self.body()
        cookie = self.headers.get("Cookie") or ""
        self.server.seen.append((self.command, self.path, cookie))
        if self.path.startswith("/away"):
            return self.answer({}, 302, Location=self.server.away)
        if self.path in ("/login", "/logout"):
            ends = "; Max-Age=0" if self.path == "/logout" else ""
            return self.answer({"session": SID}, Set_Cookie=f"sid={SID}; Path=/; HttpOnly; Secure{ends}")
        is_in = f"sid={SID}" in cookie
        return self.answer({"me": "ada", "seen": SID} if is_in else {"error": "no session"}, 200 if is_in else 401)

    do_POST = do_GET


def served() -> Any:
    server = Server(Shop)
    server.seen, server.away = [], ""  # type: ignore[attr-defined]
    return server


@pytest.fixture
def shop() -> Iterator[Any]:
    with served() as server:
        yield server


SCHEMES = {"Sid": {"type": "apiKey", "in": "cookie", "name": "sid"}}


def api(server: Any, *, with_scheme: bool = False) -> Api:
    paths = {"/login": "post", "/logout": "post", "/items": "post", "/me": "get"}
    operations = {path: {method: {"operationId": path[1:], "responses": {}}} for path, method in paths.items()}
    more: dict[str, Any] = {"schemes": SCHEMES, "security": [{"Sid": []}]} if with_scheme else {}
    return api_of(operations, base_url=server.url, **more)


def client(server: Any, *, writes: str = "allow", **more: Any) -> Client:
    kept = {name: more.pop(name) for name in ("checkpointer", "store") if name in more}
    return Client([api(server, **more)], context={"writes": writes}, **kept)


@pytest.mark.parametrize("with_scheme", [False, True])
def test_a_cookie_of_a_login_goes_with_the_later_calls_of_a_program_up_to_a_logout(
    shop: Any, with_scheme: bool
) -> None:
    ran: Any = client(shop, with_scheme=with_scheme).run(f"{LOGIN}print(me()['me'])")
    assert "ada" in ran.text
    assert shop.seen == [("POST", "/login", ""), ("GET", "/me", f"sid={SID}")]
    client(shop).run(f"{LOGIN}logout()\nme()")
    assert shop.seen[-1] == ("GET", "/me", "")


def test_a_cookie_goes_into_no_other_thread(shop: Any) -> None:
    one = client(shop)
    one.run(LOGIN + "print(1)")
    one.call("login", thread="mine")
    one.run("print(me())")
    one.call("me")
    one.call("items", thread="yours")
    one.call("items", thread="mine")
    cookies = [cookie for _, path, cookie in shop.seen if path != "/login"]
    assert cookies == ["", "", "", f"sid={SID}"]


def test_a_cookie_goes_to_no_other_origin(shop: Any) -> None:
    with served() as other:
        shop.away = f"{other.url}/me"
        entry = ApiEntry("shop", "s.json", hosts=(other.url.removeprefix("http://"),), allow_private=True)
        http = HttpClient(settings=Settings(apis={"shop": entry}))
        for path in ("/login", "/away"):
            found = operation_of({}, path=path, base_url=shop.url, entry="shop")
            http.send(build_request(found, {}), found, thread="t")
        assert (shop.seen[-1][2], other.seen) == (f"sid={SID}", [("GET", "/me", "")])


def test_no_prompt_state_store_or_log_holds_a_cookie(shop: Any, caplog: pytest.LogCaptureFixture) -> None:
    saver, store = InMemorySaver(), InMemoryStore()
    with caplog.at_level(logging.DEBUG):
        ran: Any = client(shop, checkpointer=saver, store=store).run(f"a = {LOGIN}print(a, headers(a), me())")
    assert "ada" in ran.text
    kept = [item.value for space in store.list_namespaces() for item in store.search(space)]
    everything = [ran.text, caplog.text, json.dumps(kept, default=str), str(saver.storage), str(saver.blobs)]
    assert [text for text in everything if SID in text] == []


@pytest.mark.parametrize("with_scheme", [False, True])
def test_a_program_without_the_cookie_is_told_how_to_log_in(shop: Any, with_scheme: bool) -> None:
    ran: Any = client(shop, with_scheme=with_scheme).run("print(me())")
    assert "log in first with login (POST /login)" in str(ran.text) + str([call.record for call in ran.calls])
    assert len(shop.seen) == (0 if with_scheme else 1)


@pytest.mark.parametrize("with_scheme", [False, True])
def test_after_a_restart_a_program_is_told_to_log_in_again(shop: Any, with_scheme: bool) -> None:
    kept = {"checkpointer": InMemorySaver(), "store": InMemoryStore()}
    code = "login()\nitems()\ntry:\n    me()\nexcept ApiError as error:\n    print(error)"
    waiting: Any = client(shop, writes="ask", with_scheme=with_scheme, **kept).run(code)
    waiting = waiting.approve()
    assert isinstance(waiting, Pending)
    ran: Any = client(shop, writes="ask", with_scheme=with_scheme, **kept).decide(waiting, "approve")
    assert "again, if the process was started anew since" in ran.text + str([call.record for call in ran.calls])


def test_a_missing_cookie_credential_names_the_login_and_the_variable(shop: Any) -> None:
    with pytest.raises(MissingCredentialError, match=r"log in first with login \(POST /login\).*RESTGPT_AUTH_SID"):
        client(shop, with_scheme=True).call("me")
