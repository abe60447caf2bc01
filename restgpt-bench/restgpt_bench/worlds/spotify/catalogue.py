"""The music of the simulated Spotify: artists, albums, tracks and public playlists, all decided by the seed."""

import random
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cache
from typing import Any, ClassVar, TypeAlias, TypeVar

from restgpt_bench.worlds.data import read_data
from restgpt_bench.worlds.world import TODAY

ID_LETTERS = string.digits + string.ascii_letters
ID_LENGTH = 22
TOP_TRACKS = 10


@dataclass(frozen=True, slots=True)
class Item:
    """An item of the catalogue; `type` is Spotify's name for its kind."""

    type: ClassVar[str]

    id: str
    name: str

    @property
    def uri(self) -> str:
        """The Spotify URI."""
        return f"spotify:{self.type}:{self.id}"


@dataclass(frozen=True, slots=True)
class Saved:
    """The URI of an item in the library or in a playlist, and the time when it was added."""

    uri: str
    added_at: str


@dataclass(frozen=True, slots=True)
class Artist(Item):
    """A performer; `related` holds the ids of similar ones."""

    type: ClassVar[str] = "artist"

    genres: tuple[str, ...]
    popularity: int
    followers: int
    related: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Track(Item):
    """A song on one album, by one artist or several; the first one is the primary artist."""

    type: ClassVar[str] = "track"

    artists: tuple[str, ...]
    album: str
    number: int
    duration_ms: int
    explicit: bool
    popularity: int
    isrc: str


@dataclass(frozen=True, slots=True)
class Album(Item):
    """A release: `kind` is album, single or compilation; `tracks` are ids in album order."""

    type: ClassVar[str] = "album"

    kind: str
    artists: tuple[str, ...]
    released: date
    label: str
    popularity: int
    upc: str
    tracks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Show(Item):
    """A podcast and the ids of its episodes."""

    type: ClassVar[str] = "show"

    publisher: str
    episodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Episode(Item):
    """One part of a podcast."""

    type: ClassVar[str] = "episode"

    show: str
    released: date
    duration_ms: int


@dataclass(frozen=True, slots=True)
class Audiobook(Item):
    """A book read aloud."""

    type: ClassVar[str] = "audiobook"

    author: str
    narrator: str
    chapters: int


@dataclass(frozen=True, slots=True)
class PublicPlaylist(Item):
    """A playlist of another listener; `tracks` are URIs."""

    type: ClassVar[str] = "playlist"
    public: ClassVar[bool] = True
    collaborative: ClassVar[bool] = False

    description: str
    owner: str
    followers: int
    tracks: tuple[str, ...]

    @property
    def items(self) -> list[Saved]:
        """The tracks, all added on one day."""
        return [Saved(uri, "2023-06-01T12:00:00Z") for uri in self.tracks]

    @property
    def snapshot_id(self) -> str:
        """The name of the only version."""
        return f"0001{self.id}"


Playable: TypeAlias = Track | Episode
Named = TypeVar("Named", bound=Item)


