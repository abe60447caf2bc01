"""A run of a recipe by a command: its graph, the input of the graph, and what is done with its outcome."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from difflib import unified_diff
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import typer

from restgpt.commands.agent_run import Agent, Outcome
from restgpt.commands.notice import logging_to, notifying, write_line
from restgpt.commands.terminal import Terminal, UsageError
from restgpt.recipes.recipe import Recipe, recipe_of_json
from restgpt.sources import Sources
from restgpt.threads import RecipeOfThread, SavedStates, ThreadRecord, Threads, checked_name

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

    from restgpt.specs import Api
    from restgpt.tools.settings import Settings


ANSWERS = ("restgpt", "answers")
"""The namespace of the last answers of recipes that are run again and again."""


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
    if_changed: bool = False,
    notify: str | None = None,
    log: Path | None = None,
) -> None:
    """Run a recipe, by its name or its file, with inputs as `NAME=VALUE`, and end the command with an exit code.

    With `if_changed` it prints how the answer differs from that of the last such run, and nothing if it does not; if
    such a run goes on in another process, this one ends. `notify` is a command or a URL that is told of it, `log` a
    file that gets a line about it.

    Raises `RecipeFileError`, `RecipeInputError`, `UsageError` and `SpecError`.
    """
    from restgpt.commands.agent_run import run_thread
    from restgpt.graph.persistence import ThreadBusyError, open_persistence
    from restgpt.nodes.run.services import Context
    from restgpt.nodes.state.recipe_run import filled
    from restgpt.recipes.book import RecipeBook, read_recipe
    from restgpt.recipes.recipe import given_inputs
    from restgpt.tools.settings.settings import checked_settings

    book, path = RecipeBook(settings.recipes), Path(target).expanduser()
    # A target with a slash or the ending of a file is no name of the folder.
    is_file = "/" in target or "\\" in target or path.suffix.lower() in (".yaml", ".yml", ".json")
    recipe, file = (read_recipe(path), path) if is_file else (book.load(target), book.path(target))
    inputs = filled(recipe, given_inputs(recipe, pairs))
    name = uuid4().hex[:12] if thread is None else checked_name(thread)
    said = {pair.partition("=")[0].strip() for pair in pairs}
    run = recipe_of_thread(recipe, inputs, said, file=str(file.absolute()), heals=heals)
    series = f"{named} {file.absolute()} {json.dumps(inputs, sort_keys=True)}" if if_changed else ""
    with ExitStack() as held:
        persistence = held.enter_context(open_persistence(settings))
        if series:
            terminal.quiet = True
            try:
                held.enter_context(persistence.lock(series))
            except ThreadBusyError:
                terminal.say(f"Another run of {recipe.name} with these inputs goes on, so this one ended.")
                write_line(log, f"recipe={recipe.name} status=skipped", terminal)
                raise typer.Exit() from None
        held.enter_context(persistence.lock(name))
        threads = Threads(persistence.store)
        earlier = threads.find(name)
        if earlier is not None and earlier.turn == 0:
            raise UsageError(f"Thread {name} is a single call. Choose another thread ID for a run.")
        if earlier is not None and SavedStates(persistence).newest(earlier).tasks:
            raise UsageError(f"Thread {name} has not finished its last run. Resume it with: restgpt resume {name}")
        sources, apis = sources_of(recipe, named.within(*(earlier.sources.reaches if earlier else ())), settings)
        context = {**(earlier.context if earlier else {}), **context}
        opened = {"context": checked_settings(Context, context), "settings": settings, "persistence": persistence}
        agent = agent_of(run, apis, **opened)
        instruction = instruction_of_run(run)
        record = ThreadRecord(name, instruction, sources, context, turn=agent.turn(name) + 1, recipe=run)
        terminal.note(f"recipe {recipe.name}")
        settle = settling(run, name, terminal)
        if series:
            settle = _differing(persistence.store, series, settle)
        if notify:
            settle = notifying(notify, settle, terminal, settings.home, changes=if_changed)
        if log:
            settle = logging_to(log, recipe.name, settle, terminal, changes=if_changed)
        run_thread(agent, record, graph_input(run), threads=threads, terminal=terminal, settle=settle)


def _differing(store: "BaseStore", series: str, settle: Callable[[Outcome], Outcome]) -> Callable[[Outcome], Outcome]:
    """Return what also replaces the answer of a run by what is different from that of the last run of its series.

    It ends the command if nothing is.
    """
    key = sha256(series.encode()).hexdigest()

    def differ(outcome: Outcome) -> Outcome:
        outcome = settle(outcome)
        if outcome.status != "done":
            return outcome
        last = store.get(ANSWERS, key)
        store.put(ANSWERS, key, {"answer": outcome.answer}, index=False)
        if last is None:
            return outcome
        before, after = (text.splitlines() for text in (last.value["answer"], outcome.answer))
        lines = list(unified_diff(before, after, n=0, lineterm=""))[2:]
        if not lines:
            raise typer.Exit()
        return replace(outcome, answer="\n".join(line for line in lines if not line.startswith("@@")))

    return differ


def recipe_of_thread(
    recipe: Recipe, inputs: Mapping[str, Any], said: Collection[str], *, file: str = "", heals: bool = False
) -> RecipeOfThread:
    """Return the run of a recipe for the record of a thread; the user has given the inputs `said`."""
    defaults = [key for key in inputs if key not in said]
    return {"recipe": recipe.to_json(), "inputs": inputs, "file": file, "heals": heals, "defaults": defaults}


def instruction_of_run(run: RecipeOfThread) -> str:
    """Return the run of a recipe in words."""
    from restgpt.nodes.state.recipe_run import instruction_of, recipe_record

    return instruction_of(recipe_record(recipe_of_json(run["recipe"]), _given(run)))


def sources_of(recipe: Recipe, named: Sources, settings: "Settings") -> "tuple[Sources, list[Api]]":
    """Return the named APIs, or the entries of apis.yaml that the recipe uses, and load them; raises `UsageError`."""
    from restgpt.specs.api import slug

    used = {slug(api.name): api.name for api in recipe.apis}
    entries = {slug(name): name for name in settings.apis}
    if named.is_empty and (missing := [name for key, name in used.items() if key not in entries]):
        raise UsageError(
            f"The recipe {recipe.name} uses the API {missing[0]}, which apis.yaml does not have. {settings.entries} "
            f"Add the entry {missing[0]}, or give its document with --spec."
        )
    sources = replace(named, names=tuple(entries[key] for key in used)) if named.is_empty else named
    apis = sources.load(settings)
    loaded = {slug(api.name) for api in apis}
    if missing := [name for key, name in used.items() if key not in loaded]:
        raise UsageError(
            f"The recipe {recipe.name} uses the API {missing[0]}, but the given documents are those of "
            f"{', '.join(api.name for api in apis)}. Give the spec of {missing[0]} with --spec, or its entry in "
            "apis.yaml with --api."
        )
    return sources, apis


def agent_of(run: RecipeOfThread, apis: "Sequence[Api]", **opened: Any) -> Agent:
    """Return the agent that carries out a recipe, with or without a model for healing; raises `RecipeFaultError`."""
    recipe, is_tool = recipe_of_json(run["recipe"]), run.get("is_passed", False)
    return Agent.of_recipe(recipe, apis, heals=run["heals"], is_tool=is_tool, **opened)


def graph_input(run: RecipeOfThread) -> dict[str, Any]:
    """Return the input of the graph that begins a run of a recipe."""
    from restgpt.nodes.state.recipe_run import recipe_record

    if run["heals"]:
        return {"recipe": recipe_record(recipe_of_json(run["recipe"]), _given(run), heals=True)}
    return {"inputs": _given(run)}


def _given(run: RecipeOfThread) -> dict[str, Any]:
    """Return the inputs that the user gave, without those that the file has given."""
    defaults = run.get("defaults", ())
    return {name: value for name, value in run["inputs"].items() if name not in defaults}


def settling(run: RecipeOfThread, thread: str, terminal: Terminal) -> Callable[[Outcome], Outcome]:
    """Return what adds the recipe to the outcome of its run, and says how to save what an agent did that healed it."""

    def settle(outcome: Outcome) -> Outcome:
        is_own = outcome.program is not None and outcome.program["writer"] == "recipe"
        if outcome.status == "done" and not outcome.error and run["heals"] and not is_own:
            terminal.say(
                f"The agent went on without the recipe. Save what it did with: restgpt recipe save {thread} NAME"
            )
        return replace(outcome, recipe=shown_run(run))

    return settle


def shown_run(run: RecipeOfThread) -> dict[str, Any]:
    """Return the recipe of a run for the JSON document of a command."""
    name = str(run["recipe"]["name"])
    return {"name": name, "file": run["file"], "inputs": dict(run["inputs"]), "heals": run["heals"]}
