"""The graph that carries out drafted calls without a model, with the loop and the journal of the agent's parser.

The graph of one program that a client gives: no planner and no model, only the agent's parser.

A thread that gets a corrected program does not repeat the changes that succeeded.

The undo of a thread as a graph of a LangGraph server: drafts reversals, asks about each, sends and notes them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, NotRequired

from langchain_core.runnables import RunnableConfig
from langgraph.channels import EphemeralValue, UntrackedValue
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from typing_extensions import TypedDict

from restgpt.calling.call import Call
from restgpt.calling.journal import Journal
from restgpt.calling.record import Request, request_of, undo_report
from restgpt.calling.undo import reversals, settle_reversals
from restgpt.graph.build import PARSES, compiled, make_resources
from restgpt.graph.node import Node, after_parser, after_sending, make_last_parser, make_parser, node_of, role_of
from restgpt.graph.persistence import undo_thread_id
from restgpt.nodes.intake import opened_turn
from restgpt.nodes.programs.program import client_update, corrected
from restgpt.nodes.run.run import Run, check_store
from restgpt.nodes.run.services import Context, Services
from restgpt.nodes.state.records import FORMAT, Text, Usage, add_usage, merge_requests, no_usage
from restgpt.nodes.state.state import Aggregate, Checked, Conversation, FormatChannel, OutputState, Requests, State
from restgpt.specs import Api
from restgpt.tools.errors import StoppingError
from restgpt.tools.graphs import ServedGraph


class CallsState(TypedDict):
    """The state of some calls: requests, sent in their order. `round` numbers the calls made together in a thread."""

    format: Annotated[int, FormatChannel]
    turn: NotRequired[Annotated[int, Checked]]
    round: int
    requests: Annotated[list[Request], Aggregate(Requests, merge_requests)]
    usage: Annotated[Usage, Aggregate(Usage, add_usage)]
    claim: NotRequired[Annotated[int, UntrackedValue(int, guard=False)]]


CallsGraph = CompiledStateGraph[CallsState, Context, CallsState, CallsState]


def calls_input(drafts: Iterable[Call], *, round_number: int = 1) -> CallsState:
    """Return the input of the graph: the drafts in order."""
    requests = [
        request_of(draft.to_json(), round_number=round_number, call=call) for call, draft in enumerate(drafts, 1)
    ]
    return {"format": FORMAT, "turn": 1, "round": round_number, "requests": requests, "usage": no_usage()}


def build_calls(
    services: Services,
    *,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    store: BaseStore | None = None,
) -> CallsGraph:
    """Build the graph that asks for approval of drafted calls, where the rules want it, and sends them in order.

    Without a checkpointer it is a subgraph, and uses that of its parent.
    """
    builder = StateGraph(CallsState, context_schema=Context)
    builder.add_node("parser", make_parser(services, None))
    builder.add_edge(START, "parser")
    builder.add_conditional_edges("parser", after_sending, {"next calls": "parser", "answered": END})
    graph: CallsGraph = compiled(builder, "Calls", checkpointer=checkpointer, store=store)
    return graph


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


class WrongUndoThreadError(StoppingError):
    """An undo runs in another thread than the one of its own, whose journal keeps each reversal from being sent twice.

    Raised before anything is sent.
    """

    def __init__(self, thread: str) -> None:
        super().__init__(
            f"The changes of a thread are undone in a thread of its own, which is {undo_thread_id(thread)} for this "
            "one. Run the undo there. Nothing was sent."
        )


class UndoInput(TypedDict, total=False):
    """The thread whose changes are undone, and how many of them, the newest ones; without a number, all."""

    thread: str
    changes: Annotated[Any, EphemeralValue]


class UndoOutput(TypedDict, total=False):
    """What was undone, in words."""

    messages: Conversation
    answer: str


class UndoState(CallsState):
    """The reversing calls, the thread whose changes they reverse, and what was said."""

    thread: Annotated[str, Checked]
    changes: NotRequired[Annotated[Any, EphemeralValue]]
    messages: Conversation
    answer: Text


UndoGraph = CompiledStateGraph[UndoState, Context, UndoInput, UndoOutput]


def build_undo(services: Services | None = None, *, checkpointer: Any = None, store: Any = None) -> UndoGraph:
    """Build the graph that undoes the changes of a thread, newest first; a person is asked about each reversal.

    It runs in the thread `undo_thread_id(thread)`. Changes that cannot be reversed are left out.
    """
    opened = services or Services()
    builder = StateGraph(UndoState, context_schema=Context, input_schema=UndoInput, output_schema=UndoOutput)
    builder.add_node("open", role_of("open", _open, opened))
    builder.add_node("parser", make_parser(opened, None))
    builder.add_node("settle", role_of("settle", _settle, opened))
    builder.add_edge(START, "open")
    builder.add_edge("open", "parser")
    builder.add_conditional_edges("parser", after_sending, {"next calls": "parser", "answered": "settle"})
    builder.add_edge("settle", END)
    graph: UndoGraph = compiled(builder, "Undo", checkpointer=checkpointer, store=store)
    return graph


def _open(run: Run, state: UndoState) -> dict[str, Any]:
    """Draft the reversals of a thread."""
    thread = state["thread"]
    if run.thread != undo_thread_id(thread):
        raise WrongUndoThreadError(thread)
    found = reversals(Journal(run.store, thread), run.catalogue, steps=_number(state.get("changes")))
    drafts = [item.draft for item in found if item.draft is not None]
    number = int(state.get("round") or 0) + 1
    said = {"type": "human", "content": f"Undo the changes of the thread {thread}."}
    return {**calls_input(drafts, round_number=number), "turn": number, "messages": [said], "answer": ""}


def _number(given: Any) -> int | None:
    """Return how many changes to undo; None for all."""
    return given if isinstance(given, int) and given > 0 else None


def _settle(run: Run, state: UndoState) -> dict[str, Any]:
    """Note in the journal of the thread what was undone, and say it."""
    records = [record for record in state["requests"] if record["round"] == state["round"]]
    settle_reversals(Journal(run.store, state["thread"]), records)
    answer = undo_report(records)
    return {"answer": answer, "messages": [{"type": "ai", "content": answer}]}


exported = build_undo()
"""The exported graph, without a checkpointer of its own."""

undo = ServedGraph.of(exported)
"""The exported graph as a LangGraph server loads it."""
