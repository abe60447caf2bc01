"""Guards the numbers, words and dates that are worked out from texts."""

import pytest

from restgpt.functions.calls.paraphrase import Paraphrase


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("twenty five", (25,)),
        ("three hundred", (300,)),
        ("$1,200.50", (1200.5,)),
        ("1.200,50 €", (1200.5,)),
        ("5%", (5, 0.05)),
        ("2.5 million", (2_500_000,)),
        ("10k", (10_000,)),
        ("a dozen eggs", (12,)),
        ("2 hours", (2, 120, 7200)),
        ("the 3rd row", (3,)),
        ("a couple of days", (2, 48 * 60)),
    ],
)
def test_numbers_are_given_in_many_ways(text: str, numbers: tuple[float, ...]) -> None:
    paraphrase = Paraphrase(text)
    assert [number for number in numbers if not paraphrase.has_number(number)] == []
    assert not paraphrase.has_number(17)


def test_a_text_is_given_by_its_words_in_any_case_and_with_any_space() -> None:
    paraphrase = Paraphrase("Make the Roof  garden")
    assert paraphrase.has_text("roof_garden")
    assert not paraphrase.has_text("oof arden")


def test_nothing_is_given_by_no_text() -> None:
    nothing = Paraphrase()
    assert not nothing.has_number(1)
    assert not nothing.has_text("word")
    assert not nothing.has_date("2025-01-01")
