"""Runs a method over a suite: a fresh served world, a fresh thread and one record for every task."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from pydantic import ValidationError

from restgpt.graph.build import Graph, recursion_limit
from restgpt.nodes.run.services import Context, Services
from restgpt.specs import Catalogue
from restgpt.tools.errors import RestgptError
from restgpt.tools.model.provider import PATIENCE_S, resolve_model
from restgpt.tools.model.scripted import Recorder
from restgpt.tools.settings import Settings
from restgpt.tools.settings.settings import problems_of
from restgpt_bench.methods.build import METHODS, build_method
from restgpt_bench.restbench.documents import Documents, gather
from restgpt_bench.restbench.judges.task import Step, select
from restgpt_bench.restbench.judges.tmdb.tasks import asked
from restgpt_bench.restbench.perfect import PREFIX, references_in, scripted
from restgpt_bench.restbench.record import Failure, GoldCall, Record, RunFolder, RunSettings, SubTask
from restgpt_bench.restbench.suite import Item, Suite, SuiteError
from restgpt_bench.restbench.unclosed import UnclosedResources
from restgpt_bench.worlds import TODAY, World, open_world
from restgpt_bench.worlds.server import serve

log = logging.getLogger("restgpt_bench")

ABLATIONS = ("planner", "parser", "closure")
"""The parts that can be taken from the agent: the planner (without it, the agent is ReAct), the schema-based parser,
the closure of search over producers with its hints, the refusal of invented ids."""

PLANNED = ("restgpt", "calls")
"""The methods with a planner of sub-tasks: the agent as it is, and the agent without programs, as in the paper."""

SPEAKS_OF = 5
"""A sub-task is about the operations that search ranks this high for its text."""

MESSAGE = 500

ModelFor = Callable[[Item, World[Any]], BaseChatModel]
"""Gives the model for a task; the world is as it is before the run."""


def check_settings(settings: RunSettings) -> None:
    """Raise `SuiteError` for an unknown method, ablation or setting of the agent."""
    if settings.method not in METHODS:
        raise SuiteError(f"There is no method {settings.method}. There are: {', '.join(METHODS)}.")
    if unknown := [name for name in settings.ablations if name not in ABLATIONS]:
        raise SuiteError(f"There is no ablation {unknown[0]}. There are: {', '.join(ABLATIONS)}.")
    if "planner" in settings.ablations and settings.method not in PLANNED:
        raise SuiteError(f"Only {' and '.join(PLANNED)} have a planner to leave out, not {settings.method}.")
    context = make_context(settings)
    if "parser" in settings.ablations and settings.method == "restgpt" and context.road != "roles":
        raise SuiteError("Programs read the answers, so there is no parser to leave out. Use the method calls.")


def make_context(settings: RunSettings) -> Context:
    """The agent's settings for a run; raises `SuiteError` for an unknown one.

    Changes are allowed without undo, because undo would read each target first: a call that no gold path has.
    """
    ablated: dict[str, Any] = {}
    if "parser" in settings.ablations:
        ablated["code"] = False
    try:
        return Context(**{"today": TODAY.isoformat(), "writes": "allow", "undo": False, **settings.context, **ablated})
    except ValidationError as error:
        raise SuiteError(f"Settings that cannot be used: {problems_of(error)}.") from None


def model_for(name: str, *, recording: Path | None = None, patience: float = PATIENCE_S) -> ModelFor:
    """The model of a run by its name on the command line.

    `recording` is the file for its prompts and replies; `patience` is the time for one reply in seconds.

    Raises `ModelError` or `SuiteError` where there is no such model.
    """
    recorder = None if recording is None else Recorder(recording)
    shared = None if name.startswith(PREFIX) else resolve_model(name, timeout=patience)

    def give(item: Item, world: World[Any]) -> BaseChatModel:
        model = scripted(name, item, world) if shared is None else shared
        if recorder is not None:
            model.callbacks = [recorder]
        return model

    return give


@dataclass(frozen=True, slots=True)
class Runner:
    """Everything that the tasks of a run have in common."""

    settings: RunSettings
    suite: Suite
    documents: Documents
    model: ModelFor

    @classmethod
    def over(cls, settings: RunSettings, suite: Suite, model: ModelFor, *, cache: Path | None = None) -> "Runner":
        """Read the documents; raises `SuiteError` or `SpecError`."""
        check_settings(settings)
        documents = gather(
            suite.world,
            spec=settings.spec,
            noise=settings.noise,
            noise_specs=settings.noise_specs,
            needed=[step for item in suite.items for step in (*item.gold, *item.task.gold)],
            seed=settings.seed,
            cache=cache,
        )
        return cls(settings, suite, documents, model)

    def run(
        self,
        folder: RunFolder,
        *,
        concurrency: int = 1,
        retry: bool = False,
        finished: Callable[[Record], None] = lambda record: None,
    ) -> list[Record]:
        """Run the tasks that have no record yet, `concurrency` at a time; returns the records of the whole suite.

        `retry` also repeats those whose run broke off. `finished` is called with each new record. An error outside of
        the agent (a judge that fails, a full disk) is raised when all other tasks are done.
        """
        known = {record.key: record for record in folder.records() if not (retry and record.failure is not None)}
        todo = [item for item in self.suite.items if item.key not in known]
        pool = ThreadPoolExecutor(max_workers=concurrency, thread_name_prefix="bench")
        try:
            futures = [pool.submit(self.run_task, item) for item in todo]
            for future in as_completed(futures):
                if future.exception() is None:
                    record = future.result()
                    folder.write(record)
                    known[record.key] = record
                    finished(record)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        for future in futures:
            future.result()
        return [known[item.key] for item in self.suite.items]

    def run_task(self, item: Item) -> Record:
        """Run one task; every error of the agent goes into the record."""
        world = open_world(self.suite.world, seed=self.settings.seed)
        world.reset(item.task.fixture)
        calls = gold_calls(item, self.settings.seed, self.suite.world)
        model = self.model(item, world)
        with serve(world) as server:
            services = self._resources(server.url, model)
            context = make_context(self.settings)
            method = "react" if "planner" in self.settings.ablations else self.settings.method
            graph = build_method(method, checkpointer=InMemorySaver(), store=InMemoryStore(), services=services)
            attempt = _attempt(graph, item.instruction, context)
        catalogue = services.catalogue(())
        return _record(item, calls, world, attempt, catalogue, has_planner=method in PLANNED)

    def _resources(self, url: str, model: BaseChatModel) -> Services:
        kind = UnclosedResources if "closure" in self.settings.ablations else Services
        # Fresh settings and no recipes, so that the user's own configuration has no effect.
        return kind(self.documents.open(url), model=model, settings=Settings(), recipes=())


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The state and the updates of one run of the agent, whether it ended or broke off."""

    values: Mapping[str, Any]
    updates: Sequence[Mapping[str, Any]]
    failure: Failure | None
    wall_s: float
    cpu_s: float

    def of(self, name: str) -> Iterator[Any]:
        """Every value that the run gave to a key of the state."""
        for update in self.updates:
            if name in update:
                yield update[name]


