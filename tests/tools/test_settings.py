"""Guards settings: their sources, error messages with the place of the error, and that no secret is shown."""

import copy
import json
import os
import pickle
import re
from dataclasses import replace
from pathlib import Path

import pytest
from paths import openapi
from pydantic import BaseModel, ValidationError

from restgpt.nodes.run.services import Context
from restgpt.sources import Sources
from restgpt.specs import load_api
from restgpt.tools.auth.credentials import Credentials
from restgpt.tools.errors import ArgumentError, SettingsError
from restgpt.tools.model import ROLES
from restgpt.tools.request.prepared_request import build_request
from restgpt.tools.settings import ApiEntry, Secret, Settings
from restgpt.tools.settings.apis_file import load_apis
from restgpt.tools.settings.environment import AllowedFolders, auth_variable, load_dotenv
from restgpt.tools.settings.settings import offering_apis

PATHS = {
    "/albums/{id}/tracks": {"get": {"operationId": "tracks", "tags": ["music"], "responses": {}}},
    "/albums": {"post": {"operationId": "add", "responses": {}}, "delete": {"responses": {}}},
}
OPERATIONS = openapi(PATHS, servers=[{"url": "http://127.0.0.1"}])


def write(folder: Path, text: str) -> Path:
    path = folder / "apis.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_variables_become_settings(tmp_path: Path) -> None:
    models = {"RESTGPT_MODEL": "openai:a", "RESTGPT_MODEL_PARSER": "openai:b", "OPENAI_API_KEY": "sk"}
    places = {"OPENAI_BASE_URL": "http://localhost/v1", "RESTGPT_HOME": str(tmp_path), "RESTGPT_DATA": ""}
    settings = Settings.from_env({**models, **places, "RESTGPT_DATABASE_URL": "postgresql://u:p@h/d"})
    assert (settings.model_for("planner"), settings.model_for("parser")) == ("openai:a", "openai:b")
    assert settings.has_openai_api_key
    assert (settings.openai_base_url, settings.home, settings.data) == ("http://localhost/v1", tmp_path, None)
    assert settings.database_url is not None
    assert settings.database_url.reveal() == "postgresql://u:p@h/d"


