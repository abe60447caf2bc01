"""Definitions of the tools that a host offers its model: a few for any document, within one budget of tokens."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from restgpt.calling.record import MAX_PAGES
from restgpt.prompts import render
from restgpt.recipes.recipe import Recipe
from restgpt.specs import Api
from restgpt.specs.docs.documentation import TOKEN
from restgpt.specs.docs.overview.summary import first_sentence
from restgpt.specs.docs.words.plain_text import plain_text
from restgpt.tools.errors import ArgumentError, ArgumentProblem

BUDGET = 1_500
"""The tokens of all definitions together, as they are sent."""

APIS, API = 600, 140
"""The most characters of the lines about all APIs, and of the line about one."""

ENVELOPE = len('{"tools":[]}') - 1
"""The characters around the definitions in the JSON of a list, without the comma that the last one does not have."""

RECIPE_DESCRIPTION = 160
"""The most characters of the description of a recipe."""

RECIPE_NAMES = 300
"""The most characters of the names of the recipes that have no definition of their own."""

CALL = "call_operation"
"""The tool that makes one call."""

_TEXT = {"type": "string"}
# The hints of the protocol that a client takes for given where a definition has none.
_GIVEN = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}


@dataclass(frozen=True, slots=True)
class Definition:
    """The definition of a tool: name, description, JSON schema of the arguments, and what a call of it may do.

    The four flags are the hints of MCP's tool annotations; `destructive` and `idempotent` say nothing of a tool that
    only reads.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = True

    @property
    def annotations(self) -> dict[str, bool]:
        """The hints that differ from those that a client takes for given."""
        hints = {
            "readOnlyHint": self.read_only,
            "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent,
            "openWorldHint": self.open_world,
        }
        dropped = ("destructiveHint", "idempotentHint") if self.read_only else ()
        return {name: hint for name, hint in hints.items() if hint != _GIVEN[name] and name not in dropped}

    def to_json(self) -> dict[str, Any]:
        """Return the definition in the form of MCP's `tools/list`."""
        described = {"description": self.description} if self.description else {}
        hints = {"annotations": self.annotations} if self.annotations else {}
        return {"name": self.name, **described, "inputSchema": dict(self.input_schema), **hints}


def tokens_of(definitions: Iterable[Definition]) -> int:
    """Return the tokens of definitions as they are sent, by the estimate of four characters for one token."""
    return -(-(ENVELOPE + sum(size_of(item) for item in definitions)) // TOKEN)


def size_of(definition: Definition) -> int:
    """Return the characters of a definition in the JSON of a list."""
    return len(json.dumps(definition.to_json(), ensure_ascii=False, separators=(",", ":"))) + 1


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


def calling_definitions(apis: Sequence[Api], *, has_threads: bool = True) -> list[Definition]:
    """Return the definitions that find, describe and call operations, run programs, and read results.

    With `has_threads` a program can be corrected in its thread.
    """
    after_error = render("tool_program_in_thread" if has_threads else "tool_program_alone").strip()
    program = render("tool_run_program", after_error=after_error)
    thread = {"thread": _TEXT} if has_threads else {}
    return [
        Definition(
            "find_operations",
            render("tool_find_operations", apis=_about(apis)),
            _object({"query": _TEXT, "limit": {"type": "integer"}}, "query"),
            read_only=True,
            open_world=False,
        ),
        describing_definition(),
        Definition(
            CALL,
            render("tool_call_operation"),
            _object(
                {
                    "operation": _TEXT,
                    "arguments": {"type": "object"},
                    "pages": {"type": "integer", "maximum": MAX_PAGES},
                },
                "operation",
            ),
        ),
        reading_definition(),
        Definition("run_program", program, _object({"code": _TEXT, **thread}, "code")),
    ]


def describing_definition() -> Definition:
    """Return the definition of `describe_operation`."""
    listed = {"type": "array", "items": _TEXT}
    schema = _object({"operations": listed}, "operations")
    return Definition("describe_operation", render("tool_describe_operation"), schema, read_only=True, open_world=False)


def reading_definition() -> Definition:
    """Return the definition of `read_result`, for hosts whose model cannot read resources."""
    schema = _object({"handle": _TEXT, "pointer": _TEXT, "page": {"type": "integer"}}, "handle")
    return Definition("read_result", render("tool_read_result"), schema, read_only=True, open_world=False)


def waiting_definitions() -> list[Definition]:
    """Return the definitions of `pending` and `undo`."""
    return [
        # It goes on with a change that a person has approved elsewhere, once.
        Definition("pending", render("tool_pending"), _object({"handle": _TEXT}), destructive=False, idempotent=True),
        Definition("undo", render("tool_undo"), _object({"handle": _TEXT}, "handle")),
    ]


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
    listed = [_of_recipe(recipe) for recipe in recipes]
    if sum(map(size_of, listed)) <= room:
        return listed
    kept: list[Definition] = []
    rest = list(recipes)
    # The definition of the others is counted with all names, so what is left out of it later is spare.
    while rest and size_of(_others(rest)) + size_of(_of_recipe(rest[0])) <= room:
        kept.append(_of_recipe(rest.pop(0)))
        room -= size_of(kept[-1])
    others = _others(rest)
    return [*kept, others] if size_of(others) <= room else kept


def _of_recipe(recipe: Recipe) -> Definition:
    text = plain_text(recipe.description or recipe.name, RECIPE_DESCRIPTION)
    schema = {**recipe.inputs, "type": "object", "properties": dict(recipe.properties)}
    return Definition(recipe.name.replace("-", "_"), text, schema)


def _others(recipes: Sequence[Recipe]) -> Definition:
    names = ", ".join(recipe.name for recipe in recipes)
    shown = names if len(names) <= RECIPE_NAMES else f"{names[:RECIPE_NAMES].rpartition(', ')[0]} and more"
    schema = _object({"name": _TEXT, "inputs": {"type": "object"}}, "name")
    return Definition("run_recipe", render("tool_run_recipe", recipes=shown), schema)
