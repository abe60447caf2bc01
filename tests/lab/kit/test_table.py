"""Guards the tables of rigs: one line a row, empty cells without padding, nothing read ahead of what is printed."""

from collections.abc import Iterator

from lab.kit.table import markdown


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
