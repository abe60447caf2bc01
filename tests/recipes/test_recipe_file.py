"""Guards recipe files: they read back as written, people can read and edit them, and every fault has its place."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plantrecipe import PROGRAM, plant_recipe

from restgpt.recipes.book import MOST_BYTES, RecipeFileError, parsed_recipe, read_recipe, recipe_text
from restgpt.recipes.recipe import Recipe

PATH = Path("recipes/plant-beds.yaml")
TEXT = recipe_text(plant_recipe())


def fault(text: str) -> str:
    with pytest.raises(RecipeFileError) as caught:
        parsed_recipe(text, PATH)
    return str(caught.value)


def test_a_recipe_reads_back_as_it_was_written() -> None:
    assert parsed_recipe(TEXT, PATH) == plant_recipe()
    made = plant_recipe(writes="deny", constants=(1, "a"))
    assert parsed_recipe(recipe_text(made), PATH) == made


def test_the_file_has_the_program_as_a_block_and_short_lists_on_one_line() -> None:
    assert TEXT.startswith("recipe: restgpt/recipe/2\nname: plant-beds\n")
    assert "\nprogram: |\n  project = create_project(" in TEXT
    assert 'create_task(project_id=project["id"], body={"title": title})\n\n  print(f"Created' in TEXT
    assert " — " in TEXT
    assert "\n  required: [name, titles]\n" in TEXT
    keys = [line.partition(":")[0] for line in TEXT.splitlines() if line[:1].isalpha()]
    order = ["recipe", "name", "description", "saved", "apis", "inputs", "program", "operations"]
    assert keys == order


def test_equal_parts_are_written_out_each_time() -> None:
    recipe = plant_recipe(constants=([1, 2],) * 2)
    text = recipe_text(recipe)
    assert "&" not in text.replace(PROGRAM, "")
    assert parsed_recipe(text, PATH) == recipe


scalars = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.sampled_from(
        ["no", "on", "0o17", "0x1f", "1e3", "1_000", "12:30:45", "2024-01-01", "~", "null", "", " a", "<<", "=", "\t"]
    ),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none(),
)
values = st.recursive(
    scalars,
    lambda below: st.lists(below) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), below),
    max_leaves=12,
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(example=values, program=st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_value_and_any_program_read_back_as_written(example: Any, program: str) -> None:
    inputs = {"type": "object", "properties": {"name": {"examples": [example]}}}
    recipe = plant_recipe(inputs=inputs, program=program)
    read = parsed_recipe(recipe_text(recipe), PATH)
    assert (read.program, read.inputs) == (program, inputs)
    assert type(read.examples["name"]) is type(example)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("operations:", "operation:", "line 35: operation is unknown. Did you mean operations?"),
        ("create_task, api", "create_task, spi", "operations[1].spi is unknown. Did you mean api?"),
        ("method: POST", "method: [POST]", "operations[0].method is wrong: Input should be a valid string."),
        ("name: plant-beds", "name: ../beds", "line 2: name is wrong: String should match pattern"),
        ("type: object", "type: array", "inputs is wrong: it is not a JSON Schema of an object."),
        ("program: |", f"constants: [{2**63}]\nprogram: |", "constants is wrong: a number has more than 64 bits"),
        ("{type: string}", "{type: strange}", "properties.titles.items.type is wrong: it is no JSON Schema: 'strange'"),
        ("{type: string}", "{pattern: 5}", "inputs.properties.titles.items.pattern is wrong: it is no JSON Schema"),
        ("titles]", "title]", 'inputs.required is wrong: "title" is not among the properties.'),
        ("apis:", "apps:", "apps is unknown. Did you mean apis?"),
    ],
)
def test_a_fault_is_told_with_its_place_and_the_nearest_known_name(old: str, new: str, told: str) -> None:
    assert old in TEXT
    message = fault(TEXT.replace(old, new, 1))
    assert told in message
    assert message.startswith("recipes/plant-beds.yaml")
    assert message.endswith(".")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the file is no recipe: its first line has to be `recipe: restgpt/recipe/2`."),
        ("just words", "the file is no recipe"),
        ("recipe: 1", "recipe is wrong: Input should be a valid string."),
        ("a: [", "line 1: the file is not YAML:"),
        (TEXT.replace("recipe/2", "recipe/3"), "Save the recipe anew from a run, with `restgpt recipe save"),
        (TEXT + "name: again\n", "line 38: the file is not YAML: name is there twice."),
        ("a: 1\n---\nb: 2", "line 2: the file is not YAML: but found another document."),
        ("a: !!python/name:os.system", "line 1: the file is not YAML: could not determine a constructor for the tag"),
        ("? [a]\n: b", "line 1: the file is not YAML: found unhashable key."),
        ("5: b", "the file is no recipe"),
        ("a: .nan", "line 1: the file is not YAML: JSON has no such value."),
        (f"a: {'9' * 5000}", "line 1: the file is not YAML: JSON has no such value."),
        ("[" * 100_000, "nested too deeply."),
        ("a: \x07", "the file is not YAML"),
        ("recipe: restgpt/recipe/2", "is missing."),
    ],
)
def test_a_file_that_is_no_recipe_says_why(text: str, told: str) -> None:
    assert told in fault(text)


def test_an_alias_bomb_is_refused_at_its_first_anchor() -> None:
    bomb = "a: &a [x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(20)
    )
    assert "line 2: the file is not YAML: an alias stands for a value. Write the value out" in fault(bomb)


def test_a_missing_a_binary_and_a_huge_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    with pytest.raises(RecipeFileError, match=r"There is no file .*x\.yaml\."):
        read_recipe(path)
    with pytest.raises(RecipeFileError, match="There is no file"):
        read_recipe(tmp_path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RecipeFileError, match=r"x\.yaml is not UTF-8 text"):
        read_recipe(path)
    path.write_bytes(b"#" * (MOST_BYTES + 1))
    with pytest.raises(RecipeFileError, match="has more than 1,000,000 bytes"):
        read_recipe(path)


def test_every_name_of_the_form_is_a_name_and_nothing_longer() -> None:
    assert isinstance(plant_recipe(name="a"), Recipe)
    for name in ("", "-a", "a-", "A", "a b", "a/b", "a" * 65, "a\n"):
        with pytest.raises(ValueError, match="name"):
            plant_recipe(name=name)


@pytest.mark.parametrize("mark", ["\x85", "\u2028", "\u2029", "\ufeff", "\r", "\x1b"])
@pytest.mark.parametrize(
    "text", ["# Read all{0}delete_task(task_id=1)\nprint(1)", "x = 1\ny = 2\n{0}", "'{0}'", "x = 1\n{0}\n\n"]
)
def test_a_program_is_read_as_it_was_written_whatever_marks_it_has(mark: str, text: str) -> None:
    made = plant_recipe(program=text.format(mark), description=f"Plants{mark}beds", constants=(mark,))
    assert parsed_recipe(recipe_text(made), Path("x.yaml")) == made
