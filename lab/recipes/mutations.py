"""Mutates documents and answers under recipes, and counts which guards stop what does harm, and what does none.

Whether a mutation does harm is measured: the recipe runs on the mutated API with its guards left out. If it ends well,
with the changes, the state and the report of the API as it was, the mutation is harmless. Then the recipe runs with its
guards. Each harmful mutation that shows before the first change must be stopped before it, by a sentence that names the
place; one that shows only in the answer to a change must be stopped there; and the harmless ones should not be stopped.
"""

import argparse
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, cast

import yaml
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from lab.recipes.answer_mutations import answer_mutations
from lab.recipes.case import Case
from lab.recipes.document_mutations import document_mutations
from lab.recipes.mutated_world import MutatedWorld
from lab.recipes.mutation import Document, Mutation
from lab.recipes.pointer import split
from lab.recipes.written import Written, programs
from restgpt.graph.build import build_graph
from restgpt.graph.recipes.build import build_recipe
from restgpt.nodes.recipes.saved_run import save_run
from restgpt.nodes.run.context import Context
from restgpt.nodes.run.resources import Resources
from restgpt.recipes.recipe import Documented, Recipe
from restgpt.specs import Api, Operation, load_api
from restgpt.specs.bundled import bundled_document
from restgpt.tools.errors import StoppingError
from restgpt.tools.model.scripted import Reply, ScriptedChatModel
from restgpt.tools.settings import Settings
from restgpt_bench.worlds import CREDENTIAL, World, open_world
from restgpt_bench.worlds.server import WorldServer, serve

