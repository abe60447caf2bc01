"""Guards the credentials of the old requests wrapper: they are sent to the API, and nothing else shows them."""

import base64
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import requests
from paths import openapi
from requests.auth import AuthBase, HTTPBasicAuth, HTTPDigestAuth
from roles import by_role, program
from wire.case import Canned
from wire.echo import EchoServer

from restgpt.community import MOST_SEEN, client_of, entry_of, services_of
from restgpt.graph.build import build_graph
from restgpt.specs import load_api
from restgpt.tools.settings import Settings
from restgpt.tools.text.redaction import MARK

TOKEN = "tok-4711-abcdef"
DOCUMENT = openapi({"/x": {"get": {"operationId": "x", "responses": {"200": {"description": "All."}}}}}, title="echo")
JSON = {"Content-Type": "application/json"}


class Token(AuthBase):
    """Signs with a header and a query value, as objects for OAuth 1 do."""

    def __init__(self, token: str = TOKEN) -> None:
        self.token = token
        self.count = 0

    def __call__(self, r: requests.PreparedRequest) -> requests.PreparedRequest:
        self.count += 1
        r.headers["Authorization"] = f"Token {self.token}{self.count if self.token == 'new' else ''}"
        return r


@pytest.fixture
def server() -> Iterator[EchoServer]:
    with EchoServer() as found:
        yield found


def wrapper(**given: Any) -> Any:
    """The attributes of the old wrapper; tests of the agent use the old class itself."""
    return SimpleNamespace(**{"headers": None, "auth": None, "verify": True, "aiosession": None, **given})


def answered(document: Any, given: Any, model: Any, server: EchoServer) -> str:
    graph = build_graph(services=services_of(document, given, model=model, base_url=server.url))
    return str(graph.invoke({"instruction": "Get x"})["answer"])


def ask(server: EchoServer, given: Any, body: bytes) -> tuple[dict[str, str], str, list[str]]:
    """Return the headers that arrive, the answer of the agent, and the prompts."""
    server.script([Canned(body=body, headers=JSON)])
    model = by_role({"express": [program("print(x())")]})
    output = answered(DOCUMENT, given, model, server)
    [arrived] = server.arrived
    return dict(arrived.headers), output, model.texts


@pytest.mark.parametrize(
    ("given", "name", "sent"),
    [
        ({"headers": {"Authorization": f"Bearer {TOKEN}"}}, "Authorization", f"Bearer {TOKEN}"),
        ({"headers": {"X-Odd-Name": TOKEN}}, "X-Odd-Name", TOKEN),
        ({"auth": ("me", TOKEN)}, "Authorization", f"Basic {base64.b64encode(f'me:{TOKEN}'.encode()).decode()}"),
        ({"auth": HTTPBasicAuth("me", TOKEN)}, "Authorization", HTTPBasicAuth("me", TOKEN)),
        ({"auth": Token()}, "Authorization", f"Token {TOKEN}"),
        ({"headers": {"authorization": "Bearer other"}, "auth": ("me", TOKEN)}, "Authorization", ("me", TOKEN)),
    ],
)
def test_what_a_wrapper_has_is_sent_and_otherwise_hidden(server: EchoServer, given: Any, name: str, sent: Any) -> None:
    echoed = f'{{"plain": "{TOKEN}", "basic": "{base64.b64encode(f"me:{TOKEN}".encode()).decode()}", "end": 1}}'
    headers, output, prompts = ask(server, wrapper(**given), echoed.encode())
    if not isinstance(sent, str):
        sent = f"Basic {base64.b64encode(f'me:{TOKEN}'.encode()).decode()}"
    assert {key: value for key, value in headers.items() if key.lower() == "authorization" or key == name} == {
        name: sent
    }
    assert MARK in output
    assert "'end': 1" in output
    shown = "\n".join([output, *prompts])
    assert TOKEN not in shown
    assert sent.partition(" ")[2] == "" or sent.partition(" ")[2] not in shown


def test_the_basic_authentication_of_aiohttp_is_taken() -> None:
    aiohttp = pytest.importorskip("aiohttp", reason="aiohttp, of the extra `community`, is not installed")
    entry = entry_of(wrapper(auth=aiohttp.BasicAuth("me", "secret")), "echo")
    assert (
        entry.headers["Authorization"].reveal()
        == HTTPBasicAuth("me", "secret")(requests.Request("GET", "http://a.test").prepare()).headers["Authorization"]
    )


def test_headers_that_are_no_secrets_are_sent_and_hide_nothing(server: EchoServer) -> None:
    public = {"Accept": "application/json", "X-Api-Version": "2022-11-28", "Content-Type": "text/odd"}
    headers, output, _ = ask(server, wrapper(headers=public), b'{"day": "2022-11-28", "type": "application/json"}')
    assert (headers["Accept"], headers["X-Api-Version"]) == ("application/json", "2022-11-28")
    assert "Content-Type" not in headers
    assert output == "{'day': '2022-11-28', 'type': 'application/json'}"


def test_an_auth_object_stands_in_for_the_credential_that_a_document_asks_for(server: EchoServer) -> None:
    server.script([Canned(body=b"{}", headers=JSON)])
    schemes = {"key": {"type": "apiKey", "in": "query", "name": "key"}}
    document = {**DOCUMENT, "security": [{"key": []}], "components": {"securitySchemes": schemes}}
    model = by_role({"express": [program("print(x())")]})
    given = wrapper(auth=Token())
    answered(document, given, model, server)
    [arrived] = server.arrived
    assert dict(arrived.headers)["Authorization"] == f"Token {TOKEN}"


def test_only_requests_to_the_first_server_are_signed() -> None:
    document = {**DOCUMENT, "servers": [{"url": "https://a.test/v1"}, {"url": "https://b.test"}]}
    adapter: Any = client_of(wrapper(auth=Token()), load_api(document), Settings())._adapter
    urls = ("https://a.test/v1/x", "https://a.test:444/x", "http://a.test/x", "https://b.test/x", "https://c.test/x")
    signed = [adapter.signed(requests.Request("GET", url).prepare()) for url in urls]
    assert [request.headers.get("Authorization") for request in signed] == [f"Token {TOKEN}", None, None, None, None]


def test_an_object_that_signs_anew_each_time_does_not_fill_the_memory(server: EchoServer) -> None:
    api = load_api(DOCUMENT, base_url=server.url)
    adapter: Any = client_of(wrapper(auth=Token("new")), api, Settings())._adapter
    for _ in range(MOST_SEEN * 2):
        adapter.signed(requests.Request("GET", server.url).prepare())
    assert len(adapter.seen) == MOST_SEEN


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"verify": False}, "REQUESTS_CA_BUNDLE"),
        ({"auth": HTTPDigestAuth("me", TOKEN)}, "HTTPDigestAuth"),
        ({"auth": object()}, "object"),
    ],
)
def test_what_cannot_be_sent_is_refused_without_a_secret(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        services_of(DOCUMENT, wrapper(**given), model=by_role({}), base_url="http://127.0.0.1:1")
    assert TOKEN not in str(caught.value)
