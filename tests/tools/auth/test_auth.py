"""Guards credentials: each scheme's source, its place in the request, and that only its own API gets it."""

from typing import Any

import pytest
from paths import api_of, operation_of

from restgpt.specs import Api
from restgpt.specs.security import SCHEMES_OF_PROOF
from restgpt.tools.auth.credentials import Credentials
from restgpt.tools.errors import MissingCredentialError, SettingsError
from restgpt.tools.request.prepared_request import build_request
from restgpt.tools.settings import ApiEntry, Secret, Settings

BEARER = {"type": "http", "scheme": "bearer"}


def api(schemes: Any, security: Any, *, auth: Any = None, entry: str | None = None) -> Api:
    paths = {"/x": {"get": {"operationId": "x", "security": security, "responses": {}}}}
    return api_of(paths, title="music", schemes=schemes, base_url="http://127.0.0.1:1", auth=auth, entry=entry)


def authorization(found: Api, settings: Settings | None = None) -> str | None:
    auth = Credentials(settings or Settings()).auth_for(found.operation("x"))
    return auth.apply(build_request(found.operation("x"), {})).headers.get("Authorization")


def test_the_nearest_source_of_a_credential_wins() -> None:
    settings = Settings.from_env({"RESTGPT_AUTH_KEY": "general", "RESTGPT_AUTH_MUSIC_KEY": "of-the-api"})
    entry = ApiEntry("music", "m.json", auth={"key": Secret("of-the-file")})
    security = [{"Key": []}]
    assert authorization(api({"Key": BEARER}, security), settings) == "Bearer general"
    bare = Settings(auth=settings.auth, apis={"music": ApiEntry("music", "m.json")})
    assert authorization(api({"Key": BEARER}, security, entry="music"), bare) == "Bearer of-the-api"
    both = Settings(auth=settings.auth, apis={"Music": entry})
    assert authorization(api({"Key": BEARER}, security, entry="music"), both) == "Bearer of-the-file"
    assert authorization(api({"Key": BEARER}, security, auth={"KEY": "given"}, entry="music"), both) == "Bearer given"


def test_extras_of_the_configuration_go_along_even_without_declared_security() -> None:
    extras = {"headers": {"X-K": Secret("hk")}, "query": {"q k": Secret("q&v")}, "cookies": {"c": Secret("cv")}}
    found = api({}, [], entry="music").operation("x")
    credentials = Credentials(Settings(apis={"music": ApiEntry("music", "m.json", **extras)}))
    signed = credentials.auth_for(found).apply(build_request(found, {}))
    assert signed.url.endswith("/x?q%20k=q%26v")
    assert (signed.headers["X-K"], signed.headers["Cookie"]) == ("hk", "c=cv")
    assert {"hk", "q&v", "cv"} <= credentials.secrets(found.api)


def test_configured_headers_stand_in_for_a_missing_credential() -> None:
    settings = Settings(apis={"music": ApiEntry("music", "m.json", headers={"Authorization": Secret("Custom abc")})})
    assert authorization(api({"Key": BEARER}, [{"Key": []}], entry="music"), settings) == "Custom abc"


def test_a_variable_that_apis_yaml_needs_is_named_when_the_api_is_called() -> None:
    entry = ApiEntry("music", "m.json", missing=("MUSIC_TOKEN",))
    with pytest.raises(MissingCredentialError, match="set MUSIC_TOKEN, which") as caught:
        authorization(api({}, [], entry="music"), Settings(apis={"music": entry}))
    assert caught.value.variables == ("MUSIC_TOKEN",)


def test_client_certificates_are_not_pretended() -> None:
    with pytest.raises(MissingCredentialError, match="client certificate"):
        authorization(api({"Cert": {"type": "mutualTLS"}}, [{"Cert": []}], auth={"Cert": "x"}))


def test_a_missing_credential_says_what_would_do() -> None:
    schemes = {"Key": {"type": "apiKey", "in": "header", "name": "X"}, "Login": {"type": "http", "scheme": "basic"}}
    with pytest.raises(MissingCredentialError) as caught:
        authorization(api(schemes, [{"Key": []}, {"Login": []}]))
    text = str(caught.value)
    assert 'RESTGPT_AUTH_KEY to the API key, or set RESTGPT_AUTH_LOGIN to "user:password"' in text
    assert caught.value.variables == ("RESTGPT_AUTH_KEY", "RESTGPT_AUTH_LOGIN")


