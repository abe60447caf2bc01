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
    entry = ApiEntry(
        "music", "m.json", headers={"X-K": Secret("hk")}, query={"q k": Secret("q&v")}, cookies={"c": Secret("cv")}
    )
    found = api({}, [], entry="music").operation("x")
    credentials = Credentials(Settings(apis={"music": entry}))
    signed = credentials.auth_for(found).apply(build_request(found, {}))
    assert signed.url.endswith("/x?q%20k=q%26v")
    assert (signed.headers["X-K"], signed.headers["Cookie"]) == ("hk", "c=cv")
    assert {"hk", "q&v", "cv"} <= credentials.secrets(found.api)


def test_configured_headers_stand_in_for_a_missing_credential() -> None:
    entry = ApiEntry("music", "m.json", headers={"Authorization": Secret("Custom abc")})
    assert (
        authorization(api({"Key": BEARER}, [{"Key": []}], entry="music"), Settings(apis={"music": entry}))
        == "Custom abc"
    )


def test_a_variable_that_apis_yaml_needs_is_named_when_the_api_is_called() -> None:
    entry = ApiEntry("music", "m.json", missing=("MUSIC_TOKEN",))
    with pytest.raises(MissingCredentialError, match="set MUSIC_TOKEN, which") as caught:
        authorization(api({}, [], entry="music"), Settings(apis={"music": entry}))
    assert caught.value.variables == ("MUSIC_TOKEN",)


def test_a_scheme_that_is_only_mentioned_is_a_bearer_token() -> None:
    assert authorization(api({}, [{"Ghost": []}], auth={"Ghost": "tok"})) == "Bearer tok"


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


def test_a_credential_with_a_line_break_is_refused_without_showing_it() -> None:
    with pytest.raises(SettingsError) as caught:
        authorization(api({"Key": BEARER}, [{"Key": []}], auth={"Key": "hush\r\nX-Admin: 1"}))
    assert "hush" not in str(caught.value)


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


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("Basic", "Basic bWU6aHVzaA=="),
        ("Bearer", "Bearer me:hush"),
        ("token", "Token me:hush"),
        ("vapid", "Vapid me:hush"),
    ],
)
def test_a_scheme_of_a_fixed_credential_is_sent(name: str, sent: str) -> None:
    assert authorization(api({"Key": {"type": "http", "scheme": name}}, [{"Key": []}], auth={"Key": "me:hush"})) == sent


def test_basic_takes_a_user_name_and_a_password() -> None:
    given = {"key": {"username": "me", "password": "hush"}}
    found = api({"Key": {"type": "http", "scheme": "basic"}}, [{"Key": []}], auth=given)
    assert authorization(found) == "Basic bWU6aHVzaA=="


@pytest.mark.parametrize("given", [{"Key": "me"}, {"Key": "me:"}, {"Key_username": "me"}])
def test_basic_takes_a_user_name_alone(given: dict[str, str]) -> None:
    assert authorization(api({"Key": {"type": "http", "scheme": "basic"}}, [{"Key": []}], auth=given)) == "Basic bWU6"


@pytest.mark.parametrize("given", [{"Kye": "tok"}, {"Key": "tok", "Key.word": "x"}])
def test_a_credential_for_no_scheme_is_refused_and_the_schemes_are_named(given: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match=r"auth names K.*, but the security schemes of music are: Key"):
        authorization(api({"Key": BEARER}, [{"Key": []}, {}], auth=given))


def test_a_blank_credential_is_refused() -> None:
    with pytest.raises(SettingsError, match="the credential for Key of music is blank"):
        authorization(api({"Key": BEARER}, [{"Key": []}], auth={"Key": " "}))


def test_an_api_key_replaces_a_query_value_of_its_name() -> None:
    schemes = {"Key": {"type": "apiKey", "in": "query", "name": "key"}}
    given = {"schemes": schemes, "base_url": "http://127.0.0.1:1", "auth": {"Key": "real"}}
    found = operation_of({"security": [{"Key": []}]}, path="/x?key=made-up", **given)
    signed = Credentials(Settings()).auth_for(found).apply(build_request(found, {}))
    assert signed.url.endswith("/x?key=real")


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("header", "Host"),
        ("header", "content-length"),
        ("header", "Transfer-Encoding"),
        ("header", "Cookie"),
        ("header", "X-Key: a\r\nX"),
        ("header", ""),
        ("cookie", "a=1; b"),
        ("cookie", "a b"),
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
