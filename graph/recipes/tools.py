"""Recipes as tools of LangChain: one tool for each, which runs the recipe's graph and returns its answer."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from langchain_core.tools import StructuredTool
from langgraph.store.base import BaseStore

from restgpt.graph.build import make_resources
from restgpt.graph.recipes.build import RecipeGraph, RecipeInput, build_recipe, narrowed
from restgpt.nodes.run.context import Context
from restgpt.nodes.run.services import Services
from restgpt.recipes.book import RecipeBook, read_recipe
from restgpt.recipes.recipe import Recipe
from restgpt.specs import Api
from restgpt.tools.graphs.compiled_graph import own_thread
from restgpt.tools.settings import Settings

RESERVED = frozenset({"self", "config", "run_manager", "callbacks"})
"""The names that a tool's function has for itself; an input of such a name gets an underscore in the tool."""


def load_recipes(
    source: Path | str | Sequence[Recipe | Path | str] | None = None,
    *,
    apis: Api | Sequence[Api] | None = None,
    context: Context | Mapping[str, Any] | None = None,
    store: BaseStore | None = None,
    services: Services | None = None,
) -> list[StructuredTool]:
    """Load recipes as tools: those of a folder, of a list of names and files, or all of the configured folder.

    The other arguments are those of `build_recipe`; all tools share their connections and documents. Inside a node of
    a LangGraph graph, a tool is a subgraph: it uses the checkpointer and the store of the graph, and a pause for
    approval is a pause of that graph. Raises `RecipeFileError` for a file that is no recipe, and for a name that the
    folder does not have.
    """
    is_configured = apis is None and services is None
    services = make_resources(apis, model=None, models=None, context=context, store=store, services=services)
    tools = []
    for recipe in _recipes(source):
        own = narrowed(services, recipe) if is_configured else services
        # A model may call the tool, so its inputs are not what the user said.
        tools.append(_tool(recipe, build_recipe(recipe, store=store, services=own, is_tool=True)))
    return tools


def _recipes(source: Path | str | Sequence[Recipe | Path | str] | None) -> list[Recipe]:
    if source is None or isinstance(source, Path | str):
        book = RecipeBook(Path(source) if source is not None else Settings.from_env().recipes)
        return [book.load(name) for name in book.names()]
    book = RecipeBook(Settings.from_env().recipes)
    return [_recipe(item, book) for item in source]


def _recipe(item: Recipe | Path | str, book: RecipeBook) -> Recipe:
    if isinstance(item, Recipe):
        return item
    return read_recipe(item) if isinstance(item, Path) else book.load(item)


def _tool(recipe: Recipe, graph: RecipeGraph) -> StructuredTool:
    names = {f"{name}_" if name in RESERVED else name: name for name in recipe.properties}

    def given(inputs: Mapping[str, Any]) -> RecipeInput:
        return {"inputs": {names.get(name, name): value for name, value in inputs.items()}}

    def run(**inputs: Any) -> str:
        return str(graph.invoke(given(inputs), own_thread()).get("answer", ""))

    async def arun(**inputs: Any) -> str:
        return str((await graph.ainvoke(given(inputs), own_thread())).get("answer", ""))

    return StructuredTool(
        name=recipe.name.replace("-", "_"),
        description=recipe.description or recipe.name,
        args_schema=_schema(recipe, {name: shown for shown, name in names.items()}),
        func=run,
        coroutine=arun,
    )


def _schema(recipe: Recipe, shown: Mapping[str, str]) -> dict[str, Any]:
    properties = {shown[name]: schema for name, schema in recipe.properties.items()}
    schema = {**recipe.inputs, "properties": properties}
    if recipe.required:
        schema["required"] = [shown.get(name, name) for name in recipe.required]
    return schema
