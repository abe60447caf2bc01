"""Result tables in Markdown, a line at a time, so that a rig can print each row when it has it; and a percentile."""

from collections.abc import Iterable, Iterator, Sequence


def markdown(columns: Iterable[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a table."""
    names = list(columns)
    yield _line(names)
    yield "|---" * len(names) + "|"
    yield from map(_line, rows)


def _line(cells: Iterable[object]) -> str:
    return "|" + "".join(f" {cell} |" if cell != "" else " |" for cell in cells)


def p95(taken: Sequence[float]) -> float:
    """Return the 95th percentile, a time that at least 95 % of them do not exceed."""
    return sorted(taken)[min(len(taken) - 1, int(len(taken) * 0.95))]
