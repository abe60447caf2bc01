"""Guards the rule by which literals become inputs: what the user said and the documents do not fix."""

from typing import Any

import pytest

from restgpt.nodes.saved_run import Input, inputs_of, is_entity

SAID = (
    'Add "pack bags" and Buy Soil to list 12 for the Grüne Woche on 2024-05-17, sorted by newest, by Ada and Bo, draft.'
)


@pytest.mark.parametrize(
    ("literals", "wanted"),
    [
        ([("title", "pack bags")], [Input("title", "pack bags")]),
        ([("list_id", 12)], [Input("list_id", 12, "list_id")]),
        ([("title", "Buy Soil"), ("note", "Buy Soil")], [Input("title", "Buy Soil")]),
        ([("state", "draft")], [Input("state", "draft", "state", is_required=False)]),
        ([("sort", "newest")], []),
        ([("", "pack bags")], []),
        ([("title", "Sell bags")], []),
        ([("names", ["Ada", "Bo"]), ("names", "Ada"), ("names", "Bo")], [Input("names", ("Ada", "Bo"))]),
        ([("names", ["Ada", "Eve"]), ("names", "Ada"), ("names", "Eve")], [Input("names", "Ada")]),
        ([("q", "event:Grüne Woche by:Ada")], [Input("event", "Grüne Woche"), Input("by", "Ada")]),
        ([("passenger", "Ada Lovelace"), ("note", "Dear Ada"), ("other", "Mrs Ada")], [Input("note", "Ada")]),
        ([("dueDate", "2024-05-17")], [Input("due_date", "2024-05-17")]),
        ([("name", "Ada"), ("name", "Bo")], [Input("name", "Ada"), Input("name2", "Bo")]),
    ],
)
def test_the_values_that_the_user_said_become_inputs(literals: list[tuple[str, Any]], wanted: list[Input]) -> None:
    assert inputs_of(literals, SAID, {"newest", "oldest"}) == wanted


def test_an_input_says_its_type_and_has_its_value_as_its_example() -> None:
    assert Input("n", 2.5).property() == {"type": "number", "examples": [2.5]}
    several = {"type": "array", "items": {"type": "string"}, "examples": [["a", "b"]]}
    assert Input("n", ("a", "b")).property() == several
    assert Input("n", "a", is_required=False).property() == {"type": "string", "default": "a", "examples": ["a"]}


def test_a_name_has_a_capital_a_digit_a_letter_beyond_ascii_or_quotes() -> None:
    names, words = ("Ada", "a4", "grün", "pack bags"), ("soil", "for the list")
    assert all(is_entity(name, SAID) for name in names)
    assert not any(is_entity(word, SAID) for word in words)
