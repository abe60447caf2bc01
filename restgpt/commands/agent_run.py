"""The agent of the command line: built from options, run until it ends or pauses, and traced meanwhile.

One run of a thread by a command: records the thread first, reports the outcome, and can be resumed after any end.
"""

import os
import shlex
import signal
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any, Literal

import typer

from restgpt.commands.pairs import Find, arguments_of_all, pairs_of
from restgpt.commands.review import ask_person, confirmation, pending_text
from restgpt.commands.terminal import Exit, Terminal, expected_errors, explain, log, say_address_of_dotenv
from restgpt.nodes.state.records import Program, Step, Usage, no_usage, shown_program, spent_since
from restgpt.outcome import Pending
from restgpt.threads import ThreadRecord, Threads
from restgpt.tools.errors import WaitingError
from restgpt.tools.http.cancellation import Cancellation, CancelledRunError, cancellable, cancellation
from restgpt.tools.model import ROLES
from restgpt.trace import Trace, usage_text

if TYPE_CHECKING:
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import RunnableConfig
    from langgraph.types import StreamMode

    from restgpt.graph.build import Graph
    from restgpt.graph.persistence import Persistence
    from restgpt.graph.recipe_graph import RecipeGraph
    from restgpt.nodes.run.services import Context, Services
    from restgpt.recipes.recipe import Recipe
    from restgpt.specs import Api, Operation
    from restgpt.tools.settings import Settings


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a run: status, answer, steps and usage of this turn, and the requests that wait for approval.

    `program` is the last program of the turn; None if the calls were made one by one. `recipe` is the recipe that the
    turn ran, as its JSON document shows it.
    """

    thread: str
    status: Literal["done", "paused", "failed"]
    answer: str = ""
    steps: Sequence[Step] = ()
    usage: Usage = field(default_factory=no_usage)
    pending: Sequence[Pending] = ()
    error: str = ""
    program: Program | None = None
    recipe: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document that `ask` and `resume` print."""
        error = {"error": self.error} if self.error else {}
        recipe = {"recipe": dict(self.recipe)} if self.recipe is not None else {}
        return {
            "thread": self.thread,
            "status": self.status,
            **recipe,
            "answer": self.answer,
            "steps": list(self.steps),
            "program": shown_program(self.program),
            "usage": self.usage,
            "pending": [pause.to_dict() for pause in self.pending],
            **error,
        }


