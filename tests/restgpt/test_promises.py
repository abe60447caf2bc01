"""Guards tests/promises.md: each promise names tests that are there."""

import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ROWS = re.findall(
    r"^\| (?!promise )([^-].*?) \| (.*) \|$", (TESTS / "promises.md").read_text(encoding="utf-8"), re.MULTILINE
)
NAMED = sorted({found for _, tests in ROWS for found in re.findall(r"`tests/([\w/]+\.py)::(test_\w+)`", tests)})
BARE = sorted({found for _, tests in ROWS for found in re.findall(r"`(test_\w+)`", tests)})


@cache
def functions() -> set[str]:
    """The names of all test functions."""
    texts = (path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py"))
    return {name for text in texts for name in re.findall(r"^def (test_\w+)\(", text, re.MULTILINE)}


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_a_promise_names_a_test_that_is_there(file: str, name: str) -> None:
    assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", BARE)
def test_a_promise_without_a_file_names_a_test_that_is_there(name: str) -> None:
    assert name in functions()


def test_every_promise_names_a_test() -> None:
    assert len(ROWS) > 150
    assert [promise for promise, tests in ROWS if "test" not in tests and "corpus" not in tests] == []
