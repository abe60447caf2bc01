"""The state machine: planner, selector, caller and parser, connected as in section 3 of the paper."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore

from restgpt.graph.node import after_caller, after_parser, after_planner, make_parser, node_of, reopened, role_of
from restgpt.nodes.caller import make_caller
from restgpt.nodes.dialogue.answer import Form
from restgpt.nodes.intake import intake
from restgpt.nodes.planner import make_planner
from restgpt.nodes.run.run import check_store
from restgpt.nodes.run.services import MAX_STEPS, Context, Services
from restgpt.nodes.selector import MAX_CALLS, select_operations
from restgpt.nodes.state.results import MAX_REPAIRS
from restgpt.nodes.state.state import FormedState, InputState, OutputState, State
from restgpt.specs import Api
from restgpt.tools.graphs import DurableGraph, run_in_threads
from restgpt.tools.model.provider import ChatModel
from restgpt.tools.tracing.span import RunKind

if TYPE_CHECKING:
    import requests

Graph = CompiledStateGraph[State, Context, InputState, OutputState]

NODES_PER_STEP = 8 + 9 * MAX_CALLS * (1 + MAX_REPAIRS)
"""The maximum number of node runs for one API plan: planning, and each call alone with all its repairs."""

PARSES = "Sends the calls, pausing for approval, and reads what comes back."
"""What the node parser does, in drawings."""

DESCRIPTION = "Fulfils an instruction in plain language by planning and calling operations of REST APIs."


def build_graph(
    apis: Api | Sequence[Api] | None = None,
    *,
    model: str | ChatModel | None = None,
    models: Mapping[str, str | ChatModel] | None = None,
    context: Context | Mapping[str, Any] | None = None,
    checkpointer: BaseCheckpointSaver[Any] | bool | None = None,
    store: BaseStore | None = None,
    services: Services | None = None,
    concurrency: int | None = None,
    name: str = "RestGPT",
    response_format: type[Any] | None = None,
) -> Graph:
    """Build the agent for one API or several, or for the APIs of `apis.yaml` if `apis` is None.

    `model` is the model of all roles, `models` the models of single roles (planner, selector, caller, parser).
    `context` gives defaults for the settings of a run. For a subgraph, leave `checkpointer=None`: it uses its parent's.
    This function reads no file and opens no connection: a run loads models and documents when it first needs them.
    `services` replaces `apis`, `model`, `models` and `context`. `concurrency` is the number of threads that the graph
    gets for `ainvoke`, `astream` and `abatch`; without it, the graph uses the thread pool that all graphs share.
    `response_format`, a pydantic model, a dataclass or a `TypedDict`, has the answer as such a value under
    `structured_response` too, with one more model call where the report has not that form; None if it cannot be had.
    Raises `ValueError` if `services` is given with an argument that it replaces, and for a persistent checkpointer
    without a store, because the store holds the write journal and the response bodies.
    """
    check_store(checkpointer, store)
    services = make_resources(apis, model=model, models=models, context=context, store=store, services=services)
    form = None if response_format is None else Form(response_format)
    services = services if form is None else services.with_rule(form.rule)
    builder = StateGraph(
        State, context_schema=Context, input_schema=InputState, output_schema=FormedState if form else OutputState
    )
    builder.add_node(
        "intake",
        node_of("intake", lambda state, runtime, config: intake(state, config, name), services),
        metadata={"description": "Opens a turn with the instruction."},
    )
    builder.add_node(
        "planner",
        role_of("planner", make_planner(name, form), services),
        metadata={"description": "Decides on the sub-task, first the whole instruction, or on the answer."},
    )
    builder.add_node(
        "selector",
        role_of("selector", select_operations, services),
        metadata={"description": "Chooses operations for the sub-task, by search for a program."},
    )
    add_executor(builder, services)
    builder.add_edge(START, "intake")
    builder.add_edge("intake", "planner")
    builder.add_conditional_edges("planner", after_planner, {"plan / continue": "selector", "end": END})
    builder.add_edge("selector", "caller")
    add_loop(builder, "selector", "planner")
    options: Any = {"checkpointer": checkpointer, "store": store, "concurrency": concurrency}
    graph: Graph = compiled(builder, name, traced_as="agent", **options)
    return graph


def compiled(
    builder: StateGraph[Any, Any, Any, Any],
    name: str,
    *,
    checkpointer: BaseCheckpointSaver[Any] | bool | None,
    store: BaseStore | None,
    concurrency: int | None = None,
    traced_as: RunKind = "workflow",
) -> Any:
    """Compile a graph whose nodes run in threads, and whose unused approvals a later answer decides again.

    The arguments are those of `build_graph`; `traced_as` says whether it asks models.
    """
    run_in_threads(builder, concurrency)
    graph = builder.compile(checkpointer=checkpointer, store=store, name=name)
    durable = DurableGraph.of(graph, traced_as=traced_as, reopen=reopened)
    return durable.with_config(recursion_limit=recursion_limit(MAX_STEPS))


def make_resources(
    apis: Api | Sequence[Api] | None,
    *,
    model: str | ChatModel | None,
    models: Mapping[str, str | ChatModel] | None,
    context: Context | Mapping[str, Any] | None,
    store: BaseStore | None,
    services: Services | None,
    session: "requests.Session | None" = None,
) -> Services:
    """Return the given services, or create them from the other arguments; raises `ValueError` if both are given."""
    if services is None:
        defaults = context if isinstance(context, Context) else Context(**(context or {}))
        return Services(apis, model=model, models=models, defaults=defaults, store=store, session=session)
    given = {"apis": apis, "model": model, "models": models, "context": context, "session": session}
    if twice := [name for name, value in given.items() if value is not None]:
        raise ValueError(
            f"{' and '.join(twice)} cannot be given together with services. Give them to Services instead: "
            "build_graph(services=Services(apis, model=…, models=…, defaults=Context(…)))"
        )
    return services


def add_executor(builder: StateGraph[Any, Any, Any, Any], services: Services, *, programs: bool = True) -> None:
    """Add caller and parser, which are the executor of the paper, to a builder with `State`.

    Without `programs` the caller writes no programs, whatever the run's setting is. `add_loop` adds the edges out of
    caller and parser.
    """
    builder.add_node(
        "caller",
        role_of("caller", make_caller(programs=programs), services),
        metadata={"description": "Writes a program that makes the calls, or their arguments."},
    )
    builder.add_node("parser", make_parser(services), metadata={"description": PARSES})


def add_loop(builder: StateGraph[Any, Any, Any, Any], choice: str, decision: str) -> None:
    """Add the edges out of caller and parser: back to `choice` without a call, and to `decision` with a result."""
    builder.add_conditional_edges(
        "caller", after_caller, {"functions or unknown value": choice, "program or calls": "parser"}
    )
    builder.add_conditional_edges(
        "parser", after_parser, {"next calls": "parser", "next call or repair": "caller", "result": decision}
    )


def recursion_limit(max_steps: int) -> int:
    """Return the maximum number of supersteps for `max_steps` API plans."""
    return 10 + max_steps * NODES_PER_STEP
