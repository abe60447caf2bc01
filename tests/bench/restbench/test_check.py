"""Guards the check of the judges: just ones pass, and each kind of unjust one is found."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from restgpt_bench.restbench.check import CheckReport, check_suite
from restgpt_bench.restbench.judges.answer import Verdict
from restgpt_bench.restbench.judges.task import Check
from restgpt_bench.restbench.suite import OWN, Item, Suite, open_suite
from restgpt_bench.worlds import World
from restgpt_bench.worlds.log import LogEntry


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_judges_of_our_own_suites_are_just(name: str, seed: int) -> None:
    report = check_suite(open_suite(name), seed=seed)
    assert {tally.name: tally.wrong for tally in report.tallies if tally.wrong} == {}
    assert report.ok
    gold, nothing, guess = report.tallies[:3]
    assert gold.passed == gold.n == nothing.n == guess.n == len(open_suite(name).items)
    assert all(tally.passed == 0 for tally in report.tallies[1:])


def judged_by(check: Check, key: str = "add") -> CheckReport:
    item = open_suite("dev-toy").only([key]).items[0]
    changed = Item(item.key, item.instruction, item.gold, replace(item.task, check=check))
    return check_suite(Suite("dev-toy", "toy", (changed,)))


def off(report: CheckReport) -> set[str]:
    assert not report.ok
    return {tally.name for tally in report.tallies if not tally.ok}


def test_a_judge_that_always_agrees_is_found() -> None:
    found = off(judged_by(lambda world, log, answer: Verdict(True, "fine")))
    assert found == {"do nothing", "guess only", "mutated: end state spoilt", "mutated: a change left out"}


def test_a_judge_that_never_agrees_is_found() -> None:
    assert off(judged_by(lambda world, log, answer: Verdict(False, "no"))) == {"gold replay"}


def test_a_judge_that_hears_only_the_answer_is_found() -> None:
    item = open_suite("dev-toy").only(["hours"]).items[0]

    def hears(world: World[Any], log: Sequence[LogEntry], answer: str) -> Verdict:
        return Verdict(answer == item.task.right(world), "what is said")

    assert off(judged_by(hears, "hours")) == {"guess only", "mutated: end state spoilt"}


def test_a_judge_that_reads_only_the_log_is_found() -> None:
    found = off(judged_by(lambda world, log, answer: Verdict(any(entry.ok for entry in log), "asked"), "hours"))
    assert found == {"mutated: wrong answer", "mutated: end state spoilt"}
