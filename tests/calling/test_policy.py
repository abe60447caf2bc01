"""Guards what may be sent without asking."""

import pytest
from langgraph.store.memory import InMemoryStore

from restgpt.calling.confirmations import Confirmations
from restgpt.calling.policy import Rules
from restgpt.specs import load_api
from restgpt.tools.settings import ApiEntry, EffectRule, PolicyRule, Settings

DOCUMENT = """
openapi: 3.1.0
info: {title: Things, version: "1"}
servers: [{url: "https://things.example"}]
paths:
  /things:
    get: {operationId: read, responses: {"200": {description: ok}}}
    post: {operationId: write, responses: {"201": {description: ok}}}
    delete: {operationId: wipe, x-restgpt-policy: deny, responses: {"204": {description: ok}}}
    put: {operationId: swap, x-restgpt-policy: allow, responses: {"204": {description: ok}}}
"""
API = load_api(DOCUMENT)
OWN = load_api(DOCUMENT, entry="things")


def settings(*rules: PolicyRule) -> Settings:
    return Settings(apis={"things": ApiEntry(name="things", spec="things.yaml", policy=rules)})


@pytest.mark.parametrize(
    ("writes", "read", "write"),
    [
        ("ask", "allow", "ask"),
        ("allow", "allow", "allow"),
        ("deny", "allow", "deny"),
        ("dry-run", "allow", "hold"),
    ],
)
def test_without_rules_the_method_and_the_run_decide(writes: str, read: str, write: str) -> None:
    assert Rules(Settings(), writes).verdict(API.operation("read")) == read
    assert Rules(Settings(), writes).verdict(API.operation("write")) == write


def test_the_users_rule_goes_before_the_method() -> None:
    rules = settings(PolicyRule("allow", ids=("write",)), PolicyRule("ask", methods=("GET",)))
    assert Rules(rules, "ask").verdict(OWN.operation("write")) == "allow"
    assert Rules(rules, "ask").verdict(OWN.operation("read")) == "ask"


def test_a_denying_rule_holds_in_every_run() -> None:
    rules = settings(PolicyRule("deny", ids=("write",)))
    assert {Rules(rules, run).verdict(OWN.operation("write")) for run in ("ask", "allow", "dry-run")} == {"deny"}


@pytest.mark.parametrize(("writes", "said"), [("deny", "deny"), ("dry-run", "hold")])
def test_an_allowing_rule_lets_nothing_through_a_run_without_changes(writes: str, said: str) -> None:
    rules = settings(PolicyRule("allow", ids=("write",)))
    assert Rules(rules, writes).verdict(OWN.operation("write")) == said


def test_a_document_can_ask_for_care_but_not_loosen() -> None:
    assert Rules(Settings(), "allow").verdict(API.operation("wipe")) == "deny"
    assert Rules(Settings(), "ask").verdict(API.operation("swap")) == "ask"


def test_the_users_rule_goes_before_the_documents_wish() -> None:
    rules = settings(PolicyRule("allow", ids=("wipe",)))
    assert Rules(rules, "ask").verdict(OWN.operation("wipe")) == "allow"


@pytest.mark.parametrize("name", ["My_Board", "my board", "MY-BOARD"])
def test_a_rule_holds_however_the_api_is_spelled_in_the_file(name: str) -> None:
    api = load_api(DOCUMENT, entry="my-board")
    entry = ApiEntry(name=name, spec="things.yaml", policy=(PolicyRule("deny", ids=("write",)),))
    assert Rules(Settings(apis={name: entry}), "allow").verdict(api.operation("write")) == "deny"


SEARCHES = """
openapi: 3.1.0
info: {title: Things, version: "1"}
servers: [{url: "https://things.example"}]
paths:
  /things/search:
    post:
      operationId: search
      x-restgpt-effect: read
      responses: {"200": {description: ok, content: {application/json: {}}}}
  /things: {get: {operationId: ring, x-restgpt-effect: change, responses: {"200": {description: ok}}}}
"""
SEARCH = load_api(SEARCHES)
OWN_SEARCH = load_api(SEARCHES, entry="things")


def effects(*rules: EffectRule) -> Settings:
    return Settings(apis={"things": ApiEntry(name="things", spec="things.yaml", effects=rules)})


@pytest.mark.parametrize(
    ("writes", "said"), [("ask", "ask"), ("allow", "allow"), ("deny", "deny"), ("dry-run", "hold")]
)
def test_a_proposed_read_is_decided_like_a_change(writes: str, said: str) -> None:
    assert Rules(Settings(), writes).verdict(SEARCH.operation("search")) == said


@pytest.mark.parametrize("writes", ["ask", "allow", "deny", "dry-run"])
def test_a_confirmed_and_a_configured_read_are_decided_like_a_get(writes: str) -> None:
    kept = Confirmations(InMemoryStore())
    kept.remember(SEARCH.operation("search"), "it reads")
    assert Rules(Settings(), writes, kept).verdict(SEARCH.operation("search")) == "allow"
    told = effects(EffectRule("read", ids=("search",)))
    assert Rules(told, writes).verdict(OWN_SEARCH.operation("search")) == "allow"


def test_a_rule_that_denies_goes_before_every_effect() -> None:
    entry = ApiEntry(
        name="things",
        spec="things.yaml",
        policy=(PolicyRule("deny", ids=("search",)),),
        effects=(EffectRule("read", ids=("search",)),),
    )
    assert Rules(Settings(apis={"things": entry}), "allow").verdict(OWN_SEARCH.operation("search")) == "deny"


def test_a_get_that_the_document_calls_a_change_is_asked_about_unless_the_user_says_that_it_reads() -> None:
    assert Rules(Settings(), "ask").verdict(SEARCH.operation("ring")) == "ask"
    assert Rules(Settings(), "deny").verdict(SEARCH.operation("ring")) == "deny"
    told = effects(EffectRule("read", ids=("ring",)))
    assert Rules(told, "deny").verdict(OWN_SEARCH.operation("ring")) == "allow"


def test_a_confirmation_of_what_does_not_look_like_a_read_counts_for_nothing() -> None:
    kept = Confirmations(InMemoryStore())
    kept.remember(API.operation("write"), "it reads")
    assert Rules(Settings(), "ask", kept).verdict(API.operation("write")) == "ask"
