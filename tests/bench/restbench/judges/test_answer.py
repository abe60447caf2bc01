"""How answers in plain words are read: names, numbers, dates, yes and no, comparisons, quotes, pictures."""

from datetime import date

import pytest

from restgpt_bench.restbench.judges.answer import (
    AllOf,
    AnyOf,
    Dates,
    Expectation,
    Names,
    Number,
    Pictures,
    Prefers,
    Quotes,
    YesNo,
    affirms,
    mentions,
)
from restgpt_bench.restbench.judges.figures import dates, numbers
from restgpt_bench.worlds.text import Text, normal

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
        ("It is not Titanic, but Heat", "Titanic", (), False),
        ("It was not directed by Sofia Coppola", "Sofia Coppola", (), True),
        ("Not only Titanic, but Heat", "Titanic", (), True),
        ("Watch The Godfather Part II.", "The Godfather, Part II", (), True),
        ("the godfather: part ii", "The Godfather, Part II", (), True),
        ("The Godfather", "The Godfather, Part II", (), False),
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
        ("B2B and 3rd, on anchor-14.example", set()),
        ("three, four and twenty twelve", {3, 4, 20, 12}),
        ("none", set()),
        ("7,8,9", {7, 8, 9}),
        ("12,345,677 and 1'234 and 5\u202f678", {12345677, 1234, 5678}),
        ("a hundred and four", {104}),
        ("a thousand and one", {1001}),
        ("_7_ or **8**", {7, 8}),
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
        "30-03-1999",
        "30-Mar-1999",
        "30. March 1999",
        "1999.03.30",
        "1999 March 30",
        "March the 30th, 1999",
        "**March 30**, 1999",
    ],
)
def test_dates_are_read_in_all_common_forms(form: str) -> None:
    assert dates(f"It was on {form}, they say.") == {date(1999, 3, 30)}


def test_september_has_a_longer_short_form() -> None:
    assert dates("Sept. 24, 2007 and 24 Sept 2007") == {date(2007, 9, 24)}


def test_what_is_no_date_is_not_read_as_one() -> None:
    assert dates("1. March 30, 1999; in 2007. September 24, 2008") == {date(1999, 3, 30), date(2008, 9, 24)}
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
        ("Not only is it in the list, it is third.", True),
        ("There is no doubt that it is.", True),
        ("It lies outside the first ten.", False),
        ("None of them plays in it.", False),
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
        ("Avatar does not have a higher rating than Avatar: The Way of Water.", True),
        ("Avatar: The Way of Water does not have a higher rating than Avatar.", False),
        ("Avatar: The Way of Water, not Avatar, is rated higher.", True),
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
        ("She directed 4 movies since March 3, 2003.", False),
        ("Of its 4 seasons, season 3 is the best.", False),
        ("3 movies, in 2003, 2006 and 2010", True),
        ("Since 2003, 3 movies", True),
        ("not 3", False),
        ("She did not direct 3 movies but 4.", False),
        ("not only 3", True),
        ("She directed 13, or 3.5", False),
        ("3 or 4", False),
        ("three or four", False),
        ("2-3", False),
        ("1, 2, 3, 4, 5", False),
    ],
)
def test_a_number_is_not_taken_from_dates_lists_denials_and_choices(answer: str, expected: bool) -> None:
    assert Number(3).judge(answer).ok == expected


def test_a_year_is_taken_from_a_date() -> None:
    for answer in ("Founded on October 16, 1974.", "1974-10-16", "In 1974"):
        assert Number(1974).judge(answer)


