"""A run of a recipe by a command: its graph, the input of the graph, and what is done with its outcome."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from restgpt.commands.agent import Agent, Outcome
from restgpt.commands.failure import UsageError
from restgpt.commands.screen.terminal import Terminal
from restgpt.recipes.recipe import Recipe, recipe_of_json
from restgpt.sources import Sources
from restgpt.threads import RecipeOfThread, ThreadRecord

if TYPE_CHECKING:
    from restgpt.graph.persistence import Persistence
    from restgpt.nodes.run.context import Context
    from restgpt.specs import Api
    from restgpt.tools.settings import Settings


def run_recipe(
    terminal: Terminal,
    target: str,
    pairs: Sequence[str],
    named: Sources,
    settings: "Settings",
    *,
    context: Mapping[str, Any],
    heals: bool,
    thread: str | None,
) -> None:
    """Run a recipe, by its name or its file, with inputs as `NAME=VALUE`, and end the command with an exit code.

    Raises `RecipeFileError`, `RecipeInputError`, `UsageError` and `SpecError`.
    """
    from restgpt.commands.run import run_thread
    from restgpt.graph.persistence import open_persistence
    from restgpt.nodes.run.context import Context
    from restgpt.nodes.state.recipe_run import filled
    from restgpt.recipes.given import given_inputs
    from restgpt.threads import Threads, checked_name
    from restgpt.tools.settings.run_settings import checked_settings

    recipe, file = _recipe_of(target, settings)
    sources = sources_of(recipe, named, settings)
    apis = sources.load(settings)
    inputs = filled(recipe, given_inputs(recipe, pairs))
    check_apis(recipe, apis, terminal)
    name = uuid4().hex[:12] if thread is None else checked_name(thread)
    said = {pair.partition("=")[0].strip() for pair in pairs}
    run = recipe_of_thread(recipe, inputs, said, file=str(file.absolute()), heals=heals)
    with open_persistence(settings) as persistence, persistence.lock(name):
        threads = Threads(persistence.store)
        earlier = threads.find(name)
        if earlier is not None:
            _check_continuable(earlier, persistence)
        context = {**(earlier.context if earlier else {}), **context}
        checked = checked_settings(Context, context)
        agent = agent_of(run, apis, context=checked, settings=settings, persistence=persistence)
        turn = agent.turn(name) + 1
        record = ThreadRecord(name, instruction_of_run(run), sources, context, turn=turn, recipe=run)
        terminal.note(f"recipe {recipe.name}")
        settle = Settling(run, name, terminal)
        run_thread(agent, record, graph_input(run), threads=threads, terminal=terminal, settle=settle)


def _recipe_of(target: str, settings: "Settings") -> tuple[Recipe, Path]:
    """Return a recipe with its file; a target with a slash or the ending of a file is no name of the folder."""
    from restgpt.recipes.book import RecipeBook, read_recipe

    if "/" in target or "\\" in target or Path(target).suffix.lower() in (".yaml", ".yml", ".json"):
        path = Path(target).expanduser()
        return read_recipe(path), path
    book = RecipeBook(settings.recipes)
    return book.load(target), book.path(target)


def recipe_of_thread(
    recipe: Recipe, inputs: Mapping[str, Any], said: Collection[str], *, file: str = "", heals: bool = False
) -> RecipeOfThread:
    """Return the run of a recipe for the record of a thread; the user has given the inputs `said`."""
    return {
        "recipe": recipe.to_json(),
        "inputs": inputs,
        "file": file,
        "heals": heals,
        "defaults": [key for key in inputs if key not in said],
    }


def instruction_of_run(run: RecipeOfThread) -> str:
    """Return the run of a recipe in words."""
    from restgpt.nodes.state.recipe_run import instruction_of, recipe_record

    return instruction_of(recipe_record(recipe_in(run), _given(run)))


def _check_continuable(earlier: ThreadRecord, persistence: "Persistence") -> None:
    """Raise `UsageError` for a thread in which no run may begin now."""
    from restgpt.threads import SavedStates

    if earlier.turn == 0:
        raise UsageError(f"Thread {earlier.thread} is a single call. Choose another thread ID for a run.")
    if SavedStates(persistence).newest(earlier).tasks:
        raise UsageError(
            f"Thread {earlier.thread} has not finished its last run. Resume it with: restgpt resume {earlier.thread}"
        )


def recipe_in(run: RecipeOfThread) -> Recipe:
    """Return the recipe of a thread's record; raises `RecipeFaultError`."""
    return recipe_of_json(run["recipe"])


