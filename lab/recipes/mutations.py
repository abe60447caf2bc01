"""Mutates answers under recipes, and counts what becomes of the mutations that do harm, and of those that do none.

Whether a mutation does harm is measured: the recipe runs on the mutated API with its guards left out. If it ends well,
with the changes, the state and the report of the API as it was, the mutation is harmless. Then the recipe runs with its
guards. A harmful mutation is `stopped`; or the run goes on to a change, which a person is `asked` about; or it goes
`unnoticed`. A harmless one should be `right`, and not be stopped (`needless`).
"""

import argparse
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from lab.recipes.answers import Chosen, Mutation, chosen_in, is_named, mutations
from lab.recipes.written import Written, programs
from restgpt.graph.build import build_graph
from restgpt.graph.recipes.build import build_recipe
from restgpt.nodes.recipes.saved_run import save_run
from restgpt.nodes.run.context import Context
from restgpt.nodes.run.services import Services
from restgpt.recipes.recipe import Recipe
from restgpt.specs import Api, load_api
from restgpt.specs.bundled import bundled_document
from restgpt.tools.errors import StoppingError
from restgpt.tools.model.scripted import Reply as Scripted
from restgpt.tools.model.scripted import ScriptedChatModel
from restgpt.tools.settings import Settings
from restgpt_bench.worlds import CREDENTIAL, World, open_world
from restgpt_bench.worlds.exchange import RefusalError, Reply, Request
from restgpt_bench.worlds.routing import Router
from restgpt_bench.worlds.server import WorldServer, serve

THREAD: Any = {"configurable": {"thread_id": "recipe"}}
UNGUARDED: Mapping[str, Any] = {"reads": {}, "status": (), "items": {}, "named": None}

Outcome = Literal["stopped", "asked", "unnoticed", "right", "needless"]
OUTCOMES: tuple[Outcome, ...] = ("stopped", "asked", "unnoticed", "right", "needless")


class MutatedWorld:
    """Serves a world whose replies a mutation changes, and keeps its good replies; the rest is the world's."""

    def __init__(self, world: World[Any]) -> None:
        self.world = world
        self.mutation: Mutation | None = None
        self.replies: dict[str, list[Reply]] = {}
        self._router = Router(world.api.operations)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.world, name)

    def handle(self, request: Request) -> Reply:
        """Answer a request."""
        reply = self.world.handle(request)
        try:
            operation = self._router.find(request.method, request.path.removeprefix(self.world.base_path))[0].key
        except RefusalError:
            return reply
        if reply.ok:
            self.replies.setdefault(operation, []).append(reply)
        is_mutated = self.mutation is not None and self.mutation.operation == operation and reply.ok
        return self.mutation.outgoing(reply) if self.mutation and is_mutated else reply


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: whether it reported, what it said, the changes that it made, and the state that they led to."""

    is_report: bool
    said: str
    changes: tuple[str, ...]
    state: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutation, without the guards of the recipe and with them."""

    mutation: Mutation
    is_harmful: bool
    right: Ended
    guarded: Ended

    @property
    def outcome(self) -> Outcome:
        """The outcome of the run with guards."""
        if not self.is_harmful:
            return "right" if self.guarded == self.right else "needless"
        if not self.guarded.is_report:
            return "stopped"
        return "asked" if self.guarded.changes else "unnoticed"


class _Writer(ScriptedChatModel):
    """Writes one program, and gives up if it fails."""

    code: str = ""

    def reply(self, messages: list[Any], tools: Sequence[str]) -> Scripted:
        """Return the program, or the end."""
        if any(message.type == "human" for message in messages[2:]):
            return {"thought": "", "decision": "end", "text": "The program failed.", "fulfilled": False}
        return {"thought": "", "decision": "program", "text": self.code}


class Stage:
    """The worlds, served as mutations say."""

    def __init__(self, worlds: Mapping[str, MutatedWorld], servers: Mapping[str, WorldServer]) -> None:
        self._worlds = worlds
        self._servers = servers

    def saved(self, written: Written) -> tuple[Recipe, dict[str, list[Reply]], dict[str, str]]:
        """Run a program and save the run; return also its good replies and its operations by functions."""
        world, api = self._opened(written.world, None)
        services = Services([api], model=_Writer(code=written.literal), settings=Settings())
        saver, store = InMemorySaver(), InMemoryStore()
        graph = build_graph(services=services, checkpointer=saver, store=store)
        context: Any = {"writes": "allow", "road": "program"}
        graph.invoke({"instruction": written.said}, THREAD, context=context)
        values = graph.get_state(THREAD).values
        recipe = save_run(values, services, name=written.name, store=store, thread="recipe")
        functions = {item.function: f"{item.method} {item.path}" for item in recipe.operations}
        called = set(functions.values())
        return recipe, {key: item for key, item in world.replies.items() if key in called}, functions

    def run(self, recipe: Recipe, world: str, mutation: Mutation | None, *, is_guarded: bool = True) -> Ended:
        """Run a recipe with the inputs of its first run on a world that is mutated or not."""
        mutated, api = self._opened(world, mutation)
        if not is_guarded:
            bare = tuple(item.model_copy(update=UNGUARDED) for item in recipe.operations)
            recipe = recipe.model_copy(update={"operations": bare})
        services = Services([api], settings=Settings(), defaults=Context(writes="allow"))
        graph = build_recipe(recipe, checkpointer=InMemorySaver(), store=InMemoryStore(), services=services)
        said, given = "", cast(Any, {"inputs": recipe.examples})
        try:
            graph.invoke(given, THREAD)
        except StoppingError as error:
            said = str(error)
        values = graph.get_state(THREAD).values
        program = (values.get("steps") or [{}])[-1].get("program") or {}
        changes = [
            f"{entry.method} {entry.path} {json.dumps(entry.query)} {json.dumps(entry.body)}"
            for entry in mutated.log
            if entry.ok and entry.method != "GET"
        ]
        state = json.dumps(mutated.snapshot(), sort_keys=True, default=str)
        is_report = not said and program.get("end") == "report"
        return Ended(is_report, said or values.get("answer", ""), tuple(changes), state)

    def _opened(self, name: str, mutation: Mutation | None) -> tuple[MutatedWorld, Api]:
        world = self._worlds[name]
        world.world.reset()
        world.mutation, world.replies = mutation, {}
        auth = dict.fromkeys(world.world.api.security_schemes, CREDENTIAL)
        document = bundled_document(name).read_bytes()
        return world, load_api(document, base_url=self._servers[name].url, auth=auth, name=name)


