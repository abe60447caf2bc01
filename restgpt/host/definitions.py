"""Definitions of the tools that a host offers its model: a few for any document, within one budget of tokens."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from restgpt.calling.record import MAX_PAGES
from restgpt.prompts import render
from restgpt.recipes.recipe import Recipe
from restgpt.specs import Api, Operation
from restgpt.specs.docs.documentation import TOKEN
from restgpt.specs.docs.field import plain_text
from restgpt.specs.docs.map import first_sentence
from restgpt.specs.effect import Effect
from restgpt.specs.reading.index import UniqueNames
from restgpt.tools.errors import ArgumentError, ArgumentProblem, RepairableError

BUDGET = 1_500
"""The tokens of what a model reads of all definitions together: names, descriptions and schemas of arguments."""

APIS, API = 600, 140
"""The most characters of the lines about all APIs, and of the line about one."""

ENVELOPE = len('{"tools":[]}') - 1
"""The characters around the definitions in the JSON of a list, without the comma that the last one does not have."""

FOUND_LESS = ", where what `find_operations` shows is not enough"

RECIPE_DESCRIPTION = 160
"""The most characters of the description of a recipe."""

RECIPE_NAMES = 300
"""The most characters of the names of the recipes that have no definition of their own."""

READ, CHANGE = "read_operation", "change_operation"
"""The tools that make one call: the first one only a call that reads, so that a client may allow it for ever."""

RESERVED = (
    "find_operations", "describe_operation", READ, CHANGE, "run_program", "read_result",
    "ask", "pending", "undo", "run_recipe",
)  # fmt: skip
"""The names of the built-in tools, which no recipe and no operation can take, whether they are offered or not."""

WORD_END = re.compile(r"(?<=[A-Za-z0-9])(?=[_-])|(?<=[a-z0-9])(?=[A-Z])")
"""Where a word of a name ends."""

_TEXT = {"type": "string"}

RESULT = {
    **dict.fromkeys(("status", "text", "operation", "thread", "handle", "result", "media_type", "note"), _TEXT),
    "http_status": {"type": ["integer", "null"]},
    "bytes": {"type": "integer"},
}
"""What a result as data may say beside the body: `handle` decides or undoes, `result` reads on."""


class ChangeAsReadError(RepairableError):
    """A call that changes something was to be made by the tool that only reads."""

    def __init__(self, operation: str, reason: str) -> None:
        super().__init__(
            f"{operation} may change something ({reason}), so `{READ}` does not call it. Nothing was sent. "
            f"Call it with `{CHANGE}`."
        )


@dataclass(frozen=True, slots=True)
class Definition:
    """The definition of a tool: name, description, JSON schema of the arguments, and what a call of it may do.

    A client shows its user the `title`, by default the words of the name. The four flags are the hints of MCP's tool
    annotations; a tool that only reads destroys nothing and may be repeated, whatever the others say. `answer` is the
    schema of the body in a result; None if the result is nothing but a text.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = True
    title: str = ""
    answer: Mapping[str, Any] | None = field(default_factory=dict)

    @property
    def annotations(self) -> dict[str, bool]:
        """The hints: all of them, because clients differ in what they take for given."""
        return {
            "readOnlyHint": self.read_only,
            "destructiveHint": self.destructive and not self.read_only,
            "idempotentHint": self.idempotent or self.read_only,
            "openWorldHint": self.open_world,
        }

    @property
    def shown(self) -> dict[str, Any]:
        """What a host shows its model."""
        described = {"description": self.description} if self.description else {}
        return {"name": self.name, **described, "inputSchema": dict(self.input_schema)}

    @property
    def output_schema(self) -> dict[str, Any]:
        """The schema of the result as data: the state of a call, and the whole body or a text about it."""
        body = dict(self.answer or {})
        rest = {"$defs": body.pop("$defs")} if "$defs" in body else {}
        return {"type": "object", "properties": {**RESULT, "body": body}, "required": ["status"], **rest}

    def to_json(self) -> dict[str, Any]:
        """Return the definition in the form of MCP's `tools/list`."""
        words = WORD_END.sub(" ", self.name).replace("_", " ").replace("-", " ").split()
        title = self.title or " ".join(words).capitalize()
        output = {} if self.answer is None else {"outputSchema": self.output_schema}
        return {**self.shown, "title": title, "annotations": self.annotations, **output}


