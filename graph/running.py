"""Graphs without a model, of a recipe or a given program: how they are wired, and their node `parser`.

The node runs the program up to its next change, and sends the plain reads before it.

A plain read needs no checkpoint: a run that is killed sends it again. So the node calls the nodes parser, approval and
sender itself for such reads, with their claims, events and budgets, and returns one update. It leaves changes,
questions and many reads at once to the nodes of the graph. After `MOST_SECONDS` it leaves them the reads too, so that a
long run shows its progress and does not start again from the first read.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import get_executor_for_config
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

from restgpt.graph.build import add_sending, approval_node, parser_node, recursion_limit, sender_node
from restgpt.graph.node import node_of
from restgpt.graph.resumption import reopened
from restgpt.graph.routes import batches_of_reads, planned_reads
from restgpt.graph.state import State
from restgpt.nodes.dialogue.answer import proposed_end
from restgpt.nodes.programs.program import is_running
from restgpt.nodes.run.context import MAX_STEPS, Context
from restgpt.nodes.run.run import Run
from restgpt.nodes.run.services import Services
from restgpt.nodes.state.records import add_usage, merge_requests
from restgpt.nodes.state.rounds import of_turn
from restgpt.tools.graphs.compiled_graph import DurableGraph
from restgpt.tools.graphs.thread_pool import on_loop, run_in_threads
from restgpt.tools.http.cancellation import cancellation

Node = Callable[..., dict[str, Any]]

MOST_SECONDS = 1.0
"""The seconds after which the node sends no further reads itself."""

MOST_PARALLEL_READS = 4
"""The maximum number of parallel reads that the node sends itself; each of more reads gets a checkpoint of its own."""


def compile_program_graph(
    builder: StateGraph[Any, Any, Any, Any],
    services: Services,
    *,
    name: str,
    opening: Node,
    opens: str,
    checkpointer: BaseCheckpointSaver[Any] | bool | None,
    store: BaseStore | None,
    concurrency: int | None,
) -> Any:
    """Wire and compile a graph without a model: `opening` begins a program, the other nodes run it and send its calls.

    `opens` describes the node `open` in drawings. The other arguments are those of `build_graph`.
    """
    builder.add_node("open", node_of("open", opening, services), metadata={"description": opens})
    builder.add_node(
        "parser",
        make_running(services),
        metadata={"description": "Runs the program and sends its reads, up to its next change."},
    )
    add_sending(builder, services, after="parser")
    builder.add_edge("sender", "parser")
    builder.add_edge(START, "open")
    builder.add_edge("open", "parser")
    builder.add_conditional_edges("parser", _after_parser, {"calls": "approval", "end": END})
    run_in_threads(builder, concurrency)
    compiled = builder.compile(checkpointer=checkpointer, store=store, name=name)
    graph = DurableGraph.of(compiled, traced_as="workflow", reopen=reopened)
    return graph.with_config(recursion_limit=recursion_limit(MAX_STEPS))


@on_loop
def _after_parser(state: State) -> Literal["calls", "end"]:
    """Go to approval with the calls of the program, or end: without a planner, nothing follows its end."""
    return "calls" if is_running(state.get("program")) else "end"


def make_running(services: Services) -> Node:
    """Make the node that runs the program of a recipe or of a client and sends its plain reads."""
    parser, approval, sender = parser_node(services), approval_node(services), sender_node(services)

    def running(state: Any, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        begun = services.clock()
        update = parser(state, runtime, config)
        while (
            _has_few_reads(now := _merged(state, update))
            and services.clock() - begun < MOST_SECONDS
            and not _is_stopped(runtime)
        ):
            update = _merged(update, approval(now, runtime, config))
            now = _merged(state, update)
            batches = batches_of_reads(now)
            if batches is None:
                break
            # The update sums up the usage of this node alone, so the senders count from its seconds, not the thread's.
            began = update["usage"]["seconds"]
            for sent in _sent(sender, [{**batch, "began": began} for batch in batches], runtime, config):
                update = _merged(update, sent)
            update = _merged(update, parser(_merged(state, update), runtime, config))
        if proposal := update.pop("proposal", None):
            run, steps = Run.open(services, runtime, config, state=state), [*of_turn(state), *update["steps"]]
            update |= {**proposed_end(run, state, steps, proposal), "usage": update["usage"]}
        return update

    return running


def _has_few_reads(state: Any) -> bool:
    """Return whether a running program has planned reads only, and few enough to send them here."""
    return is_running(state["program"]) and 0 < len(planned_reads(state)) <= MOST_PARALLEL_READS


def _is_stopped(runtime: Runtime[Context]) -> bool:
    """Return whether the run was cancelled, or the host asked it to end at the next checkpoint."""
    return runtime.drain_requested or cancellation().is_cancelled


def _sent(
    sender: Node, batches: Sequence[dict[str, Any]], runtime: Runtime[Context], config: RunnableConfig
) -> list[dict[str, Any]]:
    """Return the updates of senders that run in parallel, at most `max_concurrency` of the config at once.

    Raises the first error in the order of the program, after all senders that had begun have ended.
    """
    send = partial(sender, runtime=runtime, config=config)
    if len(batches) <= 1:
        return [send(batch) for batch in batches]
    with get_executor_for_config(config) as executor:
        return list(executor.map(send, batches))


def _merged(before: Any, update: dict[str, Any]) -> Any:
    """Return a state, or the updates before, with one more update, as the channels of the graph merge them.

    `steps` are not added to those before, because only the update that ends the program has them.
    """
    requests = merge_requests(before.get("requests", []), update.get("requests", []))
    return {**before, **update, "requests": requests, "usage": add_usage(before["usage"], update["usage"])}