class Agent:
    """One thread of the agent over some APIs."""

    def __init__(
        self, graph: "Graph | RecipeGraph", services: "Services", apis: "Sequence[Api]", context: "Context"
    ) -> None:
        self.graph = graph
        self.services = services
        self._apis = apis
        self._context = context
        self._callbacks: list[BaseCallbackHandler] = []
        self.printed: Collection[str] = ()
        """The programs that the trace of the last run has printed."""

    @classmethod
    def over(
        cls,
        apis: "Sequence[Api]",
        *,
        context: "Context",
        settings: "Settings",
        persistence: "Persistence",
        model: "BaseChatModel | None" = None,
        recipes: "Sequence[Recipe] | None" = None,
    ) -> "Agent":
        """Build the agent; raises `ModelError` at once if a role has no usable model.

        The planner may choose one of `recipes`, without them one of the folder of the settings.
        """
        from restgpt.graph.build import build_graph
        from restgpt.nodes.run.services import Services

        services = Services(apis, settings=settings, model=model, recipes=recipes)
        for role in ROLES:
            services.model(role, context)
        faults = [fault for api in apis if (fault := services.http.credentials.missing(settings.entry(api)))]
        if faults and len(faults) == len(apis):
            raise faults[0]
        graph = build_graph(services=services, **persistence.saved)
        return cls(graph, services, apis, context)

    @classmethod
    def of_recipe(
        cls,
        recipe: "Recipe",
        apis: "Sequence[Api]",
        *,
        heals: bool,
        is_tool: bool = False,
        context: "Context",
        settings: "Settings",
        persistence: "Persistence",
    ) -> "Agent":
        """Build the graph of a recipe, which needs no model; with `heals` the agent's, which asks one when it heals.

        With `is_tool` the inputs are not the user's words.
        """
        from restgpt.graph.build import build_graph
        from restgpt.graph.recipe_graph import build_recipe
        from restgpt.nodes.run.services import Services

        services = Services(apis, settings=settings)
        make: Any = build_graph if heals else partial(build_recipe, recipe, is_tool=is_tool)
        return cls(make(services=services, **persistence.saved), services, apis, context)

    def config(self, thread: str) -> "RunnableConfig":
        """Return the LangGraph config of a thread: its id and the recursion limit."""
        from restgpt.graph.build import recursion_limit

        return {
            "configurable": {"thread_id": thread},
            "recursion_limit": recursion_limit(self._context.max_steps),
            "callbacks": list(self._callbacks),
        }

    def drive(
        self, thread: str, given: Any, terminal: Terminal, *, decide: Callable[..., Any] | None = None
    ) -> Outcome:
        """Run the thread until it ends, or until it pauses and `decide`, or a person at the terminal, leaves it so.

        `given` is the input of the graph: a new message, a `Command` that resumes, or None to go on after a kill.
        """
        from langgraph.types import Command

        from restgpt.commands.waiting import Waiting

        trace, self._callbacks = Trace(terminal.console), [Waiting(terminal.note)]
        self.printed = trace.programs
        while True:
            self._stream(thread, given, trace, terminal)
            outcome = self.outcome(thread)
            trace.end(outcome.answer)
            answers = (decide or decide_here)(terminal, outcome.pending, self.operation) if outcome.pending else None
            if answers is None:
                return outcome
            given = Command(resume=answers)

    def _stream(self, thread: str, given: Any, trace: Trace, terminal: Terminal) -> None:
        """Stream the run until it ends or pauses, and print its progress as the trace."""
        is_live = terminal.console.is_terminal and not terminal.quiet
        with terminal.console.status("…", spinner="dots") as status:
            for mode, chunk in self.parts(thread, given, ("custom", "tasks")):
                if mode == "custom":
                    trace.show(chunk)
                elif is_live and "triggers" in chunk:
                    status.update(f"{chunk['name']} …")
                if cancellation().is_cancelled:
                    raise CancelledRunError

    def parts(self, thread: str, given: Any, modes: "Sequence[StreamMode]", *, checkpoint: str = "") -> Iterator[Any]:
        """Run the thread until it ends or pauses, from a checkpoint if one is given; yield mode and data of each part.

        `durability="sync"` writes each checkpoint to disk before the next node starts. So if a node is killed, the
        rerun has the same request ids, and the write journal has entries for them.
        """
        config = self.config(thread)
        if checkpoint:
            config["configurable"]["checkpoint_id"] = checkpoint
        parts: Iterator[Any] = self.graph.stream(
            given, config, context=self._context, stream_mode=list(modes), durability="sync"
        )
        return parts

    def outcome(self, thread: str, *, error: str = "") -> Outcome:
        """Return the outcome of the thread, read from its newest checkpoint."""
        snapshot = self.graph.get_state(self.config(thread))
        values = snapshot.values
        steps = [step for step in values.get("steps", []) if step["turn"] == values.get("turn")]
        usage = values.get("usage") or no_usage()
        pending = [Pending.of(interrupt) for interrupt in snapshot.interrupts]
        unfulfilled = not snapshot.tasks and values.get("decision", {}).get("fulfilled") is False
        status: Literal["done", "paused", "failed"] = (
            "failed" if error else "paused" if pending else "failed" if unfulfilled else "done"
        )
        return Outcome(
            thread=thread,
            status=status,
            answer=values.get("answer", ""),
            steps=steps,
            usage=spent_since(values.get("baseline") or no_usage(), usage),
            pending=pending,
            error=error,
            program=values.get("program"),
        )

    def questions(self, thread: str) -> list[Pending]:
        """Return the questions of the thread that an answer can decide: open ones, or those of unused approvals."""
        return Pending.all_of(self.graph.get_state(self.config(thread)), thread=thread)

    def operation(self, key: str) -> "Operation":
        """Find an operation of the APIs of the run, as `Catalogue.operation` does."""
        return self.services.catalogue(()).operation(key)

    def is_unfinished(self, thread: str) -> bool:
        """Return whether the thread has unfinished tasks, because its run paused, failed or was killed.

        This reads `tasks`, not `next`: `next` omits a task that was killed between its result and the checkpoint.
        """
        return bool(self.graph.get_state(self.config(thread)).tasks)

    def turn(self, thread: str) -> int:
        """Return the number of turns that the thread has begun."""
        return int(self.graph.get_state(self.config(thread)).values.get("turn", 0))


CODES = {"done": Exit.DONE, "paused": Exit.PAUSED, "failed": Exit.UNFULFILLED}


