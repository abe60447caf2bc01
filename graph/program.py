"""The graph of one program that a client gives: no planner and no model; its calls pass the nodes of the agent's graph.

open → parser ⇄ approval → sender. The parser runs the program in the sandbox as far as its next changes, as it runs
the programs of the agent. A thread that gets a corrected program does not repeat the changes that succeeded.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NotRequired

from langchain_core.runnables import RunnableConfig
from langgraph.channels import EphemeralValue
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from typing_extensions import TypedDict

from restgpt.graph.build import make_resources
from restgpt.graph.channels import Conversation
from restgpt.graph.running import compile_program_graph
from restgpt.graph.state import OutputState, State
from restgpt.nodes.intake import opened_turn
from restgpt.nodes.programs.client import client_update, corrected
from restgpt.nodes.run.context import Context
from restgpt.nodes.run.run import Run, check_store
from restgpt.nodes.run.services import Services
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
    builder = StateGraph(
        ProgramGraphState, context_schema=Context, input_schema=ProgramInput, output_schema=OutputState
    )
    graph: ProgramGraph = compile_program_graph(
        builder,
        services,
        name="Program",
        opening=make_opening(services),
        opens="Opens a run of the given program.",
        checkpointer=checkpointer,
        store=store,
        concurrency=concurrency,
    )
    return graph


def make_opening(services: Services) -> Callable[..., dict[str, Any]]:
    """Make the node that opens a run of a client's program: a turn of its own, or a correction of the last program."""

    def opening(state: ProgramGraphState, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        run = Run.open(services, runtime, config)
        before = corrected(state, run.thread)
        opened: dict[str, Any] = {} if before else opened_turn(state)  # type: ignore[arg-type]
        begun: Any = {**state, **opened, "messages": state.get("messages", [])}
        if not before:
            begun |= {"usage": opened["baseline"], "steps": state.get("steps", [])}
        given = state.get("operations")
        return {**opened, **client_update(run, begun, state["code"], before=before, operations=given)}

    return opening
