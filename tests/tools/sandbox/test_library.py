"""Guards the functions that programs use on answers: they find what is certain, else say what there is."""

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from restgpt.tools.sandbox.library import field, number, one, rows, table

PEOPLE: list[dict[str, Any]] = [
    {"id": 1, "name": "Anna Smith", "score": 5, "active": True, "tags": ["new", "Big One"]},
    {"id": 2, "name": "Anna  Jones", "score": 5.5, "active": False, "tags": []},
    {"id": 3, "name": "Bob", "homeTown": "Ulm", "email": "bob@x.org", "home": {"city": "Bonn", "zip": None}},
]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, []),
        ([], []),
        ([1, 2], [1, 2]),
        ((1, 2), [1, 2]),
        ({"a": 1}.values(), [1]),
        ({"items": [1], "results": [2]}, [1]),
        ({"Results": [2], "tags": [{"a": 1}]}, [2]),
        ({"data": {"items": []}}, []),
        ({"data": {"movies": [{"a": 1}], "total": 1}}, [{"a": 1}]),
        ({"albums": {"items": [1], "total": 1}, "next": None}, [1]),
        ({"hits": {"total": 1, "hits": [{"a": 1}]}}, [{"a": 1}]),
        ({"_embedded": {"users": [{"a": 1}]}}, [{"a": 1}]),
        ({"total": 1, "movies": [{"a": 1}], "errors": []}, [{"a": 1}]),
        ({"total": 0, "movies": []}, []),
        ({"results": None, "total": 0}, []),
        ({"id": 1, "tags": ["x"]}, [{"id": 1, "tags": ["x"]}]),
        ({"id": 1, "owner": {"id": 2, "teams": [{"id": 3}]}}, [{"id": 1, "owner": {"id": 2, "teams": [{"id": 3}]}}]),
        ({}, [{}]),
    ],
)
def test_rows_are_found_in_any_envelope(answer: object, expected: list[object]) -> None:
    assert rows(answer) == expected


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (
            {"id": 1, "cast": [{"a": 1}], "crew": []},
            LookupError,
            r"several lists: cast, crew; .* rows\(response\['cast'\]\)",
        ),
        ({"albums": {"items": []}, "artists": {"items": []}}, LookupError, "several lists: albums, artists"),
        ("not found", ValueError, "this is the text 'not found'"),
        (5, ValueError, "this is int 5"),
    ],
)
def test_rows_that_are_not_certain_are_refused(answer: object, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        rows(answer)


@pytest.mark.parametrize(
    ("item", "names", "expected"),
    [
        (PEOPLE[2], ("name",), "Bob"),
        (PEOPLE[2], ("title", "name"), "Bob"),
        (PEOPLE[2], ("home_town",), "Ulm"),
        (PEOPLE[2], ("HOMETOWN",), "Ulm"),
        (PEOPLE[2], ("home.city",), "Bonn"),
        (PEOPLE[2], ("Home.City",), "Bonn"),
        (PEOPLE[2], ("home.zip", "home.city"), "Bonn"),
        ({"a": [{"b": 1}, {"b": 2}]}, ("a.1.b",), 2),
        ({"a.b": 1, "a": {"b": 2}}, ("a.b",), 1),
    ],
)
def test_a_field_is_found_by_one_of_its_names(item: object, names: tuple[str, ...], expected: object) -> None:
    assert field(item, *names) == expected


def test_a_missing_field_has_its_default() -> None:
    assert field(PEOPLE[2], "salary", default=0) == 0
    assert field(None, "salary", default=None) is None
    assert field({"salary": False}, "salary", default=True) is False
    with pytest.raises(ValueError, match="takes the name of a field"):
        field({"a": 1})


@pytest.mark.parametrize(
    ("item", "names", "message"),
    [
        (PEOPLE[1], ("nmae",), "no field 'nmae' here; nearest: 'name'; the object has id, name, score, active, tags"),
        (PEOPLE[1], ("x", "scores"), "no field 'x' or 'scores' here; nearest: 'score'; the object has id"),
        (PEOPLE[2], ("home.town",), "no field 'home.town' here; 'home' has city, zip"),
        (PEOPLE[2], ("home.zip",), "the field 'home.zip' is null here; give a default=, .* 'home' has city, zip"),
        (PEOPLE, ("name",), r"field\(\) takes an object, but this is a list of 3; take its items"),
        (None, ("name",), "this is null"),
        ({}, ("name",), "the object has no fields"),
        ({f"f{n}": n for n in range(50)}, ("name",), "f19 and 30 more"),
    ],
)
def test_a_missing_field_is_an_error_that_lists_what_there_is(item: object, names: tuple[str], message: str) -> None:
    with pytest.raises(LookupError, match=message):
        field(item, *names)


@pytest.mark.parametrize(
    ("text", "conditions", "expected"),
    [
        *((text, {}, found) for text, found in (("bob", 3), ("anna jones", 2), ("BOB@X.ORG", 3), ("smith", 1))),
        ("", {"name": " anna   SMITH "}, 1),
        ("", {"id": "2"}, 2),
        ("", {"id": 2.0}, 2),
        ("", {"score": "5.5"}, 2),
        ("", {"active": True}, 1),
        ("", {"active": "false"}, 2),
        ("", {"tags": "big one"}, 1),
        ("", {"home_town": "ulm"}, 3),
        ("", {"home.city": "bonn"}, 3),
        ("anna", {"score": 5}, 1),
    ],
)
def test_the_one_match_is_returned(text: str, conditions: dict[str, Any], expected: int) -> None:
    assert one(PEOPLE, text, **conditions)["id"] == expected
    assert one({"data": {"items": PEOPLE}}, text, **conditions)["id"] == expected


def test_an_equal_text_beats_one_that_contains_it_and_one_item_on_two_pages_is_one() -> None:
    assert one([{"name": "Heat Wave"}, {"name": "HEAT"}], "heat") == {"name": "HEAT"}
    assert one(["Heat Wave", "Heat"], "heat") == "Heat"
    assert one([PEOPLE[2], dict(PEOPLE[2])], "bob") == PEOPLE[2]
    # The only item needs no condition.
    assert one({"results": [{"id": 7}]}) == {"id": 7}


ANNAS = "Anna Smith (id 1), Anna  Jones (id 2)"
TEN, EIGHT = [{"id": n, "name": "x"} for n in range(10)], ", ".join(f"x (id {n})" for n in range(8))
KEYS = [
    {"key_id": "a", "name": "x", "created_at": "1", "meta": {"team": "red"}, "kind": "k"},
    {"key_id": "b", "name": "x", "created_at": "2", "meta": {"team": "blue"}, "kind": "k", "tags": []},
]
RED, BLUE = "[key_id a, meta.team red, created_at 1]", "[key_id b, meta.team blue, created_at 2]"


@pytest.mark.parametrize(
    ("items", "text", "conditions", "sentence"),
    [
        (PEOPLE, "anna", {}, f"2 items match 'anna': {ANNAS}; say which one."),
        (PEOPLE, "bobb", {}, "No item matches 'bobb'; nearest: Bob (id 3)."),
        (PEOPLE, "zzz", {"score": 5}, f"No item matches 'zzz' and score '5'; there are {ANNAS}, Bob (id 3)."),
        ([], "bob", {}, "There is no item to choose from: the list is empty; 'bob' was looked for."),
        ([], "", {}, "There is no item to choose from: the list is empty."),
        ([{"id": 4}, {"a": 1}], "zzz", {}, "No item matches 'zzz'; there are id 4, an object with a."),
        (TEN, "", {"name": "x"}, f"10 items match name 'x': {EIGHT} and 2 more; say which one."),
        (KEYS, "x", {}, f"2 items match 'x': x {RED}, x {BLUE}; say which one."),
    ],
)
def test_none_or_several_matches_stop_the_program_with_the_candidates(
    items: list[Any], text: str, conditions: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(RuntimeError) as caught:
        one(items, text, **conditions)
    assert str(caught.value) == sentence


def test_a_condition_on_a_field_that_no_item_has_is_an_error_of_the_program() -> None:
    with pytest.raises(LookupError, match="no item has a field 'nmae'; nearest: 'name'; the first has id, name"):
        one(PEOPLE, nmae="Bob")
    with pytest.raises(LookupError, match="the first item is the text 'a'"):
        one(["a", "b"], name="a")


NUMBERS: dict[float, tuple[object, ...]] = {
    1234.5: ("1,234.50 €", "1.234,50", "1'234.50", "1 234,5"),
    1234567: ("1.234.567", "12,34,567"),
    1234: ("1\u202f234", "1,234"),
    0.125: ("0,125",),
    12.5: ("12,5",),
    1.234: ("1.234",),
    0.5: (".5",),
    5: ("5.", "5 km", "5kg", "page-5"),
    -5: ("(5)", "-5", "\u22125", "$-5", "5-"),
    -5.5: ("-$5.50",),
    7: ("about 7 stars", 7),
    7.5: (7.5,),
    45: ("45%",),
    1000.0: ("1e3",),
    12_000: ("12k",),
    3_500_000: ("3.5 million",),
    1_500_000_000: ("1.5bn",),
    1_200_000: ("$1.2M views",),
}


@pytest.mark.parametrize(("expected", "text"), [(number, text) for number in NUMBERS for text in NUMBERS[number]])
def test_a_number_is_read_from_text(expected: float, text: object) -> None:
    result = number(text)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("none", "there is no number in 'none'"),
        ("", "there is no number in ''"),
        ("abc123", "there is no number"),
        ("3 to 5", "more than one number in '3 to 5'"),
        ("2020-01-02", "more than one number"),
        ("12,3,4", "no groups of three digits"),
        ("1.2.3", "no groups of three digits"),
        (None, "this is null"),
        (True, "this is bool True"),
        ([1], "this is a list of 1"),
    ],
)
def test_what_is_no_single_number_is_refused(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        number(value)


@settings(max_examples=200, deadline=None)
@given(st.text("0123456789.,'’ -+()keEmM€", max_size=30))
def test_any_text_is_a_number_or_refused(text: str) -> None:
    result: int | float | None = None
    with contextlib.suppress(ValueError):
        result = number(text)
    assert result is None or (isinstance(result, int | float) and any(digit in text for digit in "0123456789"))


@given(st.integers(-(10**15), 10**15))
def test_grouped_numbers_keep_their_value(value: int) -> None:
    assert number(f"{value:,}") == value or abs(value) < 1000
    assert number(f"{value:,}.50") == value + (0.5 if value >= 0 else -0.5)


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_a_table_becomes_rows_with_names(mark: str) -> None:
    text = f'\ufeffname{mark}age\r\n"Smith, A; |\t"{mark} 5\r\n\r\nBob{mark}6\r\n'
    assert table(text) == [{"name": "Smith, A; |\t", "age": "5"}, {"name": "Bob", "age": "6"}]


def test_a_ragged_table_keeps_all_cells_and_one_without_rows_is_empty() -> None:
    first, second = table("a,,a\n1\n1,2,3,4")
    assert first == {"a": "1", "column 2": "", "a 2": "", "column 4": ""}
    assert second == {"a": "1", "column 2": "2", "a 2": "3", "column 4": "4"}
    assert table("") == table("a,b") == table("\n\n") == []
    assert table("name\nBob") == [{"name": "Bob"}]


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(ValueError, match=r"this is a list of 1; rows\(\) takes lists"):
        table([1])
    with pytest.raises(ValueError, match="line 2 of the text is no row of a table"):
        table('a,b\n1,"' + "x" * 200_000)