def test_dotenv_lies_below_the_environment(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    dotenv.write_text("RESTGPT_MODEL=file\nOPENAI_BASE_URL='http://file/v1'\n")
    settings = Settings.from_env({"RESTGPT_MODEL": "real"}, dotenv=dotenv)
    assert (settings.model, settings.openai_base_url) == ("real", "http://file/v1")


def test_loading_dotenv_overrides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dotenv = tmp_path / ".env"
    dotenv.write_text("RESTGPT_MODEL=file\nRESTGPT_TEST_ONLY=new\n")
    monkeypatch.setenv("RESTGPT_MODEL", "real")
    monkeypatch.setenv("RESTGPT_TEST_ONLY", "placeholder")
    monkeypatch.delenv("RESTGPT_TEST_ONLY")
    load_dotenv(dotenv)
    assert (os.environ["RESTGPT_MODEL"], os.environ["RESTGPT_TEST_ONLY"]) == ("real", "new")


def test_scheme_names_match_by_letters_and_digits() -> None:
    settings = Settings.from_env({"RESTGPT_AUTH_OAUTH_2_0": "t", "RESTGPT_AUTH_SPOTIFY_APIKEY": "own"})
    assert auth_variable("oauth_2.0") == "RESTGPT_AUTH_OAUTH_2_0"
    found = settings.credential("OAuth-2.0", load_api(OPERATIONS))
    assert found is not None
    assert found.reveal() == "t"
    assert settings.credential("apiKey", load_api(OPERATIONS)) is None
    settings = replace(settings, apis={"spotify": ApiEntry("spotify", "s.json")})
    own = settings.credential("apiKey", load_api(OPERATIONS, entry="spotify"))
    assert own is not None
    assert own.reveal() == "own"


def test_a_secret_shows_nowhere() -> None:
    secret = Secret("hush-hush")
    assert "hush" not in f"{secret} {secret!r} {[secret]}"
    for reveal in (pickle.dumps, json.dumps, copy.copy):
        with pytest.raises(TypeError):
            reveal(secret)
    settings = Settings.from_env({"RESTGPT_AUTH_KEY": "hush-hush", "RESTGPT_DATABASE_URL": "postgresql://u:hush@h/d"})
    assert "hush" not in repr(settings)
    assert set(settings.secrets()) == {"hush-hush", "postgresql://u:hush@h/d"}


def test_apis_are_read_with_their_secrets_and_rules(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        github: https://x.test/openapi.json
        music:
          spec: music.yaml
          base_url: http://127.0.0.1:${PORT:-8101}
          auth: {bearer: "${TOKEN}", oauth: {client_id: me, client_secret: "${TOKEN}2"}}
          headers: {X-Team: blue}
          query: {key: 5}
          hosts: cdn.test
          allow_private: true
          requests_per_second: 2.5
          ca_file: certificates/ours.pem
          cert_file: ${HOMEDIR}/me.pem
          policy:
            - {decision: deny, method: delete}
            - {decision: allow, tag: music, path: "/albums/*/tracks"}
            - {decision: ask, id: [add, other]}
        """,
    )
    apis = load_apis(path, {"TOKEN": "hush-hush", "HOMEDIR": "/etc/me"})
    music = apis["music"]
    assert apis["github"].spec == "https://x.test/openapi.json"
    assert (music.spec, music.base_url) == (str(tmp_path / "music.yaml"), "http://127.0.0.1:8101")
    assert music.credentials() == {"bearer": "hush-hush", "oauth.client_id": "me", "oauth.client_secret": "hush-hush2"}
    assert (music.hosts, music.allow_private, music.requests_per_second) == (("cdn.test",), True, 2.5)
    assert (music.ca_file, music.cert_file) == (tmp_path / "certificates/ours.pem", Path("/etc/me/me.pem"))
    assert (music.headers["X-Team"].reveal(), music.query["key"].reveal()) == ("blue", "5")
    assert "hush" not in repr(apis)


def test_headers_that_are_public_by_their_name_are_no_secrets(tmp_path: Path) -> None:
    headers = "{Accept: application/json, X-Api-Version: '2022-11-28', User-Agent: board/1, X-Key: hush-hush}"
    apis = load_apis(write(tmp_path, f"a: {{spec: x, headers: {headers}, query: {{accept: hush}}}}"), {})
    assert Settings(apis=apis).secrets() == ["hush-hush", "hush"]


def test_the_first_fitting_rule_says_the_effect_and_decides(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        m:
          spec: m.json
          effects:
            - {effect: change, path: "/albums/*/tracks", method: get}
            - {effect: read, path: "/albums/**"}
          policy:
            - {decision: allow, path: "/albums/*"}
            - {decision: deny, method: DELETE}
            - {decision: ask, path: "/albums/**", method: [GET, HEAD]}
        """,
    )
    entry, api = load_apis(path, {})["m"], load_api(OPERATIONS)
    assert entry.effect(api.operation("tracks")) == "change"
    assert entry.effect(api.operation("DELETE /albums")) is None
    assert entry.decide(api.operation("DELETE /albums")) == "deny"
    assert entry.decide(api.operation("tracks")) == "ask"
    assert entry.decide(api.operation("add")) is None
    assert load_apis(write(tmp_path, "m: m.json"), {})["m"].effect(api.operation("tracks")) is None


NESTED, NO_YAML = "cannot be read: it is nested too deeply", "cannot be read: it is not YAML"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[1]", "mapping"),
        ("a: {base_url: x}", "needs a spec"),
        ("a: {spec: x, colour: red}", "a.colour"),
        ("a: {spec: 'x/${NOWHERE}'}", "NOWHERE"),
        ("a: {spec: x, policy: [{decision: maybe}]}", "a.policy[0].decision"),
        ("a: {spec: x, policy: [{decision: ask, when: now}]}", "a.policy[0].when"),
        ("a: {spec: x, effects: {effect: read, id: b}}", "a.effects must be a list"),
        ("a: {spec: x, effects: [{effect: maybe, id: b}]}", "a.effects[0].effect must be read or change"),
        ("a: {spec: x, effects: [{effect: read, name: b}]}", "a.effects[0].name is unknown"),
        ("a: {spec: x, effects: [{effect: read}]}", "a.effects[0] must name operations"),
        ("a: {spec: x, requests_per_second: 0}", "a.requests_per_second"),
        ("a: {spec: x, allow_private: please}", "a.allow_private"),
        ("a: {spec: [x]}", "a.spec"),
        ("a: {spec: x, ca_file: true}", "a.ca_file"),
        ("a: {spec: x, key_file: k.pem}", "a.key_file needs a cert_file"),
        ("a: {spec: x, base_url: localhost:8101}", "a.base_url must be an HTTP URL"),
        ("a: {spec: x, base_url: 'http://[::1'}", "a.base_url must be an HTTP URL"),
        ("a: {spec: b.yaml, from: [crm]}", "a.from names crm, which is no API of this file"),
        ("model: a.yaml\na: {spec: x, from: model}", "which is a word of its own here; rename the API model"),
        ("a: [", f"{NO_YAML}; see line 1, column 5"),
        ("a:\n\tspec: x", "see line 2, column 1"),
        ("a: {spec: x, notes: 2020-99-99}", NO_YAML),
        ("[" * 1000, NESTED),
        ("a: {spec: x, auth: &a {b: *a}}", NESTED),
    ],
)
def test_what_is_wrong_is_named_by_place(tmp_path: Path, text: str, place: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(place)):
        load_apis(write(tmp_path, text), {})


