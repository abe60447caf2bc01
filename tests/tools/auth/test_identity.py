"""Guards that an API is the entry or the source that it was loaded from, whatever the title of its document is."""

import ipaddress
import json
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore
from paths import openapi
from wire.echo import EchoServer

from restgpt.calling.call import Call, OutdatedCallError, read_call
from restgpt.calling.decision import Rules
from restgpt.calling.permissions import Permissions
from restgpt.nodes.run.services import Services
from restgpt.specs import Api, Catalogue, Operation, load_api
from restgpt.specs.effect import effect_of
from restgpt.tools.auth.credentials import Credentials
from restgpt.tools.auth.oauth import OAuthTokens
from restgpt.tools.auth.token import TokenFile
from restgpt.tools.errors import MissingCredentialError, SettingsError
from restgpt.tools.http.addresses import address_policy_of, origin_of
from restgpt.tools.http.http_client import HttpClient
from restgpt.tools.request.prepared_request import build_request
from restgpt.tools.settings import ApiEntry, EffectRule, PolicyRule, Secret, Settings

BEARER = {"type": "http", "scheme": "bearer"}
OAUTH = {"type": "oauth2", "flows": {}}
SEARCH = {"operationId": "search", "security": [], "responses": {"200": {"description": "", "content": {"a/b": {}}}}}


def document(title: str = "GitHub", scheme: str = "token", kind: Any = None) -> dict[str, Any]:
    own = {"security": [], "responses": {}}
    verbs = {
        "get": {"operationId": "read", "security": [{scheme: []}], "responses": {}},
        "post": {"operationId": "write", **own},
        "delete": {"operationId": "wipe", **own},
    }
    paths = {"/x": verbs, "/open": {"get": {"operationId": "open", **own}}, "/search": {"post": SEARCH}}
    return openapi(paths, title=title, schemes={scheme: kind or BEARER})


def api(entry: str | None = None, *, base_url: str = "https://api.example.com", **more: Any) -> Api:
    return load_api(document(**more), base_url=base_url, entry=entry)


def settings(*, env: dict[str, str] | None = None, home: Path | None = None, **entry: Any) -> Settings:
    auth = Settings.from_env(env or {}).auth
    apis = {"github": ApiEntry("github", "github.json", **entry)} if entry else {}
    return Settings(apis=apis, auth=auth, **({"home": home} if home else {}))


def two_entries(env: dict[str, str]) -> Settings:
    apis = {"github": ApiEntry("github", "g.json"), "weather": ApiEntry("weather", "w.json")}
    return Settings(apis=apis, auth=Settings.from_env(env).auth)


def bearer(operation: Operation, known: Settings) -> str | None:
    try:
        return Credentials(known).auth_for(operation).headers.get("Authorization")
    except MissingCredentialError:
        return None


def test_two_documents_with_one_title_are_two_apis_and_one_entry_is_one() -> None:
    assert api().identity != api(scheme="other").identity
    assert api("GitHub").identity == api("github", title="Weather").identity
    assert api("github").identity != api().identity


def test_a_file_is_one_api_however_its_path_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.json").write_text(json.dumps(document()))
    monkeypatch.chdir(tmp_path)
    assert load_api("a.json").identity == load_api(tmp_path / "a.json").identity


def test_a_title_takes_over_no_rule_that_allows() -> None:
    known = settings(policy=(PolicyRule("allow", methods=("POST",)),), effects=(EffectRule("read", ids=("search",)),))
    rules = Rules(known, "ask")
    assert rules.verdict(api("github").operation("write")) == "allow"
    assert rules.verdict(api().operation("write")) == "ask"
    assert rules.effect(api("github").operation("search")).is_read
    assert not rules.effect(api().operation("search")).is_read


@pytest.mark.parametrize("title", ["GitHub", "Other"])
def test_a_document_with_the_name_or_the_source_of_an_entry_gets_its_strict_rules(title: str, tmp_path: Path) -> None:
    path = tmp_path / "github.json"
    path.write_text(json.dumps(document(title)))
    to_the_users = PolicyRule("allow", ids=("write",), from_user=("body.to",))
    policy = (PolicyRule("deny", methods=("DELETE",)), to_the_users, PolicyRule("ask", ids=("read",)))
    source, effects = str(path) if title == "Other" else "g.json", (EffectRule("change", ids=("open",)),)
    entry = ApiEntry("github", source, policy=policy, effects=effects)
    found, rules = load_api(path), Rules(Settings(apis={"github": entry}), "allow")
    assert rules.verdict(found.operation("wipe")) == "deny"
    assert rules.verdict(found.operation("read")) == "ask"
    assert rules.restricts(found.operation("write"))
    assert rules.effect(found.operation("open")).kind == "change"


