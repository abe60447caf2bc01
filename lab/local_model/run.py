"""One task of the development suites with a real model: the outcome, judged by the world and by what was claimed."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, convert_to_openai_messages
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore

from lab.kills.ledger import changes_of
from lab.kit.drive import spent
from lab.kit.table import markdown
from restgpt.nodes.run.services import Services
from restgpt.tools.errors import RestgptError
from restgpt.tools.model.scripted import Recorder
from restgpt.tools.settings import Settings
from restgpt_bench.methods.build import build_method
from restgpt_bench.restbench.documents import gather
from restgpt_bench.restbench.suite import OWN, Item, open_suite
from restgpt_bench.worlds import TODAY, World, open_world
from restgpt_bench.worlds.server import serve

ROADS = ("program", "roles")
"""The agent's roads: programs, and the roles of the paper."""

TASKS = {
    "dev-toy": ("owner", "hours", "open", "add", "delete"),
    "dev-tmdb": ("airing", "trending-person", "twenty-fifth", "japanese", "birthday"),
    "dev-spotify": ("email", "last-song", "volume", "count", "save-album"),
}
"""The tasks by default: all of the toy world, and the first five of the two others."""


class Exchanges(Recorder):
    """Appends each prompt with its reply to a file, whole, to be read."""

    def shown(self, prompt: Sequence[BaseMessage]) -> dict[str, Any]:
        """The whole prompt."""
        return {"prompt": convert_to_openai_messages(prompt)}


def tasks(named: Iterable[str] = ()) -> list[tuple[str, Item]]:
    """Return the tasks of these names (SUITE/KEY), or those by default; raises `SuiteError`."""
    given = list(named) or [f"{suite}/{key}" for suite, keys in TASKS.items() for key in keys]
    parts = [name.partition("/") for name in given]
    return [(suite, open_suite(suite).only([key]).items[0]) for suite, _, key in parts]


def run_task(suite: str, item: Item, road: str, name: str, model: BaseChatModel, store: BaseStore) -> dict[str, Any]:
    """Carry out one task on a fresh world, with every change allowed; return what became of it.

    `claimed` says that the run counts as fulfilled, `called` that a call succeeded; `beyond` are changes that the gold
    calls do not make.
    """
    world = open_world(OWN[suite])
    world.reset(item.task.fixture)
    context = {"today": TODAY.isoformat(), "writes": "allow", "undo": False, "max_seconds": 7200, "road": road}
    config: RunnableConfig = {"configurable": {"thread_id": f"{road}/{suite}/{item.key}"}}
    began, error = time.monotonic(), ""
    with serve(world) as server:
        apis = gather(OWN[suite]).open(server.url)
        services = Services(apis, model=model, settings=Settings(), recipes=(), store=store).with_defaults(**context)
        graph = build_method("restgpt", services=services, checkpointer=InMemorySaver(), store=store)
        try:
            graph.invoke({"instruction": item.instruction}, config)
        except RestgptError as failure:
            error = f"{type(failure).__name__}: {failure}"[:500]
    values = graph.get_state(config).values
    answer = "" if error else str(values.get("answer", ""))
    cost = spent(values.get("usage"))
    return {
        "model": name,
        "road": road,
        "task": f"{suite}/{item.key}",
        "success": not error and item.task.check(world, world.log, answer).ok,
        "claimed": not error and bool(values["decision"].get("fulfilled")),
        "called": any(entry.ok for entry in world.log),
        "error": error,
        "beyond": list(_beyond(suite, item, world)),
        "calls": cost["calls"],
        "tokens": cost["input_tokens"] + cost["output_tokens"],
        "seconds": round(time.monotonic() - began, 1),
        "answer": answer,
        "log": [f"{entry.method} {entry.path} {entry.status}" for entry in world.log],
    }


def _beyond(suite: str, item: Item, world: World[Any]) -> Iterable[str]:
    """The changes that were made beyond those of the gold calls."""
    twin = open_world(OWN[suite])
    twin.reset(item.task.fixture)
    item.task.replay(twin)
    return (Counter(changes_of(world)) - Counter(changes_of(twin))).elements()


def broken(outcomes: Iterable[Mapping[str, Any]]) -> list[str]:
    """The tasks in which something happened that no model may bring about: a change beyond, a claim without a call."""
    return [
        f"{one['road']} {one['task']}" for one in outcomes if one["beyond"] or (one["claimed"] and not one["called"])
    ]


def table(outcomes: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The outcomes as a Markdown table, a row for each model and road."""
    columns = (
        "model", "road", "right", "claims without a call", "fulfilled and wrong", "errors", "changes beyond", "calls",
        "tokens", "seconds",
    )  # fmt: skip
    rows = []
    for model, road in dict.fromkeys((one["model"], one["road"]) for one in outcomes):
        own = [one for one in outcomes if (one["model"], one["road"]) == (model, road)]
        counts = (
            sum(one["claimed"] and not one["called"] for one in own),
            sum(one["claimed"] and not one["success"] for one in own),
            sum(bool(one["error"]) for one in own),
            sum(len(one["beyond"]) for one in own),
        )
        spent = (f"{sum(one[name] for one in own):,.0f}" for name in ("calls", "tokens", "seconds"))
        rows.append([model, road, f"{sum(one['success'] for one in own)} of {len(own)}", *counts, *spent])
    return markdown(columns, rows)
