"""A recipe: a saved program as a file. This module holds its form; `book.py` reads and writes the files.

A file may be edited by hand, so every field is checked when it is read, and no field can widen what a run may do.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from restgpt.calling.policy import Writes
from restgpt.specs.reading.tree import values_in
from restgpt.tools.text.storable import is_storable

FORMAT: Literal["restgpt/recipe/2"] = "restgpt/recipe/2"
"""The first line of a recipe file: the form that this version reads and writes."""

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
"""The form of a recipe's name, which is also the name of its file, its tool and its graph."""

MOST_PROGRAM = 64_000
"""The maximum number of characters of a program."""

JsonType = Literal["string", "integer", "number", "boolean", "null", "array", "object"]


class _Part(BaseModel):
    """A part of a recipe file: unknown keys are errors, and nothing is changed after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class RecipeApi(_Part):
    """An API of a recipe: `name` is that of its entry in `apis.yaml` or of its document; `version` is shown only."""

    name: str
    title: str = ""
    version: str = ""


class UsedOperation(_Part):
    """An operation that the program calls: the name of its function, where it is, and its key when it was saved.

    The key is the digest of the operation's own part of the document. It says nothing of where document and server are,
    so that a file can be used in another folder, and for another server.
    """

    function: str
    api: str
    method: str
    path: str
    key: str


class Saved(_Part):
    """When a recipe was saved, by which version of the program, and what the user had asked for."""

    at: str
    by: str = ""
    instruction: str = ""


class Recipe(_Part):
    """A finished run as a file.

    `inputs` is a JSON Schema of an object; the saved values are the examples of its properties. `program` reads them as
    `inputs["name"]`. `writes` is the policy of the saved run: it can make a run stricter, never looser. `constants`
    are values of arguments that the user had said and that are no inputs.
    """

    format: Literal["restgpt/recipe/2"] = Field(default=FORMAT, alias="recipe")
    name: Annotated[str, Field(pattern=f"^{NAME.pattern}$")]
    description: str = ""
    saved: Saved
    apis: tuple[RecipeApi, ...]
    writes: Writes = "ask"
    inputs: Mapping[str, Any] = Field(default_factory=lambda: {"type": "object", "properties": {}})
    program: Annotated[str, Field(min_length=1, max_length=MOST_PROGRAM)]
    operations: tuple[UsedOperation, ...]
    constants: tuple[Any, ...] = ()

    @model_validator(mode="after")
    def _can_be_stored(self) -> "Recipe":
        for key, held in (("constants", self.constants), ("inputs", self.inputs)):
            if not all(map(is_storable, values_in(held))):
                raise ValueError(
                    f"{key}: a number has more than 64 bits. Leave it out, or write it as a text in quotes"
                )
        return self

    @model_validator(mode="after")
    def _names_are_known(self) -> "Recipe":
        functions = [item.function for item in self.operations]
        apis = {item.name for item in self.apis}
        if len(set(functions)) < len(functions):
            raise ValueError("operations: two entries have the same function")
        if unknown := [item.api for item in self.operations if item.api not in apis]:
            raise ValueError(f"operations: the API {unknown[0]!r} is not among apis")
        properties = self.inputs.get("properties", {})
        if self.inputs.get("type") != "object" or not isinstance(properties, Mapping):
            raise ValueError("inputs: it is not a JSON Schema of an object")
        return self

    @property
    def properties(self) -> Mapping[str, Mapping[str, Any]]:
        """The schema of each input, by its name."""
        found: Mapping[str, Mapping[str, Any]] = self.inputs.get("properties", {})
        return found

    @property
    def required(self) -> Sequence[str]:
        """The names of the inputs that every run needs."""
        found: Sequence[str] = self.inputs.get("required", ())
        return found

    @property
    def examples(self) -> dict[str, Any]:
        """The inputs of the saved run."""
        return {name: schema["examples"][0] for name, schema in self.properties.items() if schema.get("examples")}

    def to_json(self) -> dict[str, Any]:
        """Return the recipe as plain JSON, without fields that have their default."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True) | {"recipe": FORMAT}
