"""Guards runs against failing APIs: they end in time, tell the truth, and make nothing twice."""

from dataclasses import replace

import pytest

from lab.hostile.faults import LIMITS, Case, Trouble, cases, errands, jobs, proving, troubles
from lab.kit.tally import Tally
from restgpt_bench.worlds.faults import Fault, FaultKind

# No case here waits for time to pass, so a busy machine may take all that it needs.
PATIENT = replace(LIMITS, connect_seconds=60, read_seconds=60, total_seconds=120)

CASES = [
    Case(Trouble("status 503", Fault(status=503)), 2, 1),
    Case(Trouble("status 401", Fault(status=401)), 1, None),
    Case(Trouble("429", Fault(status=429, retry_after=0.05)), 1, 1),
    Case(Trouble("reset after the work", Fault(kind=FaultKind.RESET, applied=True)), 2, 1),
    Case(Trouble("malformed JSON", Fault(kind=FaultKind.MALFORMED)), 1, 1),
    Case(Trouble("truncated body", Fault(kind=FaultKind.TRUNCATED)), 3, 1),
    Case(Trouble("refused", network="refused"), 2, 1),
    Case(Trouble("TLS", network="TLS"), 1, 1),
]


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1, 2], ids=["playlist", "board", "reading"])
def test_a_run_under_faults_ends_well_or_says_so(number: int) -> None:
    tally = Tally()
    with proving(errands()[number], limits=PATIENT, budget=300) as proof:
        for case in CASES:
            proof.prove(case, tally)
    assert tally.wrong == []
    assert tally["done"] + tally["owned up"] == len(CASES)
    assert tally["done"] > 0


@pytest.mark.slow
def test_a_program_under_faults_ends_well_or_says_so() -> None:
    tally = Tally()
    with proving(jobs(1)[0], limits=PATIENT, budget=300) as proof:
        for case in CASES:
            proof.prove(case, tally)
    assert tally.wrong == []
    assert tally["done"] + tally["owned up"] == len(CASES)
    assert tally["done"] > 0


def test_every_fault_strikes_at_every_call_once_and_for_ever() -> None:
    found = cases(3)
    assert len(found) == 3 * len(troubles()) * 2
    assert len(set(map(str, found))) == len(found)


def test_the_judge_sees_a_wrong_success() -> None:
    tally = Tally()
    with proving(errands()[1], limits=PATIENT, budget=300) as proof:
        proof._wanted = {}
        proof.prove(Case(Trouble("nothing"), 1, 0), tally)
    assert "it is not" in tally.wrong[0]
