"""The loop of the node parser: it sends the calls, pausing for approval, and reads what comes back.

    calls that wait ─→ decided by the rules ─→ asked about, if the rules want it ─→ sent ─→ read ─→ the next calls

The node ends before it asks a person, and before it sends changes, so that a checkpoint holds the question, the
approval and all answers until then; it also ends after a hundred reads. Then an edge leads to the node again, and it
goes on from the requests of the state. Plain reads need no checkpoint: a run that is killed sends them again. A
program waits in its process while its reads go out; after the end of a node it runs again with its answers.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from restgpt.calling.record import UNSENT, Request
from restgpt.graph.node import Node, node_of, tell
from restgpt.nodes.approval import UnapprovedCallError, decided_by_person, decided_by_rules, pause_id
from restgpt.nodes.dialogue.answer import proposed_end
from restgpt.nodes.parser import parse
from restgpt.nodes.run.context import Context
from restgpt.nodes.run.run import Run
from restgpt.nodes.run.services import Services
from restgpt.nodes.sender import sent
from restgpt.nodes.state.records import add_usage, merge_requests, seconds_spent, spent_since, tokens_spent
from restgpt.nodes.state.rounds import of_round, of_turn
from restgpt.tools.http.cancellation import cancellation
from restgpt.tools.sandbox.program import Live

MOST_READS = 100
"""The number of reads after which the node ends: a run that is killed sends no more of them again."""


def make_parser(services: Services, read: Callable[[Run, Any], dict[str, Any]] | None = parse) -> Node:
    """Make the node parser of a graph, which tells its events as they happen.

    `read` reads the answers to calls, or runs a program with them, and returns the update of the state; the node goes
    on until it leaves no call that waits. Without it, the node only sends.
    """

    def parser(state: Any, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        run = Run.open(services, runtime, config, spent=seconds_spent(state), tokens=tokens_spent(state), state=state)
        update: dict[str, Any] = {}
        with closing(Live()) as live:
            now, told = {**state, "live": live}, state["usage"]
            # A run that was cancelled, or that its host wants to end at the next checkpoint, goes no further.
            while not (update and (runtime.drain_requested or cancellation().is_cancelled)):
                if waiting := waiting_calls(now):
                    if update and _needs_checkpoint(waiting):
                        break
                    more = {"requests": _next(run, now, waiting, config)}
                elif read is None or run.usage()["requests"] >= MOST_READS:
                    break
                else:
                    more = read(run, now)
                if run.claim is not None:
                    run.claim.check()
                used = add_usage(state["usage"], run.usage())
                tell(now, {**more, "usage": spent_since(told, used)}, runtime, run.session.redactor)
                update, now, told = _merged(update, more), {**_merged(now, more), "usage": used}, used
                if not (waiting or waiting_calls(now)):
                    break
        return {**update, "usage": run.usage()}

    return node_of("parser", parser, services, tells=True)


def make_last_parser(services: Services) -> Node:
    """Make the node parser of a graph without a planner, in which the end of the program ends the run."""

    def read(run: Run, state: Any) -> dict[str, Any]:
        update = parse(run, state)
        if proposal := update.pop("proposal", None):
            update |= proposed_end(run, state, [*of_turn(state), *update["steps"]], proposal)
        return update

    return make_parser(services, read)


def waiting_calls(state: Any) -> list[Request]:
    """Return the calls of the round that may still be sent."""
    return [request for request in of_round(state) if request["status"] in UNSENT]


def _needs_checkpoint(waiting: Sequence[Request]) -> bool:
    """Return whether the next step of calls is a question, or a request that may change something."""
    kinds = {request["status"] for request in waiting}
    return "asked" in kinds or ("planned" not in kinds and not all(request["safe"] for request in waiting))


def _next(run: Run, state: Any, waiting: Sequence[Request], config: RunnableConfig) -> list[Request]:
    """Take calls one step further: a person's decision where they ask for one, then that of the rules, then sending."""
    of = {kind: [request for request in waiting if request["status"] == kind] for kind in UNSENT}
    if of["asked"]:
        if run.claim is None:
            raise UnapprovedCallError
        others = [*of["planned"], *of["approved"]]
        return decided_by_person(run.session, of["asked"], others, state.get("program"), pause_id(config))
    if of["planned"]:
        earlier = [request for step in state.get("steps", ()) for request in step["requests"]]
        return decided_by_rules(run.session, of["planned"], [*earlier, *state["requests"]])
    return sent(run.session, of["approved"], config)


def _merged(before: Any, update: dict[str, Any]) -> dict[str, Any]:
    """Return a state, or the updates before, with one more update, as the channels of the graph merge them.

    `steps` are not added to those before, because only the update that ends a round has them.
    """
    return {**before, **update, "requests": merge_requests(before.get("requests", []), update.get("requests", []))}
