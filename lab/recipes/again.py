"""Saves the written programs as recipes, and runs each again: the changes, the state and the report are the same."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from lab.kills.ledger import changes_of
from lab.kills.repeat import saved
from lab.recipes.written import Written, programs
from restgpt.graph.recipe_graph import build_recipe
from restgpt.nodes.run.services import Context, Services
from restgpt.tools.errors import StoppingError
from restgpt.tools.settings import Settings
from restgpt_bench.worlds import open_world, served_api
from restgpt_bench.worlds.server import serve

LEAST = 0.95
"""The share of the programs whose recipes have to do the same again."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: what it said, the changes that it made, and the state that they led to."""

    said: str
    changes: Sequence[str]
    state: str = field(repr=False)


def runs_of(written: Written) -> tuple[Ended, Ended]:
    """Run a program, save it, and run its recipe with the same inputs on the world as it was; return how both ended."""
    world = open_world(written.world)
    with serve(world) as server:
        said, recipe = saved(written.job, server.url, written.name)
        first = _ended(world, said)
        world.reset()
        api, defaults = served_api(written.world, server.url), Context(writes="allow")
        services = Services([api], settings=Settings(), defaults=defaults)
        again = build_recipe(recipe, checkpointer=InMemorySaver(), store=InMemoryStore(), services=services)
        values = again.invoke({"inputs": recipe.examples}, {"configurable": {"thread_id": "again"}})
        return first, _ended(world, str(values.get("answer", "")))


def _ended(world: Any, said: str) -> Ended:
    return Ended(said, changes_of(world), json.dumps(world.snapshot(), sort_keys=True, default=str))


def main(names: Sequence[str] = ()) -> int:
    """Print which recipes did otherwise, and how many did the same; 1 if these are too few."""
    chosen = [item for item in programs() if not names or item.name in names]
    same = 0
    for written in chosen:
        try:
            first, again = runs_of(written)
        except StoppingError as error:
            print(f"{written.name}: {error}")
            continue
        same += first == again
        if first != again:
            print(f"{written.name}: {first} and then {again}")
    print(f"{same} of {len(chosen)} recipes did the same again.")
    return int(same < LEAST * len(chosen))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
