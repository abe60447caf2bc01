"""`restgpt resume`: resume a run that is paused for approval, has failed, or was killed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from restgpt.commands.failure import UsageError, refuse_bytes, reported
from restgpt.commands.options import AsJson, Models, MoreSettings, Quiet, settings_of
from restgpt.commands.screen.review import Verdict
from restgpt.commands.screen.terminal import Terminal

if TYPE_CHECKING:
    from restgpt.commands.agent import Agent, Outcome
    from restgpt.graph.persistence import Persistence
    from restgpt.threads import ThreadRecord
    from restgpt.tools.settings import Settings


def resume(
    thread: Annotated[
        str, typer.Argument(help="The id of the thread, as printed by `ask` or `threads`.", metavar="ID")
    ],
    approve: Annotated[bool, typer.Option("--approve", help="Send the requests that wait for approval.")] = False,
    only_reads: Annotated[
        bool,
        typer.Option(
            "--only-reads",
            help="With --approve: confirm the requests that seem only to read as reads, and do not ask about their "
            "operations again.",
        ),
    ] = False,
    reject: Annotated[
        str | None, typer.Option(help="Do not send them, and tell the agent why.", metavar="TEXT")
    ] = None,
    respond: Annotated[
        str | None, typer.Option(help="Do not send them, and give the agent this answer instead.", metavar="TEXT")
    ] = None,
    edit: Annotated[
        str | None, typer.Option(help="Send the request with these arguments; for several, a list.", metavar="JSON")
    ] = None,
    models: Models = None,
    more: MoreSettings = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Resume a paused, failed or killed run; a change that was sent is never sent again."""
    terminal = Terminal(as_json=as_json, quiet=quiet)
    with reported(terminal):
        refuse_bytes(reject, respond, edit)
        verdict = Verdict(approve, reject, respond, edit, only_reads)
        _resume(terminal, thread, verdict, settings_of(more, models=models))


def _resume(terminal: Terminal, thread: str, verdict: Verdict, context: Mapping[str, Any]) -> None:
    from restgpt.commands.history.client_thread import resume as resume_call
    from restgpt.commands.recipes.run import settling
    from restgpt.commands.run import report, run_thread
    from restgpt.graph.persistence import open_persistence
    from restgpt.threads import Threads
    from restgpt.tools.settings import Settings

    settings = Settings.from_env()
    is_decided = verdict.is_given
    with open_persistence(settings) as persistence:
        threads = Threads(persistence.store)
        record = threads.get(thread)
        record = replace(record, context={**record.context, **context})
        with persistence.lock(thread):
            if record.turn == 0:
                resume_call(terminal, record, settings, persistence, verdict)
            agent = open_agent(record, settings, persistence)
            settle = settling(record.recipe, thread, terminal) if record.recipe else None
            standing = agent.outcome(thread)
            if is_decided:
                standing = replace(standing, pending=agent.questions(thread))
            if is_decided and not standing.pending:
                rest = "Its run is over" if is_over(agent, record) else f"Resume it with `restgpt resume {thread}`"
                raise UsageError(f"No request waits for a decision in thread {thread}. {rest}.")
            if is_over(agent, record):
                report(standing, terminal)
            given = _given(agent, record, standing, verdict if is_decided else None, terminal)
            if given is WAITING:
                threads.mark(record, "paused")
                report(standing, terminal)
            run_thread(agent, record, given, threads=threads, terminal=terminal, settle=settle)


def open_agent(record: "ThreadRecord", settings: "Settings", persistence: "Persistence") -> "Agent":
    """Return the agent of a thread, or the graph of its recipe, over the APIs of its record."""
    from restgpt.commands.agent import Agent
    from restgpt.commands.recipes.run import agent_of
    from restgpt.nodes.run.context import Context
    from restgpt.tools.settings.run_settings import checked_settings

    context = checked_settings(Context, record.context)
    apis = record.sources.load(settings)
    opened: Any = {"context": context, "settings": settings, "persistence": persistence}
    return Agent.over(apis, **opened) if record.recipe is None else agent_of(record.recipe, apis, **opened)


WAITING = object()
"""Returned instead of an input for the graph if no decision was given."""


def is_over(agent: "Agent", record: "ThreadRecord") -> bool:
    """Return whether a thread has nothing left to run: its last turn has begun, and has ended."""
    return agent.turn(record.thread) >= record.turn and not agent.is_unfinished(record.thread)


def _given(
    agent: "Agent", record: "ThreadRecord", standing: "Outcome", verdict: Verdict | None, terminal: Terminal
) -> Any:
    """Return the input of the graph: the decisions, None after a kill, or the beginning without a checkpoint."""
    from langgraph.types import Command

    from restgpt.commands.run import decide_here

    if standing.pending:
        if verdict is not None:
            return Command(resume=verdict.answers(standing.pending))
        answers = decide_here(terminal, standing.pending)
        return WAITING if answers is None else Command(resume=answers)
    return rest_of(agent, record)


def rest_of(agent: "Agent", record: "ThreadRecord") -> Any:
    """Return the input of the graph that goes on with a thread: None, or the beginning without a checkpoint."""
    from restgpt.commands.recipes.run import graph_input
    from restgpt.threads import instruction_message

    if agent.is_unfinished(record.thread):
        return None
    if record.recipe is not None:
        return graph_input(record.recipe)
    return {"messages": [instruction_message(record)]}
