"""A recipe: the file that repeats a finished run. This module holds its form; `book.py` reads and writes the files.

The program is the recipe; everything else says what the program may rely on. A file may be edited by hand, so every
field is checked when it is read, and no field can widen what a run may do.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from restgpt.calling.policy import Writes
from restgpt.specs.reading.tree import values_in
from restgpt.tools.text.storable import is_storable

FORMAT: Literal["restgpt/recipe/1"] = "restgpt/recipe/1"
"""The first line of a recipe file: the form that this version reads and writes."""

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
"""The form of a recipe's name, which is also the name of its file, its tool and its graph."""

MOST_PROGRAM = 64_000
"""The maximum number of characters of a program."""

JsonType = Literal["string", "integer", "number", "boolean", "null", "array", "object"]

ReadType = Literal["string", "integer", "number", "boolean", "null", "array", "object", "missing"]
"""What a read of a field finds: a JSON type, or `missing` for a name that an object does not have."""


class _Part(BaseModel):
    """A part of a recipe file: unknown keys are errors, and nothing is changed after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class RecipeApi(_Part):
    """An API of a recipe: `name` is that of its entry in `apis.yaml` or of its document; `version` is shown only."""

    name: str
    title: str = ""
    version: str = ""


class Documented(_Part):
    """What the document said of the used part of an operation, when the recipe was saved.

    `parameters` maps used arguments to their types, by place and pattern: `query/page`, `body/items/*/title`; one that
    the document does not describe, or lets have any type, has no types. `required` are the arguments that the document
    requires at that time, used ones included. `media` is the type of the body that was sent. `answer` maps patterns of
    used fields of the answer to the types that the document names.
    """

    parameters: Mapping[str, tuple[JsonType, ...]] = Field(default_factory=dict)
    required: tuple[str, ...] = ()
    media: str = ""
    answer: Mapping[str, tuple[JsonType, ...]] = Field(default_factory=dict)


class Echo(_Part):
    """The field that says what the first item of an answer is, or the answer itself: it is like a text of an input.

    `field` is its pattern, and `alike` how many items of the saved run were like the text.
    """

    field: str
    input: str
    relation: Literal["equal", "contains", "within"]
    alike: int = 1


class UsedOperation(_Part):
    """An operation that the program calls: the name of its function, and what the saved run used of it.

    `reads` maps patterns of the fields that the program names in its answers to what was found there. A pattern is a
    JSON pointer with `*` for any index. `calls` is how often it was called, `status` are the statuses that it answered.
    `items` says of the lists whether they had one item, which the program took, or some. `named` is what it found by
    the name that an input gave.
    """

    function: str
    api: str
    method: str
    path: str
    calls: Annotated[int, Field(ge=0)] = 0
    status: tuple[int, ...] = ()
    reads: Mapping[str, tuple[ReadType, ...]] = Field(default_factory=dict)
    items: Mapping[str, Literal["one", "some"]] = Field(default_factory=dict)
    named: Echo | None = None
    documented: Documented = Documented()


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

    format: Literal["restgpt/recipe/1"] = Field(default=FORMAT, alias="recipe")
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
        used = [item.named.input for item in self.operations if item.named]
        if missing := [name for name in used if name not in properties]:
            raise ValueError(f"the input {missing[0]!r} is not among inputs")
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

    def used(self, function: str) -> UsedOperation | None:
        """Return the operation of a function; None if the program has no such function."""
        return next((item for item in self.operations if item.function == function), None)

    def to_json(self) -> dict[str, Any]:
        """Return the recipe as plain JSON, without fields that have their default."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True) | {"recipe": FORMAT}
