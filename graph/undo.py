"""The undo of a thread as a graph of a LangGraph server: drafts reversals, asks about each, sends and notes them."""

from typing import Annotated, Any, NotRequired

from langgraph.channels import EphemeralValue
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from typing_extensions import TypedDict

from restgpt.calling.journal.journal import Journal
from restgpt.calling.record import undo_report
from restgpt.calling.undo.reversal import reversals, settle_reversals
from restgpt.graph.build import compiled
from restgpt.graph.calls import CallsState, calls_input
from restgpt.graph.node import role_of
from restgpt.graph.persistence import undo_thread_id
from restgpt.graph.running import after_sending, make_parser
from restgpt.nodes.run.context import Context
from restgpt.nodes.run.run import Run
from restgpt.nodes.run.services import Services
from restgpt.nodes.state.records import Text
from restgpt.nodes.state.state import Checked, Conversation
from restgpt.tools.errors import StoppingError
from restgpt.tools.graphs.served_graph import ServedGraph


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