@dataclass(slots=True)
class Catalogue:
    """Everything there is to hear, by id; shared by all accounts of one seed and never changed."""

    seed: int
    names: Mapping[str, Any]
    artists: dict[str, Artist] = field(default_factory=dict)
    albums: dict[str, Album] = field(default_factory=dict)
    tracks: dict[str, Track] = field(default_factory=dict)
    playlists: dict[str, PublicPlaylist] = field(default_factory=dict)
    shows: dict[str, Show] = field(default_factory=dict)
    episodes: dict[str, Episode] = field(default_factory=dict)
    audiobooks: dict[str, Audiobook] = field(default_factory=dict)
    users: tuple[str, ...] = ()
    discography: dict[str, tuple[str, ...]] = field(default_factory=dict)
    repertoire: dict[str, tuple[str, ...]] = field(default_factory=dict)
    exchanged: Mapping[tuple[str, Any], Any] = field(default_factory=dict)

    def said(self, kind: str, value: Any) -> Any:
        """A name or number that an instruction says; another one, if the task is asked about other things."""
        return self.exchanged.get((kind, value), value)

    def artist(self, name: str) -> Artist:
        """The artist called exactly `name`; raises LookupError if there is none."""
        return _only(self.said("artist", name), self.artists.values())

    def album(self, name: str, artist: str) -> Album:
        """The album called exactly `name` by the artist called `artist`; raises LookupError if there is none."""
        name, artist = self.said("album", (name, artist))
        owner = self.artist(artist).id
        return _only(name, (item for item in self.albums.values() if owner in item.artists))

    def track(self, name: str, artist: str) -> Track:
        """The track called exactly `name` by the artist called `artist`; raises LookupError if there is none."""
        name, artist = self.said("track", (name, artist))
        owner = self.artist(artist).id
        return _only(name, (item for item in self.tracks.values() if owner in item.artists))

    def playlist(self, name: str) -> PublicPlaylist:
        """The public playlist called exactly `name`; raises LookupError if there is none."""
        return _only(name, self.playlists.values())

    def releases(self, artist: Artist) -> list[Album]:
        """All releases of `artist`, in the order the API lists them, which is not the order of their dates."""
        return [self.albums[key] for key in self.discography[artist.id]]

    def newest_album(self, artist: Artist) -> Album:
        """The release of `artist` with the latest date; it is an album, and no other has that date."""
        return max(self.releases(artist), key=lambda album: album.released)

    def songs(self, artist: Artist) -> list[Track]:
        """All tracks on which `artist` plays, most popular first."""
        return [self.tracks[key] for key in self.repertoire[artist.id]]

    def top_tracks(self, artist: Artist) -> list[Track]:
        """The ten most popular tracks of `artist`."""
        return self.songs(artist)[:TOP_TRACKS]

    def album_tracks(self, album: Album) -> list[Track]:
        """The tracks of `album` in order."""
        return [self.tracks[key] for key in album.tracks]

    def playable(self, uri: str) -> Playable | None:
        """The track or episode that `uri` names, if there is one."""
        kind, key = split_uri(uri)
        return self.tracks.get(key) if kind == "track" else self.episodes.get(key) if kind == "episode" else None

    def label(self, uri: str) -> str:
        """`uri` with the name of its item, for people who read a snapshot."""
        kind, key = split_uri(uri)
        if kind == "track":
            track = self.tracks[key]
            return f"{track.name}, {self.artists[track.artists[0]].name} <{uri}>"
        if kind == "album":
            album = self.albums[key]
            return f"{album.name}, {self.artists[album.artists[0]].name} <{uri}>"
        item = self.artists.get(key) or self.episodes.get(key) or self.playlists.get(key)
        return uri if item is None else f"{item.name} <{uri}>"


def split_uri(uri: str) -> tuple[str, str]:
    """The kind and the id of a `spotify:KIND:ID` URI; two empty texts for any other text."""
    parts = uri.split(":")
    return (parts[1], parts[2]) if len(parts) == 3 and parts[0] == "spotify" else ("", "")


def new_id(rng: random.Random) -> str:
    """A fresh 22-letter id."""
    return "".join(rng.choices(ID_LETTERS, k=ID_LENGTH))


@cache
def open_catalogue(seed: int) -> Catalogue:
    """The catalogue of `seed`, built once per process."""
    return _Builder(Catalogue(seed, read_data("restgpt_bench.worlds.spotify", "names.yaml"))).build()


def _only(name: str, found: Iterable[Named]) -> Named:
    for item in found:
        if item.name == name:
            return item
    raise LookupError(f"the catalogue has no {name}")


@dataclass(frozen=True, slots=True)
class _Release:
    """A release still to be made; `guests` names a second artist by title."""

    name: str
    kind: str
    titles: Sequence[str]
    guests: Mapping[str, str] = field(default_factory=dict)