@pytest.mark.parametrize(
    "given",
    [
        *("auth: {k: [hush-hush]}", "auth: hush-hush", "headers: [hush-hush]", "base_url: hush-hush"),
        *("policy: [{decision: hush-hush}]", "policy: [hush-hush]", "effects: [{effect: [hush-hush], id: b}]"),
        *("allow_private: hush-hush", "requests_per_second: hush-hush", "notes: {hush-hush: b}"),
    ],
)
def test_no_value_of_apis_yaml_is_in_a_complaint(tmp_path: Path, given: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_apis(write(tmp_path, f"a: {{spec: x, {given}}}"), {})
    assert "hush" not in str(caught.value)


def test_a_secret_that_is_not_set_matters_to_its_own_api_only(tmp_path: Path) -> None:
    path = write(tmp_path, "a: {spec: x, auth: {k: '${NOWHERE}', l: '${SOME}'}}\nb: {spec: y, headers: {h: '${SOME}'}}")
    apis = load_apis(path, {"SOME": "value"})
    assert (apis["a"].missing, apis["b"].missing) == (("NOWHERE",), ())
    assert apis["a"].credentials() == {"l": "value"}


def test_from_names_entries_however_they_are_spelled(tmp_path: Path) -> None:
    text = "My CRM: a.yaml\ntracker: {spec: b.yaml, from: [user, document, self, my-crm, model]}"
    assert load_apis(write(tmp_path, text), {})["tracker"].sources == ("My CRM", "model")


@pytest.fixture
def allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the test runs, whose `apis.yaml` is allowed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    AllowedFolders(tmp_path / ".restgpt").allow(tmp_path)
    return tmp_path


def test_a_variable_names_the_file_of_the_apis(allowed: Path) -> None:
    write(allowed, "here: {spec: x.json}")
    named = allowed / "other.yaml"
    named.write_text("there: {spec: x.json}")
    assert list(Settings.from_env({"RESTGPT_APIS": str(named)}).apis) == ["there"]
    assert list(Settings.from_env({"RESTGPT_APIS": ""}).apis) == ["here"]
    with pytest.raises(SettingsError, match=r"none\.yaml is not a file"):
        Settings.from_env({"RESTGPT_APIS": str(allowed / "none.yaml")})


def test_recipes_lie_beside_the_apis_in_use_unless_their_folder_is_named(allowed: Path) -> None:
    home = allowed / "home"
    home.mkdir()
    values = {"RESTGPT_HOME": str(home)}
    assert Settings.from_env(values).recipes == Path("recipes")
    file = write(home, "a: {spec: x.json}")
    assert list(Settings.from_env(values).apis) == ["a"]
    assert Settings.from_env(values).recipes == home / "recipes"
    write(allowed, "a: {spec: x.json}")
    assert Settings.from_env(values).recipes == Path("recipes")
    assert Settings.from_env(values, apis=file).recipes == home / "recipes"
    assert Settings.from_env({**values, "RESTGPT_RECIPES": "~/mine"}).recipes == Path("~/mine").expanduser()


def test_external_references_are_allowed_by_a_variable_or_for_an_entry(tmp_path: Path) -> None:
    parameter = {"$ref": "limit.yaml"}
    paths = {"/a": {"get": {"operationId": "x", "parameters": [parameter], "responses": {}}}}
    (tmp_path / "api.json").write_text(json.dumps(openapi(paths)))
    (tmp_path / "limit.yaml").write_text("{name: limit, in: query}")
    (tmp_path / "apis.yaml").write_text("a: {spec: api.json}\nb: {spec: api.json, allow_external: true}")
    home = {"RESTGPT_HOME": str(tmp_path / "home")}
    sources = Sources(("a", "b"), (str(tmp_path / "api.json"),))

    def read(**more: str) -> list[int]:
        apis = sources.load(Settings.from_env({**home, **more}, apis=tmp_path / "apis.yaml"))
        return [len(api.operation("x").parameters) for api in apis]

    assert read() == [0, 1, 0]
    assert read(RESTGPT_ALLOW_EXTERNAL="1") == [1, 1, 1]


def test_the_example_file_lists_every_variable_that_is_read_and_is_harmless_as_it_is(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    listed = set(re.findall(r"^#?([A-Z][A-Z0-9_]+)=", (root / ".env.example").read_text(), re.MULTILINE))
    source = "".join(path.read_text() for path in (root / "tools" / "settings").glob("*.py"))
    read = set(re.findall(r'"((?:RESTGPT|OPENAI)_[A-Z_]*[A-Z])"', source))
    assert read <= listed
    assert {f"RESTGPT_MODEL_{role.upper()}" for role in ROLES} <= listed
    settings = Settings.from_env({"RESTGPT_HOME": str(tmp_path)}, dotenv=root / ".env.example")
    assert (settings.secrets(), settings.has_openai_api_key) == ([], False)


def test_nobody_is_asked_for_a_parameter_that_an_entry_sends_with_every_request(tmp_path: Path) -> None:
    asked = [("X-Tenant", "header"), ("key", "query"), ("session", "cookie"), ("X-Other", "header")]
    parameters = [{"name": name, "in": place, "required": True, "schema": {"type": "string"}} for name, place in asked]
    paths = {"/a": {"get": {"operationId": "a", "parameters": parameters, "responses": {}}}}
    (tmp_path / "api.json").write_text(json.dumps(openapi(paths, servers=[{"url": "https://a.test"}])))
    own = "headers: {x-tenant: t}, query: {key: k}, cookies: {session: s}"
    file = write(tmp_path, f"a: {{spec: api.json, {own}}}\nb: {{spec: api.json}}")
    settings = Settings.from_env({"RESTGPT_HOME": str(tmp_path)}, apis=file)
    operation = settings.load("a").operation("a")
    assert [item.name for item in operation.parameters] == ["X-Other"]
    request = build_request(operation, {"header": {"X-Other": "o"}})
    assert Credentials(settings).auth_for(operation).apply(request).headers["x-tenant"] == "t"
    with pytest.raises(ArgumentError, match="/header/X-Tenant: is set by the program"):
        build_request(operation, {"header": {"X-Other": "o", "X-Tenant": "mine"}})
    assert len(settings.load("b").operation("a").parameters) == 4


class Other(BaseModel):
    prompting: str = "v1"


@pytest.mark.parametrize("names", [["board"], ["board", "git hub", "ümläut"]])
def test_the_schema_lists_the_names_of_the_apis_and_is_the_same_beside(names: list[str]) -> None:
    before, after = Context.model_json_schema(), offering_apis(Context, names).model_json_schema()
    assert list(after["properties"]) == list(before["properties"])
    offered = after["properties"].pop("apis")
    before["properties"].pop("apis")
    assert offered["items"] == {"enum": names, "type": "string"}
    assert offered["description"].endswith(f"The configured APIs are: {', '.join(names)}.")
    assert after == before


def test_the_settings_are_the_same_and_unknown_ones_are_still_refused() -> None:
    offering = offering_apis(Context, ["board"])
    assert offering(apis=["Board"]).apis == ["Board"]
    assert offering() == offering(apis=[])
    with pytest.raises(ValidationError, match="wrietes"):
        offering(wrietes="deny")


def test_a_schema_stays_as_it_is_without_an_api_and_without_that_setting() -> None:
    assert offering_apis(Context, []) is Context
    assert offering_apis(Other, ["board"]) is Other
