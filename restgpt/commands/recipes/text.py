"""Recipes as text on a terminal and as JSON documents: in a list, and one in full."""

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from restgpt.recipes.book import RecipeBook
from restgpt.recipes.recipe import Echo, Link, Recipe
from restgpt.tools.quotation import one_line

SHOWN = 60
"""The number of characters of a description or an example that one line shows."""


def proof(recipe: Recipe) -> str:
    """Return whether a recipe is proved, in words."""
    return f"proved {recipe.proved[:10]}" if recipe.proved else "not proved"


def list_document(book: RecipeBook, recipes: Sequence[Recipe], problems: Sequence[str]) -> dict[str, Any]:
    """Return a list of recipes as JSON."""
    return {
        "folder": str(book.folder),
        "recipes": [
            {
                "name": recipe.name,
                "version": recipe.version,
                "versions": book.versions(recipe.name),
                "proved": recipe.proved,
                "description": recipe.description,
                "apis": [api.name for api in recipe.apis],
                "inputs": recipe.inputs,
                "file": str(book.path(recipe.name, recipe.version)),
            }
            for recipe in recipes
        ],
        "problems": list(problems),
    }


def list_text(book: RecipeBook, recipes: Sequence[Recipe]) -> str:
    """Return a list of recipes as text, two lines each."""
    if not recipes:
        return f"There are no recipes in {book.folder}. Save a finished run with `restgpt recipe save THREAD NAME`."
    return "\n".join(line for recipe in recipes for line in _lines(recipe, book.versions(recipe.name)))


def _lines(recipe: Recipe, versions: Sequence[int]) -> Iterator[str]:
    version = f"version {recipe.version}, " if len(versions) > 1 or recipe.version > 1 else ""
    takes = ", ".join(recipe.properties) or "no inputs"
    yield f"{recipe.name} ({takes}): {version}{proof(recipe)}"
    if recipe.description:
        yield f"    {_cut(recipe.description, 2 * SHOWN)}"


def show_document(recipe: Recipe, path: Path, versions: Sequence[int]) -> dict[str, Any]:
    """Return a recipe as JSON, with its file."""
    return {"file": str(path), "versions": list(versions), "is_proved": bool(recipe.proved), **recipe.to_json()}


def show_text(recipe: Recipe, path: Path, versions: Sequence[int]) -> str:
    """Return a recipe as text: what it does, its inputs, what it relies on, and its program."""
    of = f" of {len(versions)}" if len(versions) > 1 else ""
    lines = [
        f"recipe       {recipe.name}, version {recipe.version}{of}",
        f"file         {path}",
        f"proved       {recipe.proved[:10] or 'no: no run with other inputs has gone well yet'}",
        f"does         {_cut(recipe.description, 1000) or '-'}",
        f"apis         {', '.join(f'{api.name} {api.version}'.strip() for api in recipe.apis)}",
        f"writes       {recipe.writes}",
        *_labelled("inputs", input_lines(recipe)),
        *_labelled("operations", [f"{item.function}: {item.method} {item.path}" for item in recipe.operations]),
        *_labelled("relies on", guard_lines(recipe)),
    ]
    return "\n".join([*map(one_line, lines), "program", textwrap.indent(recipe.program.rstrip("\n"), "    ")])


def _labelled(label: str, lines: Sequence[str]) -> Iterator[str]:
    for number, line in enumerate(lines or ["-"]):
        yield f"{label if number == 0 else '':<13}{line}"


def input_lines(recipe: Recipe) -> list[str]:
    """Return a line for each input: its name, its type and the value of the saved run."""
    return [
        f"{name} ({_type(schema)}{'' if name in recipe.required else ', optional'}){_example(schema)}"
        for name, schema in recipe.properties.items()
    ]


def _type(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type", "any value")
    name = kind if isinstance(kind, str) else " or ".join(kind)
    items = schema.get("items")
    return f"{name} of {_type(items)}" if isinstance(items, Mapping) and "type" in items else name


def _example(schema: Mapping[str, Any]) -> str:
    examples = schema.get("examples")
    return f", saved with {_cut(json.dumps(examples[0], ensure_ascii=False), SHOWN)}" if examples else ""


def guard_lines(recipe: Recipe) -> list[str]:
    """Return what the recipe relies on beside its operations: the fields that it reads, and where values come from."""
    reads = [f"{item.function} answers with {_listed(item.reads)}" for item in recipe.operations if item.reads]
    return [*reads, *map(_link_line, recipe.links)]


def _listed(reads: Mapping[str, Sequence[str]]) -> str:
    # A field implies the answer around it.
    fields = {pattern: types for pattern, types in reads.items() if pattern} or reads
    parts = [f"{pattern or 'itself'} ({' or '.join(types)})" for pattern, types in fields.items()]
    more = f" and {len(parts) - 6} more fields" if len(parts) > 6 else ""
    return ", ".join(parts[:6]) + more


_CHOICES = {
    "only": "the only item",
    "first": "the first item",
    "last": "the last item",
    "each": "each item",
    "named": "the item",
    "other": "",
}


def _link_line(link: Link) -> str:
    chosen = " ".join(filter(None, [_CHOICES[link.choice], _echoed(link.echo)]))
    of = f" ({chosen})" if chosen else ""
    return f"{link.argument} of {link.call} is {link.take or 'the answer'} of {link.answer_of}{of}"


def _echoed(echo: Echo | None) -> str:
    if echo is None:
        return ""
    relation = {"equal": "equals", "contains": "contains", "within": "is part of"}[echo.relation]
    return f"whose {echo.field} {relation} the input {echo.input}"


def _cut(text: str, most: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"
