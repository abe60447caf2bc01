"""A folder of recipe files: listed, read, saved as new versions, renamed, deleted and marked as proved.

Version 1 of a recipe is `NAME.yaml`, a later one `NAME.N.yaml` beside it. Processes that change the folder take turns.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path

from restgpt.recipes.recipe import NAME, Recipe
from restgpt.recipes.recipe_file import (
    RecipeFileError,
    changed_text,
    parsed_recipe,
    read_recipe,
    recipe_text,
    write_file,
)

__all__ = ["RecipeBook", "RecipeFileError", "prove_file", "read_recipe"]

_FILE = re.compile(rf"({NAME.pattern})(?:\.([2-9]|[1-9][0-9]{{1,8}}))?\.yaml")


class RecipeBook:
    """The recipes in a folder, which may not exist before the first one is saved."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def names(self) -> list[str]:
        """Return the names of all recipes, in alphabetical order."""
        return sorted({name for name, _ in self._files()})

    def versions(self, name: str) -> list[int]:
        """Return the versions of a recipe, the oldest first; raises `RecipeFileError` if there is no such recipe."""
        found = sorted(version for known, version in self._files() if known == name)
        if not found:
            raise self._unknown(name)
        return found

    def path(self, name: str, version: int | None = None) -> Path:
        """Return the file of a version of a recipe, without one of the newest; raises `RecipeFileError`."""
        versions = self.versions(name)
        if version is not None and version not in versions:
            raise RecipeFileError(
                f"The recipe {name} has no version {version} in {self.folder}. It has {_counted(versions)}."
            )
        return self._path(name, versions[-1] if version is None else version)

    def load(self, name: str, version: int | None = None) -> Recipe:
        """Return a version of a recipe, without one the newest; raises `RecipeFileError`."""
        return self._read(self.path(name, version))

    def all(self) -> tuple[list[Recipe], list[str]]:
        """Return the newest version of each recipe, and a sentence about each file that is no valid recipe."""
        recipes: list[Recipe] = []
        problems = [
            f"{path} is not listed: the file of a recipe is called NAME.yaml, with lower-case letters, digits and "
            "hyphens. Rename it."
            for path in self._others()
        ]
        for name in self.names():
            try:
                recipes.append(self.load(name))
            except RecipeFileError as error:
                problems.append(str(error))
        return recipes, problems

    def save(self, recipe: Recipe, *, beside: bool = False) -> Path:
        """Write a recipe and return its file; raises `RecipeFileError` if the name is taken.

        With `beside` a recipe of that name gets a new version, which is the newest; its other versions stay.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with _turn(self.folder):
            taken = [version for name, version in self._files() if name == recipe.name]
            if taken and not beside:
                raise RecipeFileError(
                    f"There is a recipe {recipe.name} in {self.folder}. Choose another name, rename the recipe with "
                    f"`restgpt recipe rename {recipe.name} NEW`, or delete it."
                )
            version = max(taken, default=0) + 1
            path = self._path(recipe.name, version)
            write_file(path, _checked_text(recipe.model_copy(update={"version": version}), path))
        return path

    def rename(self, name: str, new: str) -> list[Path]:
        """Give all versions of a recipe a new name, and return their files; raises `RecipeFileError`."""
        if not NAME.fullmatch(new):
            raise RecipeFileError(
                f"{new!r} is no name of a recipe. Use 1 to 64 lower-case letters, digits and hyphens."
            )
        with _turn(self.folder):
            if any(known == new for known, _ in self._files()):
                raise RecipeFileError(f"There is a recipe {new} in {self.folder}. Choose another name.")
            versions = self.versions(name)
            # All versions are read before the first file changes, so a broken one leaves the recipe as it was.
            texts = {version: self._renamed(self._path(name, version), new) for version in versions}
            for version, text in texts.items():
                write_file(self._path(new, version), text)
            for version in versions:
                self._path(name, version).unlink()
        return [self._path(new, version) for version in versions]

    def delete(self, name: str, version: int | None = None) -> list[Path]:
        """Delete all versions of a recipe, or one, and return the deleted files; raises `RecipeFileError`."""
        with _turn(self.folder):
            versions = self.versions(name) if version is None else [version]
            paths = [self.path(name, item) for item in versions]
            for path in paths:
                path.unlink()
        return paths

    def _read(self, path: Path) -> Recipe:
        """Return the recipe of a file of this folder, which has to have the name and version of its file."""
        recipe, expected = read_recipe(path), _named(path)
        if expected != (recipe.name, recipe.version):
            raise RecipeFileError(
                f"{path}: name and version in the file are {recipe.name} and {recipe.version}, but its name is that of "
                f"{expected[0]} and {expected[1]}. Rename the file, or correct `name` and `version` in it."
            )
        return recipe

    def _renamed(self, path: Path, new: str) -> str:
        recipe = self._read(path).model_copy(update={"name": new})
        return changed_text(path, path.read_text(encoding="utf-8-sig"), recipe, ("name",))

    def _path(self, name: str, version: int) -> Path:
        return self.folder / (f"{name}.yaml" if version == 1 else f"{name}.{version}.yaml")

    def _files(self) -> list[tuple[str, int]]:
        """Return name and version of each recipe file in the folder."""
        return [_named(path) for path in self._entries() if _FILE.fullmatch(path.name)]

    def _others(self) -> list[Path]:
        """Return the YAML files in the folder whose names are not those of recipes."""
        names = (path for path in self._entries() if path.suffix in (".yaml", ".yml"))
        return sorted(path for path in names if not _FILE.fullmatch(path.name))

    def _entries(self) -> Sequence[Path]:
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


@contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Wait until no other process changes a folder of recipes, and let none change it meanwhile."""
    import fcntl

    if not folder.is_dir():
        yield
        return
    # The folder itself is locked, so that no file for locks lies among the recipes.
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def prove_file(path: Path, recipe: Recipe) -> Recipe:
    """Write the time of this moment into a recipe's file as that of its proof; comments in the file stay.

    Raises `RecipeFileError` if the file has another program or other guards than the recipe that ran. A recipe that is
    already proved keeps its time.
    """
    with _turn(path.parent):
        found = read_recipe(path)
        text = path.read_text(encoding="utf-8-sig")
        if found.model_copy(update={"proved": recipe.proved}) != recipe:
            raise RecipeFileError(f"{path} was changed during the run, so it is not marked as proved. Run it again.")
        if found.proved:
            return found
        proved = found.model_copy(update={"proved": datetime.now(UTC).isoformat(timespec="seconds")})
        write_file(path, changed_text(path, text, proved, ("proved",)))
        return proved


def _checked_text(recipe: Recipe, path: Path) -> str:
    """Return the text of a recipe's file; raises `RecipeFileError` if it would be read as another recipe."""
    text = recipe_text(recipe)
    if parsed_recipe(text, path).to_json() != recipe.to_json():
        raise RecipeFileError(f"{path} was not written: the recipe has text that YAML does not keep. Save another run.")
    return text


def _named(path: Path) -> tuple[str, int]:
    """Return the name and version in the name of a recipe file."""
    match = _FILE.fullmatch(path.name)
    assert match is not None
    return match[1], int(match[2] or 1)


def _counted(versions: Sequence[int]) -> str:
    listed = ", ".join(map(str, versions))
    return f"only version {listed}" if len(versions) == 1 else f"the versions {listed}"
