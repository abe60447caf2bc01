"""A folder of recipe files, `NAME.yaml` each: listed, read and saved."""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from restgpt.recipes.recipe import NAME, Recipe
from restgpt.recipes.recipe_file import RecipeFileError, parsed_recipe, read_recipe, recipe_text, write_file
from restgpt.tools.settings.folder import RECIPES, check_folder

__all__ = ["RecipeBook", "RecipeFileError", "read_recipe"]

_FILE = re.compile(rf"({NAME.pattern})\.yaml")


class RecipeBook:
    """The recipes in a folder, which may not exist before the first one is saved.

    Those of the working directory count only if a person allowed it: all that reads them raises `FolderError`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def names(self) -> list[str]:
        """Return the names of all recipes, in alphabetical order."""
        return sorted(match[1] for path in self._entries() if (match := _FILE.fullmatch(path.name)))

    def path(self, name: str) -> Path:
        """Return the file of a recipe, which may not exist."""
        return self.folder / f"{name}.yaml"

    def load(self, name: str) -> Recipe:
        """Return the recipe of a name; raises `RecipeFileError`."""
        if name not in self.names():
            raise self._unknown(name)
        recipe = read_recipe(self.path(name))
        if recipe.name != name:
            raise RecipeFileError(
                f"{self.path(name)}: the name in the file is {recipe.name}. Rename the file, or correct `name` in it."
            )
        return recipe

    def all(self) -> tuple[list[Recipe], list[str]]:
        """Return all recipes, and a sentence about each file that is no valid recipe."""
        recipes: list[Recipe] = []
        problems = [
            f"{path} is not listed: the file of a recipe is called NAME.yaml, with lower-case letters, digits and "
            "hyphens. Rename it."
            for path in sorted(self._entries())
            if path.suffix in (".yaml", ".yml") and not _FILE.fullmatch(path.name)
        ]
        for name in self.names():
            try:
                recipes.append(self.load(name))
            except RecipeFileError as error:
                problems.append(str(error))
        return recipes, problems

    def save(self, recipe: Recipe) -> Path:
        """Write a recipe and return its file; raises `RecipeFileError` if there is a recipe of that name."""
        path, text = self.path(recipe.name), recipe_text(recipe)
        if parsed_recipe(text, path).to_json() != recipe.to_json():
            raise RecipeFileError(
                f"{path} was not written: the recipe has text that YAML does not keep. Save another run."
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            write_file(path, text)
        except FileExistsError:
            raise RecipeFileError(
                f"There is a recipe {recipe.name} in {self.folder}. Choose another name, or delete {path.name} first."
            ) from None
        return path

    def _entries(self) -> Sequence[Path]:
        if self.folder == RECIPES:
            check_folder(RECIPES)
        if not self.folder.exists():
            return ()
        if not self.folder.is_dir():
            raise RecipeFileError(f"{self.folder} is not a folder. Set RESTGPT_RECIPES to the folder of the recipes.")
        return [path for path in self.folder.iterdir() if not path.name.startswith(".")]

    def _unknown(self, name: str) -> RecipeFileError:
        known = self.names()
        near = get_close_matches(name, known, 1)
        if near:
            hint = f"Did you mean {near[0]}?"
        elif known:
            hint = "List the recipes with `restgpt recipe list`."
        else:
            hint = "It has no recipes; save a finished run with `restgpt recipe save THREAD NAME`."
        return RecipeFileError(f"There is no recipe {name} in {self.folder}. {hint}")
