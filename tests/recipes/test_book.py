"""Guards a folder of recipes: its versions, one broken file beside good ones, and two processes at once."""

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from plantrecipe import plant_recipe

from restgpt.recipes.book import RecipeBook, RecipeFileError, prove_file, read_recipe
from restgpt.recipes.recipe_file import recipe_text


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
    assert "There is no recipe a" in told(lambda: book.delete("a"))
    assert not book.folder.exists()


def test_a_saved_recipe_is_listed_and_loaded(book: RecipeBook) -> None:
    path = book.save(plant_recipe())
    assert path == book.folder / "plant-beds.yaml"
    assert book.load("plant-beds") == plant_recipe()
    assert (book.names(), book.versions("plant-beds")) == (["plant-beds"], [1])
    assert book.all() == ([plant_recipe()], [])
    assert files(book) == ["plant-beds.yaml"]


def test_a_name_is_saved_once_and_further_versions_stand_beside_it(book: RecipeBook) -> None:
    book.save(plant_recipe())
    assert "There is a recipe plant-beds in" in told(lambda: book.save(plant_recipe(description="New")))
    path = book.save(plant_recipe(description="New"), beside=True)
    assert path.name == "plant-beds.2.yaml"
    assert book.load("plant-beds") == plant_recipe(description="New", version=2)
    assert book.load("plant-beds", 1) == plant_recipe()
    assert book.versions("plant-beds") == [1, 2]
    assert [recipe.version for recipe in book.all()[0]] == [2]
    assert "has no version 3" in told(lambda: book.load("plant-beds", 3))


def test_the_first_version_is_version_1_whatever_the_recipe_says(book: RecipeBook) -> None:
    book.save(plant_recipe(version=7), beside=True)
    assert book.versions("plant-beds") == [book.load("plant-beds").version] == [1]


def test_ten_versions_are_in_the_order_of_their_numbers(book: RecipeBook) -> None:
    for _ in range(11):
        book.save(plant_recipe(), beside=True)
    assert book.versions("plant-beds") == list(range(1, 12))
    assert book.load("plant-beds").version == 11


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
    assert "broken.yaml, line 2: the file is not YAML" in problems[1]
    assert "broken.yaml" in told(lambda: book.load("broken"))


def test_a_copied_file_must_be_renamed_inside_too(book: RecipeBook) -> None:
    path = book.save(plant_recipe())
    (book.folder / "copy.yaml").write_text(path.read_text())
    (book.folder / "plant-beds.3.yaml").write_text(path.read_text())
    assert "name and version in the file are plant-beds and 1, but its name is that of copy and 1" in told(
        lambda: book.load("copy")
    )
    assert "that of plant-beds and 3" in told(lambda: book.load("plant-beds"))
    assert book.load("plant-beds", 1) == plant_recipe()


def test_an_unknown_name_is_answered_with_the_nearest_one(book: RecipeBook) -> None:
    book.save(plant_recipe())
    assert "Did you mean plant-beds?" in told(lambda: book.load("plant-bed"))
    assert "List the recipes with" in told(lambda: book.load("../../etc/passwd"))


def test_renaming_renames_all_versions_and_keeps_what_people_wrote(book: RecipeBook) -> None:
    path = book.save(plant_recipe())
    path.write_text("# Ours.\n" + path.read_text())
    book.save(plant_recipe(), beside=True)
    paths = book.rename("plant-beds", "beds")
    assert [path.name for path in paths] == ["beds.yaml", "beds.2.yaml"]
    assert book.names() == ["beds"]
    assert book.load("beds", 1) == plant_recipe(name="beds")
    assert paths[0].read_text().startswith("# Ours.\n")


def test_a_name_that_is_taken_or_invalid_is_refused_and_nothing_is_renamed(book: RecipeBook) -> None:
    book.save(plant_recipe())
    book.save(plant_recipe(name="other"))
    assert "There is a recipe other" in told(lambda: book.rename("plant-beds", "other"))
    assert "'../x' is no name of a recipe." in told(lambda: book.rename("plant-beds", "../x"))
    assert "There is no recipe none" in told(lambda: book.rename("none", "some"))
    assert files(book) == ["other.yaml", "plant-beds.yaml"]