def sources_of(recipe: Recipe, named: Sources, settings: "Settings") -> Sources:
    """Return the named APIs, or the entries of apis.yaml that the recipe uses; raises `UsageError`."""
    from restgpt.specs.api import slug

    if not named.is_empty:
        return named
    entries = {slug(name): name for name in settings.apis}
    if missing := [api.name for api in recipe.apis if slug(api.name) not in entries]:
        raise UsageError(
            f"The recipe {recipe.name} uses the API {missing[0]}, which apis.yaml does not have. {settings.entries} "
            f"Add the entry {missing[0]}, or give its document with --spec."
        )
    return Sources(tuple(entries[slug(api.name)] for api in recipe.apis))


def check_apis(recipe: Recipe, apis: "Sequence[Api]", terminal: Terminal) -> None:
    """Raise `UsageError` if an API of the recipe was not loaded; say if one has another version than at saving."""
    from restgpt.specs.api import slug

    loaded = {slug(api.name): api for api in apis}
    for saved in recipe.apis:
        api = loaded.get(slug(saved.name))
        if api is None:
            listed = ", ".join(item.name for item in apis)
            raise UsageError(
                f"The recipe {recipe.name} uses the API {saved.name}, but the given documents are those of {listed}. "
                f"Give the document of {saved.name} with --spec, or its entry in apis.yaml with --api."
            )
        if saved.version and api.version and saved.version != api.version:
            terminal.note(
                f"The recipe was saved with version {saved.version} of {saved.name}; its document now has version "
                f"{api.version}. A change that it describes otherwise is asked about."
            )


def agent_of(
    run: RecipeOfThread,
    apis: "Sequence[Api]",
    *,
    context: "Context",
    settings: "Settings",
    persistence: "Persistence",
) -> Agent:
    """Return the agent that carries out a recipe, with or without a model for healing."""
    recipe = recipe_in(run)
    return Agent.of_recipe(
        recipe,
        apis,
        heals=run["heals"],
        is_tool=run.get("is_passed", False),
        context=context,
        settings=settings,
        persistence=persistence,
    )


def graph_input(run: RecipeOfThread) -> dict[str, Any]:
    """Return the input of the graph that begins a run of a recipe."""
    from restgpt.nodes.state.recipe_run import recipe_record

    if run["heals"]:
        return {"recipe": recipe_record(recipe_in(run), _given(run), heals=True)}
    return {"inputs": _given(run)}


def _given(run: RecipeOfThread) -> dict[str, Any]:
    """Return the inputs that the user gave, without those that the file has given."""
    defaults = run.get("defaults", ())
    return {name: value for name, value in run["inputs"].items() if name not in defaults}


class Settling:
    """Adds the recipe to the outcome of its run, and says how to save what an agent did that healed it."""

    def __init__(self, run: RecipeOfThread, thread: str, terminal: Terminal) -> None:
        self._run = run
        self._thread = thread
        self._terminal = terminal

    def __call__(self, outcome: Outcome) -> Outcome:
        """Return the outcome with the recipe in its document."""
        is_own = outcome.program is not None and outcome.program["writer"] == "recipe"
        if outcome.status == "done" and not outcome.error and self._run["heals"] and not is_own:
            self._terminal.say(
                f"The agent went on without the recipe. Save what it did with: restgpt recipe save {self._thread} NAME"
            )
        return replace(outcome, recipe=shown_run(self._run))


def shown_run(run: RecipeOfThread) -> dict[str, Any]:
    """Return the recipe of a run for the JSON document of a command."""
    return {
        "name": str(run["recipe"]["name"]),
        "file": run["file"],
        "inputs": dict(run["inputs"]),
        "heals": run["heals"],
    }
