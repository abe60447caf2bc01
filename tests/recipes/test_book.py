"""Guards a folder of recipes: its versions, one broken file beside good ones, and two processes at once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from plantrecipe import plant_recipe

from restgpt.recipes.book import RecipeBook, RecipeFileError


@pytest.fixture
def book(tmp_path: Path) -> RecipeBook:
    return RecipeBook(tmp_path / "recipes")


def told(call: Callable[[], object]) -> str:
    with pytest.raises(RecipeFileError) as caught:
        call()
    return str(caught.value)


def files(book: RecipeBook) -> list[str]:
    return sorted(path.name for path in book.folder.iterdir())


def test_a_folder_that_does_not_exist_has_no_recipes(book: RecipeBook) -> None:
    assert (book.names(), book.all()) == ([], ([], []))
    assert "It has no recipes; save a finished run with `restgpt recipe save" in told(lambda: book.load("a"))
    assert not book.folder.exists()


def test_a_saved_recipe_is_listed_and_loaded_and_a_name_is_saved_once(book: RecipeBook) -> None:
    path = book.save(plant_recipe())
    assert path == book.folder / "plant-beds.yaml"
    assert "There is a recipe plant-beds in" in told(lambda: book.save(plant_recipe(description="New")))
    assert book.load("plant-beds") == plant_recipe()
    assert book.names() == ["plant-beds"]
    assert book.all() == ([plant_recipe()], [])
    assert files(book) == ["plant-beds.yaml"]


def test_one_broken_file_leaves_the_others_listed(book: RecipeBook) -> None:
    book.save(plant_recipe())
    book.save(plant_recipe(name="other"))
    (book.folder / "broken.yaml").write_text("recipe: [")
    (book.folder / "My Recipe.yaml").write_text("")
    (book.folder / "notes.md").write_text("# Notes")
    recipes, problems = book.all()
    assert [recipe.name for recipe in recipes] == ["other", "plant-beds"]
    assert len(problems) == 2
    assert "My Recipe.yaml is not listed" in problems[0]
    assert "broken.yaml, line 1: the file is not YAML" in problems[1]
    assert "broken.yaml" in told(lambda: book.load("broken"))


def test_an_unknown_name_is_answered_with_the_nearest_one_and_a_copied_file_must_be_renamed(book: RecipeBook) -> None:
    path = book.save(plant_recipe())
    assert "Did you mean plant-beds?" in told(lambda: book.load("plant-bed"))
    assert "List the recipes with" in told(lambda: book.load("../../etc/passwd"))
    (book.folder / "copy.yaml").write_text(path.read_text())
    assert "the name in the file is plant-beds." in told(lambda: book.load("copy"))


def test_a_file_in_the_place_of_the_folder_is_an_error_that_names_the_setting(tmp_path: Path) -> None:
    (tmp_path / "recipes").write_text("")
    assert "is not a folder. Set RESTGPT_RECIPES" in told(RecipeBook(tmp_path / "recipes").names)


def test_of_several_who_save_a_name_at_once_one_does_and_a_reader_never_sees_a_part_of_its_file(
    book: RecipeBook,
) -> None:
    def save(number: int) -> str:
        try:
            return book.save(plant_recipe(description=f"{number}")).name
        except RecipeFileError as error:
            return str(error)

    def read(_: int) -> bool:
        return "plant-beds" not in book.names() or book.load("plant-beds").program == plant_recipe().program

    with ThreadPoolExecutor() as pool:
        readings, saved = pool.map(read, range(100)), list(pool.map(save, range(8)))
        assert all(readings)
    assert saved.count("plant-beds.yaml") == 1
    assert files(book) == ["plant-beds.yaml"]
