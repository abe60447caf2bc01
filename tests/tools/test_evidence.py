"""Guards the check whether texts contain a value: whole words and ids, in each spelling."""

import pytest

from restgpt.tools.evidence import Evidence, Spelling


@pytest.mark.parametrize(
    ("value", "spelling", "said"),
    [
        ("Roof garden", "exact", True),
        ("roof garden", "exact", False),
        ("roof garden", "folded", True),
        ("roof_garden", "folded", False),
        ("roof_garden", "loose", True),
        ("oof garde", "folded", False),
        ("garden", "folded", True),
        ("arden", "loose", False),
        ("Ab", "folded", True),
        ("Ab", "exact", False),
        ("Ab-9", "exact", True),
        ("x@y.example", "folded", True),
        ("(see x@y.example)", "folded", True),
        ("(see x", "folded", True),
        ("", "folded", False),
        (" ", "loose", False),
    ],
)
def test_a_value_is_said_by_whole_words_in_a_row(value: str, spelling: Spelling, said: bool) -> None:
    assert Evidence("Make the Roof  garden", "Roof garden Ab-9 (see x@y.example)").contains(value, spelling) is said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (4711, True),
        ("4711", True),
        (471, False),
        ("4711,Ab-9", True),
        ("4711 Ab-9", True),
        ("4711,99", False),
        ("spotify:track:Ab-9", True),
        ("spotify:album:Ab-9", True),
        ("spotify:track:made-up", False),
        ("ab-9", False),
        ("Ab", False),
        (":,", False),
    ],
)
def test_an_id_is_said_exactly_alone_in_a_list_or_as_the_end_of_a_uri(value: object, said: bool) -> None:
    assert Evidence("The id of Orbit is 4711.", "Tracks: spotify:track:Ab-9").has_id(value) is said


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("twenty five", (25,)),
        ("three hundred", (300,)),
        ("$1,200.50", (1200.5,)),
        ("5%", (5, 0.05)),
        ("2.5 million", (2_500_000,)),
        ("10k", (10_000,)),
        ("a dozen eggs", (12,)),
        ("2 hours", (2, 120, 7200)),
        ("the 3rd row", (3,)),
        ("a couple of days", (2, 48 * 60)),
    ],
)
def test_numbers_are_said_in_many_ways(text: str, numbers: tuple[float, ...]) -> None:
    evidence = Evidence(text)
    assert [number for number in numbers if not evidence.has_number(number)] == []
    assert not evidence.has_number(17)


def test_nothing_is_said_by_no_text() -> None:
    nothing = Evidence()
    assert not nothing.contains("word")
    assert not nothing.has_id(1)
    assert not nothing.has_number(1)
    assert not nothing.has_text("word")
    assert not nothing.has_date("2025-01-01")
