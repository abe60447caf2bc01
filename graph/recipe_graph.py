"""The graph of one recipe: no planner and no model; its calls pass the nodes of the agent's graph.

Recipes as tools of LangChain: one tool for each, which runs the recipe's graph and returns its answer.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool
from langgraph.channels import EphemeralValue
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from pydantic import WithJsonSchema
from typing_extensions import TypedDict

from restgpt.graph.build import make_resources
from restgpt.graph.single import compile_program_graph
from restgpt.nodes.intake import intake
from restgpt.nodes.recipe_choice import recipe_update
from restgpt.nodes.run.run import Run, check_store
from restgpt.nodes.run.services import Context, Services
from restgpt.nodes.state.recipe_run import GivenRecipe, recipe_record
from restgpt.nodes.state.state import Conversation, OutputState, State
from restgpt.recipes.book import RecipeBook, read_recipe
from restgpt.recipes.recipe import Recipe
from restgpt.specs import Api
from restgpt.tools.graphs import own_thread
from restgpt.tools.settings import Settings


class RecipeInput(TypedDict, total=False):
    """The input of a recipe's graph: its inputs by name, and what the user says besides, if anything."""

    inputs: Annotated[Any, EphemeralValue]
    messages: Conversation


class RecipeGraphState(State):
    """The state of a recipe's graph: that of the agent, with the inputs in the step after they were given."""

    inputs: Annotated[Any, EphemeralValue]


RecipeGraph = CompiledStateGraph[RecipeGraphState, Context, RecipeInput, OutputState]


def build_recipe(
    recipe: Recipe,
    apis: Api | Sequence[Api] | None = None,
    *,
    context: Context | Mapping[str, Any] | None = None,
    checkpointer: BaseCheckpointSaver[Any] | bool | None = None,
    store: BaseStore | None = None,
    services: Services | None = None,
    concurrency: int | None = None,
    is_tool: bool = False,
) -> RecipeGraph:
    """Build the graph that runs a recipe without a model; its input is `{"inputs": {…}}`, its output has `answer`.

    The arguments are those of `build_graph`. With `is_tool` the inputs are not the user's words. Without `apis` and
    `services`, the APIs that the recipe names are read from `apis.yaml`. Raises `ValueError` as `build_graph` does.
    """
    check_store(checkpointer, store)
    is_configured = apis is None and services is None
    services = make_resources(apis, model=None, models=None, context=context, store=store, services=services)
    if is_configured:
        services = narrowed(services, recipe)
    graph: RecipeGraph = compile_program_graph(
        RecipeGraphState,
        _input_of(recipe),
        services,
        name=recipe.name,
        opening=make_opening(recipe, services, is_tool=is_tool),
        opens="Opens a run of the recipe with its inputs.",
        checkpointer=checkpointer,
        store=store,
        concurrency=concurrency,
    )
    return graph


def narrowed(services: Services, recipe: Recipe) -> Services:
    """Return services whose runs use the APIs of a recipe only, unless the settings of runs name APIs."""
    return services if services.defaults.apis else services.with_defaults(apis=[api.name for api in recipe.apis])


def _input_of(recipe: Recipe) -> type[RecipeInput]:
    """Return the input schema of a recipe's graph, which describes the inputs to clients such as Studio."""
    described = Annotated[Any, WithJsonSchema(dict(recipe.inputs)), EphemeralValue]
    keys: Any = {**get_type_hints(RecipeInput, include_extras=True), "inputs": described}
    return TypedDict("RecipeInput", keys, total=False)  # type: ignore[operator,no-any-return]


def make_opening(recipe: Recipe, services: Services, *, is_tool: bool = False) -> Callable[..., dict[str, Any]]:
    """Make the node that opens a run of a recipe; it raises `RecipeInputError` for inputs that do not fit."""

    def opening(state: RecipeGraphState, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        record = recipe_record(recipe, state.get("inputs") or {}, is_passed=is_tool)
        opened = intake({**state, "recipe": GivenRecipe(record)}, config)  # type: ignore[typeddict-item]
        begun: Any = {**state, **opened, "messages": [*state.get("messages", ()), *opened["messages"]]}
        run = Run.open(services, runtime, config, state={"turn_id": opened["turn_id"]})
        return {**opened, **recipe_update(run, begun, opened["recipe"])}

    return opening


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
