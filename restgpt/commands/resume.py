"""`restgpt resume`: resume a run that is paused for approval, has failed, or was killed.

`restgpt undo`: reverse the changes of a thread, newest first, if the OpenAPI document has an operation for that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from restgpt.commands.review import Verdict, pending_text
from restgpt.commands.terminal import (
    Exit,
    Models,
    MoreSettings,
    Terminal,
    Traced,
    UsageError,
    command,
    expected_errors,
    explain,
    refuse_bytes,
    settings_of,
)

if TYPE_CHECKING:
    from restgpt.calling.record import CallRecord
    from restgpt.calling.undo import Reversal
    from restgpt.client import Client
    from restgpt.commands.agent_run import Agent, Outcome
    from restgpt.graph.persistence import Persistence
    from restgpt.outcome import Pending
    from restgpt.threads import ThreadRecord
    from restgpt.tools.settings import Settings


@command
def resume(
    terminal: Traced,
    thread: Annotated[
        str | None, typer.Argument(help="The id of the thread, as printed by `ask` or `threads`.", metavar="ID")
    ] = None,
    due: Annotated[
        bool,
        typer.Option("--due", help="Resume each thread whose program waited long enough, or whose question expired."),
    ] = False,
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
        list[str] | None,
        typer.Option(help="Send it with this argument, or with all in JSON.", metavar="NAME=VALUE|JSON"),
    ] = None,
    models: Models = None,
    more: MoreSettings = None,
) -> None:
    """Resume a paused, failed or killed run; a change that was sent is never sent again."""
    refuse_bytes(reject, respond, *(edit or ()))
    verdict = Verdict(approve, reject, respond, edit, only_reads)
    if due:
        if thread or verdict.is_given:
            raise UsageError("--due resumes all threads that are due, and decides nothing. Give it alone.")
        _resume_due(terminal, settings_of(more, models=models))
    if thread is None:
        raise UsageError("Give the thread to resume: restgpt resume ID, or --due.")
    _resume(terminal, thread, verdict, settings_of(more, models=models))


def _resume_due(terminal: Terminal, context: Mapping[str, Any]) -> NoReturn:
    """Resume the threads that go on by themselves, one after the other; ends with the highest of their exit codes."""
    from restgpt.graph.persistence import open_persistence
    from restgpt.threads import due_threads
    from restgpt.tools.settings import Settings

    with open_persistence(Settings.from_env()) as persistence:
        due = due_threads(persistence)
    codes = []
    for thread, answers in due.items():
        try:
            _resume(terminal, thread, Verdict(reject="" if answers else None), context)
        except typer.Exit as end:
            codes.append(end.exit_code)
        except expected_errors() as error:
            message, code = explain(error)
            terminal.say(message)
            codes.append(code)
    terminal.note(f"{len(due)} {'thread was' if len(due) == 1 else 'threads were'} due")
    raise typer.Exit(max(codes, default=Exit.DONE))


def _resume(terminal: Terminal, thread: str, verdict: Verdict, context: Mapping[str, Any]) -> None:
    from restgpt.commands.agent_run import report, run_thread
    from restgpt.commands.saved_recipe import settling
    from restgpt.commands.single_call import resume as resume_call
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
    from restgpt.commands.agent_run import Agent
    from restgpt.commands.saved_recipe import agent_of
    from restgpt.nodes.run.services import Context
    from restgpt.tools.settings.settings import checked_settings

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

    from restgpt.commands.agent_run import decide_here

    if standing.pending:
        if verdict is not None:
            return Command(resume=verdict.answers(standing.pending, agent.operation))
        answers = decide_here(terminal, standing.pending, agent.operation)
        return WAITING if answers is None else Command(resume=answers)
    return rest_of(agent, record)


def rest_of(agent: "Agent", record: "ThreadRecord") -> Any:
    """Return the input of the graph that goes on with a thread: None, or the beginning without a checkpoint."""
    from restgpt.commands.saved_recipe import graph_input
    from restgpt.threads import instruction_message

    if agent.is_unfinished(record.thread):
        return None
    if record.recipe is not None:
        return graph_input(record.recipe)
    return {"messages": [instruction_message(record)]}


@command
def undo(
    terminal: Terminal,
    thread: Annotated[
        str, typer.Argument(help="The id of the thread, as printed by `ask` or `threads`.", metavar="ID")
    ],
    steps: Annotated[
        int | None,
        typer.Option(help="Undo only this many changes, the newest ones.", min=1, metavar="N", show_default=False),
    ] = None,
    approve: Annotated[bool, typer.Option("--approve", help="Approve the reversing requests.")] = False,
    more: MoreSettings = None,
) -> None:
    """Show the requests that reverse the changes of a thread, and send them after approval, newest change first."""
    from restgpt.commands.single_call import client_of
    from restgpt.graph.persistence import open_persistence
    from restgpt.threads import Threads
    from restgpt.tools.settings import Settings

    settings, chosen = Settings.from_env(), settings_of(more)
    if "writes" in chosen:
        raise UsageError("--set writes is not for undo, which asks about each request. Use --approve.")
    with open_persistence(settings) as persistence:
        record = Threads(persistence.store).get(thread)
        record = replace(record, context={**record.context, **chosen})
        with persistence.lock(thread):
            _Undoing(terminal, thread, client_of(record, settings, persistence), steps).run(approve=approve)


@dataclass(frozen=True)
class _Undoing:
    """One run of the command on a thread that this process has locked."""

    terminal: Terminal
    thread: str
    client: "Client"
    steps: int | None

    def run(self, *, approve: bool) -> None:
        """Resume an interrupted undo, or start one; ends the command with its exit code."""
        from restgpt.commands.single_call import decided
        from restgpt.outcome import Pending

        found: list[Reversal] = []
        if self.client.is_undoing(self.thread):
            if self.steps:
                raise UsageError(f"An undo has begun and is not over. First finish it: restgpt undo {self.thread}")
        else:
            found = self.client.reversals(self.thread, steps=self.steps)
            if not any(reversal.draft for reversal in found):
                self._nothing(found)
            for line in _left_lines(found):
                self.terminal.say(line)
        begun = self.client.undo(self.thread, steps=self.steps)
        outcome = decided(self.client, begun, partial(self._decide, approve=approve))
        if isinstance(outcome, Pending):
            self._wait(outcome)
        self._report(found, [call.record for call in outcome.calls])

    def _decide(self, pending: "Pending", *, approve: bool) -> dict[str, Any] | None:
        """Return the decisions; `--approve` does not decide whether to repeat a request of unknown outcome."""
        from restgpt.commands.agent_run import decide_here

        if approve and pending.allows("edit"):
            return Verdict(approve=True).answers([pending], self.client.operation)
        return decide_here(self.terminal, [pending], self.client.operation)

    def _nothing(self, found: "Sequence[Reversal]") -> None:
        self.terminal.document({"thread": self.thread, "status": "done", "undone": [], "left": _left(found)})
        self.terminal.answer("\n".join([*_left_lines(found), "There is nothing to undo."]))
        raise typer.Exit(Exit.UNFULFILLED if found else Exit.DONE)

    def _wait(self, pending: "Pending") -> NoReturn:
        self.terminal.document({"thread": self.thread, "status": "paused", "pending": [pending.to_dict()]})
        if not self.terminal.is_interactive:
            self.terminal.say(f"{pending_text([pending])}\n")
        steps = f" --steps {self.steps}" if self.steps else ""
        self.terminal.say(
            f"None of these requests was sent. To decide, run on a terminal: restgpt undo {self.thread}{steps}\n"
            "The question stays open until then: to drop it, reject it there."
        )
        if pending.allows("edit"):
            self.terminal.say("To send them without a question, add --approve.")
        raise typer.Exit(Exit.PAUSED)

    def _report(self, found: "Sequence[Reversal]", requests: "Sequence[CallRecord]") -> None:
        from restgpt.calling.record import fault, succeeded, undo_report

        undone = [request for request in requests if succeeded(request)]
        failed = [request for request in requests if not succeeded(request)]
        status = "failed" if failed or len(requests) < len(found) else "done"
        reversed_calls = [{"operation": item["operation"], "arguments": item["arguments"]} for item in undone]
        problems = [{"operation": item["operation"], "problem": fault(item)} for item in failed]
        self.terminal.document(
            {
                "thread": self.thread,
                "status": status,
                "undone": reversed_calls,
                "failed": problems,
                "left": _left(found),
            }
        )
        self.terminal.answer(undo_report([*undone, *failed]))
        raise typer.Exit(Exit.DONE if status == "done" else Exit.UNFULFILLED)


def _left(found: "Sequence[Reversal]") -> list[dict[str, Any]]:
    """Return the changes that cannot be undone, as JSON."""
    return [
        {"method": item.shown.get("method"), "url": item.shown.get("url"), "reason": item.reason}
        for item in found
        if item.draft is None
    ]


def _left_lines(found: "Sequence[Reversal]") -> list[str]:
    return [f"Cannot be undone: {item.left}" for item in found if item.left]
