"""Guards the rules by which a failed task is put down to a module: one case for each, and real runs that err."""

from typing import Any

import pytest
from benchrecords import CHANGE, FIND, OTHER, READ, entry, plan, record, request

from restgpt_bench.restbench.attribution import MODULES, RULES, attribute, breakdown
from restgpt_bench.restbench.record import Failure

WRITE = {"gold": (FIND, CHANGE), "flows": {CHANGE: ("s17",)}}
SENT = [entry(FIND), entry(CHANGE, query={"ids": "s17"})]
FOUND = [request("find", result="The id is s17"), request("change", result="The response has no body.")]

ASKED, NO_ID = request("find", result="s17"), request("find", result="There are three songs.")
OTHER_ID, GREEN = entry(READ, path="/songs/s99"), request("read", result="green")
DROP = "DELETE /songs"

Case = tuple[str, str, dict[str, Any]]


def case(module: str, rule: str, *log: Any, **given: Any) -> Case:
    """The module and rule of a failed task, and its record: what was sent, unless it is all right, and the rest."""
    return module, rule, {**({"log": [*log]} if log else {}), **given}


CASES: dict[str, Case] = {
    "done": case("none", "success", success=True),
    "provider down": case("run", "run broke off", failure=Failure("ModelUnavailableError", "503"), log=[], plans=[]),
    "planner unreadable": case("planner", "planner gave no decision", failure=Failure("ModelReplyError", "no JSON")),
    "nothing planned": case("planner", "never planned", log=[], plans=[], requests=[], speaks_of=()),
    "ended early": case(
        "planner", "never planned", entry(FIND), plans=[plan("find")], requests=[request("find")], speaks_of=(FIND,)
    ),
    "another selected": case(
        *("selector", "another was selected", entry(FIND), entry(OTHER)),
        plans=[plan("find"), plan("other")],
        requests=[request("find")],
    ),
    "no call selected": case("selector", "another was selected", entry(FIND), plans=[plan("find")]),
    "id not extracted": case("parser", "value not extracted", entry(FIND), requests=[NO_ID]),
    "arguments refused": case(
        "caller", "not carried out", entry(FIND), entry(READ, 404), requests=[ASKED, request("read", 404)]
    ),
    "never requested": case("caller", "not carried out", entry(FIND), requests=[ASKED]),
    "server failed": case("run", "API failed", entry(FIND), entry(READ, 500), requests=[ASKED, request("read", 500)]),
    "no answer": case("run", "API failed", entry(FIND), requests=[ASKED, request("read", 0, state="failed")]),
    "guessed an id": case("parser", "value not extracted", entry(FIND), OTHER_ID, requests=[NO_ID, GREEN]),
    "took the wrong id": case(
        "caller", "other value used", entry(FIND), OTHER_ID, requests=[request("find", result="s99, s17"), GREEN]
    ),
    "deleted more, as planned": case(
        "planner", "change planned in excess", *SENT, entry(DROP), requests=FOUND, speaks_of=(DROP,), **WRITE
    ),
    "deleted more, unplanned": case(
        "selector", "change selected in excess", *SENT, entry(DROP), requests=FOUND, **WRITE
    ),
    "changed twice, unplanned": case(
        "selector", "change selected in excess", *SENT, SENT[1], requests=FOUND, speaks_of=(FIND,), **WRITE
    ),
    "answer not extracted": case("parser", "answer not extracted", told=False),
    "answered wrongly": case("planner", "answered wrongly"),
    "changed wrongly": case("caller", "changed wrongly", *SENT, requests=FOUND, told=False, **WRITE),
}


@pytest.mark.parametrize("name", CASES)
def test_a_failure_is_put_down_to_its_module(name: str) -> None:
    module, rule, given = CASES[name]
    found = attribute(record(**given))
    assert (found.module, found.rule) == (module, rule)


def test_every_rule_has_a_case() -> None:
    assert {(name, module) for name, module, _ in RULES} == {(rule, module) for module, rule, _ in CASES.values()}


def test_the_path_that_went_furthest_counts() -> None:
    """Of two listed paths the agent was on the shorter one and only forgot its last step."""
    plans, sent = [plan("other"), plan("read")], {"log": [entry(OTHER)], "requests": [request("other", result="s17")]}
    found = attribute(record(gold=(FIND, READ, CHANGE), alternatives=[(OTHER, READ)], plans=plans, **sent))
    assert (found.module, found.rule) == ("caller", "not carried out")


def test_among_equal_paths_the_one_that_was_being_followed_counts() -> None:
    plans, sent = [plan("find"), plan("read")], {"log": [entry(FIND)], "requests": [request("find", result="s17")]}
    found = attribute(
        record(gold=(FIND, CHANGE), alternatives=[(FIND, READ)], plans=plans, speaks_of=(FIND, READ), **sent)
    )
    assert found.module == "caller"


def test_a_second_call_of_the_same_operation_has_to_be_selected_again() -> None:
    twice = {"gold": (FIND, FIND), "flows": {}, "log": [entry(FIND)], "requests": [request("find")]}
    assert attribute(record(**twice, plans=[plan("find")])).module == "selector"
    assert attribute(record(**twice, plans=[plan("find"), plan("find")])).module == "caller"


def test_a_breakdown_counts_every_record_once() -> None:
    records = [record(**given) for _, _, given in CASES.values()]
    found = breakdown(records)
    assert tuple(found) == MODULES
    assert sum(found.values()) == len(records)
    assert found["none"] == 1
