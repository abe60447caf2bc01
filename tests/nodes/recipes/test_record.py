"""Guards the record of a recipe in the state: its inputs, the words of the user in it, and its bans."""

from typing import Any

import pytest

from restgpt.calling.decision import Writes
from restgpt.nodes.recipe_choice import line_of
from restgpt.nodes.state.recipe_run import (
    GivenRecipe,
    begun,
    current,
    instruction_of,
    kept_by,
    recipe_of,
    recipe_record,
    said_by,
    signature,
    stricter,
    unsaid_by,
)
from restgpt.nodes.state.records import RecipeRun
from restgpt.nodes.state.state import RecipeChannel
from restgpt.recipes.recipe import Recipe, RecipeFaultError, RecipeInputError

INPUTS = {
    "type": "object",
    "properties": {
        "names": {"type": "array", "items": {"type": "string"}},
        "order": {"enum": ["up", "down"], "default": "up"},
        "limit": {"type": ["integer", "null"]},
    },
    "required": ["names"],
}


def recipe(**changed: Any) -> Recipe:
    given = {"name": "list-things", "description": "Lists  things.", "saved": {"at": "2024-05-01"}, "inputs": INPUTS}
    more = {"apis": [{"name": "shop"}], "program": "print(1)", "operations": []}
    return Recipe.model_validate({**given, **more, **changed})


def record(*, turn: int | None = 1, is_chosen: bool = False, **changed: Any) -> RecipeRun:
    made = recipe_record(recipe(**changed), {"names": ["Björn's", "Ada"]}, is_chosen=is_chosen)
    return made if turn is None else {**made, "turn": turn}


def test_the_inputs_of_a_record_are_complete_and_in_the_order_of_the_recipe() -> None:
    assert record()["inputs"] == {"names": ["Björn's", "Ada"], "order": "up"}
    with pytest.raises(RecipeInputError, match="limit"):
        recipe_record(recipe(), {"names": [], "limit": "many"})


def test_a_recipe_comes_back_from_its_record_as_it_was() -> None:
    made = recipe(constants=[7], writes="deny")
    assert recipe_of(recipe_record(made, {"names": []})) == made


def test_a_record_without_a_recipe_is_refused_with_the_place() -> None:
    broken = record()
    broken["recipe"] = {**broken["recipe"], "version": 0}
    with pytest.raises(RecipeFaultError, match=r"list-things cannot be run: version: "):
        recipe_of(broken)


def test_the_signature_names_types_and_required_inputs_and_the_line_what_it_does() -> None:
    assert signature(recipe()) == 'names*: [string], order: "up" | "down", limit: integer | null'
    bare = recipe(inputs={"type": "object"})
    assert (signature(bare), line_of(bare)) == ("no inputs", "- list-things(no inputs): Lists things.")


def test_the_instruction_names_the_recipe_and_its_inputs() -> None:
    assert instruction_of(record()) == ('Run the recipe list-things with names = ["Björn\'s", "Ada"].')


def test_only_what_the_user_gave_are_his_words_and_nothing_that_the_file_or_a_model_has() -> None:
    made = record(constants=[7, "Turin"])
    assert said_by(made) == ["Björn's", "Ada"]
    assert said_by(record(constants=[7, "Turin"], is_chosen=True)) == []
    assert said_by(None) == []
    assert kept_by(made) == ["7", "Turin", "up"]
    assert unsaid_by(made) == {"order": "up"}
    assert "up" not in instruction_of(made)


def test_inputs_that_the_caller_of_a_tool_gave_are_no_words_of_the_user_and_no_inventions() -> None:
    made = recipe_record(recipe(), {"names": ["Ada"]}, is_passed=True)
    assert said_by(made) == []
    assert kept_by(made) == ["Ada", "up"]
    assert instruction_of(made) == "Run the recipe list-things."


def test_a_default_that_the_user_gives_himself_is_his_word() -> None:
    made = recipe_record(recipe(), {"names": ["Ada"], "order": "up"})
    assert said_by(begun(made, 1)) == ["Ada", "up"]
    assert said_by(begun({**made, "inputs": {"names": ["Ada"]}}, 1)) == ["Ada"]


@pytest.mark.parametrize(
    ("own", "of_run", "wanted"),
    [
        ("allow", "ask", "ask"),
        ("ask", "allow", "allow"),
        ("dry-run", "allow", "dry-run"),
        ("deny", "dry-run", "deny"),
        ("dry-run", "deny", "deny"),
        ("allow", "deny", "deny"),
    ],
)
def test_the_stricter_ban_holds(own: Writes, of_run: Writes, wanted: Writes) -> None:
    assert stricter(of_run, {"turn": 1, "recipe": record(writes=own)}) == wanted


def test_a_recipe_of_an_earlier_turn_bans_nothing() -> None:
    state = {"turn": 2, "recipe": record(writes="deny")}
    assert current(state) is None
    assert stricter("allow", state) == "allow"


def test_the_channel_tells_a_recipe_that_was_just_given_from_one_of_an_earlier_turn() -> None:
    channel = RecipeChannel(RecipeRun | None, "recipe")
    channel.update([record(turn=None)])
    assert isinstance(channel.get(), GivenRecipe)
    again = channel.from_checkpoint(channel.checkpoint())
    assert isinstance(again.get(), GivenRecipe)
    again.update([])
    assert not isinstance(again.get(), GivenRecipe)
    again.update([record(turn=3)])
    assert not isinstance(again.get(), GivenRecipe)
    assert again.checkpoint() == record(turn=3)
