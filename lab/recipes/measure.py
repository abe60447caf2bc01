"""Measures recipes on the tasks of a suite: can they be saved, do they repeat themselves, are they right elsewhere?"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any, Literal, cast

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from lab.recipes.exchange import OtherInputs, exchanged
from restgpt.graph.build import recursion_limit
from restgpt.graph.recipes.build import RecipeGraph, build_recipe
from restgpt.nodes.recipes.saved_run import save_run
from restgpt.nodes.run.resources import Resources
from restgpt.recipes.recipe import Recipe
from restgpt.recipes.recording.finished import NotSavableError
from restgpt.specs import Api
from restgpt.tools.errors import RestgptError
from restgpt.tools.model.scripted import Reply as ModelReply
from restgpt.tools.model.scripted import ScriptedChatModel
from restgpt.tools.settings import Settings
from restgpt_bench.methods.build import build_method
from restgpt_bench.restbench.documents import gather
from restgpt_bench.restbench.perfect import PREFIX, scripted
from restgpt_bench.restbench.record import RunSettings
from restgpt_bench.restbench.run import make_context
from restgpt_bench.restbench.suite import Item, Suite
from restgpt_bench.worlds import World, open_world
from restgpt_bench.worlds.exchange import Reply, Request
from restgpt_bench.worlds.server import serve

PERFECT = f"{PREFIX}perfect"
THREAD = "measured"
REPEATS = 5
"""The number of further runs of a recipe on the same graph, for the time of a run that is not the first."""

PAUSE = 0.3
"""Seconds before each of these runs, in which the sandbox starts the workers that the run before has used."""

FRESH = frozenset({"date", "idempotency-key", "x-request-id"})
"""Headers that must differ from one request to the next."""

Outcome = Literal["right", "refused", "wrong"]


class ModelCalledError(Exception):
    """A recipe asked a model."""


class NoModel(ScriptedChatModel):
    """Refuses every call."""

    def reply(self, messages: list[BaseMessage], tools: Sequence[str]) -> ModelReply:
        """Raise ModelCalledError."""
        raise ModelCalledError(str(messages[0].text)[:80])


class Watched:
    """Stands in for a world at its server: hands requests on, keeps them, and adds up the time for the replies.

    The time of a reply begins with the first byte of its request and ends when its body is written as JSON.
    """

    def __init__(self, world: World[Any]) -> None:
        self.world = world
        self.requests: list[Request] = []
        self.seconds = 0.0

    @property
    def base_path(self) -> str:
        """The path of the world's API."""
        return self.world.base_path

    def open(self, world: World[Any]) -> World[Any]:
        """Hand requests to another world from now on."""
        self.world, self.requests, self.seconds = world, [], 0.0
        return world

    def handle(self, request: Request) -> Reply:
        """Let the world reply."""
        begun = time.perf_counter() if request.begun is None else request.begun
        reply = self.world.handle(request)
        reply = replace(reply, body=reply.content)
        self.seconds += time.perf_counter() - begun
        self.requests.append(request)
        return reply


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A run with other inputs: the outcome, and why the judge or the recipe says so."""

    inputs: Mapping[str, Any]
    seed: int
    way: str
    kept: Sequence[str]
    outcome: Outcome
    why: str
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """A task of a suite: `problem` says why it is not solved, saved or repeated; `recipe` is empty without one.

    `first_ms` is the own time of the first run of a new graph, `again_ms` the median of its next runs, and `fastest_ms`
    the least of these, which other work of the machine disturbs least.
    """

    suite: str
    key: str
    solved: bool = False
    saved: bool = False
    equal: bool = False
    first_ms: float | None = None
    again_ms: float | None = None
    fastest_ms: float | None = None
    problem: str = ""
    recipe: Mapping[str, Any] = field(default_factory=dict)
    elsewhere: tuple[Elsewhere, ...] = ()


@dataclass(frozen=True, slots=True)
class _Run:
    """A run that ended: its answer, whether it fulfilled its task, its requests and its own time in milliseconds."""

    answer: str
    fulfilled: bool
    requests: tuple[Request, ...]
    own_ms: float


class Measure:
    """Measures the tasks of one suite over one served world."""

    def __init__(self, suite: Suite, *, seed: int = 0, count: int = 2, pause: float = PAUSE) -> None:
        self._suite = suite
        self._seed = seed
        self._count = count
        self._pause = pause
        self._context = make_context(RunSettings(suite=suite.name, method="restgpt", model=PERFECT))
        self._documents = gather(suite.world)

    def run(self, finished: Callable[[Measured], None] = lambda measured: None) -> list[Measured]:
        """Measure each task; `finished` is called with each result."""
        watched = Watched(open_world(self._suite.world, seed=self._seed))
        found = []
        with serve(cast(Any, watched)) as server:
            apis = self._documents.open(server.url)
            for item in self._suite.items:
                found.append(self._measured(item, watched, apis))
                finished(found[-1])
        return found

    def _measured(self, item: Item, watched: Watched, apis: Sequence[Api]) -> Measured:
        measured = Measured(self._suite.name, item.key)
        try:
            recipe, first = self._saved(item, watched, apis)
        except NotSavableError as error:
            return replace(measured, solved=True, problem=str(error))
        if recipe is None:
            return replace(measured, problem="The perfect model does not solve the task with a program.")
        measured = replace(measured, solved=True, saved=True, recipe=recipe.to_json())
        self._fresh(item, watched, self._seed)
        graph = _graph_of(recipe, apis)
        again = self._repeated(graph, recipe.examples, watched)
        problem = again if isinstance(again, str) else _difference(first, again)
        if isinstance(again, _Run):
            measured = replace(measured, first_ms=again.own_ms)
        if not problem and (times := self._again(item, graph, recipe.examples, watched)):
            measured = replace(measured, again_ms=round(median(times), 1), fastest_ms=min(times))
        others = exchanged(item.task, self._suite.world, recipe.examples, seed=self._seed, count=self._count)
        elsewhere = tuple(self._elsewhere(item, recipe, other, watched, apis) for other in others)
        return replace(measured, equal=not problem, problem=problem, elsewhere=elsewhere)

    def _fresh(self, item: Item, watched: Watched, seed: int) -> World[Any]:
        world = open_world(self._suite.world, seed=seed)
        world.reset(item.task.fixture)
        return watched.open(world)

    def _saved(self, item: Item, watched: Watched, apis: Sequence[Api]) -> tuple[Recipe | None, tuple[Request, ...]]:
        """Solve a task with the perfect model and save the run; None if it is not solved by a program."""
        world = self._fresh(item, watched, self._seed)
        store = InMemoryStore()
        resources = Resources(apis, model=scripted(PERFECT, item, world), settings=Settings())
        graph = build_method("restgpt", checkpointer=InMemorySaver(), store=store, resources=resources)
        config: RunnableConfig = {
            "configurable": {"thread_id": THREAD},
            "recursion_limit": recursion_limit(self._context.max_steps),
        }
        asked: Any = {"messages": [("user", item.instruction)]}
        graph.invoke(asked, config, context=self._context)
        values = graph.get_state(config).values
        has_program = any(step.get("program") for step in values["steps"])
        if not has_program or not item.task.check(world, world.log, str(values.get("answer") or "")).ok:
            return None, ()
        name = f"{self._suite.name}-{item.key}".lower()
        recipe = save_run(values, resources, name=name, store=store, thread=THREAD)
        return recipe, tuple(watched.requests)

    def _again(self, item: Item, graph: RecipeGraph, inputs: Mapping[str, Any], watched: Watched) -> list[float]:
        """Return the own times of further runs, each on the world as it was before; none if a run stops."""
        times = []
        for number in range(REPEATS):
            self._fresh(item, watched, self._seed)
            time.sleep(self._pause)
            run = self._repeated(graph, inputs, watched, thread=f"{THREAD} {number}")
            if isinstance(run, str) or not run.fulfilled:
                return []
            times.append(run.own_ms)
        return times

    def _repeated(
        self, graph: RecipeGraph, inputs: Mapping[str, Any], watched: Watched, *, thread: str = THREAD
    ) -> "_Run | str":
        """Run a recipe without a model; returns the error instead if it ends with one."""
        config: RunnableConfig = {"configurable": {"thread_id": thread}}
        given: Any = {"inputs": dict(inputs)}
        begun = time.perf_counter()
        try:
            output = graph.invoke(given, config, context=self._context)
        except RestgptError as error:
            return str(error)
        own_ms = 1000 * (time.perf_counter() - begun - watched.seconds)
        decision = graph.get_state(config).values["decision"]
        fulfilled = decision["kind"] == "end" and decision.get("fulfilled", True)
        return _Run(str(output.get("answer") or ""), fulfilled, tuple(watched.requests), round(own_ms, 1))

    def _elsewhere(
        self, item: Item, recipe: Recipe, other: OtherInputs, watched: Watched, apis: Sequence[Api]
    ) -> Elsewhere:
        world = self._fresh(item, watched, other.seed)
        before = world.dump()
        run = self._repeated(_graph_of(recipe, apis), other.inputs, watched)
        if isinstance(run, str) or not run.fulfilled:
            outcome: Outcome = "refused"
            why = run if isinstance(run, str) else run.answer
        else:
            world.exchanged = other.exchanged
            verdict = item.task.check(world, world.log, run.answer)
            outcome, why = ("right" if verdict.ok else "wrong"), f"{verdict.why}. The answer: {run.answer}"
        changed = outcome == "refused" and world.dump() != before
        return Elsewhere(other.inputs, other.seed, other.way, other.kept, outcome, why, changed)


def _graph_of(recipe: Recipe, apis: Sequence[Api]) -> RecipeGraph:
    """Return a new graph of a recipe, whose resources have read the documents of the APIs."""
    resources = Resources(apis, model=NoModel(), settings=Settings())
    resources.catalogue(())
    return build_recipe(recipe, resources=resources, checkpointer=InMemorySaver(), store=InMemoryStore())


def _difference(first: Sequence[Request], again: _Run) -> str:
    """Return what is different in the second run with the same inputs; empty if nothing is."""
    if not again.fulfilled:
        return f"With the same inputs it stops: {again.answer}"
    if len(first) != len(again.requests):
        return f"It sends {len(again.requests)} requests instead of {len(first)}."
    for number, (one, other) in enumerate(zip(first, again.requests, strict=True), 1):
        if _compared(one) != _compared(other):
            return f"Request {number} is {_compared(other)} instead of {_compared(one)}."
    return ""


def _compared(request: Request) -> tuple[Any, ...]:
    headers = sorted((name, value) for name, value in request.headers.items() if name.lower() not in FRESH)
    return request.method, request.path, request.query, headers, request.body


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of several tasks."""

    tasks: int
    solved: int
    saved: int
    equal: int
    first_ms: float
    again_ms: float
    fastest_ms: float
    elsewhere: int
    right: int
    refused: int
    wrong: int
    by_names: int

    @classmethod
    def of(cls, measured: Sequence[Measured]) -> "Summary":
        """Count the results."""
        runs = [run for item in measured for run in item.elsewhere]
        outcomes = [run.outcome for run in runs]
        return cls(
            tasks=len(measured),
            solved=sum(item.solved for item in measured),
            saved=sum(item.saved for item in measured),
            equal=sum(item.equal for item in measured),
            first_ms=_median(item.first_ms for item in measured),
            again_ms=_median(item.again_ms for item in measured),
            fastest_ms=_median(item.fastest_ms for item in measured),
            elsewhere=len(runs),
            right=outcomes.count("right"),
            refused=outcomes.count("refused"),
            wrong=outcomes.count("wrong"),
            by_names=sum(run.way == "names" for run in runs),
        )


def _median(times: Iterable[float | None]) -> float:
    known = [time for time in times if time is not None]
    return round(median(known), 1) if known else 0.0
