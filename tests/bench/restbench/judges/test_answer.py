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
        *("1999-03-30", "1999-03-30T00:00:00.000Z", "1999/03/30", "1999.03.30", "1999 March 30"),
        *("03/30/1999", "30.03.1999", "30/03/1999", "30-03-1999", "30-Mar-1999", "30. March 1999"),
        *("March 30, 1999", "Mar 30th 1999", "March the 30th, 1999", "**March 30**, 1999"),
        *("30 March 1999", "30th of March, 1999", "the 30 Mar. 1999"),
    ],
)
def test_dates_are_read_in_all_common_forms(form: str) -> None:
    assert dates(f"It was on {form}, they say.") == {date(1999, 3, 30)}


def test_september_has_a_longer_short_form_and_what_is_no_date_is_not_read_as_one() -> None:
    assert dates("Sept. 24, 2007 and 24 Sept 2007") == {date(2007, 9, 24)}
    assert dates("1. March 30, 1999; in 2007. September 24, 2008") == {date(1999, 3, 30), date(2008, 9, 24)}
    assert dates("In 1999, or 1999-13-45, or March 1999") == set()


YES = [
    *("Yes, it is.", "It is in the list.", "It is there, as No. 5 of the list."),
    *("Not only is it in the list, it is third.", "There is no doubt that it is."),
]
NO = [
    *("No, it is not.", "It isn't in the list.", "They are different people.", "It lies outside the first ten."),
    *("None of them plays in it.", "  "),
]


def test_yes_and_no_are_read_from_plain_sentences() -> None:
    assert [answer for answer in YES if not affirms(answer)] == []
    assert [answer for answer in NO if affirms(answer)] == []


def test_a_very_long_answer_is_read_in_one_go() -> None:
    assert not Number(3).judge(", ".join(map(str, range(16_000))))


LEAD = Names(("Ada Quill",), rivals=("Bo Reed", "Cy Stone", "Di Thorn", "Ed Umber"))
FOUR = Names(("Ada Quill", "Bo Reed", "Cy Stone"), 1, rivals=("Di Thorn", "Ed Umber", "Flo Vane", "Gus West"))
OTHER = Text("hana_12", "Come for the sextant, stay for Netherfold. Never again.", "https://films.example/review/cd")
PICTURES = Pictures(("/aB3dE6gH9jK2mN5pQ8sTu.jpg", "/cB3dE6gH9jK2mN5pQ8sTu.jpg"))
COMPARED = "Avatar has 6.2 and Avatar: The Way of Water has 8.1"