def test_of_inherited_rules_and_the_documents_wish_the_strictest_holds() -> None:
    text = document()
    text["paths"]["/x"]["post"]["x-restgpt-policy"] = "deny"
    rules = Rules(settings(policy=(PolicyRule("ask", ids=("write",)),)), "allow")
    assert rules.verdict(load_api(text).operation("write")) == "deny"


def test_a_title_gets_no_header_cookie_or_query_value() -> None:
    extras = {kind: {"X-Team": Secret("team-secret")} for kind in ("headers", "query", "cookies")}
    credentials = Credentials(settings(**extras))
    assert credentials.auth_for(api("github").operation("open")).secrets == {"team-secret"}
    assert credentials.auth_for(api().operation("open")).secrets == frozenset()


def test_a_title_gets_no_credential_of_the_file() -> None:
    known = settings(auth={"token": Secret("mine")})
    assert bearer(api("github").operation("read"), known) == "Bearer mine"
    assert bearer(api().operation("read"), known) is None


def test_a_title_gets_no_variable_of_an_entry_and_none_that_names_no_api() -> None:
    known = settings(env={"RESTGPT_AUTH_GITHUB_TOKEN": "mine", "RESTGPT_AUTH_TOKEN": "bare"}, headers={})
    assert bearer(api("github").operation("read"), known) == "Bearer mine"
    assert bearer(api().operation("read"), known) is None
    assert bearer(api(scheme="github_token").operation("read"), known) is None


def test_a_variable_without_an_api_is_for_a_single_api() -> None:
    env = {"RESTGPT_AUTH_TOKEN": "bare"}
    assert bearer(api().operation("read"), settings(env=env)) == "Bearer bare"
    assert bearer(api("github").operation("read"), settings(env=env, headers={})) == "Bearer bare"
    assert bearer(api("github").operation("read"), two_entries(env)) is None
    beside = settings(env=env).beside_apis([api(), api(title="Weather")])
    assert bearer(api().operation("read"), beside) is None
    mixed = settings(env=env, headers={}).beside_apis([api("github"), api()])
    assert bearer(api("github").operation("read"), mixed) is None


def test_the_apis_of_one_graph_share_no_variable_without_the_name_of_an_api() -> None:
    services = Services([api(), api(title="Weather")], settings=settings(env={"RESTGPT_AUTH_TOKEN": "bare"}))
    with pytest.raises(MissingCredentialError, match="an entry for it"):
        services.http.credentials.auth_for(api().operation("read"))


def test_the_document_of_the_only_entry_is_the_same_api_unless_it_chooses_the_address(tmp_path: Path) -> None:
    path = tmp_path / "github.json"
    path.write_text(json.dumps(document("Any")))
    entry = ApiEntry("github", str(path), base_url="https://api.example.com/")
    known = Settings(apis={"github": entry}, auth={"TOKEN": Secret("bare")})
    assert bearer(load_api(path, base_url="https://api.example.com").operation("read"), known) == "Bearer bare"
    assert bearer(load_api(path).operation("read"), known) is None
    two = known.beside_apis([load_api(path, base_url=f"https://{name}.example") for name in "ab"])
    assert bearer(load_api(path, base_url="https://a.example").operation("read"), two) is None


def test_no_scheme_of_one_entry_gets_the_variable_of_another() -> None:
    apis = {name: ApiEntry(name, f"{name}.json") for name in ("git", "git-hub")}
    known = Settings(apis=apis, auth=Settings.from_env({"RESTGPT_AUTH_GIT_HUB_TOKEN": "mine"}).auth)
    assert bearer(api("git-hub").operation("read"), known) == "Bearer mine"
    assert bearer(api("git", scheme="hub_token").operation("read"), known) is None
    with pytest.raises(MissingCredentialError, match=r"auth\.hub_token of git in apis\.yaml"):
        Credentials(known).auth_for(api("git", scheme="hub_token").operation("read"))