@contextmanager
def open_stage() -> Iterator[Stage]:
    """Serve the worlds."""
    with ExitStack() as stack:
        worlds = {name: MutatedWorld(open_world(name)) for name in sorted({item.world for item in programs()})}
        # The wrapper has all of a world that its server uses.
        servers = {name: stack.enter_context(serve(cast("World[Any]", world))) for name, world in worlds.items()}
        yield Stage(worlds, servers)


def measure(stage: Stage, written: Sequence[Written], *, count: int, seed: int = 0) -> list[Verdict]:
    """Save each program, and judge some mutations of each kind; with one mutation of a group come the others."""
    saved = {item: stage.saved(item) for item in written}
    named = {item: _chosen(item, replies, functions) for item, (_, replies, functions) in saved.items()}
    donors: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for lists in named.values():
        for operation, (_, _, items) in lists.items():
            donors[operation] += items
    kinds: dict[str, list[tuple[Written, Mutation]]] = defaultdict(list)
    for item, (_, replies, _) in saved.items():
        chosen = {
            operation: Chosen(pattern, name, items, [other for other in donors[operation] if not is_named(other, name)])
            for operation, (pattern, name, items) in named[item].items()
        }
        for mutation in mutations(item, replies, chosen):
            kinds[mutation.kind].append((item, mutation))
    chance = random.Random(f"mutations {seed}")
    drawn = [pair for several in kinds.values() for pair in chance.sample(several, min(count, len(several)))]
    groups = {mutation.group for _, mutation in drawn} - {""}
    drawn += [pair for several in kinds.values() for pair in several if pair[1].group in groups and pair not in drawn]
    return list(_judged(stage, {item: recipe for item, (recipe, _, _) in saved.items()}, drawn))


def _chosen(
    written: Written, replies: Mapping[str, Sequence[Reply]], functions: Mapping[str, str]
) -> dict[str, tuple[str, str, list[Any]]]:
    """Return the lists of which a program takes a named item, by operation: pattern, name and items."""
    found = {}
    for function, given in written.chooses.items():
        operation, name = functions[function], str(written.inputs[given])
        for reply in replies.get(operation, ()):
            if hit := chosen_in(reply.body, name):
                found[operation] = (hit[0], name, hit[1])
    return found


def _judged(
    stage: Stage, recipes: Mapping[Written, Recipe], drawn: Sequence[tuple[Written, Mutation]]
) -> Iterator[Verdict]:
    rights = {item: stage.run(recipes[item], item.world, None) for item in dict.fromkeys(item for item, _ in drawn)}
    bare = [stage.run(recipes[item], item.world, mutation, is_guarded=False) for item, mutation in drawn]
    pairs = list(zip(drawn, bare, strict=True))
    harmful = {mutation.group for (item, mutation), ended in pairs if ended != rights[item]} - {""}
    for (item, mutation), ended in pairs:
        guarded = stage.run(recipes[item], item.world, mutation)
        yield Verdict(mutation, ended != rights[item] or mutation.group in harmful, rights[item], guarded)


def table(verdicts: Sequence[Verdict]) -> str:
    """Return how many mutations of each kind had each outcome."""
    counts = Counter((name, verdict.outcome) for verdict in verdicts for name in (verdict.mutation.kind, "all"))
    kinds = [*dict.fromkeys(verdict.mutation.kind for verdict in verdicts), "all"]
    head = f"{'':34}" + "".join(f"{outcome:>10}" for outcome in OUTCOMES)
    return "\n".join([head, *(f"{kind:34}" + "".join(f"{counts[kind, one]:10}" for one in OUTCOMES) for kind in kinds)])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table and what was not stopped; 1 if a harmful mutation was unnoticed."""
    parser = argparse.ArgumentParser(prog="python -m lab.recipes.mutations", description=__doc__)
    parser.add_argument("--recipes", nargs="+", metavar="NAME", help="only these recipes")
    parser.add_argument("--count", type=int, default=12, help="how many mutations of each kind")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    with open_stage() as stage:
        written = [item for item in programs() if not given.recipes or item.name in given.recipes]
        verdicts = measure(stage, written, count=given.count, seed=given.seed)
    for verdict in verdicts:
        if verdict.outcome in ("asked", "unnoticed", "needless"):
            print(f"{verdict.outcome}: {verdict.mutation}\n    {verdict.guarded.said[:300]!r}")
    print(table(verdicts))
    return int(any(verdict.outcome == "unnoticed" for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
