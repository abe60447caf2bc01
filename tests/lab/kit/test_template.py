"""Guards templates of large values: what repeats, how often, and what the numbers stand for."""

from typing import Any

import pytest

from lab.kit.template import filled, filled_text


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ({"enum": {"$each": "$k"}}, {"enum": [0, 1]}),
        ({"$each": {"name": "a$k", "next": "$next"}}, [{"name": "a0", "next": "1"}, {"name": "a1", "next": "2"}]),
        ({"S$k": {"f$k": "${k}"}, "S$n": "$n"}, {"S0": {"f0": "0"}, "S1": {"f1": "1"}, "S2": 2}),
        ({"/a$k": {"urls": {"$each": "b$k"}}}, {"/a0": {"urls": ["b0", "b1"]}, "/a1": {"urls": ["b0", "b1"]}}),
        ({"$ref": "#/a", "keys": [1, None, "$word"]}, {"$ref": "#/a", "keys": [1, None, "$word"]}),
    ],
)
def test_items_and_keys_with_a_number_are_repeated(template: Any, value: Any) -> None:
    assert filled(template, 2) == value


def test_pieces_of_a_text_are_repeated() -> None:
    assert filled_text("[«a$k, »b]«]»", 3) == "[a0, a1, a2, b]]]]"