def _attempt(graph: Graph, instruction: str, context: Context) -> _Attempt:
    config: RunnableConfig = {
        "configurable": {"thread_id": "task"},
        "recursion_limit": recursion_limit(context.max_steps),
    }
    asked_for: Any = {"messages": [("user", instruction)]}
    failure: Failure | None = None
    updates: list[Mapping[str, Any]] = []
    wall, cpu = time.perf_counter(), time.thread_time()
    try:
        parts: Iterator[Any] = graph.stream(asked_for, config, context=context, stream_mode="updates")
        for part in parts:
            updates += [update for update in part.values() if isinstance(update, Mapping)]
    except Exception as error:
        # One task that breaks off must not end the run: it is recorded as failed.
        log.debug("The task broke off", exc_info=error)
        failure = Failure(type(error).__name__, _message(error))
    wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
    return _Attempt(graph.get_state(config).values, updates, failure, round(wall, 3), round(cpu, 4))


def _message(error: Exception) -> str:
    """The text of an error that the project foresees; that of any other could hold a secret."""
    if isinstance(error, RestgptError):
        return str(error)[:MESSAGE]
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return "" if last is None else f"at {Path(last.tb_frame.f_code.co_filename).name}:{last.tb_lineno}"


def gold_calls(item: Item, seed: int, world_name: str) -> tuple[GoldCall, ...]:
    """The gold calls of a task with their values, replayed on a twin of the world."""
    twin = open_world(world_name, seed=seed)
    twin.reset(item.task.fixture)
    replay = item.task.replay(twin)
    return tuple(
        GoldCall(call.operation, dict(call.arguments), tuple(_flows(step, replay.results)))
        for step, call in zip(item.task.steps, replay.calls, strict=True)
    )


