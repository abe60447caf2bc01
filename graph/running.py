"""The nodes that run a program: the parser, which sends the plain reads of the program itself, approval and sender.

A plain read needs no checkpoint: a run that is killed sends it again. So the node calls parser, approval and sender for
such reads, with their claims, events and budgets, and returns one update; between its reads the program waits in its
process. Changes and questions are left to the nodes of the graph.
"""

from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import get_executor_for_config
from langgraph.runtime import Runtime

from restgpt.graph.node import Node, node_of
from restgpt.graph.routes import batches_of_reads, planned_reads
from restgpt.nodes.approval import make_approval
from restgpt.nodes.dialogue.answer import proposed_end
from restgpt.nodes.parser import make_parser
from restgpt.nodes.programs.program import is_running
from restgpt.nodes.run.context import Context
from restgpt.nodes.run.run import Run
from restgpt.nodes.run.services import Services
from restgpt.nodes.sender import make_sender
from restgpt.nodes.state.records import add_usage, merge_requests
from restgpt.nodes.state.rounds import of_turn
from restgpt.tools.http.cancellation import cancellation
from restgpt.tools.sandbox.program import Live

MOST_READS = 100
"""The number of reads after which the node ends: a run that is killed sends no more of them again."""


def approval_node(services: Services) -> Node:
    """Make the node approval of a graph: fenced, with an event and a span for each of its runs."""
    return node_of("approval", make_approval(services), services)


def sender_node(services: Services) -> Node:
    """Make the node sender of a graph: fenced, with events and spans; several senders may run in one step."""
    return node_of("sender", make_sender(services), services, parallel=True)


def parser_node(services: Services) -> Node:
    """Make the node parser of a graph: fenced, with events and spans."""
    return node_of("parser", make_parser(services), services)


def make_running(services: Services, *, ends: bool = True) -> Node:
    """Make the node that runs a program and sends its plain reads.

    Where no planner follows, the end of the program `ends` the run.
    """
    parser, approval, sender = parser_node(services), approval_node(services), sender_node(services)

    def running(state: Any, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        with closing(Live()) as live:
            given = {**state, "live": live}
            update = parser(given, runtime, config)
            count = 0
            while (reads := _reads(now := _merged(given, update))) and count < MOST_READS and not _is_stopped(runtime):
                count += reads
                update = _merged(update, approval(now, runtime, config))
                now = _merged(given, update)
                batches = batches_of_reads(now)
                if batches is None:
                    break
                # The update sums up the usage of this node alone: the senders count from its seconds, not the thread's.
                began = update["usage"]["seconds"]
                for sent in _sent(sender, [{**batch, "began": began} for batch in batches], runtime, config):
                    update = _merged(update, sent)
                update = _merged(update, parser(_merged(given, update), runtime, config))
        if ends and (proposal := update.pop("proposal", None)):
            run, steps = Run.open(services, runtime, config, state=state), [*of_turn(state), *update["steps"]]
            update |= {**proposed_end(run, state, steps, proposal), "usage": update["usage"]}
        return update

    return running


def _reads(state: Any) -> int:
    """Return the number of reads that a running program has planned, if it has planned reads only."""
    return len(planned_reads(state)) if is_running(state.get("program")) else 0


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