THREAD: Any = {"configurable": {"thread_id": "recipe"}}


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: whether it reported, what it said, the changes that it made, and the state that they led to.

    `seen` is how many changes had been made when the first mutated answer came; None if none came.
    """

    is_report: bool
    said: str
    changes: tuple[str, ...]
    state: str
    seen: int | None

    def is_as(self, right: "Ended") -> bool:
        """Return whether the run is as right as another one."""
        return replace(self, seen=right.seen) == right


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a mutation did to a recipe without guards, and with them."""

    mutation: Mutation
    is_harmful: bool
    unguarded: Ended
    guarded: Ended
    right: Ended
    is_named: bool

    @property
    def shows_late(self) -> bool:
        """Whether nothing of the mutation can be seen before a change was made."""
        seen = [item for item in (self.unguarded.seen, self.guarded.seen) if item is not None]
        return self.mutation.target == "answers" and bool(seen) and min(seen) > 0

    @property
    def is_stopped(self) -> bool:
        """Whether the run with guards made no report, and no change after the mutation had shown."""
        if self.guarded.is_report or not self.shows_late:
            return not self.guarded.is_report and not self.guarded.changes
        # Calls of one `gather` go out together, so those beside the first mutated answer were sent before it was read.
        path = self.mutation.operation.split(" ", 1)[1].partition("{")[0]
        return all(f" {path}" in change for change in self.guarded.changes[self.guarded.seen :])

    @property
    def fault(self) -> str:
        """What is wrong with the guards here, or nothing."""
        if not self.is_harmful:
            return "" if self.guarded.is_as(self.right) else "stopped without need"
        if not self.is_stopped:
            return "not stopped"
        return "" if self.is_named else "names no place"

    def __str__(self) -> str:
        was = f"without guards: {_shown(self.unguarded)}; with guards: {_shown(self.guarded)}"
        return f"{self.fault or 'right'}: {self.mutation}\n    {was}"

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as JSON."""
        mutation = {key: getattr(self.mutation, key) for key in ("kind", "target", "recipe", "operation", "at")}
        runs = {"unguarded": asdict(self.unguarded), "guarded": asdict(self.guarded)}
        for run in runs.values():
            del run["state"]
        return {**mutation, "harmful": self.is_harmful, "late": self.shows_late, "fault": self.fault, **runs}


def _shown(ended: Ended) -> str:
    how = "reported" if ended.is_report else "ended"
    return f"{how} after {len(ended.changes)} changes: {ended.said[:300]!r}"


class _Writer(ScriptedChatModel):
    """Writes one program, and gives up if it fails."""

    code: str = ""

    def reply(self, messages: list[Any], tools: Sequence[str]) -> Reply:
        """Return the program, or the end."""
        if any(message.type == "human" for message in messages[2:]):
            return {"thought": "", "decision": "end", "text": "The program failed.", "fulfilled": False}
        return {"thought": "", "decision": "program", "text": self.code}


class Stage:
    """The worlds, served as mutations say."""

    def __init__(self, worlds: Mapping[str, MutatedWorld], servers: Mapping[str, WorldServer]) -> None:
        self._worlds = worlds
        self._servers = servers

    def saved(self, written: Written) -> tuple[Recipe, Case]:
        """Run a program for the first time, and save the run."""
        world, api = self._opened(written.world, None)
        resources = Resources([api], model=_Writer(code=written.literal), settings=Settings())
        saver, store = InMemorySaver(), InMemoryStore()
        graph = build_graph(resources=resources, checkpointer=saver, store=store)
        context: Any = {"writes": "allow", "execution": "program"}
        graph.invoke({"instruction": written.said}, THREAD, context=context)
        values = graph.get_state(THREAD).values
        recipe = save_run(values, resources, name=written.name, store=store, thread="recipe")
        functions = {item.name: f"{item.method} {item.path}" for item in api.operations}
        return recipe, Case(written, _document(written.world), tuple(world.exchanges), functions)

    def run(self, recipe: Recipe, world: str, mutation: Mutation | None, *, is_guarded: bool = True) -> Ended:
        """Run a recipe with the inputs of its first run on a world that is mutated or not."""
        mutated, api = self._opened(world, mutation)
        recipe = recipe if is_guarded else unguarded(recipe, api)
        resources = Resources([api], settings=Settings(), defaults=Context(writes="allow"))
        graph = build_recipe(recipe, checkpointer=InMemorySaver(), store=InMemoryStore(), resources=resources)
        said = ""
        try:
            given: Any = {"inputs": recipe.examples}
            graph.invoke(given, THREAD)
        except StoppingError as error:
            said = str(error)
        values = graph.get_state(THREAD).values
        return _ended(values, said, mutated)

    def _opened(self, name: str, mutation: Mutation | None) -> tuple[MutatedWorld, Api]:
        world = self._worlds[name]
        world.reset(mutation=mutation)
        document = _document(name)
        if mutation is not None:
            mutation.edit(document)
        auth = dict.fromkeys(world.world.api.security_schemes, CREDENTIAL)
        return world, load_api(document, base_url=self._servers[name].url, auth=auth, name=name)


def _ended(values: Mapping[str, Any], said: str, world: MutatedWorld) -> Ended:
    steps = values.get("steps") or [{}]
    program = steps[-1].get("program") or {}
    changes = [
        f"{entry.method} {entry.path} {json.dumps(entry.query)} {json.dumps(entry.body)}"
        for entry in world.log
        if entry.ok and entry.method != "GET"
    ]
    seen = [item.changes for item in world.exchanges if item.is_mutated]
    state = json.dumps(world.snapshot(), sort_keys=True, default=str)
    is_report = not said and program.get("end") == "report"
    return Ended(is_report, said or values.get("answer", ""), tuple(changes), state, min(seen, default=None))


def _document(name: str) -> Document:
    return cast(Document, json.loads(_json(name)))


@cache
def _json(name: str) -> str:
    return json.dumps(yaml.safe_load(bundled_document(name).read_bytes()), default=str)


@contextmanager
def open_stage() -> Iterator[Stage]:
    """Serve the worlds."""
    with ExitStack() as stack:
        worlds = {name: MutatedWorld(open_world(name)) for name in sorted({item.world for item in programs()})}
        # The wrapper has all of a world that its server uses.
        servers = {name: stack.enter_context(serve(cast("World[Any]", world))) for name, world in worlds.items()}
        yield Stage(worlds, servers)


def unguarded(recipe: Recipe, api: Api) -> Recipe:
    """Return a recipe without its guards: it relies on nothing, and knows all that the document requires today."""
    required = tuple(sorted({place for operation in api.operations for place in _places(operation)}))
    bare: dict[str, Any] = {
        "reads": {},
        "status": (),
        "items": {},
        "named": None,
        "documented": Documented(required=required),
    }
    return recipe.model_copy(update={"operations": tuple(item.model_copy(update=bare) for item in recipe.operations)})


def _places(operation: Operation) -> Iterator[str]:
    """Yield the places of all arguments of an operation, as recipes name them."""
    yield from (f"{part.location}/{part.name}" for part in operation.parameters)
    yield "body"


def measure(
    stage: Stage,
    recipes: Mapping[str, Recipe],
    cases: Mapping[str, Case],
    chosen: Sequence[Mutation],
    *,
    say: Callable[[str], None] = lambda text: None,
) -> list[Verdict]:
    """Run each mutation without guards and with them, and judge it."""
    rights: dict[str, Ended] = {}
    harm: dict[str, bool] = defaultdict(bool)
    runs: list[tuple[Mutation, Ended, Ended]] = []
    for number, mutation in enumerate(chosen, 1):
        name = mutation.recipe
        recipe, world = recipes[name], cases[name].written.world
        if name not in rights:
            rights[name] = stage.run(recipe, world, None)
            if not rights[name].is_report:
                raise RuntimeError(f"the recipe {name} is stopped on its own API: {rights[name].said}")
        without = stage.run(recipe, world, mutation, is_guarded=False)
        runs.append((mutation, without, stage.run(recipe, world, mutation)))
        harm[mutation.group or str(mutation)] |= not without.is_as(rights[name])
        if number % 20 == 0:
            say(f"{number} of {len(chosen)} mutations")
    return [
        Verdict(
            mutation,
            harm[mutation.group or str(mutation)],
            without,
            guarded,
            rights[mutation.recipe],
            is_place_named(mutation, guarded.said, recipes[mutation.recipe]),
        )
        for mutation, without, guarded in runs
    ]


def is_place_named(mutation: Mutation, said: str, recipe: Recipe) -> bool:
    """Return whether a sentence names the place of a mutation: the operation, its function, its part, or the thing."""
    functions = [item.function for item in recipe.operations if f"{item.method} {item.path}" == mutation.operation]
    parts = [name for name in split(mutation.at) if name != "*"] if mutation.at.startswith("/") else [mutation.at]
    words = [*functions, mutation.operation, mutation.operation.split(" ", 1)[1], *parts[-1:], mutation.thing]
    return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", said) for word in words if word)


def donors(cases: Iterable[Case]) -> dict[str, list[dict[str, Any]]]:
    """Return the items of the lists that are chosen from, by operation, from all cases."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for case in cases:
        for chosen in case.chosen():
            found[chosen.operation] += [dict(item) for item in chosen.items if item not in found[chosen.operation]]
    return found


