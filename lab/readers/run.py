"""One task on a served world: carried out by its own right calls, by nobody, or by the agent with a model."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from lab.readers.box import BOX
from lab.readers.directory_tasks import DIRECTORY
from lab.readers.harbor import HARBOR
from lab.readers.server import served
from lab.readers.task import MissingDocumentError, Suite, Task
from lab.readers.xero_tasks import XERO
from restgpt import build_graph, load_api
from restgpt.nodes.run.services import Services
from restgpt.tools.settings import Settings

SUITES = (BOX, HARBOR, XERO, DIRECTORY)
TODAY = "2026-03-02"


class UnknownTaskError(Exception):
    """There is no task of this name."""


def tasks(named: Iterable[str] = ()) -> list[tuple[Suite, Task]]:
    """Return the tasks of these names (API/KEY, or API for all on it), or all thirty; raises `UnknownTaskError`."""
    every = {f"{suite.name}/{task.key}": (suite, task) for suite in SUITES for task in suite.tasks}
    found: list[tuple[Suite, Task]] = []
    for name in list(named) or [suite.name for suite in SUITES]:
        fitting = [one for key, one in every.items() if name in (key, one[0].name)]
        if not fitting:
            raise UnknownTaskError(f"There is no task {name}; there are {', '.join(every)}.")
        found += fitting
    return found


def with_document(chosen: Sequence[tuple[Suite, Task]]) -> tuple[list[tuple[Suite, Task]], list[str]]:
    """Leave out the tasks on a document with a variable of its own that is not there; say so in sentences.

    Raises `MissingDocumentError` for the other documents.
    """
    missing: dict[str, str] = {}
    for suite in SUITES:
        if all(one.name != suite.name for one, _ in chosen):
            continue
        try:
            suite.document()
        except MissingDocumentError as error:
            if not suite.variable:
                raise
            missing[suite.name] = f"The tasks on {suite.name} are left out: {error}."
    return [one for one in chosen if one[0].name not in missing], list(missing.values())


def replay(suite: Suite, task: Task, doing: Callable[[str], str] | None = None) -> list[str]:
    """Let `doing` (the task's own calls by default) act on a fresh world; list what is wrong then."""
    world = suite.world()
    with served(world) as url:
        answer = (doing or task.gold)(url)
    return task.faults(world, answer)


def run_task(suite: Suite, task: Task, model: BaseChatModel) -> dict[str, Any]:
    """Let the agent carry one task out on a fresh world, with every change allowed; return what became of it."""
    world = suite.world()
    context = {"today": TODAY, "writes": "allow", "undo": False, "max_seconds": 7200}
    config: RunnableConfig = {"configurable": {"thread_id": f"{suite.name}/{task.key}"}}
    store, began, error = InMemoryStore(), time.monotonic(), ""
    with served(world) as url:
        api = load_api(suite.document(), base_url=url, name=suite.name, given=suite.given)
        services = Services([api], model=model, settings=Settings(), recipes=(), store=store).with_defaults(**context)
        graph = build_graph(services=services, checkpointer=InMemorySaver(), store=store)
        try:
            graph.invoke({"instruction": task.instruction}, config)
        except Exception as failure:  # noqa: BLE001 - one task must not end the run, whatever it dies of
            error = f"{type(failure).__name__}: {failure}"[:500]
    values = graph.get_state(config).values
    answer = "" if error else str(values.get("answer", ""))
    roles = (values.get("usage") or {"roles": {}})["roles"].values()
    faults = task.faults(world, answer)
    return {
        "task": f"{suite.name}/{task.key}",
        "right": not error and not faults,
        "why_not": faults,
        "calls": sum(role["calls"] for role in roles),
        "input_tokens": sum(role["input_tokens"] for role in roles),
        "output_tokens": sum(role["output_tokens"] for role in roles),
        "seconds": round(time.monotonic() - began, 1),
        "answer": answer,
        "road": values.get("road", ""),
        "error": error,
        "log": world.log,
    }


def rows(outcomes: Sequence[dict[str, Any]]) -> list[list[object]]:
    """The outcomes as rows of a table."""
    found: list[list[object]] = []
    for one in outcomes:
        why = one["error"] or "; ".join(one["why_not"])
        tokens = f"{one['input_tokens']:,}"
        found.append([one["task"], "yes" if one["right"] else "no", one["calls"], tokens, len(one["log"]), why[:120]])
    return found