def test_a_broken_version_stops_renaming_before_anything_changes(book: RecipeBook) -> None:
    book.save(plant_recipe())
    (book.folder / "plant-beds.2.yaml").write_text("recipe: [")
    assert "plant-beds.2.yaml, line 2" in told(lambda: book.rename("plant-beds", "beds"))
    assert files(book) == ["plant-beds.2.yaml", "plant-beds.yaml"]


def test_one_version_is_deleted_or_all(book: RecipeBook) -> None:
    for _ in range(3):
        book.save(plant_recipe(), beside=True)
    assert "has no version 9 in" in told(lambda: book.delete("plant-beds", 9))
    assert [path.name for path in book.delete("plant-beds", 2)] == ["plant-beds.2.yaml"]
    assert book.versions("plant-beds") == [1, 3]
    book.delete("plant-beds")
    assert files(book) == []


def test_the_proof_of_a_recipe_stands_in_its_file_and_stays(book: RecipeBook) -> None:
    path = book.save(plant_recipe())
    path.write_text("# Ours.\n" + path.read_text())
    proved = prove_file(path, book.load("plant-beds"))
    assert proved.proved
    assert book.load("plant-beds") == proved == plant_recipe(proved=proved.proved)
    assert path.read_text().startswith("# Ours.\nrecipe: ")
    before = path.read_text()
    assert prove_file(path, proved) == proved
    assert prove_file(path, plant_recipe()) == proved
    assert path.read_text() == before


def test_a_file_that_changed_during_the_run_is_not_proved(book: RecipeBook) -> None:
    path = book.save(plant_recipe())
    ran = book.load("plant-beds")
    path.write_text(path.read_text().replace("tasks.", "jobs."))
    assert "was changed during the run, so it is not marked as proved." in told(lambda: prove_file(path, ran))
    assert book.load("plant-beds").proved == ""


def test_a_file_beside_no_book_is_proved_too(tmp_path: Path) -> None:
    path = tmp_path / "anything.yml"
    path.write_text(recipe_text(plant_recipe(version=4)))
    proved = prove_file(path, read_recipe(path))
    assert read_recipe(path) == proved
    assert (proved.version, bool(proved.proved)) == (4, True)


def test_a_file_in_the_place_of_the_folder_is_an_error_that_names_the_setting(tmp_path: Path) -> None:
    (tmp_path / "recipes").write_text("")
    assert "is not a folder. Set RESTGPT_RECIPES" in told(RecipeBook(tmp_path / "recipes").names)


SAVE = """
import sys
from pathlib import Path
from restgpt.recipes.book import RecipeBook, read_recipe
book, recipe = RecipeBook(Path(sys.argv[1])), read_recipe(Path(sys.argv[2]))
print("ready", flush=True)
sys.stdin.readline()
for _ in range(6):
    book.save(recipe, beside=True)
"""


@pytest.mark.slow
def test_two_processes_that_save_at_once_lose_no_version(book: RecipeBook, tmp_path: Path) -> None:
    source = tmp_path / "source.yaml"
    source.write_text(recipe_text(plant_recipe()))
    command = [sys.executable, "-c", SAVE, str(book.folder), str(source)]
    savers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for saver in savers:
        assert saver.stdout is not None
        assert saver.stdout.readline() == "ready\n"
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda saver: saver.communicate("go\n"), savers))
    assert [saver.returncode for saver in savers] == [0, 0]
    assert book.versions("plant-beds") == list(range(1, 13))
    assert len(files(book)) == 12
    assert [book.load("plant-beds", version).version for version in (1, 7, 12)] == [1, 7, 12]


def test_a_reader_never_sees_a_part_of_a_file(book: RecipeBook) -> None:
    path = book.save(plant_recipe())
    names = ["beds", "plant-beds"] * 10

    def read(_: int) -> str:
        try:
            return read_recipe(path).program
        except RecipeFileError as error:
            return str(error)

    with ThreadPoolExecutor() as pool:
        readings = pool.map(read, range(100))
        for name, new in zip(names[1:], names, strict=False):
            book.rename(name, new)
        assert set(readings) <= {
            plant_recipe().program,
            f"There is no file {path}. List the recipes with `restgpt recipe list`.",
        }
