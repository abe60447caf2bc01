"""Guards OAuth2: how tokens are obtained, stored with mode 600 and refreshed, and that a login checks its state."""

import base64
import gc
import gzip
import hashlib
import json
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import urlopen

import pytest
from loopback import Handler, served
from paths import api_of, openapi
from wire.case import Canned
from wire.echo import EchoServer
from wire.raw import DRIPPED, drip, raw_server

from lab.kit.port import held_port
from restgpt.client import Client
from restgpt.nodes.run.services import Services
from restgpt.outcome import Pending
from restgpt.specs import Api
from restgpt.tools.auth.login import log_in, login_scheme
from restgpt.tools.auth.oauth import OAuthTokens
from restgpt.tools.auth.token import TokenFile
from restgpt.tools.errors import (
    AddressFault,
    BoundFault,
    BrokenFault,
    ConnectFault,
    LoginError,
    MissingCredentialError,
    SettingsError,
    TimeoutFault,
)
from restgpt.tools.http.http_client import HttpClient, HttpLimits
from restgpt.tools.request.prepared_request import build_request
from restgpt.tools.settings import ApiEntry, Settings
from restgpt.tools.text.redaction import Redactor

PATIENCE_S = 60
CLIENT = {"oauth.client_id": "me", "oauth.client_secret": "hush-hush"}


@dataclass(frozen=True)
class Rig:
    """An authorization server, the server of an API, and the settings of a user."""

    authority: EchoServer
    service: EchoServer
    known: Settings

    def api(self, auth: Any = None, scheme: Any = None, **given: Any) -> Api:
        """The API at its server, with tokens of the authority."""
        return api(self.authority.url, self.service.url, auth, scheme, **given)

    def send(self, found: Api | None = None) -> tuple[int, str]:
        """Send the operation of an API, and return status and body."""
        return send(found or self.api(), self.known)

    def shown(self) -> list[str | None]:
        """The credentials that the server of the API got."""
        return [item.header("Authorization") for item in self.service.arrived]


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with EchoServer() as authority, EchoServer() as service:
        yield Rig(authority, service, settings(tmp_path))


def token(name: str, **more: Any) -> Canned:
    return Canned(json.dumps({"access_token": name, "token_type": "bearer", **more}).encode())


def connect(server: EchoServer) -> dict[str, str]:
    """A scheme of OpenID Connect whose addresses this server tells."""
    return {"type": "openIdConnect", "openIdConnectUrl": f"{server.url}/.well-known/openid-configuration"}


def api(
    authority: str,
    service: str = "http://127.0.0.1:1",
    auth: Any = None,
    scheme: Any = None,
    *,
    is_named: bool = True,
    entry: str | None = None,
    title: str = "music",
) -> Api:
    """An API with a client of the user, who names the token server too unless `is_named` is false."""
    flow = {"tokenUrl": f"{authority}/token", "scopes": {"read": ""}}
    flows = {"clientCredentials": flow, "authorizationCode": {**flow, "authorizationUrl": f"{authority}/authorize"}}
    schemes = {"oauth": scheme or {"type": "oauth2", "flows": flows}}
    paths = {"/x": {"get": {"operationId": "x", "security": [{"oauth": ["read"]}], "responses": {}}}}
    given = {**({"oauth.token_url": f"{authority}/token"} if is_named else {}), **(CLIENT if auth is None else auth)}
    return api_of(paths, title=title, schemes=schemes, base_url=service, auth=given, entry=entry)


def settings(tmp_path: Path, *auth_servers: str) -> Settings:
    entry = ApiEntry("music", "music.json", auth_servers=auth_servers)
    return Settings(home=tmp_path / "home", apis={"music": entry})


def agree(question: str) -> bool:
    return True


def send(found: Api, known: Settings) -> tuple[int, str]:
    operation = found.operation("x")
    client = HttpClient(settings=known, sleep=lambda seconds: None)
    reply = client.send(build_request(operation, {}), operation)
    return reply.status, reply.body.decode()


def test_client_credentials_are_exchanged_once_and_kept(rig: Rig) -> None:
    rig.authority.script([token("first-token", expires_in=3600)])
    found = rig.api()
    for _ in range(2):
        assert rig.send(found)[0] == 200
    assert rig.shown() == ["Bearer first-token"] * 2
    (asked,) = rig.authority.arrived
    assert parse_qs(asked.body.decode()) == {"grant_type": ["client_credentials"], "scope": ["read"]}
    assert asked.header("Authorization") == "Basic " + base64.b64encode(b"me:hush-hush").decode()


