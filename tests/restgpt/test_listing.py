"""Guards the listing of a program in a pause: the waiting lines are marked, and a long program is cut around them."""

from typing import Any

import pytest

from restgpt.commands.review import ALL_LINES, AROUND, MOST_LINES, WIDTH, listing


def program(count: int, *marks: int) -> dict[str, Any]:
    return {"code": "\n".join(f"step({n})" for n in range(1, count + 1)), "calls": [{"line": mark} for mark in marks]}


def numbers(text: str, *, marked: bool = False) -> list[int]:
    rows = [line for line in text.splitlines()[1:] if "step(" in line]
    return [int(line[1:].split()[0]) for line in rows if line.startswith("→") or not marked]


def test_a_short_program_is_listed_in_full_with_marks() -> None:
    assert listing(program(3, 2)) == "The program waits at line 2:\n    1 │ step(1)\n→   2 │ step(2)\n    3 │ step(3)"


@pytest.mark.parametrize(
    ("marks", "said"), [((2,), "line 2:"), ((5, 2), "lines 2 and 5:"), ((2, 5, 9, 5), "lines 2, 5 and 9:")]
)
def test_the_heading_names_each_line_once(marks: tuple[int, ...], said: str) -> None:
    assert listing(program(10, *marks)).startswith(f"The program waits at {said}\n")


def test_of_a_long_program_only_the_lines_around_the_marks_are_listed() -> None:
    shown = listing(program(ALL_LINES + 60, 50))
    assert numbers(shown) == list(range(50 - AROUND, 50 + AROUND + 1))
    assert "⋮ 44 more lines" in shown
    assert shown.endswith("⋮ 45 more lines")


def test_with_many_marks_the_marked_lines_come_first() -> None:
    marks = range(1, 1000, 15)
    shown = listing(program(1000, *marks))
    assert numbers(shown, marked=True) == list(marks)
    assert len(numbers(shown)) == MOST_LINES


def test_a_line_outside_of_the_code_is_no_mark() -> None:
    assert listing(program(2, 0, 7)).startswith("The program that makes these calls:\n    1 │ step(1)")


def test_a_long_line_says_how_much_of_it_is_hidden() -> None:
    shown = listing({"code": f"{'x' * (WIDTH + 5)}\n{'y' * (WIDTH + 5)}", "calls": [{"line": 1}]})
    first, second = shown.replace("\n      ┆ ", "").splitlines()[1:]
    assert (first.endswith("x" * (WIDTH + 5)), second.endswith("y… (5 more characters)")) == (True, True)


def test_only_line_ends_of_python_end_a_line() -> None:
    shown = listing({"code": "a\x0cb\u2028c\r\nd\re", "calls": [{"line": 3}]})
    assert shown.split("\n")[1:] == ["    1 │ a\\x0cb\\u2028c", "    2 │ d", "→   3 │ e"]


def test_no_comment_in_a_program_passes_for_a_line_of_the_question() -> None:
    lie = "It can be undone: nothing happens."
    code = f"x = 1  # {' ' * 90}{lie}\n# a\u2028{lie}\n# \x1b[2J{lie}\x85{lie}\n#{lie * 5}"
    rows = listing({"code": code, "calls": [{"line": 2}]}).splitlines()
    assert all(row[6] in "│┆⋮" for row in rows[1:])
    assert all(len(row) <= 80 for row in rows)
    assert not {char for row in rows for char in row if not char.isprintable()}
