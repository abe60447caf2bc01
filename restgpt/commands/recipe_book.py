"""`restgpt recipe`: save a finished run as a recipe, list the recipes, and run one again without a model."""

import ast
import json
import os
import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from restgpt.commands.terminal import (
    Apis,
    Models,
    MoreSettings,
    Terminal,
    Thread,
    Traced,
    UsageError,
    Writes,
    command,
    refuse_bytes,
    settings_of,
)

if TYPE_CHECKING:
    from restgpt.recipes.recipe import Recipe

SHOWN = 60
"""The maximum number of characters of an example in the list of inputs."""

MOST_DESCRIPTION = 120
"""The maximum number of characters of a description in the list."""

recipe = typer.Typer(
    name="recipe",
    help="Save a finished run as a recipe, and run it again with other inputs, without a model.",
    no_args_is_help=True,
)


@recipe.command()
@command
def save(
    terminal: Terminal,
    thread: Annotated[str, typer.Argument(help="The id of the thread, as printed by `ask`.", metavar="THREAD")],
    name: Annotated[
        str, typer.Argument(help="The name of the recipe: lower-case letters, digits and hyphens.", metavar="NAME")
    ],
    description: Annotated[
        str, typer.Option(help="What the recipe does. Default: the instruction.", metavar="TEXT")
    ] = "",
) -> None:
    """Save the last run of a thread as a recipe."""
    refuse_bytes(name, description)
    _save(terminal, thread, name, description=description.strip())


@recipe.command()
@command
def run(
    terminal: Traced,
    apis: Apis,
    target: Annotated[
        str, typer.Argument(help="The name of the recipe, or the path of a recipe file.", metavar="NAME|FILE")
    ],
    pairs: Annotated[
        list[str] | None, typer.Argument(help="Inputs of the recipe, as --input.", metavar="[NAME=VALUE]...")
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", "-i", help="An input of the recipe. May be repeated.", metavar="NAME=VALUE"),
    ] = None,
    heal: Annotated[
        bool,
        typer.Option(
            "--heal", help="If the recipe stops before its first change, let the agent go on; this needs a model."
        ),
    ] = False,
    if_changed: Annotated[
        bool,
        typer.Option(
            "--if-changed",
            help="Print nothing if the answer is that of the last such run with these inputs, and else what is "
            "different. While such a run goes on, another one ends at once.",
        ),
    ] = False,
    notify: Annotated[
        str | None,
        typer.Option(
            "--notify",
            help="Give a notice as JSON to this command (on stdin) or URL when the run pauses for a person, fails, or "
            "with --if-changed has another answer. RESTGPT_NOTIFY_KEY signs it.",
            metavar="COMMAND|URL",
        ),
    ] = None,
    log: Annotated[
        Path | None, typer.Option("--log", help="Add a line about the run to this file.", metavar="FILE")
    ] = None,
    writes: Writes = None,
    thread: Thread = None,
    models: Models = None,
    more: MoreSettings = None,
) -> None:
    """Run a recipe with inputs, without a model: the same approvals, journal and trace as `ask`."""
    from restgpt.commands.saved_recipe import run_recipe
    from restgpt.tools.settings import Settings

    given = [*(pairs or ()), *(inputs or ())]
    refuse_bytes(target, *given)
    context, settings = settings_of(more, models=models, writes=writes), Settings.from_env()
    run_recipe(
        terminal,
        target,
        given,
        apis(),
        settings,
        context=context,
        heals=heal,
        thread=thread,
        if_changed=if_changed,
        notify=notify,
        log=log,
    )


@recipe.command(name="list")
@command
def list_recipes(terminal: Terminal) -> None:
    """List the recipes with their inputs."""
    from restgpt.recipes.book import RecipeBook
    from restgpt.tools.settings import Settings

    book = RecipeBook(Settings.from_env().recipes)
    recipes, problems = book.all()
    shown = [
        {**_about(item), "apis": [api.name for api in item.apis], "file": str(book.path(item.name))} for item in recipes
    ]
    terminal.document({"folder": str(book.folder), "recipes": shown, "problems": problems})
    lines = [line for item in recipes for line in _lines(item)]
    none = f"There are no recipes in {book.folder}. Save a finished run with `restgpt recipe save THREAD NAME`."
    terminal.answer("\n".join(lines or [none]))
    for problem in problems:
        terminal.say(problem)


def _lines(item: "Recipe") -> "Iterator[str]":
    """Yield the lines of a recipe in the list: its name with its inputs, and what it does."""
    from restgpt.tools.text.quotation import one_line

    yield f"{item.name} ({', '.join(item.properties) or 'no inputs'})"
    if description := one_line(" ".join(item.description.split())):
        yield f"    {textwrap.shorten(description, MOST_DESCRIPTION, placeholder=' …')}"


def _save(terminal: Terminal, thread: str, name: str, *, description: str) -> None:
    """Save a run of a thread under a name, and print the file, the inputs and what is fixed in the program."""
    from restgpt.commands.single_call import resources_of
    from restgpt.graph.build import build_graph
    from restgpt.graph.persistence import open_persistence, thread_config
    from restgpt.nodes.saved_run import save_run
    from restgpt.recipes.book import RecipeBook
    from restgpt.recipes.recipe import NAME
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
            values = build_graph(services=services, **persistence.saved).get_state(thread_config(thread)).values
            given: Any = {"name": name, "store": persistence.store, "thread": thread, "description": description}
            saved = save_run(values, services, **given)
    path = RecipeBook(settings.recipes).save(saved)
    fixed = [_json(value) for value in saved.constants]
    terminal.document({**_about(saved), "file": str(path), "fixed": fixed})
    lines = [f"Saved {path}.", "Inputs:" if saved.properties else "It has no inputs."]
    kinds = {key: "by default" if "default" in held else "saved with" for key, held in saved.properties.items()}
    examples = {key: f", {kinds[key]} {_json(value)[:SHOWN]}" for key, value in saved.examples.items()}
    lines += [f"  {key}{examples.get(key, '')}" for key in saved.properties]
    if fixed:
        lines.append(f"Arguments that you said, and that are the same in every run: {', '.join(fixed)}")
    for key, example in saved.examples.items():
        for value in example if isinstance(example, list) else [example]:
            if lines_with := _lines_with(saved.program, value):
                lines.append(f"{_json(value)} stays in the program, line {', '.join(lines_with)}, whatever {key} is.")
    words = [f"{key}={value if isinstance(value, str) else _json(value)}" for key, value in saved.examples.items()]
    inputs = [f"--input {shlex.quote(word)}" for word in words]
    line = " ".join(["restgpt recipe run", name, *inputs])
    lines.append(f"Run it with: {line}")
    if all(used.method in ("GET", "HEAD") for used in saved.operations):
        lines.append(f"Each morning, by cron: 0 7 * * *  cd {shlex.quote(os.getcwd())} && {line} --if-changed")
    terminal.answer("\n".join(lines))


def _lines_with(program: str, value: Any) -> list[str]:
    """Return the numbers of the lines with literals that are a value, or texts with the word that it is."""
    border = re.compile(rf"(?<!\w){re.escape(value)}(?!\w)") if isinstance(value, str) else None
    found = [node for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Constant)]
    held = [node for node in found if type(node.value) is type(value)]
    lines = [node.lineno for node in held if node.value == value or (border and border.search(str(node.value)))]
    return [str(line) for line in dict.fromkeys(lines)]


def _about(item: "Recipe") -> dict[str, Any]:
    return {"name": item.name, "description": item.description, "inputs": item.inputs}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