def test_a_token_that_ended_is_renewed_before_use_and_stays_a_secret(rig: Rig) -> None:
    rig.authority.script([token("old-token", expires_in=30), token("new-token", expires_in=10)])
    rig.service.script([Canned(), Canned(b'{"echo":"old-token new-token"}')])
    found = rig.api()
    rig.send(found)
    assert rig.send(found) == (200, '{"echo":"[redacted] [redacted]"}')
    assert rig.shown() == ["Bearer old-token", "Bearer new-token"]


def test_a_401_renews_the_token_and_repeats_the_request_once(rig: Rig) -> None:
    rig.authority.script([token("old-token"), token("new-token")])
    rig.service.script([Canned(b"{}", 401), Canned(b'{"echo":"new-token"}'), Canned(b"{}", 401)])
    found = rig.api()
    assert rig.send(found) == (200, '{"echo":"[redacted]"}')
    assert rig.shown() == ["Bearer old-token", "Bearer new-token"]
    assert rig.send(found)[0] == 401


def test_a_refresh_token_is_used_and_its_successor_kept(rig: Rig) -> None:
    rig.authority.script([token("a-token", refresh_token="second-refresh", expires_in=10), token("b-token")])
    auth = {"oauth.client_id": "me", "oauth.refresh_token": "first-refresh"}
    found = rig.api(auth)
    rig.send(found)
    rig.send(found)
    sent = [parse_qs(item.body.decode())["refresh_token"] for item in rig.authority.arrived]
    assert sent == [["first-refresh"], ["second-refresh"]]


def test_a_server_that_wants_the_client_in_the_body_gets_it(rig: Rig) -> None:
    rig.authority.script([Canned(b'{"error":"invalid_client"}', 401), token("a-token")])
    rig.send()
    assert parse_qs(rig.authority.arrived[1].body.decode())["client_secret"] == ["hush-hush"]


HORSE = "correct_horse_battery"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        *(({"error": error}, "unknown error") for error in (HORSE, [HORSE], {"m": HORSE})),
        ({"error": "invalid_scope", "error_description": f"{HORSE} is wrong"}, "invalid_scope"),
    ],
)
def test_a_refusal_says_why_without_the_servers_words(error: Any, told: str, rig: Rig) -> None:
    auth = {"oauth.client_id": "me", "oauth.client_secret": HORSE}
    rig.authority.script([Canned(json.dumps(error).encode(), 400)])
    with pytest.raises(LoginError, match=told) as caught:
        rig.send(api(rig.authority.url, auth=auth))
    assert "horse" not in str(caught.value)


LONG = b'{"a":"' + b"x" * 20_000_000 + b'"}'


@pytest.mark.parametrize(
    ("answer", "fault", "told"),
    [
        (Canned(gzip.compress(LONG), headers={"Content-Encoding": "gzip"}), BoundFault, "sent more than"),
        (Canned(LONG[:2_000_000]), BoundFault, "sent more than"),
        (Canned(b'{"access_token":"a-token"}', 503), BrokenFault, "with 503; try again"),
    ],
)
def test_an_authority_that_fails_is_a_fault_and_cannot_fill_the_memory(
    answer: Canned, fault: type[Exception], told: str, rig: Rig
) -> None:
    rig.authority.script([answer])
    with pytest.raises(fault, match=told):
        rig.send(api(rig.authority.url))


