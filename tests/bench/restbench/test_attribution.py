"""Guards the rules by which a failed task is put down to a module: one case for each, and real runs that err."""

from typing import Any

import pytest
from benchrecords import CHANGE, FIND, OTHER, READ, entry, plan, record, request

from restgpt_bench.restbench.attribution import MODULES, RULES, attribute, breakdown
from restgpt_bench.restbench.record import Failure

WRITE = {"gold": (FIND, CHANGE), "flows": {CHANGE: ("s17",)}}
SENT = [entry(FIND), entry(CHANGE, query={"ids": "s17"})]
FOUND = [request("find", result="The id is s17"), request("change", result="The response has no body.")]

CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "done": ("none", "success", {"success": True}),
    "provider down": (
        "run",
        "run broke off",
        {"failure": Failure("ModelUnavailableError", "503"), "log": [], "plans": []},
    ),
    "planner unreadable": ("planner", "planner gave no decision", {"failure": Failure("ModelReplyError", "no JSON")}),
    "nothing planned": ("planner", "never planned", {"log": [], "plans": [], "requests": [], "speaks_of": ()}),
    "ended early": (
        "planner",
        "never planned",
        {"log": [entry(FIND)], "plans": [plan("find")], "requests": [request("find")], "speaks_of": (FIND,)},
    ),
    "another selected": (
        "selector",
        "another was selected",
        {"log": [entry(FIND), entry(OTHER)], "plans": [plan("find"), plan("other")], "requests": [request("find")]},
    ),
    "no call selected": ("selector", "another was selected", {"log": [entry(FIND)], "plans": [plan("find")]}),
    "id not extracted": (
        "parser",
        "value not extracted",
        {"log": [entry(FIND)], "requests": [request("find", result="There are three songs.")]},
    ),
    "arguments refused": (
        "caller",
        "not carried out",
        {"log": [entry(FIND), entry(READ, 404)], "requests": [request("find", result="s17"), request("read", 404)]},
    ),
    "never requested": (
        "caller",
        "not carried out",
        {"log": [entry(FIND)], "requests": [request("find", result="s17")]},
    ),
    "server failed": (
        "run",
        "API failed",
        {"log": [entry(FIND), entry(READ, 500)], "requests": [request("find", result="s17"), request("read", 500)]},
    ),
    "no answer": (
        "run",
        "API failed",
        {"log": [entry(FIND)], "requests": [request("find", result="s17"), request("read", 0, state="failed")]},
    ),
    "guessed an id": (
        "parser",
        "value not extracted",
        {
            "log": [entry(FIND), entry(READ, path="/songs/s99")],
            "requests": [request("find", result="There are three songs."), request("read", result="green")],
        },
    ),
    "took the wrong id": (
        "caller",
        "other value used",
        {
            "log": [entry(FIND), entry(READ, path="/songs/s99")],
            "requests": [request("find", result="s99, s17"), request("read", result="green")],
        },
    ),
    "deleted more, as planned": (
        "planner",
        "change planned in excess",
        {**WRITE, "log": [*SENT, entry("DELETE /songs")], "requests": FOUND, "speaks_of": ("DELETE /songs",)},
    ),
    "deleted more, unplanned": (
        "selector",
        "change selected in excess",
        {**WRITE, "log": [*SENT, entry("DELETE /songs")], "requests": FOUND},
    ),
    "changed twice, unplanned": (
        "selector",
        "change selected in excess",
        {**WRITE, "log": [*SENT, SENT[1]], "requests": FOUND, "speaks_of": (FIND,)},
    ),
    "answer not extracted": ("parser", "answer not extracted", {"told": False}),
    "answered wrongly": ("planner", "answered wrongly", {}),
    "changed wrongly": ("caller", "changed wrongly", {**WRITE, "log": SENT, "requests": FOUND, "told": False}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_failure_is_put_down_to_its_module(case: str) -> None:
    module, rule, given = CASES[case]
    found = attribute(record(**given))
    assert (found.module, found.rule) == (module, rule)


def test_every_rule_has_a_case() -> None:
    assert {(name, module) for name, module, _ in RULES} == {(rule, module) for module, rule, _ in CASES.values()}


def test_the_path_that_went_furthest_counts() -> None:
    """Of two listed paths the agent was on the shorter one and only forgot its last step."""
    found = attribute(
        record(
            gold=(FIND, READ, CHANGE),
            alternatives=[(OTHER, READ)],
            log=[entry(OTHER)],
            plans=[plan("other"), plan("read")],
            requests=[request("other", result="s17")],
        )
    )
    assert (found.module, found.rule) == ("caller", "not carried out")


def test_among_equal_paths_the_one_that_was_being_followed_counts() -> None:
    found = attribute(
        record(
            gold=(FIND, CHANGE),
            alternatives=[(FIND, READ)],
            log=[entry(FIND)],
            plans=[plan("find"), plan("read")],
            requests=[request("find", result="s17")],
            speaks_of=(FIND, READ),
        )
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