def _flows(step: Step, results: Sequence[Any]) -> Iterable[Any]:
    """The values that a gold step takes from earlier results: each that must have been extracted before."""
    for part in (step.path, step.query, step.body):
        for reference in dict.fromkeys(references_in(part)):
            yield select(reference, results)[0]


def _record(
    item: Item,
    calls: tuple[GoldCall, ...],
    world: World[Any],
    attempt: _Attempt,
    catalogue: Catalogue,
    *,
    has_planner: bool,
) -> Record:
    values, failure = attempt.values, attempt.failure
    steps: list[Mapping[str, Any]] = list(values.get("steps", ()))
    plans = [plan for plan in attempt.of("api_plan") if plan["calls"]]
    answer = str(values.get("answer") or "") if failure is None else ""
    verdict = item.task.check(world, world.log, answer)
    extracted = "\n".join(request["result"] for step in steps for request in step["requests"])
    ok = verdict.ok and failure is None
    return Record(
        key=item.key,
        instruction=item.instruction,
        gold=item.gold,
        paths=item.paths,
        calls=calls,
        success=ok,
        why=verdict.why if failure is None else f"the run broke off: {failure.type}",
        answer=answer,
        told=item.task.check(world, world.log, extracted).holds,
        log=[{**entry.to_json(), "covers": asked(entry)} for entry in world.log],
        steps=steps,
        plans=plans,
        hints=[hint for hint in attempt.of("hint") if hint],
        operations=_operations(plans, catalogue),
        subtasks=tuple(_subtasks(attempt.of("decision"), world)) if has_planner else (),
        usage=values.get("usage") or {"roles": {}},
        wall_s=attempt.wall_s,
        cpu_s=attempt.cpu_s,
        offered=len(catalogue),
        failure=failure,
    )


def _operations(plans: Sequence[Mapping[str, Any]], catalogue: Catalogue) -> dict[str, str]:
    """The operations that API plans name, as "METHOD /template"; those of noise documents with the name of theirs."""
    names = {call["operation"] for plan in plans for call in plan["calls"]}
    found = {}
    for name in sorted(names):
        operation = catalogue.operation(name)
        own = operation.api is catalogue.apis[0]
        found[name] = f"{operation.method} {'' if own else operation.api.name}{operation.path}"
    return found


def _subtasks(decisions: Iterable[Mapping[str, Any]], world: World[Any]) -> Iterator[SubTask]:
    """The planner's sub-tasks, each with the operations of the world's own document that search finds for it."""
    texts = [decision["text"] for decision in decisions if decision["kind"] in ("plan", "continue")]
    for text in dict.fromkeys(text for text in texts if text):
        found = world.api.search(text, SPEAKS_OF)
        yield SubTask(text, tuple(f"{operation.method} {operation.path}" for operation in found))


@cache
def program_version() -> str:
    """The version of the program, for the record."""
    from importlib.metadata import version

    return version("restgpt")


def describe(settings: RunSettings) -> str:
    """A run in a line, as reports and pictures name it."""
    noise = "" if settings.noise is None else f", {settings.noise} noise operations"
    spec = "" if settings.spec is None else f", {Path(settings.spec).name}"
    extra = "".join(f", {name}={value}" for name, value in settings.context.items())
    return f"{settings.label} · {settings.suite} · {settings.model} · seed {settings.seed}{spec}{noise}{extra}"