HOSTILE = {
    "HTML": Canned(b"<html>hush-hush</html>", 200, {"Content-Type": "text/html"}),
    "nothing": Canned(b""),
    "nested": Canned(b"[" * 200_000),
    "nested objects": Canned(b'{"access_token":' * 60_000),
    "a list": Canned(b'["error", "access_token"]'),
    "null": Canned(b"null"),
    "an endless number": Canned(b'{"access_token":"a-token","expires_in":1e999}'),
    "400 digits": Canned(b'{"access_token":"a-token","expires_in":' + b"9" * 400 + b"}"),
    "400 digits in a text": Canned(b'{"access_token":"a-token","expires_in":"' + b"9" * 400 + b'"}'),
    "5,000 digits": Canned(b'{"access_token":"a-token","expires_in":' + b"9" * 5000 + b"}"),
    "NaN": Canned(b'{"access_token":"a-token","expires_in":NaN}'),
    "before now": Canned(b'{"access_token":"a-token","expires_in":-1}'),
    "a small two": Canned('{"access_token":"a-token","expires_in":"²"}'.encode()),
    "a list of seconds": Canned(b'{"access_token":"a-token","expires_in":[60]}'),
    "half a pair": Canned(b'{"access_token":"a-\\ud800-token"}'),
    "half a pair to refresh with": Canned(b'{"access_token":"a-token","refresh_token":"\\udfff"}'),
    "half a pair for an error": Canned(b'{"error":"\\ud800"}', 400),
    "a line break": Canned(b'{"access_token":"a\\r\\nX-More: 1"}'),
    "a number for a token": Canned(b'{"access_token":17}'),
    "a list for a token": Canned(b'{"access_token":["a-token"]}'),
    "a blank token": Canned(b'{"access_token":"  "}'),
    "a token that needs a proof": Canned(b'{"access_token":"a-token","token_type":"DPoP"}'),
    "a redirect with a token": Canned(b'{"access_token":"a-token"}', 307, {"Location": "https://b.test/"}),
    "a refusal with a token": Canned(b'{"access_token":"a-token"}', 403),
    "not modified": Canned(b"", 304),
}


@pytest.mark.parametrize("answer", HOSTILE.values(), ids=HOSTILE)
def test_an_answer_without_a_token_that_can_be_used_is_a_login_error(answer: Canned, tmp_path: Path, rig: Rig) -> None:
    rig.authority.script([answer])
    with pytest.raises(LoginError, match="authorization server") as caught:
        rig.send()
    assert caught.value.__context__ is None
    assert not any(word in repr(caught.value) for word in ("hush", "a-token", "a-\ud800"))
    assert rig.service.arrived == []
    assert not list((tmp_path / "home").glob("*"))


@pytest.mark.parametrize("seconds", [60, "60", 60.5, 10**12])
def test_the_life_of_a_token_is_read_as_servers_write_it(seconds: object, rig: Rig) -> None:
    rig.authority.script([token("a-token", expires_in=seconds)])
    found = rig.api()
    OAuthTokens(rig.known, clock=lambda: 1000.0).token(found, found.security_schemes["oauth"], ())
    kept = TokenFile(rig.known.home / "tokens.json").get(found, "oauth")
    assert kept is not None
    assert kept["expires_at"] == 1000 + int(float(str(seconds)))


@pytest.mark.parametrize(
    "answer",
    [
        Canned(b"[" * 200_000),
        Canned(b"[]"),
        Canned(b"<html>"),
        Canned(b'{"token_endpoint":"http://127.0.0.1:1/token"}', 307, {"Location": "https://b.test/"}),
    ],
)
def test_a_discovery_without_endpoints_is_a_login_error(answer: Canned, tmp_path: Path, rig: Rig) -> None:
    rig.authority.script([answer])
    found = rig.api(CLIENT, connect(rig.authority), is_named=False, entry="music")
    with pytest.raises(LoginError, match="correct openIdConnectUrl"):
        send(found, settings(tmp_path, rig.authority.url))


@pytest.mark.parametrize("data", DRIPPED.values(), ids=DRIPPED)
def test_an_authority_that_drips_is_given_up(data: bytes, tmp_path: Path) -> None:
    known, closed = settings(tmp_path), threading.Event()
    with raw_server(drip(data, closed=closed)) as url:
        found = api(url)
        with pytest.raises(TimeoutFault, match=r"did not answer within 0\.3 seconds") as caught:
            OAuthTokens(known, seconds=0.3).token(found, found.security_schemes["oauth"], ())
        assert closed.wait(PATIENCE_S)
    assert caught.value.__context__ is None


def test_a_token_in_an_answer_that_never_ends_is_no_token(tmp_path: Path) -> None:
    whole = b'{"access_token":"a-token","token_type":"bearer"}'
    data = b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + whole
    known = settings(tmp_path)
    with raw_server(drip(b" " * 1000, first=data)) as url:
        found = api(url)
        with pytest.raises(TimeoutFault):
            OAuthTokens(known, seconds=0.3).token(found, found.security_schemes["oauth"], ())
    assert not list(known.home.glob("*"))


