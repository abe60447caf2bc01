"""Guards that the blocks of a docstring are taken out of a description, and that others stay as they are."""

import pytest

from restgpt.specs.docs.prose import Docstring, docstring

GOOGLE = """Extend a loan.

The loan must not be overdue.

Args:
    loan_id: The loan, such as `L7`.
        It begins with an L.
    days (int, optional): How long.
    **more: Whatever else.

Returns:
    The loan with its new end.

Raises:
    ValueError: If somebody waits for the thing.

- Returns 400 if the tool execution fails
"""


def test_the_blocks_of_google_are_taken_apart() -> None:
    assert docstring(GOOGLE) == Docstring(
        "Extend a loan.\n\nThe loan must not be overdue.\n\n- Returns 400 if the tool execution fails",
        {"loan_id": "The loan, such as `L7`. It begins with an L.", "days": "How long.", "more": "Whatever else."},
        "The loan with its new end.",
    )


def test_the_fields_of_sphinx_are_taken_apart() -> None:
    text = (
        "Add.\n\n:param int a: One.\n:param b: Two.\n:type b: str\n:returns: The sum.\n:raises KeyError: if b is gone\n"
    )
    assert docstring(text) == Docstring("Add.", {"a": "One.", "b": "Two."}, "The sum.")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Returns 400 if it fails.",
        "Note: it must be paid.\n\n    indented code: stays",
        "# Heading\n\n| a | b |\n|---|---|\n| 1 | 2 |",
        "The arguments: see below.",
    ],
)
def test_a_description_without_blocks_is_its_own_text(text: str) -> None:
    assert docstring(text) == Docstring(text, {}, "")


def test_a_result_beside_its_header_is_read() -> None:
    assert docstring("Get it.\nReturns: the thing") == Docstring("Get it.", {}, "the thing")


@pytest.mark.parametrize("unit", ["Args:\n", "a\n---\n", ":param a: b\n", "    a: b\n", "Args:\n  a (b", " "])
def test_hostile_repetitions_are_read_in_bounds(unit: str) -> None:
    assert len(docstring(unit * (200_000 // len(unit))).text) <= 200_000
