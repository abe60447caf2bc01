"""`restgpt ask`: run the agent with an instruction."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal
from uuid import uuid4

import typer

from restgpt.commands.terminal import (
    Apis,
    Models,
    MoreSettings,
    Thread,
    Traced,
    UsageError,
    Writes,
    command,
    refuse_bytes,
    settings_of,
)

if TYPE_CHECKING:
    from restgpt.commands.agent_run import Agent
    from restgpt.sources import Sources
    from restgpt.threads import ThreadRecord, Threads


@command
def ask(
    terminal: Traced,
    text: Annotated[str, typer.Argument(help="The instruction, in plain language.", metavar="TEXT")],
    apis: Apis,
    models: Models = None,
    writes: Writes = None,
    structured_output: Annotated[
        Literal["auto", "json_schema", "function_calling", "json"] | None,
        typer.Option(help="How the model is asked for structured output. Default: auto."),
    ] = None,
    more: MoreSettings = None,
    thread: Thread = None,
) -> None:
    """Answer an instruction with the operations of one or several APIs."""
    from restgpt.commands.agent_run import run_thread
    from restgpt.commands.resume import open_agent
    from restgpt.graph.persistence import open_persistence
    from restgpt.threads import Threads, checked_name
    from restgpt.tools.settings import Settings

    context = settings_of(more, models=models, writes=writes, structured_output=structured_output)
    if not text.strip():
        raise UsageError("The instruction is empty.")
    refuse_bytes(text, *context.values())
    settings = Settings.from_env()
    name = uuid4().hex[:12] if thread is None else checked_name(thread)
    with open_persistence(settings) as persistence, persistence.lock(name):
        threads = Threads(persistence.store)
        record = record_of_turn(threads, name, text, apis(), context)
        record = replace(record, sources=record.sources.or_all(settings))
        agent = open_agent(record, settings, persistence)
        record = numbered(record, agent)
        run_thread(agent, record, {"messages": [("user", text)]}, threads=threads, terminal=terminal)


def numbered(record: "ThreadRecord", agent: "Agent") -> "ThreadRecord":
    """Return the record with the number of the turn that begins; raises `UsageError` if the last one has not ended."""
    name = record.thread
    if agent.is_unfinished(name):
        raise UsageError(f"Thread {name} has not finished its last instruction. Resume it with: restgpt resume {name}")
    return replace(record, turn=agent.turn(name) + 1)


def record_of_turn(
    threads: "Threads", thread: str, text: str, sources: "Sources", context: Mapping[str, Any]
) -> "ThreadRecord":
    """Return the record of a run; a known thread keeps its APIs and settings unless new ones are given."""
    from restgpt.threads import ThreadRecord

    earlier = threads.find(thread)
    if earlier is None:
        return ThreadRecord(thread, text, sources, context)
    if earlier.turn == 0:
        raise UsageError(f"Thread {thread} is a single call. Choose another thread ID for a conversation.")
    return replace(
        earlier,
        instruction=text,
        recipe=None,
        sources=sources.instead_of(earlier.sources),
        context={**earlier.context, **context},
    )