@pytest.mark.parametrize(
    "address", ["--gpu-launcher=sh", "file:///etc/passwd", "javascript:alert(1)", "http://a.test/"]
)
def test_a_browser_is_only_sent_to_an_encrypted_address(address: str, tmp_path: Path) -> None:
    flow = {"tokenUrl": "https://a.test/token", "authorizationUrl": address, "scopes": {}}
    found = api("", scheme={"type": "oauth2", "flows": {"authorizationCode": flow}})
    opened: list[str] = []
    with pytest.raises((AddressFault, LoginError)):
        log_in(OAuthTokens(settings(tmp_path)), found, login_scheme(found), open_browser=opened.append, seconds=0.1)
    assert opened == []


class Rotating(Handler):
    """A token server whose refresh tokens are good for one use; a second use revokes all of them (RFC 9700, 4.14.2)."""

    used: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        given = parse_qs(self.body().decode())["refresh_token"][0]
        time.sleep(0.1)  # a renewal takes a while, so that others want one meanwhile
        self.used.append(given)
        if self.used.count(given) > 1 or "revoked" in self.used:
            self.used.append("revoked")
            return self.answer({"error": "invalid_grant"}, 400)
        number = len(self.used)
        return self.answer({"access_token": f"access-{number}", "refresh_token": f"refresh-{number}", "expires_in": 99})


RENEW = """
import json, sys
from pathlib import Path
from restgpt.specs import load_api
from restgpt.tools.auth.oauth import OAuthTokens
from restgpt.tools.settings import Settings
api = load_api(json.loads(sys.argv[1]), base_url="http://127.0.0.1:1", auth=json.loads(sys.argv[2]))
tokens = OAuthTokens(Settings(home=Path(sys.argv[3])))
print("ready", flush=True)
sys.stdin.readline()
print(tokens.token(api, api.security_schemes["oauth"], ()), flush=True)
"""