def run_thread(
    agent: Agent,
    record: ThreadRecord,
    given: Any,
    *,
    threads: Threads,
    terminal: Terminal,
    settle: Callable[[Outcome], Outcome] | None = None,
) -> None:
    """Run a thread that this process has locked, and end the command with the exit code of the outcome.

    `settle` acts on the outcome of the run before it is reported.
    """
    settled = settle or (lambda outcome: outcome)
    if record.recipe is None or record.recipe["heals"]:
        say_address_of_dotenv(terminal)
    record = threads.mark(record, "running")
    terminal.note(f"thread {record.thread}")
    try:
        with _handling_signals(terminal, record.thread):
            outcome = agent.drive(record.thread, given, terminal)
    except (KeyboardInterrupt, CancelledRunError):
        threads.mark(record, "stopped")
        terminal.say(f"Stopped. Resume with: {resume_line(record.thread)}")
        raise typer.Exit(Exit.INTERRUPTED) from None
    except WaitingError as error:
        threads.mark(record, "paused")
        terminal.say(str(error))
        waiting = replace(agent.outcome(record.thread), status="paused", error=str(error))
        terminal.document(settled(waiting).to_dict())
        raise typer.Exit(Exit.PAUSED) from None
    except expected_errors() as error:
        # If the database failed, this write may fail too; `restgpt threads` then lists the thread as killed.
        with suppress(*expected_errors()):
            threads.mark(record, "failed")
        message, code = explain(error)
        terminal.say(f"{message}\nThe thread is saved. To resume it: {resume_line(record.thread)}")
        terminal.document(settled(agent.outcome(record.thread, error=message)).to_dict())
        log.debug("The run failed", exc_info=error)
        raise typer.Exit(code) from None
    threads.mark(record, outcome.status)
    report(settled(outcome), terminal, agent.printed)


@contextmanager
def _handling_signals(terminal: Terminal, thread: str) -> Iterator[None]:
    """Handle Ctrl-C and SIGTERM: the first stops the run after the running request, the second ends the process.

    Both are safe at any time, because checkpoints and the write journal are on disk.
    """
    if current_thread() is not main_thread():
        yield
        return
    run = Cancellation()

    def interrupted(number: int, frame: object) -> None:
        if run.is_cancelled:
            terminal.console.show_cursor()
            terminal.say(f"\nEnded. Resume with: {resume_line(thread)}")
            os._exit(Exit.INTERRUPTED)
        run.cancel()
        terminal.say("\nStopping after the running model call or request. Press Ctrl-C again to end at once.")
        if not run.is_sending:
            raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupted) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with cancellable(run):
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def decide_here(terminal: Terminal, pending: Sequence[Pending], find: Find) -> dict[str, Any] | None:
    """Ask the person at the terminal; returns None if stdin or stderr is not a terminal."""
    return ask_person(terminal, pending, find) if terminal.is_interactive else None


def report(outcome: Outcome, terminal: Terminal, printed: Collection[str] = ()) -> None:
    """Print the outcome of a run, and end the command with its exit code; the trace has `printed` some programs."""
    terminal.note(usage_text(outcome.usage))
    terminal.document(outcome.to_dict())
    if outcome.status == "paused":
        terminal.say(waiting_text(outcome.thread, outcome.pending, printed, is_seen=terminal.is_interactive))
    else:
        terminal.answer(outcome.answer)
    raise typer.Exit(CODES[outcome.status])


def waiting_text(
    thread: str, pending: Sequence[Pending], printed: Collection[str] = (), *, is_seen: bool = False
) -> str:
    """Return the descriptions of the waiting requests, unless a person has seen them, and the commands that decide."""
    asked = "" if is_seen else f"\nPaused for approval:\n{pending_text(pending, printed)}\n"
    return f"{asked}\n{how_to_decide(thread, pending)}"


def resume_line(thread: str) -> str:
    """Return the command that resumes a thread."""
    return f"restgpt resume {shlex.quote(thread)}"


def how_to_decide(thread: str, pending: Sequence[Pending]) -> str:
    """Return the commands that decide; the one that edits a single request has its arguments as they are."""
    line, actions = resume_line(thread), [action for pause in pending for action in pause.actions]
    reads = ["--approve --only-reads   (and confirm the requests that seem only to read)"]
    edits = pairs_of(actions[0]) if len(actions) == 1 else [arguments_of_all(actions)]
    commands = ["--approve", *(reads if any(map(confirmation, actions)) else []), '--reject "why"']
    if edits and all(pause.allows("edit") for pause in pending):
        commands.append(" ".join(f"--edit {edit}" for edit in edits))
    return "\n".join(f"{'' if number else 'To decide:':12}{line} {text}" for number, text in enumerate(commands))
