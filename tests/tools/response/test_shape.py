"""Guards shapes: they hold names and types of any value, never a value, and stay small."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restgpt.tools.response.sketch import MOST_FIELDS, SHAPE_NODES, Shape, merged, shape_of, text_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from("abcde"), inner),
    max_leaves=40,
)
SECRETS = (
    *("ada.lovelace@mail.example", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "AKIAIOSFODNN7EXAMPLE"),
    *("4uLU6hMCjMI75M1A2tKUQC", "2b8e1c1e-53ff-4a8e-9d2f-0c9b6c1a7f10", "sk_live_51H8xYzAbCdEf", "+49 170 5550123"),
    *("2024-05-01", "d2024_05_01", "4711", "key with spaces", "long" * 11, "ключ", "a/b", "x\ny"),
    *("DE89370400440532013000", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0", "192.168.10.77"),
    *("deadbeef0123cafe", "q1_2024"),
)


def nodes(shape: Any) -> int:
    parts = list(shape.values()) if isinstance(shape, dict) else shape if isinstance(shape, list) else []
    return 1 + sum(map(nodes, parts))


RESULTS = {"results": [{"id": 1, "title": "x", "note": None}, {"id": 2, "title": "y", "note": "z"}], "total": 2}
ODATA = {"@odata.count": 1, "members@odata.nextLink": "x", "iso_3166_1": "DE", "$ref": "y"}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (RESULTS, "{results: [{id: int, title: str, note: str | null}], total: int}"),
        ([{"a": 1}, {"a": 2.5, "b": True}], "[{a: float, b?: bool}]"),
        ([], "[any]"),
        ({}, "{}"),
        (None, "null"),
        ([1, "x", [2], {"a": 1}, None], "[int | str | null | {a: int} | [int]]"),
        (ODATA, '{"@odata.count": int, "members@odata.nextLink": str, iso_3166_1: str, "$ref": str}'),
        ({"track": {"type": "track", "id": "5"}}, "{track: {type: str, id: str}}"),
    ],
)
def test_shapes_are_written_like_result_types(value: Any, shown: str) -> None:
    assert text_of(shape_of(value), 200) == shown


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize(
    "hostile",
    [
        lambda secret: {secret: 1},
        lambda secret: {"users": {"total": 1, secret: {"plan": "pro"}}},
        lambda secret: [{"total": 2, "by": {secret: [secret]}}] * 3,
        lambda secret: {"token": secret, "list": [secret, {"more": secret}]},
    ],
)
def test_no_value_stands_in_a_shape_even_if_it_is_a_name(secret: str, hostile: Any) -> None:
    kept = shape_of(hostile(secret))
    for shape in (kept, merged(kept, shape_of({"users": {"total": 1}})), merged(shape_of({"x": 1}), kept)):
        for text in (json.dumps(shape), json.dumps(shape, ensure_ascii=False), text_of(shape, 500)):
            assert secret not in text


@given(JSON, st.text(alphabet="0123456789abcdef", min_size=20, max_size=64), st.emails())
def test_no_generated_token_or_address_stands_in_a_shape(value: Any, token: str, address: str) -> None:
    text = json.dumps(shape_of({"rest": value, "here": {token: address, address: token}, "list": [token, address]}))
    assert token not in text
    assert address not in text


@pytest.mark.parametrize(
    "value",
    [
        [{"alice": 1}, {"bob": 2}],
        {"alice": {"login": "alice"}},
        {f"word{chr(97 + number)}": {"plan": "pro", **({"age": 3} if number % 2 else {})} for number in range(8)},
        {f"w{chr(97 + number // 26)}{chr(97 + number % 26)}": number for number in range(40)},
    ],
)
def test_names_that_vary_or_repeat_one_type_are_a_map(value: Any) -> None:
    assert "(any name)" in text_of(shape_of(value), 200)
    assert not any(name in text_of(shape_of(value), 200) for name in ("alice", "bob", "worda", "waa"))


def test_answers_without_a_common_name_are_one_map() -> None:
    shape = merged(shape_of({"alice": {"age": 1}}), shape_of({"bob": {"age": None}}))
    assert shape == {"map": {"fields": {"age": ["integer", "null"]}, "optional": []}}
    assert merged(shape, shape_of({"eve": {"age": 2}})) == shape


def test_names_that_pile_up_become_a_map() -> None:
    shape = shape_of({"total": 1})
    for number in range(30):
        shape = merged(shape, shape_of({"total": 1, f"user{chr(97 + number % 26)}{number // 26}": 2}))
    assert shape == {"map": "integer"}


def test_a_field_that_one_answer_lacks_is_optional() -> None:
    shape = merged(shape_of({"a": 1, "b": None}), shape_of({"a": 2.5, "c": [1]}))
    assert text_of(shape, 100) == "{a: float, c?: [int], b?: null}"
    assert merged(shape_of([]), shape_of([{"a": 1}])) == shape_of([{"a": 1}])


@given(JSON, JSON)
def test_merging_again_changes_nothing(one: Any, other: Any) -> None:
    shape = merged(shape_of(one), shape_of(other))
    assert merged(shape, shape) == shape
    assert merged(shape_of(one), shape_of(one)) == shape_of(one)
    assert json.loads(json.dumps(shape)) == shape


def test_a_shape_is_bounded_whatever_the_value() -> None:
    def wide(depth: int, mark: str) -> Any:
        # Values of two types, so that the names count as fields.
        return {
            f"{mark}{chr(97 + n // 26)}{chr(97 + n % 26)}": wide(depth - 1, mark) if depth else 1 for n in range(70)
        } | {"note": "x"}

    shape: Shape = merged(shape_of({"a": wide(2, "p"), "b": "x"}), shape_of({"a": wide(2, "q"), "note": wide(1, "p")}))
    assert nodes(shape) <= 3 * SHAPE_NODES
    deep: Any = 1
    for _ in range(300):
        deep = {"in": deep, "n": 1}
    assert len(json.dumps(shape_of(deep))) < 1000
    many = shape_of({f"f{chr(97 + n // 26)}{chr(97 + n % 26)}": [n, "x", {}][n % 3] for n in range(200)})
    assert isinstance(many, dict)
    assert len(many["fields"]) == MOST_FIELDS


@given(JSON, st.integers(min_value=1, max_value=60))
def test_no_text_is_longer_than_its_budget(value: Any, budget: int) -> None:
    assert len(text_of(shape_of(value), budget)) <= budget * 4


def test_deep_levels_are_cut_before_names() -> None:
    rows = [{"id": 1, "owner": {"name": "x", "address": {"street": "y", "town": {"code": 1, "label": "z"}}}}]
    assert text_of(shape_of({"rows": rows, "total": 1}), 12) == "{rows: [{id, owner}], total: int}"


def test_fields_of_the_focus_come_first_and_those_that_were_always_null_last() -> None:
    shape = shape_of([{"a": None, "b": None, "c": None, "id": 1, "state": {"type": "DONE"}}])
    assert text_of(shape, 100) == "[{id: int, state: {type: str}, always null: a, b, c}]"
    assert text_of(shape, 100, focus="the types of the runs").startswith("[{state: {type: str}, id: int, ")
