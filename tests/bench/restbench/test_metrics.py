"""Guards the metrics: those of the paper as it defines them, the stricter ones, and their intervals."""

import pytest
from benchrecords import CHANGE, FIND, OTHER, READ, entry, record

from restgpt_bench.restbench.metrics import Proportion, by_length, is_correct, is_relaxed_correct, score


def called(*operations: str, **more: object):
    return record(log=[entry(operation) for operation in operations], **more)


@pytest.mark.parametrize(
    ("operations", "gold", "correct"),
    [
        ((FIND, READ), (FIND, READ), True),
        ((FIND, OTHER, READ, OTHER), (FIND, READ), True),
        ((OTHER, FIND, FIND, READ), (FIND, READ), True),
        ((READ, FIND), (FIND, READ), False),
        ((FIND,), (FIND, READ), False),
        ((), (FIND, READ), False),
        ((FIND, "GET /songs/{id}"), (FIND, READ), True),
        # A gold step that stands twice is to be called twice.
        ((FIND, READ), (FIND, FIND, READ), False),
        ((FIND, FIND, READ), (FIND, FIND, READ), True),
    ],
)
def test_correct_path_is_the_gold_as_a_subsequence_of_the_calls(
    operations: tuple[str, ...], gold: tuple[str, ...], correct: bool
) -> None:
    assert is_correct(called(*operations, gold=gold)) is correct


def test_calls_that_were_refused_count_only_where_all_statuses_do() -> None:
    refused = record(log=[entry(FIND), entry(READ, 404)])
    assert not is_correct(refused)
    assert is_correct(refused, fulfilled=False)


def test_a_listed_alternative_and_the_parts_of_one_request_count_as_relaxed_only() -> None:
    other = called(OTHER, gold=(FIND, READ), alternatives=[(OTHER,)])
    whole = record(log=[{**entry(FIND), "covers": [FIND, READ]}])
    for relaxed in (other, whole):
        assert not is_correct(relaxed)
        assert is_relaxed_correct(relaxed)
    assert is_relaxed_correct(called(FIND, READ))


def test_extra_calls_are_counted_over_successes_only() -> None:
    records = [
        called(FIND, READ, success=True),
        called(FIND, OTHER, OTHER, READ, success=True),
        called(*[OTHER] * 9, success=False),
        record(log=[entry(FIND), entry(READ, 500), entry(READ)], success=True),
    ]
    assert score(records).delta == pytest.approx((0 + 2 + 1) / 3)
    assert score(records[2:3]).delta is None


def test_a_score_counts_what_it_says() -> None:
    found = score([called(FIND, READ, success=True), record(log=[], cpu_s=1.5), called(CHANGE, wall_s=5.0)])
    assert (found.n, found.success.hits, found.correct_path.hits, found.failures) == (3, 1, 1, 0)
    assert (found.model_calls, found.input_tokens, found.output_tokens) == (3, 300, 30)
    assert found.wall_s == pytest.approx(3.0)
    assert found.cpu_s == pytest.approx(2.5 / 3)


def test_no_records_give_a_score_of_nothing() -> None:
    found = score([])
    assert (found.n, found.success.rate, found.delta, found.model_calls) == (0, 0.0, None, 0.0)
    assert found.success.interval == (0.0, 1.0)


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (5, 10, 0.2366, 0.7634),
        (75, 100, 0.6570, 0.8245),
        (1, 57, 0.0031, 0.0929),
    ],
)
def test_intervals_are_those_of_wilson(hits: int, n: int, low: float, high: float) -> None:
    assert Proportion(hits, n).interval == pytest.approx((low, high), abs=1e-4)


def test_scores_are_told_apart_by_length() -> None:
    records = [called(FIND, gold=(FIND,), success=True), called(FIND, READ), called(FIND, READ, success=True)]
    found = by_length(records)
    assert {length: (part.success.hits, part.n) for length, part in found.items()} == {1: (1, 1), 2: (1, 2)}