@pytest.mark.parametrize("length", [100_000])
def test_a_very_long_answer_is_read_in_one_go(length: int) -> None:
    assert not Number(3).judge(", ".join(map(str, range(length // 6))))


LEAD = Names(("Ada Quill",), rivals=("Bo Reed", "Cy Stone", "Di Thorn", "Ed Umber"))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Ada Quill", True),
        ("The lead is Ada Quill. Bo Reed and Cy Stone play in it, too.", True),
        ("After Bo Reed and Cy Stone comes Ada Quill, and Di Thorn is last.", True),
        ("Bo Reed, Cy Stone, Ada Quill, Di Thorn, Ed Umber", False),
        ("Ada Quill or Bo Reed", False),
        ("Bo Reed, or perhaps Ada Quill", False),
        ("Ada Quill and Bo Reed", False),
        ("Not Ada Quill but Bo Reed", False),
        ("Ada Quill or Wendelin Quarrz", False),
    ],
)
def test_a_list_of_candidates_is_no_answer(answer: str, expected: bool) -> None:
    assert LEAD.judge(answer).ok == expected


@pytest.mark.parametrize(
    ("expectation", "text"),
    [
        (LEAD, "Bo Reed, Cy Stone, Ada Quill, Di Thorn, Ed Umber"),
        (Names(("Ada Quill",), forbidden=("Bo Reed",)), "Bo Reed, Ada Quill"),
        (Dates((date(2001, 2, 3),)), ", ".join(f"2001-02-0{day}" for day in range(1, 9))),
        (Number(7), "[5, 6, 7, 8]"),
        (Pictures(("/aB3dE6gH9jK2mN5pQ8sTu.jpg",)), "/aB3dE6gH9jK2mN5pQ8sTu.jpg /zB3dE6gH9jK2mN5pQ8sTz.jpg"),
        (AllOf((Number(7), LEAD)), "[5, 6, 7], Ada Quill"),
        (AnyOf((Number(9), Number(7))), "[5, 6, 7]"),
    ],
)
def test_a_list_of_candidates_still_holds_the_answer(expectation: Expectation, text: str) -> None:
    verdict = expectation.judge(text)
    assert (verdict.ok, verdict.holds) == (False, True)
    assert not expectation.judge("nothing of it").holds


def test_some_of_many_may_come_with_as_many_others() -> None:
    some = Names(("Ada Quill", "Bo Reed", "Cy Stone"), 1, rivals=("Di Thorn", "Ed Umber", "Flo Vane", "Gus West"))
    assert some.judge("Like Di Thorn and Ed Umber: Ada Quill")
    assert not some.judge("Di Thorn, Ed Umber, Flo Vane, Gus West, Ada Quill")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("2001-02-03", True),
        ("Not March 1, 2000, but 3 February 2001", True),
        ("Out on February 3, 2001; in France on March 1, 2001", True),
        ("not 2001-02-03", False),
        ("2001-02-03 or 2001-03-03", False),
        ("March 3, 2001, or February 3, 2001", False),
        ("2001-02-01, 2001-02-02, 2001-02-03, 2001-02-04, 2001-02-05", False),
    ],
)
def test_a_choice_of_dates_is_no_answer(answer: str, expected: bool) -> None:
    assert Dates((date(2001, 2, 3),)).judge(answer).ok == expected


@pytest.mark.parametrize(
    "answer", ["Yes or no.", "yes/no", "Yes. No.", "Maybe it is.", "I am not sure it is.", "It is unclear.", "Done."]
)
def test_what_does_not_commit_itself_is_neither_yes_nor_no(answer: str) -> None:
    assert not YesNo(True).judge(answer)
    assert not YesNo(False).judge(answer)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Here: https://image.tmdb.org/t/p/w500/aB3dE6gH9jK2mN5pQ8sTu.jpg", True),
        ("/aB3dE6gH9jK2mN5pQ8sTu.jpg and /zB3dE6gH9jK2mN5pQ8sTz.jpg", False),
        ("/zB3dE6gH9jK2mN5pQ8sTz.jpg", False),
        ("It is on https://films.example/ada.html", False),
    ],
)
def test_only_the_right_pictures_may_be_shown(answer: str, expected: bool) -> None:
    assert Pictures(("/aB3dE6gH9jK2mN5pQ8sTu.jpg", "/cB3dE6gH9jK2mN5pQ8sTu.jpg")).judge(answer).ok == expected


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


def test_a_passage_of_other_reviews_as_well_is_no_mark_of_one() -> None:
    other = Text(
        "hana_12", "Come for the sextant, stay for Netherfold. Never again.", "https://films.example/review/cd"
    )
    quotes = Quotes((REVIEW,), (other,))
    assert quotes.judge("'Come for the sextant, stay for Quillport'")
    assert not quotes.judge("'Come for the sextant, stay for'")
    assert not quotes.judge(other.content)
    assert not quotes.judge(f"{REVIEW.content} And: {other.content}")
    assert not quotes.judge(f"osric_17 says so, see {other.url}")


EXPECTATIONS: list[Expectation] = [
    Names(("Copper Orchard", "Ivory Echo")),
    Names(("Copper Orchard", "Ivory Echo"), 1, ("Paper Comet",)),
    Dates((date(2001, 2, 3), date(1999, 12, 31))),
    Number(12),
    YesNo(True, ("Copper Orchard",)),
    YesNo(False),
    SEQUEL,
    Quotes((REVIEW,)),
    Pictures(("/aB3dE6gH9jK2mN5pQ8sTu.jpg",)),
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
