"""What another name or number of a kind can be in a world: everything whose name no other of its kind has."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from restgpt_bench.worlds import World
from restgpt_bench.worlds.spotify.account import Playlist
from restgpt_bench.worlds.text import normal
from restgpt_bench.worlds.tmdb.catalogue import Catalogue
from restgpt_bench.worlds.world import Exchanged

TEXTS = {
    "name": ("Blue Lantern", "Ada's Mix", "Für Björn", "Night & Day", "Mix 7", "rainy", "«Été»", "Left / Right"),
    "title": ("Call the printer", "Water plants (twice)", "Björn's list", "Buy 3 lamps", "tidy", "A & B"),
}
"""Free texts by the kind of what they name, short and long, with letters and marks of all sorts."""


def others(world: World[Any], key: tuple[str, Any], chosen: Exchanged) -> list[Any]:
    """Return all other values that a key can have, given what was chosen for others."""
    kind, value = key
    if kind in TEXTS:
        return list(TEXTS[kind])
    return [other for other in POOLS[kind](world, chosen) if other != value]


def _single(names: Iterable[str]) -> list[str]:
    """Return the names that only one thing has."""
    every = list(names)
    counts = Counter(map(normal, every))
    return [name for name in every if counts[normal(name)] == 1 and normal(name)]


def _named(table: str) -> Callable[[World[Any], Exchanged], list[Any]]:
    def pool(world: World[Any], chosen: Exchanged) -> list[Any]:
        return _single(item.name for item in getattr(world.state, table).values())

    return pool


def _works(table: str) -> Callable[[World[Any], Exchanged], list[Any]]:
    """Return the pool of works, each with the name of its first artist."""

    def pool(world: World[Any], chosen: Exchanged) -> list[Any]:
        music = world.state.catalogue
        works = list(getattr(music, table).values())
        names = set(_single(work.name for work in works))
        return [(work.name, music.artists[work.artists[0]].name) for work in works if work.name in names]

    return pool


def _shows_with(chosen: Exchanged, catalogue: Catalogue) -> list[Any]:
    names = [new for (kind, _), new in chosen.items() if kind == "show"]
    return [catalogue.show(name) for name in names]


def _seasons(world: World[Any], chosen: Exchanged) -> list[Any]:
    return [number for show in _shows_with(chosen, world.state) for number in show.seasons]


def _episodes(world: World[Any], chosen: Exchanged) -> list[Any]:
    seasons = [new for (kind, _), new in chosen.items() if kind == "season_number"]
    shows = _shows_with(chosen, world.state)
    found = [season for show in shows for season in show.seasons.values() if not seasons or season.number in seasons]
    return [episode.number for season in found for episode in season.episodes]


POOLS: Mapping[str, Callable[[World[Any], Exchanged], list[Any]]] = {
    "person": _named("people"),
    "movie": _named("movies"),
    "show": _named("shows"),
    "collection": _named("collections"),
    "company": _named("companies"),
    "season_number": _seasons,
    "episode_number": _episodes,
    "vote_average.gte": lambda world, chosen: [5, 5.5, 6, 6.5, 7, 7.5],
    "primary_release_date.gte": lambda world, chosen: [f"{year}-01-01" for year in range(2005, 2023)],
    "artist": lambda world, chosen: _single(item.name for item in world.state.catalogue.artists.values()),
    "album": _works("albums"),
    "track": _works("tracks"),
    "playlist": lambda world, chosen: _single(
        item.name for item in world.state.playlists if isinstance(item, Playlist)
    ),
    "device": lambda world, chosen: _single(device.name for device in world.state.devices),
    "volume_percent": lambda world, chosen: list(range(101)),
    "project": lambda world, chosen: [project["name"] for project in world.state.projects.values()],
    "task_id": lambda world, chosen: list(world.state.tasks),
}
"""The other values by kind."""
