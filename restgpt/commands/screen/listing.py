"""The listing of a program in a pause: numbered lines, with marks at the lines whose calls wait for a decision.

The code is foreign text: its comments could imitate a question, so every line of a terminal begins with a mark.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from restgpt.tools.text.quotation import one_line, wrapped

ALL_LINES = 40
"""The number of lines up to which a program is listed in full."""

AROUND = 5
"""The number of lines shown before and after each mark of a longer program."""

MOST_LINES = 80
"""The maximum number of lines of a listing."""

WIDTH = 160
"""The number of characters of a line that a listing shows."""

_NEW_LINE = re.compile(r"\r\n|\r|\n")


def listing(program: Mapping[str, Any]) -> str:
    """Return the `program` of an approval's payload as text; of a long one the lines around the marks."""
    lines = _NEW_LINE.split(str(program.get("code", "")))
    marks = {call["line"] for call in program.get("calls", ()) if 0 < call["line"] <= len(lines)}
    shown = _shown(len(lines), marks)
    return "\n".join([_heading(marks), *_listed(lines, shown, marks)])


def _heading(marks: Iterable[int]) -> str:
    numbers = [str(number) for number in sorted(marks)]
    if not numbers:
        return "The program that makes these calls:"
    places = f"line {numbers[0]}" if len(numbers) == 1 else f"lines {', '.join(numbers[:-1])} and {numbers[-1]}"
    return f"The program waits at {places}:"


def _shown(count: int, marks: Iterable[int]) -> list[int]:
    """Return the numbers of the lines to show: all of a short program, else those around the marks."""
    if count <= ALL_LINES:
        return list(range(1, count + 1))
    near = {number for mark in marks for number in range(mark - AROUND, mark + AROUND + 1) if 0 < number <= count}
    kept = sorted(near or range(1, ALL_LINES + 1))
    if len(kept) <= MOST_LINES:
        return kept
    # With many marks, the marked lines themselves come first.
    return sorted(sorted(kept, key=lambda number: (number not in marks, number))[:MOST_LINES])


def _listed(lines: list[str], shown: list[int], marks: Iterable[int]) -> Iterator[str]:
    before = 0
    for number in shown:
        if number > before + 1:
            yield _left_out(number - before - 1)
        arrow = "→" if number in marks else " "
        first, *rest = wrapped(_cut(one_line(lines[number - 1])))
        yield f"{arrow}{number:>4} │ {first}".rstrip(" ")
        yield from (f"      ┆ {piece}" for piece in rest)
        before = number
    if before < len(lines):
        yield _left_out(len(lines) - before)


def _left_out(count: int) -> str:
    return f"      ⋮ {count} more {'line' if count == 1 else 'lines'}"


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else f"{line[:WIDTH]}… ({len(line) - WIDTH} more characters)"