def tokens_of(definitions: Iterable[Definition]) -> int:
    """Return the tokens that a model reads of definitions, by the estimate of four characters for one token."""
    return -(-(ENVELOPE + sum(size_of(item) for item in definitions)) // TOKEN)


def size_of(definition: Definition) -> int:
    """Return the characters of what a model reads of a definition, in the JSON of a list."""
    return len(json.dumps(definition.shown, ensure_ascii=False, separators=(",", ":"))) + 1


def definitions(
    apis: Sequence[Api], *, has_model: bool = False, recipes: Sequence[Recipe] = (), budget: int = BUDGET
) -> list[Definition]:
    """Return the definitions for some APIs, in at most `budget` tokens whatever their documents are.

    `ask` is there only if a model is configured. Recipes are tools of their own as far as the budget goes; the others
    are behind `run_recipe`.
    """
    found = [*calling_definitions(apis), *([_ask()] if has_model else []), *waiting_definitions()]
    room = budget * TOKEN - ENVELOPE - sum(map(size_of, found))
    return [*found, *_of_recipes(recipes, room)]


def call_arguments(arguments: Mapping[str, Any], beside: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call with those that a model wrote beside `arguments`, to be placed by their names.

    Raises `ArgumentError` for a name that is in both.
    """
    twice = [
        ArgumentProblem(f"/{name}", "is given twice: in `arguments` and beside") for name in beside if name in arguments
    ]
    if twice:
        raise ArgumentError(twice)
    return {**arguments, **beside}


def check_reads(operation: Operation, effects: Callable[[Operation], Effect], name: str) -> None:
    """Raise `ChangeAsReadError` for an operation that does not certainly only read."""
    if not (effect := effects(operation)).is_read:
        raise ChangeAsReadError(name, effect.reason)


def calling_definitions(apis: Sequence[Api], *, has_threads: bool = True) -> list[Definition]:
    """Return the definitions that find, describe and call operations, run programs, and read results.

    With `has_threads` a program can be corrected in its thread.
    """
    after_error = render("tool_program_in_thread" if has_threads else "tool_program_alone").strip()
    program = render("tool_run_program", after_error=after_error)
    thread = {"thread": _TEXT} if has_threads else {}
    call = _object(
        {"operation": _TEXT, "arguments": {"type": "object"}, "pages": {"type": "integer", "maximum": MAX_PAGES}},
        "operation",
    )
    return [
        _looking(
            "find_operations",
            render("tool_find_operations", apis=_about(apis)),
            _object({"query": _TEXT, "limit": {"type": "integer"}}, "query"),
        ),
        describing_definition(),
        Definition(READ, render("tool_read_operation"), call, read_only=True),
        Definition(CHANGE, render("tool_change_operation"), call),
        reading_definition(),
        Definition("run_program", program, _object({"code": _TEXT, **thread}, "code")),
    ]


def describing_definition(*, beyond: str = FOUND_LESS) -> Definition:
    """Return the definition of `describe_operation`; `beyond` says when to use it."""
    listed = {"type": "array", "items": _TEXT}
    schema = _object({"operations": listed}, "operations")
    return _looking("describe_operation", render("tool_describe_operation", beyond=beyond), schema)


def reading_definition() -> Definition:
    """Return the definition of `read_result`, for hosts whose model cannot read resources."""
    schema = _object({"handle": _TEXT, "pointer": _TEXT, "page": {"type": "integer"}}, "handle")
    return _looking("read_result", render("tool_read_result"), schema)


def waiting_definitions() -> list[Definition]:
    """Return the definitions of `pending` and `undo`."""
    return [
        # It goes on with a change that a person has approved elsewhere, once.
        Definition("pending", render("tool_pending"), _object({"handle": _TEXT}), destructive=False, idempotent=True),
        Definition("undo", render("tool_undo"), _object({"handle": _TEXT}, "handle")),
    ]


def _looking(name: str, description: str, schema: Mapping[str, Any]) -> Definition:
    """Return a tool that sends nothing, and whose result is nothing but a text."""
    return Definition(name, description, schema, read_only=True, open_world=False, answer=None)


def _ask() -> Definition:
    return Definition("ask", render("tool_ask"), _object({"instruction": _TEXT}, "instruction"))


def _object(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "properties": dict(properties), **needed, "additionalProperties": False}


def _about(apis: Sequence[Api]) -> str:
    """Return a line for each API: its name, the number of its operations, what it is for; at last only their number."""
    lines: list[str] = []
    room = APIS
    for number, api in enumerate(apis):
        text = plain_text(first_sentence(api.description) or api.title, API)
        line = f"{api.name} ({len(api.operations):,} operations): {text}"[:API]
        room -= len(line) + 1
        if room < 0:
            return "\n".join([*lines, f"and {len(apis) - number} more"])
        lines.append(line)
    return "\n".join(lines)


def _of_recipes(recipes: Sequence[Recipe], room: int) -> list[Definition]:
    """Return a tool for each recipe that fits, and one for all others."""
    listed = [_of_recipe(recipe, name) for name, recipe in tools_of(recipes).items()]
    if sum(map(size_of, listed)) <= room:
        return listed
    kept: list[Definition] = []
    # The definition of the others is counted as it will be then: its names may take more than before.
    while len(kept) < len(listed) and size_of(_others(recipes[len(kept) + 1 :])) + size_of(listed[len(kept)]) <= room:
        kept.append(listed[len(kept)])
        room -= size_of(kept[-1])
    others = _others(recipes[len(kept) :])
    return [*kept, others] if size_of(others) <= room else kept


def tools_of(recipes: Sequence[Recipe]) -> dict[str, Recipe]:
    """Return the recipes by the names of their tools: one that is taken, also by a built-in tool, gets a number."""
    names = UniqueNames(RESERVED)
    return {names.claim(recipe.name.replace("-", "_")): recipe for recipe in recipes}


def _of_recipe(recipe: Recipe, name: str) -> Definition:
    text = plain_text(recipe.description or recipe.name, RECIPE_DESCRIPTION)
    schema = {**recipe.inputs, "type": "object", "properties": dict(recipe.properties)}
    return Definition(name, text, schema)


def _others(recipes: Sequence[Recipe]) -> Definition:
    names = ", ".join(recipe.name for recipe in recipes)
    shown = names if len(names) <= RECIPE_NAMES else f"{names[:RECIPE_NAMES].rpartition(', ')[0]} and more"
    schema = _object({"name": _TEXT, "inputs": {"type": "object"}}, "name")
    return Definition("run_recipe", render("tool_run_recipe", recipes=shown), schema)
