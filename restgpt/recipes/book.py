"""The file of a recipe: read with every fault at its place, and written as YAML that people read and edit.

A folder of recipe files, `NAME.yaml` each: listed, read and saved.
"""

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from uuid import uuid4

import yaml
from pydantic import BaseModel, ValidationError

from restgpt.recipes.recipe import FORMAT, NAME, Recipe, RecipeApi, Saved, UsedOperation
from restgpt.tools.errors import StoppingError
from restgpt.tools.settings.environment import RECIPES, check_folder

MOST_BYTES = 1_000_000
"""The maximum size of a recipe file."""

AGAIN = "Correct the file, or save the recipe again."

Place = tuple[str | int, ...]

_BREAKS = frozenset("\x85\u2028\u2029")
"""Line breaks of YAML but not of Python: only escapes keep them, so that no comment of a program becomes code."""

_PARTS: Mapping[str, type[BaseModel]] = {"saved": Saved, "apis": RecipeApi, "operations": UsedOperation}
_JSON = (dict, list, str, int, float, bool, type(None))
_SECTION = re.compile(r"^(?=(?:saved|apis|inputs|program|operations):)", re.MULTILINE)


class RecipeFileError(StoppingError):
    """A recipe file is missing or has a fault; the message names file, line, place and remedy."""


def read_recipe(path: Path) -> Recipe:
    """Read the recipe of a file; raises `RecipeFileError`."""
    try:
        with path.open("rb") as stream:
            read = stream.read(MOST_BYTES + 1)
        if len(read) > MOST_BYTES:
            raise RecipeFileError(f"{path} has more than {MOST_BYTES:,} bytes, so it is no recipe. Give another file.")
        return parsed_recipe(read.decode("utf-8-sig"), path)
    except UnicodeDecodeError:
        raise RecipeFileError(f"{path} is not UTF-8 text, so it is no recipe. Give another file.") from None
    except (FileNotFoundError, IsADirectoryError):
        raise RecipeFileError(f"There is no file {path}. List the recipes with `restgpt recipe list`.") from None
    except OSError as error:
        raise RecipeFileError(f"{path} cannot be read: {error.strerror}. Check its permissions.") from None


def parsed_recipe(text: str, path: Path) -> Recipe:
    """Return the recipe of a text; `path` is the name of its file in the messages of `RecipeFileError`."""
    root: Any = None
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        value = None if root is None else loader.construct_document(root)
        if not isinstance(value, dict) or "recipe" not in value:
            raise RecipeFileError(f"{path}: the file is no recipe: its first line has to be `recipe: {FORMAT}`.")
        return Recipe.model_validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        place, what = _told(error)
        spelled = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")
        raise RecipeFileError(f"{path}, line {_line(root, place)}: {spelled or 'the file'} {what}") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise RecipeFileError(f"{path}, line {line}: the file is not YAML: {error.problem}. {AGAIN}") from None
    except (yaml.YAMLError, RecursionError) as error:
        line = text[: getattr(error, "position", 0)].count("\n") + 1
        raise RecipeFileError(f"{path}, line {line}: the file is not YAML, or nested too deeply. {AGAIN}") from None


def recipe_text(recipe: Recipe) -> str:
    """Return a recipe as YAML: the program as a block, lists of plain values on one line, no aliases."""
    values = recipe.to_json()
    keys = [item.alias or name for name, item in Recipe.model_fields.items()]
    ordered = {key: values[key] for key in keys if key in values}
    text = yaml.dump(ordered, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=120, default_flow_style=None)
    # An empty line before each part lets people find it.
    return _SECTION.sub("\n", text)


def write_file(path: Path, text: str) -> None:
    """Write a new file so that readers see all of it or nothing; raises `FileExistsError`."""
    partial = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        with partial.open("x", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.link(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _told(error: ValidationError) -> tuple[Place, str]:
    """Return the place of the first fault that pydantic found, and what is wrong there."""
    # In another form everything is wrong; an unknown key is often the misspelled name of a missing one.
    order = {"value_error": 0, "extra_forbidden": 1}
    found = min(
        error.errors(include_url=False), key=lambda item: (item["loc"] != ("recipe",), order.get(item["type"], 2))
    )
    place: Place = (*found["loc"], *found.get("ctx", {}).get("place", ()))
    if found["type"] == "extra_forbidden":
        return place, f"is unknown. {_nearest(place)} {AGAIN}"
    if found["type"] == "missing":
        return place, f"is missing. {AGAIN}"
    told = f"is wrong: {found['msg'].removeprefix('Value error, ')}."
    return place, told if place == ("recipe",) else f"{told} {AGAIN}"


def _nearest(place: Place) -> str:
    """Return the question whether a known key was meant, or the known keys."""
    part = _PARTS.get(str(place[0]), Recipe) if len(place) > 1 else Recipe
    known = [item.alias or name for name, item in part.model_fields.items()]
    near = get_close_matches(str(place[-1]), known, 1)
    return f"Did you mean {near[0]}?" if near else f"The known keys are {', '.join(known)}."


def _line(node: Any, place: Place) -> int:
    """Return the line of a place, or of what it is in."""
    line = node.start_mark.line if node else 0
    for part in place:
        if isinstance(node, yaml.MappingNode):
            key, node = next((pair for pair in node.value if pair[0].value == part), (None, None))
        elif isinstance(node, yaml.SequenceNode):
            key = node = node.value[int(part)]
        else:
            break
        line = key.start_mark.line if key else line
    return int(line) + 1


class _Loader(yaml.SafeLoader):
    """Reads what JSON has: no dates, which are texts, no aliases, and no key twice."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Return the next node; an alias could stand for more than fits into the memory."""
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(
                problem="an alias stands for a value. Write the value out",
                problem_mark=self.peek_event().start_mark,  # type: ignore[no-untyped-call]
            )
        return super().compose_node(parent, index)

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        """Return the value of a node, which is one of JSON."""
        try:
            value = super().construct_object(node, deep)
        except ValueError:
            value = math.nan
        if not isinstance(value, _JSON) or (isinstance(value, float) and not math.isfinite(value)):
            raise yaml.MarkedYAMLError(problem="JSON has no such value", problem_mark=node.start_mark)
        return value

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """Return a mapping whose keys differ."""
        seen: set[str] = set()
        for key, _ in node.value:
            if str(key.value) in seen:
                raise yaml.MarkedYAMLError(problem=f"{key.value} is there twice", problem_mark=key.start_mark)
            seen.add(str(key.value))
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class _Dumper(yaml.SafeDumper):
    """Writes equal parts out each time, and texts of several lines as blocks."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return True."""
        return True


def _text_node(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    # A block that ends with empty lines would end the whole document.
    if not _BREAKS.isdisjoint(value) or value.endswith("\n\n"):
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style='"')
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value.rstrip("\n") else None)


_Dumper.add_representer(str, _text_node)


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
