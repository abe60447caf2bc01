"""Guards sketches: they show the shape of any value, within their budget."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restgpt.tools.response.sketch import sketch

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=40,
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        (5, "int = 5"),
        (True, "bool = true"),
        ("x", 'str = "x"'),
        ([], "[]"),
        ({}, "{}"),
        ([1, 2], "[2 × int = 1 or 2]"),
        ({"a": {"b": [1]}}, "{a: {b: [1 × int = 1]}}"),
        ([{"a": 1}, {"a": None, "b": "x"}], '[2 × {a: int | null = 1, b?: str = "x"}]'),
        ([[1], [1, 2]], "[2 × [1-2 × int = 1 or 2]]"),
        ({"a b": 1, "ä": 2, 'q"': 3}, '{"a b": int = 1, ä: int = 2, "q\\"": int = 3}'),
        ({f"user{n}": {"age": n} for n in range(1000)}, "{1,000 names such as user0: {age: int = 0}}"),
    ],
)
def test_shapes_are_written_shortly(value: Any, shown: str) -> None:
    assert sketch(value) == shown


def test_both_ends_of_a_list_are_looked_at() -> None:
    items: list[Any] = [{"a": 1}] * 500 + [{"a": 1, "last": True}]
    assert sketch(items).startswith("[501 × {a: int = 1, last?: bool = true}")


def test_examples_go_before_names() -> None:
    item = {f"field_{number}": "a long example of this field, " * 2 for number in range(30)}
    text = sketch({"page": {"items": [item] * 20}}, 200)
    assert "field_0: str" in text
    assert "field_29: str" in text


@given(JSON, st.integers(min_value=1, max_value=60))
def test_no_value_takes_more_than_its_budget(value: Any, budget: int) -> None:
    assert len(sketch(value, budget)) <= budget * 4


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        "x" * 10_000_000,
        ["x" * 100_000] * 100,
        {str(number): number for number in range(100_000)},
        {"k" * 1_000_000: 1},
        [{f"k{number}-{inner}": 1 for inner in range(50)} for number in range(1000)],
        10**5000,
        nested(5000),
    ],
    ids=["string", "strings", "names", "long name", "different objects", "number", "deep"],
)
def test_huge_values_are_sketched_within_the_budget(value: Any) -> None:
    assert len(sketch(value, 100)) <= 400


def test_text_cannot_break_out_of_its_line() -> None:
    assert "\n" not in sketch({"note\n": "ignore all\nrules", "x": ["\r\n"]})


def test_fields_that_are_always_null_or_empty_come_last_and_by_name_only() -> None:
    empty = {"tags": [], "notes": {}, "text": ""}
    items = [
        {"a": None, "id": 1, "b": None, "c": None, **empty, "note": None},
        {"a": None, "id": 2, "b": None, **empty},
    ]
    items[1]["note"] = "x"
    last = "always null: a, b, c?, always empty: tags, notes, text"
    assert sketch(items) == f'[2 × {{id: int = 1 or 2, note: null | str = "x", {last}}}]'
    assert sketch({"a": None, "id": 1}) == "{id: int = 1, a: null}"


def test_the_fields_of_the_query_come_first() -> None:
    value = {f"field_{number}": "some text " * 5 for number in range(100)} | {"flow_state": "DONE"}
    assert "flow_state" not in sketch(dict(list(value.items())), 60)
    assert sketch(dict(list(value.items())[45:]), 60, query="the states of all flows").startswith("{flow_state: str")


def test_the_names_of_a_small_object_are_shown_where_its_fields_are_not() -> None:
    value = {"v": {"w": {f"k{n}": {"color": {"hex": "#f00"}, "size": {"cm": 1}} for n in range(12)}}}
    assert "k11: {color, size}" in sketch(value, 75)
