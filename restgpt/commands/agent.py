"""The agent of the command line: built from options, run until it ends or pauses, and traced meanwhile."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from restgpt.commands.screen.terminal import Terminal
from restgpt.nodes.state.records import Program, Step, Usage, no_usage, shown_program, spent_since
from restgpt.outcome import Pending
from restgpt.tools.http.cancellation import CancelledRunError, cancellation
from restgpt.tools.model.role import ROLES
from restgpt.trace import Trace

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import RunnableConfig
    from langgraph.types import StreamMode

    from restgpt.graph.build import Graph
    from restgpt.graph.persistence import Persistence
    from restgpt.graph.recipes.build import RecipeGraph
    from restgpt.nodes.run.context import Context
    from restgpt.nodes.run.services import Services
    from restgpt.recipes.recipe import Recipe
    from restgpt.specs import Api
    from restgpt.tools.settings import Settings

Decide = Callable[[Sequence[Pending]], dict[str, Any] | None]
"""A function that decides on pending requests: returns resume values by interrupt id, or None to stay paused."""


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
        from restgpt.graph.recipes.build import build_recipe
        from restgpt.nodes.run.services import Services

        services = Services(apis, settings=settings)
        saved = persistence.saved
        graph: Any = (
            build_graph(services=services, **saved)
            if heals
            else build_recipe(recipe, services=services, is_tool=is_tool, **saved)
        )
        return cls(graph, services, apis, context)

    def config(self, thread: str) -> "RunnableConfig":
        """Return the LangGraph config of a thread: its id and the recursion limit."""
        from restgpt.graph.build import recursion_limit

        return {
            "configurable": {"thread_id": thread},
            "recursion_limit": recursion_limit(self._context.max_steps),
        }

    def drive(self, thread: str, given: Any, terminal: Terminal, *, decide: Decide) -> Outcome:
        """Run the thread until it ends, or until it pauses and `decide` returns None.

        `given` is the input of the graph: a new message, a `Command` that resumes, or None to go on after a kill.
        """
        from langgraph.types import Command

        trace = Trace(terminal.console)
        while True:
            self._stream(thread, given, trace, terminal)
            outcome = self.outcome(thread)
            answers = decide(outcome.pending) if outcome.pending else None
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

    def values(self, thread: str) -> dict[str, Any]:
        """Return the state of the thread, read from its newest checkpoint."""
        return dict(self.graph.get_state(self.config(thread)).values)

    def is_unfinished(self, thread: str) -> bool:
        """Return whether the thread has unfinished tasks, because its run paused, failed or was killed.

        This reads `tasks`, not `next`: `next` omits a task that was killed between its result and the checkpoint.
        """
        return bool(self.graph.get_state(self.config(thread)).tasks)

    def turn(self, thread: str) -> int:
        """Return the number of turns that the thread has begun."""
        return int(self.graph.get_state(self.config(thread)).values.get("turn", 0))
