"""A node's road: everything that happens around the function of a node, in the order in which a run passes it.

How a run goes on: the loop of the node parser, the edges out of each node, and the answer that resumes a thread.

The parser sends the calls, pausing for approval, and reads what comes back:

    calls that wait ─→ decided by the rules ─→ asked about, if the rules want it ─→ sent ─→ read ─→ the next calls

The node ends before it asks a person, and before it sends changes, so that a checkpoint holds the question, the
approval and all answers until then; it also ends after a hundred reads. Then an edge leads to the node again, and it
goes on from the requests of the state. Plain reads need no checkpoint: a run that is killed sends them again. A
program waits in its process while its reads go out; after the end of a node it runs again with its answers.

A person's answer decides the question that is open, or takes the place of an approval that was not used yet. An
approved request that did not go out, because the API was down or the process was killed, stays in the person's hands:
the next answer opens its question again, whoever resumes the thread, so a rejection sends nothing.

The functions of the edges return the labels of the edges in the drawing.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import cache, wraps
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime
from langgraph.types import Command, StateSnapshot

from restgpt.calling.record import UNSENT, Request
from restgpt.nodes.approval import (
    UnapprovedCallError,
    decided_by_person,
    decided_by_rules,
    decisions_of,
    pause_id,
    sent,
)
from restgpt.nodes.dialogue.answer import proposed_end
from restgpt.nodes.parser import parse
from restgpt.nodes.programs.program import is_running
from restgpt.nodes.run.events import events_of, shown
from restgpt.nodes.run.run import CLAIM, Run, run_claim
from restgpt.nodes.run.services import Context, Services
from restgpt.nodes.state.records import add_usage, merge_requests, spent_since, turn_usage, waits_until
from restgpt.nodes.state.results import is_asked, is_closed, of_round, of_turn
from restgpt.nodes.state.state import State
from restgpt.tools.errors import OutdatedDecisionError, WaitingError
from restgpt.tools.graphs import Reopened, WaitBelow, on_loop
from restgpt.tools.http.cancellation import cancellation
from restgpt.tools.sandbox.runner import Live
from restgpt.tools.text.redaction import withholding
from restgpt.tools.tracing.telemetry import observed

Node = Callable[..., dict[str, Any]]


def node_of(name: str, node: Node, services: Services, *, tells: bool = False) -> Node:
    """Return the function as the node `name` of a graph.

    Under asyncio the node gets a thread of the pool (`run_in_threads`). Then, from the outside to the inside:

    1. no error leaves the node with a secret (`withholding`);
    2. its run is logged and has a span (`observed`);
    3. it runs only while its run holds the thread, and else raises `LostClaimError`;
    4. its update is told as events, before the next node runs (`tell`), unless the node `tells` them itself.

    The first node of a run takes the next number of the thread, and a channel that no checkpoint holds keeps it for the
    other nodes. A run that was stopped, and goes on after another run has taken over on any machine, ends at its
    current node: that node sends no change, and saves no checkpoint that would take the thread back.
    """

    def told(state: Any, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        update = node(state, runtime, config)
        if not tells:
            tell(state, update, runtime, services)
        return update

    @wraps(node)
    def in_run(state: Any, runtime: Runtime[Context], config: RunnableConfig) -> Any:
        claim = run_claim(state.get("claim"), services.store_of(runtime), runtime, config)
        if claim is None:
            return told(state, runtime, config)
        configurable = {**config.get("configurable", {}), CLAIM: claim}
        try:
            update = told(state, runtime, {**config, "configurable": configurable})
        except GraphBubbleUp:
            claim.check()
            raise
        claim.check()
        return {**update, "claim": claim.number}

    return withholding(observed(name, in_run), services.redactor)


def role_of(name: str, role: Callable[[Run, Any], dict[str, Any]], services: Services) -> Node:
    """Return a role as the node `name`: its run is opened once."""

    def node(state: Any, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        return role(Run.open(services, runtime, config, used=turn_usage(state), state=state), state)

    return node_of(name, node, services)


def tell(state: Any, update: Any, runtime: Runtime[Context], services: Services) -> None:
    """Write the events of an update of a state to the stream mode `custom`, without secrets."""
    redactor = cache(services.redactor)
    for event in events_of(state, update):
        runtime.stream_writer(shown(event, lambda text: redactor().text(text)))


MOST_READS = 100
"""The number of reads after which the node ends: a run that is killed sends no more of them again."""


def make_parser(services: Services, read: Callable[[Run, Any], dict[str, Any]] | None = parse) -> Node:
    """Make the node parser of a graph, which tells its events as they happen.

    `read` reads the answers to calls, or runs a program with them, and returns the update of the state; the node goes
    on until it leaves no call that waits. Without it, the node only sends.
    """

    def parser(state: Any, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        run = Run.open(services, runtime, config, used=turn_usage(state), state=state)
        _wait(run, state)
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
                tell(now, {**more, "usage": spent_since(told, used)}, runtime, services)
                update, now, told = _merged(update, more), {**_merged(now, more), "usage": used}, used
                if not (waiting or waiting_calls(now)):
                    break
        return {**update, "usage": run.usage()}

    return node_of("parser", parser, services, tells=True)


def _wait(run: Run, state: Any) -> None:
    """Have the node run again when the wait of its program is over. Raises `WaitingError` for a long one."""
    now = run.services.now()
    until = 0.0 if waiting_calls(state) else waits_until(state.get("program"), now)
    seconds = until - now
    if seconds > run.context.max_wait:
        last = state["requests"][-1]["operation"] if state["requests"] else ""
        raise WaitingError(until, last, run.thread)
    if seconds > 0:
        raise WaitBelow(seconds)


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


@on_loop
def after_planner(state: State) -> Literal["plan / continue", "end"]:
    """Go to the selector with a new or an unfinished sub-task, or end.

    Plan and continue share one label, because LangGraph draws one edge for each pair of nodes: of two labels it keeps
    the one that sorts first. The state has the decision itself, in `decision`.
    """
    return "end" if state["decision"]["kind"] == "end" else "plan / continue"


@on_loop
def after_caller(state: State) -> Literal["program or calls", "functions or unknown value"]:
    """Go to the parser with a program, with calls, or with a proposal to the planner.

    For other functions, and for an unknown value, go to the selector; the second time for an unknown value, the round
    is over.
    """
    wants = is_asked(state.get("selection")) or state["hint"]
    return "functions or unknown value" if wants else "program or calls"


@on_loop
def after_parser(state: State) -> Literal["next calls", "next call or repair", "result"]:
    """Go to the planner with a proposal or the step of this round, on with calls or a program, else to the caller."""
    if state.get("proposal") or is_closed(state):
        return "result"
    goes_on = is_running(state.get("program")) or any(request["status"] == "sent" for request in of_round(state))
    return "next calls" if goes_on or waiting_calls(state) else "next call or repair"


@on_loop
def after_sending(state: Any) -> Literal["next calls", "answered"]:
    """Go on with calls that may still be sent, or end with all answers."""
    return "next calls" if waiting_calls(state) else "answered"


def unused_approvals(snapshot: StateSnapshot) -> list[Request]:
    """Return the approved requests that no node has sent to its end; none while a question is open."""
    requests: list[Request] = [] if _is_open(snapshot) else snapshot.values.get("requests", [])
    return [request for request in requests if request["status"] == "approved"] if snapshot.tasks else []


def reopened(snapshot: StateSnapshot, resume: Any, is_own: bool) -> Reopened | None:
    """Return what opens the question of unused approvals again, and the answer to it; None where a question is open.

    `resume` is one answer for all, or answers by the id of the pause whose question was answered. Raises
    `OutdatedDecisionError` for an answer to nothing that `is_own`: one that a graph around this one got may be for
    another node.
    """
    if _is_open(snapshot):
        return None
    unused = unused_approvals(snapshot)
    answers = resume if isinstance(resume, Mapping) and not resume.keys() & {"decisions", "type"} else None
    chosen = [request for request in unused if answers is None or pause_of(request) in answers]
    if not chosen and not is_own:
        return None
    if not chosen:
        raise OutdatedDecisionError(str(snapshot.config["configurable"]["thread_id"]))
    answer = resume
    if answers is not None:
        pauses = list(map(pause_of, chosen))
        given = {pause: iter(decisions_of(answers[pause], pauses.count(pause))) for pause in set(pauses)}
        answer = {"decisions": [next(given[pause]) for pause in pauses]}
    recalled: list[Any] = [{**request, "status": "asked", "recalled": True} for request in chosen]
    return Reopened({"requests": recalled}, "parser", Command(resume=answer))


def pause_of(request: Request) -> str:
    """Return the id of the pause in which a person approved a request; empty if nobody was asked."""
    return request.get("pause", "")


def _is_open(snapshot: StateSnapshot) -> bool:
    requests = snapshot.values.get("requests", ()) if snapshot.tasks else ()
    return bool(snapshot.interrupts) or any(request["status"] == "asked" for request in requests)
