"""Guards the times of programs: a run that fails gives no time, and the data is the same each time."""

import json

import pytest

from lab.speed.programs import body, times


def test_a_run_with_a_fault_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="it broke"):
        times(lambda: "it broke", 1)


def test_a_page_is_the_same_for_the_same_size() -> None:
    first, second = (body(5000) for _ in range(2))
    assert first == second
    assert 2500 < len(first) < 10_000
    assert len(json.loads(first)["results"]) > 10