def test_the_parts_of_a_credential_are_secrets_too() -> None:
    found = api({"Key": BEARER}, [], auth={"Key": "Bearer abcdef", "Login": "me:pass:word"})
    assert {"abcdef", "pass:word", "me:pass:word"} <= Credentials(Settings()).secrets(found)


def test_what_is_presented_shows_nothing() -> None:
    found = api({"Key": BEARER}, [{"Key": []}], auth={"Key": "hush-hush"})
    assert "hush" not in repr(Credentials(Settings()).auth_for(found.operation("x")))
    assert "hush" not in repr(found)


@pytest.mark.parametrize("name", ["Digest", *sorted(SCHEMES_OF_PROOF)])
def test_a_scheme_that_needs_a_proof_is_refused_and_its_credential_never_sent(name: str) -> None:
    found = api({"Key": {"type": "http", "scheme": name}}, [{"Key": []}], auth={"Key": "me:hush"})
    assert "needs a proof" in str(found.problems)
    with pytest.raises(MissingCredentialError, match=f"by {name.lower()} needs a proof for each request"):
        authorization(found)
    both = api({"Key": {"type": "http", "scheme": name}, "B": BEARER}, [{"Key": []}, {"B": []}], auth={"B": "tok"})
    assert authorization(both) == "Bearer tok"


NAMED = {"username": "me", "password": "hush"}


@pytest.mark.parametrize(
    ("name", "given", "sent"),
    [
        ("Basic", {"Key": "me:hush"}, "Basic bWU6aHVzaA=="),
        ("Bearer", {"Key": "me:hush"}, "Bearer me:hush"),
        ("token", {"Key": "me:hush"}, "Token me:hush"),
        ("vapid", {"Key": "me:hush"}, "Vapid me:hush"),
        ("basic", {"key": NAMED}, "Basic bWU6aHVzaA=="),
        *(("basic", given, "Basic bWU6") for given in ({"Key": "me"}, {"Key": "me:"}, {"Key_username": "me"})),
        ("", {"Key": "tok"}, "Bearer tok"),
    ],
)
def test_a_scheme_of_a_fixed_credential_is_sent_and_one_only_mentioned_as_a_bearer_token(
    name: str, given: Any, sent: str
) -> None:
    schemes = {"Key": {"type": "http", "scheme": name}} if name else {}
    assert authorization(api(schemes, [{"Key": []}], auth=given)) == sent


NONE = r"auth names K.*, but the security schemes of music are: Key"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"Kye": "tok"}, NONE),
        ({"Key": "tok", "Key.word": "x"}, NONE),
        ({"Key": " "}, "the credential for Key of music is blank"),
        ({"Key": "hush\r\nX-Admin: 1"}, "Key"),
    ],
)
def test_a_credential_that_is_none_is_refused_without_showing_it(given: dict[str, str], told: str) -> None:
    with pytest.raises(SettingsError, match=told) as caught:
        authorization(api({"Key": BEARER}, [{"Key": []}, {}], auth=given))
    assert "hush" not in str(caught.value)


def test_an_api_key_replaces_a_query_value_of_its_name() -> None:
    schemes = {"Key": {"type": "apiKey", "in": "query", "name": "key"}}
    given = {"schemes": schemes, "base_url": "http://127.0.0.1:1", "auth": {"Key": "real"}}
    found = operation_of({"security": [{"Key": []}]}, path="/x?key=made-up", **given)
    signed = Credentials(Settings()).auth_for(found).apply(build_request(found, {}))
    assert signed.url.endswith("/x?key=real")


@pytest.mark.parametrize(
    ("place", "name"),
    [
        *(("header", name) for name in ("Host", "content-length", "Transfer-Encoding", "Cookie", "X-Key: a\r\nX", "")),
        *(("cookie", name) for name in ("a=1; b", "a b")),
    ],
)
def test_an_api_key_whose_name_no_header_or_cookie_may_have_is_a_problem_and_is_not_sent(place: str, name: str) -> None:
    schemes = {"Key": {"type": "apiKey", "in": place, "name": name}, "Good": BEARER}
    found = api(schemes, [{"Key": []}], auth={"Key": "k", "Good": "g"})
    assert [problem.pointer for problem in found.problems] == ["/components/securitySchemes/Key"]
    with pytest.raises(MissingCredentialError, match="correct the scheme Key in the document"):
        authorization(found)
    either = api(schemes, [{"Key": []}, {"Good": []}], auth={"Key": "k", "Good": "g"})
    assert authorization(either) == "Bearer g"
