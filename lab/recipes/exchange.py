"""Other inputs for a recipe, drawn by a rule that does not run it, and the truth about them from the task's own judge.

A judge asks its world for the names and numbers of the instruction; `World.exchanged` gives it others. An input
belongs to those that the judge asks for and that have its words. Each is exchanged for another one of the same kind
that has its name for itself, and the draw counts if the judge then has an answer, or a change to make. If the judge
asks for no input, or there is no other thing of the kind, the task is asked again in a world of another seed.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lab.recipes.pools import TEXTS, others
from restgpt_bench.restbench.judges.task import Task
from restgpt_bench.worlds import World, open_world
from restgpt_bench.worlds.tmdb.search import stems
from restgpt_bench.worlds.world import Exchanged

Key = tuple[str, Any]
"""The kind and the value of a name or number that a judge asks for; the value is a pair for a work and its maker."""

DRAWS = 200
"""The maximum number of draws for one set of inputs in a world."""

SEEDS = 6
"""The number of worlds that are tried for one set of inputs."""

NO_TRUTH = (LookupError, ValueError, StopIteration)
"""What a judge raises if there is no such thing: no film of this director, no such season, nobody to unfollow."""


@dataclass(frozen=True, slots=True)
class OtherInputs:
    """A set of inputs, the seed of its world, and what the judge is asked instead; `kept` inputs are as saved."""

    inputs: Mapping[str, Any]
    seed: int
    exchanged: Exchanged
    kept: tuple[str, ...] = ()

    @property
    def way(self) -> Literal["names", "data"]:
        """How the task is another one: its names and numbers are exchanged, or only the data of the world."""
        return "names" if self.exchanged else "data"


def exchanged(task: Task, world: str, inputs: Mapping[str, Any], *, seed: int = 0, count: int = 2) -> list[OtherInputs]:
    """Return `count` other sets of inputs for a recipe of a task, which ran on a world of this seed."""
    found: list[OtherInputs] = []
    for number in range(count):
        draw = random.Random(f"{world} {task.key} {seed} {number}")
        names = (_drawn(task, open_world(world, seed=seed + more), inputs, found, draw) for more in range(SEEDS))
        other = next((item for item in names if item is not None), None)
        found.append(other or OtherInputs(dict(inputs), seed + 1 + number, {}, tuple(inputs)))
    return found


def _drawn(
    task: Task, world: World[Any], inputs: Mapping[str, Any], found: Sequence[OtherInputs], draw: random.Random
) -> OtherInputs | None:
    """Draw another set of inputs in a world; None if no input can be exchanged there so that the task has a truth."""
    matches = _matches(task, world, inputs)
    if not matches:
        return None
    kept = tuple(name for name in inputs if not any(name == known for known, _ in matches))
    log = _Replayed(task, world)
    tried: list[Mapping[str, Any]] = [item.inputs for item in found if item.seed == world.seed]
    for _ in range(DRAWS):
        chosen = _chosen(world, matches, draw)
        if chosen is None:
            return None
        mapping, values = chosen
        other = _replaced(inputs, values)
        if other in tried:
            continue
        if log.has_truth(mapping):
            return OtherInputs(other, world.seed, mapping, kept)
        tried.append(other)
    return None


Match = tuple[str, Any]
"""The name of an input and one of its values."""


def _scalars(inputs: Mapping[str, Any]) -> Iterator[Match]:
    for name, value in inputs.items():
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(item, bool):
                yield name, item


def _matches(task: Task, world: World[Any], inputs: Mapping[str, Any]) -> dict[Match, list[tuple[Key, int]]]:
    """Return the keys that have the words or the number of each value, and the place of the value in a pair."""
    asked = asked_for(task, world)
    found = {}
    for name, value in _scalars(inputs):
        keys = _closest(value, asked, name)
        if keys:
            found[name, value] = keys
    return found


def _closest(value: Any, asked: Sequence[Key], name: str) -> list[tuple[Key, int]]:
    """Return the keys with the fewest words beyond those of the value; of equal numbers, those of the input's name."""
    distances: dict[tuple[Key, int], int] = {}
    for key in asked:
        for place, part in enumerate(key[1] if isinstance(key[1], tuple) else (key[1],)):
            if (distance := _distance(value, part)) is not None:
                distances[key, place] = distance
    best = [found for found, distance in distances.items() if distance == min(distances.values())]
    named = [found for found in best if found[0][0].split(".")[0] in name]
    return named if named and not isinstance(value, str) else best