def mutations_of(cases: Sequence[Case]) -> list[Mutation]:
    """Return all mutations of some cases."""
    others = donors(cases)
    return [item for case in cases for item in (*document_mutations(case), *answer_mutations(case, others))]


def sample(found: Sequence[Mutation], cases: Mapping[str, Case], count: int, *, seed: int = 0) -> list[Mutation]:
    """Draw some mutations of each kind; two thirds of them at places that the program names, if there are as many.

    With one mutation of a group come the others.
    """
    chance = random.Random(f"mutations {seed}")
    kinds: dict[tuple[str, str], list[Mutation]] = defaultdict(list)
    for mutation in found:
        kinds[mutation.target, mutation.kind].append(mutation)
    drawn: dict[str, Mutation] = {}
    for several in kinds.values():
        mixed = chance.sample(several, len(several))
        named = [item for item in mixed if _is_named(item, cases)]
        rest = [item for item in mixed if not _is_named(item, cases)]
        mostly = named[: max(2 * count // 3, count - len(rest))]
        drawn |= {str(item): item for item in [*mostly, *rest[: count - len(mostly)]]}
    groups = {item.group for item in drawn.values() if item.group}
    drawn |= {str(item): item for item in found if item.group in groups}
    return list(drawn.values())


def _is_named(mutation: Mutation, cases: Mapping[str, Case]) -> bool:
    return bool(mutation.at) and cases[mutation.recipe].mentions(mutation.at.rpartition("/")[2])


def table(verdicts: Sequence[Verdict]) -> str:
    """Return the verdicts by kind, as text."""
    kinds: dict[tuple[str, str], list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        kinds[verdict.mutation.target, verdict.mutation.kind].append(verdict)
    lines = [
        f"{'':42} {'n':>4} {'harmful':>8} {'late':>5} {'stopped':>8} {'unnamed':>8} {'harmless':>9} {'stopped':>8}"
    ]
    lines += [_line(f"{target}: {kind}", several) for (target, kind), several in kinds.items()]
    return "\n".join([*lines, _line("all", verdicts)])


def _line(name: str, verdicts: Sequence[Verdict]) -> str:
    harmful = [item for item in verdicts if item.is_harmful]
    harmless = [item for item in verdicts if not item.is_harmful]
    late = sum(item.shows_late for item in harmful)
    stopped = sum(item.is_stopped for item in harmful)
    unnamed = sum(item.fault == "names no place" for item in harmful)
    needless = sum(bool(item.fault) for item in harmless)
    counts = f"{len(verdicts):4} {len(harmful):8} {late:5} {stopped:8} {unnamed:8} {len(harmless):9} {needless:8}"
    return f"{name:42} {counts}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure mutations and print the table; 1 if a harmful one was missed or over 5 % of the harmless were stopped."""
    given = _options().parse_args(arguments)
    with open_stage() as stage:
        recipes, cases = {}, {}
        for written in programs():
            if not given.recipes or written.name in given.recipes:
                recipes[written.name], cases[written.name] = stage.saved(written)
        found = mutations_of(list(cases.values()))
        if given.only:
            found = [item for item in found if any(word in f"{item.target}: {item.kind}" for word in given.only)]
        chosen = sample(found, cases, given.count, seed=given.seed)
        verdicts = measure(stage, recipes, cases, chosen, say=lambda text: print(text, file=sys.stderr, flush=True))
    print(json.dumps([item.to_json() for item in verdicts], indent=1) if given.json else _report(verdicts))
    needless = sum(item.fault == "stopped without need" for item in verdicts)
    missed = sum(bool(item.fault) for item in verdicts) - needless
    return 1 if missed or needless > 0.05 * sum(not item.is_harmful for item in verdicts) else 0


def _report(verdicts: Sequence[Verdict]) -> str:
    wrong = [str(item) for item in verdicts if item.fault]
    return "\n".join([*sorted(wrong), table(verdicts)])


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lab.recipes.mutations", description=__doc__)
    parser.add_argument("--only", nargs="+", help="only kinds with one of these words, such as `answers: field`")
    parser.add_argument("--recipes", nargs="+", metavar="NAME", help="only these recipes")
    parser.add_argument("--count", type=int, default=9, help="how many mutations of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print every verdict as JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
