"""Guards the token of the server: from another machine no request passes without it, on loopback none needs it."""

from collections.abc import Mapping
from typing import Any

import pytest
from asgi import HERE, requested
from httpx2 import Response
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from restgpt.server.access import NO_TOKEN, WRONG_TOKEN, TokenCheck
from restgpt.server.app import STUDIO, GuardedApp
from restgpt.tools.errors import SettingsError
from restgpt.tools.settings import ServerAccess, Settings
from restgpt.tools.settings.entry import SERVER_HOSTS, SERVER_TOKEN

CONTAINER = "http://172.17.0.2:8000"
TOKEN = "b3b0c442-98fc.1c14_9a~f+/=="
SENT = {"Authorization": f"Bearer {TOKEN}"}


def threads(request: Request) -> PlainTextResponse:
    return PlainTextResponse("threads")


def sent(headers: Mapping[str, str], *, monkeypatch: pytest.MonkeyPatch, token: str = TOKEN, **given: Any) -> Response:
    """The answer of the whole app to a request on a connection that ends at an address and a port."""
    monkeypatch.setenv(SERVER_TOKEN, token)
    app = GuardedApp(routes=[Route("/threads", threads, methods=["GET", "POST"])])
    given = {"method": "POST", "path": "/threads", **given}
    return requested(app, headers=dict(headers), **given)


@pytest.mark.parametrize("token", ["", TOKEN])
def test_on_loopback_nobody_logs_in(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sent({}, at=HERE, token=token, monkeypatch=monkeypatch).status_code == 200
    assert sent({"Host": "localhost:2024"}, at=HERE, token=token, monkeypatch=monkeypatch).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": TOKEN},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": "Bearer "},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"X-Api-Key": TOKEN},
        {"Cookie": f"token={TOKEN}"},
    ],
    ids=str,
)
def test_elsewhere_a_request_without_the_token_is_refused(
    headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("/threads", "/nothing", "/debug", f"/threads?token={TOKEN}"):
        told = sent(headers, at=CONTAINER, path=path, monkeypatch=monkeypatch)
        assert (told.status_code, told.json()) == (401, {"detail": WRONG_TOKEN})
        assert told.headers["www-authenticate"] == "Bearer"


def test_elsewhere_the_token_lets_a_request_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    for headers in (SENT, {"authorization": f"bearer {TOKEN}"}):
        assert sent(headers, at=CONTAINER, monkeypatch=monkeypatch).text == "threads"


def test_two_tokens_in_one_request_are_refused() -> None:
    check = TokenCheck(Starlette(), ServerAccess.from_env({SERVER_TOKEN: TOKEN}))
    own = (b"authorization", f"Bearer {TOKEN}".encode())
    assert check._has_token({"headers": [own]})
    assert not check._has_token({"headers": [own, own]})


def test_elsewhere_without_a_token_nothing_is_served_and_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for headers in ({}, SENT, {"Authorization": "Bearer "}):
        told = sent(headers, at=CONTAINER, token="", monkeypatch=monkeypatch)
        assert (told.status_code, told.json()) == (403, {"detail": NO_TOKEN})


def test_a_proxy_on_this_machine_passes_on_no_request_without_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SERVER_HOSTS, "agent.example.com")
    proxied = {"Host": "agent.example.com"}
    assert sent(proxied, at=HERE, monkeypatch=monkeypatch).status_code == 401
    assert sent(proxied | SENT, at=HERE, monkeypatch=monkeypatch).status_code == 200


def test_the_token_does_not_open_the_server_to_a_foreign_page(monkeypatch: pytest.MonkeyPatch) -> None:
    for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.example"}):
        assert sent(SENT | headers, at=CONTAINER, monkeypatch=monkeypatch).status_code == 403


def test_a_preflight_has_no_token_and_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"Origin": STUDIO, "Access-Control-Request-Method": "POST", "Host": "172.17.0.2:8000"}
    told = sent(asked, at=CONTAINER, method="OPTIONS", monkeypatch=monkeypatch)
    assert (told.status_code, told.headers["access-control-allow-origin"]) == (200, STUDIO)


def test_a_token_that_no_header_can_hold_is_an_error_that_does_not_show_it() -> None:
    for text in ("two words", "line\nbreak", "naïve-token"):
        with pytest.raises(SettingsError, match=SERVER_TOKEN) as raised:
            ServerAccess.from_env({SERVER_TOKEN: text})
        assert text not in str(raised.value)


def test_the_token_is_redacted_and_shown_nowhere() -> None:
    settings = Settings.from_env({SERVER_TOKEN: TOKEN, "RESTGPT_HOME": "/nowhere"})
    assert TOKEN in settings.secrets()
    assert TOKEN not in repr(settings)
