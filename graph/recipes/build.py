"""The graph of one recipe: no planner and no model; its calls pass the nodes of the agent's graph."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, get_type_hints

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels import EphemeralValue
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from pydantic import WithJsonSchema
from typing_extensions import TypedDict

from restgpt.calling.recipes.recipe import Recipe
from restgpt.graph.build import add_sending, make_resources, recursion_limit
from restgpt.graph.node import node_of
from restgpt.graph.recipes.running import make_running
from restgpt.graph.state import OutputState, State
from restgpt.nodes.context import MAX_STEPS, Context
from restgpt.nodes.intake import intake
from restgpt.nodes.program import is_running
from restgpt.nodes.recipes.record import GivenRecipe, recipe_record
from restgpt.nodes.recipes.start import recipe_update
from restgpt.nodes.resources import Resources, check_store
from restgpt.specs import Api
from restgpt.tools.durable_graph import DurableGraph
from restgpt.tools.thread_pool import on_loop, run_in_threads


class RecipeInput(TypedDict, total=False):
    """The input of a recipe's graph: its inputs by name, and what the user says besides, if anything."""

    inputs: Annotated[Any, EphemeralValue]
    messages: Annotated[list[AnyMessage], add_messages]


class RecipeGraphState(State):
    """The state of a recipe's graph: that of the agent, with the inputs in the step after they were given."""

    inputs: Annotated[Any, EphemeralValue]


RecipeGraph = CompiledStateGraph[RecipeGraphState, Context, RecipeInput, OutputState]


def build_recipe(
    recipe: Recipe,
    apis: Sequence[Api] | None = None,
    *,
    context: Context | Mapping[str, Any] | None = None,
    checkpointer: BaseCheckpointSaver[Any] | bool | None = None,
    store: BaseStore | None = None,
    resources: Resources | None = None,
    concurrency: int | None = None,
    is_tool: bool = False,
) -> RecipeGraph:
    """Build the graph that runs a recipe without a model; its input is `{"inputs": {…}}`, its output has `answer`.

    The arguments are those of `build_graph`. With `is_tool` the inputs are not the user's words. Without `apis` and
    `resources`, the APIs that the recipe names are read from `apis.yaml`. Raises `ValueError` as `build_graph` does.
    """
    check_store(checkpointer, store)
    is_configured = apis is None and resources is None
    resources = make_resources(apis, model=None, models=None, context=context, store=store, resources=resources)
    if is_configured:
        resources = narrowed(resources, recipe)
    builder = StateGraph(
        RecipeGraphState, context_schema=Context, input_schema=_input_of(recipe), output_schema=OutputState
    )
    builder.add_node(
        "open",
        node_of("open", make_opening(recipe, resources, is_tool=is_tool), resources),
        metadata={"description": "Opens a run of the recipe with its inputs."},
    )
    builder.add_node(
        "parser",
        make_running(resources),
        metadata={"description": "Runs the recipe's program and sends its reads, up to its next change."},
    )
    add_sending(builder, resources, after="parser")
    builder.add_edge(START, "open")
    builder.add_edge("open", "parser")
    builder.add_conditional_edges("parser", _after_parser, {"calls": "approval", "answer": END})
    run_in_threads(builder, concurrency)
    compiled = builder.compile(checkpointer=checkpointer, store=store, name=recipe.name)
    graph = DurableGraph.of(compiled, traced_as="workflow")
    return graph.with_config(recursion_limit=recursion_limit(MAX_STEPS))


def narrowed(resources: Resources, recipe: Recipe) -> Resources:
    """Return resources whose runs use the APIs of a recipe only, unless the settings of runs name APIs."""
    return resources if resources.defaults.apis else resources.with_defaults(apis=[api.name for api in recipe.apis])


def _input_of(recipe: Recipe) -> type[RecipeInput]:
    """Return the input schema of a recipe's graph, which describes the inputs to clients such as Studio."""
    described = Annotated[Any, WithJsonSchema(dict(recipe.inputs)), EphemeralValue]
    keys: Any = {**get_type_hints(RecipeInput, include_extras=True), "inputs": described}
    return TypedDict("RecipeInput", keys, total=False)  # type: ignore[operator,no-any-return]


def make_opening(recipe: Recipe, resources: Resources, *, is_tool: bool = False) -> Callable[..., dict[str, Any]]:
    """Make the node that opens a run of a recipe; it raises `RecipeInputError` for inputs that do not fit."""

    def opening(state: RecipeGraphState, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        record = recipe_record(recipe, state.get("inputs") or {}, is_passed=is_tool)
        opened = intake({**state, "recipe": GivenRecipe(record)})  # type: ignore[typeddict-item]
        run = resources.open(runtime, config)
        begun: Any = {**state, **opened, "messages": [*state.get("messages", ()), *opened["messages"]]}
        return {**opened, **recipe_update(run, begun, opened["recipe"])}

    return opening


@on_loop
def _after_parser(state: State) -> Literal["calls", "answer"]:
    """Go to approval with the calls of the program, or end: without a planner, every end of it is the answer."""
    return "calls" if is_running(state.get("program")) else "answer"
