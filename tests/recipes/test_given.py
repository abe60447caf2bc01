"""Guards the inputs of a recipe's run: their types come from the recipe, and every fault is a sentence."""

from typing import Any

import pytest
from plantrecipe import plant_recipe

from restgpt.recipes.recipe import Recipe, RecipeInputError, completed, given_inputs, input_problems


def recipe(required: tuple[str, ...] = (), **properties: Any) -> Recipe:
    inputs = {"type": "object", "properties": properties, "required": list(required)}
    return plant_recipe(inputs=inputs, operations=())


TYPES = {
    "text": {"type": "string"},
    "whole": {"type": "integer"},
    "number": {"type": "number"},
    "flag": {"type": "boolean"},
    "list": {"type": "array", "items": {"type": "string"}},
    "numbers": {"type": "array", "items": {"type": "integer"}},
    "maybe": {"type": ["integer", "null"]},
    "object": {"type": "object"},
    "any": {},
}


@pytest.mark.parametrize(
    ("pairs", "value"),
    [
        (["text=5"], "5"),
        (["text="], ""),
        (["text=a=b"], "a=b"),
        (["text= a "], " a "),
        (['text="a"'], '"a"'),
        (["whole=5"], 5),
        (["whole= -7 "], -7),
        (["number=1.5"], 1.5),
        (["flag=true"], True),
        (["flag=false"], False),
        (["list=a"], ["a"]),
        (["list=a", "list=b"], ["a", "b"]),
        (['list=["a", "b"]'], ["a", "b"]),
        (["list=[]"], []),
        (["list=5", "list=[x"], ["5", "[x"]),
        (["numbers=1", "numbers=2"], [1, 2]),
        (["maybe=null"], None),
        (["maybe=3"], 3),
        (['object={"a": 1}'], {"a": 1}),
        (["any=5"], "5"),
        (["whole=five"], "five"),
        (["number=NaN"], "NaN"),
        (["maybe=none"], "none"),
        ([f"object={'[' * 100_000}"], "[" * 100_000),
    ],
)
def test_a_text_becomes_a_value_of_the_type_of_its_input(pairs: list[str], value: Any) -> None:
    found = given_inputs(recipe(**TYPES), pairs)
    assert list(found.values()) == [value]
    assert type(found[pairs[0].partition("=")[0]]) is type(value)


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        (["name"], r"--input name is invalid. Write NAME=VALUE, such as --input name=…"),
        (["name=a", "name=b"], r"--input name is given 2 times, but it takes one value."),
    ],
)
def test_a_pair_that_is_none_or_given_twice_is_refused(pairs: list[str], told: str) -> None:
    with pytest.raises(RecipeInputError, match=told):
        given_inputs(plant_recipe(), pairs)


def test_defaults_fill_what_is_not_given() -> None:
    owner, limit = {"type": "string", "default": "Ada"}, {"type": "integer", "default": 5}
    with_default = recipe(("owner",), owner=owner, limit=limit)
    assert given_inputs(with_default, ["limit=7"]) == {"owner": "Ada", "limit": 7}
    assert completed(with_default, {"owner": "Björn"}) == {"owner": "Björn", "limit": 5}
    assert input_problems(with_default, {}) == []


def test_saved_values_fit_and_are_no_defaults() -> None:
    assert input_problems(plant_recipe(), plant_recipe().examples) == []
    assert input_problems(plant_recipe(), {}) == [
        'The input name is missing: a text, such as "Roof garden".',
        'The input titles is missing: a list, such as ["Buy soil", "Order seeds"].',
    ]


@pytest.mark.parametrize(
    ("schema", "value", "told"),
    [
        ({"type": "integer"}, "five", "The input x is wrong: 'five' is not of type 'integer'."),
        ({"type": "integer"}, True, "The input x is wrong: True is not of type 'integer'."),
        ({"type": ["integer", "null"]}, "a", "The input x is wrong: 'a' is not of type 'integer', 'null'."),
        ({"type": "array", "items": {"type": "integer"}}, [1, "b"], "The input x.1 is wrong: 'b' is not of type"),
        ({"enum": ["open", "done"]}, "opn", "The input x is wrong: 'opn' is not one of ['open', 'done']."),
        ({"type": "string", "maxLength": 2}, "abc", "The input x is wrong: 'abc' is too long."),
        ({"$ref": "#/$defs/none"}, 1, "The inputs cannot be checked: their schema refers to"),
        ({"type": "string"}, ["\x1b[2J"], "The input x is wrong: ['"),
    ],
)
def test_a_wrong_value_is_told_with_what_was_expected(schema: dict[str, Any], value: Any, told: str) -> None:
    [problem] = input_problems(recipe(x=schema), {"x": value})
    assert problem.startswith(told)
    assert "\x1b" not in problem


@pytest.mark.parametrize(
    ("of", "given", "told"),
    [
        (plant_recipe(), {"name": "a", "titles": ["b"], "title": 1}, 'no input "title". Did you mean titles?'),
        (plant_recipe(), {"name": "a", "titles": ["b"], "zzz": 1}, 'no input "zzz". Its inputs are name, titles.'),
        (recipe(project_name={}), {"name": 1}, 'no input "name". Did you mean project_name?'),
        (recipe(), {"a": 1}, 'no input "a". It has no inputs.'),
    ],
)
def test_an_unknown_input_is_answered_with_the_nearest_known_name(of: Recipe, given: Any, told: str) -> None:
    assert input_problems(of, given) == [f"The recipe plant-beds has {told}"]


def test_a_definition_that_several_inputs_share_is_found() -> None:
    inputs = {"type": "object", "properties": {"x": {"$ref": "#/$defs/day"}}, "$defs": {"day": {"type": "integer"}}}
    shared = plant_recipe(inputs=inputs, operations=())
    assert input_problems(shared, {"x": 1}) == []
    assert input_problems(shared, {"x": "a"}) == ["The input x is wrong: 'a' is not of type 'integer'."]