JUDGED: dict[str, tuple[Expectation, list[str], list[str]]] = {
    "a comparison, clause by clause": (
        SEQUEL,
        [
            "Avatar: The Way of Water has a higher rating (8.1) than Avatar (6.2).",
            "Avatar has a lower rating than Avatar: The Way of Water.",
            "Avatar is rated 6.2 while Avatar: The Way of Water is rated higher, 8.1.",
            "The one with the higher rating is Avatar: The Way of Water.",
            "Avatar: The Way of Water",
            "Avatar: The Way of Water (8.1) vs Avatar (6.2): the former is higher.",
            "Avatar (6.2) vs Avatar: The Way of Water (8.1): the latter is higher.",
            "Comparing Avatar with Avatar: The Way of Water, Avatar: The Way of Water is better.",
            "Avatar: The Way of Water, with 8.1 against 6.2 for Avatar, is rated higher.",
            f"{COMPARED}, so Avatar: The Way of Water is higher than Avatar.",
            "Avatar does not have a higher rating than Avatar: The Way of Water.",
            "Avatar: The Way of Water, not Avatar, is rated higher.",
        ],
        [
            "Avatar has a higher rating than Avatar: The Way of Water.",
            "Avatar: The Way of Water is worse than Avatar.",
            f"{COMPARED}.",
            "I cannot say.",
            "Between Avatar and Avatar: The Way of Water, Avatar is better.",
            "Avatar is higher. Avatar: The Way of Water is higher.",
            "Avatar: The Way of Water does not have a higher rating than Avatar.",
        ],
    ),
    "a possessive, which still names its owner": (
        Prefers("Kurosawa", "Spielberg", ("more",), ("fewer",)),
        ["Akira Kurosawa directed 12 movies, more than Steven Spielberg's 9."],
        ["Steven Spielberg directed more movies than Akira Kurosawa."],
    ),
    "a number, not from dates, lists, denials and choices": (
        Number(3),
        [
            "She directed 3 movies: A, B and C.",
            "She directed three movies.",
            "3 movies, in 2003, 2006 and 2010",
            "Since 2003, 3 movies",
            "not only 3",
        ],
        [
            "She directed 4 movies:\n1. A\n2. B\n3. C\n4. D",
            "She directed 4 movies since 2003-03-03.",
            "She directed 4 movies since March 3, 2003.",
            "Of its 4 seasons, season 3 is the best.",
            "She did not direct 3 movies but 4.",
            "She directed 13, or 3.5",
            *("not 3", "3 or 4", "three or four", "2-3", "1, 2, 3, 4, 5"),
        ],
    ),
    "a year, from a date": (Number(1974), ["Founded on October 16, 1974.", "1974-10-16", "In 1974"], ["In 1975"]),
    "a name, not from a list of candidates": (
        LEAD,
        [
            "Ada Quill",
            "The lead is Ada Quill. Bo Reed and Cy Stone play in it, too.",
            "After Bo Reed and Cy Stone comes Ada Quill, and Di Thorn is last.",
        ],
        [
            "Bo Reed, Cy Stone, Ada Quill, Di Thorn, Ed Umber",
            *("Ada Quill or Bo Reed", "Bo Reed, or perhaps Ada Quill", "Ada Quill and Bo Reed"),
            *("Not Ada Quill but Bo Reed", "Ada Quill or Wendelin Quarrz"),
        ],
    ),
    "some of many, with as many others": (
        FOUR,
        ["Like Di Thorn and Ed Umber: Ada Quill"],
        ["Di Thorn, Ed Umber, Flo Vane, Gus West, Ada Quill"],
    ),
    "a name without a forbidden one, unless that is a part of it": (
        Names(("Paper Comet Returns",), forbidden=("Paper Comet",)),
        ["Paper Comet Returns"],
        ["Paper Comet Returns and Paper Comet"],
    ),
    "no names, which is never met": (Names(()), [], ["anything"]),
    "a date, and no choice of dates": (
        Dates((date(2001, 2, 3),)),
        ["2001-02-03", "Not March 1, 2000, but 3 February 2001", "Out on February 3, 2001; in France on March 1, 2001"],
        [
            *("not 2001-02-03", "2001-02-03 or 2001-03-03", "March 3, 2001, or February 3, 2001"),
            "2001-02-01, 2001-02-02, 2001-02-03, 2001-02-04, 2001-02-05",
        ],
    ),
    "the right pictures only": (
        PICTURES,
        ["Here: https://image.tmdb.org/t/p/w500/aB3dE6gH9jK2mN5pQ8sTu.jpg"],
        [
            "/aB3dE6gH9jK2mN5pQ8sTu.jpg and /zB3dE6gH9jK2mN5pQ8sTz.jpg",
            "/zB3dE6gH9jK2mN5pQ8sTz.jpg",
            "It is on https://films.example/ada.html",
        ],
    ),
    "a review, by author, passage or address": (
        Quotes((REVIEW,)),
        ["osric_17 liked it", "One says: 'stay for Quillport and its rain'", "See https://films.example/review/ab"],
        ["One says it rains."],
    ),
    "a review, not by a passage that others have as well": (
        Quotes((REVIEW,), (OTHER,)),
        ["'Come for the sextant, stay for Quillport'"],
        [
            "'Come for the sextant, stay for'",
            OTHER.content,
            f"{REVIEW.content} And: {OTHER.content}",
            f"osric_17 says so, see {OTHER.url}",
        ],
    ),
}


@pytest.mark.parametrize(("expectation", "right", "wrong"), JUDGED.values(), ids=JUDGED)
def test_an_answer_is_judged_as_it_is_meant(expectation: Expectation, right: list[str], wrong: list[str]) -> None:
    assert [answer for answer in right if not expectation.judge(answer).ok] == []
    assert [answer for answer in wrong if expectation.judge(answer).ok] == []


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


@pytest.mark.parametrize(
    "answer", ["Yes or no.", "yes/no", "Yes. No.", "Maybe it is.", "I am not sure it is.", "It is unclear.", "Done."]
)
def test_what_does_not_commit_itself_is_neither_yes_nor_no(answer: str) -> None:
    assert not YesNo(True).judge(answer)
    assert not YesNo(False).judge(answer)


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
