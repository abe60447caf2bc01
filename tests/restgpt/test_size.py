"""Guards that the product does not grow: its lines of code, and the words of the pages, may only fall."""

import io
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tokenize import COMMENT, DEDENT, ENDMARKER, INDENT, NEWLINE, NL, STRING, TokenInfo, generate_tokens

ROOT = Path(__file__).parents[2]

PRODUCT = ("restgpt", "graph", "nodes", "tools", "specs", "prompts")
"""The folders of the product: what the wheel of `restgpt` holds."""

MOST_LINES = 36_052
"""The lines of code that the product has at most: lowered by deletions, raised by what a decided feature may take."""

WORDS = {
    "README.md": 1_645,  # more: how it is installed into another project, and where a newcomer stumbled
    "docs/*.md": 28_000,  # more: other systems, other hosts, clients of MCP, unattended runs, whose credential leaves
    "docs/scores.md": 519,  # a table of figures, which a command writes
}
"""The words that pages have at most. Raise a number by hand only, with the reason beside it."""

SLACK = 0.02
"""By how much of its number a page may be shorter before the number has to be lowered."""

LEAST_SLACK = 10
LAYOUT = {COMMENT, DEDENT, ENDMARKER, INDENT, NL}
NOT_OURS = {"__pycache__", "node_modules", "build", "dist", "runs"}


def lines_of_code(text: str) -> int:
    """The lines with a token of a statement: neither blank, nor a comment, nor a docstring."""
    lines: set[int] = set()
    statement: list[TokenInfo] = []
    for token in generate_tokens(io.StringIO(text).readline):
        if token.type == NEWLINE:
            if any(part.type != STRING for part in statement):
                lines.update(line for part in statement for line in range(part.start[0], part.end[0] + 1))
            statement = []
        elif token.type not in LAYOUT:
            statement.append(token)
    return len(lines)


def modules() -> Iterator[Path]:
    """All modules by their path in the repository; what a link shows is counted where it is."""
    for folder, names, files in os.walk(ROOT):
        names[:] = [name for name in names if name not in NOT_OURS and not name.startswith(".")]
        yield from (Path(folder, name).relative_to(ROOT) for name in files if name.endswith(".py"))


def off(found: Counter[str], listed: dict[str, int]) -> list[str]:
    """The entries whose number has to be another, as the table has to say it."""
    return [
        f'"{name}": {found[name]:_},  # is {listed.get(name, 0):_}'
        for name in sorted({*found, *listed})
        if found[name] > listed.get(name, 0) or listed[name] - found[name] > max(LEAST_SLACK, SLACK * listed[name])
    ]


REMEDY = "Of more, take something away, or raise the number with a reason beside it; of less, lower the number:\n"


def test_the_product_has_no_more_lines_of_code_than_its_number() -> None:
    found = {
        str(path): lines_of_code((ROOT / path).read_text(encoding="utf-8"))
        for path in modules()
        if path.parts[0] in PRODUCT
    }
    assert sum(found.values()) <= MOST_LINES, "Take something away, or say which decided feature takes more."


def test_no_pages_have_more_words_than_their_number() -> None:
    scores = ROOT / "docs" / "scores.md"
    written = [page for page in (ROOT / "docs").glob("*.md") if page != scores]
    pages = {"README.md": [ROOT / "README.md"], "docs/*.md": written, "docs/scores.md": [scores]}
    found = Counter(
        {name: sum(len(page.read_text(encoding="utf-8").split()) for page in files) for name, files in pages.items()}
    )
    assert not (wrong := off(found, WORDS)), REMEDY + "\n".join(wrong)


def test_a_line_of_code_is_neither_blank_nor_a_comment_nor_a_docstring() -> None:
    docstrings = '"""A page.\n\nOf words."""\n\n# A reason.\nX = """\n\n"""\n"""An attribute."""\n\n'
    assert lines_of_code(docstrings) == 3
    assert lines_of_code('def f() -> int:\n    "Give."\n    return (  # here\n        1\n    )\n') == 4


def test_a_page_that_grows_or_shrinks_clearly_is_off() -> None:
    listed = {"more": 1_000, "less": 1_000, "hardly": 1_000, "gone": 100, "small": 20}
    found = Counter({"more": 1_001, "less": 979, "hardly": 980, "new": 1, "small": 11})
    assert [entry.partition('":')[0] for entry in off(found, listed)] == ['"gone', '"less', '"more', '"new']
