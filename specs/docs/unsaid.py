"""What the documentation of an operation says beyond its signature: the lines that have words of their own."""

import re
from collections.abc import Sequence

from restgpt.specs.docs.documentation import documentation
from restgpt.specs.docs.words.sentences import is_rule
from restgpt.specs.operation import Operation
from restgpt.specs.search.stemmer import STOP_STEMS, stems

# Words of the notation, which name a place or a type and which the signature writes in Python's words.
_NOTATION = STOP_STEMS | frozenset(
    stems(
        """
        query path header cookie body answers application json string integer number boolean object any null enum array
        date time datetime uuid characters items true false str int float bool list dict id also accepted deprecated
        """
    )
)
_INDENT = re.compile(r" *")


def unsaid(operation: Operation, shown: str, *, budget: int, focus: str = "") -> str:
    """Return the lines of the documentation with words that the text `shown` lacks, in about `budget` tokens.

    A line stays with the lines that it stands below. Of the answer, the fields stay that `shown` does not name, and
    descriptions that state a rule or have words of the focus. Empty if `shown` says all.
    """
    # The first line is the method, the path and the summary.
    lines = documentation(operation, budget=budget, focus=focus).split("\n")[1:]
    known = frozenset(stems(shown)) | _NOTATION
    wanted = frozenset(stems(focus)) - STOP_STEMS
    answer = next((number for number, line in enumerate(lines) if line.startswith("answers ")), len(lines))
    news = [_is_news(line, known, None if number < answer else wanted) for number, line in enumerate(lines)]
    above = _parents(lines)
    kept: set[int] = set()
    for number, is_new in enumerate(news):
        at: int | None = number if is_new else None
        while at is not None and at not in kept:
            kept.add(at)
            at = above[at]
    return "\n".join(lines[number] for number in sorted(kept))


def _is_news(line: str, known: frozenset[str], wanted: frozenset[str] | None) -> bool:
    """Tell whether a line has new words: of a request any, of an answer (with `wanted`) those that a caller uses."""
    if line.startswith("answers ") and line.endswith("{"):
        return False
    head, _, text = line.partition(": ")
    new = frozenset(stems(line)) - known
    if wanted is None or not new:
        return bool(new)
    return not known.issuperset(stems(head)) or is_rule(text) or not wanted.isdisjoint(new)


def _parents(lines: Sequence[str]) -> list[int | None]:
    """Return for each line the number of the line that it stands below, by its indentation."""
    found: list[int | None] = []
    opened: list[tuple[int, int]] = []
    for number, line in enumerate(lines):
        indent = len(_INDENT.match(line)[0])  # type: ignore[index]
        while opened and opened[-1][0] >= indent:
            opened.pop()
        found.append(opened[-1][1] if opened else None)
        opened.append((indent, number))
    return found
