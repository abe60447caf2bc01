"""`restgpt recipe`: save a finished run as a recipe, run it again without a model, and manage the files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from restgpt.commands.failure import UsageError, refuse_bytes, reported
from restgpt.commands.options import ApiNames, AsJson, BaseUrl, Quiet, Specs, Thread, Writes
from restgpt.commands.screen.terminal import Terminal

if TYPE_CHECKING:
    from restgpt.recipes.book import RecipeBook

recipe = typer.Typer(
    name="recipe",
    help="Save a finished run as a recipe, and run it again with other inputs, without a model.",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(help="The name of the recipe.", metavar="NAME")]
Version = Annotated[
    int | None,
    typer.Option(help="A version of the recipe, instead of the newest.", min=1, metavar="N", show_default=False),
]


@recipe.command()
def save(
    thread: Annotated[str, typer.Argument(help="The id of the thread, as printed by `ask`.", metavar="THREAD")],
    name: Annotated[
        str, typer.Argument(help="The name of the recipe: lower-case letters, digits and hyphens.", metavar="NAME")
    ],
    turn: Annotated[
        int | None,
        typer.Option(help="The instruction of the thread, counted from 1. Default: the last.", min=1, metavar="N"),
    ] = None,
    description: Annotated[
        str, typer.Option(help="What the recipe does. Default: the instruction.", metavar="TEXT")
    ] = "",
    suggest: Annotated[
        bool,
        typer.Option("--suggest", help="Let the planner's model propose the names of the inputs and a description."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Save the last run of a thread as a recipe; a name that is taken gets a new version."""
    terminal = Terminal(as_json=as_json)
    with reported(terminal):
        from restgpt.commands.recipes.save import save_thread

        refuse_bytes(name, description)
        save_thread(terminal, thread, name, turn=turn, description=description.strip(), suggest=suggest)


@recipe.command()
def run(
    target: Annotated[
        str, typer.Argument(help="The name of the recipe, or the path of a recipe file.", metavar="NAME|FILE")
    ],
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", "-i", help="An input of the recipe. May be repeated.", metavar="NAME=VALUE"),
    ] = None,
    version: Version = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Only compare the recipe with the documents, and run its reads; change nothing."),
    ] = False,
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
        from restgpt.commands.recipes.check import check_recipe
        from restgpt.commands.recipes.run import Wanted, found_recipe, run_recipe
        from restgpt.commands.sources import Sources
        from restgpt.tools.settings import Settings

        refuse_bytes(target, base_url, *(inputs or ()), *(specs or ()))
        if check and (heal or thread or writes):
            raise UsageError("--check changes nothing and keeps no thread. Leave out --heal, --thread and --writes.")
        given = {"model": model, "writes": writes}
        context = {**pairs(settings or ()), **{key: value for key, value in given.items() if value is not None}}
        wanted = Wanted(
            target, tuple(inputs or ()), version, Sources.given(names, specs, base_url), context, heal, thread
        )
        environment = Settings.from_env()
        act = check_recipe if check else run_recipe
        act(terminal, wanted, found_recipe(wanted, environment), environment)


@recipe.command(name="list")
def list_recipes(as_json: AsJson = False) -> None:
    """List the recipes with their inputs, and say which are proved."""
    terminal = Terminal(as_json=as_json)
    with reported(terminal):
        from restgpt.commands.recipes.text import list_document, list_text

        book = _book()
        recipes, problems = book.all()
        terminal.document(list_document(book, recipes, problems))
        terminal.answer(list_text(book, recipes))
        for problem in problems:
            terminal.say(problem)


@recipe.command()
def show(name: Name, version: Version = None, as_json: AsJson = False) -> None:
    """Show a recipe: what it does, its inputs, its program, and what it relies on."""
    terminal = Terminal(as_json=as_json)
    with reported(terminal):
        from restgpt.commands.recipes.text import show_document, show_text

        book = _book()
        found, path = book.load(name, version), book.path(name, version)
        versions = book.versions(name)
        terminal.document(show_document(found, path, versions))
        terminal.answer(show_text(found, path, versions))


@recipe.command()
def rename(
    name: Name,
    new: Annotated[str, typer.Argument(help="The new name.", metavar="NEW")],
    as_json: AsJson = False,
) -> None:
    """Rename a recipe, with all its versions."""
    terminal = Terminal(as_json=as_json)
    with reported(terminal):
        paths = _book().rename(name, new)
        terminal.document({"name": new, "files": [str(path) for path in paths]})
        terminal.answer(f"Renamed {name} to {new}: {', '.join(map(str, paths))}.")


@recipe.command()
def delete(
    name: Name,
    version: Annotated[
        int | None, typer.Option(help="Delete only this version.", min=1, metavar="N", show_default=False)
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete a recipe with all its versions, or one version."""
    terminal = Terminal(as_json=as_json)
    with reported(terminal):
        book = _book()
        paths = [book.path(name, item) for item in ([version] if version else book.versions(name))]
        if not yes and not _is_wanted(terminal, paths):
            terminal.answer("Nothing was deleted.")
            return
        gone = book.delete(name, version)
        terminal.document({"deleted": [str(path) for path in gone]})
        terminal.answer(f"Deleted {', '.join(map(str, gone))}.")


@recipe.command()
def diff(
    name: Name,
    first: Annotated[
        str | None, typer.Argument(help="A version, or another recipe. Default: the version before.", metavar="A")
    ] = None,
    second: Annotated[
        str | None, typer.Argument(help="The version that is compared with A. Default: the newest.", metavar="B")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare two versions of a recipe, or two recipes: the programs line by line, other parts field by field."""
    terminal = Terminal(as_json=as_json)
    with reported(terminal):
        from restgpt.commands.recipes.diff import compared, diff_document, diff_text

        one, other = compared(_book(), name, first, second)
        terminal.document(diff_document(one, other))
        terminal.answer(diff_text(one, other))


@recipe.command()
def graph(name: Name, as_json: AsJson = False) -> None:
    """Add a recipe as a graph of its own to langgraph.json, for LangGraph Studio and servers."""
    terminal = Terminal(as_json=as_json)
    with reported(terminal):
        from restgpt.commands.recipes.graph import add_graph

        add_graph(terminal, _book(), name)


def _book() -> "RecipeBook":
    from restgpt.recipes.book import RecipeBook
    from restgpt.tools.settings import Settings

    return RecipeBook(Settings.from_env().recipes)


def _is_wanted(terminal: Terminal, paths: list[Path]) -> bool:
    listed = ", ".join(map(str, paths))
    if not terminal.is_interactive:
        raise UsageError(f"This would delete {listed}. To skip the question, add --yes.")
    return terminal.ask(f"Delete {listed} for good? [y/N] ").lower() in ("y", "yes")
