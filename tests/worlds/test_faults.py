"""When a fault strikes: by operation, by count, and by chance decided by the seed."""

import pytest

from restgpt_bench.worlds.faults import Fault, FaultKind, FaultPlan


def strikes(plan: FaultPlan, count: int, operation: str = "GET /a") -> list[bool]:
    return [plan.strike(operation) is not None for _ in range(count)]


def plan_of(*faults: Fault, seed: int = 0) -> FaultPlan:
    plan = FaultPlan(seed=seed)
    plan.replace(faults)
    return plan


def test_no_rules_no_faults() -> None:
    assert not any(strikes(FaultPlan(), 50))


def test_a_rule_strikes_once_at_the_first_request_by_default() -> None:
    assert strikes(plan_of(Fault()), 3) == [True, False, False]


def test_a_rule_waits_for_the_nth_request_to_its_operation() -> None:
    plan = plan_of(Fault(operation="GET /b", nth=2))
    assert strikes(plan, 3, "GET /a") == [False] * 3
    assert strikes(plan, 3, "GET /b") == [False, True, False]


def test_a_rule_without_a_limit_strikes_for_ever() -> None:
    assert strikes(plan_of(Fault(nth=3, times=None)), 5) == [False, False, True, True, True]


def test_chance_is_decided_by_the_seed() -> None:
    def drawn(seed: int) -> list[bool]:
        return strikes(plan_of(Fault(times=None, probability=0.5), seed=seed), 64)

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert 10 < sum(drawn(1)) < 54


def test_the_first_rule_that_strikes_decides_and_the_others_count_on() -> None:
    plan = plan_of(Fault(status=429), Fault(status=500, nth=2))
    found = [plan.strike("GET /a") for _ in range(2)]
    assert [fault.status for fault in found if fault] == [429, 500]


def test_a_rule_survives_a_round_trip_through_json() -> None:
    fault = Fault(kind=FaultKind.SLOW, operation="GET /a", seconds=0.5, times=None)
    assert Fault.from_json(fault.to_json()) == fault


def test_an_unknown_field_is_named() -> None:
    with pytest.raises(ValueError, match="no field wetness"):
        Fault.from_json({"wetness": 1})
