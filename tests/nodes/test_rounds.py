"""Guards rounds: which calls are sent together, which are repaired, and when the round is over."""

from typing import Any

import pytest

from restgpt.calling.record import Request
from restgpt.nodes.state.records import ApiPlan, add_usage, merge_requests, no_usage, spent_since
from restgpt.nodes.state.results import is_over, latest, next_calls, to_repair
from restgpt.specs import Catalogue, load_api

CATALOGUE = Catalogue(
    [
        load_api(
            """
openapi: 3.1.0
info: {title: Things, version: "1"}
servers: [{url: "https://things.example"}]
paths:
  /things:
    get: {operationId: read, responses: {"200": {description: ok}}}
    post: {operationId: write, responses: {"201": {description: ok}}}
"""
        )
    ]
)


def plan(*calls: tuple[str, list[int]]) -> ApiPlan:
    return {"calls": [{"operation": name, "purpose": "", "needs": needs} for name, needs in calls], "reason": ""}


def request(call: int, status: str = "parsed", code: int = 200, **other: Any) -> Request:
    made: dict[str, Any] = {
        "id": f"r{call}.{other.get('attempt', 0)}",
        "round": 1,
        "call": call,
        "attempt": 0,
        "status": status,
        "response": {"status": code},
    }
    return {**made, **other}  # type: ignore[typeddict-item,return-value]


def test_independent_safe_calls_go_out_together() -> None:
    assert next_calls(CATALOGUE, plan(("read", []), ("read", [])), []) == [1, 2]


def test_a_call_waits_for_what_it_needs() -> None:
    steps = plan(("read", []), ("read", [1]))
    assert next_calls(CATALOGUE, steps, []) == [1]
    assert next_calls(CATALOGUE, steps, [request(1)]) == [2]


def test_a_change_does_not_overtake_a_read_before_it_nor_a_read_a_change() -> None:
    steps = plan(("read", []), ("write", []), ("write", []), ("read", []))
    assert next_calls(CATALOGUE, steps, []) == [1]
    assert next_calls(CATALOGUE, steps, [request(1)]) == [2, 3]
    assert next_calls(CATALOGUE, steps, [request(1), request(2, code=201), request(3, code=201)]) == [4]


def test_nothing_is_built_on_a_call_that_brought_nothing() -> None:
    steps = plan(("write", []), ("write", [1]))
    assert next_calls(CATALOGUE, steps, [request(1, "held")]) == []


@pytest.mark.parametrize(("code", "again"), [(400, True), (422, True), (404, False), (500, False), (200, False)])
def test_only_malformed_requests_are_made_again(code: int, again: bool) -> None:
    assert bool(to_repair([request(1, code=code)])) is again
    assert is_over(CATALOGUE, plan(("read", [])), [request(1, code=code)]) is not again


def test_repairs_are_bounded_and_count_as_one_request() -> None:
    attempts = [request(1, code=400, attempt=attempt) for attempt in range(3)]
    assert to_repair(attempts) == []
    assert latest(attempts) == attempts[-1:]
    assert is_over(CATALOGUE, plan(("read", [])), attempts)


@pytest.mark.parametrize("status", ["failed", "rejected"])
def test_a_request_without_success_ends_the_round(status: str) -> None:
    assert is_over(CATALOGUE, plan(("write", []), ("write", [])), [request(1, status)])


def test_a_held_request_lets_independent_ones_be_shown_too() -> None:
    assert not is_over(CATALOGUE, plan(("write", []), ("write", [])), [request(1, "held")])


def test_requests_of_an_older_round_are_dropped_and_newer_records_win() -> None:
    old, sent, parsed = request(1, round=1), request(1, "sent", round=2), request(1, round=2)
    assert merge_requests([old], [sent]) == [sent]
    assert merge_requests([old, sent], [parsed]) == [parsed]


def test_usage_adds_up_by_role_and_can_be_read_between_two_points() -> None:
    one = {"roles": {"planner": {"calls": 1, "input_tokens": 2, "output_tokens": 3}}, "requests": 4, "seconds": 0.5}
    two = add_usage(add_usage(no_usage(), one), one)  # type: ignore[arg-type]
    assert two["roles"]["planner"] == {"calls": 2, "input_tokens": 4, "output_tokens": 6}
    assert (two["requests"], two["seconds"]) == (8, 1.0)
    assert spent_since(one, two) == one  # type: ignore[arg-type]
