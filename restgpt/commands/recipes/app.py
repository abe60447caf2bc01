"""`restgpt recipe`: save a finished run as a recipe, list the recipes, and run one again without a model."""

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from restgpt.commands.failure import refuse_bytes, reported
from restgpt.commands.options import ApiNames, AsJson, BaseUrl, Quiet, Specs, Thread, Writes
from restgpt.commands.screen.terminal import Terminal

if TYPE_CHECKING:
    from restgpt.recipes.recipe import Recipe

MOST_DESCRIPTION = 120
"""The maximum number of characters of a description in the list."""

recipe = typer.Typer(
    name="recipe",
    help="Save a finished run as a recipe, and run it again with other inputs, without a model.",
    no_args_is_help=True,
)


@recipe.command()
def save(
    thread: Annotated[str, typer.Argument(help="The id of the thread, as printed by `ask`.", metavar="THREAD")],
    name: Annotated[
        str, typer.Argument(help="The name of the recipe: lower-case letters, digits and hyphens.", metavar="NAME")
    ],
    description: Annotated[
        str, typer.Option(help="What the recipe does. Default: the instruction.", metavar="TEXT")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Save the last run of a thread as a recipe."""
    terminal = Terminal(as_json=as_json)
    with reported(terminal):
        from restgpt.commands.recipes.save import save_thread

        refuse_bytes(name, description)
        save_thread(terminal, thread, name, description=description.strip())


@recipe.command()
def run(
    target: Annotated[
        str, typer.Argument(help="The name of the recipe, or the path of a recipe file.", metavar="NAME|FILE")
    ],
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
    writes: Writes = None,
    thread: Thread = None,
    names: ApiNames = None,
    specs: Specs = None,
    base_url: BaseUrl = None,
    model: Annotated[
        str | None,
        typer.Option(help="The chat model for --heal. Default: RESTGPT_MODEL.", metavar="PROVIDER:NAME"),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Another setting of the run, such as max_requests=5. May be repeated.", metavar="NAME=VALUE"
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run a recipe with inputs, without a model: the same approvals, journal and trace as `ask`."""
    terminal = Terminal(as_json=as_json, quiet=quiet)
    with reported(terminal):
        from restgpt.commands.ask import pairs
        from restgpt.commands.recipes.run import run_recipe
        from restgpt.sources import Sources
        from restgpt.tools.settings import Settings

        refuse_bytes(target, base_url, *(inputs or ()), *(specs or ()))
        given = {"model": model, "writes": writes}
        context = {**pairs(settings or ()), **{key: value for key, value in given.items() if value is not None}}
        run_recipe(
            terminal,
            target,
            inputs or (),
            Sources.given(names, specs, base_url),
            Settings.from_env(),
            context=context,
            heals=heal,
            thread=thread,
        )


@recipe.command(name="list")
def list_recipes(as_json: AsJson = False) -> None:
    """List the recipes with their inputs."""
    terminal = Terminal(as_json=as_json)
    with reported(terminal):
        from restgpt.recipes.book import RecipeBook
        from restgpt.tools.settings import Settings

        book = RecipeBook(Settings.from_env().recipes)
        recipes, problems = book.all()
        terminal.document(
            {
                "folder": str(book.folder),
                "recipes": [
                    {
                        "name": item.name,
                        "description": item.description,
                        "apis": [api.name for api in item.apis],
                        "inputs": item.inputs,
                        "file": str(book.path(item.name)),
                    }
                    for item in recipes
                ],
                "problems": problems,
            }
        )
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
