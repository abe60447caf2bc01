"""Saves the written programs as recipes, and runs each again: the changes, the state and the report are the same."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from lab.recipes.written import Written, programs
from restgpt.graph.build import build_graph
from restgpt.graph.recipe_graph import build_recipe
from restgpt.nodes.run.services import Context, Services
from restgpt.nodes.saved_run import save_run
from restgpt.specs import load_api
from restgpt.specs.reading.download import bundled_document
from restgpt.tools.errors import StoppingError
from restgpt.tools.model.scripted import Reply, ScriptedChatModel
from restgpt.tools.settings import Settings
from restgpt_bench.worlds import CREDENTIAL, open_world
from restgpt_bench.worlds.server import serve

THREAD: Any = {"configurable": {"thread_id": "recipe"}}

LEAST = 0.95
"""The share of the programs whose recipes have to do the same again."""


class _Writer(ScriptedChatModel):
    """Writes one program, and gives up if it fails."""

    code: str = ""

    def reply(self, messages: list[Any], tools: Sequence[str]) -> Reply:
        """Return the program, or the end."""
        if any(message.type == "human" for message in messages[2:]):
            return {"thought": "", "decision": "end", "text": "The program failed.", "fulfilled": False}
        return {"thought": "", "decision": "program", "text": self.code}


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: what it said, the changes that it made, and the state that they led to."""

    said: str
    changes: tuple[str, ...]
    state: str = field(repr=False)


def runs_of(written: Written) -> tuple[Ended, Ended]:
    """Run a program, save it, and run its recipe with the same inputs on the world as it was; return how both ended."""
    world = open_world(written.world)
    with serve(world) as server:
        auth = dict.fromkeys(world.api.security_schemes, CREDENTIAL)
        api = load_api(bundled_document(written.world).read_bytes(), base_url=server.url, auth=auth, name=written.world)
        saver, store = InMemorySaver(), InMemoryStore()
        model, defaults = _Writer(code=written.literal), Context(writes="allow", road="program")
        services = Services([api], model=model, settings=Settings(), defaults=defaults)
        graph = build_graph(services=services, checkpointer=saver, store=store)
        first = _ended(world, graph, {"instruction": written.said})
        values = graph.get_state(THREAD).values
        recipe = save_run(values, services, name=written.name, store=store, thread="recipe")
        world.reset()
        services = Services([api], settings=Settings(), defaults=Context(writes="allow"))
        again = build_recipe(recipe, checkpointer=InMemorySaver(), store=InMemoryStore(), services=services)
        return first, _ended(world, again, {"inputs": recipe.examples})


def _ended(world: Any, graph: Any, given: dict[str, Any]) -> Ended:
    said = str(graph.invoke(cast(Any, given), THREAD).get("answer", ""))
    changes = [
        f"{entry.method} {entry.path} {json.dumps(entry.query)} {json.dumps(entry.body)}"
        for entry in world.log
        if entry.ok and entry.method != "GET"
    ]
    return Ended(said, tuple(changes), json.dumps(world.snapshot(), sort_keys=True, default=str))


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