def test_the_error_names_the_variable_that_is_read() -> None:
    with pytest.raises(MissingCredentialError, match="RESTGPT_AUTH_GITHUB_TOKEN to") as caught:
        Credentials(two_entries({})).auth_for(api("github").operation("read"))
    assert caught.value.variables == ("RESTGPT_AUTH_GITHUB_TOKEN",)
    with pytest.raises(MissingCredentialError, match="--api") as caught:
        Credentials(two_entries({})).auth_for(api().operation("read"))
    assert caught.value.variables == ()


def test_a_title_gets_no_token_on_file(tmp_path: Path) -> None:
    known = settings(home=tmp_path)
    mine, other = api("github", kind=OAUTH), api(kind=OAUTH)
    TokenFile(tmp_path / "tokens.json").put(mine, "token", {"access_token": "a-token"})
    assert OAuthTokens(known).can_get(other, other.security_schemes["token"]) is False
    known = settings(home=tmp_path, headers={})
    assert OAuthTokens(known).token(mine, mine.security_schemes["token"], []) == "a-token"
    assert OAuthTokens(known).token(other, other.security_schemes["token"], []) is None


def test_a_title_gets_no_private_address_and_no_other_host() -> None:
    with EchoServer() as echo:
        known = settings(allow_private=True, hosts=("cdn.example",))
        address = echo.url.replace("127.0.0.1", "api.example.com")

        def status(found: Operation) -> int:
            client = HttpClient(settings=known, resolver=lambda host, port: ["127.0.0.1"], sleep=lambda seconds: None)
            return client.send(build_request(found, {}), found).status

        assert status(api("github", base_url=address).operation("open")) == 200
        with pytest.raises(Exception, match="leads to a loopback address"):
            status(api(base_url=address).operation("open"))
        assert len(echo.arrived) == 1


def test_a_title_gets_no_rate_limit_and_shares_none() -> None:
    client = HttpClient(settings=settings(requests_per_second=4))
    assert client.rate_limit(api("github")) is client.rate_limit(api("GitHub", title="Other"))
    assert client.rate_limit(api()) is not client.rate_limit(api("github"))


def test_a_title_gets_no_confirmation() -> None:
    kept = Permissions(InMemoryStore())
    kept.confirm_read(api("github").operation("search"), "")
    assert kept.reads(api("github").operation("search"))
    assert not kept.reads(api().operation("search"))
    assert not kept.reads(api("weather").operation("search"))


@pytest.mark.parametrize(("before", "after"), [(None, "github"), ("github", "weather")])
def test_a_kept_request_gets_no_credential_of_another_entry(before: str | None, after: str) -> None:
    operation = api(before).operation("write")
    effect, request = effect_of(operation), build_request(operation, {})
    record = Call("a", operation, effect, "write", {}, {}, request).to_json()
    assert read_call(record, Catalogue([api(before)])).request == request
    with pytest.raises(OutdatedCallError, match=f"another API than the entry {after} of apis.yaml"):
        read_call(record, Catalogue([api(after)]))


def test_an_entry_that_does_not_exist_is_an_error_that_names_the_entries() -> None:
    with pytest.raises(SettingsError, match=r"no entry 'gitlab'\. Its entries are: github"):
        Services([api("gitlab")], settings=settings(headers={})).catalogue(())


def test_an_api_of_the_file_has_its_entry(tmp_path: Path) -> None:
    (tmp_path / "w.json").write_text(json.dumps(document()))
    (tmp_path / "apis.yaml").write_text("my weather: {spec: w.json, base_url: 'https://w.example', auth: {token: t}}")
    known = Settings.from_env({"RESTGPT_HOME": str(tmp_path)}, apis=tmp_path / "apis.yaml")
    found = Services(settings=known).catalogue(["my-weather"]).apis[0]
    assert (found.entry, found.name, found.base_url) == ("my weather", "my-weather", "https://w.example")
    assert bearer(found.operation("read"), known) == "Bearer t"


def test_an_address_that_a_saved_document_names_is_not_the_users_word(tmp_path: Path) -> None:
    for server, address in (("http://127.0.0.1:9", "127.0.0.1"), ("http://10.0.0.8", "10.0.0.8")):
        path = tmp_path / "saved.json"
        path.write_text(json.dumps({**document(), "servers": [{"url": server}]}))
        for source in (path, path.read_bytes()):
            policy = address_policy_of(load_api(source).operation("open"))
            assert not policy.allows(origin_of(server), ipaddress.ip_address(address))
        typed = address_policy_of(load_api(path, base_url=server).operation("open"))
        assert typed.allows(origin_of(server), ipaddress.ip_address(address))
