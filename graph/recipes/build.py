"""The graph of one recipe: no planner and no model; its calls pass the nodes of the agent's graph."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, get_type_hints

from langchain_core.runnables import RunnableConfig
from langgraph.channels import EphemeralValue
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from pydantic import WithJsonSchema
from typing_extensions import TypedDict

from restgpt.graph.build import make_resources
from restgpt.graph.program import compile_program_graph
from restgpt.nodes.intake import intake
from restgpt.nodes.recipes.start import recipe_update
from restgpt.nodes.run.context import Context
from restgpt.nodes.run.run import Run, check_store
from restgpt.nodes.run.services import Services
from restgpt.nodes.state.recipe_run import GivenRecipe, recipe_record
from restgpt.nodes.state.state import Conversation, OutputState, State
from restgpt.recipes.recipe import Recipe
from restgpt.specs import Api


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
