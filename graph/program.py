"""The graph of one program that a client gives: no planner and no model, only the agent's parser.

A thread that gets a corrected program does not repeat the changes that succeeded.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NotRequired

from langchain_core.runnables import RunnableConfig
from langgraph.channels import EphemeralValue
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from typing_extensions import TypedDict

from restgpt.graph.build import PARSES, compiled, make_resources
from restgpt.graph.node import Node, node_of
from restgpt.graph.running import after_parser, make_last_parser
from restgpt.nodes.intake import opened_turn
from restgpt.nodes.programs.client import client_update, corrected
from restgpt.nodes.run.context import Context
from restgpt.nodes.run.run import Run, check_store
from restgpt.nodes.run.services import Services
from restgpt.nodes.state.state import Conversation, OutputState, State
from restgpt.specs import Api


class ProgramInput(TypedDict):
    """The input of the graph: the program, the only operations that it may call (None: all), and earlier answers.

    `messages` may hold answers of the agent, whose metadata names the APIs of which the writer of the program has seen
    answers. A human message counts as the user's words, so a host gives none that a model wrote.
    """

    code: Annotated[str, EphemeralValue]
    operations: NotRequired[Annotated[list[str] | None, EphemeralValue]]
    messages: NotRequired[Conversation]


class ProgramGraphState(State):
    """The state of the graph: that of the agent, with the program in the step after it was given."""

    code: Annotated[str, EphemeralValue]
    operations: Annotated[list[str] | None, EphemeralValue]


ProgramGraph = CompiledStateGraph[ProgramGraphState, Context, ProgramInput, OutputState]


def build_program(
    apis: Api | Sequence[Api] | None = None,
    *,
    context: Context | Mapping[str, Any] | None = None,
    checkpointer: BaseCheckpointSaver[Any] | bool | None = None,
    store: BaseStore | None = None,
    services: Services | None = None,
    concurrency: int | None = None,
) -> ProgramGraph:
    """Build the graph that runs the Python program of its input, `{"code": …}`, over the operations as functions.

    The arguments are those of `build_graph`. A run raises `UnknownOperationError` for an operation that the input names
    and the APIs do not have, and `UnfinishedProgramError` for a new program while the thread's last one has not ended.
    """
    check_store(checkpointer, store)
    services = make_resources(apis, model=None, models=None, context=context, store=store, services=services)
    graph: ProgramGraph = compile_program_graph(
        ProgramGraphState,
        ProgramInput,
        services,
        name="Program",
        opening=make_opening(services),
        opens="Opens a run of the given program.",
        checkpointer=checkpointer,
        store=store,
        concurrency=concurrency,
    )
    return graph


def compile_program_graph(
    state: type[Any],
    given: type[Any],
    services: Services,
    *,
    name: str,
    opening: Node,
    opens: str,
    checkpointer: BaseCheckpointSaver[Any] | bool | None,
    store: BaseStore | None,
    concurrency: int | None,
) -> Any:
    """Build a graph without a model: `opening` begins a program, the other nodes run it and send its calls.

    `state` is the schema of its state, `given` that of its input, and `opens` describes the node `open` in drawings.
    The other arguments are those of `build_graph`.
    """
    builder = StateGraph(state, context_schema=Context, input_schema=given, output_schema=OutputState)
    builder.add_node("open", node_of("open", opening, services), metadata={"description": opens})
    builder.add_node("parser", make_last_parser(services), metadata={"description": PARSES})
    builder.add_edge(START, "open")
    builder.add_edge("open", "parser")
    builder.add_conditional_edges("parser", after_parser, {"next calls": "parser", "result": END})
    return compiled(builder, name, checkpointer=checkpointer, store=store, concurrency=concurrency)


def make_opening(services: Services) -> Callable[..., dict[str, Any]]:
    """Make the node that opens a run of a client's program: a turn of its own, or a correction of the last program."""

    def opening(state: ProgramGraphState, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        before = corrected(state, str(config.get("configurable", {}).get("thread_id")))
        opened: dict[str, Any] = {} if before else opened_turn(state, config)
        begun: Any = {**state, **opened, "messages": state.get("messages", [])}
        if not before:
            begun |= {"usage": opened["baseline"], "steps": state.get("steps", [])}
        run = Run.open(services, runtime, config, state={"turn_id": begun["turn_id"]})
        given = state.get("operations")
        return {**opened, **client_update(run, begun, state["code"], before=before, operations=given)}

    return opening
