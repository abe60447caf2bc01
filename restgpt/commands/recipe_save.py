"""`restgpt recipe save`: the last run of a thread becomes a recipe file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from restgpt.calling.recipes.recipe import NAME, Recipe
from restgpt.commands.failure import UsageError
from restgpt.commands.recipe_text import input_lines
from restgpt.commands.terminal import Terminal


def save_thread(
    terminal: Terminal, thread: str, name: str, *, turn: int | None, description: str, suggest: bool
) -> None:
    """Save a run of a thread under a name, and print the file, the inputs and what is fixed in the program."""
    from restgpt.calling.recipes.book import RecipeBook
    from restgpt.commands.thread import Threads
    from restgpt.graph.build import build_graph
    from restgpt.graph.persistence import open_persistence
    from restgpt.nodes.context import Context
    from restgpt.nodes.resources import Resources
    from restgpt.nodes.saved_run import save_run
    from restgpt.tools.run_settings import checked_settings
    from restgpt.tools.settings import Settings

    if not NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name of a recipe. Use 1 to 64 lower-case letters, digits and hyphens.")
    settings = Settings.from_env()
    with open_persistence(settings) as persistence:
        record = Threads(persistence.store).get(thread)
        if record.turn == 0:
            raise UsageError(
                f"Thread {thread} is a single call, which has no run to save. Repeat it with `restgpt call`."
            )
        with persistence.lock(thread):
            context = checked_settings(Context, record.context)
            resources: Resources = Resources(record.sources.load(settings), settings=settings, defaults=context)
            graph = build_graph(resources=resources, checkpointer=persistence.checkpointer, store=persistence.store)
            values = graph.get_state({"configurable": {"thread_id": thread}}).values
            recipe = save_run(
                values,
                resources,
                name=name,
                store=persistence.store,
                thread=thread,
                turn=turn,
                description=description,
            )
    path = RecipeBook(settings.recipes).save(recipe, beside=True)
    _report(terminal, RecipeBook(settings.recipes).load(name), path)


def _report(terminal: Terminal, recipe: Recipe, path: Path) -> None:
    fixed = fixed_values(recipe)
    terminal.document(
        {
            "name": recipe.name,
            "version": recipe.version,
            "file": str(path),
            "proved": recipe.proved,
            "description": recipe.description,
            "inputs": recipe.inputs,
            "fixed": fixed,
        }
    )
    lines = [f"Saved {path}" + (f" as version {recipe.version}; the others are kept." if recipe.version > 1 else ".")]
    lines += _section("Inputs:", input_lines(recipe)) or ["It has no inputs."]
    lines += _section("Fixed, because the program decides by them or computes with them:", fixed)
    lines.append(
        f"Not proved: it counts as proved after a run with other inputs went well. Run it with: {run_line(recipe)}"
    )
    terminal.answer("\n".join(lines))


def _section(heading: str, lines: Sequence[str]) -> list[str]:
    return [heading, *(f"  {line}" for line in lines)] if lines else []


def fixed_values(recipe: Recipe) -> list[str]:
    """Return the values that the user had said and that are no inputs, as JSON texts."""
    import json

    return [json.dumps(value, ensure_ascii=False) for value in recipe.constants]


def run_line(recipe: Recipe) -> str:
    """Return the command that runs a recipe with the inputs of the saved run, as an example."""
    import shlex

    words = ["restgpt", "recipe", "run", recipe.name]
    for name, value in recipe.examples.items():
        words += ["--input", shlex.quote(f"{name}={_text(value)}")]
    return " ".join(words)


def _text(value: Any) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
