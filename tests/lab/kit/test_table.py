"""Guards the tables of rigs: one line a row, empty cells without padding, nothing read ahead of what is printed."""

from collections.abc import Iterator

import pytest

from lab.kit.table import markdown, p95


def test_a_table_has_a_head_a_rule_and_a_line_for_each_row() -> None:
    assert list(markdown(("document", "ms"), [("toy", 1.5), ("tmdb", "")])) == [
        "| document | ms |",
        "|---|---|",
        "| toy | 1.5 |",
        "| tmdb | |",
    ]


def test_a_row_is_made_when_its_line_is_asked_for() -> None:
    made = []

    def rows() -> Iterator[tuple[int]]:
        for number in range(3):
            made.append(number)
            yield (number,)

    lines = markdown(["n"], rows())
    assert [next(lines) for _ in range(3)] == ["| n |", "|---|", "| 0 |"]
    assert made == [0]


@pytest.mark.parametrize(("count", "expected"), [(1, 0), (2, 1), (20, 19), (40, 38), (100, 95)])
def test_the_percentile_is_a_time_that_95_in_100_do_not_exceed(count: int, expected: int) -> None:
    assert p95([float(number) for number in reversed(range(count))]) == expected
