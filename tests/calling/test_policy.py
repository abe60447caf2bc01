"""Guards what may be sent without asking."""

import pytest
from langgraph.store.memory import InMemoryStore

from restgpt.calling.call import Call, draft
from restgpt.calling.decision import Rules, decide
from restgpt.calling.permissions import Permissions
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
  /things/search: {post: {operationId: search, x-restgpt-effect: read, responses: {"200": {
    description: ok, content: {application/json: {}}}}}}
  /bell: {get: {operationId: ring, x-restgpt-effect: change, responses: {"200": {description: ok}}}}
"""
API = load_api(DOCUMENT)
OWN = load_api(DOCUMENT, entry="things")


RUNS = ("ask", "allow", "deny", "dry-run")
BY_RUN = ["ask", "allow", "deny", "hold"]


@pytest.mark.parametrize(
    ("operation", "rules", "verdicts"),
    [
        ("read", [], ["allow"] * 4),
        ("write", [], BY_RUN),
        # What the document proposes as a read, and what it calls a change, are changes.
        ("search", [], BY_RUN),
        ("ring", [], BY_RUN),
        # A rule of the user goes before the method and the document, but lets no change through a run without any.
        ("read", [PolicyRule("ask", methods=("GET",))], ["ask"] * 4),
        ("write", [PolicyRule("allow", ids=("write",))], ["allow", "allow", "deny", "hold"]),
        ("wipe", [PolicyRule("allow", ids=("wipe",))], ["allow", "allow", "deny", "hold"]),
        ("search", [EffectRule("read", ids=("search",))], ["allow"] * 4),
        ("ring", [EffectRule("read", ids=("ring",))], ["allow"] * 4),
        # A rule that denies goes before everything.
        ("write", [PolicyRule("deny", ids=("write",))], ["deny"] * 4),
        ("search", [PolicyRule("deny", ids=("search",)), EffectRule("read", ids=("search",))], ["deny"] * 4),
    ],
)
def test_rules_effects_and_the_run_decide_in_this_order(
    operation: str, rules: list[PolicyRule | EffectRule], verdicts: list[str]
) -> None:
    policy = tuple(rule for rule in rules if isinstance(rule, PolicyRule))
    effects = tuple(rule for rule in rules if isinstance(rule, EffectRule))
    settings = Settings(apis={"things": ApiEntry("things", "things.yaml", policy=policy, effects=effects)})
    assert [Rules(settings, run).verdict(OWN.operation(operation)) for run in RUNS] == verdicts


def test_a_document_can_ask_for_care_but_not_loosen() -> None:
    assert Rules(Settings(), "allow").verdict(API.operation("wipe")) == "deny"
    assert Rules(Settings(), "ask").verdict(API.operation("swap")) == "ask"


@pytest.mark.parametrize("name", ["My_Board", "my board", "MY-BOARD"])
def test_a_rule_holds_however_the_api_is_spelled_in_the_file(name: str) -> None:
    api = load_api(DOCUMENT, entry="my-board")
    entry = ApiEntry(name=name, spec="things.yaml", policy=(PolicyRule("deny", ids=("write",)),))
    assert Rules(Settings(apis={name: entry}), "allow").verdict(api.operation("write")) == "deny"


def test_a_confirmed_read_is_decided_like_a_get_and_no_other_change() -> None:
    kept = Permissions(InMemoryStore())
    for name in ("search", "write"):
        kept.confirm_read(API.operation(name), "it reads")
    assert {Rules(Settings(), run, kept).verdict(API.operation("search")) for run in RUNS} == {"allow"}
    assert Rules(Settings(), "ask", kept).verdict(API.operation("write")) == "ask"


def test_a_refusal_gives_the_reason_of_its_rule() -> None:
    rule = PolicyRule("deny", ids=("write",), reason="The auditors need all records.")
    rules = Rules(Settings(apis={"things": ApiEntry(name="things", spec="things.yaml", policy=(rule,))}), "allow")
    made = draft(OWN.operation("write"), {}, id="1")
    assert isinstance(made, Call)
    refused = decide(made, rules)
    assert refused.stage == "rejected"
    assert refused.note == "A rule does not allow this request: The auditors need all records."