def _distance(value: Any, part: Any) -> int | None:
    """Return how many words of a name the value lacks; None if it is another one."""
    if isinstance(value, str) and isinstance(part, str):
        if part[:4].isdigit() and part.startswith(f"{value}-"):
            return 0  # the year of a date
        said, whole = stems(value), stems(part)
        return len(whole - said) if said and said <= whole else None
    if isinstance(value, str) or isinstance(part, str):
        return None
    return 0 if value == part else None


class _Asking(Mapping[Key, Any]):
    """Exchanges nothing and remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: dict[Key, None] = {}

    def __getitem__(self, key: Key) -> Any:
        self.asked[key] = None
        raise KeyError(key)

    def __iter__(self) -> Iterator[Key]:
        return iter(self.asked)

    def __len__(self) -> int:
        return len(self.asked) + 1  # never empty, so that a world uses it


def asked_for(task: Task, world: World[Any]) -> list[Key]:
    """Return the names and numbers that the judge of a task asks its world for."""
    asking = _Asking()
    world.reset(task.fixture)
    answer = task.replay(world).answer
    world.exchanged = asking
    task.check(world, world.log, answer)
    return list(asking.asked)


class _Replayed:
    """A world in which the gold calls were made, to ask the judge about other things."""

    def __init__(self, task: Task, world: World[Any]) -> None:
        self._task = task
        self._idle = open_world(world.name, seed=world.seed)
        self._idle.reset(task.fixture)
        world.reset(task.fixture)
        task.replay(world)
        self._world = world

    def has_truth(self, mapping: Exchanged) -> bool:
        """Whether the task has a true answer about these things, which who does nothing misses."""
        self._idle.exchanged = self._world.exchanged = mapping
        try:
            right = self._task.right(self._idle)
            verdict = self._task.check(self._world, self._world.log, right)
            idle = self._task.check(self._idle, self._world.log, right)
        except NO_TRUTH:
            return False
        # The gold calls of a question change nothing, so its judge must pass the true answer to the other question.
        return verdict.ok and bool(right) if self._is_question else not idle.ok

    @property
    def _is_question(self) -> bool:
        return all(step.operation.startswith("GET ") for step in self._task.steps)


def _chosen(
    world: World[Any], matches: Mapping[Match, list[tuple[Key, int]]], draw: random.Random
) -> tuple[dict[Key, Any], dict[Match, Any]] | None:
    """Draw another value for each key and each input; None if a kind has no other."""
    mapping: dict[Key, Any] = {}
    values: dict[Match, Any] = {}
    # Works and people first: free texts that are equal to them follow, and seasons depend on the show.
    for match, keys in sorted(matches.items(), key=lambda item: min(_rank(key) for key, _ in item[1])):
        for key, place in sorted(keys, key=lambda found: _rank(found[0])):
            if key not in mapping:
                pool = [values[match]] if match in values else others(world, key, mapping)
                if not pool:
                    return None
                mapping[key] = draw.choice(pool)
            new = mapping[key][place] if isinstance(mapping[key], tuple) else mapping[key]
            values.setdefault(match, _as_input(key, match[1], new))
    return mapping, values


def _rank(key: Key) -> int:
    if key[0] in ("season_number", "episode_number"):
        return 1 if key[0] == "season_number" else 2
    return 3 if key[0] in TEXTS else 0


def _as_input(key: Key, saved: Any, new: Any) -> Any:
    """Return a drawn value the way the saved input names its thing."""
    if key[0] == "collection" and not str(saved).endswith(" Collection"):
        return str(new).removesuffix(" Collection")
    if isinstance(new, str) and isinstance(saved, str) and new[:4].isdigit() and len(saved) == 4:
        return new[:4]
    return new


def _replaced(inputs: Mapping[str, Any], values: Mapping[Match, Any]) -> dict[str, Any]:
    def other(name: str, value: Any) -> Any:
        if isinstance(value, list):
            return [other(name, item) for item in value]
        return values.get((name, value), value) if not isinstance(value, bool) else value

    return {name: other(name, value) for name, value in inputs.items()}
