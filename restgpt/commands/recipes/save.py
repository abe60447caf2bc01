"""`restgpt recipe save`: the last run of a thread becomes a recipe file."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from restgpt.commands.failure import UsageError
from restgpt.commands.screen.terminal import Terminal
from restgpt.recipes.recipe import NAME, Recipe

SHOWN = 60
"""The maximum number of characters of an example in the list of inputs."""


def save_thread(terminal: Terminal, thread: str, name: str, *, description: str) -> None:
    """Save a run of a thread under a name, and print the file, the inputs and what is fixed in the program."""
    from restgpt.commands.history.client_thread import resources_of
    from restgpt.graph.build import build_graph
    from restgpt.graph.persistence import open_persistence, thread_config
    from restgpt.nodes.recipes.saved_run import save_run
    from restgpt.recipes.book import RecipeBook
    from restgpt.threads import Threads
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
            services = resources_of(record, settings, persistence)
            graph = build_graph(services=services, **persistence.saved)
            values = graph.get_state(thread_config(thread)).values
            recipe = save_run(
                values,
                services,
                name=name,
                store=persistence.store,
                thread=thread,
                description=description,
            )
    _report(terminal, recipe, RecipeBook(settings.recipes).save(recipe))


def _report(terminal: Terminal, recipe: Recipe, path: Path) -> None:
    fixed = fixed_values(recipe)
    terminal.document(
        {
            "name": recipe.name,
            "file": str(path),
            "description": recipe.description,
            "inputs": recipe.inputs,
            "fixed": fixed,
        }
    )
    lines = [f"Saved {path}."]
    lines += _section("Inputs:", [_input_line(recipe, name) for name in recipe.properties]) or ["It has no inputs."]
    lines += _section("Fixed, because the program decides by them or computes with them:", fixed)
    lines.append(f"Run it with: {run_line(recipe)}")
    terminal.answer("\n".join(lines))


def _section(heading: str, lines: Sequence[str]) -> list[str]:
    return [heading, *(f"  {line}" for line in lines)] if lines else []


def _input_line(recipe: Recipe, name: str) -> str:
    examples = [json.dumps(value, ensure_ascii=False) for value in [recipe.examples.get(name)] if value is not None]
    return name + "".join(f", saved with {text if len(text) <= SHOWN else text[:SHOWN] + '…'}" for text in examples)


def fixed_values(recipe: Recipe) -> list[str]:
    """Return the values that the user had said and that are no inputs, as JSON texts."""
    return [json.dumps(value, ensure_ascii=False) for value in recipe.constants]


def run_line(recipe: Recipe) -> str:
    """Return the command that runs a recipe with the inputs of the saved run, as an example."""
    words = ["restgpt", "recipe", "run", recipe.name]
    for name, value in recipe.examples.items():
        words += ["--input", shlex.quote(f"{name}={_text(value)}")]
    return " ".join(words)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
