"""`restgpt resume`: go on with a run that waits for approval, failed, or was killed."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from restgpt.commands.failure import UsageError, refuse_bytes, reported
from restgpt.commands.options import AsJson, Quiet
from restgpt.commands.review import Verdict
from restgpt.commands.terminal import Terminal

if TYPE_CHECKING:
    from restgpt.commands.agent import Agent, Outcome
    from restgpt.commands.thread import ThreadRecord


def resume(
    thread: Annotated[str, typer.Argument(help="The thread, as `ask` or `threads` named it.", metavar="ID")],
    approve: Annotated[bool, typer.Option("--approve", help="Send what waits for approval.")] = False,
    reject: Annotated[str | None, typer.Option(help="Do not send it, and tell the agent why.", metavar="TEXT")] = None,
    respond: Annotated[str | None, typer.Option(help="Do not send it; answer instead.", metavar="TEXT")] = None,
    edit: Annotated[str | None, typer.Option(help="Send it with these arguments instead.", metavar="JSON")] = None,
    model: Annotated[str | None, typer.Option(help="Go on with another chat model.", metavar="PROVIDER:NAME")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Go on with a paused or killed run; a change that was sent is never sent again."""
    terminal = Terminal(as_json=as_json, quiet=quiet)
    with reported(terminal):
        refuse_bytes(reject, respond, edit)
        _resume(terminal, thread, Verdict(approve, reject, respond, edit), model)


def _resume(terminal: Terminal, thread: str, verdict: Verdict, model: str | None) -> None:
    from restgpt.commands.agent import Agent
    from restgpt.commands.run import report, run_thread
    from restgpt.commands.thread import Threads
    from restgpt.graph.persistence import open_persistence
    from restgpt.nodes.context import checked_context
    from restgpt.tools.settings import Settings

    settings = Settings.from_env()
    is_decided = verdict.is_given
    with open_persistence(settings) as persistence:
        threads = Threads(persistence.store)
        record = threads.get(thread)
        if record.turn == 0:
            raise UsageError(
                f"Thread {thread} is a single call, and has nothing to go on with. Repeat it with `restgpt call`, "
                f"which asks first if its outcome is not known, or reverse it with `restgpt undo {thread}`."
            )
        with persistence.lock(thread):
            context = checked_context({**record.context, **({"model": model} if model else {})})
            apis = record.sources.load(settings)
            agent = Agent.over(apis, context=context, settings=settings, persistence=persistence)
            standing = agent.outcome(thread)
            if is_decided and not standing.pending:
                raise UsageError(f"Nothing waits for a decision in thread {thread}. `restgpt resume {thread}` goes on.")
            if _is_over(agent, record):
                report(standing, terminal)
            given = _given(agent, record, standing, verdict if is_decided else None, terminal)
            if given is WAITING:
                threads.mark(record, "paused")
                report(standing, terminal)
            run_thread(agent, record, given, threads=threads, terminal=terminal)


WAITING = object()
"""Says that nobody has decided."""


def _is_over(agent: "Agent", record: "ThreadRecord") -> bool:
    return agent.turn(record.thread) >= record.turn and not agent.is_unfinished(record.thread)


def _given(
    agent: "Agent", record: "ThreadRecord", standing: "Outcome", verdict: Verdict | None, terminal: Terminal
) -> Any:
    """What to go on with: decisions, nothing after a kill, or the instruction if not even a checkpoint was written."""
    from langgraph.types import Command

    from restgpt.commands.run import decide_here

    if standing.pending:
        if verdict is not None:
            return Command(resume=verdict.answers(standing.pending))
        answers = decide_here(terminal, standing.pending)
        return WAITING if answers is None else Command(resume=answers)
    if agent.is_unfinished(record.thread):
        return None
    return {"messages": [("user", record.instruction)]}