@pytest.mark.slow
def test_processes_renew_a_rotating_token_once_and_lose_no_other_token(tmp_path: Path) -> None:
    with served(Rotating) as url:
        schemes = {"oauth": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": url, "scopes": {}}}}}
        documents = [openapi({}, title=title, schemes=schemes) for title in ("a", "a", "a", "b", "c")]
        runs = []
        for document in documents:
            refresh = f"first-{document['info']['title']}"
            auth = {"oauth.client_id": "me", "oauth.token_url": url, "oauth.refresh_token": refresh}
            arguments = [sys.executable, "-c", RENEW, json.dumps(document), json.dumps(auth), str(tmp_path)]
            runs.append(subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        for run in runs:
            assert run.stdout is not None
            assert run.stdout.readline() == "ready\n"
        for run in runs:
            assert run.stdin is not None
            run.stdin.write("\n")
            run.stdin.flush()
        told = [run.communicate()[0] for run in runs]
    assert sorted(Rotating.used) == ["first-a", "first-b", "first-c"]
    assert told[0] == told[1] == told[2] != told[3]
    assert len(json.loads((tmp_path / "tokens.json").read_text())) == 3
    assert [item.name for item in tmp_path.iterdir()] == ["tokens.json"]


def test_a_slow_token_server_holds_up_its_own_api_only(rig: Rig) -> None:
    asked, released = threading.Event(), threading.Event()

    def answer(connection: socket.socket) -> None:
        asked.set()
        released.wait(PATIENCE_S)
        connection.shutdown(socket.SHUT_RDWR)

    with raw_server(answer) as slow, EchoServer() as quick, ThreadPoolExecutor() as threads:
        quick.script([token("quick-token", expires_in=3600)])
        client = HttpClient(settings=rig.known, limits=HttpLimits(attempts=1))
        stuck, other = api(slow), api(quick.url, rig.service.url, title="other")
        waiting = threads.submit(client.send, build_request(stuck.operation("x"), {}), stuck.operation("x"))
        assert asked.wait(PATIENCE_S)
        assert client.send(build_request(other.operation("x"), {}), other.operation("x")).status == 200
        assert not waiting.done()
        released.set()
        with pytest.raises(BrokenFault):
            waiting.result()


def test_a_token_that_another_process_renewed_is_used_instead_of_a_second_renewal(rig: Rig) -> None:
    shown: list[str] = []

    class Service(Handler):
        def do_GET(self) -> None:
            shown.append(self.headers["Authorization"])
            TokenFile(rig.known.home / "tokens.json").put(found, "oauth", {"access_token": "theirs"})
            self.answer({}, 401 if len(shown) == 1 else 200)

    rig.authority.script([token("mine", expires_in=3600)])
    with served(Service) as url:
        found = api(rig.authority.url, url)
        assert rig.send(found)[0] == 200
    assert shown == ["Bearer mine", "Bearer theirs"]
    assert len(rig.authority.arrived) == 1


@pytest.mark.parametrize("path", ["/accounts/7", "/accounts/7/and/the/rest/of/it"])
def test_the_token_of_one_api_hides_nothing_of_a_question_about_another(path: str, rig: Rig) -> None:
    rig.authority.script([token(path, expires_in=3600)])
    other = api_of({path: {"delete": {"operationId": "drop", "responses": {}}}}, title="bank", base_url=rig.service.url)
    client = Client(services=Services([rig.api(), other], settings=rig.known))
    rig.service.script([Canned(json.dumps({"echo": path}).encode())])
    assert client.call("x").json == {"echo": "[redacted]"}  # type: ignore[union-attr]
    question = client.call("drop")
    assert isinstance(question, Pending)
    assert f"DELETE {rig.service.url}{path}" in question.description


def test_old_tokens_are_forgotten_and_take_no_memory(rig: Rig) -> None:
    names = [f"token-number-{number:05}" for number in range(30)]
    rig.authority.script([token(name, expires_in=10) for name in names])
    rig.service.script([Canned(" ".join(names).encode())])
    found = rig.api()
    client = HttpClient(settings=rig.known)
    gc.collect()
    before = sum(type(item) is Redactor for item in gc.get_objects())
    for _ in names:
        reply = client.send(build_request(found.operation("x"), {}), found.operation("x"))
    gc.collect()
    assert sum(type(item) is Redactor for item in gc.get_objects()) <= before + 2
    assert reply.body.split() == [name.encode() for name in names[:-12]] + [b"[redacted]"] * 12


def test_tokens_are_not_asked_for_without_encryption_or_where_nothing_answers(tmp_path: Path) -> None:
    with pytest.raises(LoginError, match="without encryption"):
        send(api("http://auth.example.com"), settings(tmp_path))
    with held_port() as port, pytest.raises(ConnectFault) as caught:
        send(api(f"http://127.0.0.1:{port}"), settings(tmp_path))
    assert caught.value.__context__ is None


def test_openid_connect_finds_its_addresses(tmp_path: Path, rig: Rig) -> None:
    discovery = json.dumps({"token_endpoint": "URL/token", "authorization_endpoint": "URL/authorize"}).encode()
    rig.authority.script([Canned(discovery), token("a-token")])
    scheme = connect(rig.authority)
    found = rig.api(scheme=scheme, is_named=False, entry="music")
    assert send(found, settings(tmp_path, f"{rig.authority.url}/"))[0] == 200
    assert [item.target for item in rig.authority.arrived] == ["/.well-known/openid-configuration", "/token"]


def test_tokens_are_readable_by_their_owner_only_and_a_broken_file_says_what_to_do(rig: Rig) -> None:
    rig.authority.script([token("a-token")])
    rig.send()
    path = rig.known.home / "tokens.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [item.name for item in rig.known.home.iterdir()] == ["tokens.json"]
    path.write_text("[1")
    with pytest.raises(SettingsError, match="delete it"):
        TokenFile(path).get(api("http://127.0.0.1:1"), "b")


def follow(url: str, *answers: dict[str, str]) -> None:
    """Do as a browser does at an authorization URL: send these answers to the login, each with its state."""
    query = parse_qs(urlsplit(url).query)

    def send_all() -> None:
        for values in answers:
            given = urlencode({"state": query["state"][0], **values})
            urlopen(f"{query['redirect_uri'][0]}?{given}", timeout=PATIENCE_S).close()

    threading.Thread(target=send_all, daemon=True).start()


def test_a_login_takes_the_answer_with_the_right_state_only(rig: Rig) -> None:
    rig.authority.script([token("a-token", refresh_token="r-token")])
    found = api(rig.authority.url, auth={"oauth.client_id": "me"})
    tokens = OAuthTokens(rig.known)
    asked: dict[str, list[str]] = {}

    def browser(url: str) -> None:
        asked.update(parse_qs(urlsplit(url).query))
        follow(url, {"state": "forged", "code": "evil"}, {"code": "good"})

    log_in(tokens, found, login_scheme(found), open_browser=browser, seconds=PATIENCE_S, scopes=["read"], confirm=agree)
    (exchange,) = rig.authority.arrived
    sent = parse_qs(exchange.body.decode())
    challenge = base64.urlsafe_b64encode(hashlib.sha256(sent["code_verifier"][0].encode()).digest()).rstrip(b"=")
    assert sent["code"] == ["good"]
    assert asked["code_challenge"] == [challenge.decode()]
    assert asked["code_challenge_method"] == ["S256"]
    assert asked["scope"] == ["read"]
    assert sent["redirect_uri"] == asked["redirect_uri"]
    assert tokens.token(found, login_scheme(found), []) == "a-token"


def test_a_login_that_is_refused_or_forgotten_ends(rig: Rig) -> None:
    found = api(rig.authority.url, auth={"oauth.client_id": "me"})
    tokens = OAuthTokens(rig.known)

    def refuse(url: str) -> None:
        follow(url, {"error": "access_denied"})

    with pytest.raises(LoginError, match="refused"):
        log_in(tokens, found, login_scheme(found), open_browser=refuse, seconds=PATIENCE_S, confirm=agree)
    with pytest.raises(LoginError, match="in time"):
        log_in(tokens, found, login_scheme(found), open_browser=lambda url: None, seconds=0.1, confirm=agree)


def test_a_login_outlasts_malformed_and_dripping_requests(
    rig: Rig, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rig.authority.script([token("a-token")])
    found = api(rig.authority.url, auth={"oauth.client_id": "me"})
    held: list[socket.socket] = []

    def disturb(url: str) -> None:
        redirect = parse_qs(urlsplit(url).query)["redirect_uri"][0]
        for data in (b"GET /call", b"GET //[ HTTP/1.1\r\n\r\n", b"\x16\x03\r\n\r\n"):
            held.append(socket.create_connection(("127.0.0.1", urlsplit(redirect).port or 0)))
            held[-1].sendall(data)

    def browser(url: str) -> None:
        disturb(url)
        follow(url, {"code": "good"})

    tokens = OAuthTokens(rig.known)
    began = time.monotonic()
    log_in(tokens, found, login_scheme(found), open_browser=browser, seconds=PATIENCE_S, confirm=agree)
    with pytest.raises(LoginError, match="in time"):
        log_in(tokens, found, login_scheme(found), open_browser=disturb, seconds=0.2, confirm=agree)
    assert time.monotonic() - began < 10
    for connection in held:
        connection.close()
    assert capfd.readouterr() == ("", "")


def test_the_query_of_an_authorization_url_changes_nothing_that_is_ours(rig: Rig) -> None:
    theirs = "tenant=a%26b&state=forged&redirect_uri=https%3A%2F%2Fevil.test&request_uri=urn%3Ax"
    auth = {**CLIENT, "oauth.authorization_url": f"{rig.authority.url}/authorize?{theirs}"}
    found = rig.api(auth)
    asked = OAuthTokens(rig.known).start_login(found, login_scheme(found), "http://127.0.0.1:1/callback")
    query = parse_qs(urlsplit(asked.url).query)
    assert (query["state"], query["redirect_uri"]) == ([asked.state], [asked.redirect_uri])
    assert query["tenant"] == ["a&b"]
    assert "request_uri" not in query


def test_a_login_without_a_client_or_a_scheme_says_what_to_set(rig: Rig) -> None:
    found = api(rig.authority.url, auth={}, entry="music")
    with pytest.raises(LoginError, match="RESTGPT_AUTH_MUSIC_OAUTH_CLIENT_ID"):
        log_in(OAuthTokens(rig.known), found, login_scheme(found), open_browser=lambda url: None)
    found = api("http://127.0.0.1:1", scheme={"type": "http", "scheme": "basic"})
    with pytest.raises(LoginError, match="its security schemes: oauth"):
        login_scheme(found)


@pytest.mark.parametrize("auth", [CLIENT, {"oauth.client_id": "me", "oauth.refresh_token": "r-token"}])
def test_a_token_server_that_only_the_document_names_gets_no_secret(auth: Any, rig: Rig) -> None:
    found = rig.api(auth, is_named=False, entry="music")
    with pytest.raises(MissingCredentialError, match=r"add `auth_servers: \[") as caught:
        rig.send(found)
    assert f"[{rig.authority.url}]" in str(caught.value)
    assert rig.service.url in str(caught.value)
    with pytest.raises(MissingCredentialError, match=r"set auth\.oauth_token_url of an entry"):
        rig.send(rig.api(auth, is_named=False))
    assert (rig.authority.arrived, rig.service.arrived) == ([], [])


def test_a_discovered_token_server_gets_no_secret_either(rig: Rig) -> None:
    discovery = json.dumps({"token_endpoint": "http://127.0.0.1:1/token", "issuer": "x"}).encode()
    rig.service.script([Canned(discovery)])
    with pytest.raises(LoginError, match=r"names the token server http://127\.0\.0\.1:1, not a server of the API"):
        rig.send(rig.api(scheme=connect(rig.service), is_named=False, entry="music"))


def test_a_token_server_of_the_api_or_of_the_file_gets_the_secret(tmp_path: Path, rig: Rig) -> None:
    rig.authority.script([token("a-token")])
    found = rig.api(is_named=False, entry="music")
    assert send(found, settings(tmp_path, rig.authority.url))[0] == 200
    rig.service.script([token("b-token"), Canned()])
    assert rig.send(api(rig.service.url, rig.service.url, is_named=False))[0] == 200
    assert [item.target for item in rig.service.arrived] == ["/token", "/x"]


def logged_in(found: Api, known: Settings, confirm: Any) -> list[str]:
    """Log in with a browser that follows at once, and return the questions that the user was asked."""
    questions: list[str] = []

    def browser(url: str) -> None:
        follow(url, {"code": "good"})

    def ask(question: str) -> bool:
        questions.append(question)
        return bool(confirm)

    scheme = login_scheme(found)
    log_in(OAuthTokens(known), found, scheme, open_browser=browser, seconds=PATIENCE_S, confirm=ask)
    return questions


def test_a_login_at_another_server_is_asked_about_and_the_server_is_kept(rig: Rig) -> None:
    found = rig.api(is_named=False, entry="music")
    with pytest.raises(LoginError, match="you did not agree"):
        logged_in(found, rig.known, confirm=False)
    rig.authority.script([token("a-token", refresh_token="r-token", expires_in=1), token("b-token", expires_in=1)])
    [question] = logged_in(found, rig.known, confirm=True)
    assert question == f"Log in at {rig.authority.url}? The spec of music names it; the API is at {rig.service.url}."
    assert rig.send(found)[0] == 200
    assert parse_qs(rig.authority.arrived[1].body.decode())["refresh_token"] == ["r-token"]


def test_a_document_that_names_another_token_server_after_the_login_gets_nothing(rig: Rig) -> None:
    rig.authority.script([token("a-token", refresh_token="r-token", expires_in=1)])
    logged_in(rig.api(is_named=False, entry="music"), rig.known, confirm=True)
    with EchoServer() as evil:
        for base_url in (rig.service.url, evil.url):
            changed = api(evil.url, base_url, is_named=False, entry="music")
            with pytest.raises(MissingCredentialError, match="restgpt login music") as caught:
                rig.send(changed)
            assert f"not {rig.authority.url}" in str(caught.value)
        assert evil.arrived == []


def test_a_login_at_the_servers_of_the_api_is_not_asked_about(rig: Rig) -> None:
    rig.service.script([token("a-token")])
    found = api(rig.service.url, rig.service.url, is_named=False)
    assert logged_in(found, rig.known, confirm=False) == []


def test_a_code_goes_to_the_token_server_that_the_user_agreed_to(rig: Rig) -> None:
    found = [
        {"token_endpoint": f"{url}/token", "authorization_endpoint": f"{rig.authority.url}/a"}
        for url in (rig.authority.url, "http://127.0.0.1:1")
    ]
    rig.service.script([Canned(json.dumps(item).encode()) for item in found])
    rig.authority.script([token("a-token")])
    logged_in(rig.api(scheme=connect(rig.service), is_named=False, entry="music"), rig.known, confirm=True)
    assert [item.target for item in rig.authority.arrived] == ["/token"]
