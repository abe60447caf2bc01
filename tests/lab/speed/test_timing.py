"""Guards what is said of times: the 95th percentile, and that a run that fails gives no time."""

import json

import pytest

from lab.speed.search_page import search_page
from lab.speed.timing import p95, times


@pytest.mark.parametrize(("count", "expected"), [(1, 0), (2, 1), (20, 19), (40, 38), (100, 95)])
def test_the_percentile_is_a_time_that_95_in_100_do_not_exceed(count: int, expected: int) -> None:
    assert p95([float(number) for number in reversed(range(count))]) == expected


def test_a_run_with_a_fault_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="it broke"):
        times(lambda: None, 1, fault_of=lambda result: "it broke")


def test_a_page_is_the_same_for_the_same_size() -> None:
    first, second = (search_page(5000, ("orbit", "東京"), count=5, beside=90) for _ in range(2))
    assert first == second
    assert 2500 < len(first) < 10_000
    assert len(json.loads(first)["results"]) > 10
