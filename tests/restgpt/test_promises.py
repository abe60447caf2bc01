"""Guards tests/promises.md: each promise names tests that are there."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
ROWS = re.findall(
    r"^\| (?!promise )([^-].*?) \| (.*) \|$", (TESTS / "promises.md").read_text(encoding="utf-8"), re.MULTILINE
)
NAMED = sorted({found for _, tests in ROWS for found in re.findall(r"`tests/([\w/]+\.py)::(test_\w+)`", tests)})
BARE = sorted({found for _, tests in ROWS for found in re.findall(r"`(test_\w+)`", tests)})


def test_every_promise_names_a_test_that_is_there() -> None:
    texts = {path.relative_to(TESTS).as_posix(): path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")}
    assert [f"{file}::{name}" for file, name in NAMED if f"def {name}(" not in texts.get(file, "")] == []
    there = {name for text in texts.values() for name in re.findall(r"^def (test_\w+)\(", text, re.MULTILINE)}
    assert [name for name in BARE if name not in there] == []


def test_every_promise_names_some_test() -> None:
    assert len(ROWS) > 150
    assert [promise for promise, tests in ROWS if "test" not in tests and "corpus" not in tests] == []