class _Builder:
    """Fills an empty catalogue; each subject draws from a stream of its own, so that one change moves only itself."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._made = catalogue
        self._names = catalogue.names
        self._rng = self._stream("general")
        self._titles = self._pairs(self._names["first"], self._names["second"], " ")
        self._album_titles = self._pairs(self._names["things"], self._names["places"], " in ")

    def build(self) -> Catalogue:
        """The filled catalogue."""
        entries = self._artist_entries()
        for entry in entries:
            self._add_artist(entry)
        self._relate([entry["name"] for entry in entries if entry["plain"]])
        for entry in entries:
            self._add_releases(entry)
        self._rank_songs()
        self._add_spoken_word()
        self._made.users = tuple(self._names["curators"])
        self._add_playlists()
        return self._made

    def _stream(self, subject: str) -> random.Random:
        return random.Random(f"spotify {self._made.seed} {subject}")

    def _pairs(self, first: Sequence[str], second: Sequence[str], glue: str) -> Iterator[str]:
        pairs = [f"{one}{glue}{two}" for one in first for two in second]
        self._stream(f"titles {glue}").shuffle(pairs)
        return iter(pairs)

    def _artist_entries(self) -> list[dict[str, Any]]:
        names = self._names
        given, family = list(names["given"]), list(names["family"])
        self._rng.shuffle(given)
        self._rng.shuffle(family)
        people = [f"{one} {two}" for one, two in zip(given, family, strict=True)]
        bands = [f"The {one} {two}s" for one, two in (title.split(" ") for title in _take(self._titles, 20))]
        fillers = [name for pair in zip(people, bands, strict=True) for name in pair][: names["fillers"]]
        made = [{"name": name, "fame": self._rng.randint(40, 79), "plain": True} for name in fillers]
        made += [{**entry, "plain": True} for entry in names["invented"]]
        listed = [{**entry, "plain": False} for entry in [*names["known"], *names["decoys"]]]
        entries = listed + made
        self._deal_genres(entries)
        return entries

    def _deal_genres(self, entries: list[dict[str, Any]]) -> None:
        # Dealt one after the other, so that every family of genres has several artists nobody can know.
        order = sorted(entries, key=lambda entry: (not entry["plain"], entry["name"]))
        offset = self._rng.randrange(len(self._names["genres"]))
        for number, entry in enumerate(order):
            entry["genres"] = self._names["genres"][(number + offset) % len(self._names["genres"])]

    def _add_artist(self, entry: Mapping[str, Any]) -> None:
        rng = self._stream(f"artist {entry['name']}")
        key = new_id(rng)
        followers = entry["fame"] * 10_000 + rng.randrange(10_000)
        self._made.artists[key] = Artist(key, entry["name"], tuple(entry["genres"]), entry["fame"], followers)

    def _relate(self, plain: Sequence[str]) -> None:
        # Only invented artists are similar, so nobody can name them from memory.
        for key, artist in list(self._made.artists.items()):
            rng = self._stream(f"related {artist.name}")
            pool = [self._made.artist(name) for name in plain if name != artist.name]
            near = [other for other in pool if set(other.genres) & set(artist.genres)]
            far = rng.sample([other for other in pool if other not in near], 3)
            chosen = [*near, *far]
            rng.shuffle(chosen)
            self._made.artists[key] = replace(artist, related=tuple(other.id for other in chosen))

    def _add_releases(self, entry: Mapping[str, Any]) -> None:
        artist = self._made.artist(entry["name"])
        rng = self._stream(f"releases {artist.name}")
        plan = self._release_plan(entry, rng)
        popularity = self._popularities(artist.popularity, sum(len(item.titles) for item in plan), rng)
        days = sorted(rng.sample(range(90, 9000), len(plan)), reverse=True)
        keys = [
            self._add_album(artist, item, TODAY - timedelta(days=ago), popularity, rng)
            for item, ago in zip(plan, days, strict=True)
        ]
        self._made.discography[artist.id] = tuple(self._mixed(keys, rng))

    def _release_plan(self, entry: Mapping[str, Any], rng: random.Random) -> list["_Release"]:
        # Oldest first. The newest is an album that no instruction names, so that its name must be looked up.
        guests = dict(entry.get("duets", {}))
        plan = [
            _Release(name, "album", self._tracklist(titles, rng.randint(9, 11), rng))
            for name, titles in entry.get("albums", {}).items()
        ]
        duets = list(guests)
        for kind, size in (("album", 10), ("single", 1), ("album", 9), ("compilation", 8), ("single", 2)):
            titles = self._tracklist(duets, size, rng)
            plan.append(_Release(next(self._album_titles), kind, titles, guests))
            duets = []
        rng.shuffle(plan)
        newest = self._tracklist([], rng.randint(8, 12), rng)
        plan.append(_Release(next(self._album_titles), "album", newest))
        return [replace(item, guests={**item.guests, **entry.get("guests", {})}) for item in plan]

    def _tracklist(self, named: Sequence[str], size: int, rng: random.Random) -> list[str]:
        titles = _take(self._titles, size - len(named))
        for title in named:
            # Never first and never second: "the first song" is another one.
            titles.insert(rng.randint(2, len(titles)), title)
        return titles

    def _popularities(self, fame: int, total: int, rng: random.Random) -> Iterator[int]:
        # No two of an artist's best songs are equally popular.
        spread = sorted((max(1, round(fame - step * 1.3)) for step in range(total)), reverse=True)
        rng.shuffle(spread)
        return iter(spread)

    def _mixed(self, keys: list[str], rng: random.Random) -> list[str]:
        mixed = keys[:]
        while mixed[0] in (keys[0], keys[-1]) or mixed[-1] == keys[-1]:
            rng.shuffle(mixed)
        return mixed

    def _add_album(
        self, artist: Artist, release: "_Release", released: date, popularity: Iterator[int], rng: random.Random
    ) -> str:
        key = new_id(rng)
        tracks = [
            Track(
                id=new_id(rng),
                name=title,
                artists=(artist.id, *self._guests(release, title)),
                album=key,
                number=number,
                duration_ms=rng.randint(140_000, 330_000),
                explicit=rng.random() < 0.1,
                popularity=next(popularity),
                isrc=f"XX{rng.randrange(10**10):010d}",
            )
            for number, title in enumerate(release.titles, start=1)
        ]
        self._made.tracks.update({track.id: track for track in tracks})
        self._made.albums[key] = Album(
            id=key,
            name=release.name,
            kind=release.kind,
            artists=(artist.id,),
            released=released,
            label=rng.choice(self._names["labels"]),
            popularity=max(track.popularity for track in tracks),
            upc=f"{rng.randrange(10**12):012d}",
            tracks=tuple(track.id for track in tracks),
        )
        return key

    def _guests(self, release: "_Release", title: str) -> list[str]:
        return [self._made.artist(release.guests[title]).id] if title in release.guests else []

    def _rank_songs(self) -> None:
        songs: dict[str, list[Track]] = {key: [] for key in self._made.artists}
        for track in self._made.tracks.values():
            for artist in track.artists:
                songs[artist].append(track)
        for artist, tracks in songs.items():
            tracks.sort(key=lambda track: (-track.popularity, track.id))
            self._made.repertoire[artist] = tuple(track.id for track in tracks)

    def _add_spoken_word(self) -> None:
        for entry in self._names["shows"]:
            rng = self._stream(f"show {entry['name']}")
            show, episodes = new_id(rng), []
            for number in range(1, 4):
                name = f"{next(self._titles)} (Part {number})"
                released = TODAY - timedelta(days=rng.randint(20, 900))
                episode = Episode(new_id(rng), name, show, released, rng.randint(1200, 3600) * 1000)
                self._made.episodes[episode.id] = episode
                episodes.append(episode.id)
            self._made.shows[show] = Show(show, entry["name"], entry["publisher"], tuple(episodes))
        for entry in self._names["audiobooks"]:
            rng = self._stream(f"audiobook {entry['name']}")
            book = Audiobook(new_id(rng), entry["name"], entry["author"], entry["narrator"], rng.randint(12, 48))
            self._made.audiobooks[book.id] = book

    def _add_playlists(self) -> None:
        for entry in self._names["playlists"]:
            rng = self._stream(f"playlist {entry['name']}")
            pool = [
                track.uri
                for track in self._made.tracks.values()
                if entry["genre"] in self._made.artists[track.artists[0]].genres
            ]
            key = new_id(rng)
            self._made.playlists[key] = PublicPlaylist(
                id=key,
                name=entry["name"],
                description=entry["description"],
                owner=rng.choice(self._names["curators"]),
                followers=rng.randint(200, 90_000),
                tracks=tuple(rng.sample(pool, 24)),
            )


def _take(titles: Iterator[str], count: int) -> list[str]:
    return [next(titles) for _ in range(count)]
