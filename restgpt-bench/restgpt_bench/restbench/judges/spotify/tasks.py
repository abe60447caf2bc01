"""The tasks of the simulated Spotify: the published instructions by index, and our own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from restgpt_bench.restbench.judges.spotify.checks import PUBLISHED
from restgpt_bench.restbench.judges.spotify.judges import Judge
from restgpt_bench.restbench.judges.spotify.own_checks import OWN
from restgpt_bench.restbench.judges.task import PlannedCall, Step, Task
from restgpt_bench.worlds.data import read_data
from restgpt_bench.worlds.exchange import Json
from restgpt_bench.worlds.spotify.fixtures import STUDIO
from restgpt_bench.worlds.world import World

# A song that no task wants and that nobody has saved.
SPOILER = ("Covers at Noon", "Sunday Cover Club")


class SpotifyStep(Step):
    """A gold call whose query lists are one text with commas, which both the published document and ours allow."""

    __slots__ = ()

    def planned(self, results: Sequence[Json]) -> PlannedCall:
        """The call with its references looked up in `results`."""
        call = super().planned(results)
        query = {
            name: ",".join(value) if isinstance(value, list) else value
            for name, value in call.arguments.get("query", {}).items()
        }
        return PlannedCall(call.operation, {**call.arguments, "query": query} if query else call.arguments)


@dataclass(frozen=True, slots=True)
class SpotifyTask(Task):
    """A task whose end state can be spoilt, to show that the check compares all of it."""

    def spoil(self, world: World[Any]) -> None:
        """Save a song that nobody asked for: after this the check must fail."""
        music = world.state.catalogue
        song = music.album(*SPOILER).tracks[0]
        world.call("PUT /me/tracks", query={"ids": song})


@cache
def published() -> tuple[SpotifyTask, ...]:
    """The published instructions in order; their texts are read elsewhere, so `instruction` is None."""
    entries = read_data(__package__, "published.yaml")
    return tuple(_task(str(index), entries[index], judge, fixture=None) for index, judge in PUBLISHED.items())


@cache
def own() -> tuple[SpotifyTask, ...]:
    """Our own instructions, over other entities than the published ones."""
    entries = read_data(__package__, "tasks.yaml")
    return tuple(_task(key, entries[key], judge, fixture=STUDIO) for key, judge in OWN.items())


def _task(key: str, entry: Mapping[str, Any], judge: Judge, *, fixture: str | None) -> SpotifyTask:
    return SpotifyTask(
        key=key,
        instruction=entry.get("instruction"),
        steps=tuple(map(SpotifyStep.read, entry["steps"])),
        check=judge.check,
        right=judge.right,
        wrong=judge.wrong,
        alternatives=tuple(map(tuple, entry.get("alternatives", ()))),
        fixture=entry.get("fixture", fixture),
        answer=entry.get("answer", ""),
    )
