"""How answers in plain words are read: names, numbers, dates, yes and no, comparisons, quotes."""

from datetime import date

import pytest

from restgpt.worlds.answer import (
    AllOf,
    AnyOf,
    Dates,
    Expectation,
    Names,
    Number,
    Prefers,
    Quotes,
    Text,
    YesNo,
    affirms,
    dates,
    mentions,
    normal,
    numbers,
)

SEQUEL = Prefers("Avatar: The Way of Water", "Avatar", ("higher", "better"), ("lower", "worse"))
REVIEW = Text("osric_17", "Come for the sextant, stay for Quillport and its rain.", "https://films.example/review/ab")


def test_case_accents_and_punctuation_do_not_count() -> None:
    assert normal("  Amélie's “Sørøya”: Łódź & more! ") == "amelies soroya lodz and more"


@pytest.mark.parametrize(
    ("answer", "name", "longer", "expected"),
    [
        ("It is directed by SOFIA  coppola.", "Sofia Coppola", (), True),
        ("Sofia Coppola Marsh directed it", "Sofia Coppola", ("Sofia Coppola Marsh",), False),
        ("Sofia Coppola, not Sofia Coppola Marsh", "Sofia Coppola", ("Sofia Coppola Marsh",), True),
        ("Watch Avatar: The Way of Water", "Avatar", ("Avatar: The Way of Water",), False),
        ("Titanically good", "Titanic", (), False),
        ("", "Titanic", (), False),
        ("see https://image.tmdb.org/t/p/w500/aBc123.jpg", "/aBc123.jpg", (), True),
    ],
)
def test_a_name_counts_as_whole_words_outside_longer_names(
    answer: str, name: str, longer: tuple[str, ...], expected: bool
) -> None:
    assert mentions(answer, name, longer=longer) == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("There are 12 movies", {12}),
        ("twelve movies", {12}),
        ("Twenty-four, or one hundred and five?", {24, 105}),
        ("1,234 episodes at 7.5", {1234, 7.5}),
        ("two thousand three hundred", {2300}),
        ("B2B and 3rd", set()),
        ("three, four and twenty twelve", {3, 4, 20, 12}),
        ("none", set()),
    ],
)
def test_numbers_are_read_in_digits_and_words(answer: str, expected: set[float]) -> None:
    assert numbers(answer) == expected


@pytest.mark.parametrize(
    "form",
    [
        "1999-03-30",
        "1999-03-30T00:00:00.000Z",
        "March 30, 1999",
        "Mar 30th 1999",
        "30 March 1999",
        "30th of March, 1999",
        "03/30/1999",
        "30.03.1999",
        "the 30 Mar. 1999",
        "1999/03/30",
        "30/03/1999",
    ],
)
def test_dates_are_read_in_all_common_forms(form: str) -> None:
    assert dates(f"It was on {form}, they say.") == {date(1999, 3, 30)}


def test_what_is_no_date_is_not_read_as_one() -> None:
    assert dates("In 1999, or 1999-13-45, or March 1999") == set()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Yes, it is.", True),
        ("No, it is not.", False),
        ("It isn't in the list.", False),
        ("It is in the list.", True),
        ("They are different people.", False),
        ("It is there, as No. 5 of the list.", True),
        ("  ", False),
    ],
)
def test_yes_and_no_are_read_from_plain_sentences(answer: str, expected: bool) -> None:
    assert affirms(answer) == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Avatar: The Way of Water has a higher rating (8.1) than Avatar (6.2).", True),
        ("Avatar has a lower rating than Avatar: The Way of Water.", True),
        ("Avatar is rated 6.2 while Avatar: The Way of Water is rated higher, 8.1.", True),
        ("The one with the higher rating is Avatar: The Way of Water.", True),
        ("Avatar: The Way of Water", True),
        ("Avatar has a higher rating than Avatar: The Way of Water.", False),
        ("Avatar: The Way of Water is worse than Avatar.", False),
        ("Avatar has 6.2. Avatar: The Way of Water has 8.1.", False),
        ("I cannot say.", False),
        ("Avatar: The Way of Water (8.1) vs Avatar (6.2): the former is higher.", True),
        ("Avatar (6.2) vs Avatar: The Way of Water (8.1): the latter is higher.", True),
        ("Comparing Avatar with Avatar: The Way of Water, Avatar: The Way of Water is better.", True),
        ("Avatar: The Way of Water, with 8.1 against 6.2 for Avatar, is rated higher.", True),
        ("Between Avatar and Avatar: The Way of Water, Avatar is better.", False),
        (
            "Avatar has 6.2 and Avatar: The Way of Water has 8.1, so Avatar: The Way of Water is higher than Avatar.",
            True,
        ),
        ("Avatar is higher. Avatar: The Way of Water is higher.", False),
    ],
)
def test_a_comparison_is_read_clause_by_clause(answer: str, expected: bool) -> None:
    assert SEQUEL.judge(answer).ok == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("She directed 3 movies: A, B and C.", True),
        ("She directed three movies.", True),
        ("She directed 4 movies:\n1. A\n2. B\n3. C\n4. D", False),
        ("She directed 4 movies since 2003-03-03.", False),
    ],
)
def test_a_number_is_not_taken_from_a_date_or_the_numbering_of_a_list(answer: str, expected: bool) -> None:
    assert Number(3).judge(answer).ok == expected


def test_a_possessive_still_names_its_owner() -> None:
    count = Prefers("Kurosawa", "Spielberg", ("more",), ("fewer",))
    assert count.judge("Akira Kurosawa directed 12 movies, more than Steven Spielberg's 9.")
    assert not count.judge("Steven Spielberg directed more movies than Akira Kurosawa.")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("osric_17 liked it", True),
        ("One says: 'stay for Quillport and its rain'", True),
        ("See https://films.example/review/ab", True),
        ("One says it rains.", False),
    ],
)
def test_a_review_is_known_by_author_passage_or_address(answer: str, expected: bool) -> None:
    assert Quotes((REVIEW,)).judge(answer).ok == expected


EXPECTATIONS: list[Expectation] = [
    Names(("Copper Orchard", "Ivory Echo")),
    Names(("Copper Orchard", "Ivory Echo"), 1, ("Paper Comet",)),
    Dates((date(2001, 2, 3), date(1999, 12, 31))),
    Number(12),
    YesNo(True, ("Copper Orchard",)),
    YesNo(False),
    SEQUEL,
    Quotes((REVIEW,)),
    AllOf((Number(3), Names(("Ivory Echo",)))),
    AnyOf((Dates((date(2001, 2, 3),)), Number(2001))),
]


@pytest.mark.parametrize("expectation", EXPECTATIONS, ids=lambda item: type(item).__name__)
def test_every_expectation_knows_a_right_and_a_wrong_answer(expectation: Expectation) -> None:
    assert expectation.judge(expectation.right())
    assert not expectation.judge(expectation.wrong())
    assert not expectation.judge("")


def test_a_forbidden_name_spoils_an_answer_unless_it_is_part_of_a_wanted_one() -> None:
    wanted = Names(("Paper Comet Returns",), forbidden=("Paper Comet",))
    assert wanted.judge("Paper Comet Returns")
    assert not wanted.judge("Paper Comet Returns and Paper Comet")


def test_an_expectation_of_no_names_is_never_met() -> None:
    assert not Names(()).judge("anything")
